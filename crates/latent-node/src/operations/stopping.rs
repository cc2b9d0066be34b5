//! How the activations of a node come to their end when it stops: by themselves within the grace, cancelled after it.
//!
//! Invariant: from the first step on none begins; every wait has its end.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::node::NodeOperations;

/// How often the counters are looked at while a node waits for its activations. Nothing else is done meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// What cancelled activations have for their ends besides the cap of their cleanup.
const MARGIN: Duration = Duration::from_millis(200);
/// What the callers of cancelled activations are told.
const REASON: &str = "the node is shutting down";

/// How the activations of a node that stops came to their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Activations that were cancelled after the grace.
    pub cancelled: u64,
    /// Activations that are still under way: none, unless a guest or the engine is stuck.
    pub left: u64,
    /// How long those that were cancelled took to end.
    pub cancelling: Duration,
}

impl NodeOperations {
    /// Brings all activations to their ends: none begins any more; those under way have the grace, or until `hurry` is
    /// ready; what is left is cancelled, and has twice the cleanup's grace for it.
    pub async fn settle(&self, hurry: impl Future<Output = ()>) -> Settled {
        self.lifecycle.stop();
        self.parts.supervisor.close();
        let by_themselves = pin!(self.emptied_within(self.parts.grace));
        let left = match select(by_themselves, pin!(hurry)).await {
            Either::Left((left, _)) => left,
            Either::Right(((), _)) => self.under_way(),
        };
        if left == 0 {
            return Settled { cancelled: 0, left: self.under_way(), cancelling: Duration::ZERO };
        }
        let began = Instant::now();
        let cancelled = self.parts.manager.cancel_all(REASON) as u64;
        self.parts.manager.parts().scheduler.shut_down();
        let left = self.emptied_within(self.parts.supervisor.continuation_cap() + MARGIN).await;
        Settled { cancelled, left, cancelling: began.elapsed() }
    }

    /// Waits until nothing is under way, for at most `wait`, and says how much is.
    pub(super) async fn emptied_within(&self, wait: Duration) -> u64 {
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now + Duration::from_hours(24 * 366));
        // Its end is the one thing that it waits for; too late is as good.
        let _timed_out = timeout_at(until, self.emptied()).await;
        let left = self.under_way();
        if left == 0 {
            self.lifecycle.emptied();
        }
        left
    }

    async fn emptied(&self) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.under_way() > 0 {
            looks.tick().await;
        }
    }
}
