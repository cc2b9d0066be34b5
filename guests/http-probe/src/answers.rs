//! What a handler should do.

use wasip2::http::types::{
    Fields, IncomingBody, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam, Scheme,
};

use crate::streams::{begin, pause, read_all, write_all, write_and_flush};

/// A whole answer of one piece.
pub fn text(out: ResponseOutparam, status: u16, text: &[u8]) {
    let body = begin(out, status, &[("content-type", b"text/plain")]);
    // Nobody may be there any more, which is no fault of a handler.
    let _written = write_all(&body.write().expect("a body has one stream"), text);
    let _finished = OutgoingBody::finish(body, None);
}

/// The shortest honest answer: its stream is finished without a wait.
pub fn hello(out: ResponseOutparam) {
    text(out, 200, b"hello\n");
}

/// Gives the request's body back while it comes.
pub fn echo(request: IncomingRequest, out: ResponseOutparam) {
    let incoming = request.consume().expect("a request has one body");
    let body = begin(out, 200, &[]);
    let complete = {
        let stream = body.write().expect("a body has one stream");
        read_all(&incoming.stream().expect("a body has one stream"), |bytes| {
            let _written = write_all(&stream, bytes);
        })
    };
    if complete {
        let _finished = OutgoingBody::finish(body, None);
    }
}

/// Reads the whole body, then says how long it was and whether it ended well.
pub fn count(request: IncomingRequest, out: ResponseOutparam) {
    let incoming = request.consume().expect("a request has one body");
    let mut bytes = 0;
    let complete = read_all(&incoming.stream().expect("a body has one stream"), |piece| bytes += piece.len());
    let end = if complete { "complete" } else { "incomplete" };
    text(out, 200, format!("{bytes} {end}").as_bytes());
}

/// Gives the header `probe` back as a header, each value, and says what it sees of the rest.
pub fn headers(request: &IncomingRequest, out: ResponseOutparam) {
    let sent = request.headers();
    let fields = Fields::new();
    for value in sent.get("probe") {
        fields.append("probe", &value).expect("what came in may go out");
    }
    let method = match request.method() {
        Method::Get => "GET".to_owned(),
        Method::Post => "POST".to_owned(),
        Method::Head => "HEAD".to_owned(),
        Method::Other(name) => name,
        _ => "another".to_owned(),
    };
    let scheme = match request.scheme() {
        Some(Scheme::Http) => "http",
        Some(Scheme::Https) => "https",
        Some(Scheme::Other(_)) | None => "none",
    };
    let authority = request.authority().unwrap_or_default();
    let path = request.path_with_query().unwrap_or_default();
    let host = if sent.has("host") { " host" } else { "" };
    let response = OutgoingResponse::new(fields);
    let body = response.body().expect("a response has one body");
    ResponseOutparam::set(out, Ok(response));
    let told = format!("{method} {scheme}://{authority}{path}{host}");
    let _written = write_all(&body.write().expect("a body has one stream"), told.as_bytes());
    let _finished = OutgoingBody::finish(body, None);
}

/// Many small pieces, each flushed, with a pause after each.
pub fn drip(out: ResponseOutparam, pieces: u64, millis: u64) {
    let body = begin(out, 200, &[]);
    {
        let stream = body.write().expect("a body has one stream");
        for _ in 0..pieces {
            if write_and_flush(&stream, b"drip\n").is_err() {
                return;
            }
            pause(millis);
        }
    }
    let _finished = OutgoingBody::finish(body, None);
}

/// So many bytes, as fast as they are taken.
pub fn large(out: ResponseOutparam, bytes: u64) {
    let body = begin(out, 200, &[]);
    {
        let stream = body.write().expect("a body has one stream");
        let piece = [b'x'; 4096];
        let mut left = bytes as usize;
        while left > 0 {
            let now = left.min(piece.len());
            if write_all(&stream, &piece[..now]).is_err() {
                return;
            }
            left -= now;
        }
    }
    let _finished = OutgoingBody::finish(body, None);
}

/// Gives the trailer `sum` of the request back as a trailer.
pub fn trailers(request: IncomingRequest, out: ResponseOutparam) {
    let incoming = request.consume().expect("a request has one body");
    read_all(&incoming.stream().expect("a body has one stream"), |_| ());
    let coming = IncomingBody::finish(incoming);
    coming.subscribe().block();
    let came = coming.get().and_then(Result::ok).and_then(Result::ok).flatten();
    let fields = Fields::new();
    for value in came.map(|trailers| trailers.get("sum")).unwrap_or_default() {
        fields.append("sum", &value).expect("what came in may go out");
    }
    let body = begin(out, 200, &[]);
    let _written = write_all(&body.write().expect("a body has one stream"), b"with trailers");
    let _finished = OutgoingBody::finish(body, Some(fields));
}

/// Answers late.
pub fn sleep(out: ResponseOutparam, millis: u64) {
    pause(millis);
    text(out, 200, b"late\n");
}
