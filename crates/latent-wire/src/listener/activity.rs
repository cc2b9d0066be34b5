//! Whether a connection is of use: how many requests are under way on it, and since when there are none.
//!
//! Invariant: a request counts from its head to the end of its response, whichever way it ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long the names of headers stay with a peer, about: a connection remembers 4 KiB of headers, and the time of day, which
/// is another every second, takes 65 bytes of them.
const NAMES_STAY: Duration = Duration::from_secs(30);

/// What is known of one connection.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    under_way: usize,
    /// When the peer was last told names of headers to remember; `None` before the first request.
    named_at: Option<Instant>,
    quiet_since: Instant,
}

impl Activity {
    /// A connection that began at `now`.
    pub(super) fn new(now: Instant) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { under_way: 0, named_at: None, quiet_since: now })))
    }

    /// Counts a request, which came at `now`, until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, now: Instant) -> UnderWay {
        let names = self.with(|state| {
            state.under_way += 1;
            let due = state.named_at.is_none_or(|named_at| now >= named_at + NAMES_STAY);
            if due {
                state.named_at = Some(now);
            }
            due
        });
        UnderWay { activity: Arc::clone(self), names }
    }

    /// When the connection is to be closed unless something happens: `first` after its begin without a request, `idle`
    /// after its latest request. `None` while a request is under way.
    pub(super) fn closes_at(&self, first: Duration, idle: Duration) -> Option<Instant> {
        self.with(|state| {
            let after = if state.named_at.is_some() { idle } else { first };
            (state.under_way == 0).then(|| state.quiet_since + after)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One request that is under way.
#[derive(Debug)]
#[must_use]
pub(super) struct UnderWay {
    activity: Arc<Activity>,
    names: bool,
}

impl UnderWay {
    /// Whether its response is to tell the peer names of headers to remember.
    pub(super) fn tells_names(&self) -> bool {
        self.names
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now = Instant::now();
        self.activity.with(|state| {
            state.under_way -= 1;
            state.quiet_since = now;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const IDLE: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn a_connection_is_idle_from_the_end_of_its_last_request() {
        let start = Instant::now();
        let activity = Activity::new(start);
        assert_eq!(activity.closes_at(FIRST, IDLE), Some(start + FIRST));
        let (one, two) = (activity.begin(start), activity.begin(start));
        drop(one);
        assert_eq!(activity.closes_at(FIRST, IDLE), None);
        let before = Instant::now();
        drop(two);
        let closes_at = activity.closes_at(FIRST, IDLE).expect("nothing is under way");
        assert!(closes_at >= before + IDLE && closes_at <= Instant::now() + IDLE);
    }

    #[tokio::test]
    async fn names_are_told_at_first_and_again_when_they_may_be_forgotten() {
        let start = Instant::now();
        let activity = Activity::new(start);
        let told = [Duration::ZERO, Duration::ZERO, NAMES_STAY / 2, NAMES_STAY, NAMES_STAY * 3 / 2, NAMES_STAY * 2]
            .map(|after| activity.begin(start + after).tells_names());
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
