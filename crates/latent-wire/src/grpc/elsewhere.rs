//! Calls that this listener does not serve.

use http::Uri;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use tonic::Status;
use tonic::service::Routes;

use super::answer;
use crate::api::Listener;

/// The services that only the control listener has.
const MANAGEMENT: [&str; 6] = ["Releases", "Deployments", "Routes", "Logs", "Tenants", "Node"];
/// What the names of our services begin with.
const PACKAGE: &str = "/latent.v1.";

/// `routes` with an answer for what they lack.
pub(super) fn with_fallback(routes: Routes, listener: Listener) -> Routes {
    let fallback = move |uri: Uri| async move {
        let service = uri.path().strip_prefix(PACKAGE).and_then(|rest| rest.split('/').next());
        let status = match service.and_then(|name| MANAGEMENT.into_iter().find(|known| *known == name)) {
            Some(name) if listener == Listener::Invoke => status(name, Listener::Control),
            _ => Status::unimplemented("there is no such service; reflection lists those that there are"),
        };
        status.into_http::<axum::body::Body>()
    };
    Routes::from(routes.into_axum_router().fallback(fallback))
}

/// That `what` is served by the other listener.
pub(super) fn status(what: &str, there: Listener) -> Status {
    let there = match there {
        Listener::Invoke => "invoke",
        Listener::Control => "control",
    };
    let message = format_args!("{what} is served by the node's {there} listener; call it there");
    let detail = ErrorDetail::new("api.other-listener").with("listener", there);
    answer::status(&PlatformError::new(PlatformErrorCode::NotFound, message).with_detail(detail).into())
}
