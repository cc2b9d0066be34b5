//! Tells schedulers that keep their own queues when a pool may have something new for them.
//!
//! Invariant: any number of changes between two looks is one notification, so nothing queues up; without a
//! subscriber a change costs two atomic loads.

use std::sync::OnceLock;
use std::task::Waker;

use latent_core::PlatformError;
use tokio::sync::watch;

use super::refusal;

/// The pool's side.
#[derive(Debug, Default)]
pub(super) struct ChangeSignal {
    sender: OnceLock<watch::Sender<()>>,
    listener: OnceLock<Waker>,
}

impl ChangeSignal {
    /// Call after the change is visible, outside of the pool's lock.
    pub(super) fn notify(&self) {
        if let Some(sender) = self.sender.get() {
            // Only an error when nobody listens, which is fine.
            let _nobody = sender.send(());
        }
        if let Some(listener) = self.listener.get() {
            listener.wake_by_ref();
        }
    }

    /// Has `listener` woken at each change from now on.
    pub(super) fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        self.listener.set(listener).map_err(|_| refusal::listener_taken())
    }

    pub(super) fn subscribe(&self) -> CellPoolChanges {
        CellPoolChanges(self.sender.get_or_init(|| watch::Sender::new(())).subscribe())
    }
}

/// A subscription to a pool's changes (`fixed-cell-pool.md`, "Lease disposition"; [`super::FixedCellPool::changes`]).
///
/// Subscribe first, then try to acquire, then wait: a change in between is not missed.
#[derive(Debug, Clone)]
pub struct CellPoolChanges(watch::Receiver<()>);

impl CellPoolChanges {
    /// Waits until a cell came back or was quarantined since the last wait ended, or since subscription. Many
    /// changes count as one.
    ///
    /// # Errors
    /// A non-retryable `unavailable`, detail `cell-pool.owner-gone`, once the pool and all its leases are gone.
    pub async fn changed(&mut self) -> Result<(), PlatformError> {
        self.0.changed().await.map_err(|_| refusal::owner_gone())
    }
}
