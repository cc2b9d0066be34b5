//! What guests wrote.

use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::logs_client::LogsClient;
use tonic::Code;
use tonic::service::Routes;

use crate::support::{Node, call, from, kind, node, refusal};

fn client(node: &Node) -> LogsClient<Routes> {
    LogsClient::new(node.routes(Listener::Control))
}

fn get(id: &str) -> proto::GetLogsRequest {
    proto::GetLogsRequest { activation_id: id.to_owned() }
}

#[tokio::test]
async fn the_records_of_an_activation_come_with_what_is_gone() {
    let node = node(1);
    node.logs.write("t", "a-1", "hello");
    let logs = client(&node).get_logs(from("invoke", get("a-1"))).await.unwrap().into_inner();
    let record = &logs.records[0];
    assert_eq!((record.message.as_str(), record.level.as_str(), record.service.as_str()), ("hello", "info", "s"));
    assert_eq!((record.fields[0].name.as_str(), logs.dropped), ("name", 2));
}

#[tokio::test]
async fn an_activation_that_wrote_nothing_has_no_records_and_one_that_is_not_there_is_not_found() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("silent"))).await.unwrap();
    let logs = client(&node).get_logs(from("invoke", get("silent"))).await.unwrap().into_inner();
    assert_eq!((logs.records.len(), logs.dropped), (0, 0));
    node.logs.write("u", "theirs", "secret");
    for id in ["theirs", "absent"] {
        let (code, error) = refusal(client(&node).get_logs(from("invoke", get(id))).await);
        assert_eq!((code, kind(&error)), (Code::NotFound, "activation.unknown"));
    }
}

#[tokio::test]
async fn a_follower_gets_the_tail_of_its_own_tenant() {
    let node = node(1);
    for (of, message) in [("t", "one"), ("u", "theirs"), ("t", "two"), ("t", "three")] {
        node.logs.write(of, "a-1", message);
    }
    let asked = |tail| proto::FollowLogsRequest { service: "s".to_owned(), tail, tail_only: false };
    let follow = |tail| from("invoke", asked(tail));
    let records = client(&node).follow_logs(follow(2)).await.unwrap().into_inner();
    let messages: Vec<_> = records.take(2).map(|record| record.unwrap().message).collect().await;
    assert_eq!(messages, ["two", "three"]);
    for (tail, wanted) in [(0, &[][..]), (1, &["three"]), (9, &["one", "two", "three"])] {
        let only = proto::FollowLogsRequest { tail_only: true, ..asked(tail) };
        let records = client(&node).follow_logs(from("invoke", only)).await.unwrap().into_inner();
        let messages: Vec<_> = records.map(|record| record.unwrap().message).collect().await;
        assert_eq!(messages, wanted, "it ends by itself");
    }
    node.logs.followers_refused.store(true, Ordering::SeqCst);
    let (code, error) = refusal(client(&node).follow_logs(follow(0)).await);
    assert_eq!((code, kind(&error), error.retryable), (Code::ResourceExhausted, "api.followers", true));
}
