//! The tasks that drive one connection.
//!
//! Invariant: they end with their owner, at the latest at the request's end.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hyper::rt::Executor;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Owns the tasks of a connection. Dropped, it aborts them, which closes the connection.
#[derive(Debug)]
#[must_use]
pub(super) struct Tasks {
    set: Arc<Mutex<JoinSet<()>>>,
    end: Instant,
}

/// Adds tasks, as long as their owner lives. A connection of one request has three at most.
#[derive(Debug, Clone)]
pub(super) struct Spawner {
    set: Weak<Mutex<JoinSet<()>>>,
    end: Instant,
}

impl Tasks {
    /// No tasks yet; those to come are aborted at `end`.
    pub(super) fn until(end: Instant) -> Self {
        Self { set: Arc::default(), end }
    }

    pub(super) fn spawner(&self) -> Spawner {
        Spawner { set: Arc::downgrade(&self.set), end: self.end }
    }
}

impl<F> Executor<F> for Spawner
where
    F: Future + Send + 'static,
{
    fn execute(&self, task: F) {
        let Some(set) = self.set.upgrade() else { return };
        let end = self.end;
        let bounded = async move {
            // How a connection ended is seen by whoever waits for its response.
            let _ = timeout_at(end, task).await;
        };
        set.lock().unwrap_or_else(PoisonError::into_inner).spawn(bounded);
    }
}
