//! A door that tests open: what waits behind it goes on when the test says so.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// A door that stays open once opened. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<GateState>>);

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// Opens the gate for everyone, for good.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.open = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Blocks this thread until the gate is open: for fakes of what blocks anyway.
    pub fn wait(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.open {
            drop(state);
            std::thread::yield_now();
            state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the gate is open.
    pub fn passed(&self) -> impl Future<Output = ()> + Send + use<> {
        let gate = self.clone();
        poll_fn(move |cx| {
            let mut state = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.open {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }
}
