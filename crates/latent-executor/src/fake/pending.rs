//! Ways of not being ready: for a while, for ever, or until the drop that panics.

use std::future::{Future, pending, poll_fn};
use std::task::Poll;

/// Pends `polls` times and wakes its task at each.
pub(super) fn yielding(mut polls: u32) -> impl Future<Output = ()> + Send {
    poll_fn(move |cx| {
        if polls == 0 {
            return Poll::Ready(());
        }
        polls -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Pends for ever, and panics when it is dropped.
pub(super) async fn panicking_when_dropped() -> ! {
    let _bomb = Bomb;
    pending().await
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // A second panic would end the process instead of the test.
        assert!(std::thread::panicking(), "scripted panic of a destructor");
    }
}
