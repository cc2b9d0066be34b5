//! Bodies: streamed both ways, bounded, and cut where they are not what they should be.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use latent_core::TerminalState;
use latent_executor::HttpBodyError;
use latent_executor::fake::FakeHandled;
use latent_http::ingress::IngressConfig;
use latent_wire::listener::ListenerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{
    Served, answer, body_of, h1, h2, raw, read_head, request, returned, served, served_with, soon, until_closed, whole,
};

const CLOSE: &str = "connection: close";

fn listener() -> ListenerConfig {
    ListenerConfig::new(([127, 0, 0, 1], 0).into())
}

fn bounded(config: IngressConfig) -> Served {
    served_with(listener(), config)
}

/// A guest that reads its body and returns without a response when that breaks off. Tells what it saw.
fn reads(served: &Served) -> Arc<Mutex<Vec<Result<usize, HttpBodyError>>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    served.guest(move |parts| {
        let told = told.clone();
        async move {
            let read = parts.request.into_body().collect().await.map(|body| body.to_bytes().len());
            told.lock().unwrap().push(read);
            if let Ok(bytes) = read {
                let _ = parts.response.send(Response::new(body_of(bytes.to_string())));
            }
            returned()
        }
    });
    seen
}

#[tokio::test]
async fn ten_mebibytes_go_through_a_guest_without_being_held() {
    let served = served();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        let mut body = parts.request.into_body();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.unwrap().into_data() {
                assert!(writer.write(data).await);
            }
        }
        returned()
    });
    let pieces =
        futures_util::stream::iter((0..160_u8).map(|piece| Ok(http_body::Frame::data(vec![piece; 64 << 10].into()))));
    let asked = Request::post("http://t.example/").body(StreamBody::new(pieces).boxed_unsync()).unwrap();
    let mut sender = h2(served.address).await;
    let (status, _, body, _) = whole(&mut sender, asked).await.unwrap();
    assert_eq!((status.as_u16(), body.len()), (200, 10 << 20));
    assert!(body.chunks(64 << 10).enumerate().all(|(at, piece)| piece.iter().all(|byte| usize::from(*byte) == at)));
    served.settles().await;
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_before_the_guest() {
    let served = bounded(IngressConfig { request_body_bytes_max: 8, ..Default::default() });
    let seen = reads(&served);
    for length in ["9", "1099511627776"] {
        let answer = h1(served.address, request("POST", "/", &[CLOSE, &format!("content-length: {length}")])).await;
        assert_eq!((answer.status, &*answer.problem("kind")), (413, "http.body"), "{length}");
    }
    let answer = h1(served.address, request("POST", "/", &[CLOSE, "content-length: 8"]) + "12345678").await;
    assert_eq!((answer.status, &*answer.text()), (200, "8"));
    assert_eq!(*seen.lock().unwrap(), [Ok(8)]);
    served.settles().await;
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_fails_for_the_guest_and_is_blamed_on_the_client() {
    let served = bounded(IngressConfig { request_body_bytes_max: 8, ..Default::default() });
    let seen = reads(&served);
    let chunked = request("POST", "/", &[CLOSE, "transfer-encoding: chunked"]);
    let answer = h1(served.address, chunked.clone() + "5\r\n12345\r\n4\r\n6789\r\n0\r\n\r\n").await;
    assert_eq!((answer.status, &*answer.problem("kind")), (413, "http.body"));
    assert_eq!(*seen.lock().unwrap(), [Err(HttpBodyError::TooLarge { limit: 8 })]);
    // A guest that answers all the same has the say.
    served.guest(|parts| async move {
        let _ = parts.request.into_body().collect().await;
        let _ = parts.response.send(Response::builder().status(422).body(body_of("no")).unwrap());
        returned()
    });
    let answer = h1(served.address, chunked + "5\r\n12345\r\n4\r\n6789\r\n0\r\n\r\n").await;
    assert_eq!((answer.status, &*answer.text()), (422, "no"));
    served.settles().await;
}

#[tokio::test]
async fn a_body_that_stalls_fails_for_the_guest_and_is_a_timeout_of_the_client() {
    let served = served_with(
        ListenerConfig { body_stall_timeout: Duration::from_millis(100), ..listener() },
        IngressConfig::default(),
    );
    let seen = reads(&served);
    let mut stream = raw(served.address, request("POST", "/", &["content-length: 10"]) + "four").await;
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 408"), "{head}");
    assert_eq!(*seen.lock().unwrap(), [Err(HttpBodyError::Stalled)]);
    served.settles().await;
}

#[tokio::test]
async fn a_body_that_breaks_the_protocol_or_never_ends_is_no_ones_memory() {
    let served = bounded(IngressConfig { request_body_bytes_max: 1 << 20, ..Default::default() });
    let seen = reads(&served);
    for chunk in ["+5\r\n12345\r\n", " 5\r\n12345\r\n", "-1\r\n", "0x5\r\n12345\r\n", "ffffffffffffffffff\r\n"] {
        let head = request("POST", "/", &["transfer-encoding: chunked"]);
        let mut stream = raw(served.address, head + chunk).await;
        let all = String::from_utf8(until_closed(&mut stream).await).unwrap();
        assert!(all.is_empty() || all.starts_with("HTTP/1.1 400"), "{chunk}: {all}");
    }
    assert!(seen.lock().unwrap().iter().all(Result::is_err), "{seen:?}");
    let mut stream = raw(served.address, request("POST", "/", &["transfer-encoding: chunked"])).await;
    let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 1 << 16], b"\r\n".to_vec()].concat();
    let mut sent = 0_u64;
    while stream.write_all(&chunk).await.is_ok() {
        sent += 1;
        assert!(sent < 10_000, "it is stopped");
    }
    served.settles().await;
}

#[tokio::test]
async fn a_response_that_differs_from_its_length_is_an_error_where_it_can_still_be_one() {
    let served = served();
    for (length, text) in [(4, "hello"), (6, "hello"), (0, "hello"), (1, "")] {
        served.guest(move |parts| async move {
            let head = Response::builder().header("content-length", length);
            let _ = parts.response.send(head.body(body_of(text)).unwrap());
            returned()
        });
        let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
        assert_eq!((answer.status, &*answer.problem("kind")), (502, "http.response-body"), "{length}");
    }
    served.settles().await;
}

/// A guest that says `length`, writes `first`, then each of `rest` once the head is out, and returns.
fn writes(
    served: &Served,
    length: usize,
    first: &'static str,
    rest: &'static [&'static str],
) -> tokio::sync::watch::Sender<bool> {
    let (go_on, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder().header("content-length", length));
            writer.write(first).await;
            gate.wait_for(|open| *open).await.unwrap();
            for piece in rest {
                writer.write(*piece).await;
            }
            returned()
        }
    });
    go_on
}

#[tokio::test]
async fn a_response_that_differs_from_its_length_after_its_head_is_cut() {
    let served = served();
    for (length, first, rest) in [(10, "some", &["more"][..]), (6, "some", &["more"]), (10, "some", &[])] {
        let go_on = writes(&served, length, first, rest);
        let mut stream = raw(served.address, request("GET", "/", &[])).await;
        read_head(&mut stream).await;
        go_on.send(true).unwrap();
        let all = until_closed(&mut stream).await;
        assert!(all.len() < length && all.starts_with(b"some"), "{length}: {all:?}");
        let go_on = writes(&served, length, first, rest);
        let mut sender = h2(served.address).await;
        let asked = Request::get("http://t.example/").body(body_of("")).unwrap();
        let response = soon(sender.send_request(asked)).await.unwrap();
        go_on.send(true).unwrap();
        soon(response.into_body().collect()).await.expect_err("the stream is reset");
    }
    served.settles().await;
}

#[tokio::test]
async fn a_response_of_its_declared_length_keeps_the_connection_and_its_guest() {
    let served = served();
    let (go_on, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder().header("content-length", 8));
            writer.write("some").await;
            tokio::task::yield_now().await;
            writer.write("more").await;
            drop(writer);
            // What a guest does after its response is its own affair.
            gate.wait_for(|open| *open).await.unwrap();
            returned()
        }
    });
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: on"])).await;
    read_head(&mut stream).await;
    let mut body = [0; 8];
    soon(stream.read_exact(&mut body)).await.unwrap();
    assert_eq!(&body, b"somemore");
    assert!(served.status("on").is_some_and(|status| status.terminal.is_none()));
    drop(stream);
    go_on.send(true).unwrap();
    assert_eq!(served.ended("on").await, TerminalState::Completed);
    served.settles().await;
}

#[tokio::test]
async fn a_response_without_an_end_is_cut_at_its_bound_and_its_guest_stopped() {
    let served = bounded(IngressConfig { response_body_bytes_max: 1 << 20, ..Default::default() });
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        while writer.write(vec![b'x'; 32 << 10]).await {}
        pending::<FakeHandled>().await
    });
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: endless"])).await;
    read_head(&mut stream).await;
    let all = until_closed(&mut stream).await;
    assert!(all.len() < (1 << 20) + (64 << 10) && !all.ends_with(b"0\r\n\r\n"), "{}", all.len());
    assert_eq!(served.failed("endless").await, "activation.transport-stopped");
    served.settles().await;
}

#[tokio::test]
async fn a_body_that_the_guest_breaks_off_is_no_response() {
    let served = served();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        writer.write("some").await;
        writer.fail(HttpBodyError::Incomplete).await;
        returned()
    });
    let answer_ = h1(served.address, request("GET", "/", &[CLOSE])).await;
    assert_eq!((answer_.status, &*answer_.problem("kind")), (502, "http.response-body"));
    let (go_on, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder());
            writer.write("some").await;
            gate.wait_for(|open| *open).await.unwrap();
            writer.fail(HttpBodyError::Incomplete).await;
            returned()
        }
    });
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: off"])).await;
    read_head(&mut stream).await;
    go_on.send(true).unwrap();
    assert_eq!(until_closed(&mut stream).await, b"4\r\nsome\r\n");
    assert_eq!(served.ended("off").await, TerminalState::Completed);
    served.settles().await;
}
