//! What a listener counts, and how many connections each peer has.
//!
//! Invariant: a connection is counted as open, and for its peer, exactly as long as its [`Counted`] lives.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of a listener at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListenerCounts {
    /// Connections that were accepted, refused ones included.
    pub accepted: u64,
    /// Connections that are open.
    pub open: u64,
    /// Connections that were closed at once, because their peer had too many.
    pub refused: u64,
    /// Connections that were closed because their peer was silent for too long, TLS handshakes included.
    pub timed_out: u64,
    /// TLS handshakes that failed.
    pub handshakes_failed: u64,
    /// Times that accepting failed, such as for want of file descriptors.
    pub accept_failures: u64,
    /// Connections that a shutdown cut at its deadline.
    pub cut: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) timed_out: AtomicU64,
    pub(super) handshakes_failed: AtomicU64,
    pub(super) accept_failures: AtomicU64,
    pub(super) cut: AtomicU64,
    peers: Mutex<HashMap<IpAddr, usize>>,
}

/// Counts one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn read(&self) -> ListenerCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ListenerCounts {
            accepted: of(&self.accepted),
            open: of(&self.open),
            refused: of(&self.refused),
            timed_out: of(&self.timed_out),
            handshakes_failed: of(&self.handshakes_failed),
            accept_failures: of(&self.accept_failures),
            cut: of(&self.cut),
        }
    }

    /// Counts a connection of `peer`, unless it has `max` already.
    pub(super) fn open(self: &Arc<Self>, peer: IpAddr, max: usize) -> Option<Counted> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = peers.entry(peer).or_default();
        if *connections >= max {
            return None;
        }
        *connections += 1;
        count(&self.open);
        Some(Counted { counters: Arc::clone(self), peer })
    }
}

/// One open connection.
#[derive(Debug)]
#[must_use]
pub(super) struct Counted {
    counters: Arc<Counters>,
    peer: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
        let mut peers = self.counters.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = peers.get_mut(&self.peer) {
            *connections -= 1;
            if *connections == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_its_share_and_gives_it_back() {
        let counters = Arc::new(Counters::default());
        let (peer, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let first = counters.open(peer, 2).expect("one");
        let second = counters.open(peer, 2).expect("two");
        assert!(counters.open(peer, 2).is_none());
        let third = counters.open(other, 2).expect("another's");
        assert_eq!(counters.read().open, 3);
        drop((first, second, third));
        assert_eq!(counters.read().open, 0);
        assert!(counters.peers.lock().expect("sound").is_empty());
    }
}
