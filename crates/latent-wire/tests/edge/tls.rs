//! TLS and client certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use latent_core::Sha256Digest;
use latent_wire::api::Peer;
use latent_wire::listener::{Bound, ListenerConfig};
use latent_wire::tls::{Tls, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::support::{config, impatient, serve_with, soon, until_closed};

type Ca = CertifiedIssuer<'static, KeyPair>;

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn ca() -> Ca {
    let mut params = CertificateParams::new([]).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, key()).expect("a CA")
}

/// A certificate with its key, valid up to the end of `year`.
struct Signed {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

fn signed(ca: &Ca, until_year: i32) -> Signed {
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    params.not_after = date_time_ymd(until_year, 12, 31);
    let key = key();
    let certificate = params.signed_by(&key, ca).expect("signed");
    Signed { certificate: certificate.der().clone(), pem: certificate.pem(), key }
}

const VALID: i32 = 4000;
const EXPIRED: i32 = 2020;

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("writable");
    path
}

/// A directory with a server's files, and who signs what.
struct Fixture {
    dir: TempDir,
    files: TlsFiles,
    server_ca: Ca,
    client_ca: Ca,
}

fn fixture(mutual: bool) -> Fixture {
    let dir = tempfile::tempdir().expect("a directory");
    let (server_ca, client_ca) = (ca(), ca());
    let server = signed(&server_ca, VALID);
    let files = TlsFiles {
        certificate: write(dir.path(), "certificate.pem", &server.pem),
        key: write(dir.path(), "key.pem", &server.key.serialize_pem()),
        client_ca: mutual.then(|| write(dir.path(), "clients.pem", &client_ca.pem())),
    };
    Fixture { dir, files, server_ca, client_ca }
}

impl Fixture {
    fn tls(&self) -> Arc<Tls> {
        Arc::new(Tls::load(self.files.clone()).expect("good files"))
    }
}

async fn connect(
    address: std::net::SocketAddr,
    server_ca: &Ca,
    own: Option<&Signed>,
    alpn: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(server_ca.der().clone()).expect("a CA");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::try_from(own.key.serialize_der()).expect("a key");
            builder.with_client_auth_cert(vec![own.certificate.clone()], key).expect("a pair")
        }
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = soon(TcpStream::connect(address)).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

async fn get(stream: &mut TlsStream<TcpStream>) -> String {
    // A refused handshake shows at the first read or write, because a client is done before the server has looked.
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    String::from_utf8(until_closed(stream).await).expect("text")
}

#[tokio::test]
async fn both_versions_of_http_are_negotiated() {
    let fixture = fixture(false);
    let served = serve_with(config(), Some(fixture.tls()));
    for alpn in [&b"h2"[..], b"http/1.1"] {
        let stream = connect(served.address, &fixture.server_ca, None, alpn).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn));
    }
    let mut stream = connect(served.address, &fixture.server_ca, None, b"http/1.1").await.expect("a handshake");
    assert!(get(&mut stream).await.ends_with("here"));
}

#[tokio::test]
async fn a_client_certificate_shows_as_its_digest() {
    let fixture = fixture(true);
    let client = signed(&fixture.client_ca, VALID);
    let router = axum::Router::new()
        .route("/", axum::routing::get(|peer: axum::Extension<Peer>| async move { format!("{:?}", peer.certificate) }));
    let bound = Bound::new(config()).expect("a free port");
    let address = bound.address();
    let _listener = bound.serve(Some(fixture.tls()), router);
    let mut stream = connect(address, &fixture.server_ca, Some(&client), b"http/1.1").await.expect("a handshake");
    let expected = format!("{:?}", Some(Sha256Digest::of(&client.certificate)));
    let answer = get(&mut stream).await;
    assert!(answer.ends_with(&expected), "{answer}");
}

#[tokio::test]
async fn a_client_without_a_good_certificate_is_refused() {
    let fixture = fixture(true);
    let served = serve_with(config(), Some(fixture.tls()));
    let foreign = signed(&ca(), VALID);
    let expired = signed(&fixture.client_ca, EXPIRED);
    for own in [None, Some(&foreign), Some(&expired)] {
        if let Ok(mut stream) = connect(served.address, &fixture.server_ca, own, b"http/1.1").await {
            assert_eq!(get(&mut stream).await, "");
        }
    }
    let good = signed(&fixture.client_ca, VALID);
    let mut stream = connect(served.address, &fixture.server_ca, Some(&good), b"http/1.1").await.expect("a handshake");
    assert!(get(&mut stream).await.ends_with("here"));
    assert_eq!(served.listener.counts().handshakes_failed, 3);
}

#[tokio::test]
async fn a_handshake_that_does_not_begin_is_cut() {
    let fixture = fixture(false);
    let served = serve_with(impatient(), Some(fixture.tls()));
    let mut stream = served.connect().await;
    assert!(until_closed(&mut stream).await.is_empty());
    assert_eq!(served.listener.counts().timed_out, 1);
}

#[tokio::test]
async fn plain_text_is_no_handshake() {
    let fixture = fixture(false);
    let served = serve_with(config(), Some(fixture.tls()));
    let answer = super::support::get_once(served.address, "/");
    // At most an alert comes back.
    let refused = tokio::spawn(answer).await;
    assert!(refused.is_err() || !refused.is_ok_and(|answer| answer.contains("here")));
    assert_eq!(served.listener.counts().handshakes_failed, 1);
}

#[tokio::test]
async fn a_reload_takes_new_files_and_a_failed_one_changes_nothing() {
    let fixture = fixture(false);
    let tls = fixture.tls();
    let served = serve_with(config(), Some(Arc::clone(&tls)));
    std::fs::write(&fixture.files.certificate, "gone").expect("writable");
    let error = tls.reload().expect_err("no certificate");
    assert!(error.message().contains("certificate.pem has no `-----BEGIN CERTIFICATE-----`"), "{error:?}");
    connect(served.address, &fixture.server_ca, None, b"h2").await.expect("as before");
    let other_ca = ca();
    let other = signed(&other_ca, VALID);
    write(fixture.dir.path(), "certificate.pem", &other.pem);
    write(fixture.dir.path(), "key.pem", &other.key.serialize_pem());
    tls.reload().expect("good files");
    connect(served.address, &other_ca, None, b"h2").await.expect("the new certificate");
    assert!(connect(served.address, &fixture.server_ca, None, b"h2").await.is_err(), "not the old one");
}

#[test]
fn files_that_are_no_use_are_named_without_what_is_in_them() {
    let fixture = fixture(true);
    let dir = fixture.dir.path();
    let good = fixture.files.clone();
    let secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0!\n-----END PRIVATE KEY-----\n";
    let cases = [
        (TlsFiles { certificate: dir.join("absent.pem"), ..good.clone() }, "absent.pem cannot be read"),
        (TlsFiles { key: good.certificate.clone(), ..good.clone() }, "certificate.pem has no unencrypted private key"),
        (
            TlsFiles { key: write(dir, "bad.pem", secret), ..good.clone() },
            "bad.pem has a PEM section that is not base64",
        ),
        (
            TlsFiles { key: write(dir, "other.pem", &key().serialize_pem()), ..good.clone() },
            "other.pem does not go with",
        ),
        (
            TlsFiles { certificate: write(dir, "cut.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n"), ..good.clone() },
            "cut.pem",
        ),
        (
            TlsFiles { client_ca: Some(good.key.clone()), ..good.clone() },
            "key.pem has no `-----BEGIN CERTIFICATE-----`",
        ),
        (TlsFiles { key: write(dir, "large.pem", &"x".repeat((1 << 20) + 1)), ..good }, "large.pem has 1048577 bytes"),
    ];
    for (files, expected) in cases {
        let error = Tls::load(files).expect_err(expected);
        assert!(error.message().contains(expected), "{expected}: {}", error.message());
        assert!(error.has_detail("tls.file"));
        assert!(!format!("{error:?}").contains("c2VjcmV0"), "{error:?}");
    }
}

#[test]
fn a_listener_config_is_checked_before_anything_listens() {
    let none = ListenerConfig { connections_max: 0, ..config() };
    let error = Bound::new(none).expect_err("no connections");
    assert!(error.has_detail("listener.config"), "{error:?}");
}
