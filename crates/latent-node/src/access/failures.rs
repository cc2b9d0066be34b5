//! How many calls without a credential that holds are answered as such, by peer and on the whole node.
//!
//! Invariant: at most `peers_max` peers are remembered; whoever is not counted alone is counted with all others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, SystemTime};

/// Bounds of failed authentications. A credential that holds is never refused for them, so that whoever shares an address
/// with an attacker is not locked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureLimits {
    /// Failures of one peer in a row. At least 1; default 20.
    pub peer_burst: u32,
    /// After how long one more is allowed. More than zero, at most an hour; default one second.
    pub peer_interval: Duration,
    /// Failures of all peers in a row. At least 1; default 1000.
    pub node_burst: u32,
    /// After how long one more is allowed. More than zero, at most an hour; default 10 milliseconds.
    pub node_interval: Duration,
    /// Peers that are counted alone, about 64 bytes each; further ones only with all others. An IPv6 peer is its network
    /// of 64 bits. Default 4096.
    pub peers_max: usize,
}

impl Default for FailureLimits {
    fn default() -> Self {
        Self {
            peer_burst: 20,
            peer_interval: Duration::from_secs(1),
            node_burst: 1000,
            node_interval: Duration::from_millis(10),
            peers_max: 4096,
        }
    }
}

const INTERVAL_MAX: Duration = Duration::from_hours(1);
/// How often a full table is looked through for peers that may be forgotten.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

impl FailureLimits {
    /// The first setting that is out of its bounds, and what to set.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let interval = |interval: Duration| !interval.is_zero() && interval <= INTERVAL_MAX;
        match () {
            () if self.peer_burst == 0 => Err(("failures.peer_burst", "at least 1")),
            () if self.node_burst == 0 => Err(("failures.node_burst", "at least 1")),
            () if !interval(self.peer_interval) => Err(("failures.peer_interval", "more than zero, at most an hour")),
            () if !interval(self.node_interval) => Err(("failures.node_interval", "more than zero, at most an hour")),
            () => Ok(()),
        }
    }
}

/// What was counted.
#[derive(Debug)]
pub(super) struct Failures {
    limits: FailureLimits,
    node: Allowance,
    peers: HashMap<IpAddr, Allowance>,
    swept: SystemTime,
}

/// When an allowance will be whole again. In the past, it is.
#[derive(Debug, Clone, Copy)]
struct Allowance(SystemTime);

impl Allowance {
    const WHOLE: Self = Self(SystemTime::UNIX_EPOCH);

    /// Uses one of `burst`, one of which comes back each `interval`; or says how long until there is one.
    fn take(&mut self, burst: u32, interval: Duration, now: SystemTime) -> Result<(), Duration> {
        let all = interval.saturating_mul(burst);
        // A clock that was turned back owes no more than everything.
        let used = self.0.duration_since(now).unwrap_or_default().min(all);
        let room = interval.saturating_mul(burst.saturating_sub(1));
        self.0 = now.checked_add(used).unwrap_or(now);
        let wait = used.saturating_sub(room);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.0 = now.checked_add(used + interval).unwrap_or(now);
        Ok(())
    }

    fn is_whole(self, now: SystemTime) -> bool {
        self.0 <= now
    }
}

impl Failures {
    pub(super) fn new(limits: FailureLimits) -> Self {
        Self { limits, node: Allowance::WHOLE, peers: HashMap::new(), swept: SystemTime::UNIX_EPOCH }
    }

    /// Counts a failure of `peer`.
    ///
    /// # Errors
    /// How long to wait, when there were too many.
    pub(super) fn count(&mut self, peer: Option<IpAddr>, now: SystemTime) -> Result<(), Duration> {
        let FailureLimits { peer_burst, peer_interval, node_burst, node_interval, .. } = self.limits;
        if let Some(peer) = peer.and_then(|peer| self.peer(network(peer), now)) {
            // A peer that is refused takes nothing from the others.
            peer.take(peer_burst, peer_interval, now)?;
        }
        self.node.take(node_burst, node_interval, now)
    }

    /// How many peers are remembered.
    pub(super) fn peers(&self) -> usize {
        self.peers.len()
    }

    fn peer(&mut self, peer: IpAddr, now: SystemTime) -> Option<&mut Allowance> {
        if self.peers.len() >= self.limits.peers_max && !self.peers.contains_key(&peer) {
            self.sweep(now);
            if self.peers.len() >= self.limits.peers_max {
                return None;
            }
        }
        Some(self.peers.entry(peer).or_insert(Allowance::WHOLE))
    }

    fn sweep(&mut self, now: SystemTime) {
        // A clock that was turned back counts as an interval that has passed.
        let is_due = now.duration_since(self.swept).is_ok_and(|passed| passed >= SWEEP_INTERVAL) || now < self.swept;
        if is_due {
            self.peers.retain(|_, allowance| !allowance.is_whole(now));
            self.swept = now;
        }
    }
}

/// Whoever has one address of an IPv6 network of 64 bits has all of them.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests;
