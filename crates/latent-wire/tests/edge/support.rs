//! A listener with a service that can be held, and peers that speak byte by byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::Response;
use http_body_util::BodyExt as _;
use latent_wire::listener::{Bound, Listener, ListenerConfig};
use latent_wire::tls::Tls;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};

/// Whatever should happen soon has happened by then, on the slowest machine too.
pub const SOON: Duration = Duration::from_secs(20);
/// A quiet time that is over quickly.
pub const QUIET: Duration = Duration::from_millis(400);

/// What the service does, told to the test.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// A request is held, or its response has begun.
    Began,
    /// The same was dropped before its end.
    Dropped,
    /// The body of a request failed, with this.
    Broke(String),
}

#[derive(Clone)]
pub struct Stage {
    pub gate: Arc<Semaphore>,
    told: mpsc::UnboundedSender<Told>,
}

struct TellDrop(Option<mpsc::UnboundedSender<Told>>);

impl Drop for TellDrop {
    fn drop(&mut self) {
        if let Some(told) = self.0.take() {
            let _ = told.send(Told::Dropped);
        }
    }
}

async fn echo(State(stage): State<Stage>, body: Body) -> Vec<u8> {
    let mut on_drop = TellDrop(Some(stage.told.clone()));
    let _ = stage.told.send(Told::Began);
    let read = body.collect().await;
    on_drop.0 = None;
    match read {
        Ok(body) => body.to_bytes().to_vec(),
        Err(error) => {
            let _ = stage.told.send(Told::Broke(error.to_string()));
            Vec::new()
        }
    }
}

async fn hold(State(stage): State<Stage>) -> &'static str {
    let mut on_drop = TellDrop(Some(stage.told.clone()));
    let _ = stage.told.send(Told::Began);
    stage.gate.acquire().await.expect("an open gate").forget();
    on_drop.0 = None;
    "released"
}

/// Never ends by itself.
async fn endless(State(stage): State<Stage>) -> Response<Body> {
    let on_drop = TellDrop(Some(stage.told.clone()));
    let _ = stage.told.send(Told::Began);
    let piece = Bytes::from(vec![b'x'; 64 << 10]);
    let pieces = stream::repeat(piece).map(move |piece| {
        let _held = &on_drop;
        Ok::<_, std::convert::Infallible>(piece)
    });
    Response::new(Body::from_stream(pieces))
}

/// A listener and what there is to be heard of its service.
pub struct Served {
    pub listener: Listener,
    pub address: SocketAddr,
    pub gate: Arc<Semaphore>,
    pub told: mpsc::UnboundedReceiver<Told>,
}

impl Served {
    /// What the service tells next.
    pub async fn told(&mut self) -> Told {
        soon(self.told.recv()).await.expect("the service lives")
    }

    pub async fn connect(&self) -> TcpStream {
        soon(TcpStream::connect(self.address)).await.expect("the listener listens")
    }
}

pub fn config() -> ListenerConfig {
    ListenerConfig::new(([127, 0, 0, 1], 0).into())
}

/// All quiet times short.
pub fn impatient() -> ListenerConfig {
    ListenerConfig {
        first_byte_timeout: QUIET,
        header_read_timeout: QUIET,
        idle_timeout: QUIET,
        body_stall_timeout: QUIET,
        write_stall_timeout: QUIET,
        ..config()
    }
}

pub fn serve(config: ListenerConfig) -> Served {
    serve_with(config, None)
}

pub fn serve_with(config: ListenerConfig, tls: Option<Arc<Tls>>) -> Served {
    let (tell, told) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let stage = Stage { gate: Arc::clone(&gate), told: tell };
    let router = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/echo", post(echo))
        .route("/hold", get(hold))
        .route("/endless", get(endless))
        .with_state(stage);
    let bound = Bound::new(config).expect("a free port");
    let address = bound.address();
    Served { listener: bound.serve(tls, router), address, gate, told }
}

pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(SOON, future).await.expect("it happens soon")
}

/// Everything until the other side closes, in whichever way.
pub async fn until_closed(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut all = Vec::new();
    // A reset is an end as well.
    let _ = soon(stream.read_to_end(&mut all)).await;
    all
}

/// One HTTP/1.1 request without a body on a connection of its own, and the whole answer.
pub async fn get_once(address: SocketAddr, path: &str) -> String {
    let mut stream = soon(TcpStream::connect(address)).await.expect("the listener listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("writable");
    String::from_utf8(until_closed(&mut stream).await).expect("text")
}

/// Sends an HTTP/1.1 request without a body and reads its answer, which is one of `/` or `/hold`.
pub async fn get_kept(stream: &mut TcpStream, path: &str, ends: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n").as_bytes()).await.expect("writable");
    answer_until(stream, ends).await;
}

/// Reads until what came ends with `ends`.
pub async fn answer_until(stream: &mut TcpStream, ends: &str) {
    let mut all = Vec::new();
    while !all.ends_with(ends.as_bytes()) {
        assert_ne!(soon(stream.read_buf(&mut all)).await.expect("readable"), 0, "{}", String::from_utf8_lossy(&all));
    }
}
