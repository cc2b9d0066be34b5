//! HTTP/2, which is spoken where a TLS server chooses it.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderMap, Request, Response, Version};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use latent_executor::{HttpBodyError, OutgoingError};
use latent_http::egress::{Client, EgressConfig};
use tokio_rustls::TlsAcceptor;

use super::servers::serving;
use super::support::{Names, empty, full, get, loopback, read, send, soon, until_closed};
use super::tls::Authority;

type Answer = Response<UnsyncBoxBody<bytes::Bytes, std::io::Error>>;

fn body(bytes: impl Into<bytes::Bytes>) -> UnsyncBoxBody<bytes::Bytes, std::io::Error> {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

async fn answer(request: Request<Incoming>) -> Result<Answer, std::io::Error> {
    let path = request.uri().path().to_owned();
    let mut response = Response::new(body(""));
    match path.as_str() {
        "/uri" => {
            let text = format!("{:?} {} {:?}", request.version(), request.uri(), request.headers().get("host"));
            *response.body_mut() = body(text);
        }
        "/echo" => *response.body_mut() = request.into_body().map_err(std::io::Error::other).boxed_unsync(),
        "/fields" => {
            let fields = (0..200).map(|field| format!("field-{field}").parse().expect("a name"));
            *response.headers_mut() =
                fields.map(|name: http::HeaderName| (name, "a".parse().expect("a value"))).collect();
        }
        "/bytes" => {
            let large = "a".repeat(20_000).parse().expect("a value");
            response.headers_mut().insert("large", large);
        }
        "/cut" => {
            let rest = futures_util::stream::once(async {
                let _ = request.into_body().collect().await;
                Err(std::io::Error::other("enough"))
            });
            let first = futures_util::stream::iter([Ok(Frame::data("ab".into()))]);
            *response.body_mut() = StreamBody::new(first.chain(rest)).boxed_unsync();
        }
        "/trailers" => {
            let trailers = HeaderMap::from_iter([("sum".parse().expect("a name"), "1".parse().expect("a value"))]);
            let frames = [Ok(Frame::data("ab".into())), Ok(Frame::trailers(trailers))];
            *response.body_mut() = StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync();
        }
        _ => std::future::pending().await,
    }
    Ok(response)
}

async fn server(authority: &Authority) -> u16 {
    let acceptor = TlsAcceptor::from(Arc::new(authority.server("a.example", 4000, &[b"h2", b"http/1.1"])));
    let address = serving(move |socket| {
        let acceptor = acceptor.clone();
        async move {
            let socket = acceptor.accept(socket).await.expect("a client that trusts");
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            // How the connection ends is the client's business.
            let _ = served.serve_connection(TokioIo::new(socket), service_fn(answer)).await;
        }
    });
    address.await.port()
}

fn client(authority: &Authority, mut config: EgressConfig) -> Client {
    let names = Names::new(&[("a.example", &[&["127.0.0.1"]])]);
    config.ca_file = Some(authority.file());
    Client::with_resolver(config, names).expect("a client")
}

#[tokio::test]
async fn the_authority_is_that_of_the_uri() {
    let authority = Authority::new();
    let (port, client) = (server(&authority).await, client(&authority, EgressConfig::default()));
    let request = Request::get(format!("https://A.example.:{port}/uri")).header("host", "evil.example").body(empty());
    let response = send(&client, request.expect("a request"), loopback(port)).await.expect("an answer");
    assert_eq!(response.version(), Version::HTTP_2);
    let expected = format!("HTTP/2.0 https://a.example:{port}/uri None");
    assert_eq!(read(response).await.expect("whole"), expected);
    until_closed(&client).await;
}

#[tokio::test]
async fn bodies_and_trailers_pass() {
    let authority = Authority::new();
    let (port, client) = (server(&authority).await, client(&authority, EgressConfig::default()));
    let sent = bytes::Bytes::from(vec![7; 3 << 20]);
    let request = Request::post(format!("https://a.example:{port}/echo")).body(full(sent.clone())).expect("a request");
    let response = send(&client, request, loopback(port)).await.expect("an answer");
    assert_eq!(read(response).await.expect("whole"), sent);
    let response = send(&client, get(&format!("https://a.example:{port}/trailers")), loopback(port)).await;
    let all = soon(response.expect("an answer").into_body().collect()).await.expect("whole");
    assert_eq!(all.trailers().expect("trailers")["sum"], "1");
    until_closed(&client).await;
}

#[tokio::test]
async fn the_bounds_are_those_of_http1() {
    let authority = Authority::new();
    let port = server(&authority).await;
    let bounded = EgressConfig {
        response_head_bytes_max: 16 << 10,
        response_body_bytes_max: 4,
        request_body_bytes_max: 8,
        ..EgressConfig::default()
    };
    let client = client(&authority, bounded);
    for path in ["fields", "bytes"] {
        let answer = send(&client, get(&format!("https://a.example:{port}/{path}")), loopback(port)).await;
        assert_eq!(answer.err(), Some(OutgoingError::ResponseHeadTooLarge), "{path}");
    }
    let echo = |body| Request::post(format!("https://a.example:{port}/echo")).body(body).expect("a request");
    let response = send(&client, echo(full("abcde")), loopback(port)).await.expect("a head");
    assert_eq!(read(response).await, Err(HttpBodyError::TooLarge { limit: 4 }));
    let answer = send(&client, echo(full("abcdefghi")), loopback(port)).await;
    assert_eq!(answer.err(), Some(OutgoingError::RequestTooLarge { limit: 8 }));
    until_closed(&client).await;
}

#[tokio::test]
async fn a_body_that_is_reset_is_incomplete_and_silence_is_noticed() {
    let authority = Authority::new();
    let port = server(&authority).await;
    let patient = client(&authority, EgressConfig::default());
    let (ending, end) = tokio::sync::oneshot::channel::<()>();
    let frames = futures_util::stream::once(async move {
        let _ = end.await;
        Ok(Frame::data("end".into()))
    });
    let request = Request::post(format!("https://a.example:{port}/cut")).body(StreamBody::new(frames).boxed_unsync());
    let response = send(&patient, request.expect("a request"), loopback(port)).await;
    let mut body = response.expect("a head").into_body();
    assert_eq!(soon(body.frame()).await.expect("a piece").expect("good").into_data().expect("data"), "ab");
    ending.send(()).expect("a request that is sent");
    assert_eq!(soon(body.frame()).await.expect("an end").err(), Some(HttpBodyError::Incomplete));
    let first_byte_timeout = std::time::Duration::from_millis(50);
    let impatient = client(&authority, EgressConfig { first_byte_timeout, ..EgressConfig::default() });
    let answer = send(&impatient, get(&format!("https://a.example:{port}/never")), loopback(port)).await;
    assert_eq!(answer.err(), Some(OutgoingError::ResponseTimeout));
    drop(body);
    until_closed(&patient).await;
    until_closed(&impatient).await;
}
