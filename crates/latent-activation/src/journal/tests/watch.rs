//! Watching: woken at each event and at no other time, to the end of an evicted record too, within a bound.

use super::ends::resolved;
use super::*;
use std::task::{Context, Poll};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A watch that counts how often it was woken.
struct Watching {
    watch: ActivationWatch,
    wakes: Arc<Wakes>,
}

impl Watching {
    fn poll(&mut self) -> Poll<bool> {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.watch.poll_changed(&mut Context::from_waker(&waker))
    }

    fn woken(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }
}

fn watching(journal: &Arc<LocalActivationJournal>, text: &str, at: Moment) -> Watching {
    let watch = journal.watch(&tenant("t"), &id(text), at.monotonic).unwrap().found().expect("there is a record");
    Watching { watch, wakes: Arc::default() }
}

#[test]
fn a_watcher_is_woken_at_each_event_and_told_the_end_once() {
    let (journal, at) = (standard(), moment());
    let mut reservation = reserve(&journal, "t", "a", at);
    let mut watching = watching(&journal, "a", at);
    assert_eq!(watching.poll(), Poll::Ready(true), "the reception has not been seen");
    assert_eq!(watching.watch.events_after(0).len(), 1);
    assert_eq!((watching.poll(), watching.woken()), (Poll::Pending, 0));
    reservation.resolved(resolved(), at.monotonic).unwrap();
    assert_eq!((watching.woken(), watching.poll()), (1, Poll::Ready(true)));
    let events = watching.watch.events_after(1);
    assert_eq!(events.iter().map(|event| event.phase).collect::<Vec<_>>(), [LifecyclePhase::Resolved]);
    for (nth, phase) in LifecyclePhase::ALL.into_iter().enumerate().skip(2) {
        assert_eq!(watching.poll(), Poll::Pending, "{phase}");
        reservation.advance(phase, at.monotonic).unwrap();
        assert_eq!((watching.woken(), watching.poll()), (nth, Poll::Ready(true)), "{phase}");
        assert_eq!(watching.watch.events_after(nth as u64).len(), 1, "{phase}");
    }
    assert_eq!(watching.poll(), Poll::Pending);
    publish(reservation, returned(), at);
    assert_eq!((watching.woken(), watching.poll()), (6, Poll::Ready(true)));
    let last = watching.watch.events_after(6);
    assert_eq!(last[0].terminal, Some(TerminalState::Completed));
    assert_eq!((watching.poll(), watching.poll()), (Poll::Ready(false), Poll::Ready(false)), "the end has been seen");
}

#[test]
fn nobody_is_woken_who_has_not_asked_since_or_is_gone() {
    let (journal, at) = (standard(), moment());
    let mut reservation = reserve(&journal, "t", "a", at);
    let (mut first, mut second) = (watching(&journal, "a", at), watching(&journal, "a", at));
    for watching in [&mut first, &mut second] {
        let _all = watching.watch.events_after(0);
        assert_eq!((watching.poll(), watching.poll()), (Poll::Pending, Poll::Pending), "twice is once");
    }
    let gone = Arc::clone(&second.wakes);
    drop(second);
    assert_eq!(Arc::strong_count(&gone), 1, "its waker was let go of with it");
    reservation.resolved(resolved(), at.monotonic).unwrap();
    reservation.advance(LifecyclePhase::Admitted, at.monotonic).unwrap();
    assert_eq!((first.woken(), gone.0.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn a_record_that_is_evicted_while_it_is_watched_is_seen_to_its_end() {
    let (journal, at) = (journal(LocalActivationJournalConfig { terminal_max: 1, ..Default::default() }), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let mut watching = watching(&journal, "a", at);
    let _all = watching.watch.events_after(0);
    assert_eq!(watching.poll(), Poll::Pending);
    publish(reservation, returned(), at);
    publish(reserve(&journal, "t", "b", at), returned(), at);
    assert_eq!(journal.status(&tenant("t"), &id("a"), at.monotonic), Lookup::Evicted);
    assert_eq!((watching.woken(), watching.poll()), (1, Poll::Ready(true)));
    assert_eq!(watching.watch.events_after(1)[0].terminal, Some(TerminalState::Completed));
}

#[test]
fn an_abandoned_activation_wakes_its_watcher() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let mut watching = watching(&journal, "a", at);
    let _all = watching.watch.events_after(0);
    assert_eq!(watching.poll(), Poll::Pending);
    drop(reservation);
    assert_eq!((watching.woken(), watching.poll()), (1, Poll::Ready(true)));
}

#[test]
fn watches_are_bounded_and_one_that_is_dropped_makes_room() {
    let (journal, at) = (journal(LocalActivationJournalConfig { watchers_max: 2, ..Default::default() }), moment());
    let _reservation = reserve(&journal, "t", "a", at);
    let watch = |of: &str| journal.watch(&tenant(of), &id("a"), at.monotonic);
    let (first, _second) = (watching(&journal, "a", at), watching(&journal, "a", at));
    for of in ["t", "u"] {
        let error = watch(of).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
        assert!(error.is_retryable());
        assert_eq!(
            (error.details()[0].kind(), error.details()[0].field("max")),
            ("activation.watchers-exhausted", Some("2"))
        );
    }
    assert_eq!(journal.watchers(), 2);
    drop(first);
    assert!(matches!(watch("u"), Ok(Lookup::Unknown)), "another tenant's is unknown, and took no place");
    assert_eq!(journal.watchers(), 1);
}

#[test]
fn no_event_falls_between_a_watchers_look_and_its_sleep() {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (journal, at) = (standard(), moment());
    for round in 0..200 {
        let mut reservation = reserve(&journal, "t", &format!("a{round}"), at);
        let mut watch = journal.watch(&tenant("t"), &id(&format!("a{round}")), at.monotonic).unwrap().found().unwrap();
        let barrier = Barrier::new(2);
        let seen = thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let waker = Waker::from(Arc::new(Unpark(thread::current())));
                let mut seen = Vec::new();
                barrier.wait();
                loop {
                    match watch.poll_changed(&mut Context::from_waker(&waker)) {
                        Poll::Pending => thread::park_timeout(Duration::from_secs(5)),
                        Poll::Ready(true) => seen.extend(watch.events_after(seen.len() as u64)),
                        Poll::Ready(false) => return seen,
                    }
                }
            });
            barrier.wait();
            reservation.resolved(resolved(), at.monotonic).unwrap();
            for phase in &LifecyclePhase::ALL[2..] {
                reservation.advance(*phase, at.monotonic).unwrap();
            }
            let started = Instant::now();
            publish(reservation, returned(), at);
            let seen = watcher.join().unwrap();
            assert!(started.elapsed() < Duration::from_secs(4), "a wake was lost");
            seen
        });
        assert_eq!(seen.len(), EVENTS_MAX);
    }
}
