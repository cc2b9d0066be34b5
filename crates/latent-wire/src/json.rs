//! The API over plain HTTP: JSON for messages, raw bytes for payloads, server-sent events for streams.
//!
//! Invariant: a request is either gRPC and goes there whole, or one of the calls of the one table of routes.

mod body;
mod calls;
mod failure;
mod invoke;
mod media;
mod publish;
mod routes;

pub mod text;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, EXPECT, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use latent_core::PlatformError;
use latent_node::access::Role;
use latent_node::operations::NodeState;
use tower::Service;

use self::routes::{Call, Named};
use crate::api::{Api, CallContext, Listener, Refused};
use crate::grpc::direct;

/// What of the edge the operator chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeConfig {
    /// Whether `/metrics` answers without a credential; otherwise it takes one with role `operate`.
    pub open_metrics: bool,
}

/// Everything that one listener serves. Cheap to clone.
#[derive(Clone)]
pub struct Edge {
    shared: Arc<Shared>,
    grpc: axum::Router,
}

struct Shared {
    api: Arc<Api>,
    listener: Listener,
    config: EdgeConfig,
}

impl Edge {
    /// Serves `api` as `listener` does, gRPC by `grpc`.
    #[must_use]
    pub fn new(api: Arc<Api>, listener: Listener, grpc: tonic::service::Routes, config: EdgeConfig) -> Self {
        let grpc = grpc.prepare().into_axum_router();
        Self { shared: Arc::new(Shared { api, listener, config }), grpc }
    }
}

impl<B> Service<Request<B>> for Edge
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_call_in_grpc = media::is_grpc(request.method(), request.headers());
        if is_call_in_grpc && one_host(request.headers(), request.version()).is_ok() {
            if direct::takes(&request, self.shared.listener) {
                return direct::call(Arc::clone(&self.shared.api), self.grpc.clone(), request);
            }
            return self.grpc.call(request.map(Body::new)).boxed();
        }
        let request = request.map(Body::new);
        let shared = Arc::clone(&self.shared);
        async move { Ok(answer(&shared, request).await) }.boxed()
    }
}

/// HTTP/1.1 has the host exactly once, and no request has it twice.
fn one_host(headers: &HeaderMap, version: Version) -> Result<(), PlatformError> {
    let hosts = headers.get_all(HOST).iter().count();
    let missing = hosts == 0 && version == Version::HTTP_11;
    if hosts > 1 || missing {
        return Err(text::invalid("http.header", "host", "has to be there once"));
    }
    Ok(())
}

/// A call that was found, with all that is known of it but its body.
struct Asked {
    call: Call,
    path: Named,
    query: Named,
    parts: Parts,
    caller: CallContext,
}

/// The answer, which waits until the request has been taken.
async fn answer(shared: &Shared, request: Request<Body>) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    // Such a client sends nothing before it is asked to, and needs no asking once it is answered.
    let is_sent = !parts.headers.contains_key(EXPECT);
    let response = routed(shared, parts, &mut body).await;
    if is_sent {
        body::drain(&mut body).await;
    }
    response
}

async fn routed(shared: &Shared, parts: Parts, body: &mut Body) -> Response<Body> {
    if let Err(error) = one_host(&parts.headers, parts.version) {
        return failure::refused(&error.into());
    }
    let found = media::check(&parts).and_then(|()| routes::find(&parts.method, parts.uri.path(), shared.listener));
    let (route, path) = match found {
        Ok(found) => found,
        Err(unrouted) => return failure::unrouted(unrouted),
    };
    let query = match routes::query(route, parts.uri.query()) {
        Ok(query) => query,
        Err(error) => return failure::refused(&error.into()),
    };
    match open(shared, route.call) {
        Some(response) => response,
        None => authenticated(shared, route.call, (path, query), parts, body)
            .await
            .unwrap_or_else(|refused| failure::refused(&refused)),
    }
}

/// The answers that need no credential.
fn open(shared: &Shared, call: Call) -> Option<Response<Body>> {
    match call {
        Call::Health => Some(plain(StatusCode::OK, "alive\n".into())),
        Call::Readiness => {
            let (status, said) = match shared.api.readiness() {
                Ok(()) => (StatusCode::OK, NodeState::Ready.as_str().to_owned()),
                Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
            };
            Some(plain(status, format!("{said}\n")))
        }
        Call::Metrics if shared.config.open_metrics => Some(metrics(shared)),
        _ => None,
    }
}

async fn authenticated(
    shared: &Shared,
    call: Call,
    (path, query): (Named, Named),
    parts: Parts,
    body: &mut Body,
) -> Result<Response<Body>, Refused> {
    let caller = shared.api.context(&parts.headers, &parts.extensions, None)?;
    let asked = Asked { call, path, query, parts, caller };
    match call {
        Call::Invoke => invoke::invoke(&shared.api, asked, body).await,
        Call::Publish => publish::publish(&shared.api, asked, body).await,
        Call::Metrics => {
            asked.caller.require(Role::Operate)?;
            Ok(metrics(shared))
        }
        _ => calls::answer(&shared.api, asked, body).await,
    }
}

fn metrics(shared: &Shared) -> Response<Body> {
    let mut response = plain(StatusCode::OK, shared.api.metrics());
    let media_type = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

fn plain(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
