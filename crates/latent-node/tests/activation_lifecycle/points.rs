//! Every point at which an activation can wait, and everything that can happen to it there: enumerated, not sampled.
//!
//! Invariant: [`Point::ALL`] is complete, which a run proves in which every port pends once.

mod table;

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use latent_activation::journal::RetainedOutcome;
use latent_activation::{ActivationRequest, CancelDisposition, LifecyclePhase as Phase};
use latent_core::TerminalState as State;
use latent_executor::ExecutionBackend as _;
use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_node::ActivationTransportInterruption::{DeadlineExceeded, Disconnected};
use latent_node::{ActivationHandle, ActivationReceipt};

use crate::support::*;
use table::{Action, Point, expected};

/// Where the activation `a` waits, as far as can be seen from outside.
fn point_of(node: &Node) -> Point {
    match node.status("a").phase {
        Phase::Received => Point::BeforeFirstPoll,
        Phase::Queued if node.backend.resources().preparations > 0 => Point::Preparing,
        Phase::Queued if node.queued() > 0 => Point::Queued,
        Phase::Running if node.pool.operations().last() == Some(&"release") => Point::Disposing,
        Phase::Running => Point::Running,
        phase => panic!("it waits at {phase}, where nothing is waited for"),
    }
}

/// How long the activation has, from its start on: more than the grace of a stopped run, but less than it where the
/// deadline has to pass while a pool is waited for.
fn left(point: Point) -> Duration {
    if point == Point::Disposing { GRACE / 2 } else { GRACE * 2 }
}

/// An activation that waits.
struct Stage {
    node: Arc<Node>,
    handle: ActivationHandle,
    /// Opened, what is waited for goes on.
    leave: Gate,
    /// Who has the only cell, where it is waited for.
    holder: Option<ActivationHandle>,
}

/// Takes an activation to `point`, with whatever is needed for `action` prepared.
fn stage(point: Point, action: Action) -> Stage {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let (panics, explodes) = (action == Action::PanicOnPoll, action == Action::PanicInDestructor);
    let node = Arc::new(node(FakeStep::Echo));
    let mut holder = None;
    match point {
        Point::BeforeFirstPoll => {}
        Point::Preparing if explodes => node.backend.fake.set_preparation(FakePreparation::PanicOnDrop),
        Point::Preparing => {
            let then = Box::new(if panics { FakePreparation::PanicOnPoll } else { FakePreparation::Ready });
            node.backend.fake.set_preparation(FakePreparation::Gated { entered, leave: leave.clone(), then });
        }
        Point::Queued => {
            let mut first = node.start_request(request_of("u", "holder", "acknowledge"));
            waits(&mut first);
            holder = Some(first);
            node.backend.set_bombs(Bombs { readiness: explodes, ..Bombs::default() });
        }
        Point::Running if explodes => node.backend.fake.set_step("f", FakeStep::PanicOnDrop),
        Point::Running => {
            let then = Box::new(if panics { FakeStep::Panic } else { FakeStep::Echo });
            node.backend.fake.set_step("f", FakeStep::Gated { entered, leave: leave.clone(), then });
        }
        Point::Disposing if explodes => node.pool.set(PoolStep::PanicOnDrop),
        Point::Disposing if panics => node.pool.set(PoolStep::GatedPanic(entered, leave.clone())),
        Point::Disposing => node.pool.set(PoolStep::Gated(entered, leave.clone())),
    }
    let mut handle = node.start_request(ActivationRequest { deadline: node.due(left(point)), ..request("a") });
    if point != Point::BeforeFirstPoll {
        waits(&mut handle);
    }
    assert_eq!(point_of(&node), point);
    Stage { node, handle, leave, holder }
}

/// Does `action` to an activation that waits at `point`, and sees to its end.
async fn act(point: Point, action: Action, stage: Stage) -> (Arc<Node>, Option<ActivationReceipt>) {
    let Stage { node, mut handle, leave, holder } = stage;
    match action {
        Action::Drop => return settle(node, holder, drop_of(handle)).await,
        Action::PanicInDestructor if point != Point::BeforeFirstPoll => {
            return settle(node, holder, drop_of(handle)).await;
        }
        Action::PanicInDestructor => node.catalog.set(CatalogScript::PanicInDrop),
        Action::Cancel => assert_eq!(node.cancel("a"), CancelDisposition::Accepted),
        Action::Deadline => node.pass(left(point)).await,
        Action::Disconnected => handle = handle.interrupt_for_cleanup(Disconnected),
        Action::TransportDeadline => handle = handle.interrupt_for_cleanup(DeadlineExceeded),
        Action::PanicOnPoll if point == Point::BeforeFirstPoll => node.catalog.set(CatalogScript::PanicInPin),
        Action::PanicOnPoll if point == Point::Queued => node.pool.set_panic_in_try_acquire(true),
        Action::PanicOnPoll => leave.open(),
    }
    if point == Point::Disposing {
        leave.open();
    }
    let receipt = finish(handle).await;
    settle(node, holder, Some(receipt)).await
}

fn drop_of(handle: ActivationHandle) -> Option<ActivationReceipt> {
    drop(handle);
    None
}

/// Lets the holder of the cell end.
async fn settle(
    node: Arc<Node>,
    holder: Option<ActivationHandle>,
    receipt: Option<ActivationReceipt>,
) -> (Arc<Node>, Option<ActivationReceipt>) {
    node.pool.set_panic_in_try_acquire(false);
    if let Some(holder) = holder {
        let disposition = node.manager.cancel_for(&tenant("u"), &activation("holder"), "done");
        assert_eq!(disposition, CancelDisposition::Accepted);
        finish(holder).await;
    }
    (node, receipt)
}

async fn assert_every_action(point: Point) {
    for action in Action::ALL {
        let (node, receipt) = act(point, action, stage(point, action)).await;
        let status = node.status("a");
        let end = status.terminal.expect("it has ended");
        let told = match &end.outcome {
            RetainedOutcome::Failed(error) => Some(error.details()[0].kind().to_owned()),
            _ => None,
        };
        let expected = expected(point, action);
        assert_eq!(
            (end.state, told.as_deref(), status.phase),
            (expected.state, expected.kind, expected.phase),
            "{point:?} and {action:?}"
        );
        if let Some(receipt) = receipt {
            assert_eq!(receipt.outcome.terminal_state(), end.state, "{point:?} and {action:?}");
            assert_eq!(receipt.consumption, end.consumption);
        }
        node.assert_settled(expected.quarantined);
        assert_next_is_served(&node, expected.quarantined).await;
    }
}

/// Whatever happened, it happened to one activation and one cell.
async fn assert_next_is_served(node: &Node, quarantined: usize) {
    node.catalog.set(CatalogScript::Nothing);
    node.backend.fake.set_preparation(FakePreparation::Ready);
    node.backend.set_bombs(Bombs::default());
    node.pool.set(PoolStep::Work);
    let next = finish(node.start_request(request_of("t", "next", "echo"))).await;
    let served = if quarantined == 0 { State::Completed } else { State::DependencyFailed };
    assert_eq!(next.outcome.terminal_state(), served);
    node.assert_settled(quarantined);
}

#[tokio::test(start_paused = true)]
async fn before_the_first_poll_every_action_ends_as_the_table_says() {
    assert_every_action(Point::BeforeFirstPoll).await;
}

#[tokio::test(start_paused = true)]
async fn while_preparing_every_action_ends_as_the_table_says() {
    assert_every_action(Point::Preparing).await;
}

#[tokio::test(start_paused = true)]
async fn while_queued_every_action_ends_as_the_table_says() {
    assert_every_action(Point::Queued).await;
}

#[tokio::test(start_paused = true)]
async fn while_running_every_action_ends_as_the_table_says() {
    assert_every_action(Point::Running).await;
}

#[tokio::test(start_paused = true)]
async fn while_disposing_every_action_ends_as_the_table_says() {
    assert_every_action(Point::Disposing).await;
}

/// A node in which every port pends once, and what lets the activation go on after each time.
fn pending_once() -> (Node, ActivationHandle, Gate, ActivationHandle) {
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Yield { polls: 1, then });
    let mut holder = node.start_request(request_of("u", "holder", "acknowledge"));
    waits(&mut holder);
    let leave = Gate::closed();
    let then = Box::new(FakePreparation::Ready);
    node.backend.fake.set_preparation(FakePreparation::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let handle = node.start("a");
    (node, handle, leave, holder)
}

/// Lets the activation `a` go on from where it waits.
async fn go_on(node: &Node, leave: &Gate, holder: &mut Option<ActivationHandle>) {
    match point_of(node) {
        Point::Preparing => leave.open(),
        Point::Queued => {
            let disposition = node.manager.cancel_for(&tenant("u"), &activation("holder"), "make room");
            assert_eq!(disposition, CancelDisposition::Accepted);
            finish(holder.take().expect("the cell is held once")).await;
            node.pool.forget_operations();
            node.pool.set(PoolStep::YieldOnce);
        }
        Point::BeforeFirstPoll | Point::Running | Point::Disposing => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_of_points_is_complete() {
    let (node, mut handle, leave, holder) = pending_once();
    let mut holder = Some(holder);
    let mut seen = vec![point_of(&node)];
    let receipt = loop {
        match poll(&mut handle) {
            Poll::Ready(receipt) => break receipt,
            Poll::Pending => seen.push(point_of(&node)),
        }
        go_on(&node, &leave, &mut holder).await;
    };
    // Each port pended once, so that each wait of the manager was met once, and only those.
    assert_eq!(seen, Point::ALL);
    assert_eq!(receipt.outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_dropped_or_cancelled_after_any_number_of_polls() {
    const POLLS: u32 = 6;
    for polled in 0..=POLLS {
        for cancelled in [false, true] {
            let node = node(FakeStep::Yield { polls: POLLS, then: Box::new(FakeStep::Echo) });
            let mut handle = node.start("a");
            for _ in 0..polled {
                waits(&mut handle);
            }
            if cancelled {
                assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
                assert_eq!(finish(handle).await.outcome.terminal_state(), State::Cancelled);
                node.assert_settled(0);
            } else {
                drop(handle);
                assert_eq!(node.ended("a").0, State::Cancelled);
                node.assert_settled(usize::from(polled > 0));
            }
        }
    }
}
