//! What an activation is called, who may start it, and what is carried along with it.

use std::time::Duration;

use latent_activation::request::TraceContext;
use latent_activation::{ActivationRequest, LocalActivationJournalConfig};
use latent_core::{Caller, Payload, PlatformError, PlatformErrorCode as Code};
use latent_executor::fake::FakeStep;
use latent_node::{ActivationHandle, ActivationManager};

use crate::support::*;

#[track_caller]
fn refused(node: &Node, request: ActivationRequest) -> PlatformError {
    let error = node.manager.start(request).map(drop).expect_err("the request is refused");
    assert_eq!(node.journal.snapshot().active + node.journal.snapshot().terminal, 0, "a refusal leaves no record");
    node.assert_settled(0);
    error
}

#[track_caller]
fn assert_invalid(error: &PlatformError, field: &str, rule: &str) {
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    let detail = &error.details()[0];
    assert_eq!((detail.field("field"), detail.field("rule")), (Some(field), Some(rule)), "{error}");
}

#[tokio::test]
async fn the_id_is_there_before_the_first_poll_and_in_the_receipt() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    assert_eq!((handle.activation_id(), handle.tenant()), (&activation("a"), &tenant("t")));
    assert!(node.backend.requests().is_empty() && node.live() == 0, "nothing happens before the first poll");
    assert_eq!(node.status("a").sequence, 1, "but it is on record");
    let receipt = finish(handle).await;
    assert_eq!(receipt.activation_id, activation("a"));
    assert_eq!(receipt.progress.events().collect::<Vec<_>>(), node.events("a"));
    node.assert_settled(0);
}

#[tokio::test]
async fn an_absent_id_comes_from_the_source_and_is_its_own_root() {
    let node = node(FakeStep::Echo);
    for count in 1..=2 {
        let handle = node.start_request(ActivationRequest { activation_id: None, ..request("") });
        let lineage = handle.lineage().clone();
        let id = activation(&format!("generated-{count}"));
        assert_eq!(
            (lineage.activation_id(), lineage.root_activation_id(), lineage.parent_activation_id()),
            (&id, &id, None)
        );
        assert_eq!(finish(handle).await.activation_id, id);
    }
    node.assert_settled(0);
}

#[test]
fn an_id_that_is_present_but_empty_is_invalid() {
    let node = node(FakeStep::Echo);
    assert_invalid(&refused(&node, request("")), "activation-id", "nonempty");
    let root = ActivationRequest { root_activation_id: Some(String::new()), ..request("a") };
    assert_invalid(&refused(&node, root), "root-activation-id", "nonempty");
}

#[test]
fn an_id_with_a_space_or_a_control_character_or_too_long_is_invalid() {
    let node = node(FakeStep::Echo);
    for id in ["a b", "a\n", "\u{85}"] {
        assert_invalid(&refused(&node, request(id)), "activation-id", "characters");
    }
    assert_invalid(&refused(&node, request(&"a".repeat(257))), "activation-id", "max");
}

#[test]
fn spare_capacity_counts_as_what_it_holds() {
    let node = node(FakeStep::Echo);
    let mut id = String::with_capacity(1 << 20);
    id.push('a');
    let roomy = ActivationRequest { activation_id: Some(id), ..request("") };
    assert_invalid(&refused(&node, roomy), "activation-id", "max");
    let metadata = (0..60)
        .map(|n| {
            let mut value = String::with_capacity(4 << 10);
            value.push('v');
            (format!("k{n}"), value)
        })
        .collect();
    assert_invalid(&refused(&node, ActivationRequest { metadata, ..request("a") }), "context", "max");
}

#[tokio::test]
async fn without_root_and_parent_the_activation_is_its_own_root() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    assert_eq!(
        (handle.lineage().root_activation_id(), handle.lineage().parent_activation_id()),
        (&activation("a"), None)
    );
    finish(handle).await;
    assert_eq!(node.status("a").lineage.root_activation_id(), &activation("a"));
    node.assert_settled(0);
}

#[test]
fn a_parent_without_a_root_is_invalid() {
    let node = node(FakeStep::Echo);
    let orphan = ActivationRequest { parent_activation_id: Some("p".into()), ..request("a") };
    assert_invalid(&refused(&node, orphan), "parent-activation-id", "needs-root");
}

#[tokio::test]
async fn a_lineage_of_unknown_and_foreign_activations_is_kept_and_never_looked_up() {
    let node = node(FakeStep::Echo);
    let foreign = node.start_request(request_of("u", "of-another", "f"));
    let child = ActivationRequest {
        root_activation_id: Some("never-was".into()),
        parent_activation_id: Some("of-another".into()),
        ..request("a")
    };
    let receipt = finish(node.start_request(child)).await;
    assert_eq!(receipt.outcome.terminal_state().as_str(), "completed");
    let lineage = node.status("a").lineage;
    assert_eq!(
        (lineage.root_activation_id(), lineage.parent_activation_id()),
        (&activation("never-was"), Some(&activation("of-another")))
    );
    assert!(node.manager.status(&tenant("t"), &activation("of-another")).found().is_none(), "it gives no right");
    drop(foreign);
    node.assert_settled(0);
}

#[tokio::test]
async fn a_duplicate_of_an_active_or_a_retained_activation_already_exists() {
    let node = node(FakeStep::Echo);
    let first = node.start("a");
    let duplicate = |why: &str| {
        let error = node.manager.start(request("a")).map(drop).expect_err(why);
        assert_eq!(error.code(), Code::AlreadyExists, "{why}");
        assert!(error.has_detail("activation.duplicate"), "{why}");
    };
    duplicate("active");
    finish(first).await;
    duplicate("retained");
    assert_eq!(node.backend.requests().len(), 1);
    assert_eq!(node.journal.snapshot().terminal, 1);
    node.assert_settled(0);
}

#[tokio::test]
async fn two_tenants_may_use_the_same_id_at_once() {
    let node = Setup { cells: 2, ..Setup::default() }.node(FakeStep::Echo);
    let (one, other) = (node.start("a"), node.start_request(request_of("u", "a", "f")));
    let (one, other) = tokio::join!(finish(one), finish(other));
    assert_eq!(one.resolved.unwrap().tenant, tenant("t"));
    assert_eq!(other.resolved.unwrap().tenant, tenant("u"));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_id_may_be_used_again_once_its_record_has_expired() {
    let journal = LocalActivationJournalConfig { terminal_retention: Duration::from_secs(3), ..Default::default() };
    let node = Setup { journal, ..Setup::default() }.node(FakeStep::Echo);
    node.run("a").await;
    node.pass(Duration::from_millis(2_999)).await;
    assert_eq!(node.manager.start(request("a")).map(drop).unwrap_err().code(), Code::AlreadyExists);
    node.pass(Duration::from_millis(1)).await;
    assert!(node.manager.status(&tenant("t"), &activation("a")).found().is_none());
    assert_eq!(node.run("a").await.outcome.terminal_state().as_str(), "completed");
    assert_eq!(node.backend.requests().len(), 2);
    node.assert_settled(0);
}

#[tokio::test]
async fn retention_evicts_ended_records_only_and_a_full_journal_refuses_the_next() {
    let journal = LocalActivationJournalConfig { active_max: 2, terminal_max: 1, ..Default::default() };
    let node = Setup { journal, ..Setup::default() }.node(FakeStep::Echo);
    let (kept, second) = (node.start("kept"), node.start("second"));
    let error = node.manager.start(request("third")).map(drop).expect_err("no room");
    assert_eq!((error.code(), error.is_retryable()), (Code::ResourceExhausted, true));
    assert!(error.has_detail("activation.journal-full"));
    finish(second).await;
    finish(node.start("third")).await;
    assert!(node.manager.status(&tenant("t"), &activation("second")).found().is_none(), "the oldest end gave way");
    assert!(node.status("kept").terminal.is_none(), "what is under way stays");
    drop(kept);
    node.assert_settled(0);
}

#[test]
fn anonymous_foreign_and_unnamed_callers_are_refused_whatever_their_metadata_says() {
    let node = node(FakeStep::Echo);
    let unnamed = Caller::Service { tenant: tenant("t"), subject: service("robot"), service: None };
    for (caller, code) in [
        (Caller::Anonymous, Code::Unauthenticated),
        (unnamed, Code::Unauthenticated),
        (user("u"), Code::PermissionDenied),
    ] {
        let metadata = vec![("tenant".into(), "t".into()), ("guest.principal".into(), "caller".into())];
        let error = refused(&node, ActivationRequest { caller, metadata, ..request("a") });
        assert_eq!(error.code(), code, "{error}");
    }
    for key in ["latent.auth.tenant", "Latent.Principal.subject"] {
        let metadata = vec![(key.into(), "t".into())];
        let error = refused(&node, ActivationRequest { metadata, ..request("a") });
        assert_invalid(&error, "metadata-key", "reserved");
    }
}

#[tokio::test]
async fn a_service_that_names_itself_may_call() {
    let node = node(FakeStep::Echo);
    let caller = Caller::Service { tenant: tenant("t"), subject: service("robot"), service: Some(service("front")) };
    let principal = caller.clone().authenticated().unwrap();
    let receipt = finish(node.start_request(ActivationRequest { caller, ..request("a") })).await;
    assert_eq!(receipt.outcome.terminal_state().as_str(), "completed");
    assert_eq!(node.backend.requests()[0].context.principal, principal);
    node.assert_settled(0);
}

#[tokio::test]
async fn what_a_guest_may_know_of_its_call_reaches_the_backend() {
    let node = node(FakeStep::Echo);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let asked = ActivationRequest {
        payload: Payload::octets("\u{1}\u{2}"),
        trace: TraceContext { parent: Some(parent.into()), state: Some("vendor=1".into()) },
        idempotency_key: Some("order-7".into()),
        retry_count: 3,
        metadata: vec![("guest.colour".into(), "red".into()), ("private".into(), "no".into())],
        deadline: node.due(Duration::from_secs(3)),
        ..request("a")
    };
    finish(node.start_request(asked)).await;
    let seen = node.backend.requests().remove(0);
    assert_eq!(seen.context.activation_id, activation("a"));
    assert_eq!(seen.context.trace_parent.as_deref(), Some(parent));
    assert_eq!(seen.context.metadata, [("guest.colour".into(), "red".into())]);
    assert_eq!(seen.context.deadline, node.due(Duration::from_secs(3)));
    assert_eq!((seen.target, seen.payload), (target("f"), Payload::octets("\u{1}\u{2}")));
    let kept = node.status("a").lineage.correlation().cloned().expect("the record keeps what came with the call");
    assert_eq!((kept.trace_parent.as_deref(), kept.trace_state.as_deref()), (Some(parent), Some("vendor=1")));
    assert_eq!((kept.idempotency_key.as_deref(), kept.retry_count), (Some("order-7"), 3));
    node.assert_settled(0);
}

#[tokio::test]
async fn equal_idempotency_keys_run_as_often_as_they_are_asked_for() {
    let node = node(FakeStep::Echo);
    for id in ["a", "b"] {
        let asked = ActivationRequest { idempotency_key: Some("same".into()), retry_count: 1, ..request(id) };
        finish(node.start_request(asked)).await;
    }
    assert_eq!(node.backend.requests().len(), 2);
    node.assert_settled(0);
}

#[tokio::test]
async fn a_retryable_failure_is_told_and_not_tried_again() {
    let busy = PlatformError::new(Code::Unavailable, "busy").retryable();
    let node = node(FakeStep::End(latent_core::ExecutionOutcome::Failed(busy.clone())));
    assert_eq!(node.run("a").await.outcome, failed(busy));
    assert_eq!(node.backend.requests().len(), 1);
    node.assert_settled(0);
}

#[tokio::test]
async fn the_interface_without_tenants_starts_the_same_activation() {
    let node = node(FakeStep::Echo);
    let manager: &dyn ActivationManager = &*node.manager;
    let handle = manager.start(request("a")).unwrap();
    assert_eq!(finish(handle).await.activation_id, activation("a"));
    node.assert_settled(0);
}

#[tokio::test]
async fn a_handle_can_be_sent_to_any_thread_and_outlives_its_node() {
    fn movable<T: Send + 'static>(value: T) -> T {
        value
    }
    let node = node(FakeStep::Echo);
    let handle: ActivationHandle = movable(node.start("a"));
    let journal = node.journal.clone();
    drop(node);
    let receipt = tokio::spawn(finish(handle)).await.unwrap();
    assert_eq!(receipt.outcome.terminal_state().as_str(), "completed");
    assert_eq!(journal.audit().unwrap().active, 0);
}
