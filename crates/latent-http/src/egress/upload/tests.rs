//! Bodies that are too long, too short, or break off.

use std::convert::Infallible;

use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};

use super::*;

fn body(pieces: Vec<Result<&'static str, HttpBodyError>>) -> HttpBody {
    let frames = pieces.into_iter().map(|piece| piece.map(|text| Frame::data(Bytes::from_static(text.as_bytes()))));
    StreamBody::new(stream::iter(frames)).boxed_unsync()
}

async fn sent(
    pieces: Vec<Result<&'static str, HttpBodyError>>,
    announced: Option<u64>,
    limit: u64,
) -> (Result<usize, HttpBodyError>, Option<OutgoingError>) {
    let upload = Upload::new(body(pieces), announced, limit).expect("small enough so far");
    let progress = upload.progress();
    (upload.collect().await.map(|all| all.to_bytes().len()), progress.failure())
}

#[tokio::test]
async fn a_body_passes_up_to_its_limit_and_to_what_was_announced() {
    assert_eq!(sent(vec![Ok("ab"), Ok("cd")], None, 4).await, (Ok(4), None));
    assert_eq!(sent(vec![Ok("ab"), Ok("cd")], Some(4), 4).await, (Ok(4), None));
    let large = sent(vec![Ok("ab"), Ok("cde")], None, 4).await;
    assert_eq!(large, (Err(HttpBodyError::TooLarge { limit: 4 }), Some(OutgoingError::RequestTooLarge { limit: 4 })));
    let long = sent(vec![Ok("ab"), Ok("cde")], Some(4), 9).await;
    assert_eq!(long, (Err(HttpBodyError::Malformed), Some(OutgoingError::Protocol)));
    let short = sent(vec![Ok("ab")], Some(4), 9).await;
    assert_eq!(short, (Err(HttpBodyError::Incomplete), Some(OutgoingError::Protocol)));
    let broken = sent(vec![Ok("ab"), Err(HttpBodyError::Incomplete)], None, 9).await;
    assert_eq!(broken, (Err(HttpBodyError::Incomplete), Some(OutgoingError::Protocol)));
}

#[test]
fn a_body_that_is_known_to_be_too_large_is_not_begun() {
    let full = || http_body_util::Full::new(Bytes::from_static(b"abcde")).map_err(|never: Infallible| match never {});
    for (announced, limit) in [(None, 4), (Some(5), 4)] {
        let refused = Upload::new(full().boxed_unsync(), announced, limit).err();
        assert_eq!(refused, Some(OutgoingError::RequestTooLarge { limit }));
    }
    assert!(Upload::new(full().boxed_unsync(), None, 5).is_ok());
}

#[test]
fn an_empty_body_that_was_announced_as_longer_is_not_at_its_end() {
    let empty = || http_body_util::Empty::new().map_err(|never: Infallible| match never {}).boxed_unsync();
    assert!(Upload::new(empty(), None, 5).expect("small").is_end_stream());
    assert!(!Upload::new(empty(), Some(5), 5).expect("small").is_end_stream());
    assert_eq!(Upload::new(empty(), Some(5), 5).expect("small").size_hint().exact(), Some(5));
}
