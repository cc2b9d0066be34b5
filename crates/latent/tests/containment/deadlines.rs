//! Deadlines as such: parked and busy guests, deadlines that are past, near, absent or absurd, and the legacy entry.

use std::sync::Arc;
use std::time::Duration;

use latent_core::{ExecutionOutcome, ResourceBudget};
use latent_executor::{ComponentArtifact, ExecutionRequest, suite};

use crate::calls::{artifact, assert_cancelled, assert_deadline, call, echo, mode, spin, succeeded};
use crate::polls::park;
use crate::spinning::ends_by_deadline;
use crate::support::{Setup, WATCHDOG, alone_on_node, now, on_node, until, wall_now};

const HOUR_MILLIS: &str = "[3600000]";

#[test]
fn a_guest_parked_for_an_hour_ends_by_its_deadline() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("clock-park").await;
        let parked = call("clock-park", "park", "park", HOUR_MILLIS);
        ends_by_deadline(&node, "parked", parked, Duration::from_millis(200)).await;
    });
}

#[test]
fn a_guest_cancelled_while_parked_ends_at_once() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("clock-park").await;
        let mut overshoots = Vec::new();
        for _ in 0..50 {
            let call = call("clock-park", "park", "park", HOUR_MILLIS);
            let id = call.id();
            let mut run = Box::pin(node.run(call));
            park(&mut run).await;
            let cancelled = now();
            node.cancel(&id);
            assert_cancelled(&run.await);
            overshoots.push(cancelled.elapsed());
        }
        overshoots.sort();
        println!("cancelled while parked: p50 {:?}, most {:?}", overshoots[25], overshoots[49]);
        assert!(overshoots[49] <= node.tolerance());
    });
}

#[test]
fn a_guest_that_fills_its_memory_ends_by_its_deadline() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("memory-fill").await;
        let fill = call("memory-fill", "run", "run", "[]").fuel(u64::MAX);
        ends_by_deadline(&node, "memory.fill of 16 MiB", fill, Duration::from_millis(50)).await;
    });
}

#[test]
fn a_deadline_that_is_past_ends_the_activation_before_it_has_a_cell_or_code() {
    on_node(Setup::default(), |node| async move {
        let mut late = spin();
        late.envelope.deadline = wall_now().checked_sub(Duration::from_secs(1));
        let report = node.run(late).await;
        assert_deadline(&report);
        assert_eq!((report.cell, report.consumption.fuel), (None, 0));
        assert_eq!(node.backend.resources().prepared_entries, 0, "nothing was even compiled");
        assert_eq!(node.runner.snapshot().releases, 0);
    });
}

#[test]
fn a_deadline_of_one_tick_is_never_early() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        for millis in [1, 1, 1, 2, 3, 5, 10] {
            ends_by_deadline(&node, "one tick and a few", spin(), Duration::from_millis(millis)).await;
        }
    });
}

#[test]
fn no_deadline_and_one_beyond_all_time_both_let_a_call_finish() {
    on_node(Setup::with_cells(2), |node| async move {
        assert_eq!(succeeded(&node.run(mode("delayed-echo", "[\"hi\",5]")).await), "\"hi\"");
        let never = Duration::from_millis(u64::MAX);
        assert_eq!(succeeded(&node.run(mode("delayed-echo", "[\"hi\",5]").within(never)).await), "\"hi\"");
        let asked = call("log-context", "speak", "deadline-millis", "[]").within(never);
        let left: u64 = succeeded(&node.run(asked).await).trim_matches('"').parse().expect("a number");
        assert!(left > u64::MAX / 2, "{left}");
    });
}

#[test]
fn a_deadline_beyond_all_time_does_not_disturb_the_queue() {
    on_node(Setup { cells: 1, ..Setup::default() }, |node| async move {
        node.warm("containment-capsule").await;
        let blocker = spin();
        let id = blocker.id();
        let blocker = node.spawn(blocker);
        until("the cell is taken", || node.observations().active_leases == 1).await;
        let queued = node.spawn(echo().within(Duration::from_millis(u64::MAX)));
        until("the second waits", || node.observations().queue_depth == 1).await;
        node.cancel(&id);
        assert_cancelled(&blocker.await.expect("a report"));
        assert_eq!(succeeded(&queued.await.expect("a report")), "\"hi\"");
    });
}

/// The legacy entry has no admission: the deadline comes from the request alone, from one sample.
#[test]
fn a_direct_legacy_call_ends_by_the_earlier_of_its_two_deadlines() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let (near, far) = (Duration::from_millis(60), Duration::from_hours(1));
        for (of_context, of_budget) in [(near, far), (far, near)] {
            let started = now();
            let mut request = spinning();
            Arc::make_mut(&mut request.context).deadline = wall_now().checked_add(of_context);
            request.budget.deadline = wall_now().checked_add(of_budget);
            let report = tokio::time::timeout(WATCHDOG, node.backend.invoke(capsule(), request)).await.expect("an end");
            assert_eq!(report.outcome, ExecutionOutcome::DeadlineExceeded);
            let elapsed = started.elapsed();
            assert!(elapsed >= near && elapsed <= near + node.tolerance(), "{elapsed:?}");
            println!("legacy: overshot by {:?}", elapsed.saturating_sub(near));
        }
        let mut past = spinning();
        past.budget.deadline = wall_now().checked_sub(far);
        let report = node.backend.invoke(capsule(), past).await;
        assert_eq!(report.outcome, ExecutionOutcome::DeadlineExceeded);
        assert_eq!(report.consumption.fuel, 0, "the guest was not entered");
    });
}

#[test]
fn a_contained_call_keeps_the_deadline_of_its_admission_whatever_the_request_says() {
    on_node(Setup::default(), |node| async move {
        let admitted = Duration::from_millis(30);
        let mut request = spinning();
        request.budget.deadline = wall_now().checked_add(Duration::from_hours(1));
        let cancellation = suite::cancellation(&request, Some(admitted));
        let run = node.backend.invoke_contained(capsule(), request, cancellation);
        let contained =
            tokio::time::timeout(WATCHDOG, run).await.expect("a later deadline in the request loosens nothing");
        assert_eq!(contained.report.outcome, ExecutionOutcome::DeadlineExceeded);

        let request = suite::request(CAPSULE_ECHO, "[\"hi\"]");
        let tightened = suite::cancellation(&request, Some(Duration::from_hours(1))).tightened(Some(now()));
        let contained = node.backend.invoke_contained(capsule(), request, tightened).await;
        assert_eq!(contained.report.outcome, ExecutionOutcome::DeadlineExceeded, "an earlier one tightens");
    });
}

const CAPSULE_ECHO: &str = "fixture:containment-capsule/modes@0.1.0#echo";

fn capsule() -> ComponentArtifact {
    artifact("containment-capsule")
}

fn spinning() -> ExecutionRequest {
    let spin = "fixture:containment-capsule/modes@0.1.0#spin";
    let mut request = suite::request(spin, "[]");
    request.budget = ResourceBudget { fuel: u64::MAX, ..ResourceBudget::default() };
    request
}
