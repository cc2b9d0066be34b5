//! Why the registry says no. Invariant: nothing of a token, right or wrong, is in an error.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode as Code, Sha256Digest, TenantId};

/// The refusal of a credential: the same whatever was wrong, so that nothing can be learned from trying.
#[must_use]
pub fn unauthenticated() -> PlatformError {
    let message = "the caller is not known: the credential is missing, wrong, revoked or expired; send one that holds";
    PlatformError::new(Code::Unauthenticated, message)
}

pub(super) fn too_many_failures(retry_after: Duration) -> PlatformError {
    let millis = retry_after.as_millis().max(1);
    let message = format_args!(
        "too many calls without a credential that holds; send one, or try again in {millis} ms; a right one is not refused"
    );
    let detail = ErrorDetail::new("access.too-many-failures").with("retry_after_ms", millis);
    PlatformError::new(Code::ResourceExhausted, message).with_detail(detail).retryable()
}

pub(super) fn no_randomness(error: impl fmt::Display) -> PlatformError {
    let message = format_args!("the system gives no random bytes: {error}; try again");
    PlatformError::new(Code::Unavailable, message).with_detail(ErrorDetail::new("access.no-randomness")).retryable()
}

pub(super) fn unknown_tenant(tenant: &TenantId) -> PlatformError {
    let detail = ErrorDetail::new("access.unknown-tenant").with("tenant", tenant);
    let message = format_args!("there is no tenant {tenant}; make it first");
    PlatformError::new(Code::NotFound, message).with_detail(detail)
}

pub(super) fn unknown_credential(id: &str) -> PlatformError {
    // What was sent as a name may be a token by mistake.
    let detail = ErrorDetail::new("access.unknown-credential");
    let is_name = id.len() <= 32 && !id.starts_with("latent_");
    let (detail, shown) = if is_name { (detail.with("credential", id), id) } else { (detail, "of that name") };
    let message = format_args!("there is no credential {shown}; name one as the list of credentials shows it");
    PlatformError::new(Code::NotFound, message).with_detail(detail)
}

pub(super) fn last_operator() -> PlatformError {
    let message = "nobody could operate the node any more: it is the last credential with the role operate that holds; \
                   make another one first";
    PlatformError::new(Code::StateConflict, message).with_detail(ErrorDetail::new("access.last-operator"))
}

pub(super) fn tenant_in_use(tenant: &TenantId) -> PlatformError {
    let message = format_args!("tenant {tenant} has releases or deployments; delete them first");
    let detail = ErrorDetail::new("access.tenant-in-use").with("tenant", tenant);
    PlatformError::new(Code::StateConflict, message).with_detail(detail)
}

pub(super) fn no_roles() -> PlatformError {
    let message = "the credential has no role; give it one at least of invoke, deploy and operate";
    PlatformError::new(Code::InvalidArgument, message).with_detail(ErrorDetail::new("access.no-roles"))
}

pub(super) fn lifetime(found: Duration, max: Duration) -> PlatformError {
    let message = format_args!(
        "the credential would hold for {} seconds; set 1 to {}, or nothing for one without an end",
        found.as_secs(),
        max.as_secs()
    );
    let detail = ErrorDetail::new("access.lifetime").with("found_seconds", found.as_secs());
    PlatformError::new(Code::InvalidArgument, message).with_detail(detail.with("max_seconds", max.as_secs()))
}

pub(super) fn certificate_taken(certificate: Sha256Digest) -> PlatformError {
    let message = format_args!("the certificate {certificate} has a credential; revoke that one first");
    let detail = ErrorDetail::new("access.certificate-taken").with("certificate_sha256", certificate);
    PlatformError::new(Code::AlreadyExists, message).with_detail(detail)
}

/// `what` is `tenants` or `credentials`.
pub(super) fn full(what: &str, max: usize) -> PlatformError {
    let message =
        format_args!("there are {max} {what}, as many as the node keeps; delete some first, or raise the limit");
    let detail = ErrorDetail::new("access.limit").with("of", what).with("max", max);
    PlatformError::new(Code::ResourceExhausted, message).with_detail(detail)
}

pub(super) fn invalid_config(setting: &str, expected: &str) -> PlatformError {
    let message = format_args!("the access setting {setting} is out of its bounds; set {expected}");
    let detail = ErrorDetail::new("access.invalid-config").with("setting", setting).with("expected", expected);
    PlatformError::new(Code::InvalidArgument, message).with_detail(detail)
}

pub(super) fn document(kind: &str, key: &str, what: impl fmt::Display) -> PlatformError {
    let message = format_args!("the stored {kind} {key} is not what was written: {what}; restore the storage");
    let detail = ErrorDetail::new("access.document").with("kind", kind).with("key", key);
    PlatformError::new(Code::CorruptArtifact, message).with_detail(detail)
}

pub(super) fn document_version(kind: &str, key: &str, found: u64, known: u64) -> PlatformError {
    let message = format_args!(
        "the stored {kind} {key} has version {found} and this program knows version {known}; use the program that wrote it, \
         or a newer one"
    );
    let detail = ErrorDetail::new("access.document-version").with("kind", kind).with("key", key);
    let detail = detail.with("found", found).with("known", known);
    PlatformError::new(Code::IncompatibleContract, message).with_detail(detail)
}

/// A file for a token, or its directory, is not fit for a secret.
pub(super) fn credential_file(file: &Path, reason: &str, message: impl fmt::Display) -> PlatformError {
    let message = format_args!("{} {message}", file.display());
    let detail = ErrorDetail::new("access.credential-file").with("file", file.display()).with("reason", reason);
    PlatformError::new(Code::InvalidArgument, message).with_detail(detail)
}

pub(super) fn credential_file_io(doing: &'static str, file: &Path) -> impl FnOnce(std::io::Error) -> PlatformError {
    let file = file.to_owned();
    move |error| {
        let message = format_args!("cannot {doing} {}: {error}; look at the disk and try again", file.display());
        let detail = ErrorDetail::new("access.credential-file-io").with("doing", doing).with("error", &error);
        PlatformError::new(Code::Unavailable, message).with_detail(detail).retryable()
    }
}
