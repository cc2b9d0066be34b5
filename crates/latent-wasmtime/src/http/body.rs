//! Bodies on their way between transport and guest: counted, their errors translated, their ends checked.
//!
//! Invariant: a response's body ends without an error only if the guest finished it and it has the length that its head
//! says.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use latent_executor::{HttpBody, HttpBodyError, HttpExchange};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::{Error, WasiBody};

use super::errors::{of_incoming_response, of_request};
use super::outgoing::Place;

/// The body of a request as its handler reads it.
pub struct RequestBody {
    body: HttpBody,
    exchange: Arc<HttpExchange>,
}

impl RequestBody {
    /// Counts what comes on `exchange`.
    pub fn new(body: HttpBody, exchange: Arc<HttpExchange>) -> Self {
        Self { body, exchange }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.exchange.count_in(data.len() as u64);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(of_request)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response as its client gets it. What was written before an error comes before it.
pub struct ResponseBody {
    /// Gone once it has ended.
    body: Option<HyperOutgoingBody>,
    exchange: Arc<HttpExchange>,
    length: Option<u64>,
    left: u64,
}

impl ResponseBody {
    /// Counts what is taken on `exchange`. With a `length` it has to have exactly so many bytes.
    pub fn new(body: HyperOutgoingBody, exchange: Arc<HttpExchange>, length: Option<u64>) -> Self {
        Self { body: Some(body), exchange, length, left: length.unwrap_or(0) }
    }

    fn checked(&mut self, frame: Option<Result<Frame<Bytes>, Error>>) -> Option<Result<Frame<Bytes>, HttpBodyError>> {
        let short = self.left > 0;
        match frame {
            None if short => Some(Err(HttpBodyError::Incomplete)),
            None => None,
            // The only error that the guest's end has is that it was not finished.
            Some(Err(_)) => Some(Err(HttpBodyError::Incomplete)),
            Some(Ok(frame)) => Some(match frame.data_ref() {
                None if short => Err(HttpBodyError::Incomplete),
                None => Ok(frame),
                Some(data) => self.counted(data.len() as u64).map(|()| frame),
            }),
        }
    }

    fn counted(&mut self, bytes: u64) -> Result<(), HttpBodyError> {
        if let Some(limit) = self.length {
            self.left = self.left.checked_sub(bytes).ok_or(HttpBodyError::TooLarge { limit })?;
        }
        self.exchange.count_out(bytes);
        Ok(())
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        let checked = self.checked(frame);
        if !matches!(checked, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(checked)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0 && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match (self.length, &self.body) {
            (Some(_), _) => SizeHint::with_exact(self.left),
            (None, Some(body)) => body.size_hint(),
            (None, None) => SizeHint::with_exact(0),
        }
    }
}

/// The body of a response to a guest's own request. Its request counts as under way until it has ended.
pub struct IncomingBody {
    body: HttpBody,
    place: Option<Place>,
}

impl IncomingBody {
    /// Gives `place` back at the end.
    pub fn new(body: HttpBody, place: Place) -> Self {
        Self { body, place: Some(place) }
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.place = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(of_incoming_response)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a guest's own request, as the one that sends it reads it.
pub struct OutgoingBody(pub WasiBody);

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let frame = ready!(Pin::new(&mut self.0).poll_frame(cx));
        Poll::Ready(frame.map(|frame| frame.map_err(|_unfinished| HttpBodyError::Incomplete)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
