//! Secrets: the port through which a backend reads what a deployment refers to, and the value that it gets.
//!
//! Invariant: the text of a value is seen through [`SecretValue::expose`] alone. It is in no debug output, has no
//! `Display`, cannot be cloned, and its memory is overwritten when it is dropped.

use std::fmt;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, TenantId};
use zeroize::{Zeroize as _, Zeroizing};

/// The longest secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 64 << 10;

/// Where secrets are kept. A source answers for one tenant at a time, and nothing that a tenant writes leads it to the
/// secrets of another.
pub trait SecretSource: Send + Sync {
    /// What the secret `name` of `tenant` holds at this moment. It may block, as a read from a file does: a backend
    /// calls it where that holds up no other activation.
    ///
    /// # Errors
    /// [`secret_unavailable`], whatever the reason: which one it is concerns the operator, not the tenant.
    fn secret(&self, tenant: &TenantId, name: &str) -> Result<SecretValue, PlatformError>;
}

/// The source of a node that keeps no secrets: none is ever there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn secret(&self, _tenant: &TenantId, name: &str) -> Result<SecretValue, PlatformError> {
        Err(secret_unavailable(name))
    }
}

/// That a deployment refers to the secret `name` and the node cannot read it: `dependency-failed`, retryable, because the
/// same call succeeds once the operator has provided it. It says the name, and nothing of where it was looked for.
#[must_use]
pub fn secret_unavailable(name: &str) -> PlatformError {
    let message = format_args!(
        "the secret {name:?}, to which the deployment refers, cannot be read on this node; ask its operator to provide it"
    );
    PlatformError::new(PlatformErrorCode::DependencyFailed, message)
        .retryable()
        .with_detail(ErrorDetail::new("activation.secret-unavailable").with("secret", name))
}

/// What a secret holds: UTF-8 of at most [`SECRET_BYTES_MAX`] bytes without NUL, because it becomes a variable.
pub struct SecretValue(Zeroizing<String>);

/// Why bytes are no secret that a guest could be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretFlaw {
    /// It is longer than [`SECRET_BYTES_MAX`].
    TooLong,
    /// It is not UTF-8.
    NotUtf8,
    /// It has a NUL in it.
    Nul,
}

impl SecretValue {
    /// The secret that `bytes` hold. Refused bytes are overwritten too.
    ///
    /// # Errors
    /// [`SecretFlaw`] for bytes that cannot be the value of a variable.
    pub fn new(bytes: Vec<u8>) -> Result<Self, SecretFlaw> {
        let text = String::from_utf8(bytes).map_err(|error| {
            error.into_bytes().zeroize();
            SecretFlaw::NotUtf8
        })?;
        let text = Zeroizing::new(text);
        match text.len() {
            0..=SECRET_BYTES_MAX if text.contains('\0') => Err(SecretFlaw::Nul),
            0..=SECRET_BYTES_MAX => Ok(Self(text)),
            _ => Err(SecretFlaw::TooLong),
        }
    }

    /// The text, for whoever hands it to the guest. Copies of it are not overwritten by this value's drop.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

impl fmt::Display for SecretFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "has more than {SECRET_BYTES_MAX} bytes"),
            Self::NotUtf8 => f.write_str("is not UTF-8"),
            Self::Nul => f.write_str("has a NUL character in it"),
        }
    }
}

impl std::error::Error for SecretFlaw {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_secret_shows_nothing_of_it() {
        let value = SecretValue::new(b"hunter2".to_vec()).expect("it is plain text");
        assert_eq!(format!("{value:?} {value:#?}"), "SecretValue(..) SecretValue(..)");
        assert_eq!(value.expose(), "hunter2");
    }

    #[test]
    fn what_cannot_be_a_variable_is_refused_at_its_bound() {
        let flaw = |bytes: Vec<u8>| SecretValue::new(bytes).err();
        assert_eq!(flaw(vec![b'x'; SECRET_BYTES_MAX]), None);
        assert_eq!(flaw(vec![b'x'; SECRET_BYTES_MAX + 1]), Some(SecretFlaw::TooLong));
        assert_eq!(flaw(vec![0xff]), Some(SecretFlaw::NotUtf8));
        assert_eq!(flaw(b"a\0".to_vec()), Some(SecretFlaw::Nul));
        assert_eq!(flaw(Vec::new()), None, "an empty secret is one");
    }

    #[test]
    fn a_node_without_secrets_has_none_and_says_which_is_missing() {
        let error = NoSecrets.secret(&TenantId::new("acme").unwrap(), "api-key").expect_err("there is none");
        assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::DependencyFailed, true));
        assert_eq!(error.details()[0].kind(), "activation.secret-unavailable");
        assert_eq!(error.details()[0].field("secret"), Some("api-key"));
    }
}
