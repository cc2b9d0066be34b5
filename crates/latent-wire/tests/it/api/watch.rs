//! Events as they happen.

use futures_util::StreamExt;
use latent_wire::proto;
use tonic::{Code, Response, Status, Streaming};

use crate::support::{Node, WATCHDOG, WATCHERS, call, from, kind, node, refusal};

async fn watch(node: &Node, id: &str, after: u64) -> Result<Streaming<proto::ActivationEvent>, Status> {
    let request = proto::WatchActivationRequest { activation_id: id.to_owned(), after_sequence: after };
    node.invocation().watch_activation(from("invoke", request)).await.map(Response::into_inner)
}

async fn rest(events: Streaming<proto::ActivationEvent>) -> Vec<(u64, String, String)> {
    let told = events.map(|event| event.map(|event| (event.sequence, event.phase, event.terminal)).unwrap());
    tokio::time::timeout(WATCHDOG, told.collect()).await.expect("the stream ends")
}

#[tokio::test]
async fn a_watcher_sees_what_happened_then_what_happens_and_the_end_last() {
    let node = node(1);
    let (entered, leave) = node.hold();
    let (mut client, request) = (node.invocation(), from("invoke", call("a-1")));
    let running = tokio::spawn(async move { client.invoke(request).await });
    entered.passed().await;
    let mut events = watch(&node, "a-1", 0).await.unwrap();
    for phase in ["received", "resolved", "admitted", "queued", "materializing", "running"] {
        assert_eq!(events.next().await.unwrap().unwrap().phase, phase);
    }
    leave.open();
    running.await.unwrap().unwrap();
    assert_eq!(rest(events).await, [(7, "running".to_owned(), "completed".to_owned())]);
}

#[tokio::test]
async fn a_watcher_goes_on_after_the_event_that_it_saw() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let numbers = |events: Vec<(u64, String, String)>| events.into_iter().map(|event| event.0).collect::<Vec<_>>();
    assert_eq!(numbers(rest(watch(&node, "a-1", 0).await.unwrap()).await), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(numbers(rest(watch(&node, "a-1", 5).await.unwrap()).await), [6, 7]);
    assert_eq!(numbers(rest(watch(&node, "a-1", 7).await.unwrap()).await), [] as [u64; 0]);
    assert_eq!(numbers(rest(watch(&node, "a-1", u64::MAX).await.unwrap()).await), [] as [u64; 0]);
}

#[tokio::test]
async fn a_watcher_too_many_is_told_to_come_again_and_one_that_leaves_makes_room() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let mut there = Vec::new();
    for _ in 0..WATCHERS {
        there.push(watch(&node, "a-1", 0).await.unwrap());
    }
    let (code, error) = refusal(watch(&node, "a-1", 0).await);
    assert_eq!((code, kind(&error), error.retryable), (Code::ResourceExhausted, "activation.watchers-exhausted", true));
    drop(there.pop());
    watch(&node, "a-1", 0).await.unwrap();
}

#[tokio::test]
async fn another_tenants_activation_cannot_be_watched() {
    let node = node(1);
    node.invocation().invoke(from("foreign", call("theirs"))).await.unwrap();
    let (code, error) = refusal(watch(&node, "theirs", 0).await);
    assert_eq!((code, kind(&error)), (Code::NotFound, "activation.unknown"));
}
