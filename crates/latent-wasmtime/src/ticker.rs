//! The watchdog: one OS thread per backend that ends epochs and enforces deadlines while anything runs.
//!
//! It holds the engine weakly, sleeps when nothing has run for a while, and is woken and joined by its last owner.
//! It is the last word on deadlines: a guest parked in a host call, or a runtime that is stuck, is still seen here
//! (`activation-containment.md`, "Runtime interruption and deadline tolerance").

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use latent_core::StopLatch;
use latent_executor::ExecutionCancellation;
use wasmtime::{Engine, EngineWeak};

/// How long the thread keeps ticking after the last run, so that single calls in a row do not each pay a wake-up.
const LINGER: Duration = Duration::from_secs(1);

/// The owner of the thread. Dropping it wakes and joins the thread.
pub struct Ticker {
    shared: Arc<Shared>,
    interrupter: Waker,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    interval: Duration,
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
struct Watched {
    /// Runs by slot; a free slot is `None`.
    slots: Vec<Option<Run>>,
    free: Vec<usize>,
    asleep: bool,
    shutdown: bool,
}

/// What the watchdog knows of one run.
struct Run {
    latch: Arc<StopLatch>,
    deadline: Option<Instant>,
}

/// One watched run. Dropping it ends the watch.
pub struct Watch<'a> {
    shared: &'a Shared,
    slot: usize,
}

impl Ticker {
    /// Starts the thread for `engine`, one tick every `interval`.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(engine: &Engine, interval: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { interval, watched: Mutex::default(), changed: Condvar::new() });
        let weak = engine.weak();
        let thread = std::thread::Builder::new().name("latent-ticker".to_owned()).spawn({
            let (shared, weak) = (shared.clone(), weak.clone());
            move || tick(&shared, &weak)
        })?;
        let interrupter = Waker::from(Arc::new(EndEpoch(weak)));
        Ok(Self { shared, interrupter, thread: Some(thread) })
    }

    /// Ends the epoch early, so that guest code is looked at now.
    pub fn interrupter(&self) -> &Waker {
        &self.interrupter
    }

    /// Watches a run until the returned value is dropped: its latch takes a checkpoint at every tick and is woken
    /// when that finds a cause.
    pub fn watch(&self, cancellation: &ExecutionCancellation) -> Watch<'_> {
        let run = Run { latch: cancellation.probe().clone(), deadline: cancellation.deadline() };
        let mut watched = self.shared.lock();
        let slot = watched.free.pop().unwrap_or_else(|| {
            watched.slots.push(None);
            watched.slots.len() - 1
        });
        watched.slots[slot] = Some(run);
        let wake = std::mem::take(&mut watched.asleep);
        drop(watched);
        if wake {
            self.shared.changed.notify_one();
        }
        Watch { shared: &self.shared, slot }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watched = self.shared.lock();
        watched.free.push(self.slot);
        let ended = watched.slots[self.slot].take();
        drop(watched);
        drop(ended);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().shutdown = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A ticker that panicked has nothing left to stop; its guests are gone with their backend.
            let _panic = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EndEpoch(EngineWeak);

impl Wake for EndEpoch {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(engine) = self.0.upgrade() {
            engine.increment_epoch();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the watchdog is where monotonic time enters the engine's side")]
fn tick(shared: &Shared, engine: &EngineWeak) {
    let mut due = Vec::new();
    let mut idle_since: Option<Instant> = None;
    let mut watched = shared.lock();
    while !watched.shutdown {
        let now = Instant::now();
        if watched.slots.len() > watched.free.len() {
            idle_since = None;
        } else if now.duration_since(*idle_since.get_or_insert(now)) >= LINGER {
            watched.asleep = true;
            while watched.asleep && !watched.shutdown {
                watched = shared.changed.wait(watched).unwrap_or_else(PoisonError::into_inner);
            }
            idle_since = None;
            continue;
        }
        let stopped = |run: &&Run| run.latch.checkpoint(now, run.deadline).is_some();
        due.extend(watched.slots.iter().flatten().filter(stopped).map(|run| run.latch.clone()));
        drop(watched);
        // Outside the lock: wakers and the engine are foreign.
        due.drain(..).for_each(|latch: Arc<StopLatch>| latch.wake());
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
        watched = shared.lock();
        if !watched.shutdown {
            watched = shared.changed.wait_timeout(watched, shared.interval).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use latent_core::{BudgetLedger, ResourceBudget, StopCause};

    /// How long anything may take before it is a deadlock.
    const WATCHDOG: Duration = Duration::from_secs(10);
    const TICK: Duration = Duration::from_millis(1);
    const HOUR: Duration = Duration::from_hours(1);

    #[expect(clippy::disallowed_methods, reason = "tests make their own instants")]
    fn now() -> Instant {
        Instant::now()
    }

    #[track_caller]
    fn until(what: &str, condition: impl Fn() -> bool) {
        let started = now();
        while !condition() {
            assert!(started.elapsed() < WATCHDOG, "waited in vain until {what}");
            thread::yield_now();
        }
    }

    /// Drops the owner, which must come back although the thread was waiting, and find the thread gone.
    fn ends_with_its_owner(ticker: Ticker) {
        let of_thread = Arc::downgrade(&ticker.shared);
        let (ended, end) = mpsc::channel();
        thread::spawn(move || {
            drop(ticker);
            ended.send(())
        });
        end.recv_timeout(WATCHDOG).expect("the owner wakes the thread, so that it need not wait for the next tick");
        assert_eq!(of_thread.strong_count(), 0, "joined, not left behind");
    }

    fn cancellation(deadline: Option<Instant>) -> ExecutionCancellation {
        let ledger = Arc::new(BudgetLedger::new(ResourceBudget::default()));
        ExecutionCancellation::new(Arc::new(StopLatch::new()), deadline, ledger)
    }

    #[test]
    fn the_last_owner_wakes_and_joins_the_thread_between_two_ticks() {
        let engine = Engine::default();
        ends_with_its_owner(Ticker::start(&engine, HOUR).unwrap());
    }

    #[test]
    fn the_last_owner_wakes_and_joins_a_thread_that_sleeps() {
        let engine = Engine::default();
        let ticker = Ticker::start(&engine, TICK).unwrap();
        until("nothing has run for a while", || ticker.shared.lock().asleep);
        ends_with_its_owner(ticker);
    }

    #[test]
    fn the_ticker_does_not_keep_the_engine_alive() {
        let engine = Engine::default();
        let ticker = Ticker::start(&engine, TICK).unwrap();
        let weak = engine.weak();
        let running = cancellation(None);
        let watch = ticker.watch(&running);
        drop(engine);
        // A tick holds the engine for as long as it lasts, and no longer.
        until("the engine is gone", || weak.upgrade().is_none());
        until("the thread has nothing left to tick", || Arc::strong_count(&ticker.shared) == 1);
        ticker.interrupter().wake_by_ref();
        drop(watch);
    }

    #[test]
    fn each_watched_run_is_stopped_and_woken_by_its_own_deadline() {
        struct Woken(AtomicBool);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Release);
            }
        }
        let engine = Engine::default();
        let ticker = Ticker::start(&engine, TICK).unwrap();
        let [late, early] = [Some(now() + HOUR), Some(now())].map(cancellation);
        let [late_woken, early_woken] = [(); 2].map(|()| Arc::new(Woken(AtomicBool::new(false))));
        late.probe().register(&Waker::from(late_woken.clone()));
        early.probe().register(&Waker::from(early_woken.clone()));
        let _watches = (ticker.watch(&late), ticker.watch(&early));
        until("the earlier one is woken", || early_woken.0.load(Ordering::Acquire));
        assert_eq!(early.probe().cause(), Some(StopCause::DeadlineExceeded));
        assert_eq!((late.probe().cause(), late_woken.0.load(Ordering::Acquire)), (None, false));
    }
}
