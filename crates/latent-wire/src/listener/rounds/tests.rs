//! Who is woken by what, and how often it is looked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;

/// Keeps the thread for so long.
pub(in crate::listener) fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The looks at a connection, and a task that counts how often it is woken.
struct Watched {
    rounds: Rounds,
    count: Arc<Count>,
}

impl Watched {
    fn new() -> Self {
        Self { rounds: Rounds::default(), count: Arc::default() }
    }

    fn poll<T>(&self, look: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.rounds.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self.count))), look)
    }

    fn woken(&self) -> usize {
        self.count.0.load(Ordering::SeqCst)
    }
}

#[test]
fn who_asks_for_more_gets_another_look_and_the_task_is_left_alone() {
    let watched = Watched::new();
    let mut looks = 0;
    let seen = watched.poll(|cx| {
        looks += 1;
        if looks == 3 {
            return Poll::Ready("it");
        }
        cx.waker().wake_by_ref();
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    assert_eq!((seen, looks, watched.woken()), (Poll::Ready("it"), 3, 0));
}

#[test]
fn a_wake_up_between_looks_reaches_the_task() {
    let watched = Watched::new();
    let mut kept = None;
    let seen = watched.poll(|cx| {
        kept = Some(cx.waker().clone());
        Poll::<()>::Pending
    });
    assert_eq!((seen, watched.woken()), (Poll::Pending, 0));
    kept.expect("it was looked once").wake();
    assert_eq!(watched.woken(), 1);
}

#[test]
fn looks_that_never_end_are_given_back_to_the_task() {
    let watched = Watched::new();
    let mut looks = 0;
    let seen = watched.poll(|cx| {
        looks += 1;
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert_eq!(seen, Poll::Pending);
    assert!((1..=ROUNDS_MAX).contains(&looks), "{looks}");
    assert_eq!(watched.woken(), 1);
}

#[test]
fn after_a_long_look_the_task_goes_behind_all_others() {
    let watched = Watched::new();
    let mut looks = 0;
    let seen = watched.poll(|cx| {
        looks += 1;
        compute(SHORT);
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert_eq!((seen, looks, watched.woken()), (Poll::Pending, 1, 1));
}

#[tokio::test]
async fn without_a_budget_nothing_is_looked_at_again() {
    let watched = Watched::new();
    while has_budget_remaining() {
        tokio::task::coop::consume_budget().await;
    }
    let mut looks = 0;
    let seen = watched.poll(|cx| {
        looks += 1;
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert_eq!((seen, looks, watched.woken()), (Poll::Pending, 1, 1));
}
