//! Activations that lose their transport: transferred to one driver, they end as one record, in time or as an overrun.

mod limits;
mod setup;
mod stopping;

use std::panic::{AssertUnwindSafe, catch_unwind};

use latent_activation::{CancelDisposition, LifecyclePhase};
use latent_core::{BudgetCeilings, ExecutionOutcome, Payload};
use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_node::{ActivationArrival, CleanupDriver, SupervisedActivation};
use tokio::time::advance;

use setup::{GRACE, Node, activation, node, poll, request, tenant, watched};

const STOPPED: &str = "activation.transport-stopped";
const LATE: &str = "activation.deadline-exceeded";
const CANCELLED: &str = "activation.cancelled";

/// How far an activation is when its transport goes away.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Unpolled,
    Preparing,
    Queued,
    Running,
}

const STAGES: [Stage; 4] = [Stage::Unpolled, Stage::Preparing, Stage::Queued, Stage::Running];

/// A node with activation `a` of a guest that spins, and whoever has the one cell that it waits for.
fn reach(stage: Stage) -> (Node, CleanupDriver, SupervisedActivation, Option<SupervisedActivation>) {
    let (node, driver) = node(1, 4);
    node.backend.set_step("spin", FakeStep::Spin);
    let holder = matches!(stage, Stage::Queued).then(|| node.running("holder", "spin"));
    if matches!(stage, Stage::Preparing) {
        node.backend.set_preparation(FakePreparation::Hang);
    }
    let mut started = node.start("a", "spin");
    let phase = match stage {
        Stage::Unpolled => LifecyclePhase::Received,
        Stage::Preparing | Stage::Queued => LifecyclePhase::Queued,
        Stage::Running => LifecyclePhase::Running,
    };
    if !matches!(stage, Stage::Unpolled) {
        assert!(poll(&mut started).is_pending());
    }
    assert_eq!(node.phase("a"), phase);
    (node, driver, started, holder)
}

/// Cleans up what was transferred, and then the holder of the cell.
async fn finish(node: &Node, driver: CleanupDriver, holder: Option<SupervisedActivation>) {
    drop(holder);
    node.drain(tokio::spawn(driver)).await;
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_in_any_phase_ends_as_a_stopped_transport_and_the_cell_is_used_again() {
    for stage in STAGES {
        let (node, driver, started, holder) = reach(stage);
        let held = u64::from(holder.is_some());
        drop(started);
        assert_eq!(node.supervisor.audit().unwrap().continuing, 1, "{stage:?}");
        finish(&node, driver, holder).await;
        assert_eq!(node.end("a"), STOPPED, "{stage:?}");
        assert_eq!(node.counts(), (1 + held, 0));
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_ran_out_of_time_in_any_phase_ends_as_a_passed_deadline() {
    for stage in STAGES {
        let (node, driver, started, holder) = reach(stage);
        started.transport_deadline_exceeded();
        finish(&node, driver, holder).await;
        assert_eq!(node.end("a"), LATE, "{stage:?}");
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_before_or_after_the_transfer_wins_in_any_phase() {
    for stage in STAGES {
        for before in [true, false] {
            let (node, driver, started, holder) = reach(stage);
            let cancel = || node.manager.cancel_for(&tenant(), &activation("a"), "enough");
            let mut answer = before.then(cancel);
            started.transport_deadline_exceeded();
            let answer = *answer.get_or_insert_with(cancel);
            assert_eq!(answer, CancelDisposition::Accepted);
            finish(&node, driver, holder).await;
            assert_eq!(node.end("a"), CANCELLED, "{stage:?}, before: {before}");
            node.assert_settled(0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_wakes_the_driver_that_waits_for_a_guest_and_wins_over_its_disconnect() {
    let (node, driver) = node(1, 1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let returns = FakeStep::End(ExecutionOutcome::Returned(Payload::json("1")));
    node.backend.set_step("gated", FakeStep::Gated { entered, leave: leave.clone(), then: Box::new(returns) });
    drop(node.running("a", "gated"));
    let driver = tokio::spawn(driver);
    advance(GRACE / 2).await;
    assert_eq!(node.manager.cancel_for(&tenant(), &activation("a"), "enough"), CancelDisposition::Accepted);
    leave.open();
    node.drain(driver).await;
    assert_eq!(node.end("a"), CANCELLED);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_original_deadline_wins_over_a_disconnect_before_it() {
    let (node, driver) = node(1, 1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.backend.set_step("gated", FakeStep::Gated { entered, leave: leave.clone(), then: Box::new(FakeStep::Echo) });
    let budget = BudgetCeilings { wall_limit: Some(GRACE / 2), ..BudgetCeilings::default() };
    let request = latent_activation::ActivationRequest { budget, ..request("a", "gated") };
    let mut started = node.supervisor.start(&node.manager, request, ActivationArrival::default()).unwrap();
    assert!(poll(&mut started).is_pending());
    drop(started);
    let driver = tokio::spawn(driver);
    advance(GRACE * 3 / 4).await;
    leave.open();
    node.drain(driver).await;
    assert_eq!(node.end("a"), LATE);
    assert_eq!(node.counts(), (1, 0));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_after_the_disconnect_is_overruled_and_its_proof_counts() {
    let returned = || ExecutionOutcome::Returned(Payload::json("1"));
    let declared = || ExecutionOutcome::DeclaredError(Payload::json("1"));
    let trapped = || ExecutionOutcome::Trapped { category: "unreachable" };
    let ends = [
        (FakeStep::End(returned()), 0),
        (FakeStep::End(declared()), 0),
        (FakeStep::End(trapped()), 0),
        (FakeStep::EndUnproven(returned()), 1),
        (FakeStep::Panic, 1),
    ];
    for (then, quarantined) in ends {
        let (node, driver) = node(1, 1);
        let (entered, leave) = (Gate::closed(), Gate::closed());
        let gated = FakeStep::Gated { entered, leave: leave.clone(), then: Box::new(then.clone()) };
        node.backend.set_step("gated", gated);
        drop(node.running("a", "gated"));
        let driver = tokio::spawn(driver);
        advance(GRACE / 2).await;
        assert_eq!(node.supervisor.snapshot().continuing, 1);
        leave.open();
        node.drain(driver).await;
        assert_eq!(node.end("a"), STOPPED, "{then:?}");
        assert_eq!(node.counts(), (1, 0));
        node.assert_settled(quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_ignores_the_stop_costs_its_cell_after_the_grace_and_is_no_overrun() {
    let (node, driver) = node(2, 2);
    node.backend.set_step("hang", FakeStep::Hang);
    node.backend.set_step("bomb", FakeStep::PanicOnDrop);
    let before = tokio::time::Instant::now();
    drop((node.running("a", "hang"), node.running("b", "bomb")));
    node.drain(tokio::spawn(driver)).await;
    assert_eq!(before.elapsed(), GRACE);
    assert_eq!((node.end("a"), node.end("b")), (STOPPED.to_owned(), STOPPED.to_owned()));
    assert_eq!(node.counts(), (2, 0));
    node.assert_settled(2);
}

#[tokio::test(start_paused = true)]
async fn an_activation_that_ends_while_its_transport_is_there_is_not_transferred() {
    let (node, driver) = node(1, 1);
    node.backend.set_step("echo", FakeStep::Echo);
    let mut started = node.start("a", "echo");
    assert_eq!(started.activation_id(), &activation("a"));
    assert_eq!((started.lineage().activation_id(), started.tenant()), (&activation("a"), &tenant()));
    assert_eq!(node.supervisor.snapshot().reserved, 1);
    let receipt = watched(&mut started).await;
    assert_eq!(&receipt.activation_id, started.activation_id());
    assert_eq!(node.supervisor.snapshot().reserved, 0, "the slot is free before the activation is let go of");
    started.transport_deadline_exceeded();
    drop(node.start("b", "echo"));
    node.drain(tokio::spawn(driver)).await;
    assert_eq!((node.end("a"), node.end("b")), ("ok".to_owned(), STOPPED.to_owned()));
    assert_eq!(node.counts(), (1, 0));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_whoever_serves_the_call_is_a_disconnect() {
    let (node, driver) = node(1, 1);
    node.backend.set_step("spin", FakeStep::Spin);
    let started = node.running("a", "spin");
    let served = catch_unwind(AssertUnwindSafe(|| {
        let _serving = started;
        panic!("in the transport");
    }));
    assert!(served.is_err());
    node.drain(tokio::spawn(driver)).await;
    assert_eq!(node.end("a"), STOPPED);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_needs_no_runtime() {
    let (node, driver) = node(1, 1);
    node.backend.set_step("spin", FakeStep::Spin);
    let started = node.start("a", "spin");
    std::thread::spawn(move || drop(started)).join().expect("it does not panic");
    node.drain(tokio::spawn(driver)).await;
    assert_eq!(node.end("a"), STOPPED);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_anywhere_takes_neither_the_driver_nor_the_others_down() {
    let (node, driver) = node(4, 8);
    let yields = |then| FakeStep::Yield { polls: 3, then: Box::new(then) };
    node.backend.set_step("spin", FakeStep::Spin);
    node.backend.set_step("poll", yields(FakeStep::Panic));
    node.backend.set_step("drop", FakeStep::PanicOnDrop);
    let spinning = node.running("spin", "spin");
    drop((node.running("poll", "poll"), node.running("drop", "drop")));
    let driver = tokio::spawn(driver);
    node.backend.set_preparation(FakePreparation::PanicOnDrop);
    let mut preparing = node.start("preparing", "spin");
    assert!(poll(&mut preparing).is_pending());
    drop(preparing);
    tokio::task::yield_now().await;
    advance(GRACE).await;
    tokio::task::yield_now().await;
    assert_eq!((node.counts(), driver.is_finished()), ((3, 0), false));
    node.backend.set_preparation(FakePreparation::Ready);
    drop((spinning, node.running("late", "spin")));
    node.drain(driver).await;
    for id in ["poll", "drop", "preparing", "spin", "late"] {
        assert_eq!(node.end(id), STOPPED, "{id}");
    }
    assert_eq!(node.counts(), (5, 0));
    node.assert_settled(2);
}

#[test]
fn a_supervised_activation_and_the_driver_go_to_any_thread() {
    fn anywhere<T: Send + 'static>() {}
    anywhere::<SupervisedActivation>();
    anywhere::<CleanupDriver>();
}
