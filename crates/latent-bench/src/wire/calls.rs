//! Callers: one connection each, one call after the other.
//!
//! Invariant: an answer that is not the argument that was sent ends the process.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use latent_wire::proto::InvokeRequest;
use latent_wire::proto::invocation_client::InvocationClient;
use latent_wire::proto::invoke_response::Outcome;
use tokio::net::TcpStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};

use super::load::Protocol;
use super::{FUNCTION, PAYLOAD, RESULT, contract, request};

/// A caller with its connection.
#[expect(clippy::large_enum_variant, reason = "there are few callers, and each lives as long as a series")]
pub enum Caller {
    /// By gRPC.
    Grpc { client: Box<InvocationClient<Channel>>, message: InvokeRequest, token: MetadataValue<Ascii> },
    /// By HTTP/1.1.
    Json { connection: SendRequest<Full<Bytes>>, path: String, host: HeaderValue, token: HeaderValue },
}

impl Caller {
    /// Connects to `address`, to call the service of the fixture `guest`.
    pub async fn connect(protocol: Protocol, address: SocketAddr, guest: &str, token: &str) -> Self {
        let token = format!("Bearer {token}");
        match protocol {
            Protocol::Grpc => {
                let endpoint = Endpoint::try_from(format!("http://{address}")).expect("an address makes a URL");
                let channel = endpoint.connect().await.expect("the server listens");
                let token = token.parse().expect("a token is visible ASCII");
                Self::Grpc { client: Box::new(InvocationClient::new(channel)), message: request(guest), token }
            }
            Protocol::Json => {
                let stream = TcpStream::connect(address).await.expect("the server listens");
                stream.set_nodelay(true).expect("a socket takes the option");
                let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
                let (connection, driver) = handshake.await.expect("a connection begins");
                tokio::spawn(async { driver.await.expect("the connection holds") });
                let path = format!("/v1/invoke/{guest}/{}/{FUNCTION}", contract(guest).replace('/', "%2F"));
                let value = |text: String| HeaderValue::try_from(text).expect("visible ASCII");
                Self::Json { connection, path, host: value(address.to_string()), token: value(token) }
            }
        }
    }

    /// One call.
    pub async fn call(&mut self) {
        match self {
            Self::Grpc { client, message, token } => {
                let mut request = tonic::Request::new(message.clone());
                request.metadata_mut().insert("authorization", token.clone());
                let answer = client.invoke(request).await.expect("the call is answered").into_inner();
                let returned = matches!(&answer.outcome, Some(Outcome::Result(bytes)) if bytes == RESULT);
                assert!(returned, "{answer:?}");
            }
            Self::Json { connection, path, host, token } => {
                let request = Request::post(path.as_str())
                    .header(header::HOST, host.clone())
                    .header(header::AUTHORIZATION, token.clone())
                    .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
                    .body(Full::new(Bytes::from_static(PAYLOAD)))
                    .expect("a request is well-formed");
                connection.ready().await.expect("the connection holds");
                let answer = connection.send_request(request).await.expect("the call is answered");
                let status = answer.status();
                let body = answer.into_body().collect().await.expect("the answer is whole").to_bytes();
                assert!(status.is_success() && body == RESULT, "{status}: {body:?}");
            }
        }
    }
}
