//! One request: its activation, polled where its answer is waited for.
//!
//! Invariant: the activation is polled by this future or by one task, never by nobody; dropping this hands it over to be
//! cleaned up.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::response::Parts;
use http::{Method, Response};
use latent_core::{ActivationOutcome, ErrorDetail, PlatformError, PlatformErrorCode as Code};
use latent_executor::{HttpBody, HttpBodyError, HttpExchange};
use latent_node::{ActivationReceipt, LocalActivationManager, SupervisedActivation};
use latent_wire::api::{About, Refused};
use tokio::sync::oneshot;
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use super::body::ResponseBody;
use super::config::IngressConfig;
use super::head::{self, Length};
use super::inward;
use super::outward::{Ahead, Outward};
use super::reader::Reader;
use super::upload::Upload;
use super::{driver, problem};

/// A request whose activation has an id.
pub(super) struct Call {
    pub(super) activation: SupervisedActivation,
    pub(super) waiting: Waiting,
}

/// What an activation is waited for with.
pub(super) struct Waiting {
    pub(super) manager: Arc<LocalActivationManager>,
    pub(super) exchange: Arc<HttpExchange>,
    pub(super) coming: Coming,
    pub(super) method: Method,
    pub(super) upload: Option<Upload>,
    pub(super) bounds: Bounds,
}

/// What holds for a response.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    body_bytes_max: u64,
    reader_wait: Duration,
}

impl Bounds {
    pub(super) fn of(config: &IngressConfig) -> Self {
        Self { body_bytes_max: config.response_body_bytes_max, reader_wait: config.reader_wait }
    }
}

/// The response of the guest.
pub(super) enum Coming {
    Awaited(oneshot::Receiver<Response<HttpBody>>),
    Begun(Box<Begun>),
    /// The guest sets none.
    Never,
}

/// A response whose head is there.
pub(super) struct Begun {
    head: Parts,
    /// An error is a head that cannot be sent.
    length: Result<Length, PlatformError>,
    body: Outward,
}

/// How the wait for a response ended.
enum Turn {
    /// With the activation.
    Ended(Box<ActivationReceipt>),
    /// With a head, after which the guest goes on.
    GoesOn,
    /// With the client, which left in the midst of its body.
    Gone,
}

impl Call {
    /// The answer. Where the activation ends with all of its response, it is this future that polled it to its end.
    pub(super) async fn answer(self) -> Response<ResponseBody> {
        let Self { mut activation, mut waiting } = self;
        match poll_fn(|cx| waiting.poll(&mut activation, cx)).await {
            Turn::Ended(receipt) => waiting.ended(*receipt),
            Turn::GoesOn => waiting.goes_on(activation),
            Turn::Gone => {
                drop(activation);
                problem::answer(&inward::failed(HttpBodyError::Incomplete).into(), &waiting.method)
            }
        }
    }
}

impl Waiting {
    /// Polls the activation, and looks whether its client is there.
    fn poll(&mut self, activation: &mut SupervisedActivation, cx: &mut Context<'_>) -> Poll<Turn> {
        let turn = self.poll_guest(activation, cx);
        match &self.upload {
            Some(upload) if turn.is_pending() => upload.poll_gone(cx).map(|()| Turn::Gone),
            _ => turn,
        }
    }

    /// Polls the activation for as long as that gets it on, the guest first and then what it wrote.
    fn poll_guest(&mut self, activation: &mut SupervisedActivation, cx: &mut Context<'_>) -> Poll<Turn> {
        // Each round takes a frame, of which there is a bounded number.
        loop {
            let ended = Pin::new(&mut *activation).poll(cx);
            if let Poll::Ready(receipt) = ended {
                self.take_all(cx);
                return Poll::Ready(Turn::Ended(Box::new(receipt)));
            }
            self.poll_head(cx);
            let Coming::Begun(begun) = &mut self.coming else { return Poll::Pending };
            let Ok(Length::Declared(_) | Length::Open) = begun.length else { return Poll::Ready(Turn::GoesOn) };
            match begun.body.look(cx) {
                Ahead::More => {}
                Ahead::Over if self.exchange.is_guest_gone() => return Poll::Pending,
                Ahead::Over | Ahead::Enough => return Poll::Ready(Turn::GoesOn),
            }
        }
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) {
        let Coming::Awaited(coming) = &mut self.coming else { return };
        match Pin::new(coming).poll(cx) {
            Poll::Pending => {}
            Poll::Ready(Err(_)) => self.coming = Coming::Never,
            Poll::Ready(Ok(response)) => {
                let (mut head, body) = response.into_parts();
                let length = head::fit(&mut head, &self.method);
                let of = length.as_ref().copied().unwrap_or(Length::None);
                let body = Outward::new(body, of, self.bounds.body_bytes_max);
                self.coming = Coming::Begun(Box::new(Begun { head, length, body }));
            }
        }
    }

    /// Takes what a guest that is gone left, head and body. It is all there; a task that has used up its turn would be told
    /// that it is not, and the guest is not asked again.
    fn take_all(&mut self, cx: &mut Context<'_>) {
        let mut taking = unconstrained(poll_fn(|cx| {
            self.poll_head(cx);
            if let Coming::Begun(begun) = &mut self.coming {
                while begun.body.look(cx) == Ahead::More {}
            }
            Poll::Ready(())
        }));
        let _always_ready = Pin::new(&mut taking).poll(cx);
    }

    /// The answer of an activation that has ended before anything was sent.
    fn ended(mut self, receipt: ActivationReceipt) -> Response<ResponseBody> {
        let about = About {
            revision: receipt.resolved.map(|resolved| resolved.revision),
            consumption: Some(receipt.consumption),
            activation_id: Some(receipt.activation_id),
        };
        if let ActivationOutcome::Failed { error, .. } = receipt.outcome {
            let error = self.blamed(error);
            return problem::answer(&Refused::from(error).about(about), &self.method);
        }
        let sendable = match std::mem::replace(&mut self.coming, Coming::Never) {
            Coming::Begun(begun) => begun.sendable(),
            Coming::Awaited(_) | Coming::Never => Err(self.blamed(no_response())),
        };
        let Self { exchange, method, .. } = self;
        match sendable {
            Err(error) => problem::answer(&Refused::from(error).about(about), &method),
            Ok((head, Length::None, _)) => response(head, &about, ResponseBody::nothing()),
            Ok((head, _, body)) if body.is_over() => response(head, &about, ResponseBody::whole(body)),
            Ok((head, _, body)) => response(head, &about, ResponseBody::rest(body, exchange)),
        }
    }

    /// The answer of a guest that goes on.
    fn goes_on(self, activation: SupervisedActivation) -> Response<ResponseBody> {
        let Self { manager, exchange, coming, method, upload, bounds } = self;
        let (tenant, id) = (activation.tenant().clone(), activation.activation_id().clone());
        let resolved = manager.status(&tenant, &id).found().and_then(|status| status.resolved);
        let revision = resolved.map(|resolved| resolved.revision);
        let about = About { activation_id: Some(id), revision, consumption: None };
        let sendable = match coming {
            Coming::Begun(begun) => begun.sendable(),
            Coming::Awaited(_) | Coming::Never => Err(no_response()),
        };
        match sendable {
            Err(error) => {
                driver::detached(activation);
                problem::answer(&Refused::from(error).about(about), &method)
            }
            Ok((head, Length::None, body)) => {
                driver::drained(activation, body);
                response(head, &about, ResponseBody::nothing())
            }
            Ok((head, _, body)) if body.is_over() => {
                driver::detached(activation);
                response(head, &about, ResponseBody::whole(body))
            }
            Ok((head, _, body)) => {
                let reader = Arc::new(Reader::new(bounds.reader_wait, Instant::now()));
                let strings = driver::attached(activation, upload, Arc::clone(&reader), bounds.reader_wait);
                response(head, &about, ResponseBody::streamed(body, exchange, strings, reader))
            }
        }
    }

    /// What the client is told of a failure: that its body was wrong, where that was so and no bound of the guest's was met.
    fn blamed(&self, error: PlatformError) -> PlatformError {
        let guests_own = matches!(error.code(), Code::GuestTrap | Code::DependencyFailed | Code::InvalidArgument);
        match self.upload.as_ref().and_then(Upload::fault) {
            Some(fault) if guests_own => inward::failed(fault),
            _ => error,
        }
    }
}

impl Begun {
    /// Head and body, where they can be sent.
    fn sendable(self) -> Result<(Parts, Length, Outward), PlatformError> {
        let Self { head, length, body } = self;
        match (length?, body.failure()) {
            (Length::Declared(_) | Length::Open, Some(error)) => Err(broken(error)),
            (length, _) => Ok((head, length, body)),
        }
    }
}

fn response(head: Parts, about: &About, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::from_parts(head, body);
    response.headers_mut().extend(about.headers());
    response
}

fn no_response() -> PlatformError {
    let message = "the service ended without a response";
    PlatformError::of_activation(Code::DependencyFailed, "activation.no-response", message)
}

/// The guest's body cannot be sent as its head says.
fn broken(error: HttpBodyError) -> PlatformError {
    let message = match error {
        HttpBodyError::Malformed => "the service's response has more bytes than its head says".to_owned(),
        error => format!("the service's response cannot be sent: {error}"),
    };
    let detail = ErrorDetail::new("http.response-body").with("reason", error);
    PlatformError::new(Code::DependencyFailed, message).with_detail(detail)
}
