//! The transport of these tests: requests with bodies from channels, and responses with all that came of them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Empty, Full};
use latent_core::{FunctionTarget, Payload};
use latent_executor::{
    BoundedLogSink, ContainedExecution, ExecutionBackend as _, ExecutionCancellation, ExecutionCleanup, HttpBody,
    HttpBodyError, HttpExchange, NoSecrets, OutgoingHttp, suite,
};
use latent_wasmtime::{EngineSettings, Ports, Preparation, WasmtimeBackend};
use tokio::sync::{mpsc, oneshot};

use crate::support::{Bench, Call, artifact, request_of};

/// What a body of these tests consists of.
pub type Piece = Result<Frame<Bytes>, HttpBodyError>;

/// A body that comes from a channel, and stalls while nothing is in it.
pub struct Fed(pub mpsc::Receiver<Piece>);

impl Body for Fed {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(cx)
    }
}

/// A body, and where its pieces go in.
pub fn fed() -> (mpsc::Sender<Piece>, HttpBody) {
    let (sender, pieces) = mpsc::channel(64);
    (sender, Fed(pieces).boxed_unsync())
}

/// A piece of data.
#[expect(clippy::unnecessary_wraps, reason = "the pieces of a body are results")]
pub fn data(bytes: impl Into<Bytes>) -> Piece {
    Ok(Frame::data(bytes.into()))
}

pub fn empty() -> HttpBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub fn full(bytes: impl Into<Bytes>) -> HttpBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A GET of `path`.
pub fn get(path: &str) -> Request<HttpBody> {
    sent("GET", path, empty())
}

/// A request with a body.
pub fn sent(method: &str, path: &str, body: HttpBody) -> Request<HttpBody> {
    let request = Request::builder().method(method).uri(format!("https://probe.example{path}"));
    request.body(body).expect("tests write sound requests")
}

/// A call of the handler, and where its response comes.
pub fn handler(request: Request<HttpBody>) -> (Call, Arc<HttpExchange>, oneshot::Receiver<Response<HttpBody>>) {
    let (exchange, response) = HttpExchange::new(request);
    let mut call = request_of(&artifact("http-probe"), "a:b/c#handle", "[]");
    call.request.target = FunctionTarget::http_handler();
    call.request.payload = Payload::octets(Bytes::new());
    call.request.exchange = Some(exchange.clone());
    (call, exchange, response)
}

/// What came of a response.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub trailers: Option<HeaderMap>,
    pub end: Result<(), HttpBodyError>,
}

impl Got {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("these bodies are text")
    }
}

/// Reads a response to its end.
pub async fn read(response: Response<HttpBody>) -> Got {
    let (head, mut body) = response.into_parts();
    let mut got =
        Got { status: head.status.as_u16(), headers: head.headers, body: vec![], trailers: None, end: Ok(()) };
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(bytes)) => got.body.extend_from_slice(&bytes),
            Ok(Err(other)) => got.trailers = other.into_trailers().ok(),
            Err(error) => {
                got.end = Err(error);
                assert!(body.frame().await.is_none(), "nothing comes after an error");
                break;
            }
        }
    }
    got
}

/// How a request went: the run, and the response if there was one.
pub struct Went {
    pub contained: ContainedExecution,
    pub got: Option<Got>,
    /// Bytes of the request's body and of the response's.
    pub bytes: (u64, u64),
}

impl Went {
    #[track_caller]
    pub fn got(&self) -> &Got {
        self.got.as_ref().unwrap_or_else(|| panic!("there was no response: {:?}", self.contained.report))
    }
}

/// A backend whose guests make their requests through `outgoing`.
pub fn bench_to(settings: EngineSettings, outgoing: Arc<dyn OutgoingHttp>) -> Bench {
    let sink = Arc::new(BoundedLogSink::new(4 << 20));
    let ports = Ports { secrets: Arc::new(NoSecrets), outgoing, sink: sink.clone() };
    let backend = WasmtimeBackend::with_ports(settings, Preparation::default(), ports);
    Bench { backend: Arc::new(backend.expect("this machine runs the engine")), sink }
}

impl Bench {
    /// Serves one request and reads its response meanwhile; asserts proof, and that nothing is left.
    pub async fn serve(&self, request: Request<HttpBody>) -> Went {
        self.serve_changed(request, |_| ()).await
    }

    /// The same, with the call changed first.
    pub async fn serve_changed(&self, request: Request<HttpBody>, change: impl FnOnce(&mut Call)) -> Went {
        let (mut call, exchange, response) = handler(request);
        change(&mut call);
        let cancellation = suite::cancellation(&call, None);
        self.serve_with(call, exchange, response, cancellation).await
    }

    /// The same, with `cancellation`.
    pub async fn serve_with(
        &self,
        call: Call,
        exchange: Arc<HttpExchange>,
        response: oneshot::Receiver<Response<HttpBody>>,
        cancellation: ExecutionCancellation,
    ) -> Went {
        let reading: BoxFuture<'_, Option<Got>> = Box::pin(async {
            match response.await {
                Ok(response) => Some(read(response).await),
                Err(_none) => None,
            }
        });
        let run = self.backend.invoke_contained(call.artifact, call.request, cancellation);
        let (contained, got) = tokio::join!(run, reading);
        assert_eq!(contained.cleanup, ExecutionCleanup::Reusable, "{:?}", contained.report);
        assert!(exchange.is_guest_gone(), "the exchange knows that the guest is gone");
        self.until_idle().await;
        Went { contained, got, bytes: exchange.bytes() }
    }

    /// Nothing is left but requests that were dropped a moment ago, which go, too.
    pub async fn until_idle(&self) {
        for _ in 0..10_000 {
            let mut left = self.backend.resources();
            if left.is_idle() {
                return;
            }
            left.outgoing_requests = 0;
            assert!(left.is_idle(), "{left:?}");
            tokio::task::yield_now().await;
        }
        panic!("requests are left: {:?}", self.backend.resources());
    }
}
