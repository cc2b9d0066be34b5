//! Callers that go away.

use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_wire::proto;

use crate::support::{Node, WATCHDOG, call, from, node};

/// How the activation ended, once it has.
async fn terminal(node: &Node, id: &str) -> proto::Terminal {
    let ended = async {
        loop {
            let request = proto::GetActivationRequest { activation_id: id.to_owned() };
            let activation = node.invocation().get_activation(from("invoke", request)).await.unwrap().into_inner();
            if let Some(terminal) = activation.terminal {
                return terminal;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WATCHDOG, ended).await.expect("the record ends")
}

/// Calls `f`, waits for `entered`, and goes away.
async fn leave_at(node: &Node, entered: &Gate) {
    let (mut client, request) = (node.invocation(), from("invoke", call("a-1")));
    let call = tokio::spawn(async move { client.invoke(request).await });
    entered.passed().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_caller_that_leaves_a_running_guest_is_cleaned_up_after_and_the_record_ends() {
    let node = node(1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    leave.open();
    let step = FakeStep::Gated { entered: entered.clone(), leave, then: Box::new(FakeStep::Spin) };
    node.backend.set_step("f", step);
    leave_at(&node, &entered).await;
    let end = terminal(&node, "a-1").await;
    assert!(end.error.unwrap().details.iter().any(|detail| detail.kind == "activation.transport-stopped"));
    node.settles().await;
    let counted = node.supervisor.snapshot();
    assert_eq!((counted.ended, counted.overruns), (1, 0));
}

#[tokio::test]
async fn a_caller_that_leaves_while_it_is_prepared_leaves_nothing_behind() {
    let node = node(1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let then = Box::new(FakePreparation::Ready);
    node.backend.set_preparation(FakePreparation::Gated { entered: entered.clone(), leave, then });
    leave_at(&node, &entered).await;
    assert_eq!(terminal(&node, "a-1").await.state, "cancelled");
    node.settles().await;
    assert_eq!(node.supervisor.snapshot().ended, 1);
}

#[tokio::test]
async fn a_cancel_reaches_an_activation_whose_caller_left() {
    let node = node(1);
    let (entered, leave) = node.hold();
    leave_at(&node, &entered).await;
    let request = proto::CancelRequest { activation_id: "a-1".to_owned(), reason: String::new() };
    node.invocation().cancel(from("invoke", request)).await.unwrap();
    leave.open();
    terminal(&node, "a-1").await;
    node.settles().await;
}
