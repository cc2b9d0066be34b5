//! Cancels: their answers, their order against ends and one another, and what they may call back into.

use super::*;
use CancelDisposition::{Accepted, AlreadyTerminal, NotFound};

fn cancel(journal: &LocalActivationJournal, of: &str, text: &str, reason: &str, at: Moment) -> CancelDisposition {
    journal.cancel(&tenant(of), &id(text), reason, at.monotonic)
}

#[test]
fn cancelling_twice_is_accepted_twice_and_keeps_the_first_reason() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    assert_eq!(cancel(&journal, "t", "a", "first", at), Accepted);
    assert_eq!(cancel(&journal, "t", "a", "second", at), Accepted);
    assert_eq!(reservation.status().cancel_reason.as_deref(), Some("first"));
    assert!(reservation.latch().cancel_requested());
    let outcome = publish(reservation, returned(), at);
    assert_eq!(outcome, ActivationOutcome::failed(PlatformError::cancelled()));
    assert_eq!(cancel(&journal, "t", "a", "third", at), AlreadyTerminal(TerminalState::Cancelled));
    let status = journal.status(&tenant("t"), &id("a"), at.monotonic).found().unwrap();
    assert_eq!(status.cancel_reason.as_deref(), Some("first"), "kept with the end");
}

#[test]
fn a_finished_activation_is_already_terminal_and_stays_as_it_is() {
    let (journal, at) = (standard(), moment());
    let _outcome = publish(reserve(&journal, "t", "a", at), returned(), at);
    assert_eq!(cancel(&journal, "t", "a", "late", at), AlreadyTerminal(TerminalState::Completed));
    let status = journal.status(&tenant("t"), &id("a"), at.monotonic).found().unwrap();
    assert_eq!((status.cancel_reason, status.terminal.unwrap().state), (None, TerminalState::Completed));
}

#[test]
fn a_cancelled_activation_that_is_queued_keeps_its_record_until_it_ends() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    assert_eq!(cancel(&journal, "t", "a", "stop", at), Accepted);
    let status = journal.status(&tenant("t"), &id("a"), at.monotonic).found().unwrap();
    assert_eq!((status.terminal, status.cancel_reason.as_deref()), (None, Some("stop")), "accepted is not ended");
    assert_eq!(refused(&journal, "t", "a", at).code(), PlatformErrorCode::AlreadyExists);
    drop(reservation);
    assert_eq!(state_of(&journal, "t", "a", at), Some(TerminalState::Cancelled));
}

#[test]
fn an_unknown_and_a_foreign_activation_are_not_found() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    assert_eq!(cancel(&journal, "t", "b", "", at), NotFound);
    assert_eq!(cancel(&journal, "u", "a", "", at), NotFound);
    let _outcome = publish(reservation, returned(), at);
    assert_eq!(cancel(&journal, "u", "a", "", at), NotFound, "an end shows no more than a beginning");
}

#[test]
fn a_reason_is_cut_between_characters() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let _accepted = cancel(&journal, "t", "a", &"é".repeat(1000), at);
    let reason = reservation.status().cancel_reason.unwrap();
    assert_eq!(&*reason, "é".repeat(crate::cancel::REASON_BYTES_MAX / 2));
}

#[test]
fn ten_thousand_cancels_at_once_are_answered_alike() {
    let (journal, at) = (standard(), moment());
    let queued = reserve(&journal, "t", "queued", at);
    let _finished = publish(reserve(&journal, "t", "finished", at), returned(), at);
    let barrier = Barrier::new(8);
    let counts: [AtomicUsize; 4] = Default::default();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..1250 {
                    let answers = [("t", "queued"), ("t", "finished"), ("t", "unknown"), ("u", "queued")]
                        .map(|(of, text)| cancel(&journal, of, text, "now", at));
                    let expected = [Accepted, AlreadyTerminal(TerminalState::Completed), NotFound, NotFound];
                    for (count, same) in counts.iter().zip(answers.iter().zip(&expected).map(|(a, b)| a == b)) {
                        count.fetch_add(usize::from(same), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(counts.map(AtomicUsize::into_inner), [10_000; 4]);
    assert_eq!(queued.status().terminal, None, "the queued record is kept");
    assert_eq!(journal.audit().unwrap().active, 1);
}

#[test]
fn of_a_racing_cancel_and_end_exactly_one_decides() {
    let journal = standard();
    let at = moment();
    let (mut cancelled, mut completed) = (0, 0);
    for round in 0..2000 {
        let text = format!("a{round}");
        let reservation = reserve(&journal, "t", &text, at);
        let barrier = Barrier::new(2);
        let (outcome, answer) = thread::scope(|scope| {
            let ending = scope.spawn(|| {
                barrier.wait();
                publish(reservation, returned(), at)
            });
            barrier.wait();
            let answer = cancel(&journal, "t", &text, "race", at);
            (ending.join().unwrap(), answer)
        });
        match answer {
            Accepted => cancelled += 1,
            AlreadyTerminal(TerminalState::Completed) => completed += 1,
            other => panic!("a record is there all the time: {other:?}"),
        }
        let expected = if answer == Accepted { TerminalState::Cancelled } else { TerminalState::Completed };
        assert_eq!(outcome.terminal_state(), expected);
        assert_eq!(state_of(&journal, "t", &text, at), Some(expected));
    }
    assert_eq!(cancelled + completed, 2000);
    assert_eq!(journal.audit().unwrap().active, 0);
}

#[test]
fn of_many_racing_reservations_of_one_id_one_gets_it() {
    let (journal, at) = (standard(), moment());
    let barrier = Barrier::new(8);
    let taken = thread::scope(|scope| {
        let racing: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    journal.reserve(tenant("t"), Lineage::root(id("a")), at).ok()
                })
            })
            .collect();
        racing.into_iter().filter_map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((taken.len(), journal.audit().unwrap().active), (1, 1));
}

/// Calls back into the journal, which deadlocks if that holds a lock.
struct CallsBack {
    journal: Arc<LocalActivationJournal>,
    at: Moment,
    calls: AtomicUsize,
}

impl CallsBack {
    fn call(&self) {
        let at = self.at.monotonic;
        assert!(self.journal.status(&tenant("t"), &id("a"), at).found().is_some());
        assert_ne!(self.journal.cancel(&tenant("t"), &id("a"), "from inside", at), NotFound);
        assert!(self.journal.audit().is_ok());
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

impl Wake for CallsBack {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}

#[test]
fn wakers_are_woken_outside_every_lock() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let calls_back = Arc::new(CallsBack { journal: journal.clone(), at, calls: AtomicUsize::new(0) });
    reservation.latch().register(&Waker::from(calls_back.clone()));
    assert_eq!(cancel(&journal, "t", "a", "outside", at), Accepted);
    assert_eq!(calls_back.calls.load(Ordering::Relaxed), 1, "woken once, by the first that was accepted");
}

#[test]
fn an_overruled_payload_is_dropped_outside_every_lock() {
    struct Overruled(Arc<CallsBack>);
    impl AsRef<[u8]> for Overruled {
        fn as_ref(&self) -> &[u8] {
            b"[1]"
        }
    }
    impl Drop for Overruled {
        fn drop(&mut self) {
            self.0.call();
        }
    }
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let calls_back = Arc::new(CallsBack { journal: journal.clone(), at, calls: AtomicUsize::new(0) });
    assert_eq!(cancel(&journal, "t", "a", "outside", at), Accepted);
    let payload = Payload::json(Bytes::from_owner(Overruled(calls_back.clone())));
    let outcome = publish(reservation, evidence(ExecutionOutcome::Returned(payload)), at);
    assert_eq!(outcome.terminal_state(), TerminalState::Cancelled);
    assert_eq!(calls_back.calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_storm_of_activations_cancels_and_questions_ends_each_exactly_once() {
    const OWNERS: usize = 4;
    const EACH: usize = 1500;
    let config = LocalActivationJournalConfig { active_max: OWNERS, terminal_max: 100, ..Default::default() };
    let (journal, at) = (journal(config), moment());
    let running = AtomicUsize::new(OWNERS);
    let ends = thread::scope(|scope| {
        let owners: Vec<_> = (0..OWNERS)
            .map(|owner| {
                let (journal, running) = (&journal, &running);
                scope.spawn(move || {
                    let mut ends = [0_usize; 3];
                    for round in 0..EACH {
                        let text = format!("a{round}");
                        let of = ["t", "u", "v", "w"][owner];
                        let reservation = reserve(journal, of, &text, at);
                        if round % 7 == 0 {
                            drop(reservation);
                            ends[2] += 1;
                            continue;
                        }
                        let outcome = publish(reservation, returned(), at);
                        let answer = cancel(journal, of, &text, "late", at);
                        let evicted = answer == NotFound;
                        assert!(evicted || answer == AlreadyTerminal(outcome.terminal_state()), "{answer:?}");
                        ends[usize::from(outcome.terminal_state() == TerminalState::Cancelled)] += 1;
                    }
                    running.fetch_sub(1, Ordering::Relaxed);
                    ends
                })
            })
            .collect();
        scope.spawn(|| {
            let mut round = 0;
            while running.load(Ordering::Relaxed) > 0 {
                for of in ["t", "u", "v", "w"] {
                    let page = journal.list(&tenant(of), None, 3, at.monotonic);
                    for row in page.rows {
                        let _answer = journal.cancel(&tenant(of), &row.activation_id, "storm", at.monotonic);
                        let events = journal.events(&tenant(of), &row.activation_id, at.monotonic).found();
                        let terminal =
                            |events: &Vec<LifecycleEvent>| events.iter().filter(|e| e.terminal.is_some()).count();
                        assert!(events.as_ref().is_none_or(|events| terminal(events) <= 1));
                    }
                }
                round += 1;
                if round % 16 == 0 {
                    journal.audit().unwrap();
                }
            }
        });
        owners.into_iter().map(|owner| owner.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(ends.iter().flatten().sum::<usize>(), OWNERS * EACH);
    let audit = journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal, audit.reserved_bytes), (0, 100, 0));
}
