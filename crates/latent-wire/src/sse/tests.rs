//! What a reader of events sees.

use futures_util::stream;
use http_body_util::BodyExt as _;
use latent_core::{PlatformError, PlatformErrorCode};

use super::*;

fn event(sequence: u64, terminal: &str) -> proto::ActivationEvent {
    proto::ActivationEvent { sequence, terminal: terminal.into(), ..Default::default() }
}

async fn read(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a body that does not break").to_bytes();
    String::from_utf8(bytes.into()).expect("text")
}

#[tokio::test]
async fn the_terminal_event_is_the_last_one() {
    let events = stream::iter([Ok(event(1, "")), Ok(event(2, "completed"))]).chain(stream::pending());
    assert_eq!(
        read(response(events.boxed())).await,
        "id: 1\nevent: activation\ndata: {\"sequence\":\"1\"}\n\n\
         id: 2\nevent: activation\ndata: {\"sequence\":\"2\",\"terminal\":\"completed\"}\n\n"
    );
}

#[tokio::test]
async fn an_error_is_an_event_of_its_own_and_the_last() {
    let refused = Refused::from(PlatformError::new(PlatformErrorCode::Unavailable, "gone\nfor now").retryable());
    let events = stream::iter([Ok(event(1, "")), Err(refused), Ok(event(2, ""))]);
    let text = read(response(events.boxed())).await;
    let (_, error) = text.split_once("\n\n").expect("a second event");
    assert_eq!(
        error,
        "event: error\ndata: {\"code\":\"unavailable\",\"message\":\"gone\\nfor now\",\"retryable\":true}\n\n"
    );
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives() {
    let quiet_max = Duration::from_millis(20);
    let late = stream::once(async move {
        tokio::time::sleep(quiet_max * 10).await;
        Ok(event(7, "completed"))
    });
    let text = read(told(late.boxed(), quiet_max)).await;
    assert!(text.starts_with(":\n\n"), "{text}");
    assert!(text.contains("\n\nid: 7\n"), "{text}");
}
