//! Stops and drops at each stage of a request: the cell may serve again, and the client sees that it was cut off.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use latent_core::{ExecutionOutcome, TenantId};
use latent_executor::{ExecutionBackend as _, HttpBody, HttpBodyError, HttpExchange, suite};
use latent_wasmtime::EngineSettings;
use tokio::sync::oneshot;

use super::outgoing::Far;
use super::support::{bench_to, data, fed, get, handler, read, sent};
use crate::support::{Bench, artifact, bench};

/// Runs `request`, cancels once `ready` says that its stage is reached, and answers with what the client got.
async fn cancelled_when<T>(
    bench: &Bench,
    request: Request<HttpBody>,
    ready: impl AsyncFnOnce(&mut oneshot::Receiver<Response<HttpBody>>, &Arc<HttpExchange>) -> T,
) -> (ExecutionOutcome, T, oneshot::Receiver<Response<HttpBody>>) {
    let (mut call, exchange, mut response) = handler(request);
    call.request.budget.fuel = u64::MAX / 2;
    let cancellation = suite::cancellation(&call, None);
    let latch = cancellation.clone();
    let run = bench.backend.invoke_contained(call.artifact, call.request, cancellation);
    let stop = async {
        let reached = ready(&mut response, &exchange).await;
        latch.probe().request_cancel();
        reached
    };
    let (contained, reached) = tokio::join!(run, stop);
    assert_eq!(contained.cleanup, latent_executor::ExecutionCleanup::Reusable);
    assert!(exchange.is_guest_gone());
    bench.until_idle().await;
    bench.assert_healthy().await;
    (contained.report.outcome, reached, response)
}

#[tokio::test]
async fn a_cancel_before_the_head_leaves_no_response() {
    let bench = bench();
    let parked = async |_: &mut oneshot::Receiver<_>, _: &Arc<HttpExchange>| {
        while bench.backend.resources().component_instances == 0 {
            tokio::task::yield_now().await;
        }
    };
    let (outcome, (), response) = cancelled_when(&bench, get("/sleep?ms=3600000"), parked).await;
    assert_eq!(outcome, ExecutionOutcome::Cancelled);
    assert!(response.await.is_err());
}

#[tokio::test]
async fn a_cancel_after_the_head_cuts_the_body_off() {
    let bench = bench();
    let head = async |response: &mut oneshot::Receiver<_>, _: &Arc<HttpExchange>| response.await.expect("a head");
    let (outcome, response, _) = cancelled_when(&bench, get("/drip?n=1000&ms=3600000"), head).await;
    let got = read(response).await;
    assert_eq!(outcome, ExecutionOutcome::Cancelled);
    assert_eq!((got.text(), got.end), ("drip\n", Err(HttpBodyError::Incomplete)));
}

#[tokio::test]
async fn a_cancel_while_a_full_buffer_is_written_to_cuts_the_body_off() {
    let bench = bench();
    let head = async |response: &mut oneshot::Receiver<_>, _: &Arc<HttpExchange>| response.await.expect("a head");
    let (outcome, response, _) = cancelled_when(&bench, get("/large?n=100000000"), head).await;
    let got = read(response).await;
    assert_eq!((outcome, got.end), (ExecutionOutcome::Cancelled, Err(HttpBodyError::Incomplete)));
    assert!(got.body.len() <= 1 << 20, "no more waits than may: {}", got.body.len());
}

#[tokio::test]
async fn a_cancel_while_a_request_stalls_ends_the_wait() {
    let bench = bench();
    let (pieces, body) = fed();
    pieces.send(data("some")).await.unwrap();
    let reading = async |_: &mut oneshot::Receiver<_>, exchange: &Arc<HttpExchange>| {
        while exchange.bytes().0 < 4 {
            tokio::task::yield_now().await;
        }
    };
    let (outcome, (), response) = cancelled_when(&bench, sent("POST", "/count", body), reading).await;
    assert_eq!(outcome, ExecutionOutcome::Cancelled);
    assert!(response.await.is_err() && pieces.is_closed(), "the request's body is let go of");
}

#[tokio::test]
async fn a_cancel_while_a_guest_waits_for_its_own_request_drops_that() {
    let bench = bench_to(EngineSettings::for_cells(4), Arc::new(Far::default()));
    let asking = async |_: &mut oneshot::Receiver<_>, _: &Arc<HttpExchange>| {
        while bench.backend.resources().outgoing_requests == 0 {
            tokio::task::yield_now().await;
        }
    };
    let (outcome, (), response) = cancelled_when(&bench, get("/fetch?url=http://far.example/never"), asking).await;
    assert_eq!(outcome, ExecutionOutcome::Cancelled);
    assert!(response.await.is_err());
}

#[tokio::test]
async fn a_deadline_ends_a_handler_at_every_stage() {
    let bench = bench();
    bench.backend.prepare(artifact("http-probe"), &TenantId::new("a").unwrap()).await.unwrap();
    for path in ["/sleep?ms=3600000", "/spin", "/spin-after", "/drip?n=1000&ms=3600000", "/large?n=1000000000"] {
        let (mut call, exchange, _response) = handler(get(path));
        call.request.budget.fuel = u64::MAX / 2;
        let cancellation = suite::cancellation(&call, Some(Duration::from_millis(20)));
        let contained = bench.run_with(call, cancellation).await;
        assert_eq!(contained.report.outcome, ExecutionOutcome::DeadlineExceeded, "{path}");
        assert!(exchange.is_guest_gone());
    }
}

#[tokio::test]
async fn a_client_that_goes_is_an_error_of_the_stream_and_none_of_the_host() {
    let bench = bench();
    let (mut call, _exchange, response) = handler(get("/large?n=100000000"));
    call.request.budget.fuel = u64::MAX / 2;
    drop(response);
    let contained = bench.run(call).await;
    assert!(matches!(contained.report.outcome, ExecutionOutcome::Returned(_)), "{:?}", contained.report);
}

#[tokio::test]
async fn a_run_that_is_dropped_at_any_poll_leaves_nothing() {
    let bench = bench();
    let probe = artifact("http-probe");
    bench.backend.prepare(probe, &TenantId::new("a").unwrap()).await.unwrap();
    let mut whole = false;
    for polls in 1_u32.. {
        let (pieces, body) = fed();
        for _ in 0..3 {
            pieces.send(data("piece")).await.unwrap();
        }
        let (call, exchange, response) = handler(sent("POST", "/echo", body));
        let cancellation = suite::cancellation(&call, None);
        let mut run = bench.backend.invoke_contained(call.artifact, call.request, cancellation);
        let mut pieces = Some(pieces);
        for poll in 0..polls {
            whole = poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_ready())).await;
            if whole {
                break;
            }
            // The last poll but one ends the request, so that the run can come to its end.
            if poll > 3 {
                pieces = None;
            }
        }
        drop((run, pieces));
        assert!(exchange.is_guest_gone() || exchange.take().is_some());
        bench.until_quiet().await;
        bench.until_idle().await;
        if let Ok(response) = response.await {
            let got = read(response).await;
            let finished = got.text() == "piecepiecepiece" && got.end == Ok(());
            let cut_off = !whole && got.end == Err(HttpBodyError::Incomplete);
            assert!(finished || cut_off, "after {polls} polls: {got:?}");
        }
        if whole {
            break;
        }
        assert!(polls < 100_000, "it comes to its end");
    }
    bench.assert_healthy().await;
}
