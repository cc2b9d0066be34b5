//! Requests that get no answer of their guest, each kind with its own status.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Request, Response};
use latent_core::{ExecutionOutcome, Payload, TerminalState};
use latent_executor::fake::FakeHandled;
use tokio::io::AsyncReadExt as _;

use super::support::{
    answer, body_of, h1, h2, hello, raw, read_head, request, returned, served, soon, trapped, until_closed, whole,
};

const CLOSE: &str = "connection: close";

#[tokio::test]
async fn each_end_has_its_status_its_kind_and_its_activation() {
    let served = served();
    for (outcome, status, kind, retry) in [
        (ExecutionOutcome::Returned(Payload::default()), 502, "activation.no-response", None),
        (ExecutionOutcome::Trapped { category: "unreachable" }, 502, "activation.guest-trap", None),
        (ExecutionOutcome::MemoryExhausted, 507, "activation.memory-exhausted", None),
        (ExecutionOutcome::FuelExhausted, 507, "activation.fuel-exhausted", None),
        (ExecutionOutcome::Cancelled, 499, "activation.cancelled", None),
    ] {
        let ended = outcome.clone();
        served.guest(move |_parts| std::future::ready(FakeHandled::ended(ended.clone())));
        let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
        assert_eq!((answer.status, &*answer.problem("kind")), (status, kind), "{outcome:?}");
        assert_eq!(answer.header("retry-after"), retry, "{outcome:?}");
        assert_eq!(answer.header("latent-activation-id"), Some(&*answer.problem("activationId")));
        assert!(answer.header("latent-revision").is_some() && answer.header("latent-fuel").is_some());
    }
    served.settles().await;
}

#[tokio::test]
async fn a_guest_that_takes_too_long_is_a_timeout_from_the_arrival_on() {
    let served = served();
    served.guest(|parts| async move {
        let _kept = parts;
        pending().await
    });
    let answer =
        h1(served.address, request("GET", "/", &[CLOSE, "latent-timeout: 50ms", "latent-activation-id: late"])).await;
    assert_eq!((answer.status, &*answer.problem("code")), (504, "deadline-exceeded"));
    assert_eq!(served.ended("late").await, TerminalState::DeadlineExceeded);
    served.settles().await;
}

#[tokio::test]
async fn headers_that_are_for_the_node_are_understood_or_refused() {
    let served = served();
    for line in [
        "latent-timeout: 5",
        "latent-timeout: -5ms",
        "latent-timeout: 99999999999999999999s",
        "latent-timeout: 1s\r\nlatent-timeout: 1s",
        "latent-activation-id: %",
        "latent-activation-id: a b\r\nlatent-activation-id: c",
        "latent-activation-id: ",
    ] {
        let answer = h1(served.address, request("GET", "/", &[CLOSE, line])).await;
        assert_eq!((answer.status, &*answer.problem("code")), (400, "invalid-argument"), "{line}");
    }
    let longest = h1(served.address, request("GET", "/", &[CLOSE, "latent-timeout: 9999999h"])).await;
    assert_eq!(longest.status, 200);
    served.settles().await;
}

#[tokio::test]
async fn an_id_that_is_taken_is_a_conflict() {
    let served = served();
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(h1(served.address, request("GET", "/", &[CLOSE, "latent-activation-id: one"])).await.status);
    }
    assert_eq!(statuses, [200, 409]);
    served.settles().await;
}

#[tokio::test]
async fn a_node_that_is_full_or_drains_says_when_to_come_again() {
    let served = served();
    let (leave, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            hello(parts).await
        }
    });
    // Two run, two wait.
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(raw(served.address, request("GET", "/", &[CLOSE])).await);
    }
    let full = async {
        while served.manager.parts().admission.ledger().snapshot().live() < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(full).await;
    let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{}", answer.text());
    assert_eq!(answer.problem("retryable"), "true");
    leave.send(true).unwrap();
    for mut stream in held {
        assert!(until_closed(&mut stream).await.ends_with(b"hello"));
    }
    served.doors.closed.store(true, Ordering::SeqCst);
    let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.problem("kind"), "activation.shutting-down");
    served.settles().await;
}

#[tokio::test]
async fn a_guest_that_fails_before_its_head_went_out_is_an_error_and_no_response() {
    let served = served();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        writer.write("some").await;
        trapped(writer)
    });
    let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
    assert_eq!((answer.status, &*answer.problem("kind")), (502, "activation.guest-trap"));
    served.settles().await;
}

/// Writes something, waits until it is read, and traps.
fn traps_after_its_head(served: &super::support::Served) -> tokio::sync::watch::Sender<bool> {
    let (fail, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder());
            writer.write("some").await;
            gate.wait_for(|open| *open).await.unwrap();
            trapped(writer)
        }
    });
    fail
}

#[tokio::test]
async fn a_trap_after_the_head_cuts_the_connection_and_the_record_says_why() {
    let served = served();
    let fail = traps_after_its_head(&served);
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: cut"])).await;
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
    fail.send(true).unwrap();
    // The last chunk never comes.
    assert_eq!(until_closed(&mut stream).await, b"4\r\nsome\r\n");
    assert_eq!(
        (served.ended("cut").await, &*served.failed("cut").await),
        (TerminalState::GuestTrap, "activation.guest-trap")
    );
    served.settles().await;
}

#[tokio::test]
async fn over_http_1_0_where_an_end_would_look_like_that_of_the_body_the_connection_is_reset() {
    let served = served();
    let fail = traps_after_its_head(&served);
    let mut stream = raw(served.address, "GET / HTTP/1.0\r\nhost: t.example\r\n\r\n").await;
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.0 200"));
    let mut some = [0; 4];
    soon(stream.read_exact(&mut some)).await.unwrap();
    fail.send(true).unwrap();
    let end = soon(stream.read(&mut some)).await;
    assert_eq!(end.map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionReset));
    served.settles().await;
}

#[tokio::test]
async fn over_http_2_a_trap_after_the_head_resets_its_stream_and_no_other() {
    let served = served();
    let fail = traps_after_its_head(&served);
    let mut sender = h2(served.address).await;
    let asked = Request::get("http://t.example/").header("latent-activation-id", "cut").body(body_of("")).unwrap();
    let response = soon(sender.send_request(asked)).await.expect("the head comes");
    fail.send(true).unwrap();
    let cut = soon(http_body_util::BodyExt::collect(response.into_body())).await;
    let error = cut.expect_err("the stream is reset");
    assert!(!error.is_closed(), "{error:?}");
    assert_eq!(served.ended("cut").await, TerminalState::GuestTrap);
    served.guest(hello);
    let again = Request::get("http://t.example/").body(body_of("")).unwrap();
    assert_eq!(whole(&mut sender, again).await.expect("the connection lives").0, 200);
    served.settles().await;
}

#[tokio::test]
async fn a_deadline_in_the_midst_of_a_response_cuts_it() {
    let served = served();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        writer.write("some").await;
        pending::<()>().await;
        returned()
    });
    let lines = ["latent-timeout: 100ms", "latent-activation-id: late"];
    let mut stream = raw(served.address, request("GET", "/", &lines)).await;
    read_head(&mut stream).await;
    assert_eq!(until_closed(&mut stream).await, b"4\r\nsome\r\n");
    assert_eq!(served.ended("late").await, TerminalState::DeadlineExceeded);
    served.settles().await;
}

#[tokio::test]
async fn a_cancel_in_the_midst_of_a_response_cuts_it() {
    let served = served();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        writer.write("some").await;
        pending::<()>().await;
        returned()
    });
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: stop"])).await;
    read_head(&mut stream).await;
    served.cancel("stop");
    assert_eq!(until_closed(&mut stream).await, b"4\r\nsome\r\n");
    assert_eq!(served.ended("stop").await, TerminalState::Cancelled);
    served.settles().await;
}

#[tokio::test]
async fn an_error_in_answer_to_head_has_no_body() {
    let served = served();
    served.guest(|_parts| std::future::ready(trapped(())));
    let answer = h1(served.address, request("HEAD", "/", &[CLOSE])).await;
    assert_eq!((answer.status, answer.body.len()), (502, 0));
    let mut sender = h2(served.address).await;
    let asked = Request::head("http://t.example/").body(body_of("")).unwrap();
    let (status, _, body, _) = whole(&mut sender, asked).await.unwrap();
    assert_eq!((status.as_u16(), body.len()), (502, 0));
    served.settles().await;
}
