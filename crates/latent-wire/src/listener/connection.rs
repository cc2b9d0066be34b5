//! One connection, from its TLS handshake to its end.
//!
//! Invariant: a connection without a request under way is closed in time, whatever its peer does.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use latent_core::Sha256Digest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{Service, ServiceExt as _};

use super::activity::{Activity, UnderWay};
use super::bodies::{Pace, RequestBody, ResponseBody};
use super::config::ListenerConfig;
use super::counters::{Counters, count};
use super::rounds::Rounds;
use super::socket::{Cut, Socket, Watched};
use super::streams::{Begins, Streams};
use crate::api::{Arrival, Peer, headers};
use crate::tls::Tls;

/// The part of a connection's life after its farewell, in which the peer may still finish.
const FAREWELL_PART: u32 = 10;

/// What all connections of a listener share.
pub(super) struct Shared<S> {
    pub(super) config: ListenerConfig,
    pub(super) tls: Option<Arc<Tls>>,
    pub(super) service: S,
    pub(super) counters: Arc<Counters>,
    /// Holds the deadline, once the listener is to close.
    pub(super) closing: watch::Receiver<Option<Instant>>,
}

/// Serves one accepted connection to its end.
pub(super) async fn serve<S, B>(stream: TcpStream, peer: SocketAddr, accepted: Instant, shared: Arc<Shared<S>>)
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Small answers go out at once; where that cannot be set, they only go out later.
    let _ = stream.set_nodelay(true);
    let first_request_by = accepted + shared.config.first_byte_timeout;
    let Some((socket, certificate)) = secure(stream, first_request_by, &shared).await else { return };
    let cut = Cut::default();
    let io = TokioIo::new(Watched::new(socket, shared.config.write_stall_timeout, cut.clone()));
    let from = Peer { address: Some(peer.ip()), certificate };
    let activity = Activity::new(accepted);
    let service = service_fn(|request: Request<Incoming>| {
        let now = Instant::now();
        let arrived = Arrival(now.into_std());
        // Later versions have a way of their own to say that a response was cut.
        let cut = (request.version() < Version::HTTP_11).then(|| cut.clone());
        let under_way = (activity.begin(now), cut);
        answer(request, (from, arrived), under_way, shared.config.request_bounds(), shared.service.clone())
    });
    let (streams, rounds) = (Streams::default(), Rounds::default());
    let builder = protocols(&shared.config, streams.begins());
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut closing = shared.closing.clone();
    let mut said_farewell = false;
    let mut was_quiet = false;
    loop {
        let look_again = next_look(&activity, &shared.config, said_farewell);
        tokio::select! {
            // An error here is the peer's doing, and there is nobody left to tell.
            _ended = poll_fn(|cx| rounds.poll(cx, |cx| {
                let ended = connection.as_mut().poll(cx);
                if ended.is_pending() {
                    streams.poll_own(cx);
                }
                ended
            })) => break,
            _ = closing.wait_for(Option::is_some), if !said_farewell => {
                connection.as_mut().graceful_shutdown();
                said_farewell = true;
            }
            () = tokio::time::sleep_until(look_again) => {
                match quiet(&activity, &shared.config, Instant::now()) {
                    Quiet::No => {}
                    Quiet::Soon if said_farewell => {}
                    Quiet::Soon => {
                        connection.as_mut().graceful_shutdown();
                        (said_farewell, was_quiet) = (true, true);
                    }
                    Quiet::TooLong => {
                        was_quiet = true;
                        break;
                    }
                }
            }
        }
    }
    if was_quiet {
        count(&shared.counters.timed_out);
    }
}

/// The TLS handshake, if the listener has TLS: within the time, or `None`.
async fn secure<S>(stream: TcpStream, by: Instant, shared: &Shared<S>) -> Option<(Socket, Option<Sha256Digest>)> {
    let Some(tls) = &shared.tls else { return Some((Socket::Plain(stream), None)) };
    match tokio::time::timeout_at(by, tls.accept(stream)).await {
        Ok(Ok((stream, certificate))) => Some((Socket::Tls(Box::new(stream)), certificate)),
        Ok(Err(_refused)) => {
            count(&shared.counters.handshakes_failed);
            None
        }
        Err(_elapsed) => {
            count(&shared.counters.timed_out);
            None
        }
    }
}

/// What a request needs of the configuration.
#[derive(Clone, Copy)]
struct Bounds {
    pace: Pace,
    header_count_max: usize,
}

impl ListenerConfig {
    fn request_bounds(&self) -> Bounds {
        Bounds {
            pace: Pace { within: self.body_stall_timeout, bytes: self.body_progress_bytes },
            header_count_max: self.header_count_max,
        }
    }
}

/// Lets the service answer one request.
async fn answer<S, B>(
    request: Request<Incoming>,
    (peer, arrived): (Peer, Arrival),
    (under_way, cut): (UnderWay, Option<Cut>),
    bounds: Bounds,
    service: S,
) -> Result<Response<ResponseBody<B>>, Infallible>
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
{
    if request.headers().len() > bounds.header_count_max {
        let mut refused = Response::new(ResponseBody::empty(under_way));
        *refused.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Ok(refused);
    }
    let mut request = request.map(|body| RequestBody::new(body, bounds.pace));
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(arrived);
    let mut response = service.oneshot(request).await?;
    if under_way.tells_names() {
        headers::to_remember(response.headers_mut());
    }
    Ok(response.map(|body| ResponseBody::of(body, cut, under_way)))
}

fn protocols(config: &ListenerConfig, streams: Begins) -> auto::Builder<Begins> {
    let mut builder = auto::Builder::new(streams);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_read_timeout)
        .max_headers(config.header_count_max)
        .max_buf_size(config.header_bytes_max);
    let http2 = &config.http2;
    let header_bytes_max = u32::try_from(config.header_bytes_max).unwrap_or(u32::MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(http2.streams_max)
        .initial_stream_window_size(http2.stream_window_bytes)
        .initial_connection_window_size(http2.connection_window_bytes)
        .max_frame_size(http2.frame_bytes_max)
        .max_header_list_size(header_bytes_max)
        .max_pending_accept_reset_streams(http2.pending_resets_max)
        .max_local_error_reset_streams(http2.error_resets_max)
        .max_send_buf_size(http2.send_buffer_bytes)
        .keep_alive_interval(http2.ping_interval)
        .keep_alive_timeout(http2.ping_timeout);
    builder
}

/// How long a connection has been without use.
enum Quiet {
    No,
    /// So long that it is told goodbye.
    Soon,
    TooLong,
}

fn quiet(activity: &Activity, config: &ListenerConfig, now: Instant) -> Quiet {
    match activity.closes_at(config.first_byte_timeout, config.idle_timeout) {
        Some(end) if now >= end => Quiet::TooLong,
        Some(end) if now >= end - farewell(config) => Quiet::Soon,
        _ => Quiet::No,
    }
}

/// When [`quiet`] may have something else to say.
fn next_look(activity: &Activity, config: &ListenerConfig, said_farewell: bool) -> Instant {
    let end = activity.closes_at(config.first_byte_timeout, config.idle_timeout);
    match end {
        None => Instant::now() + config.idle_timeout.min(config.first_byte_timeout) - farewell(config),
        Some(end) if said_farewell => end,
        Some(end) => end - farewell(config),
    }
}

fn farewell(config: &ListenerConfig) -> Duration {
    config.idle_timeout.min(config.first_byte_timeout) / FAREWELL_PART
}
