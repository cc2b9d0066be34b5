//! Invoke: what returns, what does not, and what is refused before it has an id.

use std::collections::HashMap;
use std::time::Duration;

use latent_core::{BudgetConsumption, ExecutionOutcome, Payload};
use latent_executor::fake::FakeStep;
use latent_wire::proto::invoke_response::Outcome;
use latent_wire::proto::{self};
use tonic::Code;

use crate::support::{CONTRACT, call, field, from, kind, node, refusal};

#[tokio::test]
async fn a_result_comes_with_its_revision_and_consumption_in_message_and_metadata() {
    let node = node(1);
    let used = FakeStep::Use { fuel: 11, memory_bytes: 65_536, log_bytes: 3, then: Box::new(FakeStep::Echo) };
    node.backend.set_step("f", used);
    let answer = node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let header = |name: &str| answer.metadata().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (id, revision) = (header("latent-activation-id"), header("latent-revision"));
    let counts = ["latent-fuel", "latent-peak-memory-bytes", "latent-log-bytes"].map(header);
    assert!(header("latent-wall-time-micros").is_some());
    let message = answer.into_inner();
    assert_eq!(message.outcome, Some(Outcome::Result("[\"hi\"]".into())));
    assert_eq!((message.activation_id.as_str(), id.as_deref()), ("a-1", Some("a-1")));
    let resolved = message.revision.unwrap();
    assert_eq!((resolved.deployment.as_str(), revision), ("d", Some(resolved.id)));
    let consumption = message.consumption.unwrap();
    assert_eq!((consumption.fuel, consumption.log_bytes), (11, 3));
    assert_eq!(counts.map(Option::unwrap), ["11", "65536", "3"]);
    node.settles().await;
}

#[tokio::test]
async fn a_declared_error_is_an_answer() {
    let node = node(1);
    let declared = ExecutionOutcome::DeclaredError(Payload::json("{\"code\":1}"));
    node.backend.set_step("f", FakeStep::End(declared));
    let answer = node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap().into_inner();
    assert_eq!(answer.outcome, Some(Outcome::DeclaredError("{\"code\":1}".into())));
    assert_eq!(answer.media_type, "application/json");
}

#[tokio::test]
async fn an_end_without_a_result_is_an_error_about_its_activation() {
    let node = node(1);
    let ends = [
        (ExecutionOutcome::FuelExhausted, Code::ResourceExhausted, "activation.fuel-exhausted"),
        (ExecutionOutcome::MemoryExhausted, Code::ResourceExhausted, "activation.memory-exhausted"),
        (ExecutionOutcome::DeadlineExceeded, Code::DeadlineExceeded, "activation.deadline-exceeded"),
    ];
    for (at, (end, code, detail)) in ends.into_iter().enumerate() {
        let id = format!("a-{at}");
        node.backend.set_step(
            "f",
            FakeStep::Use { fuel: 5, memory_bytes: 0, log_bytes: 0, then: Box::new(FakeStep::End(end)) },
        );
        let status = node.invocation().invoke(from("invoke", call(&id))).await.unwrap_err();
        assert_eq!(status.metadata().get("latent-activation-id").unwrap(), id.as_str());
        assert_eq!(status.metadata().get("latent-fuel").unwrap(), "5");
        let (told, error) = refusal::<()>(Err(status));
        assert_eq!((told, kind(&error), error.activation_id.as_str()), (code, detail, id.as_str()));
        assert_eq!(error.revision.len(), 64);
        assert_eq!(error.used().map(|used: BudgetConsumption| used.fuel), Some(5));
    }
    node.settles().await;
}

#[tokio::test]
async fn a_shortened_contract_reaches_the_function_and_an_ambiguous_one_is_refused() {
    let node = node(1);
    for contract in ["test:wire/api", "api", ""] {
        let request = proto::InvokeRequest { contract: contract.to_owned(), ..call("") };
        node.invocation().invoke(from("invoke", request)).await.unwrap();
    }
    let request = proto::InvokeRequest { contract: String::new(), function: "g".to_owned(), ..call("") };
    let (code, error) = refusal(node.invocation().invoke(from("invoke", request)).await);
    assert_eq!((code, kind(&error)), (Code::InvalidArgument, "api.ambiguous-function"));
    assert_eq!(field(&error, "function"), format!("{CONTRACT}#g"));
}

#[tokio::test]
async fn a_field_that_is_wrong_is_named_and_nothing_is_recorded() {
    let node = node(1);
    let second = |seconds| Some(pbjson_types::Duration { seconds, nanos: 0 });
    let wrong = [
        ("service", proto::InvokeRequest { service: String::new(), ..call("") }),
        ("service", proto::InvokeRequest { service: "a b".to_owned(), ..call("") }),
        ("route", proto::InvokeRequest { route: "a\0".to_owned(), ..call("") }),
        ("function", proto::InvokeRequest { function: String::new(), ..call("") }),
        ("media_type", proto::InvokeRequest { media_type: "text/html".to_owned(), ..call("") }),
        ("timeout", proto::InvokeRequest { timeout: second(0), ..call("") }),
        ("timeout", proto::InvokeRequest { timeout: second(-1), ..call("") }),
        ("priority", proto::InvokeRequest { priority: 256, ..call("") }),
    ];
    for (name, request) in wrong {
        let (code, error) = refusal(node.invocation().invoke(from("invoke", request)).await);
        assert_eq!((code, kind(&error), field(&error, "field")), (Code::InvalidArgument, "api.field", name));
    }
    let reserved = HashMap::from([("latent.auth.subject".to_owned(), "me".to_owned())]);
    let request = proto::InvokeRequest { metadata: reserved, ..call("") };
    let (_, error) = refusal(node.invocation().invoke(from("invoke", request)).await);
    assert_eq!((kind(&error), field(&error, "rule")), ("activation.request-invalid", "reserved"));
    assert_eq!(node.manager.parts().journal.snapshot().active, 0);
    node.settles().await;
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_is_free_in_another_tenant() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("a-1"))).await.unwrap();
    let (code, error) = refusal(node.invocation().invoke(from("invoke", call("a-1"))).await);
    assert_eq!((code, kind(&error)), (Code::AlreadyExists, "activation.duplicate"));
    node.invocation().invoke(from("foreign", call("a-1"))).await.unwrap();
    node.settles().await;
}

#[tokio::test]
async fn a_route_or_function_that_is_not_there_ends_the_activation() {
    let node = node(1);
    let route = proto::InvokeRequest { route: "nowhere".to_owned(), ..call("a-1") };
    let (code, error) = refusal(node.invocation().invoke(from("invoke", route)).await);
    assert_eq!((code, error.code.as_str(), &*error.activation_id), (Code::NotFound, "route-unavailable", "a-1"));
    let function = proto::InvokeRequest { function: "h".to_owned(), ..call("a-2") };
    let (code, error) = refusal(node.invocation().invoke(from("invoke", function)).await);
    assert_eq!((code, error.code.as_str()), (Code::Unimplemented, "incompatible-contract"));
}

#[tokio::test]
async fn a_payload_beyond_the_bound_is_refused() {
    let node = node(1);
    let bytes = node.api.payload_bytes_max() + 1;
    let request = proto::InvokeRequest { payload: vec![b' '; bytes].into(), ..call("") };
    let (code, error) = refusal(node.invocation().invoke(from("invoke", request)).await);
    assert_eq!((code, field(&error, "field")), (Code::InvalidArgument, "payload"));
    let request = proto::InvokeRequest { payload: vec![b' '; bytes + (1 << 20)].into(), ..call("") };
    let status = node.invocation().max_encoding_message_size(usize::MAX).invoke(from("invoke", request)).await;
    assert_eq!(status.unwrap_err().code(), Code::OutOfRange);
}

#[tokio::test]
async fn a_timeout_counts_from_the_arrival_and_the_earliest_deadline_holds() {
    let node = node(1);
    node.backend.set_step("f", FakeStep::Spin);
    let millis = |millis: i32| pbjson_types::Duration { seconds: 0, nanos: millis * 1_000_000 };
    let soon = latent_wire_time(crate::support::wall() + Duration::from_millis(50));
    let by_timeout = from("invoke", proto::InvokeRequest { timeout: Some(millis(50)), ..call("by-timeout") });
    let by_deadline = from("invoke", proto::InvokeRequest { deadline: Some(soon), ..call("by-deadline") });
    let mut by_transport = from("invoke", proto::InvokeRequest { timeout: Some(millis(900)), ..call("by-transport") });
    by_transport.set_timeout(Duration::from_millis(50));
    for request in [by_timeout, by_deadline, by_transport] {
        let (code, error) = refusal(node.invocation().invoke(request).await);
        assert_eq!((code, error.code.as_str()), (Code::DeadlineExceeded, "deadline-exceeded"));
        assert!(!error.activation_id.is_empty());
    }
    node.settles().await;
}

fn latent_wire_time(at: std::time::SystemTime) -> pbjson_types::Timestamp {
    let since = at.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    pbjson_types::Timestamp {
        seconds: since.as_secs().try_into().unwrap(),
        nanos: since.subsec_nanos().try_into().unwrap(),
    }
}

#[tokio::test]
async fn a_call_that_arrived_too_long_ago_has_no_time_left() {
    let node = node(1);
    let mut request = from("invoke", call("late"));
    request.set_timeout(Duration::from_secs(1));
    let arrived = tokio::time::Instant::now().into_std().checked_sub(Duration::from_secs(2)).unwrap();
    request.extensions_mut().insert(latent_wire::api::Arrival(arrived));
    let (code, error) = refusal(node.invocation().invoke(request).await);
    assert_eq!((code, error.activation_id.as_str()), (Code::DeadlineExceeded, "late"));
}

#[tokio::test]
async fn a_guest_that_does_not_stop_is_handed_over_when_the_transport_has_waited_long_enough() {
    let node = node(1);
    node.backend.set_step("f", FakeStep::Hang);
    let mut request = from("invoke", call("stuck"));
    request.set_timeout(Duration::from_millis(50));
    let (code, error) = refusal(node.invocation().invoke(request).await);
    assert_eq!((code, error.activation_id.as_str()), (Code::DeadlineExceeded, "stuck"));
    node.settles().await;
}

#[tokio::test]
async fn a_grpc_timeout_that_cannot_be_read_is_refused_and_zero_has_passed() {
    let node = node(1);
    for (text, code) in
        [("1s", Code::InvalidArgument), ("123456789S", Code::InvalidArgument), ("0n", Code::DeadlineExceeded)]
    {
        let mut request = from("invoke", call(""));
        request.metadata_mut().insert("grpc-timeout", text.parse().unwrap());
        let (told, _) = refusal(node.invocation().invoke(request).await);
        assert_eq!(told, code, "{text}");
    }
    assert_eq!(node.manager.parts().journal.snapshot().active, 0);
}

#[tokio::test]
async fn a_draining_node_takes_no_activation_and_still_answers() {
    let node = node(1);
    node.invocation().invoke(from("invoke", call("before"))).await.unwrap();
    latent_node::operations::Operations::drain(&*node.switches, None).await;
    let (code, error) = refusal(node.invocation().invoke(from("invoke", call("after"))).await);
    assert_eq!((code, kind(&error), error.retryable), (Code::Unavailable, "activation.shutting-down", true));
    let request = proto::GetActivationRequest { activation_id: "before".to_owned() };
    node.invocation().get_activation(from("invoke", request)).await.unwrap();
}

#[tokio::test]
async fn a_full_node_is_overload_and_not_a_limit_of_the_guest() {
    let node = node(1);
    let (entered, leave) = node.hold();
    let mut calls = Vec::new();
    for at in 0..9 {
        let mut client = node.invocation();
        calls.push(tokio::spawn(async move { client.invoke(from("invoke", call(&format!("a-{at}")))).await }));
    }
    entered.passed().await;
    while node.manager.parts().admission.ledger().snapshot().live() < 9 {
        tokio::task::yield_now().await;
    }
    let (code, error) = refusal(node.invocation().invoke(from("invoke", call("one-more"))).await);
    assert_eq!((code, error.retryable), (Code::ResourceExhausted, true), "{error:?}");
    leave.open();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    node.settles().await;
}
