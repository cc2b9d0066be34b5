//! Who may take part: what is denied, under which name, and what the node's one ledger says meanwhile.

mod denials;

use std::sync::Barrier;
use std::time::Duration;

use latent_activation::{ActivationRequest, LifecyclePhase as Phase, LocalActivationJournalConfig};
use latent_core::{PlatformError, PlatformErrorCode as Code, TerminalState as State};
use latent_executor::fake::FakeStep;
use latent_node::ActivationArrival;
use latent_scheduler::admission::{
    AdmissionConfig, PressureLimits, PressurePolicy, PressureSample, QueueClass, TransportTimeout,
};
use latent_scheduler::fair::SCHEDULER_LIMIT;

use crate::support::*;
use denials::{Denial, denials};

#[tokio::test(start_paused = true)]
async fn every_denial_is_rejected_as_an_admission_limit_before_anything_is_reserved() {
    for Denial { config, threading, code, fields, retryable } in denials() {
        let node = Setup { admission: config, ..Setup::default() }.node(FakeStep::Echo);
        node.catalog.inner.apply(apply_threaded("t", threading)).unwrap();
        let receipt = node.run("a").await;
        let (state, error) = error(&receipt);
        assert_eq!((state, error.code(), error.is_retryable()), (State::Rejected, code, retryable), "{error}");
        let detail = &error.details()[0];
        assert_eq!(detail.kind(), "admission.limit");
        assert_eq!(["scope", "dimension", "reason"].map(|name| detail.field(name).unwrap()), fields);
        assert_eq!(node.ended("a"), (State::Rejected, Phase::Resolved), "{fields:?}");
        assert!(receipt.resolved.is_some() && node.repository.fetches() == 0, "{fields:?}");
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_shared_ledger_counts_exactly_what_is_queued_and_running() {
    let node = Setup { cells: 1, live: 3, ..Setup::default() }.node(FakeStep::Hang);
    let mut handles: Vec<_> = ["a", "b", "c"].map(|id| node.start(id)).into();
    for (count, handle) in handles.iter_mut().enumerate() {
        assert_eq!(node.live(), count as u64, "admission is at the first poll");
        waits(handle);
    }
    let ledger = node.manager.parts().admission.ledger();
    assert_eq!((ledger.snapshot().running, ledger.snapshot().queued), (1, 2));
    assert_eq!(ledger.snapshot().fuel, 300_000_000);
    assert_eq!(ledger.tenant(&tenant("t")), ledger.snapshot());
    let receipt = node.run("d").await;
    assert_eq!(error(&receipt).1.details()[0].field("reason"), Some("capacity-exhausted"));
    assert!(error(&receipt).1.is_retryable());
    assert_eq!(node.live(), 3, "a denial counts nothing");
    handles.truncate(1);
    assert_eq!((node.live(), node.queued()), (1, 0));
    drop(handles);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_view_keeps_what_is_counted() {
    let node = Setup { cells: 2, ..Setup::default() }.node(FakeStep::Hang);
    let mut first = node.start("a");
    waits(&mut first);
    let mut config = (*node.admission.config()).clone();
    config.node.live = 1;
    node.admission.replace(config).unwrap();
    let receipt = node.run("b").await;
    assert_eq!(error(&receipt).0, State::Rejected);
    drop(first);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_rejects_the_next_and_keeps_those_who_wait() {
    let node = Setup { queue: 1, ..Setup::default() }.node(FakeStep::Hang);
    let (mut running, mut queued) = (node.start("running"), node.start("queued"));
    waits(&mut running);
    waits(&mut queued);
    let receipt = node.run("a").await;
    let (state, error) = error(&receipt);
    assert_eq!((state, error.code(), error.is_retryable()), (State::Rejected, Code::ResourceExhausted, true));
    assert_eq!(error.details()[0].kind(), SCHEDULER_LIMIT);
    assert_eq!(error.details()[0].field("reason"), Some("queue-full"));
    assert_eq!(node.ended("a"), (State::Rejected, Phase::Queued));
    assert_eq!((node.live(), node.queued()), (2, 1));
    waits(&mut queued);
    drop((queued, running));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_shuts_down_refuses_those_who_wait_and_those_who_come() {
    let node = node(FakeStep::Hang);
    let (mut running, mut queued) = (node.start("running"), node.start("queued"));
    waits(&mut running);
    waits(&mut queued);
    node.scheduler.shut_down();
    for receipt in [finish(queued).await, node.run("late").await] {
        let (state, error) = error(&receipt);
        assert_eq!((state, error.code(), error.is_retryable()), (State::DependencyFailed, Code::Unavailable, true));
        assert_eq!(error.details()[0].field("reason"), Some("shutting-down"));
    }
    drop(running);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passed_before_admission_is_the_shared_error() {
    let node = node(FakeStep::Echo);
    let absolute = ActivationRequest { deadline: node.due(Duration::from_secs(1)), ..request("a") };
    let mut late = node.start_request(absolute);
    node.pass(Duration::from_secs(1)).await;
    let receipt = ready(&mut late);
    assert_eq!(receipt.outcome, failed(PlatformError::deadline_exceeded()));
    assert_eq!(node.ended("a"), (State::DeadlineExceeded, Phase::Resolved));

    let arrival = tokio::time::Instant::now().into_std();
    let transport = Some(TransportTimeout { arrival, timeout: Duration::from_secs(1) });
    let arrived = ActivationArrival { transport, ..ActivationArrival::default() };
    let mut late = node.manager.start_arrived(request("b"), arrived).unwrap();
    node.pass(Duration::from_secs(1)).await;
    assert_eq!(ready(&mut late).outcome, failed(PlatformError::deadline_exceeded()));
    assert_eq!(node.repository.fetches(), 0);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_the_deadlines_is_the_activations() {
    for (request_ms, transport_ms, wall_ms, left_ms) in [(30, 20, 10, 10), (30, 10, 20, 10), (10, 20, 30, 10)] {
        let node = node(FakeStep::Hang);
        let ms = Duration::from_millis;
        let mut asked = ActivationRequest { deadline: node.due(ms(request_ms)), ..request("a") };
        asked.budget.wall_limit = Some(ms(wall_ms));
        let arrival = tokio::time::Instant::now().into_std();
        let transport = Some(TransportTimeout { arrival, timeout: ms(transport_ms) });
        let arrived = ActivationArrival { transport, ..ActivationArrival::default() };
        let started = tokio::time::Instant::now();
        let receipt = finish(node.manager.start_arrived(asked, arrived).unwrap()).await;
        assert_eq!(receipt.outcome, failed(PlatformError::deadline_exceeded()));
        assert_eq!(started.elapsed(), ms(left_ms) + GRACE);
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fresh_sample_of_a_calm_node_admits() {
    let pressed = |config: &mut AdmissionConfig| config.pressure = PressurePolicy::Linux(PressureLimits::default());
    let node = Setup { admission: pressed, ..Setup::default() }.node(FakeStep::Echo);
    let taken_at = tokio::time::Instant::now().into_std();
    let calm = PressureSample { taken_at, cpu_some: 0, memory_full: 0, io_full: 0 };
    node.manager.observe_pressure(Some(calm));
    node.manager.check_pressure().unwrap();
    assert_eq!(node.run("a").await.outcome.terminal_state(), State::Completed);
    node.manager.observe_pressure(Some(PressureSample { memory_full: 9_999, ..calm }));
    let said = node.manager.check_pressure().unwrap_err();
    assert_eq!(error(&node.run("b").await).1.details(), said.details());
    assert_eq!(said.details()[0].field("dimension"), Some("memory-pressure"));
    node.manager.observe_pressure(None);
    assert_eq!(node.manager.check_pressure().unwrap_err().details()[0].field("dimension"), Some("pressure-sample"));
    assert_eq!(error(&node.run("c").await).1.details()[0].field("dimension"), Some("pressure-sample"));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_priority_and_the_queue_class_of_an_arrival_count() {
    let background = |config: &mut AdmissionConfig| config.queue[QueueClass::Background as usize].live = 0;
    let node = Setup { admission: background, ..Setup::default() }.node(FakeStep::Echo);
    let arrive = |asked, priority, queue_class| {
        node.manager.start_arrived(asked, ActivationArrival { priority, queue_class, transport: None }).unwrap()
    };
    let mut denied = arrive(request("background"), 0, QueueClass::Background);
    assert_eq!(error(&ready(&mut denied)).1.details()[0].field("scope"), Some("queue-class"));
    let mut running = node.start_request(request_of("t", "running", "acknowledge"));
    waits(&mut running);
    let mut low = arrive(request("low"), 1, QueueClass::Standard);
    let mut high = arrive(request("high"), 2, QueueClass::Standard);
    waits(&mut low);
    waits(&mut high);
    node.cancel("running");
    finish(running).await;
    waits(&mut low);
    assert_eq!(ready(&mut high).outcome.terminal_state(), State::Completed, "the later one of higher priority first");
    assert_eq!(ready(&mut low).outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[test]
fn sixty_four_racing_activations_at_the_limit_less_one_are_exactly_one_more() {
    let journal = LocalActivationJournalConfig { active_max: 100, ..LocalActivationJournalConfig::default() };
    let node = Setup { cells: 8, live: 8, journal, ..Setup::default() }.node(FakeStep::Hang);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let mut held: Vec<_> = (0..7).map(|n| node.start(&format!("held-{n}"))).collect();
    held.iter_mut().for_each(waits);
    let barrier = Barrier::new(64);
    let results: Vec<_> = std::thread::scope(|scope| {
        let racing: Vec<_> = (0..64)
            .map(|n| {
                let (node, barrier, runtime) = (&node, &barrier, &runtime);
                scope.spawn(move || {
                    let _entered = runtime.enter();
                    let mut handle = node.start(&format!("racing-{n}"));
                    barrier.wait();
                    let polled = poll(&mut handle);
                    (handle, polled)
                })
            })
            .collect();
        racing.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let running = results.iter().filter(|(_, polled)| polled.is_pending()).count();
    assert_eq!((running, node.live()), (1, 8));
    for (_, polled) in &results {
        if let std::task::Poll::Ready(receipt) = polled {
            assert_eq!(error(receipt).0, State::Rejected);
        }
    }
    drop((held, results));
    node.assert_settled(8);
}
