//! Where calls go, and why.

use latent_core::Sha256Digest;
use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::routes_client::RoutesClient;
use tonic::service::Routes;
use tonic::{Code, Response, Status};

use crate::support::{Node, call, field, from, node, refusal};

fn client(node: &Node) -> RoutesClient<Routes> {
    RoutesClient::new(node.routes(Listener::Control))
}

async fn resolve(node: &Node, route: &str, function: &str, id: &str) -> Result<proto::ResolveResponse, Status> {
    let request = proto::ResolveRequest {
        service: "s".to_owned(),
        route: route.to_owned(),
        contract: "api".to_owned(),
        function: function.to_owned(),
        activation_id: id.to_owned(),
    };
    client(node).resolve(from("deploy", request)).await.map(Response::into_inner)
}

fn with_a_second(node: &Node) {
    node.store.deploy("t", "s", "e", Sha256Digest::of(b"first"), 300);
}

#[tokio::test]
async fn what_is_resolved_is_where_the_call_goes() {
    let node = node(1);
    with_a_second(&node);
    for at in 0..20 {
        let id = format!("a-{at}");
        let resolved = resolve(&node, "", "f", &id).await.unwrap().revision.unwrap();
        let called = node.invocation().invoke(from("invoke", call(&id))).await.unwrap().into_inner();
        assert_eq!(called.revision.unwrap(), resolved);
    }
}

#[tokio::test]
async fn the_why_of_a_weighted_choice_has_the_ticket_within_the_chosen_range() {
    let node = node(1);
    with_a_second(&node);
    let mut chosen = std::collections::BTreeSet::new();
    for at in 0..20 {
        let answer = resolve(&node, "", "f", &format!("a-{at}")).await.unwrap();
        let (ticket, revision) = (answer.ticket.unwrap(), answer.revision.unwrap());
        assert_eq!(answer.total_weight, 400);
        let mut before = 0;
        for candidate in &answer.candidates {
            let range = before..before + u64::from(candidate.weight);
            assert_eq!(range.contains(&ticket), candidate.deployment == revision.deployment);
            before = range.end;
        }
        assert!(answer.why.contains(&format!("ticket {ticket} of 400")), "{}", answer.why);
        chosen.insert(revision.deployment);
    }
    assert_eq!(chosen.len(), 2);
}

#[tokio::test]
async fn where_there_is_no_choice_there_is_no_ticket() {
    let node = node(1);
    let only = resolve(&node, "", "f", "a-1").await.unwrap();
    assert_eq!((only.ticket, only.total_weight), (None, 100));
    assert!(only.why.starts_with("only deployment d"), "{}", only.why);
    with_a_second(&node);
    let named = resolve(&node, "e", "f", "a-1").await.unwrap();
    assert_eq!((named.ticket, named.candidates.len()), (None, 1));
    assert_eq!(named.why, "route e is deployment e's own");
}

#[tokio::test]
async fn a_route_that_leads_nowhere_is_refused_as_a_call_would_be() {
    let node = node(1);
    assert_eq!(refusal(resolve(&node, "nowhere", "f", "a-1").await).1.code, "route-unavailable");
    assert_eq!(refusal(resolve(&node, "", "h", "a-1").await).1.code, "incompatible-contract");
    let (code, error) = refusal(resolve(&node, "", "f", "").await);
    assert_eq!(code, Code::InvalidArgument);
    assert_eq!(field(&error, "field"), "activation_id");
}

#[tokio::test]
async fn a_route_shows_its_candidates_and_only_ones_own() {
    let node = node(1);
    with_a_second(&node);
    let get = |token: &str, service: &str, route: &str| {
        from(token, proto::GetRouteRequest { service: service.to_owned(), route: route.to_owned() })
    };
    let route = client(&node).get_route(get("deploy", "s", "")).await.unwrap().into_inner();
    assert_eq!(route.route, "default");
    let mut names: Vec<_> = route.candidates.iter().map(|one| (one.deployment.as_str(), one.weight)).collect();
    names.sort_unstable();
    assert_eq!(names, [("d", 100), ("e", 300)]);
    assert!(route.candidates.is_sorted_by(|a, b| a.revision < b.revision));
    let theirs = client(&node).get_route(get("foreign", "s", "")).await.unwrap().into_inner();
    assert_eq!(theirs.candidates.len(), 1);
    let (code, error) = refusal(client(&node).get_route(get("deploy", "absent", "")).await);
    assert_eq!((code, error.code.as_str()), (Code::NotFound, "route-unavailable"));
}
