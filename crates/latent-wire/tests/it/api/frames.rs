//! The bodies of Invoke in gRPC, frame by frame: the usual one, and all others.

use std::convert::Infallible;
use std::io;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, StreamBody};
use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::invoke_response::Outcome;
use prost::Message as _;
use tonic::Code;
use tonic::service::Routes;
use tower::{Service, ServiceExt as _};

use crate::support::{Node, WATCHDOG, call, node};

type Frames = Vec<io::Result<Frame<Bytes>>>;

/// What a call was answered with.
#[derive(Debug, PartialEq)]
struct Answered {
    code: Code,
    message: String,
    result: Option<Bytes>,
}

/// A message as it is on the wire.
fn framed(flag: u8, message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(flag);
    bytes.put_u32(u32::try_from(message.len()).unwrap());
    bytes.put_slice(message);
    bytes.freeze()
}

fn usual() -> Bytes {
    framed(0, &call("").encode_to_vec())
}

fn data(pieces: &[Bytes]) -> Frames {
    pieces.iter().map(|piece| Ok(Frame::data(piece.clone()))).collect()
}

fn request<B>(body: B, token: &str) -> Request<B> {
    Request::post("/latent.v1.Invocation/Invoke")
        .version(http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {token}"))
        .body(body)
        .unwrap()
}

async fn asked<S, B>(service: S, body: impl Body<Data = Bytes, Error = io::Error> + Send + Unpin + 'static) -> Answered
where
    S: Service<Request<axum::body::Body>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let answer = async {
        let Ok(response) = service.oneshot(request(axum::body::Body::new(body), "invoke")).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "application/grpc");
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap();
        let ended: HeaderMap = body.trailers().cloned().unwrap_or(head.headers);
        let message = ended.get("grpc-message").map_or("", |message| message.to_str().unwrap()).to_owned();
        let bytes = body.to_bytes();
        let result = bytes.get(5..).and_then(|message| match proto::InvokeResponse::decode(message).unwrap().outcome {
            Some(Outcome::Result(result)) => Some(result),
            _ => None,
        });
        Answered { code: Code::from_bytes(ended["grpc-status"].as_bytes()), message, result }
    };
    tokio::time::timeout(WATCHDOG, answer).await.expect("an answer")
}

/// What the listener answers, which is what the generated service does.
async fn answered(node: &Node, frames: impl Fn() -> Frames) -> Answered {
    let body = || StreamBody::new(stream::iter(frames()));
    let routes = node.routes(Listener::Invoke);
    let by_service = asked(routes.clone().into_axum_router(), body()).await;
    let by_listener = asked(node.edge(Listener::Invoke, routes), body()).await;
    assert_eq!(by_listener, by_service);
    by_listener
}

#[tokio::test]
async fn a_message_is_taken_however_it_is_cut() {
    let node = node(1);
    let whole = usual();
    let (prefix, message) = (whole.slice(..5), whole.slice(5..));
    let bytes: Vec<_> = (0..whole.len()).map(|at| whole.slice(at..=at)).collect();
    let empty = Bytes::new();
    let cuts: [&[Bytes]; 5] = [
        std::slice::from_ref(&whole),
        &[whole.clone(), empty.clone(), empty.clone()],
        &[empty, whole.clone()],
        &[prefix, message],
        &bytes,
    ];
    for cut in cuts {
        let answer = answered(&node, || data(cut)).await;
        assert_eq!((answer.code, answer.result.as_deref()), (Code::Ok, Some(&b"[\"hi\"]"[..])), "{cut:?}");
    }
    let with_trailers = || vec![Ok(Frame::data(usual())), Ok(Frame::trailers(HeaderMap::new()))];
    assert_eq!(answered(&node, with_trailers).await.code, Code::Ok);
    node.settles().await;
}

#[tokio::test]
async fn a_body_that_is_not_one_message_is_refused_as_by_the_generated_service() {
    let node = node(1);
    let mut long = BytesMut::from(&framed(0, b"")[..]);
    long[1..5].copy_from_slice(&u32::MAX.to_be_bytes());
    let twice = [&usual()[..], &framed(0, b"\xff")[..]].concat();
    let refused: [(&str, &[Bytes], Code); 9] = [
        ("nothing", &[], Code::Internal),
        ("a part of the prefix", &[usual().slice(..3)], Code::Internal),
        ("a part of the message", &[usual().slice(..9)], Code::Internal),
        ("a message that says it is compressed", &[framed(1, b"x")], Code::Internal),
        ("an unknown flag", &[framed(2, b"x")], Code::Internal),
        ("more bytes than are taken", &[long.freeze()], Code::OutOfRange),
        ("what is no message", &[framed(0, b"\xff\xff")], Code::Internal),
        ("what is no message, in a frame that follows", &[usual(), framed(0, b"\xff")], Code::Internal),
        ("what is no message, in the same frame", &[twice.into()], Code::Internal),
    ];
    for (what, frames, code) in refused {
        let answer = answered(&node, || data(frames)).await;
        assert_eq!((answer.code, answer.message.is_empty(), answer.result), (code, false, None), "{what}");
    }
    let broken = || vec![Ok(Frame::data(usual())), Err(io::Error::other("the wire was cut"))];
    assert_ne!(answered(&node, broken).await.code, Code::Ok);
    let journal = node.manager.parts().journal.snapshot();
    assert_eq!((journal.active, journal.terminal), (0, 0));
    node.settles().await;
}

#[tokio::test]
async fn the_usual_call_needs_no_route_and_any_other_is_left_to_them() {
    let node = node(1);
    let edge = || node.edge(Listener::Invoke, Routes::default());
    let of = |frames: &[Bytes]| StreamBody::new(stream::iter(data(frames)));
    assert_eq!(asked(edge(), of(&[usual()])).await.code, Code::Ok);
    let cut = [usual().slice(..9), usual().slice(9..)];
    assert_eq!(asked(edge(), of(&cut)).await.code, Code::Unimplemented);
    node.settles().await;
}

#[tokio::test]
async fn the_message_of_a_caller_who_is_not_known_is_not_read() {
    let node = node(1);
    let never = StreamBody::new(stream::poll_fn(|_| -> std::task::Poll<Option<io::Result<Frame<Bytes>>>> {
        panic!("the body is read")
    }));
    let edge = node.edge(Listener::Invoke, node.routes(Listener::Invoke));
    let Ok(response) = edge.oneshot(request(never, "nobody's")).await;
    let code = Code::from_bytes(response.headers()["grpc-status"].as_bytes());
    assert_eq!(code, Code::Unauthenticated);
}
