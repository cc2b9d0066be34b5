//! Races with real threads: whoever is first, the answers that are given and the record agree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use latent_activation::journal::RetainedOutcome;
use latent_activation::{CancelDisposition, LocalActivationJournalConfig};
use latent_core::{ExecutionOutcome, Payload, PlatformError, PlatformErrorCode as Code, TerminalState as State};
use latent_executor::fake::{FakeStep, Gate};
use latent_node::ActivationTransportInterruption::Disconnected;
use latent_node::CLEANUP_GRACE_MAX;
use tokio::runtime::Runtime;

use crate::support::{Node, Setup, failed, finish, poll, request, request_of, waits};

const ROUNDS: usize = 200;

/// A node with one cell and the longest grace, so that a thread that gets no processor for a while is no failure.
fn node(step: FakeStep) -> Node {
    Setup { grace: CLEANUP_GRACE_MAX, ..Setup::default() }.node(step)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

/// Waits until another thread has begun to look.
fn wait_for(looks: &AtomicBool) {
    while !looks.load(Ordering::Relaxed) {
        thread::yield_now();
    }
}

/// The error that the record of `a` keeps.
fn kept(node: &Node) -> PlatformError {
    match node.status("a").terminal.expect("it has ended").outcome {
        RetainedOutcome::Failed(error) => error,
        other => panic!("it did not fail: {other:?}"),
    }
}

#[test]
fn of_two_starts_with_one_id_exactly_one_is_accepted() {
    let runtime = runtime();
    for _ in 0..ROUNDS {
        let node = node(FakeStep::Echo);
        let barrier = Barrier::new(2);
        let start = || {
            let _entered = runtime.enter();
            barrier.wait();
            node.manager.start(request("a"))
        };
        let answers = thread::scope(|scope| [scope.spawn(start), scope.spawn(start)].map(|it| it.join().unwrap()));
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(handle) => accepted.push(handle),
                Err(error) => refused.push(error.code()),
            }
        }
        assert_eq!((accepted.len(), refused), (1, vec![Code::AlreadyExists]));
        let receipt = runtime.block_on(finish(accepted.remove(0)));
        assert_eq!(receipt.outcome.terminal_state(), State::Completed);
        assert_eq!(node.backend.requests().len(), 1);
        node.assert_settled(0);
    }
}

#[test]
fn a_cancel_that_races_the_end_is_accepted_exactly_if_the_end_is_a_cancelled_one() {
    let runtime = runtime();
    let mut accepted = 0;
    for _ in 0..ROUNDS {
        let node = node(FakeStep::Echo);
        let handle = node.start("a");
        let barrier = Barrier::new(2);
        let (disposition, receipt) = thread::scope(|scope| {
            let running = scope.spawn(|| {
                barrier.wait();
                runtime.block_on(finish(handle))
            });
            barrier.wait();
            (node.cancel("a"), running.join().unwrap())
        });
        match disposition {
            CancelDisposition::Accepted => {
                accepted += 1;
                assert_eq!(receipt.outcome, failed(PlatformError::cancelled()));
            }
            CancelDisposition::AlreadyTerminal(State::Completed) => {
                assert_eq!(receipt.outcome.terminal_state(), State::Completed);
            }
            other => panic!("{other:?}"),
        }
        node.assert_settled(0);
    }
    println!("{accepted} of {ROUNDS} cancels were in time");
}

#[test]
fn a_cancel_that_races_a_drop_is_accepted_exactly_if_the_record_says_cancelled_and_not_abandoned() {
    let runtime = runtime();
    let _entered = runtime.enter();
    for _ in 0..ROUNDS {
        let node = node(FakeStep::Hang);
        let mut handle = node.start("a");
        waits(&mut handle);
        let barrier = Barrier::new(2);
        let disposition = thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                drop(handle);
            });
            barrier.wait();
            node.cancel("a")
        });
        match disposition {
            CancelDisposition::Accepted => assert_eq!(kept(&node), PlatformError::cancelled()),
            CancelDisposition::AlreadyTerminal(State::Cancelled) => {
                assert!(kept(&node).has_detail("activation.abandoned"));
            }
            other => panic!("{other:?}"),
        }
        node.assert_settled(1);
    }
}

#[test]
fn an_interruption_that_races_the_guests_return_leaves_one_of_the_two_ends_and_a_clean_cell() {
    let runtime = runtime();
    let _entered = runtime.enter();
    for _ in 0..ROUNDS {
        let (leave, then) = (Gate::closed(), Box::new(FakeStep::Echo));
        let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
        let mut handle = node.start("a");
        waits(&mut handle);
        let barrier = Barrier::new(2);
        let receipt = thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                leave.open();
            });
            barrier.wait();
            runtime.block_on(finish(handle.interrupt_for_cleanup(Disconnected)))
        });
        assert_eq!(receipt.outcome, failed(PlatformError::transport_stopped()));
        node.assert_settled(0);
    }
}

#[test]
fn a_cancel_that_races_an_interruption_wins_if_it_is_accepted() {
    let runtime = runtime();
    let _entered = runtime.enter();
    for _ in 0..ROUNDS {
        let node = node(FakeStep::Echo);
        let mut handle = node.start_request(request_of("t", "a", "acknowledge"));
        waits(&mut handle);
        let barrier = Barrier::new(2);
        let (disposition, receipt) = thread::scope(|scope| {
            let ending = scope.spawn(|| {
                barrier.wait();
                runtime.block_on(finish(handle.interrupt_for_cleanup(Disconnected)))
            });
            barrier.wait();
            (node.cancel("a"), ending.join().unwrap())
        });
        let expected = match disposition {
            CancelDisposition::Accepted => PlatformError::cancelled(),
            CancelDisposition::AlreadyTerminal(State::Cancelled) => PlatformError::transport_stopped(),
            other => panic!("{other:?}"),
        };
        assert_eq!(receipt.outcome, failed(expected));
        node.assert_settled(0);
    }
}

#[test]
fn whoever_sees_the_end_of_a_dropped_activation_sees_its_quota_refunded_and_its_cell_quarantined() {
    let runtime = runtime();
    let _entered = runtime.enter();
    for _ in 0..ROUNDS {
        let node = node(FakeStep::Hang);
        let mut handle = node.start("a");
        waits(&mut handle);
        let looks = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while node.status("a").terminal.is_none() {
                    looks.store(true, Ordering::Relaxed);
                    thread::yield_now();
                }
                assert_eq!((node.live(), node.pool.cells.audit().unwrap().quarantined), (0, 1));
            });
            wait_for(&looks);
            drop(handle);
        });
        node.assert_settled(1);
    }
}

#[test]
fn whoever_sees_the_quota_of_an_ended_activation_refunded_sees_its_end() {
    const ERROR_BYTES: usize = 1 << 20;
    let runtime = runtime();
    let _entered = runtime.enter();
    // Publishing copies the declared error, which takes long enough for a wrong order to be seen.
    let outcome = ExecutionOutcome::DeclaredError(Payload::json(vec![b'1'; ERROR_BYTES]));
    for _ in 0..ROUNDS {
        let journal =
            LocalActivationJournalConfig { declared_error_bytes_max: ERROR_BYTES as u64, ..Default::default() };
        let step = FakeStep::Yield { polls: 1, then: Box::new(FakeStep::End(outcome.clone())) };
        let node = Setup { journal, grace: CLEANUP_GRACE_MAX, ..Setup::default() }.node(step);
        let mut handle = node.start("a");
        waits(&mut handle);
        let looks = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while node.admission.ledger().snapshot().live() > 0 {
                    looks.store(true, Ordering::Relaxed);
                    thread::yield_now();
                }
                assert_eq!(node.journal.snapshot().active, 0, "its end is on record");
            });
            wait_for(&looks);
            runtime.block_on(finish(handle));
        });
        assert_eq!(node.ended("a").0, State::Completed);
        node.assert_settled(0);
    }
}

#[test]
fn many_threads_that_start_cancel_interrupt_and_look_at_activations_of_one_node_leave_nothing() {
    let node = Arc::new(Setup { cells: 4, grace: CLEANUP_GRACE_MAX, ..Setup::default() }.node(FakeStep::Echo));
    let runtime = runtime();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (node, runtime) = (&node, &runtime);
                scope.spawn(move || {
                    let _entered = runtime.enter();
                    for n in 0..100 {
                        let id = format!("{worker}-{n}");
                        let mut handle = node.start_request(request_of("t", &id, "acknowledge"));
                        let _started = poll(&mut handle);
                        if n % 2 == 0 {
                            assert_eq!(node.cancel(&id), CancelDisposition::Accepted);
                        } else {
                            handle = handle.interrupt_for_cleanup(Disconnected);
                        }
                        let receipt = runtime.block_on(finish(handle));
                        assert_eq!(receipt.outcome.terminal_state(), State::Cancelled);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                node.admission.ledger().audit().unwrap();
                node.scheduler.audit().unwrap();
                node.pool.cells.audit().unwrap();
                node.journal.audit().unwrap();
                thread::yield_now();
            }
        });
        let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert_eq!(node.journal.snapshot().terminal, 400);
    node.assert_settled(0);
}
