//! Credentials whose token is in a file that its owner alone can read, for those who can read the node's directory anyway:
//! the developer of a node on the loopback, and an operator who has lost every other credential.
//!
//! Invariant: a token is written only into a file that was just made for it, and read only from one that nobody else
//! could read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use latent_core::{IdError, PlatformError, ServiceName, TenantId};

use super::book::Secret;
use super::model::{Credential, NewCredential, Presented, Tenant, TenantQuota};
use super::refusal;
use super::registry::{TenantRegistry, changes};
use super::roles::Role;

/// The tenant of a development node.
pub const DEVELOPMENT_TENANT: &str = "dev";

/// Longer than any token with its line end.
const FILE_BYTES_MAX: u64 = 128;

/// A credential whose token is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialFile {
    /// The credential.
    pub credential: Credential,
    /// Whether it was made just now. If not, the file was there and its token still holds.
    pub is_new: bool,
}

impl TenantRegistry {
    /// A credential with all roles for the tenant [`DEVELOPMENT_TENANT`], which is made if it is not there. Its token is
    /// in `file`; blocks on the disk.
    ///
    /// # Errors
    /// As [`seed`](Self::seed) and [`credential_file`](Self::credential_file).
    pub fn development_credential(&self, file: &Path) -> Result<CredentialFile, PlatformError> {
        self.all_roles(&name(DEVELOPMENT_TENANT, TenantId::new), file, "development", "developer")
    }

    /// A credential with all roles for `tenant`, which is made if it is not there, for an operator who has none that
    /// holds. Its token is in `file`. Called by whoever has the data directory, while no node runs on it; blocks on the disk.
    ///
    /// # Errors
    /// As [`development_credential`](Self::development_credential).
    pub fn recover(&self, tenant: &TenantId, file: &Path) -> Result<CredentialFile, PlatformError> {
        self.all_roles(tenant, file, "recovery", "operator")
    }

    fn all_roles(
        &self,
        tenant: &TenantId,
        file: &Path,
        id: &str,
        subject: &'static str,
    ) -> Result<CredentialFile, PlatformError> {
        self.seed(&[Tenant { name: tenant.clone(), quota: TenantQuota::default() }])?;
        let (subject, roles) = (name(subject, ServiceName::new), Role::ALL.into_iter().collect());
        let new = NewCredential { tenant: tenant.clone(), subject, roles, lifetime: None, certificate: None };
        self.credential_file(file, id, new)
    }

    /// The credential called `id`, whose token is in `file`. While the token in the file is that of such a credential, of
    /// the tenant and with the roles of `new`, both stay as they are. Otherwise a credential is made as `new` says, in the
    /// place of the one called `id`, whose token stops to hold; its token is written, with a line end, into a new file of
    /// mode 0600. Blocks on the disk.
    ///
    /// # Errors
    /// `invalid-argument`, detail `access.credential-file`, when others can read the file or write to its directory,
    /// when it is no regular file or belongs to another user, naming it and what to do; `unavailable`, detail
    /// `access.credential-file-io`, when the disk fails; as creating a credential does.
    pub fn credential_file(&self, file: &Path, id: &str, new: NewCredential) -> Result<CredentialFile, PlatformError> {
        let _turn = self.turn();
        let now = self.clock.now();
        let directory = Directory::of(file)?;
        if let Some(credential) = directory.token()?.and_then(|token| self.valid(&token, id, &new, now)) {
            return Ok(CredentialFile { credential, is_new: false });
        }
        let made = changes::make(id.into(), NewCredential { certificate: None, ..new }, now)?;
        let staged = directory.stage(made.token().expect("no certificate was given"))?;
        let (credential, _) = self.put(made, now)?;
        // Should this not happen any more, the next start makes another one.
        staged.place()?;
        Ok(CredentialFile { credential, is_new: true })
    }

    fn valid(&self, token: &[u8], id: &str, wanted: &NewCredential, now: SystemTime) -> Option<Credential> {
        let book = self.book();
        let held = book.find(&Secret::of(Presented::Bearer(token))?)?;
        let Credential { id: found, tenant, roles, .. } = &held.credential;
        let is_it = **found == *id && *tenant == wanted.tenant && *roles == wanted.roles && held.holds_at(now);
        is_it.then(|| held.credential.clone())
    }
}

/// One of our own names as an id.
fn name<T>(text: &'static str, new: impl FnOnce(&'static str) -> Result<T, IdError>) -> T {
    new(text).expect("a short word is an id")
}

/// Where the file of a token lies.
struct Directory<'f> {
    file: &'f Path,
    owner: u32,
}

/// A new file that does not have its name yet. Dropping it removes it.
struct Staged<'f> {
    file: &'f Path,
    staged: PathBuf,
}

impl<'f> Directory<'f> {
    fn of(file: &'f Path) -> Result<Self, PlatformError> {
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let found = std::fs::metadata(directory).map_err(refusal::credential_file_io("look at", directory))?;
        if found.mode() & 0o022 != 0 {
            let message = "can be written to by others, who could exchange the credential in it; run chmod go-w on it";
            return Err(refusal::credential_file(directory, "directory-writable-by-others", message));
        }
        Ok(Self { file, owner: found.uid() })
    }

    /// What is in the file, without its line end; `None` if there is no file.
    fn token(&self) -> Result<Option<Vec<u8>>, PlatformError> {
        let found = match std::fs::symlink_metadata(self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found.map_err(refusal::credential_file_io("look at", self.file))?,
        };
        self.check(&found)?;
        let mut bytes = Vec::new();
        let opened = File::open(self.file).map_err(refusal::credential_file_io("read", self.file))?;
        // What was opened may be another file than the one that was looked at.
        self.check(&opened.metadata().map_err(refusal::credential_file_io("look at", self.file))?)?;
        let read = opened.take(FILE_BYTES_MAX).read_to_end(&mut bytes);
        read.map_err(refusal::credential_file_io("read", self.file))?;
        let length = bytes.trim_ascii_end().len();
        bytes.truncate(length);
        Ok(Some(bytes))
    }

    fn check(&self, found: &Metadata) -> Result<(), PlatformError> {
        if !found.is_file() {
            let message = "is no regular file; move it away, and start again";
            return Err(refusal::credential_file(self.file, "not-a-file", message));
        }
        if found.mode() & 0o077 != 0 {
            let message =
                "can be read by others, so that the credential in it is no secret; remove it, and start again";
            return Err(refusal::credential_file(self.file, "readable-by-others", message));
        }
        self.check_owner(found)
    }

    fn check_owner(&self, found: &Metadata) -> Result<(), PlatformError> {
        // The superuser may write where others are at home.
        if found.uid() == self.owner || found.uid() == 0 {
            return Ok(());
        }
        let message = "belongs to another user than its directory; name a file in a directory of your own";
        Err(refusal::credential_file(self.file, "foreign-owner", message))
    }

    /// Writes a token durably into a new file.
    fn stage(&self, token: &str) -> Result<Staged<'f>, PlatformError> {
        let mut name = self.file.as_os_str().to_owned();
        name.push(".new");
        let staged = PathBuf::from(name);
        match std::fs::remove_file(&staged) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(refusal::credential_file_io("remove", &staged)(error));
            }
            _ => {}
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged);
        let mut made = made.map_err(refusal::credential_file_io("make", &staged))?;
        let placed = Staged { file: self.file, staged };
        self.check_owner(&made.metadata().map_err(refusal::credential_file_io("look at", &placed.staged))?)?;
        let written = made.write_all(format!("{token}\n").as_bytes()).and_then(|()| made.sync_all());
        written.map_err(refusal::credential_file_io("write", &placed.staged))?;
        Ok(placed)
    }
}

impl Staged<'_> {
    fn place(self) -> Result<(), PlatformError> {
        std::fs::rename(&self.staged, self.file).map_err(refusal::credential_file_io("rename to", self.file))
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // Its name is gone once the file has the other one.
        let _gone = std::fs::remove_file(&self.staged);
    }
}
