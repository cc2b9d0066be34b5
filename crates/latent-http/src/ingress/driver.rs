//! What polls an activation whose response has begun: one task each, so that a slow reader never decides whether its guest is
//! polled.
//!
//! Invariant: the task ends with the activation, with its client, or when the guest has waited for the client long enough; in
//! the latter two the activation is handed over to be cleaned up.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use latent_core::ActivationOutcome;
use latent_node::SupervisedActivation;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::outward::Outward;
use super::reader::Reader;
use super::upload::Upload;

/// No part of a reader's time is looked at more closely than this.
const LOOK_PART: u32 = 20;

/// How a response that is being sent learns what became of its guest, and the other way round.
pub(super) struct Strings {
    /// Says that the response has been sent; dropped before that, that its client is gone.
    pub(super) sent: oneshot::Sender<()>,
    /// Says whether the guest returned; dropped, it did not.
    pub(super) verdict: oneshot::Receiver<bool>,
}

/// Drives `activation` in a task of its own while its response is sent.
pub(super) fn attached(
    activation: SupervisedActivation,
    upload: Option<Upload>,
    reader: Arc<Reader>,
    limit: Duration,
) -> Strings {
    let (sent, is_sent) = oneshot::channel();
    let (tell, verdict) = oneshot::channel();
    tokio::spawn(drive(activation, upload, Said { is_sent, tell }, reader, limit));
    Strings { sent, verdict }
}

/// Drives `activation`, whose response needs nothing more of it, in a task of its own.
pub(super) fn detached(activation: SupervisedActivation) {
    tokio::spawn(activation);
}

/// The same, while what the guest still writes is thrown away.
pub(super) fn drained(activation: SupervisedActivation, mut body: Outward) {
    tokio::spawn(async move {
        let mut activation = activation;
        let throw = poll_fn(|cx| {
            // Ends with the body, which the guest's end cuts at the latest.
            while let Poll::Ready(next) = body.poll_next(cx) {
                if !matches!(next, Some(Ok(_))) {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        });
        tokio::select! {
            _ended = &mut activation => return,
            () = throw => {}
        }
        activation.await;
    });
}

/// The other ends of [`Strings`].
struct Said {
    is_sent: oneshot::Receiver<()>,
    tell: oneshot::Sender<bool>,
}

async fn drive(
    mut activation: SupervisedActivation,
    upload: Option<Upload>,
    said: Said,
    reader: Arc<Reader>,
    limit: Duration,
) {
    let Said { mut is_sent, tell } = said;
    let mut gone = pin!(poll_fn(|cx| upload.as_ref().map_or(Poll::Pending, |upload| upload.poll_gone(cx))));
    let mut look_at = Instant::now() + limit;
    loop {
        tokio::select! {
            biased;
            receipt = &mut activation => {
                // Nobody hears it when the response has been sent already.
                let _ = tell.send(!matches!(receipt.outcome, ActivationOutcome::Failed { .. }));
                return;
            }
            sent = &mut is_sent => {
                if sent.is_ok() {
                    activation.await;
                }
                return;
            }
            () = &mut gone => return,
            () = tokio::time::sleep_until(look_at) => {
                let now = Instant::now();
                let Some(left) = reader.left(now) else { return };
                look_at = now + left.max(limit / LOOK_PART);
            }
        }
    }
}
