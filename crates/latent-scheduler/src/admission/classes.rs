//! The closed sets that quotas are counted by, besides tenants and cell classes.
//!
//! Invariant: each set has an array of its members in declaration order, so that `member as usize` is its place.

use std::fmt;

use latent_core::PrincipalKind;

/// How far a node trusts a tenant's code. An operator gives each tenant one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum TrustClass {
    /// Anybody's code.
    #[default]
    Untrusted,
    /// Code of tenants that the operator knows.
    Known,
    /// The operator's own code.
    Own,
}

impl TrustClass {
    /// Every class, least trusted first.
    pub const ALL: [Self; 3] = [Self::Untrusted, Self::Known, Self::Own];

    /// The name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Known => "known",
            Self::Own => "own",
        }
    }
}

/// What kind of waiting a call stands. Counted apart, so that background work cannot use up all that a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum QueueClass {
    /// Somebody waits for the answer.
    Interactive,
    /// The default.
    #[default]
    Standard,
    /// Nobody minds when it runs.
    Background,
}

impl QueueClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Standard, Self::Background];

    /// The name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Standard => "standard",
            Self::Background => "background",
        }
    }
}

/// The kind of a principal, without its particulars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallerKind {
    /// A person or a tool.
    User,
    /// Another service.
    Service,
}

impl CallerKind {
    pub(super) fn of(kind: &PrincipalKind) -> Self {
        match kind {
            PrincipalKind::User => Self::User,
            PrincipalKind::Service(_) => Self::Service,
        }
    }
}

impl fmt::Display for TrustClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for QueueClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
