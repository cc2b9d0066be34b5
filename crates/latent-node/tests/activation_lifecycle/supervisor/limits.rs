//! Slots, the cap of a continuation, and the life of the driver.

use std::time::Duration;

use latent_activation::journal::Lookup;
use latent_core::PlatformErrorCode;
use latent_executor::fake::{FakeStep, Gate};
use latent_node::{
    ActivationArrival, CLEANUP_GRACE_MAX, CONTINUATIONS_MAX, CleanupSupervisor, CleanupSupervisorConfig,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, advance};

use super::setup::{CAP, GRACE, Node, activation, node, poll, refused, request, tenant, watched};
use super::{LATE, STOPPED};

const OVERRUN: &str = "cell-disposition.cleanup-overrun";

/// The shortest time that Tokio's timer tells apart.
const TICK: Duration = Duration::from_millis(1);

fn gated(node: &Node) -> Gate {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.backend.set_step("gated", FakeStep::Gated { entered, leave: leave.clone(), then: Box::new(FakeStep::Echo) });
    leave
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name() {
    let good = CleanupSupervisorConfig::default();
    assert_eq!((good.continuations_max, good.cleanup_grace), (64, GRACE));
    let bad = [
        (CleanupSupervisorConfig { continuations_max: 0, ..good }, "continuations_max"),
        (CleanupSupervisorConfig { continuations_max: CONTINUATIONS_MAX + 1, ..good }, "continuations_max"),
        (CleanupSupervisorConfig { cleanup_grace: Duration::ZERO, ..good }, "cleanup_grace"),
        (CleanupSupervisorConfig { cleanup_grace: CLEANUP_GRACE_MAX + TICK, ..good }, "cleanup_grace"),
    ];
    for (config, setting) in bad {
        let error = refused(CleanupSupervisor::new(config));
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
        assert_eq!(error.details()[0].kind(), "activation.supervisor-config");
        assert_eq!(error.details()[0].field("setting"), Some(setting));
    }
    let largest = CleanupSupervisorConfig { continuations_max: CONTINUATIONS_MAX, cleanup_grace: CLEANUP_GRACE_MAX };
    let (supervisor, _driver) = CleanupSupervisor::new(largest).unwrap();
    assert_eq!(supervisor.continuation_cap(), CLEANUP_GRACE_MAX * 2);
}

#[tokio::test(start_paused = true)]
async fn a_grace_shorter_than_the_managers_is_refused_before_an_id_is_accepted() {
    let (node, _driver) = node(1, 1);
    let short = CleanupSupervisorConfig { continuations_max: 1, cleanup_grace: GRACE / 2 };
    let (supervisor, _other) = CleanupSupervisor::new(short).unwrap();
    let error = refused(supervisor.start(&node.manager, request("a", "echo"), ActivationArrival::default()));
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert_eq!(error.details()[0].field("setting"), Some("cleanup_grace"));
    assert_eq!(node.manager.status(&tenant(), &activation("a")), Lookup::Unknown);
    assert_eq!(supervisor.snapshot().reserved, 0, "the slot went back");
}

#[tokio::test(start_paused = true)]
async fn a_full_supervisor_refuses_before_an_id_is_accepted() {
    let (node, driver) = node(2, 1);
    node.backend.set_step("spin", FakeStep::Spin);
    let first = node.running("a", "spin");
    let error = refused(node.try_start("b", "spin"));
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
    assert_eq!(error.details()[0].kind(), "activation.continuations-exhausted");
    assert_eq!(error.details()[0].field("max"), Some("1"));
    assert_eq!(node.manager.status(&tenant(), &activation("b")), Lookup::Unknown);
    assert_eq!(node.manager.parts().journal.snapshot().active, 1);
    drop(first);
    assert!(node.try_start("b", "spin").is_err(), "the slot is the continuation's");
    let driver = tokio::spawn(driver);
    tokio::task::yield_now().await;
    drop(node.start("b", "spin"));
    node.drain(driver).await;
    assert_eq!((node.end("a"), node.end("b")), (STOPPED.to_owned(), STOPPED.to_owned()));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_and_a_dropped_slot_give_their_slots_back() {
    let (node, driver) = node(1, 2);
    node.backend.set_step("spin", FakeStep::Spin);
    let held = node.running("a", "spin");
    for _ in 0..3 {
        assert!(refused(node.try_start("a", "spin")).has_detail("activation.duplicate"));
        assert!(node.try_start("", "spin").is_err());
    }
    assert_eq!(node.supervisor.audit().unwrap().reserved, 1);
    let slot = node.supervisor.reserve().unwrap();
    assert!(node.supervisor.reserve().is_err());
    drop(slot);
    let slot = node.supervisor.reserve().unwrap();
    let second = slot.start(&node.manager, request("b", "spin"), ActivationArrival::default()).unwrap();
    assert_eq!(node.supervisor.audit().unwrap().reserved, 2);
    drop((held, second));
    node.drain(tokio::spawn(driver)).await;
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_gets_its_turn_at_the_cap_is_in_time_and_after_it_is_not() {
    for (waited, counts, end, quarantined) in [(CAP, (1, 0), STOPPED, 0), (CAP + TICK, (0, 1), OVERRUN, 1)] {
        let (node, driver) = node(1, 1);
        node.backend.set_step("spin", FakeStep::Spin);
        drop(node.running("a", "spin"));
        advance(waited).await;
        node.drain(tokio::spawn(driver)).await;
        assert_eq!((node.counts(), node.end("a")), (counts, end.to_owned()), "{waited:?}");
        node.assert_settled(quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_guest_in_a_hung_pool_overruns_at_the_cap_if_the_driver_was_late() {
    for late in [TICK, GRACE / 2, GRACE] {
        let (node, driver) = node(1, 1);
        node.backend.set_step("hang", FakeStep::Hang);
        let started = node.running("a", "hang");
        node.pool.fall_silent();
        drop(started);
        let transferred = Instant::now();
        advance(late).await;
        let driver = tokio::spawn(driver);
        assert_eq!(node.manager.parts().journal.snapshot().active, 1);
        node.drain(driver).await;
        assert_eq!(transferred.elapsed(), CAP);
        assert_eq!((node.counts(), node.end("a")), ((0, 1), OVERRUN.to_owned()));
        let record = node.manager.status(&tenant(), &activation("a")).found().unwrap().terminal.unwrap();
        assert_eq!(record.state, latent_core::TerminalState::PlatformFailed);
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn both_graces_whole_are_within_the_cap() {
    let (node, driver) = node(1, 1);
    node.backend.set_step("hang", FakeStep::Hang);
    let started = node.running("a", "hang");
    node.pool.fall_silent();
    drop(started);
    node.drain(tokio::spawn(driver)).await;
    assert_eq!((node.counts(), node.end("a")), ((1, 0), "cell-disposition.quarantine-failed".to_owned()));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn sixty_four_disconnects_at_once_are_all_cleaned_up_by_the_one_driver() {
    let (node, driver) = node(16, 64);
    node.backend.set_step("spin", FakeStep::Spin);
    let ids: Vec<String> = (0..64).map(|n| format!("a{n}")).collect();
    let mut started: Vec<_> = ids.iter().map(|id| node.start(id, "spin")).collect();
    for activation in &mut started {
        assert!(poll(activation).is_pending());
    }
    assert!(node.try_start("more", "spin").is_err());
    let driver = tokio::spawn(driver);
    tokio::task::yield_now().await;
    for (n, activation) in started.into_iter().enumerate() {
        if n % 2 == 0 { drop(activation) } else { activation.transport_deadline_exceeded() }
    }
    assert_eq!(node.supervisor.audit().unwrap().continuing, 64);
    node.drain(driver).await;
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(node.end(id), if n % 2 == 0 { STOPPED } else { LATE }, "{id}");
    }
    assert_eq!(node.counts(), (64, 0));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_driver_gives_up_what_it_had_what_was_queued_and_what_comes_later() {
    let (node, mut driver) = node(3, 4);
    node.backend.set_step("hang", FakeStep::Hang);
    node.backend.set_step("bomb", FakeStep::PanicOnDrop);
    let later = node.running("later", "bomb");
    let running = node.running("taken", "bomb");
    let unpolled = node.start("queued", "hang");
    drop(running);
    assert!(poll(&mut driver).is_pending());
    drop(unpolled);
    assert_eq!(node.supervisor.audit().unwrap().continuing, 2);
    drop(driver);
    assert_eq!((node.end("taken"), node.end("queued")), (OVERRUN.to_owned(), OVERRUN.to_owned()));
    let error = refused(node.supervisor.reserve());
    assert_eq!(error.details()[0].kind(), "activation.shutting-down");
    later.transport_deadline_exceeded();
    assert_eq!(node.end("later"), OVERRUN);
    assert_eq!(node.counts(), (0, 3));
    assert!(!node.supervisor.snapshot().driven);
    node.assert_settled(2);
}

#[tokio::test(start_paused = true)]
async fn a_driver_whose_task_is_aborted_leaves_one_record_each() {
    let (node, driver) = node(2, 2);
    node.backend.set_step("hang", FakeStep::Hang);
    drop((node.running("a", "hang"), node.running("b", "hang")));
    let driver = tokio::spawn(driver);
    tokio::task::yield_now().await;
    driver.abort();
    assert!(watched(driver).await.unwrap_err().is_cancelled());
    assert_eq!((node.end("a"), node.end("b")), (OVERRUN.to_owned(), OVERRUN.to_owned()));
    assert_eq!(node.counts(), (0, 2));
    node.assert_settled(2);
}

#[tokio::test(start_paused = true)]
async fn a_closed_supervisor_gives_no_slot_and_its_driver_ends_after_the_last() {
    let (node, driver) = node(2, 4);
    let leave = gated(&node);
    node.backend.set_step("spin", FakeStep::Spin);
    let connected = node.running("connected", "spin");
    drop(node.running("continuing", "gated"));
    let driver = tokio::spawn(driver);
    let slot = node.supervisor.reserve().unwrap();
    node.supervisor.close();
    node.supervisor.close();
    let error = refused(node.try_start("late", "spin"));
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::Unavailable, true));
    assert_eq!(error.details()[0].kind(), "activation.shutting-down");
    assert_eq!(node.manager.status(&tenant(), &activation("late")), Lookup::Unknown);
    leave.open();
    tokio::task::yield_now().await;
    assert_eq!((node.end("continuing"), driver.is_finished()), (STOPPED.to_owned(), false));
    drop(connected);
    tokio::task::yield_now().await;
    assert_eq!((node.end("connected"), driver.is_finished()), (STOPPED.to_owned(), false));
    drop(slot);
    watched(driver).await.unwrap();
    assert_eq!(node.counts(), (2, 0));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_is_dropped_is_closed() {
    let (supervisor, driver) = CleanupSupervisor::new(CleanupSupervisorConfig::default()).unwrap();
    let slot = supervisor.reserve().unwrap();
    let driver = tokio::spawn(driver);
    drop(supervisor);
    tokio::task::yield_now().await;
    assert!(!driver.is_finished());
    drop(slot);
    watched(driver).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_driver_is_one_task_however_much_is_transferred() {
    let (node, driver) = node(8, 8);
    let leave = gated(&node);
    let before = Handle::current().metrics().num_alive_tasks();
    let driver = tokio::spawn(driver);
    for n in 0..8 {
        drop(node.running(&n.to_string(), "gated"));
    }
    tokio::task::yield_now().await;
    assert_eq!(node.supervisor.snapshot().continuing, 8);
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before + 1);
    leave.open();
    node.drain(driver).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
    node.assert_settled(0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnects_that_race_the_driver_and_the_guests_leave_one_record_each() {
    let (node, driver) = node(4, 64);
    node.backend.set_step("work", FakeStep::Yield { polls: 4, then: Box::new(FakeStep::Echo) });
    let driver = tokio::spawn(driver);
    let (mut returned, mut disconnected) = (0, 0);
    for n in 0_u64..1_000 {
        let id = n.to_string();
        // Full, there is nothing to do but to let the driver go on.
        let mut started = loop {
            match node.try_start(&id, "work") {
                Ok(started) => break started,
                Err(_full) => tokio::task::yield_now().await,
            }
        };
        if (0..n % 8).any(|_| poll(&mut started).is_ready()) {
            returned += 1;
        } else {
            disconnected += 1;
        }
    }
    node.drain(driver).await;
    let (ended, overruns) = node.counts();
    assert_eq!(ended + overruns, disconnected);
    for n in 0..1_000 {
        let end = node.end(&n.to_string());
        returned -= u64::from(end == "ok");
        assert!(["ok", STOPPED, OVERRUN].contains(&&*end), "{end}");
    }
    assert_eq!(returned, 0, "whoever was told a result has it in the record, and nobody else");
    // On a machine that lets the driver wait for longer than the cap, an overrun costs the cell that it had.
    let quarantined = node.pool.inner.audit().unwrap().quarantined;
    assert!(quarantined as u64 <= overruns);
    node.assert_settled(quarantined);
}
