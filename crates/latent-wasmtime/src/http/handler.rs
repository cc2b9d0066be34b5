//! Calls of an exported HTTP handler: its request and the place for its answer become resources of a fresh store.

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::{HttpExchange, HttpExchangeParts};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, Instance, Resource};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::types::{HostIncomingRequest, HostResponseOutparam};

use super::body::RequestBody;
use crate::host::HostState;

/// A handler that can be called: its place in the component, looked up once.
#[derive(Debug)]
pub struct HandlerPlan {
    index: ComponentExportIndex,
}

type Arguments = (Resource<HostIncomingRequest>, Resource<HostResponseOutparam>);

impl HandlerPlan {
    /// Plans calls of the export at `index`.
    pub fn new(index: ComponentExportIndex) -> Self {
        Self { index }
    }

    /// Calls the handler with the request of the exchange that `store` was made with.
    pub async fn call(&self, instance: &Instance, store: &mut Store<HostState>) -> wasmtime::Result<()> {
        let arguments = arguments(store.data_mut())?;
        let handle =
            instance.get_typed_func::<Arguments, ()>(&mut *store, &self.index).map_err(|error| mistyped(&error))?;
        handle.call_async(store, arguments).await
    }
}

fn arguments(state: &mut HostState) -> wasmtime::Result<Arguments> {
    let (exchange, answer) = state.exchange().ok_or_else(|| unusable("there is none"))?;
    let HttpExchangeParts { request, response } = exchange.take().ok_or_else(|| unusable("it was taken before"))?;
    let scheme = match request.uri().scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        _ => return Err(unusable("its URI has no scheme of HTTP")),
    };
    if request.uri().authority().is_none() {
        return Err(unusable("its URI has no authority"));
    }
    let send = answer.sender(request.method(), exchange.clone(), response);
    let request = request.map(|body| RequestBody::new(body, exchange));
    let mut http = state.http();
    let request = http.new_incoming_request(scheme, request)?;
    Ok((request, http.new_response_outparam_from_callback(send)?))
}

/// The fault of whoever made the exchange.
fn unusable(why: &str) -> wasmtime::Error {
    let message = format_args!("the HTTP exchange cannot be used: {why}").to_string();
    PlatformError::new(PlatformErrorCode::Internal, message).into()
}

fn mistyped(error: &wasmtime::Error) -> wasmtime::Error {
    let message = format!("the HTTP handler has another type than wasi:http/incoming-handler gives it: {error:#}");
    let detail = ErrorDetail::new("component.function").with("function", "handle");
    PlatformError::new(PlatformErrorCode::IncompatibleContract, message).with_detail(detail).into()
}

/// The refusal of a call that comes with an exchange and should not, or the other way round.
pub fn not_matching(message: std::fmt::Arguments<'_>) -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, message)
        .with_detail(ErrorDetail::new("activation.http-exchange"))
}

/// Whether what came is what a handler is called with.
///
/// # Errors
/// `invalid-argument` (`activation.http-exchange`) where there is no exchange.
pub fn expect_exchange(exchange: Option<&std::sync::Arc<HttpExchange>>) -> Result<(), PlatformError> {
    match exchange {
        Some(_) => Ok(()),
        None => Err(not_matching(format_args!(
            "an HTTP handler is not called with values: send an HTTP request to a host and path that lead to it"
        ))),
    }
}
