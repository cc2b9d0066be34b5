//! What an honest handler sees and answers.

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use latent_core::{BudgetConsumption, ExecutionOutcome, FunctionTarget, Payload};
use latent_executor::{ComponentInspector as _, ExecutionBackend as _, HttpBodyError, HttpExchange, suite};

use super::support::{data, empty, fed, full, get, handler, read, sent};
use crate::support::{artifact, bench, failure, request};

#[tokio::test]
async fn a_handler_answers_and_its_activation_returns_nothing_else() {
    let bench = bench();
    let went = bench.serve(get("/hello")).await;
    let nothing = Payload::octets(Bytes::new());
    assert_eq!(went.contained.report.outcome, ExecutionOutcome::Returned(nothing));
    let got = went.got();
    assert_eq!((got.status, got.text(), got.end), (200, "hello\n", Ok(())));
    assert_eq!(got.headers["content-type"], "text/plain");
    assert_eq!(went.bytes, (0, 6));
    assert!(went.contained.report.consumption.fuel > 0);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_body_is_streamed_back_while_it_comes() {
    let bench = bench();
    let (pieces, body) = fed();
    let (call, _exchange, response) = handler(sent("POST", "/echo", body));
    let cancellation = suite::cancellation(&call, None);
    let mut run = bench.backend.invoke_contained(call.artifact, call.request, cancellation);
    let first = async {
        let mut body = response.await.expect("it answers").into_body();
        for turn in 0..50 {
            pieces.send(data(format!("piece {turn}"))).await.expect("the guest reads");
            let frame = http_body_util::BodyExt::frame(&mut body).await.expect("it comes back").expect("whole");
            assert_eq!(frame.into_data().ok(), Some(Bytes::from(format!("piece {turn}"))));
        }
        body
    };
    let mut body = tokio::select! {
        body = first => body,
        ended = &mut run => panic!("it ended while its body was open: {ended:?}"),
    };
    drop(pieces);
    let (contained, end) = tokio::join!(run, http_body_util::BodyExt::frame(&mut body));
    assert!(end.is_none() && matches!(contained.report.outcome, ExecutionOutcome::Returned(_)));
    bench.until_idle().await;
}

#[tokio::test]
async fn a_large_body_passes_whole_in_both_directions() {
    let bench = bench();
    let sent_bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let body = full(sent_bytes.clone());
    let went = bench.serve_changed(sent("POST", "/echo", body), |call| call.budget.fuel = u64::MAX / 2).await;
    assert!(went.got().body == sent_bytes && went.got().end == Ok(()));
    assert_eq!(went.bytes, (3_000_000, 3_000_000));
}

#[tokio::test]
async fn the_guest_sees_the_request_without_the_headers_of_its_connection() {
    let mut request = get("/headers?a=b%20c");
    let headers = request.headers_mut();
    headers.insert("probe", http::HeaderValue::from_bytes(b"caf\xe9").unwrap());
    headers.append("probe", "second".parse().unwrap());
    headers.insert("host", "probe.example".parse().unwrap());
    headers.insert("connection", "close".parse().unwrap());
    let went = bench().serve(request).await;
    let got = went.got();
    assert_eq!(got.text(), "GET https://probe.example/headers?a=b%20c");
    let values: Vec<_> = got.headers.get_all("probe").iter().map(http::HeaderValue::as_bytes).collect();
    assert_eq!(values, [&b"caf\xe9"[..], b"second"]);
}

#[tokio::test]
async fn a_method_of_ones_own_arrives() {
    let went = bench().serve(sent("PURGE", "/headers", empty())).await;
    assert_eq!(went.got().text(), "PURGE https://probe.example/headers");
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let (pieces, body) = fed();
    let mut trailers = HeaderMap::new();
    trailers.insert("sum", "42".parse().unwrap());
    pieces.send(data("data")).await.unwrap();
    pieces.send(Ok(Frame::trailers(trailers.clone()))).await.unwrap();
    let went = bench().serve(sent("POST", "/trailers", body)).await;
    assert_eq!((went.got().text(), &went.got().trailers), ("with trailers", &Some(trailers)));
}

#[tokio::test]
async fn a_request_that_is_cut_off_never_looks_complete_to_the_guest() {
    for error in [
        HttpBodyError::Incomplete,
        HttpBodyError::TooLarge { limit: 4 },
        HttpBodyError::Stalled,
        HttpBodyError::Malformed,
    ] {
        let (pieces, body) = fed();
        pieces.send(data("four")).await.unwrap();
        pieces.send(Err(error)).await.unwrap();
        let went = bench().serve(sent("POST", "/count", body)).await;
        assert_eq!(went.got().text(), "4 incomplete", "{error}");
    }
    assert_eq!(bench().serve(sent("POST", "/count", full("four"))).await.got().text(), "4 complete");
}

#[tokio::test]
async fn the_head_is_there_while_the_body_still_drips() {
    let bench = bench();
    let (call, _exchange, response) = handler(get("/drip?n=3&ms=1"));
    let cancellation = suite::cancellation(&call, None);
    let run = bench.backend.invoke_contained(call.artifact, call.request, cancellation);
    let reading = async { read(response.await.expect("it answers")).await };
    let (contained, got) = tokio::join!(run, reading);
    assert_eq!((got.text(), got.end), ("drip\ndrip\ndrip\n", Ok(())));
    assert!(matches!(contained.report.outcome, ExecutionOutcome::Returned(_)));
}

#[tokio::test]
async fn a_response_to_head_keeps_its_length_and_has_no_body() {
    let went = bench().serve(sent("HEAD", "/bad-length?v=5", empty())).await;
    assert_eq!((went.got().headers["content-length"].as_bytes(), went.got().end), (&b"5"[..], Ok(())));
}

#[tokio::test]
async fn a_handler_is_found_before_and_after_it_is_compiled_and_says_how_it_is_called() {
    let bench = bench();
    let probe = artifact("http-probe");
    let inspected = bench.backend.inspect(probe.bytes()).unwrap().surface;
    let tenant = latent_core::TenantId::new("a").unwrap();
    let prepared = bench.backend.prepare(probe, &tenant).await.unwrap();
    for surface in [&inspected, prepared.surface()] {
        assert!(surface.offers(&FunctionTarget::http_handler()));
        let (target, reason) = &surface.refused[0];
        assert_eq!(&*target.contract, "wasi:http/incoming-handler@0.2.12");
        assert_eq!(&**reason, "it is served over HTTP, not called with values");
    }
}

#[tokio::test]
async fn a_handler_without_an_exchange_and_a_function_with_one_are_refused() {
    let bench = bench();
    let (mut call, ..) = handler(get("/hello"));
    call.request.exchange = None;
    let error = bench.refusal(call).await;
    assert!(error.has_detail("activation.http-exchange") && error.message().contains("send an HTTP request"));

    let mut call = request("echo", "echo", "echo-string", "[\"a\"]");
    call.request.exchange = Some(HttpExchange::new(get("/hello")).0);
    let error = bench.refusal(call).await;
    assert!(error.has_detail("activation.http-exchange") && error.message().contains("is not an HTTP handler"));

    let mut call = request("echo", "echo", "echo-string", "[\"a\"]");
    call.request.target = FunctionTarget::http_handler();
    call.request.exchange = Some(HttpExchange::new(get("/hello")).0);
    assert!(bench.refusal(call).await.has_detail("component.function"));
}

#[tokio::test]
async fn an_exchange_serves_once() {
    let bench = bench();
    let (call, exchange, _response) = handler(get("/hello"));
    assert!(exchange.take().is_some());
    let contained = bench.run(call).await;
    assert!(failure(&contained).message().contains("it was taken before"));
    assert_eq!(contained.report.consumption.outbound_requests, BudgetConsumption::default().outbound_requests);
}
