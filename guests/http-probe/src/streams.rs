//! Writing and reading whole streams, and heads of responses.

use wasip2::clocks::monotonic_clock;
use wasip2::http::types::{Fields, OutgoingBody, OutgoingResponse, ResponseOutparam};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

/// The most bytes that are read at once.
const PIECE: u64 = 64 << 10;

/// Answers with this head, and gives the body that is to be written.
pub fn begin(out: ResponseOutparam, status: u16, fields: &[(&str, &[u8])]) -> OutgoingBody {
    let response = response(status, fields);
    let body = response.body().expect("a response has one body");
    ResponseOutparam::set(out, Ok(response));
    body
}

/// A response that nobody has seen yet.
pub fn response(status: u16, fields: &[(&str, &[u8])]) -> OutgoingResponse {
    let entries: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
    let response = OutgoingResponse::new(Fields::from_list(&entries).expect("these fields are allowed"));
    response.set_status_code(status).expect("this status is allowed");
    response
}

/// Writes `bytes`, as much at a time as there is room for, waiting for room.
pub fn write_all(stream: &OutputStream, mut bytes: &[u8]) -> Result<(), StreamError> {
    while !bytes.is_empty() {
        let room = stream.check_write()?;
        if room == 0 {
            stream.subscribe().block();
            continue;
        }
        let (now, later) = bytes.split_at(bytes.len().min(room as usize));
        stream.write(now)?;
        bytes = later;
    }
    Ok(())
}

/// Writes `bytes` and waits until they have been taken over.
pub fn write_and_flush(stream: &OutputStream, bytes: &[u8]) -> Result<(), StreamError> {
    write_all(stream, bytes)?;
    stream.blocking_flush()
}

/// Reads to the end; `each` gets what comes. Answers whether the stream ended well.
pub fn read_all(stream: &InputStream, mut each: impl FnMut(&[u8])) -> bool {
    loop {
        match stream.blocking_read(PIECE) {
            Ok(bytes) => each(&bytes),
            Err(StreamError::Closed) => return true,
            Err(StreamError::LastOperationFailed(_)) => return false,
        }
    }
}

/// Waits so many milliseconds.
pub fn pause(millis: u64) {
    if millis > 0 {
        monotonic_clock::subscribe_duration(millis.saturating_mul(1_000_000)).block();
    }
}
