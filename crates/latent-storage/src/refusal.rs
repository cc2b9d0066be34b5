//! Why the storage says no, and the one table that turns each reason into an error.
//!
//! Invariant: what belongs to another tenant looks exactly like what does not exist, and no refusal depends on it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use latent_core::{DeploymentId, ErrorDetail, PlatformError, PlatformErrorCode, ServiceName, Sha256Digest};

use crate::disk::{EntryKind, NotAFile};

/// Why a directory, a release or a change is refused. The caller's own mistakes are errors of the parts that find them.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another process, or another part of this one, owns the directory.
    InUse { directory: PathBuf },
    /// The directory has files in it and none says that it is ours.
    NotOurs { directory: PathBuf, found: String },
    /// A backup or a restored copy wants a directory of its own.
    NotEmpty { directory: PathBuf, found: String },
    /// A new storage, a backup or a restored copy is to lie within a storage.
    Inside { directory: PathBuf, storage: PathBuf },
    /// Something has the name of a file or directory of ours and is neither.
    WrongKind { file: PathBuf, found: EntryKind, wanted: EntryKind },
    /// A directory is named that is none, or lies below something that is none.
    NotADirectory { directory: PathBuf },
    /// There is no storage where one is to be read.
    Absent { directory: PathBuf },
    /// Another version of this program wrote the directory.
    Format { directory: PathBuf, found: u64, known: u64 },
    /// Something that was written down is not what it was.
    Damaged { file: PathBuf, what: String },
    /// The operating system failed at something.
    Io { doing: &'static str, file: PathBuf, error: io::Error },
    /// A component has too many bytes.
    ComponentTooLarge { found: u64, max: u64 },
    /// What has to be remembered of a release or a deployment is too much.
    RecordTooLarge { found: usize, max: usize },
    /// A document's kind or key is empty or too long.
    DocumentName { part: &'static str, found: usize, max: usize },
    /// A document has too many bytes.
    DocumentTooLarge { kind: Box<str>, found: usize, max: usize },
    /// There are as many documents of a kind as there may be.
    TooManyDocuments { kind: Box<str>, max: usize },
    /// A type in an exported function cannot be kept.
    TypeTooDeep { what: &'static str },
    /// The tenant would store more than it may.
    Quota { needed: u64, used: u64, max: u64 },
    /// The tenant has as many releases as one may have.
    TooManyReleases { max: usize },
    /// The tenant published the same component with another manifest.
    OtherManifest { digest: Sha256Digest },
    /// The tenant has no such release.
    UnknownRelease { digest: Sha256Digest },
    /// A deployment uses the release.
    Referenced { digest: Sha256Digest, service: ServiceName, deployment: DeploymentId },
    /// A stored component is not what was published.
    Corrupt { digest: Sha256Digest, what: &'static str },
    /// A release that another source vouched for.
    ForeignSeal,
}

impl Refusal {
    /// `error`, met while `doing` something to `file`.
    pub(crate) fn io(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |error| match NotAFile::within(&error) {
            Some(found) => Self::WrongKind { file, found, wanted: EntryKind::File },
            None => Self::Io { doing, file, error },
        }
    }

    pub(crate) fn damaged(file: &Path, what: impl fmt::Display) -> Self {
        Self::Damaged { file: file.to_owned(), what: what.to_string() }
    }

    /// The same without the directory of the file, which is the operator's business and may reach a tenant.
    pub(crate) fn without_directory(mut self) -> Self {
        if let Self::Io { file, .. } | Self::Damaged { file, .. } | Self::WrongKind { file, .. } = &mut self
            && let Some(name) = file.file_name()
        {
            *file = name.into();
        }
        self
    }

    fn code(&self) -> PlatformErrorCode {
        use PlatformErrorCode as Code;
        match self {
            Self::NotOurs { .. }
            | Self::NotEmpty { .. }
            | Self::Inside { .. }
            | Self::NotADirectory { .. }
            | Self::Absent { .. }
            | Self::DocumentName { .. }
            | Self::ComponentTooLarge { .. } => Code::InvalidArgument,
            Self::Format { .. } | Self::TypeTooDeep { .. } => Code::IncompatibleContract,
            Self::Damaged { .. } | Self::Corrupt { .. } | Self::WrongKind { .. } => Code::CorruptArtifact,
            Self::Io { error, .. } if is_full(error) => Code::ResourceExhausted,
            Self::InUse { .. } | Self::Io { .. } => Code::Unavailable,
            Self::RecordTooLarge { .. }
            | Self::DocumentTooLarge { .. }
            | Self::TooManyDocuments { .. }
            | Self::Quota { .. }
            | Self::TooManyReleases { .. } => Code::ResourceExhausted,
            Self::OtherManifest { .. } | Self::Referenced { .. } => Code::StateConflict,
            Self::UnknownRelease { .. } => Code::NotFound,
            Self::ForeignSeal => Code::Internal,
        }
    }

    fn detail(&self) -> ErrorDetail {
        match self {
            Self::InUse { directory } => of("storage.in-use", "directory", directory.display()),
            Self::NotOurs { directory, found } => {
                of("storage.not-ours", "directory", directory.display()).with("found", found)
            }
            Self::NotEmpty { directory, found } => {
                of("storage.not-empty", "directory", directory.display()).with("found", found)
            }
            Self::Inside { directory, storage } => {
                of("storage.inside", "directory", directory.display()).with("storage", storage.display())
            }
            Self::WrongKind { file, found, wanted } => {
                of("storage.wrong-kind", "file", file.display()).with("found", found).with("wanted", wanted)
            }
            Self::NotADirectory { directory } => of("storage.not-a-directory", "directory", directory.display()),
            Self::Absent { directory } => of("storage.absent", "directory", directory.display()),
            Self::Format { directory, found, known } => {
                of("storage.format", "directory", directory.display()).with("found", found).with("known", known)
            }
            Self::Damaged { file, what } => of("storage.damaged", "file", file.display()).with("what", what),
            Self::Io { doing, error, .. } => of(io_kind(error), "doing", doing).with("error", error),
            Self::ComponentTooLarge { found, max } => of("storage.component-size", "found", found).with("max", max),
            Self::RecordTooLarge { found, max } => of("storage.record-size", "found", found).with("max", max),
            Self::DocumentName { part, found, max } => {
                of("storage.document-name", "part", part).with("found_bytes", found).with("bytes_max", max)
            }
            Self::DocumentTooLarge { kind, found, max } => {
                of("storage.document-size", "kind", kind).with("found_bytes", found).with("bytes_max", max)
            }
            Self::TooManyDocuments { kind, max } => {
                of("storage.document-count", "kind", kind).with("documents_max", max)
            }
            Self::TypeTooDeep { .. } => ErrorDetail::new("storage.type-depth"),
            Self::Quota { needed, used, max } => {
                of("storage.quota", "needed_bytes", needed).with("used_bytes", used).with("quota_bytes", max)
            }
            Self::TooManyReleases { max } => of("storage.release-count", "releases_max", max),
            Self::OtherManifest { digest } => of("storage.other-manifest", "release", digest),
            Self::UnknownRelease { digest } => of("storage.unknown-release", "release", digest),
            Self::Referenced { digest, service, deployment } => {
                of("storage.release-in-use", "release", digest).with("service", service).with("deployment", deployment)
            }
            Self::Corrupt { digest, what } => of("storage.corrupt-release", "release", digest).with("what", what),
            Self::ForeignSeal => ErrorDetail::new("storage.foreign-seal"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { directory } => {
                let directory = directory.display();
                write!(f, "the storage {directory} is in use; stop the other node, or give this one its own directory")
            }
            Self::NotOurs { directory, found } => {
                let directory = directory.display();
                write!(f, "the directory {directory} is no storage of ours and has {found} in it; name an empty one")
            }
            Self::NotEmpty { directory, found } => {
                let directory = directory.display();
                write!(
                    f,
                    "the directory {directory} has {found} in it; name an empty one, or one that is not there yet"
                )
            }
            Self::Inside { directory, storage } => {
                let (directory, storage) = (directory.display(), storage.display());
                write!(f, "the directory {directory} would lie in the storage {storage}; name one outside of it")
            }
            Self::WrongKind { file, found, wanted } => {
                let file = file.display();
                write!(f, "{file} is {found} where {wanted} belongs; move it away, and put back what it replaced")
            }
            Self::NotADirectory { directory } => {
                write!(f, "{} is no directory, or lies below a file; name a directory", directory.display())
            }
            Self::Absent { directory } => {
                let directory = directory.display();
                write!(f, "the directory {directory} holds no complete storage; name one that does")
            }
            Self::Format { directory, found, known } => write!(
                f,
                "the storage {} has format {found} and this program writes format {known}; use the version that wrote it, \
                 or a newer one",
                directory.display()
            ),
            Self::Damaged { file, what } => {
                write!(f, "{} is damaged: {what}; restore the storage from a backup", file.display())
            }
            Self::Io { doing, file, error } => {
                write!(f, "cannot {doing} {}: {error}; {}", file.display(), advice(error))
            }
            Self::ComponentTooLarge { found, max } => {
                write!(
                    f,
                    "the component has {found} bytes where {max} are allowed; make it smaller, or raise the limit"
                )
            }
            Self::RecordTooLarge { found, max } => {
                write!(f, "what is to be remembered has {found} bytes where {max} are allowed; declare less")
            }
            Self::DocumentName { part, found, max } => {
                write!(f, "the {part} of a document has {found} bytes; it has to have 1 to {max}")
            }
            Self::DocumentTooLarge { kind, found, max } => {
                write!(f, "a document of kind {kind} has {found} bytes where {max} are allowed; make it smaller")
            }
            Self::TooManyDocuments { kind, max } => {
                write!(f, "there are {max} documents of kind {kind}, as many as there may be; remove one first")
            }
            Self::TypeTooDeep { what } => write!(f, "of what the component exports, {what}; use flatter types"),
            Self::Quota { needed, used, max } => write!(
                f,
                "{needed} bytes more would exceed the quota: {used} of {max} are used; delete releases, or ask for more"
            ),
            Self::TooManyReleases { max } => {
                write!(f, "there are {max} releases, as many as a tenant may have; delete one first")
            }
            Self::OtherManifest { digest } => write!(
                f,
                "release {digest} was published with another manifest; delete it first, or publish with that manifest"
            ),
            Self::UnknownRelease { digest } => write!(f, "there is no release {digest}; publish it first"),
            Self::Referenced { digest, service, deployment } => write!(
                f,
                "release {digest} is used by deployment {deployment} of service {service}; delete that one first"
            ),
            Self::Corrupt { digest, what } => {
                write!(f, "the stored component {digest} {what}; publish it again, and look at the disk")
            }
            Self::ForeignSeal => f.write_str("the release was identified by another source; ask the one that did"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for PlatformError {
    fn from(refusal: Refusal) -> Self {
        let error = Self::new(refusal.code(), &refusal).with_detail(refusal.detail());
        match refusal {
            Refusal::InUse { .. } | Refusal::Io { .. } => error.retryable(),
            _ => error,
        }
    }
}

fn of(kind: &str, field: &str, value: impl fmt::Display) -> ErrorDetail {
    ErrorDetail::new(kind).with(field, value)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn io_kind(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if is_full(error) => "storage.disk-full",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "storage.read-only",
        _ => "storage.io",
    }
}

fn advice(error: &io::Error) -> &'static str {
    match io_kind(error) {
        "storage.disk-full" => "make room and try again",
        "storage.read-only" => "make it writable and try again",
        _ => "look at the disk and try again",
    }
}
