//! The way in: who calls and how long they wait, from the head of the request.
//!
//! Invariant: no message of a caller who is not known is read.

use std::sync::Arc;

use http::{Extensions, HeaderMap};
use latent_core::PlatformError;
use tonic::service::Interceptor;
use tonic::{Request, Status};

use super::{answer, timeout};
use crate::api::{Api, CallContext, Refused};

/// Reads the head of every call.
#[derive(Clone)]
pub(super) struct Entry {
    api: Arc<Api>,
}

impl Entry {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self { api }
    }
}

/// Who calls, and how long they wait.
pub(super) fn context(api: &Api, headers: &HeaderMap, extensions: &Extensions) -> Result<CallContext, Refused> {
    let timeout = timeout::of_headers(headers)?;
    let context = api.context(headers, extensions, timeout)?;
    if context.transport_timeout.is_some_and(|timeout| timeout.is_zero()) {
        return Err(PlatformError::deadline_exceeded().into());
    }
    Ok(context)
}

impl Interceptor for Entry {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let context = context(&self.api, request.metadata().as_ref(), request.extensions());
        let context = context.map_err(|refused| answer::status(&refused))?;
        request.extensions_mut().insert(context);
        Ok(request)
    }
}

/// The caller that the entry let in, and the message.
pub(super) fn opened<T>(request: Request<T>) -> Result<(CallContext, T), Status> {
    let (_, mut extensions, message) = request.into_parts();
    let caller = extensions.remove::<CallContext>();
    let caller = caller.ok_or_else(|| Status::internal("the call did not come in through the entry of its service"))?;
    Ok((caller, message))
}
