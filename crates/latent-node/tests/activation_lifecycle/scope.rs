//! Another tenant's activations are as unknown as ones that never were.

use latent_activation::CancelDisposition;
use latent_activation::journal::Lookup;
use latent_core::{PlatformErrorCode as Code, TerminalState};
use latent_executor::fake::FakeStep;
use latent_node::ActivationManager;

use crate::support::*;

#[tokio::test]
async fn a_foreign_tenant_sees_no_status_no_events_and_no_row() {
    let node = node(FakeStep::Echo);
    let (own, foreign, id) = (tenant("t"), tenant("u"), activation("a"));
    let handle = node.start("a");
    let look = |tenant| (node.manager.status(tenant, &id).map(drop), node.manager.events(tenant, &id).map(drop));
    let never = node.manager.status(&foreign, &activation("never")).map(drop);
    assert_eq!(look(&own), (Lookup::Found(()), Lookup::Found(())));
    assert_eq!(look(&foreign), (Lookup::Unknown, Lookup::Unknown), "under way");
    assert_eq!(never, Lookup::Unknown);
    finish(handle).await;
    assert_eq!(look(&own), (Lookup::Found(()), Lookup::Found(())));
    assert_eq!(look(&foreign), (Lookup::Unknown, Lookup::Unknown), "retained");
    assert_eq!(node.manager.list(&foreign, None, 10).rows, []);
    assert_eq!(node.manager.list(&own, None, 10).rows.len(), 1);
    node.assert_settled(0);
}

#[tokio::test]
async fn a_foreign_cancel_is_not_found_and_changes_nothing() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    for id in ["a", "never"] {
        let disposition = node.manager.cancel_for(&tenant("u"), &activation(id), "mine");
        assert_eq!(disposition, CancelDisposition::NotFound);
    }
    assert_eq!(node.status("a").cancel_reason, None);
    assert_eq!(finish(handle).await.outcome.terminal_state(), TerminalState::Completed);
    let late = node.manager.cancel_for(&tenant("u"), &activation("a"), "mine");
    assert_eq!(late, CancelDisposition::NotFound, "nor is its end told");
    node.assert_settled(0);
}

#[tokio::test]
async fn the_unscoped_cancel_is_refused_for_known_and_unknown_ids_alike() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    let manager: &dyn ActivationManager = &*node.manager;
    let [known, unknown] = ["a", "never"].map(|id| manager.cancel(&activation(id), "why").unwrap_err());
    assert_eq!(known.code(), Code::PermissionDenied);
    assert!(known.has_detail("activation.unscoped-cancel"));
    assert_eq!(known, unknown);
    assert_eq!(finish(handle).await.outcome.terminal_state(), TerminalState::Completed);
    node.assert_settled(0);
}

#[tokio::test]
async fn what_is_asked_of_the_journal_moves_no_activation_on() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    let before = node.status("a");
    let _events = node.events("a");
    let _page = node.manager.list(&tenant("t"), None, 10);
    let _progress = node.journal.progress(&tenant("t"), &activation("a"), tokio::time::Instant::now().into_std());
    assert_eq!(node.status("a"), before);
    drop(handle);
    node.assert_settled(0);
}
