//! A client against a server that answers from a script: what goes over the wire and what comes back.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_stream::StreamExt as _;
use tonic::metadata::MetadataMap;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status, Streaming};

use super::super::*;
use crate::grpc::carrying;
use crate::proto::invocation_server::{Invocation, InvocationServer};
use crate::proto::publish_request::Part;
use crate::proto::releases_server::{Releases, ReleasesServer};
use crate::proto::*;

/// Answers each call in the one way that its test is about.
#[derive(Clone)]
struct Script;

fn authorized<T>(request: &Request<T>) -> Result<(), Status> {
    match request.metadata().get("authorization").map(tonic::metadata::MetadataValue::as_bytes) {
        Some(b"Bearer latent_right") => Ok(()),
        _ => Err(failing("unauthenticated", Code::Unauthenticated)),
    }
}

fn failing(code: &str, status: Code) -> Status {
    let error = Error { code: code.to_owned(), activation_id: "a-1".to_owned(), ..Default::default() };
    carrying(status, "", error, MetadataMap::new())
}

#[tonic::async_trait]
impl Invocation for Script {
    type WatchActivationStream = BoxStream<'static, Result<ActivationEvent, Status>>;

    async fn invoke(&self, request: Request<InvokeRequest>) -> Result<Response<InvokeResponse>, Status> {
        authorized(&request)?;
        let asked = request.into_inner();
        let outcome = Some(invoke_response::Outcome::Result(asked.payload));
        Ok(Response::new(InvokeResponse { activation_id: asked.activation_id, outcome, ..Default::default() }))
    }

    async fn cancel(&self, _: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        Err(failing("not-found", Code::NotFound))
    }

    async fn get_activation(&self, _: Request<GetActivationRequest>) -> Result<Response<Activation>, Status> {
        Err(Status::unavailable("a proxy says so"))
    }

    async fn watch_activation(
        &self,
        request: Request<WatchActivationRequest>,
    ) -> Result<Response<Self::WatchActivationStream>, Status> {
        let after = request.into_inner().after_sequence;
        let event = move |sequence| Ok(ActivationEvent { sequence, ..Default::default() });
        let events = (after + 1..=3).map(event);
        Ok(Response::new(Box::pin(stream::iter(events.chain([Err(failing("unavailable", Code::Unavailable))])))))
    }

    async fn list_activations(
        &self,
        _: Request<ListActivationsRequest>,
    ) -> Result<Response<ListActivationsResponse>, Status> {
        let activation_id = "x".repeat(5 << 20);
        let activations = vec![ActivationSummary { activation_id, ..Default::default() }];
        Ok(Response::new(ListActivationsResponse { activations, ..Default::default() }))
    }
}

#[tonic::async_trait]
impl Releases for Script {
    async fn publish(&self, request: Request<Streaming<PublishRequest>>) -> Result<Response<PublishResponse>, Status> {
        let mut parts = request.into_inner();
        let Some(Ok(PublishRequest { part: Some(Part::Head(head)) })) = parts.next().await else {
            return Err(failing("invalid-argument", Code::InvalidArgument));
        };
        let mut component = BytesMut::new();
        while let Some(part) = parts.message().await? {
            let Some(Part::Chunk(chunk)) = part.part else { return Err(failing("internal", Code::Internal)) };
            component.extend_from_slice(&chunk);
        }
        let size = component.len() as u64;
        assert_eq!(head.size, size);
        let release = Release { component_bytes: size, manifest: head.manifest, ..Default::default() };
        Ok(Response::new(PublishResponse { release: Some(release), created: true }))
    }

    async fn get_release(&self, _: Request<GetReleaseRequest>) -> Result<Response<Release>, Status> {
        Err(failing("not-found", Code::NotFound))
    }

    async fn list_releases(&self, _: Request<ListReleasesRequest>) -> Result<Response<ListReleasesResponse>, Status> {
        Ok(Response::new(ListReleasesResponse::default()))
    }

    async fn delete_release(
        &self,
        _: Request<DeleteReleaseRequest>,
    ) -> Result<Response<DeleteReleaseResponse>, Status> {
        Ok(Response::new(DeleteReleaseResponse {}))
    }
}

async fn serve(tls: Option<ServerTlsConfig>) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls).expect("the certificates are usable");
    }
    let routes = server.add_service(InvocationServer::new(Script)).add_service(ReleasesServer::new(Script));
    tokio::spawn(routes.serve_with_incoming(TcpIncoming::from(listener)));
    address
}

fn client(url: String, token: &str, tls: Tls) -> Client {
    let token = Some(Token::parse(token).expect("a token"));
    let target = Target { invoke: url.clone(), control: url, token, tls, connect_timeout: CONNECT_TIMEOUT };
    Client::connect(target).expect("a target that can be used")
}

async fn plain(token: &str) -> Client {
    client(format!("http://{}", serve(None).await), token, Tls::default())
}

fn node(error: CallError) -> NodeError {
    match error {
        CallError::Node(node) => *node,
        other => panic!("it is not the node's: {other:?}"),
    }
}

#[tokio::test]
async fn the_token_goes_with_the_call_and_the_answer_comes_back() {
    let request = InvokeRequest { activation_id: "a-9".to_owned(), payload: "[1]".into(), ..Default::default() };
    let answer = plain("latent_right").await.invoke(request.clone()).await.expect("it is let in");
    assert_eq!(answer.activation_id, "a-9");
    assert_eq!(answer.outcome, Some(invoke_response::Outcome::Result("[1]".into())));
    let refused = node(plain("latent_wrong").await.invoke(request).await.expect_err("it is not let in"));
    assert_eq!(refused.error.code().as_str(), "unauthenticated");
}

#[tokio::test]
async fn an_error_of_the_node_is_told_from_one_of_a_proxy() {
    let client = plain("latent_right").await;
    let missing = node(client.cancel(CancelRequest::default()).await.expect_err("there is none"));
    assert_eq!((missing.error.code().as_str(), missing.activation_id.as_deref()), ("not-found", Some("a-1")));
    let proxys = client.get_activation(GetActivationRequest::default()).await.expect_err("there is none");
    assert!(matches!(&proxys, CallError::Transport(sentence) if sentence.contains("a proxy says so")), "{proxys:?}");
    let absent = client.get_inventory(GetInventoryRequest {}).await.expect_err("nobody serves it");
    assert!(matches!(absent, CallError::Transport(_)), "{absent:?}");
}

#[tokio::test]
async fn a_component_arrives_whole() {
    let component = Bytes::from(vec![7; 3 * CHUNK_BYTES + 5]);
    let head = PublishHead { manifest: "{}".to_owned(), ..Default::default() };
    let answer = plain("latent_right").await.publish(head, component.clone(), |_| ()).await.expect("it is taken");
    let release = answer.release.expect("it is kept");
    assert_eq!((release.component_bytes, release.manifest.as_str()), (component.len() as u64, "{}"));
}

#[tokio::test]
async fn events_come_in_order_and_the_error_that_ends_them_is_told() {
    let request = WatchActivationRequest { after_sequence: 1, ..Default::default() };
    let mut events = plain("latent_right").await.watch_activation(request).await.expect("it is watched");
    for sequence in [2, 3] {
        assert_eq!(events.next().await.expect("an event").map(|event| event.sequence), Some(sequence));
    }
    assert_eq!(node(events.next().await.expect_err("it breaks off")).error.code().as_str(), "unavailable");
    assert_eq!(events.next().await.expect("it has ended"), None);
}

#[tokio::test]
async fn an_answer_may_be_larger_than_the_librarys_default() {
    let client = plain("latent_right").await;
    let answer = client.list_activations(ListActivationsRequest::default()).await.expect("it is read");
    assert_eq!(answer.activations[0].activation_id.len(), 5 << 20);
}

/// An authority, and what it vouches for `localhost` and for a client with.
struct Authority {
    own: String,
    served: (String, String),
    caller: (String, String),
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("it signs itself");
        let signed = |name: &str| {
            let (key, params) = (KeyPair::generate().expect("a key"), CertificateParams::new(vec![name.to_owned()]));
            let certificate = params.expect("a name").signed_by(&key, &issuer).expect("the issuer signs");
            (certificate.pem(), key.serialize_pem())
        };
        Self { own: issuer.pem(), served: signed("localhost"), caller: signed("caller") }
    }

    async fn serve(&self) -> String {
        let identity = Identity::from_pem(&self.served.0, &self.served.1);
        let tls = ServerTlsConfig::new().identity(identity).client_ca_root(Certificate::from_pem(&self.own));
        format!("https://localhost:{}", serve(Some(tls)).await.port())
    }

    fn trusted(&self, caller: Option<&(String, String)>) -> Tls {
        Tls {
            authority: Some(self.own.clone().into_bytes()),
            identity: caller.map(|(certificate, key)| (certificate.clone().into_bytes(), key.clone().into_bytes())),
        }
    }
}

#[tokio::test]
async fn with_mutual_tls_both_sides_prove_who_they_are() {
    let (authority, other) = (Authority::new(), Authority::new());
    let url = authority.serve().await;
    let ask = |tls| {
        let client = client(url.clone(), "latent_right", tls);
        async move { client.list_releases(ListReleasesRequest::default()).await }
    };
    ask(authority.trusted(Some(&authority.caller))).await.expect("both are vouched for");
    let without = ask(authority.trusted(None)).await.expect_err("the caller proves nothing");
    assert!(!matches!(without, CallError::Node(_)), "{without:?}");
    let foreign = ask(authority.trusted(Some(&other.caller))).await.expect_err("another authority vouches");
    assert!(!matches!(foreign, CallError::Node(_)), "{foreign:?}");
    let distrusted = ask(other.trusted(Some(&authority.caller))).await.expect_err("the node proves nothing");
    assert!(matches!(&distrusted, CallError::Unreachable(reason) if reason.contains("certificate")), "{distrusted:?}");
}
