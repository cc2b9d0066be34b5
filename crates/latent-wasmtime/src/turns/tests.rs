//! How long a turn is, and who goes on after it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use tokio::runtime::{Builder, Runtime};

use super::*;

const LENGTH: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A step that yields at once.
fn yields(cx: &mut Context<'_>, _at: Instant) -> Poll<()> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Takes a turn, and says how often the task was woken by then.
fn turn<T>(turns: &mut Turns<'_>, step: impl FnMut(&mut Context<'_>, Instant) -> Poll<T>) -> (Poll<T>, u32) {
    let count = Arc::<Count>::default();
    let taken = turns.take(&mut Context::from_waker(&Waker::from(Arc::clone(&count))), now(), step);
    (taken, count.0.load(Ordering::SeqCst))
}

#[test]
fn a_run_that_yields_goes_on_until_its_turn_is_over() {
    let gauges = Gauges::default();
    let mut turns = Turns::new(LENGTH, &gauges);
    let (began, mut steps) = (now(), 0);
    let (taken, woken) = turn(&mut turns, |cx, at| {
        steps += 1;
        yields(cx, at)
    });
    assert_eq!((taken, woken), (Poll::Pending, 1));
    assert!(began.elapsed() >= LENGTH && steps > 1, "{steps} steps");
    assert_eq!(gauges.get(Kind::Computing), 1);
}

#[test]
fn a_run_that_waits_or_ends_is_not_among_those_that_compute() {
    let gauges = Gauges::default();
    let mut turns = Turns::new(Duration::ZERO, &gauges);
    assert_eq!(turn(&mut turns, yields), (Poll::Pending, 1));
    assert_eq!(gauges.get(Kind::Computing), 1);
    assert_eq!(turn(&mut turns, |_, _| Poll::<()>::Pending), (Poll::Pending, 0), "whoever it waits for wakes it");
    assert_eq!(gauges.get(Kind::Computing), 0);
    assert_eq!(turn(&mut turns, yields), (Poll::Pending, 1));
    assert_eq!(turn(&mut turns, |_, _| Poll::Ready(3)), (Poll::Ready(3), 0));
    assert_eq!(gauges.get(Kind::Computing), 0);
    assert_eq!(turn(&mut turns, yields), (Poll::Pending, 1));
    drop(turns);
    assert_eq!(gauges.get(Kind::Computing), 0, "nor is one that is dropped");
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).event_interval(1).build().expect("threads")
}

/// Whether the task was woken at once in each of eight turns of a run on `threads` threads, beside others that compute.
fn woken_at_once(threads: usize, others: usize) -> Vec<bool> {
    let gauges = Arc::<Gauges>::default();
    let _others: Vec<_> = (0..others).map(|_| gauges.hold_outside(Kind::Computing)).collect();
    let gauges = Arc::clone(&gauges);
    let turns = async move {
        let mut turns = Turns::new(Duration::ZERO, &gauges);
        let mut woken = Vec::new();
        while woken.len() < 8 {
            let mut taken = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut taken, true) {
                    return Poll::Ready(());
                }
                let count = Arc::<Count>::default();
                let _pending = turns.take(&mut Context::from_waker(&Waker::from(Arc::clone(&count))), now(), yields);
                woken.push(count.0.load(Ordering::SeqCst) == 1);
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
        woken
    };
    let runtime = runtime(threads);
    runtime.block_on(runtime.spawn(turns)).expect("it does not panic")
}

#[test]
fn a_run_with_a_thread_to_spare_stays_three_turns_of_four() {
    let stays = [false, false, false, true];
    assert_eq!(woken_at_once(2, 0), [stays, stays].concat());
    assert_eq!(woken_at_once(4, 2), [stays, stays].concat());
}

#[test]
fn a_run_without_a_thread_to_spare_goes_behind_all_others() {
    assert_eq!(woken_at_once(1, 0), [true; 8]);
    assert_eq!(woken_at_once(2, 1), [true; 8]);
}

#[test]
fn a_run_that_stays_is_woken_again() {
    let gauges = Arc::<Gauges>::default();
    let runtime = runtime(2);
    let ended = runtime.spawn(async move {
        let mut turns = Turns::new(Duration::ZERO, &gauges);
        let mut steps = 0;
        poll_fn(|cx| {
            turns.take(cx, now(), |cx, at| {
                steps += 1;
                if steps == 100 { Poll::Ready(steps) } else { yields(cx, at).map(|()| 0) }
            })
        })
        .await
    });
    assert_eq!(runtime.block_on(ended).expect("it does not panic"), 100);
}
