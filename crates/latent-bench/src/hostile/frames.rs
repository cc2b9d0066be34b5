//! Frames of HTTP/2, written by hand as no library would.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::peer::{Answer, until_closed};

/// Kinds of frames.
pub const DATA: u8 = 0;
/// A block of header fields, or its begin.
pub const HEADERS: u8 = 1;
/// The end of a stream without its end.
pub const RST_STREAM: u8 = 3;
/// What the peer should know of this side.
const SETTINGS: u8 = 4;
/// More of a block of header fields.
pub const CONTINUATION: u8 = 9;
/// The block of header fields is complete.
pub const END_HEADERS: u8 = 4;
/// The stream is complete.
pub const END_STREAM: u8 = 1;

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = length.to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A block of header fields, none of them indexed and none compressed.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            // Names and values of floods are short: their length is one byte.
            block.push(u8::try_from(text.len().min(126)).unwrap_or(126));
            block.extend(&text.as_bytes()[..text.len().min(126)]);
        }
    }
    block
}

/// What a connection begins with.
pub fn begin() -> Vec<u8> {
    let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    begin.extend(frame(SETTINGS, 0, 0, &[]));
    begin
}

/// Writes pieces of a flood, one after the other, until the node closes. What it said, and how many bytes it was sent.
///
/// # Errors
/// When it does not close.
pub async fn flood(stream: &mut TcpStream, mut piece: impl FnMut() -> Vec<u8>) -> Result<(Answer, u64), String> {
    let (mut reading, mut writing) = stream.split();
    let mut sent = 0;
    let write = async {
        loop {
            let piece = piece();
            if writing.write_all(&piece).await.is_err() {
                std::future::pending::<()>().await;
            }
            sent += piece.len() as u64;
        }
    };
    let answer = tokio::select! {
        never = write => never,
        answer = until_closed(&mut reading) => answer,
    };
    Ok((answer?, sent))
}
