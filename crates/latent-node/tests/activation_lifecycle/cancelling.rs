//! What a cancel is told, and what it does in each phase.

use std::collections::HashMap;
use std::sync::Barrier;
use std::time::Duration;

use latent_activation::{ActivationRequest, CancelDisposition, LifecyclePhase as Phase, LocalActivationJournalConfig};
use latent_core::{ExecutionOutcome as E, Payload, PlatformError, TerminalState as State};
use latent_executor::fake::{FakePreparation, FakeStep};
use tokio::task::JoinSet;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_second_cancel_is_accepted_too_and_the_first_reason_is_kept() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    for reason in ["first", "second"] {
        let disposition = node.manager.cancel_for(&tenant("t"), &activation("a"), reason);
        assert_eq!(disposition, CancelDisposition::Accepted);
    }
    assert_eq!(node.status("a").cancel_reason.as_deref(), Some("first"));
    finish(handle).await;
    assert_eq!(node.status("a").cancel_reason.as_deref(), Some("first"), "also after the end");
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn an_accepted_cancel_is_no_proof_of_cleanup() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    assert!(node.status("a").terminal.is_none());
    assert_eq!((node.live(), node.pool.cells.audit().unwrap().active_leases), (1, 1));
    finish(handle).await;
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_end_is_told_the_state() {
    let node = node(FakeStep::Echo);
    let ends = [
        (E::Returned(Payload::json("1")), State::Completed),
        (E::Trapped { category: "unreachable" }, State::GuestTrap),
        (E::FuelExhausted, State::ResourceExhausted),
        (E::Cancelled, State::Cancelled),
    ];
    for (n, (outcome, state)) in ends.into_iter().enumerate() {
        node.backend.fake.set_step("f", FakeStep::End(outcome));
        let id = format!("a-{n}");
        node.run(&id).await;
        let events = node.events(&id);
        for _ in 0..2 {
            assert_eq!(node.cancel(&id), CancelDisposition::AlreadyTerminal(state));
        }
        assert_eq!(node.events(&id), events);
        assert_eq!(node.status(&id).cancel_reason, None);
    }
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_and_an_expired_activation_are_not_found() {
    let journal = LocalActivationJournalConfig { terminal_max: 1, ..LocalActivationJournalConfig::default() };
    let node = Setup { journal, ..Setup::default() }.node(FakeStep::Echo);
    node.run("evicted").await;
    node.run("kept").await;
    assert_eq!(node.cancel("never"), CancelDisposition::NotFound);
    assert_eq!(node.cancel("evicted"), CancelDisposition::NotFound);
    assert_eq!(node.cancel("kept"), CancelDisposition::AlreadyTerminal(State::Completed));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_queued_activation_leaves_its_place_and_its_record_stays() {
    let node = node(FakeStep::Hang);
    let (mut running, mut queued, mut behind) = (node.start("running"), node.start("a"), node.start("behind"));
    waits(&mut running);
    waits(&mut queued);
    waits(&mut behind);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    assert_eq!(ready(&mut queued).outcome, failed(PlatformError::cancelled()));
    assert_eq!((node.queued(), node.live()), (1, 2));
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Queued));
    assert_eq!(node.status("a").cancel_reason.as_deref(), Some("asked by the test"));
    waits(&mut behind);
    drop((running, behind));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_before_the_first_poll_ends_it_at_received() {
    let node = node(FakeStep::Echo);
    let mut handle = node.start("a");
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    let receipt = ready(&mut handle);
    assert_eq!((receipt.outcome, receipt.resolved), (failed(PlatformError::cancelled()), None));
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Received));
    assert!(node.catalog.asked().is_empty());
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_activation_whose_cancel_was_accepted_is_cancelled_and_not_abandoned() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    drop(handle);
    let end = node.status("a").terminal.unwrap();
    let latent_activation::journal::RetainedOutcome::Failed(error) = end.outcome else { panic!("it failed") };
    assert_eq!(error, PlatformError::cancelled());
    node.assert_settled(1);
}

/// Cancels `a`, which another task polls than the one that polled it first, and asserts that it ends `after` that.
async fn assert_woken(node: &Node, after: Duration) {
    let mut handle = node.start("a");
    waits(&mut handle);
    let ending = tokio::spawn(finish(handle));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    let cancelled = tokio::time::Instant::now();
    assert_eq!(ending.await.unwrap().outcome, failed(PlatformError::cancelled()));
    assert_eq!(cancelled.elapsed(), after);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_wakes_whoever_waits_for_a_preparation() {
    let node = node(FakeStep::Echo);
    node.backend.fake.set_preparation(FakePreparation::Hang);
    assert_woken(&node, Duration::ZERO).await;
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_wakes_whoever_waits_for_a_cell() {
    let node = node(FakeStep::Hang);
    let mut holder = node.start("holder");
    waits(&mut holder);
    assert_woken(&node, Duration::ZERO).await;
    drop(holder);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_begins_the_grace_of_a_backend_that_does_not_listen() {
    let node = node(FakeStep::Hang);
    assert_woken(&node, GRACE).await;
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_long_reason_is_cut() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    let _accepted = node.manager.cancel_for(&tenant("t"), &activation("a"), &"why ".repeat(10_000));
    assert_eq!(node.status("a").cancel_reason.unwrap().len(), 256);
    drop(handle);
    node.assert_settled(0);
}

#[test]
fn ten_thousand_cancels_at_once_are_each_told_what_is_so() {
    let node = node(FakeStep::Hang);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    node.backend.fake.set_step("f", FakeStep::Echo);
    runtime.block_on(node.run("finished"));
    node.backend.fake.set_step("f", FakeStep::Hang);
    let (mut running, mut queued) = (node.start("running"), node.start("queued"));
    waits(&mut running);
    waits(&mut queued);
    let barrier = Barrier::new(8);
    let told = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let mut told = HashMap::new();
                    for _ in 0..250 {
                        for id in ["running", "queued", "finished", "never"] {
                            *told.entry((id, node.cancel(id))).or_insert(0) += 1;
                        }
                        let foreign = node.manager.cancel_for(&tenant("u"), &activation("running"), "mine");
                        *told.entry(("foreign", foreign)).or_insert(0) += 1;
                    }
                    told
                })
            })
            .collect();
        let mut all = HashMap::new();
        for thread in threads {
            for (what, count) in thread.join().unwrap() {
                *all.entry(what).or_insert(0) += count;
            }
        }
        all
    });
    let expected = [
        (("running", CancelDisposition::Accepted), 2_000),
        (("queued", CancelDisposition::Accepted), 2_000),
        (("finished", CancelDisposition::AlreadyTerminal(State::Completed)), 2_000),
        (("never", CancelDisposition::NotFound), 2_000),
        (("foreign", CancelDisposition::NotFound), 2_000),
    ];
    assert_eq!(told, HashMap::from(expected));
    for handle in [queued, running] {
        let receipt = runtime.block_on(finish(handle));
        assert_eq!(receipt.outcome, failed(PlatformError::cancelled()));
    }
    node.assert_settled(1);
}

#[test]
fn ten_thousand_queued_activations_that_are_cancelled_at_once_keep_their_records() {
    const COUNT: usize = 10_000;
    let journal = LocalActivationJournalConfig {
        active_max: COUNT + 1,
        terminal_max: COUNT + 1,
        aggregate_bytes_max: 4 << 30,
        declared_error_bytes_max: 0,
        ..LocalActivationJournalConfig::default()
    };
    let (queue, live) = (COUNT, COUNT as u64 + 1);
    let node = Setup { queue, journal, live, ..Setup::default() }.node(FakeStep::Hang);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let mut running = node.start("running");
    waits(&mut running);
    let mut queued: Vec<_> = (0..COUNT).map(|n| node.start(&n.to_string())).collect();
    queued.iter_mut().for_each(waits);
    assert_eq!(node.queued(), COUNT);
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (node, barrier) = (&node, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for n in (thread..COUNT).step_by(4) {
                    assert_eq!(node.cancel(&n.to_string()), CancelDisposition::Accepted);
                }
            });
        }
    });
    for handle in &mut queued {
        assert_eq!(ready(handle).outcome.terminal_state(), State::Cancelled);
    }
    assert_eq!((node.queued(), node.live(), node.journal.snapshot().terminal), (0, 1, COUNT));
    drop(running);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_short_call_waits_at_most_the_stated_bound_behind_another_tenants_thousand_long_ones() {
    for cells in [1, 4] {
        let journal = LocalActivationJournalConfig { active_max: 2_000, ..LocalActivationJournalConfig::default() };
        let journal = LocalActivationJournalConfig { declared_error_bytes_max: 0, ..journal };
        let long = |config: &mut latent_scheduler::admission::AdmissionConfig| {
            config.ceilings.wall_limit = Duration::from_hours(1);
        };
        let node = Setup { cells, queue: 2_000, live: 2_000, journal, admission: long, ..Setup::default() };
        let node = node.node(FakeStep::Echo);
        let sleeping = |of: &str, id: String, millis: &'static str| {
            let payload = Payload::json(millis);
            node.start_request(ActivationRequest { payload, ..request_of(of, &id, "sleep") })
        };
        let mut flood = JoinSet::new();
        for job in 0..1_000 {
            flood.spawn(sleeping("t", format!("job-{job}"), "1000"));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(node.queued(), 1_000 - cells);
        let started = tokio::time::Instant::now();
        let short = finish(sleeping("u", "short".into(), "5")).await;
        assert_eq!(short.outcome.terminal_state(), State::Completed);
        // One other tenant is ahead: one grant at most, then its own.
        let bound = Duration::from_secs(2_usize.div_ceil(cells) as u64) + Duration::from_millis(5);
        assert!(started.elapsed() <= bound, "{cells} cells: {:?} is over {bound:?}", started.elapsed());
        // Until whoever is next has taken the cell over.
        tokio::time::sleep(Duration::from_millis(1)).await;
        flood.abort_all();
        while flood.join_next().await.is_some() {}
        node.assert_settled(cells);
    }
}
