//! An open loop: calls begin at a steady rate, whether those before them have ended or not.
//!
//! Invariant: each call is timed from the moment at which it should have begun, so that a caller which is held up hides nothing.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::nodes::verdict::Times;

/// Calls that may be under way; further ones are not made, and count as failed.
const UNDER_WAY_MAX: usize = 1_000;
/// Failures that are kept in words.
const WORDS_MAX: usize = 3;
/// When every call has to have its end, after the last one was begun.
const END: Duration = Duration::from_secs(10);

/// What came of the calls.
#[derive(Debug, Default)]
pub struct Paced {
    /// What each took that succeeded.
    pub times: Times,
    /// The others.
    pub failed: u64,
    /// The first of these, in words.
    pub words: Vec<String>,
    /// The most that were under way at once.
    pub peak: usize,
}

impl Paced {
    /// Adds what came of others.
    pub fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.failed += other.failed;
        self.peak = self.peak.max(other.peak);
        other.words.into_iter().for_each(|word| self.say(word));
    }

    fn enter(&mut self, outcome: Result<Duration, String>) {
        match outcome {
            Ok(took) => self.times.push(took),
            Err(word) => {
                self.failed += 1;
                self.say(word);
            }
        }
    }

    fn say(&mut self, word: String) {
        if self.words.len() < WORDS_MAX {
            self.words.push(word);
        }
    }
}

/// Begins a call each `interval` for `span`, and waits for all.
pub async fn paced<F>(interval: Duration, span: Duration, mut call: impl FnMut() -> F) -> Paced
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let (mut paced, mut under_way) = (Paced::default(), JoinSet::new());
    let begun = Instant::now();
    let mut due = begun;
    while due - begun < span {
        sleep_until(due).await;
        while let Some(ended) = under_way.try_join_next() {
            paced.enter(ended.unwrap_or_else(|panic| Err(panic.to_string())));
        }
        if under_way.len() < UNDER_WAY_MAX {
            under_way.spawn(timed(due, call()));
        } else {
            paced.enter(Err(format!("not made: {UNDER_WAY_MAX} calls were under way")));
        }
        paced.peak = paced.peak.max(under_way.len());
        due += interval;
    }
    let rest = async {
        while let Some(ended) = under_way.join_next().await {
            paced.enter(ended.unwrap_or_else(|panic| Err(panic.to_string())));
        }
    };
    if timeout(END, rest).await.is_err() {
        for _ in 0..under_way.len() {
            paced.enter(Err(format!("without an end {END:?} after the last call")));
        }
    }
    paced
}

async fn timed(due: Instant, call: impl Future<Output = Result<(), String>>) -> Result<Duration, String> {
    call.await?;
    Ok(due.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_that_hold_up_nobody_are_timed_from_when_they_were_due() {
        let paced = paced(Duration::from_millis(10), Duration::from_millis(100), || async {
            tokio::time::sleep(Duration::from_millis(35)).await;
            Ok(())
        });
        let paced = paced.await;
        assert_eq!((paced.times.len(), paced.failed, paced.peak), (10, 0, 4));
        assert_eq!(paced.times.percentile(100).as_millis(), 35);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_without_an_end_have_failed() {
        let never = || async {
            std::future::pending::<()>().await;
            Ok(())
        };
        let paced = paced(Duration::from_millis(1), Duration::from_millis(1_100), never).await;
        assert_eq!((paced.times.len(), paced.failed, paced.peak), (0, 1_100, UNDER_WAY_MAX));
    }
}
