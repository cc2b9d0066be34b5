//! What is sent for each call, by each way. Pure.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use latent_wire::client::times::to_duration;
use latent_wire::proto::{Budget, InvokeRequest};

use super::mix::Act;
use crate::nodes::fixtures::call;

/// What a call that has a deadline may take.
pub const DEADLINE: Duration = Duration::from_millis(20);
/// Fuel of a call that spends it.
const FUEL: u64 = 200_000;
/// Milliseconds for which a call waits that something else is to end.
const WAIT: &str = "60000";
/// What is echoed.
const PAYLOAD: &str = "[\"hello\"]";
/// What returns.
pub const ECHOED: &[u8] = b"\"hello\"";
/// What the HTTP handler answers.
pub const HELLO: &[u8] = b"hello\n";

/// The function that does so, with its arguments.
fn function(act: Act) -> (&'static str, &'static str, String) {
    let (service, function, arguments) = match act {
        Act::Behave => ("echo", "echo-string", PAYLOAD),
        Act::Trap => ("containment-capsule", "trap", "[]"),
        Act::Fuel | Act::Spin => ("containment-capsule", "spin", "[]"),
        Act::Memory => ("containment-capsule", "grow-memory", "[64]"),
        Act::Deadline | Act::Cancel | Act::Leave => return ("clock-park", "park", format!("[{WAIT}]")),
    };
    (service, function, arguments.to_owned())
}

/// The path of the HTTP handler that does so.
const fn path(act: Act) -> &'static str {
    match act {
        Act::Behave => "/hello",
        Act::Trap => "/trap-before",
        Act::Fuel | Act::Spin => "/spin",
        Act::Memory => "/memory",
        Act::Deadline | Act::Cancel | Act::Leave => "/sleep?ms=60000",
    }
}

/// Whether the client sets a time.
const fn has_deadline(act: Act) -> bool {
    matches!(act, Act::Deadline | Act::Spin)
}

/// By gRPC.
pub fn grpc(act: Act, id: &str) -> InvokeRequest {
    let (service, function, arguments) = function(act);
    InvokeRequest {
        timeout: has_deadline(act).then(|| to_duration(DEADLINE)),
        budget: (act == Act::Fuel).then(|| Budget { fuel: Some(FUEL), ..Budget::default() }),
        ..call(service, function, &arguments, id)
    }
}

/// By the API over HTTP.
pub fn json(act: Act, id: &str, host: &str, token: &str) -> Request<Full<Bytes>> {
    let (service, function, arguments) = function(act);
    let mut request = Request::post(format!("/v1/invoke/{service}/{function}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    if act == Act::Fuel {
        request = request.header("latent-fuel", FUEL);
    }
    finished(request, act, id, host, arguments.into())
}

/// By the HTTP handler.
pub fn web(act: Act, id: &str, host: &str) -> Request<Full<Bytes>> {
    finished(Request::get(path(act)), act, id, host, Bytes::new())
}

fn finished(request: http::request::Builder, act: Act, id: &str, host: &str, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = request.header("host", host).header("latent-activation-id", id);
    if has_deadline(act) {
        request = request.header("latent-timeout", format!("{}ms", DEADLINE.as_millis()));
    }
    request.body(Full::new(body)).expect("names and values are visible ASCII")
}
