//! A request and its answer, the ways in which they usually come.

use std::task::Poll;

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body_util::BodyExt as _;
use latent_core::TerminalState;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{
    answer, body_of, h1, h2, hello, raw, read_head, request, returned, served, soon, until_closed, whole,
};

const CLOSE: &str = "connection: close";

#[tokio::test]
async fn a_response_that_is_all_there_is_sent_whole_with_what_is_known_of_its_activation() {
    let served = served();
    let answer = h1(served.address, request("GET", "/", &[CLOSE, "latent-activation-id: mine"])).await;
    assert_eq!((answer.status, &*answer.text()), (200, "hello"));
    assert_eq!(answer.header("content-length"), Some("5"));
    assert_eq!(answer.header("latent-activation-id"), Some("mine"));
    assert_eq!(answer.header("latent-fuel"), Some("1"));
    let revision = served.status("mine").and_then(|status| status.resolved).expect("it was resolved").revision;
    assert_eq!(answer.header("latent-revision"), Some(&*revision.to_string()));
    assert_eq!(served.ended("mine").await, TerminalState::Completed);
    served.settles().await;
}

#[tokio::test]
async fn the_head_is_there_as_soon_as_the_guest_sets_it_and_the_body_as_it_is_written() {
    let served = served();
    let (go_on, gate) = tokio::sync::watch::channel(0_u8);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder().status(201));
            gate.wait_for(|step| *step >= 1).await.unwrap();
            writer.write("one").await;
            gate.wait_for(|step| *step >= 2).await.unwrap();
            writer.write("two").await;
            returned()
        }
    });
    let mut stream = raw(served.address, request("GET", "/", &[CLOSE, "latent-activation-id: drip"])).await;
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 201") && head.contains("latent-activation-id: drip"), "{head}");
    assert!(head.contains("latent-revision: "), "{head}");
    assert!(served.status("drip").is_some_and(|status| status.terminal.is_none()));
    go_on.send(1).unwrap();
    let mut first = [0; 8];
    soon(stream.read_exact(&mut first)).await.unwrap();
    assert_eq!(&first, b"3\r\none\r\n");
    go_on.send(2).unwrap();
    assert_eq!(until_closed(&mut stream).await, b"3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(served.ended("drip").await, TerminalState::Completed);
    served.settles().await;
}

#[tokio::test]
async fn a_connection_is_kept_and_takes_requests_one_after_the_other_and_all_at_once() {
    let served = served();
    let mut stream = raw(served.address, request("GET", "/", &[])).await;
    read_head(&mut stream).await;
    soon(stream.read_exact(&mut [0; 5])).await.unwrap();
    let rest = [request("GET", "/", &[]), request("GET", "/", &[]), request("GET", "/", &[CLOSE])].concat();
    stream.write_all(rest.as_bytes()).await.unwrap();
    let all = String::from_utf8(until_closed(&mut stream).await).unwrap();
    assert_eq!((all.matches("HTTP/1.1 200 OK").count(), all.matches("hello").count()), (3, 3), "{all}");
    assert_eq!(served.listener.counts().accepted, 1);
    served.settles().await;
}

#[tokio::test]
async fn http_2_carries_requests_beside_one_another_with_bodies_and_trailers() {
    let served = served();
    served.guest(|parts| async move {
        let body = parts.request.into_body().collect().await.unwrap();
        let trailers = body.trailers().cloned().unwrap_or_default();
        let writer = answer(parts.response, Response::builder());
        writer.write(body.to_bytes()).await;
        writer.trailers(trailers).await;
        returned()
    });
    let sender = h2(served.address).await;
    let ask = |text: &'static str| {
        let mut sender = sender.clone();
        async move {
            let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static(text))]);
            let body = body_of(text).with_trailers(std::future::ready(Some(Ok(trailers)))).boxed_unsync();
            let request = Request::post("http://t.example/echo").body(body).unwrap();
            whole(&mut sender, request).await.expect("it is answered")
        }
    };
    let (one, two) = tokio::join!(ask("one"), ask("two"));
    for ((status, _, body, trailers), text) in [(one, "one"), (two, "two")] {
        assert_eq!((status.as_u16(), &body[..]), (200, text.as_bytes()));
        assert_eq!(trailers.expect("they pass both ways")["x-sum"], text);
    }
    served.settles().await;
}

#[tokio::test]
async fn chunks_and_trailers_pass_both_ways_over_http_1() {
    let served = served();
    served.guest(|parts| async move {
        let body = parts.request.into_body().collect().await.unwrap();
        let trailers = body.trailers().cloned().unwrap_or_default();
        let writer = answer(parts.response, Response::builder().header("trailer", "x-sum"));
        writer.write(body.to_bytes()).await;
        writer.trailers(trailers).await;
        returned()
    });
    let head = request("POST", "/", &[CLOSE, "te: trailers", "trailer: x-sum", "transfer-encoding: chunked"]);
    let answer = h1(served.address, head + "3\r\none\r\n4\r\n-two\r\n0\r\nx-sum: 7\r\n\r\n").await;
    assert_eq!(answer.text(), "7\r\none-two\r\n0\r\nx-sum: 7\r\n\r\n");
    served.settles().await;
}

#[tokio::test]
async fn head_is_answered_without_a_body_while_the_guest_goes_on() {
    let served = served();
    let (go_on, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder().header(CONTENT_LENGTH, 1_000_000));
            gate.wait_for(|open| *open).await.unwrap();
            // More than any buffer has room for.
            for _ in 0..100 {
                assert!(writer.write(vec![0; 10_000]).await);
            }
            returned()
        }
    });
    let answer = h1(served.address, request("HEAD", "/", &[CLOSE, "latent-activation-id: head"])).await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.header("content-length"), Some("1000000"));
    let mut sender = h2(served.address).await;
    let over_h2 = Request::head("http://t.example/").body(body_of("")).unwrap();
    let (status, headers, body, _) = whole(&mut sender, over_h2).await.unwrap();
    assert_eq!((status.as_u16(), body.len(), &headers["content-length"]), (200, 0, &HeaderValue::from(1_000_000)));
    assert!(served.status("head").is_some_and(|status| status.terminal.is_none()));
    go_on.send(true).unwrap();
    assert_eq!(served.ended("head").await, TerminalState::Completed);
    served.settles().await;
}

#[tokio::test]
async fn statuses_without_a_body_have_none() {
    let served = served();
    for status in [204, 304] {
        served.guest(move |parts| async move {
            let writer = answer(parts.response, Response::builder().status(status));
            writer.write("nobody sees this").await;
            returned()
        });
        let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
        assert_eq!((answer.status, answer.body.len()), (status, 0), "{answer:?}");
    }
    served.settles().await;
}

#[tokio::test]
async fn a_client_that_expects_to_be_told_is_told_when_the_guest_reads() {
    let served = served();
    served.guest(|parts| async move {
        let bytes = parts.request.into_body().collect().await.unwrap().to_bytes();
        let _ = parts.response.send(Response::new(body_of(bytes)));
        returned()
    });
    let lines = [CLOSE, "expect: 100-continue", "content-length: 4"];
    let mut stream = raw(served.address, request("POST", "/", &lines)).await;
    assert_eq!(read_head(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"four").await.unwrap();
    assert!(until_closed(&mut stream).await.ends_with(b"\r\n\r\nfour"));
    // A guest that does not read answers at once.
    served.guest(hello);
    let answer = h1(served.address, request("POST", "/", &lines)).await;
    assert_eq!((answer.status, &*answer.text()), (200, "hello"));
    served.settles().await;
}

#[tokio::test]
async fn the_same_id_leads_to_the_same_revision_and_others_to_both() {
    let served = served();
    served.routes.deploy(&served.repository, ("t", "s", "e"), 100, None);
    let mut seen = std::collections::BTreeMap::new();
    for round in 0..2 {
        for id in 0..16 {
            let line = format!("latent-activation-id: {round}-{id}");
            let answer = h1(served.address, request("GET", "/", &[CLOSE, &line])).await;
            *seen.entry(answer.header("latent-revision").unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    // What an id leads to is what the catalog says of it.
    for id in 0..16 {
        let found = served.status(&format!("0-{id}")).unwrap().resolved.unwrap();
        let again = served.resolve(&format!("0-{id}"));
        assert_eq!(found.revision, again);
    }
    served.settles().await;
}

#[tokio::test]
async fn http_1_0_gets_an_answer_that_ends_with_its_connection() {
    let served = served();
    let asked = "GET / HTTP/1.0\r\nhost: t.example\r\n\r\n";
    let answer = h1(served.address, asked).await;
    assert_eq!((answer.status, &*answer.text()), (200, "hello"));
    served.guest(|parts| async move {
        assert_eq!(parts.request.version(), Version::HTTP_10);
        let writer = answer_of_two(parts);
        writer.write("one").await;
        tokio::task::yield_now().await;
        writer.write("two").await;
        returned()
    });
    let answer = h1(served.address, asked).await;
    assert_eq!(answer.text(), "onetwo");
    served.settles().await;
}

fn answer_of_two(parts: latent_executor::HttpExchangeParts) -> super::support::Writer {
    answer(parts.response, Response::builder())
}

/// What is ready is told as if it were not, once a task has done as much as it may in one turn.
async fn use_up_the_turn() {
    std::future::poll_fn(|cx| {
        while let Poll::Ready(turn) = tokio::task::coop::poll_proceed(cx) {
            turn.made_progress();
        }
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn a_guest_that_used_up_the_turn_of_its_task_is_answered_for_all_the_same() {
    let served = served();
    served.guest(|parts| async move {
        let handled = hello(parts).await;
        use_up_the_turn().await;
        handled
    });
    let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
    assert_eq!((answer.status, &*answer.text()), (200, "hello"));
    assert_eq!(answer.header("content-length"), Some("5"), "its body was all there, too");
    served.settles().await;
}
