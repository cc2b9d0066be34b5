//! Identifiers: opaque, bounded, cheap to clone, never normalised.
//!
//! Two ids are the same only when their bytes are: case, accents and Unicode forms stay distinct, so that no
//! two ids can alias. Up to 23 bytes an id is kept in place, so that most are compared and copied without a look elsewhere.
//! Reference: `activation-lifecycle.md`, "Start and identity".

use std::fmt;

use smol_str::SmolStr;

/// The longest id any part of the node accepts, in UTF-8 bytes. Configured bounds can only be tighter.
pub const ID_BYTES_MAX: usize = 256;

/// Why a string is not an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdError {
    /// The string has no bytes.
    Empty,
    /// The string has `actual` bytes where at most `max` are allowed.
    TooLong {
        /// Bytes given.
        actual: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// White space, a control character or an invisible formatting character at byte `offset`.
    ForbiddenCharacter {
        /// Where in the string, in bytes.
        offset: usize,
    },
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty; at least one character is needed"),
            Self::TooLong { actual, max } => write!(f, "has {actual} bytes; at most {max} are allowed"),
            Self::ForbiddenCharacter { offset } => {
                write!(f, "has white space, a control or a formatting character at byte {offset}")
            }
        }
    }
}

impl std::error::Error for IdError {}

/// Checks the rules that every id shares: nonempty, at most `max` bytes, no white space, no control and no
/// bidirectional or zero-width formatting characters.
///
/// # Errors
/// The first rule that `text` breaks.
pub fn check(text: &str, max: usize) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > max {
        return Err(IdError::TooLong { actual: text.len(), max });
    }
    // Nearly every id is made of these alone, none of which is forbidden.
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    match text.char_indices().find(|(_, c)| forbidden(*c)) {
        Some((offset, _)) => Err(IdError::ForbiddenCharacter { offset }),
        None => Ok(()),
    }
}

fn forbidden(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(SmolStr);

        impl $name {
            /// Accepts `text` as it is.
            ///
            /// # Errors
            /// [`IdError`] when `text` is empty, longer than [`ID_BYTES_MAX`], or has a forbidden character.
            pub fn new(text: impl Into<SmolStr>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, ID_BYTES_MAX)?;
                Ok(Self(text))
            }

            /// The id's text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}

id! {
    /// Names one activation. Scoped by tenant: two tenants may use the same text without meeting.
    ActivationId
}
id! {
    /// Names whoever owns activations, releases and quotas.
    TenantId
}
id! {
    /// Names a service of a tenant.
    ServiceName
}
id! {
    /// Names one node.
    NodeId
}
id! {
    /// Names one deployment of a service.
    DeploymentId
}
id! {
    /// Names one route of a service: [`DEFAULT_ROUTE`], or the deployment that it leads to.
    RouteName
}

/// The route that every deployment of a service feeds. No deployment may be called so.
pub const DEFAULT_ROUTE: &str = "default";

impl RouteName {
    /// Whether this is the route that every deployment of the service feeds.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.as_str() == DEFAULT_ROUTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_up_to_the_bound_and_refuses_one_more() {
        assert!(ActivationId::new("a".repeat(ID_BYTES_MAX)).is_ok());
        assert_eq!(
            ActivationId::new("a".repeat(ID_BYTES_MAX + 1)),
            Err(IdError::TooLong { actual: ID_BYTES_MAX + 1, max: ID_BYTES_MAX })
        );
    }

    #[test]
    fn refuses_empty_blank_control_and_direction_overrides() {
        assert_eq!(TenantId::new(""), Err(IdError::Empty));
        for (text, offset) in [("a b", 1), ("a\n", 1), ("\0", 0), ("ab\u{202e}c", 2), ("a\u{200b}", 1)] {
            assert_eq!(TenantId::new(text), Err(IdError::ForbiddenCharacter { offset }), "{text:?}");
        }
    }

    #[test]
    fn every_ascii_character_is_judged_as_any_other() {
        for byte in 0..0x80_u8 {
            let c = char::from(byte);
            assert_eq!(check(&c.to_string(), 8).is_err(), forbidden(c), "{byte}");
        }
    }

    #[test]
    fn composed_and_decomposed_forms_stay_distinct() {
        assert_ne!(TenantId::new("caf\u{e9}").unwrap(), TenantId::new("cafe\u{301}").unwrap());
        assert_ne!(TenantId::new("A").unwrap(), TenantId::new("a").unwrap());
    }
}
