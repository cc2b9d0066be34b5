//! One request and its response on a connection that is there.
//!
//! Invariant: nothing of the connection outlives the future or the body that it answers with.

use std::pin::pin;

use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor as _;
use hyper_util::rt::TokioIo;
use latent_executor::{HttpBody, OutgoingError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::config::EgressConfig;
use super::error;
use super::head::{self, Head};
use super::response::Download;
use super::target::Target;
use super::tasks::Tasks;
use super::times::Times;
use super::upload::{Progress, Upload};
use crate::coding::is_plainly_chunked;

/// Bytes of a response that a server sends ahead of their being read, in HTTP/2.
const WINDOW_BYTES: u32 = 256 << 10;
/// Bytes of a request that wait for the server, in HTTP/2.
const SEND_BUFFER_BYTES: usize = 256 << 10;
/// Bytes that wait in either direction in HTTP/1.1, unless a head needs more.
const BUFFER_BYTES: usize = 64 << 10;

/// What HTTP/2 counts for each field besides name and value.
const FIELD_BYTES: usize = 32;

/// Which HTTP a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
}

/// What holds for a request and its response.
pub(super) struct Conversation<'a> {
    pub(super) config: &'a EgressConfig,
    pub(super) target: &'a Target,
    pub(super) times: &'a Times,
}

impl Conversation<'_> {
    /// Sends the request and waits for the head of its response.
    pub(super) async fn hold<S>(
        &self,
        stream: S,
        spoken: Spoken,
        head: Head,
        upload: Upload,
    ) -> Result<Response<HttpBody>, OutgoingError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let tasks = Tasks::until(self.times.end);
        let progress = upload.progress();
        progress.begin();
        let response = match spoken {
            Spoken::Http1 => self.in_time(self.http1(stream, &tasks, head, upload), &progress).await?,
            Spoken::Http2 => self.in_time(self.http2(stream, &tasks, head, upload), &progress).await?,
        };
        self.answer(response, tasks)
    }

    async fn http1<S>(
        &self,
        stream: S,
        tasks: &Tasks,
        head: Head,
        upload: Upload,
    ) -> Result<Response<Incoming>, OutgoingError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let progress = upload.progress();
        let request = head.http1(self.target, upload)?;
        let mut builder = http1::Builder::new();
        builder
            .max_headers(self.config.response_headers_max)
            .max_header_size(self.config.response_head_bytes_max)
            .max_buf_size(self.config.response_head_bytes_max.max(BUFFER_BYTES));
        let failed = |failure: hyper::Error| error::of_exchange(&failure, &progress);
        let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tasks.spawner().execute(connection);
        sender.send_request(request).await.map_err(failed)
    }

    async fn http2<S>(
        &self,
        stream: S,
        tasks: &Tasks,
        head: Head,
        upload: Upload,
    ) -> Result<Response<Incoming>, OutgoingError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let progress = upload.progress();
        let request = head.http2(self.target, upload)?;
        // What is more than this is a reset, which says nothing of its reason; what is less is told from others below.
        let head_bytes_max = 2 * self.config.response_head_bytes_max + FIELD_BYTES * self.config.response_headers_max;
        let mut builder = http2::Builder::new(tasks.spawner());
        builder
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(u32::try_from(head_bytes_max).unwrap_or(u32::MAX))
            .max_send_buf_size(SEND_BUFFER_BYTES);
        let failed = |failure: hyper::Error| error::of_exchange(&failure, &progress);
        let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tasks.spawner().execute(connection);
        sender.send_request(request).await.map_err(failed)
    }

    /// The head, unless nothing went out or came in for too long.
    async fn in_time(
        &self,
        head: impl Future<Output = Result<Response<Incoming>, OutgoingError>>,
        progress: &Progress,
    ) -> Result<Response<Incoming>, OutgoingError> {
        let mut head = pin!(head);
        loop {
            if let Ok(answer) = timeout_at(self.head_due(progress), &mut head).await {
                return answer;
            }
            if Instant::now() >= self.head_due(progress) {
                return Err(OutgoingError::ResponseTimeout);
            }
        }
    }

    fn head_due(&self, progress: &Progress) -> Instant {
        (progress.last() + self.times.first_byte).min(self.times.end)
    }

    fn answer(&self, response: Response<Incoming>, tasks: Tasks) -> Result<Response<HttpBody>, OutgoingError> {
        let (mut parts, body) = response.into_parts();
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(OutgoingError::Protocol);
        }
        let too_many = parts.headers.len() > self.config.response_headers_max;
        if too_many || head::size(&parts.headers) > self.config.response_head_bytes_max {
            return Err(OutgoingError::ResponseHeadTooLarge);
        }
        if !is_plainly_chunked(&parts.headers) {
            return Err(OutgoingError::Protocol);
        }
        head::without_hops(&mut parts.headers);
        parts.extensions.clear();
        let body = Download::new(body, tasks, *self.times, self.config.response_body_bytes_max);
        Ok(Response::from_parts(parts, body.boxed_unsync()))
    }
}
