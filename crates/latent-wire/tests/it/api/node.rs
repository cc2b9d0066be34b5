//! The node itself.

use std::sync::atomic::Ordering;

use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::node_client::NodeClient;
use tonic::Code;
use tonic::service::Routes;

use crate::support::{Node, call, field, from, node, refusal, tenant};

fn client(node: &Node) -> NodeClient<Routes> {
    NodeClient::new(node.routes(Listener::Control))
}

#[tokio::test]
async fn the_inventory_has_the_state_and_the_counts_in_order() {
    let node = node(1);
    let inventory = client(&node).get_inventory(from("operate", proto::GetInventoryRequest {})).await.unwrap();
    let inventory = inventory.into_inner();
    assert_eq!((inventory.state.as_str(), inventory.version.as_str()), ("ready", env!("CARGO_PKG_VERSION")));
    let counts: Vec<_> = inventory.counts.iter().map(|count| (count.name.as_str(), count.value)).collect();
    assert_eq!(counts, [("continuations", 0), ("journal", 3)]);
}

#[tokio::test]
async fn a_drain_says_what_is_left_and_a_resume_takes_calls_again() {
    let node = node(1);
    node.switches.left.store(2, Ordering::SeqCst);
    let wait = Some(pbjson_types::Duration { seconds: 0, nanos: 0 });
    let drained = client(&node).drain(from("operate", proto::DrainRequest { wait })).await.unwrap().into_inner();
    assert_eq!((drained.drained, drained.live), (false, 2));
    assert_eq!(refusal(node.invocation().invoke(from("invoke", call(""))).await).0, Code::Unavailable);
    client(&node).resume(from("operate", proto::ResumeRequest {})).await.unwrap();
    node.invocation().invoke(from("invoke", call(""))).await.unwrap();
    let negative = Some(pbjson_types::Duration { seconds: -1, nanos: 0 });
    let (_, error) = refusal(client(&node).drain(from("operate", proto::DrainRequest { wait: negative })).await);
    assert_eq!(field(&error, "field"), "wait");
}

#[tokio::test]
async fn a_backup_goes_to_an_absolute_directory() {
    let node = node(1);
    let request = |directory: &str| from("operate", proto::BackupRequest { directory: directory.to_owned() });
    let report = client(&node).backup(request("/var/backups/node")).await.unwrap().into_inner();
    assert_eq!((report.releases, report.component_bytes), (2, 10));
    for directory in ["", "relative/path", "/with\0nul"] {
        let (code, error) = refusal(client(&node).backup(request(directory)).await);
        assert_eq!((code, field(&error, "field")), (Code::InvalidArgument, "directory"));
    }
}

#[tokio::test]
async fn usage_is_ones_own_unless_one_operates_the_node() {
    let node = node(1);
    let usage =
        |token: &str, of: &str| from(token, proto::GetUsageRequest { tenant: of.to_owned(), ..Default::default() });
    let asked = || node.switches.asked.lock().unwrap().take().unwrap().tenant;
    let own = client(&node).get_usage(usage("deploy", "")).await.unwrap().into_inner();
    assert_eq!((own.sums[0].activations, own.dropped), (7, 1));
    assert_eq!(asked(), Some(tenant("t")));
    client(&node).get_usage(usage("invoke", "t")).await.unwrap();
    assert_eq!(asked(), Some(tenant("t")));
    for other in ["u", "nobody"] {
        assert_eq!(refusal(client(&node).get_usage(usage("invoke", other)).await).0, Code::PermissionDenied);
    }
    client(&node).get_usage(usage("operate", "")).await.unwrap();
    assert_eq!(asked(), None);
    client(&node).get_usage(usage("operate", "u")).await.unwrap();
    assert_eq!(asked(), Some(tenant("u")));
}
