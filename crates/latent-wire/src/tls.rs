//! TLS of a listener: from files, with or without client certificates, replaceable while it serves.
//!
//! Invariant: a reload that fails changes nothing; nobody's private key shows in an error.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, Sha256Digest};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where a listener's keys are. All PEM, each at most 1 MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those between it and a root.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC 1, not encrypted.
    pub key: PathBuf,
    /// Who signs client certificates. When it is there, a client without one of them is refused.
    pub client_ca: Option<PathBuf>,
}

/// The TLS of a listener.
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files. Blocks on the disk.
    ///
    /// # Errors
    /// `invalid-argument`, detail `tls.file` with `file`: it cannot be read, has nothing of use in it, or does not go
    /// with the others.
    pub fn load(files: TlsFiles) -> Result<Self, PlatformError> {
        let current = RwLock::new(Arc::new(configure(&files)?));
        Ok(Self { files, current })
    }

    /// Reads the files again, for connections from now on. Blocks on the disk.
    ///
    /// # Errors
    /// As [`load`](Self::load); what held before holds on.
    pub fn reload(&self) -> Result<(), PlatformError> {
        let fresh = Arc::new(configure(&self.files)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// The handshake, and the SHA-256 of the client's certificate if there is one.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
    ) -> std::io::Result<(TlsStream<TcpStream>, Option<Sha256Digest>)> {
        let config = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        let certificates = stream.get_ref().1.peer_certificates();
        let digest = certificates.and_then(<[_]>::first).map(|own| Sha256Digest::of(own));
        Ok((stream, digest))
    }
}

fn configure(files: &TlsFiles) -> Result<ServerConfig, PlatformError> {
    let chain = certificates(&files.certificate)?;
    let key = private_key(&files.key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&files.key, &format!("gives no TLS version to offer: {error}")))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities(file)?), provider)
                .build()
                .map_err(|error| invalid(file, &format!("cannot verify clients: {error}")))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| invalid(&files.key, &format!("does not go with {}: {error}", files.certificate.display())))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The authorities whose certificates are in a PEM file of at most 1 MiB. Blocks on the disk.
///
/// # Errors
/// `invalid-argument`, detail `tls.file` with `file`: it cannot be read, or has no certificate that is of use.
pub fn authorities(file: &Path) -> Result<RootCertStore, PlatformError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| invalid(file, &format!("has an unusable certificate: {error}")))?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, PlatformError> {
    let bytes = read(file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|error| malformed(file, &error))?;
    if certificates.is_empty() {
        return Err(invalid(file, "has no `-----BEGIN CERTIFICATE-----` in it"));
    }
    Ok(certificates)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, PlatformError> {
    match PrivateKeyDer::from_pem_slice(&read(file)?) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => Err(invalid(file, "has no unencrypted private key in it")),
        Err(error) => Err(malformed(file, &error)),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, PlatformError> {
    let unreadable = |error: std::io::Error| invalid(file, &format!("cannot be read: {error}"));
    let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(invalid(file, &format!("has {bytes} bytes; expected are at most {FILE_BYTES_MAX}")));
    }
    std::fs::read(file).map_err(unreadable)
}

/// Without what the parser shows of the file, which may be a key.
fn malformed(file: &Path, error: &pem::Error) -> PlatformError {
    let what = match error {
        pem::Error::MissingSectionEnd { .. } => "has a PEM section without an end",
        pem::Error::IllegalSectionStart { .. } => "has a PEM section with a malformed begin",
        pem::Error::Base64Decode(_) => "has a PEM section that is not base64",
        _ => "is not PEM",
    };
    invalid(file, what)
}

fn invalid(file: &Path, what: &str) -> PlatformError {
    let file = file.display();
    PlatformError::new(PlatformErrorCode::InvalidArgument, format!("the TLS file {file} {what}"))
        .with_detail(ErrorDetail::new("tls.file").with("file", &file))
}
