//! What a handler should not do. Where the host ought to refuse something, a host that does not makes it trap.

use wasip2::http::types::{ErrorCode, Fields, HeaderError, OutgoingBody, OutgoingResponse, ResponseOutparam};

use crate::answers::text;
use crate::streams::{begin, response, write_all, write_and_flush};

/// Answers, writes, and traps with the body open.
pub fn trap_after(out: ResponseOutparam) {
    let body = begin(out, 200, &[]);
    let _written = write_all(&body.write().expect("a body has one stream"), b"some of it");
    panic!("asked to trap in the middle of its answer");
}

/// Says which error it has instead of a response.
pub fn error_code(out: ResponseOutparam) {
    ResponseOutparam::set(out, Err(ErrorCode::LoopDetected));
}

/// Asks for any status, and says so where it is refused.
pub fn status(out: ResponseOutparam, status: u64) {
    let response = OutgoingResponse::new(Fields::new());
    if response.set_status_code(status as u16).is_err() {
        return text(out, 200, b"refused");
    }
    ResponseOutparam::set(out, Ok(response));
}

/// Tries headers that are none, and one that is not its own to set.
pub fn bad_header(out: ResponseOutparam) {
    let fields = Fields::new();
    let name = matches!(fields.append("no name", b"value"), Err(HeaderError::InvalidSyntax));
    let value = matches!(fields.append("name", b"two\r\nlines"), Err(HeaderError::InvalidSyntax));
    let forbidden = matches!(fields.append("transfer-encoding", b"chunked"), Err(HeaderError::Forbidden));
    assert!(name && value && forbidden, "a bad header was taken");
    text(out, 200, b"refused");
}

/// Claims a length and has no body; says so where the length is refused.
pub fn length(out: ResponseOutparam, value: &str) {
    if Fields::new().append("content-length", value.as_bytes()).is_err() {
        return text(out, 200, b"refused");
    }
    ResponseOutparam::set(out, Ok(response(200, &[("content-length", value.as_bytes())])));
}

/// Writes more than it said.
pub fn long_body(out: ResponseOutparam) {
    let body = begin(out, 200, &[("content-length", b"5")]);
    {
        let stream = body.write().expect("a body has one stream");
        write_and_flush(&stream, b"12345").expect("so much was said");
        assert!(stream.write(b"678").is_err(), "more was taken than was said");
    }
    assert!(matches!(OutgoingBody::finish(body, None), Err(ErrorCode::HttpResponseBodySize(Some(8)))));
}

/// Writes less than it said.
pub fn short_body(out: ResponseOutparam) {
    let body = begin(out, 200, &[("content-length", b"5")]);
    write_all(&body.write().expect("a body has one stream"), b"123").expect("there is room");
    assert!(matches!(OutgoingBody::finish(body, None), Err(ErrorCode::HttpResponseBodySize(Some(3)))));
}

/// Returns with its body neither finished nor dropped.
pub fn forget(out: ResponseOutparam) {
    let body = begin(out, 200, &[]);
    let _written = write_all(&body.write().expect("a body has one stream"), b"some of it");
    std::mem::forget(body);
}

/// Drops its body without finishing it.
pub fn drop_body(out: ResponseOutparam) {
    let body = begin(out, 200, &[]);
    let _written = write_all(&body.write().expect("a body has one stream"), b"some of it");
    drop(body);
}

/// Answers in full and leaves through the command-line exit.
pub fn exit(out: ResponseOutparam) {
    text(out, 200, b"bye\n");
    wasip2::cli::exit::exit(Ok(()));
}
