//! Who is woken while something is polled.
//!
//! A task that is woken while it is polled is put behind all others, and a thread is woken to take it. Whoever polls may know
//! better: [`Wakes`] keeps such a wake-up back and tells of it, and passes all others on.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// Wake-ups go to the task.
const OPEN: u8 = 0;
/// It is being polled, and nobody has woken it.
const POLLED: u8 = 1;
/// It is being polled, and somebody has woken it.
const WOKEN: u8 = 2;

/// The wake-ups of one future. A wake-up reaches the task or is told by [`Wakes::during`]; none is lost.
#[derive(Debug)]
pub struct Wakes {
    door: Arc<Door>,
    waker: Waker,
}

/// Where wake-ups come in.
#[derive(Debug)]
struct Door {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl Wakes {
    /// Says which task is woken from now on.
    pub fn register(&self, task: &Waker) {
        self.door.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task);
    }

    /// Polls, and says whether that was woken meanwhile, by itself or by others. The task does not learn of it then.
    pub fn during<T>(&self, poll: impl FnOnce(&mut Context<'_>) -> T) -> (T, bool) {
        self.door.state.store(POLLED, Ordering::Release);
        let polled = poll(&mut Context::from_waker(&self.waker));
        let was_woken = self.door.state.swap(OPEN, Ordering::AcqRel) == WOKEN;
        (polled, was_woken)
    }
}

impl Default for Wakes {
    /// Of a future that was never polled.
    fn default() -> Self {
        let door = Arc::new(Door { state: AtomicU8::new(OPEN), task: Mutex::new(Waker::noop().clone()) });
        let waker = Waker::from(Arc::clone(&door));
        Self { door, waker }
    }
}

impl Wake for Door {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let kept_back = self.state.compare_exchange(POLLED, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if kept_back.is_err_and(|state| state == OPEN) {
            let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
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

    /// Wake-ups of a task that counts them.
    fn counted() -> (Wakes, Arc<Count>) {
        let (wakes, count) = (Wakes::default(), Arc::<Count>::default());
        wakes.register(&Waker::from(Arc::clone(&count)));
        (wakes, count)
    }

    #[test]
    fn a_wake_up_during_a_poll_is_told_once_and_the_task_is_left_alone() {
        let (wakes, count) = counted();
        assert_eq!(wakes.during(|_| 7), (7, false));
        let (kept, was_woken) = wakes.during(|cx| {
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            cx.waker().clone()
        });
        assert!(was_woken);
        assert!(!wakes.during(|_| ()).1, "it is not told again");
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        kept.wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 1, "between polls it is the task's");
    }

    #[test]
    fn the_task_that_was_registered_last_is_woken() {
        let (wakes, first) = counted();
        let second = Arc::<Count>::default();
        wakes.register(&Waker::from(Arc::clone(&second)));
        wakes.during(|cx| cx.waker().clone()).0.wake();
        assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
    }

    /// Whenever another thread wakes it, one of the two learns of it.
    #[test]
    fn no_wake_up_of_another_thread_is_lost() {
        let mut told = 0;
        for round in 0..2000 {
            let (wakes, count) = counted();
            let barrier = Arc::new(Barrier::new(2));
            let (other, was_woken) = wakes.during(|cx| {
                let (task, start) = (cx.waker().clone(), Arc::clone(&barrier));
                let other = std::thread::spawn(move || {
                    start.wait();
                    task.wake();
                });
                barrier.wait();
                other
            });
            other.join().expect("it wakes");
            assert_eq!(usize::from(was_woken) + count.0.load(Ordering::SeqCst), 1, "round {round}");
            told += usize::from(was_woken);
        }
        println!("{told} of 2000 came during the poll");
    }
}
