//! Requests, grants and a resolver that answers what a test says.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty, Full};
use latent_core::http::{HostPattern, OutgoingGrant, OutgoingScheme};
use latent_core::{ActivationId, ExecutionPolicy, Principal, PrincipalKind, RevisionPolicy, ServiceName, TenantId};
use latent_executor::{ActivationContext, HttpBody, HttpBodyError, OutgoingError, OutgoingHttp as _, OutgoingRequest};
use latent_http::egress::{Client, EgressConfig, EgressSnapshot, LookupHold, Resolver};

/// Loopback, where the servers of the tests are.
pub const LOOPBACK: &[&str] = &["127.0.0.0/8"];

/// Ends a test that hangs.
pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("in time")
}

pub fn grant(scheme: OutgoingScheme, host: &str, port: Option<u16>, networks: &[&str]) -> OutgoingGrant {
    OutgoingGrant {
        scheme,
        host: HostPattern::parse(host).expect(host),
        port,
        networks: networks.iter().map(|network| network.parse().expect(network)).collect(),
    }
}

/// Every host at `port` by either scheme, and loopback.
pub fn loopback(port: u16) -> Vec<OutgoingGrant> {
    [OutgoingScheme::Http, OutgoingScheme::Https].map(|scheme| grant(scheme, "*", Some(port), LOOPBACK)).into()
}

pub fn empty() -> HttpBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub fn full(bytes: impl Into<Bytes>) -> HttpBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub fn get(uri: &str) -> Request<HttpBody> {
    Request::get(uri).body(empty()).expect(uri)
}

/// A request as the backend hands it over.
pub fn asked(request: Request<HttpBody>, tenant: &str, grants: Vec<OutgoingGrant>) -> OutgoingRequest {
    let context = ActivationContext {
        activation_id: ActivationId::new("activation").expect("an id"),
        service: None,
        principal: Principal {
            tenant: TenantId::new(tenant).expect("an id"),
            subject: ServiceName::new("tester").expect("an id"),
            kind: PrincipalKind::User,
        },
        trace_parent: None,
        deadline: None,
        metadata: Vec::new(),
    };
    let execution = ExecutionPolicy { outgoing: grants.into(), ..ExecutionPolicy::default() };
    OutgoingRequest {
        request,
        connect_timeout: None,
        first_byte_timeout: None,
        between_bytes_timeout: None,
        context: Arc::new(context),
        policy: Arc::new(RevisionPolicy { execution, ..RevisionPolicy::default() }),
    }
}

/// Sends `request` for the tenant `a`.
pub async fn send(
    client: &Client,
    request: Request<HttpBody>,
    grants: Vec<OutgoingGrant>,
) -> Result<Response<HttpBody>, OutgoingError> {
    soon(client.send(asked(request, "a", grants))).await
}

pub async fn read(response: Response<HttpBody>) -> Result<Bytes, HttpBodyError> {
    soon(response.into_body().collect()).await.map(http_body_util::Collected::to_bytes)
}

/// What each name is answered with, question by question; the last answer stays. Other names have no address.
#[derive(Default)]
pub struct Names(Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>);

impl Names {
    pub fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().expect(address)).collect();
        let each = names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parse).collect()));
        Arc::new(Self(Mutex::new(each.collect())))
    }
}

impl Resolver for Names {
    fn resolve(&self, host: &str, _hold: LookupHold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.lock().expect("sound");
        let answer = match names.get_mut(host) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        };
        Box::pin(std::future::ready(answer.ok_or_else(|| io::Error::other("no such name"))))
    }
}

pub fn client(config: EgressConfig) -> Client {
    Client::with_resolver(config, Names::new(&[("a.example", &[&["127.0.0.1"]])])).expect("a client")
}

/// Waits until nothing is open for any guest.
pub async fn until_closed(client: &Client) {
    soon(async {
        while client.snapshot() != EgressSnapshot::default() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
