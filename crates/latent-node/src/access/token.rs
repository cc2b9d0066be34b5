//! Bearer tokens: made of randomness, recognised by their hash, kept nowhere.
//!
//! Invariant: a token has one text, and whatever differs from it in any byte has another hash or none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latent_core::{PlatformError, Sha256Digest};

use super::refusal;

/// Before every token, so that scanners for leaked secrets find it.
pub const TOKEN_PREFIX: &str = "latent_";
const PREFIX: &[u8] = TOKEN_PREFIX.as_bytes();
const RANDOM_BYTES: usize = 32;
/// Of the whole token: the prefix, and the random bytes in base64url without padding.
const TOKEN_BYTES: usize = PREFIX.len() + (RANDOM_BYTES * 8).div_ceil(6);

/// A new token of 256 random bits.
///
/// # Errors
/// Retryable `unavailable`, detail `access.no-randomness`, when the system gives none.
pub(super) fn generate() -> Result<String, PlatformError> {
    let random = random::<RANDOM_BYTES>()?;
    let mut token = String::with_capacity(TOKEN_BYTES);
    token.push_str(TOKEN_PREFIX);
    URL_SAFE_NO_PAD.encode_string(random, &mut token);
    Ok(token)
}

/// The name of a new credential, which says nothing of its token.
///
/// # Errors
/// As [`generate`].
pub(super) fn credential_id() -> Result<Box<str>, PlatformError> {
    Ok(format!("c-{:016x}", u64::from_be_bytes(random()?)).into())
}

/// The hash by which `presented` is looked up; `None` if it cannot be a token. Does not allocate, and looks at no more
/// bytes than a token has.
pub(super) fn digest(presented: &[u8]) -> Option<Sha256Digest> {
    let is_token = presented.len() == TOKEN_BYTES
        && presented.starts_with(PREFIX)
        && presented.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_token.then(|| Sha256Digest::of(presented))
}

fn random<const N: usize>() -> Result<[u8; N], PlatformError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(refusal::no_randomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_are_distinct_and_have_the_one_shape() {
        let tokens: HashSet<_> = (0..1000).map(|_| generate().unwrap()).collect();
        assert_eq!(tokens.len(), 1000);
        for token in &tokens {
            assert_eq!(token.len(), 50);
            assert_eq!(digest(token.as_bytes()), Some(Sha256Digest::of(token.as_bytes())), "its own hash");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_hashed_whole_or_not_at_all(bytes: Vec<u8>) {
            prop_assert_eq!(digest(&bytes), None, "nothing random begins like a token and is as long");
        }

        #[test]
        fn one_changed_added_or_missing_byte_never_has_the_same_hash(at in 0_usize..50, byte: u8) {
            let token = generate().unwrap().into_bytes();
            let right = digest(&token);
            let mut changed = token.clone();
            changed[at] = byte;
            prop_assert_eq!(digest(&changed) == right, changed == token);
            let mut longer = token.clone();
            longer.insert(at, byte);
            let mut shorter = token;
            shorter.remove(at);
            prop_assert_eq!((digest(&longer), digest(&shorter)), (None, None));
        }

        #[test]
        fn what_has_the_shape_of_a_token_is_hashed_and_nothing_else(text in "latent_[A-Za-z0-9_-]{43}", byte in 0x80_u8..) {
            prop_assert_eq!(digest(text.as_bytes()), Some(Sha256Digest::of(text.as_bytes())));
            let mut foreign = text.into_bytes();
            foreign[20] = byte;
            prop_assert_eq!(digest(&foreign), None);
        }
    }
}
