//! Pages of lists: how long they are, and the tokens that lead to the next one.
//!
//! Invariant: a token leads on in the list that it came from, of the tenant that it was given to; anywhere else, or
//! altered, it is refused. It holds nothing that its reader may not know, and grants nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latent_core::{PlatformError, Sha256Digest, TenantId};

use crate::convert::field;

/// Rows of a page where the request says zero.
pub const PAGE_ROWS_DEFAULT: usize = 100;
/// The most rows of a page; larger wishes get this many.
pub const PAGE_ROWS_MAX: usize = 256;

/// The longest token that is looked at, in characters: names in it have at most 256 bytes each.
const TOKEN_CHARS_MAX: usize = 1024;
/// What tokens begin with.
const VERSION: u8 = 1;
/// Bytes of the checksum.
const CHECKSUM_BYTES: usize = 8;
/// Separates these digests from all others.
const DOMAIN: &[u8] = b"latent page token";

/// Which list a token belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    /// Who lists.
    pub tenant: &'a TenantId,
    /// What is listed.
    pub name: &'static str,
    /// Of what alone, if not of all.
    pub filter: &'a str,
}

/// How many rows a page has.
pub(super) fn rows(page_size: u32) -> usize {
    match page_size {
        0 => PAGE_ROWS_DEFAULT,
        wanted => usize::try_from(wanted).unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX),
    }
}

impl List<'_> {
    /// The token of a page that begins after `cursor`.
    pub(super) fn token(&self, cursor: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(1 + cursor.len() + CHECKSUM_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(cursor);
        bytes.extend_from_slice(&self.checksum(cursor));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor of `token`; `None` for the first page.
    pub(super) fn cursor(&self, token: &str) -> Result<Option<Vec<u8>>, PlatformError> {
        if token.is_empty() {
            return Ok(None);
        }
        self.decode(token).map(Some).ok_or_else(refused)
    }

    /// The cursor of `token` as a text.
    pub(super) fn text(&self, token: &str) -> Result<Option<String>, PlatformError> {
        let cursor = self.cursor(token)?;
        cursor.map(|bytes| String::from_utf8(bytes).map_err(|_| refused())).transpose()
    }

    fn decode(&self, token: &str) -> Option<Vec<u8>> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (version, rest) = bytes.split_first()?;
        let (cursor, checksum) = rest.split_last_chunk::<CHECKSUM_BYTES>()?;
        (*version == VERSION && *checksum == self.checksum(cursor)).then(|| cursor.to_vec())
    }

    fn checksum(&self, cursor: &[u8]) -> [u8; CHECKSUM_BYTES] {
        let mut text = DOMAIN.to_vec();
        for part in [self.tenant.as_str().as_bytes(), self.name.as_bytes(), self.filter.as_bytes(), cursor] {
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part);
        }
        let digest = Sha256Digest::of(&text);
        let first: Option<&[u8; CHECKSUM_BYTES]> = digest.as_bytes().first_chunk();
        *first.expect("a digest has more than eight bytes")
    }
}

/// What is said of a token that is not one of this list.
pub(super) fn refused() -> PlatformError {
    field::invalid("page_token", "empty, or the `next_page_token` of a page of this same list, as it came")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    #[test]
    fn a_token_leads_on_in_its_own_list_only() {
        let (t, u) = (tenant("t"), tenant("u"));
        let list = List { tenant: &t, name: "releases", filter: "" };
        let token = list.token(b"cursor");
        assert_eq!(list.cursor(&token), Ok(Some(b"cursor".to_vec())));
        assert_eq!(list.cursor(""), Ok(None));
        let others =
            [List { tenant: &u, ..list }, List { name: "deployments", ..list }, List { filter: "service", ..list }];
        for other in others {
            assert_eq!(other.cursor(&token), Err(refused()), "{other:?}");
        }
    }

    #[test]
    fn an_altered_token_is_refused_wherever_it_is_altered() {
        let t = tenant("t");
        let list = List { tenant: &t, name: "releases", filter: "" };
        let token = list.token(b"cursor");
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert_eq!(list.cursor(&URL_SAFE_NO_PAD.encode(altered)), Err(refused()), "byte {at}");
        }
        for nonsense in ["!", "AA", &token[1..], &"A".repeat(TOKEN_CHARS_MAX + 1)] {
            assert_eq!(list.cursor(nonsense), Err(refused()));
        }
    }

    #[test]
    fn pages_have_the_default_or_as_many_rows_as_asked_for_up_to_the_bound() {
        assert_eq!([0, 1, 256, 257, u32::MAX].map(rows), [100, 1, 256, 256, 256]);
    }
}
