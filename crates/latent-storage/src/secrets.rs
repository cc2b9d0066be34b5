//! Secrets as files that an operator puts into a directory: `<directory>/<tenant>/<name>`.
//!
//! Invariant: nothing below the directory is reached but through two plain names, the tenant's and the secret's, and no
//! link is followed at either, so that a name leads to its own file or to none. Nothing is kept between two reads.

mod refusal;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use latent_core::{PlatformError, Sha256Digest, TenantId, is_secret_name};
use latent_executor::secret::{SECRET_BYTES_MAX, SecretFlaw, SecretSource, SecretValue, secret_unavailable};
use rustix::fs::{FileType, Mode, OFlags, open, openat};
use zeroize::Zeroizing;

pub use refusal::SecretRefusal;

/// The longest name that a file system keeps, in bytes.
const FILE_NAME_BYTES_MAX: usize = 255;
/// What an editor or `echo` puts at the end of a file.
const LINE_FEED: &[u8] = b"\n";
/// The rights of anybody but the owner.
const FOREIGN_RIGHTS: u32 = 0o077;
/// A link is not followed, and a pipe whose other end nobody holds is not waited for.
const FILE_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);
const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// Secrets out of a directory with one directory for each tenant in it. The directory itself may be a link; nothing
/// below it may.
///
/// A secret is a file of UTF-8 without NUL, of at most [`SECRET_BYTES_MAX`] bytes beside one line feed at its end, which
/// is no part of it. Nobody but its owner may have rights on it. It is read anew for each activation that needs it, so
/// that a file that was replaced is seen by the next one; replace it by renaming a complete one over it.
#[derive(Clone)]
pub struct SecretDirectory {
    root: PathBuf,
    report: Arc<dyn Fn(&SecretRefusal) + Send + Sync>,
}

impl SecretDirectory {
    /// The secrets below `root`, which is looked up at each read. What is refused goes to `report`, with the path and
    /// what to do: for the operator alone. It is called once for each refused read, on the thread that reads.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, report: impl Fn(&SecretRefusal) + Send + Sync + 'static) -> Self {
        Self { root: root.into(), report: Arc::new(report) }
    }

    /// Looks whether the directory is there, so that a node can say so when it starts.
    ///
    /// # Errors
    /// [`SecretRefusal`] for one that cannot be opened.
    pub fn check(&self) -> Result<(), SecretRefusal> {
        let opened = open(&self.root, DIRECTORY_FLAGS, Mode::empty());
        opened.map(drop).map_err(|error| SecretRefusal::unreadable(&self.root, error.into()))
    }

    /// Where the secret `name` of `tenant` belongs.
    ///
    /// # Errors
    /// [`SecretRefusal::Name`] for what [`is_secret_name`] does not accept.
    pub fn place(&self, tenant: &TenantId, name: &str) -> Result<PathBuf, SecretRefusal> {
        if !is_secret_name(name) {
            return Err(SecretRefusal::Name { tenant: tenant.clone() });
        }
        Ok(self.root.join(secret_directory_name(tenant)).join(name))
    }

    fn read(&self, tenant: &TenantId, name: &str) -> Result<SecretValue, SecretRefusal> {
        let path = self.place(tenant, name)?;
        let file = self.open(tenant, name).map_err(|error| SecretRefusal::unreadable(&path, error))?;
        let found = file.metadata().map_err(|error| SecretRefusal::unreadable(&path, error))?;
        let (kind, rights) = kind_and_rights(&found);
        if kind != FileType::RegularFile {
            return Err(SecretRefusal::NotAFile { file: path });
        }
        if rights & FOREIGN_RIGHTS != 0 {
            return Err(SecretRefusal::Exposed { file: path, rights });
        }
        let bytes = whole(file, found.len()).map_err(|flaw| match flaw {
            Unread::Flaw(flaw) => SecretRefusal::Unfit { file: path.clone(), flaw },
            Unread::Io(error) => SecretRefusal::unreadable(&path, error),
        })?;
        SecretValue::new(bytes).map_err(|flaw| SecretRefusal::Unfit { file: path, flaw })
    }

    fn open(&self, tenant: &TenantId, name: &str) -> io::Result<File> {
        let root: OwnedFd = open(&self.root, DIRECTORY_FLAGS, Mode::empty())?;
        let directory = secret_directory_name(tenant);
        let own = openat(&root, directory, DIRECTORY_FLAGS.union(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(openat(&own, name, FILE_FLAGS, Mode::empty())?.into())
    }
}

impl SecretSource for SecretDirectory {
    fn secret(&self, tenant: &TenantId, name: &str) -> Result<SecretValue, PlatformError> {
        self.read(tenant, name).map_err(|refusal| {
            (self.report)(&refusal);
            secret_unavailable(name)
        })
    }
}

impl fmt::Debug for SecretDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretDirectory").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The name of the directory of a tenant's secrets: its id, in which every byte but letters, digits, `-`, `_` and a `.`
/// that is not the first one is written as `%` and two upper-case hexadecimal digits. Where that is longer than a file's
/// name may be, `%sha256-` and the id's SHA-256 in hexadecimal. No two tenants share one.
#[must_use]
pub fn secret_directory_name(tenant: &TenantId) -> String {
    use fmt::Write as _;
    let mut name = String::new();
    for (at, byte) in tenant.as_str().bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0) {
            name.push(char::from(byte));
        } else {
            write!(name, "%{byte:02X}").expect("a string takes all that is written");
        }
    }
    if name.len() > FILE_NAME_BYTES_MAX {
        return format!("%sha256-{}", Sha256Digest::of(tenant.as_str().as_bytes()));
    }
    name
}

fn kind_and_rights(found: &std::fs::Metadata) -> (FileType, u32) {
    use std::os::unix::fs::MetadataExt as _;
    (FileType::from_raw_mode(found.mode()), found.mode() & 0o7777)
}

enum Unread {
    Flaw(SecretFlaw),
    Io(io::Error),
}

/// The bytes of a file that has `expected` of them, without a line feed at the end. The buffer never moves, so that no
/// copy is left behind.
fn whole(file: File, expected: u64) -> Result<Vec<u8>, Unread> {
    let room = usize::try_from(expected).ok().filter(|expected| *expected <= SECRET_BYTES_MAX + LINE_FEED.len());
    let room = room.ok_or(Unread::Flaw(SecretFlaw::TooLong))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room + 1));
    // One byte more than there were, so that a file that grew meanwhile is noticed.
    file.take(expected + 1).read_to_end(&mut bytes).map_err(Unread::Io)?;
    if bytes.len() > room {
        return Err(Unread::Io(io::Error::other("it grew while it was read")));
    }
    if bytes.ends_with(LINE_FEED) {
        bytes.pop();
    }
    Ok(std::mem::take(&mut *bytes))
}
