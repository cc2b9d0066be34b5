//! Requests that the handler makes itself.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingRequest, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, ResponseOutparam, Scheme,
};

use crate::answers::text;
use crate::streams::{begin, read_all, write_all};

/// Gets `url` and gives back its status and its body as it comes, or the name of what went wrong.
pub fn fetch(out: ResponseOutparam, url: &str) {
    let request = request(url, Method::Get);
    match outgoing_handler::handle(request, None).and_then(|coming| wait(&coming)) {
        Ok(response) => relay(out, &response),
        Err(code) => text(out, 502, name(&code).as_bytes()),
    }
}

/// Asks for `url` so many times before it looks at an answer, and counts how they went.
pub fn fetch_many(out: ResponseOutparam, count: u64, url: &str) {
    let asked: Vec<_> = (0..count).map(|_| outgoing_handler::handle(request(url, Method::Get), None)).collect();
    let mut kept = Vec::new();
    let mut told: Vec<(String, u32)> = Vec::new();
    for coming in asked {
        let how = match coming.and_then(|coming| wait(&coming)) {
            Ok(response) => {
                let status = response.status().to_string();
                kept.push(response);
                status
            }
            Err(code) => name(&code),
        };
        match told.iter_mut().find(|(known, _)| *known == how) {
            Some((_, times)) => *times += 1,
            None => told.push((how, 1)),
        }
    }
    let lines: Vec<_> = told.iter().map(|(how, times)| format!("{times} {how}")).collect();
    text(out, 200, lines.join("\n").as_bytes());
}

/// Asks for `url`, answers, and returns without having looked.
pub fn fetch_forget(out: ResponseOutparam, url: &str) {
    std::mem::forget(outgoing_handler::handle(request(url, Method::Get), None));
    text(out, 200, b"asked");
}

/// Sends the request's body on to `url`.
pub fn post(incoming: IncomingRequest, out: ResponseOutparam, url: &str) {
    let source = incoming.consume().expect("a request has one body");
    let request = request(url, Method::Post);
    let body = request.body().expect("a request has one body");
    let coming = outgoing_handler::handle(request, None);
    {
        let sink = body.write().expect("a body has one stream");
        read_all(&source.stream().expect("a body has one stream"), |bytes| {
            let _written = write_all(&sink, bytes);
        });
    }
    let _finished = OutgoingBody::finish(body, None);
    match coming.and_then(|coming| wait(&coming)) {
        Ok(response) => relay(out, &response),
        Err(code) => text(out, 502, name(&code).as_bytes()),
    }
}

fn request(url: &str, method: Method) -> OutgoingRequest {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let request = OutgoingRequest::new(Fields::new());
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    request.set_method(&method).expect("it is a method");
    request.set_scheme(Some(&scheme)).expect("it is a scheme");
    request.set_authority(Some(authority)).expect("it is an authority");
    request.set_path_with_query(Some(path)).expect("it is a path");
    request
}

fn wait(coming: &FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    coming.subscribe().block();
    coming.get().expect("it was waited for").expect("nobody took it before")
}

fn relay(out: ResponseOutparam, response: &IncomingResponse) {
    let source = response.consume().expect("a response has one body");
    let body = begin(out, response.status(), &[]);
    let complete = {
        let sink = body.write().expect("a body has one stream");
        read_all(&source.stream().expect("a body has one stream"), |bytes| {
            let _written = write_all(&sink, bytes);
        })
    };
    if complete {
        let _finished = OutgoingBody::finish(body, None);
    }
}

/// The name of an error as it is derived, without the module.
fn name(code: &ErrorCode) -> String {
    format!("{code:?}").replace("ErrorCode::", "")
}
