//! References to secrets: which variable of a guest gets which secret of its tenant. What the secrets hold is not here.
//!
//! Invariant: a name that [`is_secret_name`] accepts is one plain component of a path, and nothing that could lead
//! anywhere else.

use std::collections::BTreeMap;

/// The longest name of a secret, in bytes.
pub const SECRET_NAME_BYTES_MAX: usize = 128;
/// The most secrets that one deployment refers to.
pub const SECRETS_MAX: usize = 32;

/// Whether `name` may name a secret: 1 to [`SECRET_NAME_BYTES_MAX`] of the letters `a` to `z` in either case, digits,
/// `-`, `_` and `.`, with no `.` at the beginning.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=SECRET_NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits)
}

/// Names of secrets by the variable that shows them to the guest, ordered by variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SecretReferences(BTreeMap<Box<str>, Box<str>>);

impl SecretReferences {
    /// The references of `pairs`, each a variable and a secret; of one variable twice, the last.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (Box<str>, Box<str>)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// Variables and secrets, ordered by variable.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(variable, secret)| (&**variable, &**secret))
    }

    /// How many variables there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_secret_is_one_plain_part_of_a_path() {
        let longest = "n".repeat(SECRET_NAME_BYTES_MAX);
        for name in ["a", "API_key-2.pem", "0", "-", "a..b", &longest] {
            assert!(is_secret_name(name), "{name}");
        }
        let long = "n".repeat(SECRET_NAME_BYTES_MAX + 1);
        for name in ["", ".", "..", ".hidden", "../a", "a/b", "/a", "a\0", "a\n", "a b", "a%2f", "ä", "a\\b", &long] {
            assert!(!is_secret_name(name), "{name:?}");
        }
    }
}
