//! TLS: who is trusted, and for which name.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use latent_executor::OutgoingError;
use latent_http::egress::{Client, EgressConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;

use super::servers::{head, serving};
use super::support::{Names, get, loopback, read, send, until_closed};

/// An authority whose certificate is in a file.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("writable");
        Self { issuer, directory }
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A server for `name`, with a certificate up to the end of `until_year`.
    pub fn server(&self, name: &str, until_year: i32, alpn: &[&[u8]]) -> ServerConfig {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.not_after = date_time_ymd(until_year, 12, 31);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed").der().clone();
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key.serialize_der()).expect("a key"))
            .expect("a pair");
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }

    pub fn trusting_client(&self) -> Client {
        client(Some(self.file()))
    }
}

fn client(ca_file: Option<PathBuf>) -> Client {
    let names = Names::new(&[("a.example", &[&["127.0.0.1"]]), ("b.example", &[&["127.0.0.1"]])]);
    Client::with_resolver(EgressConfig { ca_file, ..EgressConfig::default() }, names).expect("a client")
}

async fn greeting(config: ServerConfig) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    serving(move |socket| {
        let acceptor = acceptor.clone();
        async move {
            // A client that trusts nobody ends the handshake.
            let Ok(mut socket) = acceptor.accept(socket).await else { return };
            head(&mut socket).await;
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
            let _ = socket.shutdown().await;
        }
    })
    .await
}

const VALID: i32 = 4000;
const EXPIRED: i32 = 2020;

#[tokio::test]
async fn a_trusted_server_is_spoken_to_by_name_and_by_address() {
    let authority = Authority::new();
    for (name, host) in [("a.example", "a.example"), ("a.example", "A.Example."), ("127.0.0.1", "127.0.0.1")] {
        let port = greeting(authority.server(name, VALID, &[b"http/1.1"])).await.port();
        let client = authority.trusting_client();
        let response = send(&client, get(&format!("https://{host}:{port}/")), loopback(port)).await.expect(host);
        assert_eq!(read(response).await.expect("whole"), "hello");
        until_closed(&client).await;
    }
}

#[tokio::test]
async fn a_server_without_a_choice_of_protocols_gets_http1() {
    let authority = Authority::new();
    let port = greeting(authority.server("a.example", VALID, &[])).await.port();
    let response = send(&authority.trusting_client(), get(&format!("https://a.example:{port}/")), loopback(port)).await;
    assert_eq!(read(response.expect("an answer")).await.expect("whole"), "hello");
}

#[tokio::test]
async fn another_name_an_old_certificate_and_a_stranger_are_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (client, server, host) in [
        (authority.trusting_client(), authority.server("a.example", VALID, &[]), "b.example"),
        (authority.trusting_client(), authority.server("a.example", VALID, &[]), "127.0.0.1"),
        (authority.trusting_client(), authority.server("*.example", VALID, &[]), "127.0.0.1"),
        (authority.trusting_client(), authority.server("a.example", EXPIRED, &[]), "a.example"),
        (stranger.trusting_client(), authority.server("a.example", VALID, &[]), "a.example"),
        (client(None), authority.server("a.example", VALID, &[]), "a.example"),
    ] {
        let port = greeting(server).await.port();
        let answer = send(&client, get(&format!("https://{host}:{port}/")), loopback(port)).await;
        assert_eq!(answer.err(), Some(OutgoingError::CertificateRefused), "{host}");
        until_closed(&client).await;
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_or_none_in_common_is_told_apart() {
    let authority = Authority::new();
    let plain = serving(|mut socket| async move {
        let _ = socket.write_all(b"SSH-2.0-server\r\n").await;
    });
    let plain = plain.await.port();
    let other = greeting(authority.server("a.example", VALID, &[b"spdy/1"])).await.port();
    for port in [plain, other] {
        let client = authority.trusting_client();
        let answer = send(&client, get(&format!("https://a.example:{port}/")), loopback(port)).await;
        assert_eq!(answer.err(), Some(OutgoingError::TlsFailed));
    }
}

#[test]
fn a_file_without_authorities_is_refused_by_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "nothing").expect("writable");
    for file in [empty, directory.path().join("absent.pem")] {
        let config = EgressConfig { ca_file: Some(file.clone()), ..EgressConfig::default() };
        let error = Client::new(config).expect_err("no authority");
        assert!(error.has_detail("tls.file") && error.message().contains(&file.display().to_string()));
    }
    let authority = Authority::new();
    assert_eq!(authority.trusting_client().trusted_roots(), client(None).trusted_roots() + 1);
}
