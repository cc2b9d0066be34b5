//! Activations and logs.

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use latent_wire::api::Listener;
use tower::ServiceExt as _;

use super::{edge, events, get, post};
use crate::support::{WATCHDOG, node};

#[tokio::test]
async fn status_and_cancel_are_answered_on_both_listeners() {
    let node = node(1);
    let invoke = edge(&node, Listener::Invoke);
    let call = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a-1");
    assert_eq!(call.of(&invoke).await.status, 200);
    for listener in [Listener::Invoke, Listener::Control] {
        let edge = edge(&node, listener);
        assert_eq!(get("/v1/activations/a-1").of(&edge).await.json()["terminal"]["state"], "completed");
        let cancelled = post("/v1/activations/a-1/cancel", "").of(&edge).await.json();
        assert_eq!(cancelled["disposition"], "CANCEL_DISPOSITION_ALREADY_TERMINAL");
        let listed = get("/v1/activations?page_size=5").of(&edge).await.json();
        assert_eq!(listed["activations"][0]["activation_id"], "a-1");
    }
}

#[tokio::test]
async fn a_cancel_keeps_its_reason() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let (entered, leave) = node.hold();
    let call = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a-1").by("all").request();
    let running = tokio::spawn(edge.clone().oneshot(call));
    entered.passed().await;
    let differs = post("/v1/activations/a-1/cancel", r#"{"activationId":"a-2"}"#).of(&edge).await;
    assert_eq!(differs.refused(400).1, "http.body");
    let accepted = post("/v1/activations/a-1/cancel", r#"{"reason":"enough"}"#).of(&edge).await.json();
    assert_eq!(accepted["disposition"], "CANCEL_DISPOSITION_ACCEPTED");
    leave.open();
    let Ok(ended) = running.await.expect("no panic");
    assert_eq!(ended.status().as_u16(), 499);
    assert_eq!(get("/v1/activations/a-1").of(&edge).await.json()["cancel_reason"], "enough");
}

#[tokio::test]
async fn events_are_told_as_they_happen_and_end_with_the_last() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let (entered, leave) = node.hold();
    let call = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a-1").by("all").request();
    let running = tokio::spawn(edge.clone().oneshot(call));
    entered.passed().await;
    let Ok(watched) = edge.clone().oneshot(get("/v1/activations/a-1/events").by("all").request()).await;
    assert_eq!(watched.headers()["content-type"], "text/event-stream");
    let mut told = watched.into_body().into_data_stream();
    let first = tokio::time::timeout(WATCHDOG, told.next()).await.expect("soon").expect("an event").expect("whole");
    assert!(first.starts_with(b"id: 1\nevent: activation\ndata: {"), "{first:?}");
    leave.open();
    assert_eq!(running.await.expect("no panic").map(|ended| ended.status().as_u16()), Ok(200));
    let mut all = first.to_vec();
    while let Some(next) = tokio::time::timeout(WATCHDOG, told.next()).await.expect("soon") {
        all.extend(next.expect("whole"));
    }
    let text = String::from_utf8(all).expect("text");
    let ids: Vec<&str> = events(&text).iter().filter_map(|event| event.get("id").copied()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6", "7"]);
    assert!(events(&text)[6]["data"].contains("\"terminal\":\"completed\""), "{text}");
}

#[tokio::test]
async fn a_reader_that_was_cut_off_goes_on_where_it_was() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    let call = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a-1");
    assert_eq!(call.of(&super::edge(&node, Listener::Invoke)).await.status, 200);
    let resumed = get("/v1/activations/a-1/events?after_sequence=1").with("last-event-id", "5").of(&edge).await;
    let ids: Vec<&str> = events(resumed.text()).iter().map(|event| event["id"]).collect();
    assert_eq!(ids, ["6", "7"]);
    let asked = get("/v1/activations/a-1/events?after_sequence=6").of(&edge).await;
    assert_eq!(events(asked.text()).len(), 1);
    let wrong = get("/v1/activations/a-1/events").with("last-event-id", "x").of(&edge).await;
    assert!(wrong.message(400).starts_with("after_sequence: has to be a whole number"));
    assert_eq!(get("/v1/activations/a-2/events").of(&edge).await.refused(404).0, "not-found");
}

#[tokio::test]
async fn logs_are_read_and_followed() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    node.logs.write("t", "a-1", "one");
    node.logs.write("u", "b-1", "theirs");
    node.logs.write("t", "a-1", "two");
    let call = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a-1");
    assert_eq!(call.of(&super::edge(&node, Listener::Invoke)).await.status, 200);
    let read = get("/v1/activations/a-1/logs").of(&edge).await.json();
    assert_eq!(read["records"][1]["message"], "two");
    let Ok(followed) = edge.oneshot(get("/v1/logs?service=s&tail=1").by("all").request()).await;
    let mut told = followed.into_body();
    let first = tokio::time::timeout(WATCHDOG, told.frame()).await.expect("soon").expect("a record").expect("whole");
    let first = first.into_data().expect("data");
    assert!(first.starts_with(b"event: log\ndata: {"), "{first:?}");
    assert!(String::from_utf8_lossy(&first).contains("\"message\":\"two\""));
}
