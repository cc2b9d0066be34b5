//! Cancel, status and lists.

use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_wire::api::Listener;
use latent_wire::proto::invocation_client::InvocationClient;
use latent_wire::proto::{self, CancelDisposition};
use tonic::{Code, Response, Status};

use crate::support::{Node, RECORDS, call, field, from, kind, node, refusal};

async fn cancel(node: &Node, token: &str, id: &str) -> Result<Response<proto::CancelResponse>, Status> {
    let request = proto::CancelRequest { activation_id: id.to_owned(), reason: "enough".to_owned() };
    node.invocation().cancel(from(token, request)).await
}

async fn get(node: &Node, token: &str, id: &str) -> Result<Response<proto::Activation>, Status> {
    let request = proto::GetActivationRequest { activation_id: id.to_owned() };
    node.invocation().get_activation(from(token, request)).await
}

async fn list(node: &Node, token: &str, size: u32, page: &str) -> Result<proto::ListActivationsResponse, Status> {
    let request = proto::ListActivationsRequest { page_size: size, page_token: page.to_owned() };
    node.invocation().list_activations(from(token, request)).await.map(Response::into_inner)
}

fn start(node: &Node, id: &str) -> tokio::task::JoinHandle<Result<Response<proto::InvokeResponse>, Status>> {
    let (mut client, request) = (node.invocation(), from("invoke", call(id)));
    tokio::spawn(async move { client.invoke(request).await })
}

#[tokio::test]
async fn a_cancel_ends_a_running_activation_and_its_reason_is_kept() {
    let node = node(1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    leave.open();
    let step = FakeStep::Gated { entered: entered.clone(), leave, then: Box::new(FakeStep::Spin) };
    node.backend.set_step("f", step);
    let running = start(&node, "a-1");
    entered.passed().await;
    let answer = cancel(&node, "invoke", "a-1").await.unwrap();
    assert_eq!(answer.metadata().get("latent-activation-id").unwrap(), "a-1");
    assert_eq!(answer.into_inner().disposition(), CancelDisposition::Accepted);
    let (code, error) = refusal(running.await.unwrap());
    assert_eq!((code, error.code.as_str()), (Code::Cancelled, "cancelled"));
    let activation = get(&node, "invoke", "a-1").await.unwrap().into_inner();
    assert_eq!(activation.cancel_reason, "enough");
    assert_eq!(activation.terminal.unwrap().state, "cancelled");
    node.settles().await;
}

#[tokio::test]
async fn a_cancel_ends_an_activation_that_is_being_made_ready() {
    let node = node(1);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.backend.set_preparation(FakePreparation::Gated {
        entered: entered.clone(),
        leave,
        then: Box::new(FakePreparation::Ready),
    });
    let preparing = start(&node, "a-1");
    entered.passed().await;
    assert_eq!(get(&node, "invoke", "a-1").await.unwrap().into_inner().phase, "queued");
    assert_eq!(cancel(&node, "invoke", "a-1").await.unwrap().into_inner().disposition(), CancelDisposition::Accepted);
    assert_eq!(refusal(preparing.await.unwrap()).0, Code::Cancelled);
    node.settles().await;
}

#[tokio::test]
async fn a_cancel_ends_an_activation_that_waits_for_a_cell() {
    let node = node(1);
    let (entered, leave) = node.hold();
    let running = start(&node, "running");
    entered.passed().await;
    let waiting = start(&node, "waiting");
    while node.manager.parts().admission.ledger().snapshot().live() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        cancel(&node, "invoke", "waiting").await.unwrap().into_inner().disposition(),
        CancelDisposition::Accepted
    );
    assert_eq!(refusal(waiting.await.unwrap()).0, Code::Cancelled);
    leave.open();
    running.await.unwrap().unwrap();
    node.settles().await;
}

#[tokio::test]
async fn a_cancel_after_the_end_says_how_it_ended() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let answer = cancel(&node, "invoke", "a-1").await.unwrap().into_inner();
    assert_eq!((answer.disposition(), answer.terminal.as_str()), (CancelDisposition::AlreadyTerminal, "completed"));
}

#[tokio::test]
async fn what_is_not_there_and_what_is_anothers_look_the_same() {
    let node = node(1);
    node.invocation().invoke(from("foreign", call("theirs"))).await.unwrap();
    let same = |theirs: proto::Error, mut absent: proto::Error| {
        absent.message = absent.message.replace("absent", "theirs");
        absent.details[0].fields[0].value = "theirs".to_owned();
        assert_eq!(theirs, absent);
        assert_eq!(kind(&theirs), "activation.unknown");
    };
    let (theirs, absent) = (cancel(&node, "invoke", "theirs").await, cancel(&node, "invoke", "absent").await);
    same(refusal(theirs).1, refusal(absent).1);
    let (theirs, absent) = (get(&node, "invoke", "theirs").await, get(&node, "invoke", "absent").await);
    same(refusal(theirs).1, refusal(absent).1);
    assert!(list(&node, "invoke", 0, "").await.unwrap().activations.is_empty());
}

#[tokio::test]
async fn an_activation_whose_record_is_gone_is_told_apart_from_one_that_never_was() {
    let node = node(1);
    for at in 0..=RECORDS {
        node.invocation().invoke(from("invoke", call(&format!("a-{at}")))).await.unwrap();
    }
    for (id, detail) in [("a-0", "activation.evicted"), ("never", "activation.unknown")] {
        for error in [refusal(get(&node, "invoke", id).await).1, refusal(cancel(&node, "invoke", id).await).1] {
            assert_eq!((error.code.as_str(), kind(&error)), ("not-found", detail));
        }
    }
    assert_eq!(kind(&refusal(get(&node, "foreign", "a-0").await).1), "activation.unknown");
}

#[tokio::test]
async fn cancel_and_status_are_on_both_listeners_and_invoke_is_not() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let mut control = InvocationClient::new(node.routes(Listener::Control));
    let request = proto::GetActivationRequest { activation_id: "a-1".to_owned() };
    let answer = control.get_activation(from("invoke", request)).await.unwrap();
    assert!(answer.metadata().get("latent-revision").is_some());
    let request = proto::CancelRequest { activation_id: "a-1".to_owned(), reason: String::new() };
    control.cancel(from("invoke", request)).await.unwrap();
    let (code, error) = refusal(control.invoke(from("invoke", call("a-2"))).await);
    assert_eq!((code, kind(&error), field(&error, "listener")), (Code::NotFound, "api.other-listener", "invoke"));
}

#[tokio::test]
async fn a_status_has_the_events_in_order_and_the_end_of_a_success() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let activation = get(&node, "invoke", "a-1").await.unwrap().into_inner();
    let phases: Vec<_> = activation.events.iter().map(|event| event.phase.as_str()).collect();
    let all = ["received", "resolved", "admitted", "queued", "materializing", "running", "running"];
    assert_eq!(phases, all);
    let terminal = activation.terminal.unwrap();
    assert_eq!((terminal.state.as_str(), terminal.output_bytes, terminal.error), ("completed", 6, None));
    assert_eq!(activation.root_activation_id, "a-1");
}

#[tokio::test]
async fn a_status_says_which_limit_ended_it() {
    let node = node(1);
    node.backend.set_step("f", FakeStep::End(latent_core::ExecutionOutcome::FuelExhausted));
    refusal(node.invocation().invoke(from("invoke", call("a-1"))).await);
    let terminal = get(&node, "invoke", "a-1").await.unwrap().into_inner().terminal.unwrap();
    assert_eq!((terminal.limit.as_str(), terminal.error.unwrap().code.as_str()), ("fuel", "resource-exhausted"));
}

#[tokio::test]
async fn a_list_is_paged_newest_first_and_each_row_comes_once() {
    let node = node(1);
    for at in 0..5 {
        node.invocation().invoke(from("invoke", call(&format!("a-{at}")))).await.unwrap();
    }
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = list(&node, "invoke", 2, &token).await.unwrap();
        assert!(page.activations.len() <= 2);
        seen.extend(page.activations.into_iter().map(|row| (row.activation_id, row.terminal)));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    let expected = (0..5).rev().map(|at| (format!("a-{at}"), "completed".to_owned()));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_token_of_another_tenant_or_list_or_made_up_is_refused_by_its_name() {
    let node = node(1);
    for at in 0..3 {
        node.invocation().invoke(from("invoke", call(&format!("a-{at}")))).await.unwrap();
    }
    let own = list(&node, "invoke", 1, "").await.unwrap().next_page_token;
    assert!(!own.is_empty());
    for (token, page) in [("foreign", own.as_str()), ("invoke", "made-up"), ("invoke", &own[1..])] {
        let (code, error) = refusal(list(&node, token, 1, page).await);
        assert_eq!((code, field(&error, "field")), (Code::InvalidArgument, "page_token"));
    }
}
