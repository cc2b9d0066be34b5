//! How often a connection is looked at while its task runs.
//!
//! Whatever a request does wakes its connection: it asks for its body, it has something to send, its stream ends. Those
//! wake-ups lead to another look at once, which costs less than a turn behind all other tasks.
//!
//! Invariant: a wake-up leads to another look, or to one of the task. A guest that computes keeps its thread no longer than
//! a tick of the engine and [`SHORT`].

use std::task::{Context, Poll};
use std::time::Duration;

use latent_core::wakes::Wakes;
use tokio::task::coop::has_budget_remaining;
use tokio::time::Instant;

/// After so long another look is a matter of the task, behind all others.
pub(super) const SHORT: Duration = Duration::from_micros(200);
/// And after so many.
const ROUNDS_MAX: u8 = 16;

/// The looks at one connection.
#[derive(Default)]
pub(super) struct Rounds(Wakes);

impl Rounds {
    /// Looks until it is ready or nobody asks for more, or wakes the task if that takes long.
    pub(super) fn poll<T>(&self, cx: &mut Context<'_>, mut look: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.0.register(cx.waker());
        let began = Instant::now();
        for _ in 0..ROUNDS_MAX {
            let (seen, is_asked) = self.0.during(&mut look);
            if seen.is_ready() || !is_asked {
                return seen;
            }
            // Without a budget nothing that waits for a socket is ready, and wakes whoever looks.
            if began.elapsed() >= SHORT || !has_budget_remaining() {
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
pub(super) mod tests;
