//! The loop that accepts connections, and the end of it.
//!
//! Invariant: a connection is accepted only when there is a slot for it, and whatever accepting fails of passes.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::Service;

use super::bodies::RequestBody;
use super::connection::{Shared, serve};
use super::counters::count;

/// The first pause after accepting failed for want of something, doubled for each further time up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long tasks that were told to stop at once are waited for.
const CUT_GRACE: Duration = Duration::from_millis(200);

/// Accepts until the listener is to close, then waits for what is open, cuts the rest and says how many that was.
pub(super) async fn run<S, B>(listener: TcpListener, shared: Arc<Shared<S>>) -> u64
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut closing = shared.closing.clone();
    let slots = Arc::new(Semaphore::new(shared.config.connections_max));
    let mut connections = JoinSet::new();
    // An owner that is gone without closing leaves nobody to wait for.
    let deadline = tokio::select! {
        deadline = async { closing.wait_for(Option::is_some).await.ok().and_then(|at| *at) } => deadline,
        never = accept(&listener, &slots, &mut connections, &shared) => match never {},
    };
    drop(listener);
    let deadline = deadline.unwrap_or_else(Instant::now);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout_at(deadline, all).await.is_ok() {
        return 0;
    }
    let cut = connections.len() as u64;
    connections.abort_all();
    let all = async { while connections.join_next().await.is_some() {} };
    // What is in the midst of a poll ends after it; it holds a socket until then and nothing else.
    let _ = tokio::time::timeout(CUT_GRACE, all).await;
    connections.detach_all();
    shared.counters.cut.fetch_add(cut, std::sync::atomic::Ordering::Relaxed);
    cut
}

async fn accept<S, B>(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    connections: &mut JoinSet<()>,
    shared: &Arc<Shared<S>>,
) -> Infallible
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut failures = 0;
    loop {
        while connections.try_join_next().is_some() {}
        let slot = Arc::clone(slots).acquire_owned().await.expect("the semaphore is never closed");
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                count(&shared.counters.accept_failures);
                if let Some(pause) = pause_after(&error, failures) {
                    failures += 1;
                    tokio::time::sleep(pause).await;
                }
                continue;
            }
        };
        failures = 0;
        count(&shared.counters.accepted);
        let Some(counted) = shared.counters.open(peer.ip(), shared.config.connections_per_peer_max) else {
            count(&shared.counters.refused);
            continue;
        };
        let connection = serve(stream, peer, Instant::now(), Arc::clone(shared));
        connections.spawn(async move {
            connection.await;
            drop((counted, slot));
        });
    }
}

/// How long accepting pauses after `error`, the one after `failures` others in a row. `None`: the error is about one
/// connection that is gone already.
fn pause_after(error: &io::Error, failures: u32) -> Option<Duration> {
    match error.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::Interrupted => None,
        _ => Some(PAUSE_MIN.saturating_mul(1 << failures.min(16)).min(PAUSE_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_does_not_pause_accepting() {
        assert_eq!(pause_after(&io::ErrorKind::ConnectionAborted.into(), 9), None);
    }

    #[test]
    fn pauses_grow_to_half_a_second() {
        let no_descriptors = io::Error::from_raw_os_error(24);
        assert_eq!(pause_after(&no_descriptors, 0), Some(PAUSE_MIN));
        assert_eq!(pause_after(&no_descriptors, 3), Some(PAUSE_MIN * 8));
        assert_eq!(pause_after(&no_descriptors, u32::MAX), Some(PAUSE_MAX));
    }
}
