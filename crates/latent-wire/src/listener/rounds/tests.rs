//! Who is woken by what, and how often it is looked.

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;

use super::*;

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
        Self { rounds: Rounds::new(), count: Arc::default() }
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
        cx.waker().clone().wake();
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
        std::thread::sleep(SHORT);
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert_eq!((seen, looks, watched.woken()), (Poll::Pending, 1, 1));
}

/// A wake-up of another thread is seen by a look that begins after it, whenever it comes.
#[test]
fn no_wake_up_of_another_thread_is_lost() {
    let mut within = 0;
    for round in 0..2000 {
        let watched = Watched::new();
        let barrier = Arc::new(Barrier::new(2));
        let (mut looks, mut other) = (0, None);
        let seen = watched.poll(|cx| {
            looks += 1;
            if looks == 1 {
                let (waker, start) = (cx.waker().clone(), Arc::clone(&barrier));
                other = Some(std::thread::spawn(move || {
                    start.wait();
                    waker.wake();
                }));
                barrier.wait();
            }
            Poll::<()>::Pending
        });
        assert_eq!(seen, Poll::Pending);
        other.expect("it was begun").join().expect("it wakes");
        // Woken early it had another look; woken late it is the task's.
        assert_eq!(looks - 1 + watched.woken(), 1, "round {round}");
        within += looks - 1;
    }
    println!("{within} of 2000 came during a look");
}
