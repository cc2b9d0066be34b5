//! Whether a connection is of use: how many requests are under way on it, and since when there are none.
//!
//! Invariant: a request counts from its head to the end of its response, whichever way it ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What is known of one connection.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    under_way: usize,
    /// Whether any request came.
    begun: bool,
    quiet_since: Instant,
}

impl Activity {
    /// A connection that began at `now`.
    pub(super) fn new(now: Instant) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { under_way: 0, begun: false, quiet_since: now })))
    }

    /// Counts a request until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.with(|state| {
            state.under_way += 1;
            state.begun = true;
        });
        UnderWay(Arc::clone(self))
    }

    /// When the connection is to be closed unless something happens: `first` after its begin without a request, `idle`
    /// after its latest request. `None` while a request is under way.
    pub(super) fn closes_at(&self, first: Duration, idle: Duration) -> Option<Instant> {
        self.with(|state| {
            let after = if state.begun { idle } else { first };
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
pub(super) struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now = Instant::now();
        self.0.with(|state| {
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
        let (one, two) = (activity.begin(), activity.begin());
        drop(one);
        assert_eq!(activity.closes_at(FIRST, IDLE), None);
        let before = Instant::now();
        drop(two);
        let closes_at = activity.closes_at(FIRST, IDLE).expect("nothing is under way");
        assert!(closes_at >= before + IDLE && closes_at <= Instant::now() + IDLE);
    }
}
