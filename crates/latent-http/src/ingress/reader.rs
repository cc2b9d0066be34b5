//! How long a guest has waited for whoever reads its response.
//!
//! Invariant: the time counts while the reader has something in hand, and never while the reader waits for the guest.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A reader's account.
#[derive(Debug)]
pub(super) struct Reader {
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    waited: Duration,
    /// Since when the reader has something in hand.
    busy_since: Option<Instant>,
}

impl Reader {
    /// A reader that has a head in hand since `now`, and may take `limit` in all.
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, state: Mutex::new(State { waited: Duration::ZERO, busy_since: Some(now) }) }
    }

    /// The reader asks for more.
    pub(super) fn asks(&self, now: Instant) {
        self.with(|state| {
            let busy = state.busy_since.take();
            state.waited += busy.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        });
    }

    /// The reader has got something.
    pub(super) fn gets(&self, now: Instant) {
        self.with(|state| state.busy_since = Some(now));
    }

    /// How much longer the reader may take; `None` when that is over.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let waited = self.with(|state| {
            state.waited + state.busy_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
        });
        self.limit.checked_sub(waited).filter(|left| !left.is_zero())
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_the_reader_takes_counts_and_all_of_it_together() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let reader = Reader::new(second * 10, start);
        assert_eq!(reader.left(start + second * 3), Some(second * 7));
        reader.asks(start + second * 4);
        assert_eq!(reader.left(start + second * 100), Some(second * 6), "the guest lets it wait");
        reader.gets(start + second * 100);
        reader.asks(start + second * 105);
        reader.gets(start + second * 200);
        assert_eq!(reader.left(start + second * 201), None);
    }
}
