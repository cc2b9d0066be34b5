//! Why a secret is not read, for the operator: with its path and what to do, and with nothing of what it holds.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use latent_core::TenantId;
use latent_executor::secret::SecretFlaw;

/// Why a secret is not read. Its text has paths of the node in it and is not for tenants.
#[derive(Debug)]
pub enum SecretRefusal {
    /// A name that no secret has.
    Name {
        /// Whose deployment refers to it.
        tenant: TenantId,
    },
    /// The operating system did not open or read it: it is not there, is a link, or may not be read by this process.
    Unreadable {
        /// The file, or the directory of all secrets.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is a directory, a pipe, a socket or a device.
    NotAFile {
        /// The file.
        file: PathBuf,
    },
    /// Others than its owner have rights on it.
    Exposed {
        /// The file.
        file: PathBuf,
        /// Its rights, as `chmod` takes them.
        rights: u32,
    },
    /// What is in it cannot be the value of a variable.
    Unfit {
        /// The file.
        file: PathBuf,
        /// Why.
        flaw: SecretFlaw,
    },
}

impl SecretRefusal {
    pub(super) fn unreadable(file: &Path, error: io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), error }
    }
}

impl fmt::Display for SecretRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { tenant } => {
                write!(
                    f,
                    "a deployment of tenant {tenant} refers to a secret by a name that none can have; apply it again"
                )
            }
            Self::Unreadable { file, error } => {
                let file = file.display();
                write!(
                    f,
                    "cannot read the secret {file}: {error}; put a file there that this process may read, no link, in a \
                     directory that is no link"
                )
            }
            Self::NotAFile { file } => {
                let file = file.display();
                write!(f, "the secret {file} is a directory, pipe, socket or device; put a file there")
            }
            Self::Exposed { file, rights } => {
                let file = file.display();
                write!(
                    f,
                    "the secret {file} has the rights {rights:04o}, so others than its owner may use it; run \
                     `chmod 600` on it"
                )
            }
            Self::Unfit { file, flaw } => {
                write!(f, "the secret {} {flaw}; a variable cannot hold that: encode or shorten it", file.display())
            }
        }
    }
}

impl std::error::Error for SecretRefusal {}
