//! Requests of a handler: what the port is asked, what the guest gets, and how many there may be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt as _, pending};
use http::Response;
use http_body_util::{BodyExt as _, Collected};
use latent_core::ExecutionOutcome;
use latent_core::trace::TraceParent;
use latent_executor::{ExecutionBackend as _, HttpBody, HttpBodyError, OutgoingError, OutgoingHttp, OutgoingRequest};
use latent_wasmtime::{EngineSettings, HttpLimits};

use super::support::{bench_to, data, fed, full, get, handler, sent};
use crate::support::{Bench, bench};

/// What the port answers, and what it was asked.
#[derive(Default)]
pub struct Far {
    answer: Mutex<Option<OutgoingError>>,
    asked: Mutex<Vec<String>>,
    parents: Mutex<Vec<Option<String>>>,
    dropped: Arc<AtomicUsize>,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl OutgoingHttp for Far {
    fn send(&self, outgoing: OutgoingRequest) -> BoxFuture<'static, Result<Response<HttpBody>, OutgoingError>> {
        let request = &outgoing.request;
        let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
        let tenant = outgoing.context.principal.tenant.as_str();
        self.asked.lock().unwrap().push(format!("{} {} {host:?} {tenant}", request.method(), request.uri()));
        let parent = request.headers().get("traceparent").map(|parent| parent.to_str().unwrap().to_owned());
        self.parents.lock().unwrap().push(parent);
        if let Some(error) = self.answer.lock().unwrap().clone() {
            return async move { Err(error) }.boxed();
        }
        let dropped = Dropped(self.dropped.clone());
        let path = request.uri().path().to_owned();
        async move {
            match path.as_str() {
                "/never" => {
                    pending::<()>().await;
                    drop(dropped);
                    unreachable!("it never comes")
                }
                "/broken" => {
                    let (pieces, body) = fed();
                    pieces.try_send(data("half")).unwrap();
                    pieces.try_send(Err(HttpBodyError::Stalled)).unwrap();
                    Ok(Response::new(body))
                }
                "/open" => {
                    let (pieces, body) = fed();
                    Ok(Response::new(body.map_frame(move |frame| (frame, &pieces).0).boxed_unsync()))
                }
                _ => match outgoing.request.into_body().collect().await.map(Collected::to_bytes) {
                    Ok(whole) if !whole.is_empty() => Ok(Response::new(full("a body came"))),
                    Ok(_) => Ok(Response::builder().status(203).body(full("from afar")).unwrap()),
                    Err(_) => Ok(Response::new(full("half a body came"))),
                },
            }
        }
        .boxed()
    }
}

fn bench_and_far(http: HttpLimits) -> (Bench, Arc<Far>) {
    let far = Arc::new(Far::default());
    (bench_to(EngineSettings { http, ..EngineSettings::for_cells(4) }, far.clone()), far)
}

#[tokio::test]
async fn a_request_goes_through_the_port_with_its_activation_and_is_counted() {
    let (bench, far) = bench_and_far(HttpLimits::default());
    let went = bench.serve(get("/fetch?url=https://far.example:8443/a?b")).await;
    assert_eq!((went.got().status, went.got().text()), (203, "from afar"));
    assert_eq!(went.contained.report.consumption.outbound_requests, 1);
    let (call, ..) = handler(get("/"));
    let tenant = &call.context.principal.tenant;
    let asked = far.asked.lock().unwrap();
    assert_eq!(*asked, [format!("GET https://far.example:8443/a?b Some(\"far.example:8443\") {tenant}")]);
}

#[tokio::test]
async fn a_request_names_the_activations_span_where_its_call_belongs_to_a_trace() {
    let (bench, far) = bench_and_far(HttpLimits::default());
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut spans = Vec::new();
    for text in [Some(caller), Some("nonsense"), None] {
        let fetch = get("/fetch?url=http://far.example/");
        let went = bench.serve_changed(fetch, |call| {
            let mut context = (*call.context).clone();
            context.trace_parent = text.map(Into::into);
            spans.push(TraceParent::read(caller).unwrap().of_activation(&context.activation_id).to_string());
            call.request.context = Arc::new(context);
        });
        assert_eq!(went.await.got().status, 203);
    }
    assert_eq!(*far.parents.lock().unwrap(), [Some(spans.remove(0)), None, None]);
}

#[tokio::test]
async fn every_request_is_refused_where_nobody_makes_them() {
    let went = bench().serve(get("/fetch?url=https://far.example/")).await;
    assert_eq!((went.got().status, went.got().text()), (502, "HttpRequestDenied"));
    assert_eq!(went.contained.report.consumption.outbound_requests, 1, "an attempt counts");
}

#[tokio::test]
async fn every_error_of_the_port_has_a_code_for_the_guest() {
    let (bench, far) = bench_and_far(HttpLimits::default());
    for (error, code) in [
        (OutgoingError::Denied, "HttpRequestDenied"),
        (OutgoingError::AddressProhibited, "DestinationIpProhibited"),
        (OutgoingError::UriInvalid, "HttpRequestUriInvalid"),
        (OutgoingError::Unsupported, "HttpRequestMethodInvalid"),
        (OutgoingError::NameUnknown, "DnsError"),
        (OutgoingError::NameTimeout, "DnsTimeout"),
        (OutgoingError::ConnectionTimeout, "ConnectionTimeout"),
        (OutgoingError::ConnectionRefused, "ConnectionRefused"),
        (OutgoingError::ConnectionTerminated, "ConnectionTerminated"),
        (OutgoingError::ConnectionLimit, "ConnectionLimitReached"),
        (OutgoingError::TlsFailed, "TlsProtocolError"),
        (OutgoingError::CertificateRefused, "TlsCertificateError"),
        (OutgoingError::ResponseTimeout, "HttpResponseTimeout"),
        (OutgoingError::RequestTooLarge { limit: 7 }, "HttpRequestBodySize(Some(7))"),
        (OutgoingError::ResponseHeadTooLarge, "HttpResponseHeaderSectionSize"),
        (OutgoingError::Protocol, "HttpProtocolError"),
        (OutgoingError::Unavailable, "DestinationUnavailable"),
    ] {
        *far.answer.lock().unwrap() = Some(error);
        let went = bench.serve(get("/fetch?url=https://far.example/")).await;
        assert!(went.got().text().starts_with(code), "{} instead of {code}", went.got().text());
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_does_not_look_complete() {
    let (bench, _far) = bench_and_far(HttpLimits::default());
    let went = bench.serve(get("/fetch?url=http://far.example/broken")).await;
    assert_eq!((went.got().text(), went.got().end), ("half", Err(HttpBodyError::Incomplete)));
}

#[tokio::test]
async fn a_body_is_sent_on() {
    let (bench, _far) = bench_and_far(HttpLimits::default());
    let went = bench.serve(sent("POST", "/post?url=http://far.example/", full("some bytes"))).await;
    assert_eq!(went.got().text(), "a body came");
}

#[tokio::test]
async fn requests_under_way_are_bounded_and_a_place_comes_back_when_a_response_has_ended() {
    let (bench, far) = bench_and_far(HttpLimits { outgoing_in_flight_max: 3, ..HttpLimits::default() });
    let went = bench.serve(get("/fetch-many?n=5&url=http://far.example/open")).await;
    assert_eq!(went.got().text(), "3 200\n2 ConnectionLimitReached");
    assert_eq!(went.contained.report.consumption.outbound_requests, 5);
    assert_eq!(far.asked.lock().unwrap().len(), 3, "what has no place is not handed over");
}

#[tokio::test]
async fn requests_of_an_activation_are_bounded_in_all() {
    let (bench, far) = bench_and_far(HttpLimits { outgoing_requests_max: 2, ..HttpLimits::default() });
    let went = bench.serve(get("/fetch-many?n=4&url=http://far.example/")).await;
    let text = went.got().text();
    assert!(text.starts_with("2 203\n2 InternalError(Some(") && text.contains("outgoing_requests_max"), "{text}");
    assert_eq!(far.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_ends_with_its_activation() {
    let (bench, far) = bench_and_far(HttpLimits::default());
    let went = bench.serve(get("/fetch-forget?url=http://far.example/never")).await;
    assert!(matches!(went.contained.report.outcome, ExecutionOutcome::Returned(_)));
    assert_eq!(went.got().text(), "asked");
    assert_eq!((bench.backend.resources().outgoing_requests, far.dropped.load(Ordering::SeqCst)), (0, 1));
}
