//! Who may compute, where more guests would than there are threads.
//!
//! The runtime's own queues are one for each thread; threads that are all busy do not level them, and what was just woken goes before what
//! waits. So guests that compute wait here, in one queue for all threads. *Dispatchers*, at most one task for each thread, give out the
//! slices: one each time that they have their own among the other tasks of their thread.
//!
//! Invariant: while somebody waits there is a dispatcher. Where the last one is lost with its runtime, everybody may go on.

mod order;

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use latent_core::TenantId;
use tokio::runtime::Handle;

use order::{Order, Waiter};

/// The queue for the processor.
#[derive(Debug, Default)]
pub struct Processor {
    computing: AtomicU64,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    order: Order<Arc<Place>>,
    dispatchers: u64,
}

/// A run that would go on if it had the processor. Counted until it is dropped.
#[derive(Debug)]
pub struct Computing(Arc<Processor>);

/// A place in the queue. Dropped, it is given up.
#[derive(Debug)]
pub struct Waiting(Arc<Place>);

#[derive(Debug)]
struct Place(Mutex<Seat>);

#[derive(Debug)]
enum Seat {
    /// Whoever has it waits, and this is how to wake it.
    Waits(Waker),
    /// It may go on.
    Granted,
}

impl Processor {
    /// Whether as many runs compute as there are threads.
    pub fn is_crowded(&self) -> bool {
        let computing = self.computing.load(Ordering::Relaxed);
        computing > 0 && Handle::try_current().is_ok_and(|runtime| computing >= threads(&runtime))
    }

    /// Counts one more run that computes.
    pub fn compute(self: &Arc<Self>) -> Computing {
        self.computing.fetch_add(1, Ordering::Relaxed);
        Computing(Arc::clone(self))
    }

    /// To be waited for between a run's instance and its call: where it is crowded, the task is told to come again, which
    /// it does when it has a slice.
    pub async fn before_the_first_slice(&self) {
        if self.is_crowded() {
            behind_all_others().await;
        }
    }

    /// Takes a place for a run of `tenant`. `None` outside a runtime, where there are no slices.
    pub fn join(self: &Arc<Self>, tenant: &TenantId, task: &Waker) -> Option<Waiting> {
        let runtime = Handle::try_current().ok()?;
        let place = Arc::new(Place(Mutex::new(Seat::Waits(task.clone()))));
        let mut queue = self.queue();
        queue.order.join(tenant, Arc::clone(&place));
        let is_one_more = queue.dispatchers < threads(&runtime);
        queue.dispatchers += u64::from(is_one_more);
        drop(queue);
        if is_one_more {
            runtime.spawn(Dispatcher { processor: Arc::clone(self), has_ended: false }.dispatch());
        }
        Some(Waiting(place))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn threads(runtime: &Handle) -> u64 {
    runtime.metrics().num_workers() as u64
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.0.computing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Waiting {
    /// Whether it may go on; if not, `task` is woken when it may.
    pub fn is_granted(&self, task: &Waker) -> bool {
        match &mut *self.0.seat() {
            Seat::Granted => true,
            Seat::Waits(waker) => {
                waker.clone_from(task);
                false
            }
        }
    }
}

impl Place {
    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grant(&self) {
        let seat = std::mem::replace(&mut *self.seat(), Seat::Granted);
        if let Seat::Waits(task) = seat {
            task.wake();
        }
    }
}

impl Waiter for Arc<Place> {
    fn is_gone(&self) -> bool {
        Arc::strong_count(self) == 1
    }
}

/// One task that gives out slices.
struct Dispatcher {
    processor: Arc<Processor>,
    has_ended: bool,
}

impl Dispatcher {
    async fn dispatch(mut self) {
        while let Some(next) = self.next() {
            next.grant();
            behind_all_others().await;
        }
    }

    /// Whose turn it is; without anybody it has ended.
    fn next(&mut self) -> Option<Arc<Place>> {
        let mut queue = self.processor.queue();
        let next = queue.order.next();
        if next.is_none() {
            queue.dispatchers -= 1;
            self.has_ended = true;
        }
        next
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let mut queue = self.processor.queue();
        queue.dispatchers -= 1;
        let left = if queue.dispatchers == 0 { std::mem::take(&mut queue.order) } else { Order::default() };
        drop(queue);
        left.into_all().for_each(|place| place.grant());
    }
}

/// Lets every task that waits on this thread have its turn.
async fn behind_all_others() {
    let mut was_polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests;
