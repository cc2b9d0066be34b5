//! How an activation ended, as its caller sees it.

use std::fmt;

use bytes::Bytes;

use crate::error::PlatformError;

/// The terminal classification of an activation (`activation-lifecycle.md`, "Resolution and lifecycle").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TerminalState {
    /// The guest returned: a success or a declared error.
    Completed,
    /// An explicit cancel was accepted.
    Cancelled,
    /// The effective deadline passed.
    DeadlineExceeded,
    /// Fuel, memory or another enforced limit ran out.
    ResourceExhausted,
    /// The guest trapped.
    GuestTrap,
    /// The state it stood on had changed.
    StateConflict,
    /// A route or dependency was not available.
    DependencyFailed,
    /// Refused before it could run.
    Rejected,
    /// A fault of the platform.
    PlatformFailed,
}

impl TerminalState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Completed,
        Self::Cancelled,
        Self::DeadlineExceeded,
        Self::ResourceExhausted,
        Self::GuestTrap,
        Self::StateConflict,
        Self::DependencyFailed,
        Self::Rejected,
        Self::PlatformFailed,
    ];

    /// The state in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::DeadlineExceeded => "deadline-exceeded",
            Self::ResourceExhausted => "resource-exhausted",
            Self::GuestTrap => "guest-trap",
            Self::StateConflict => "state-conflict",
            Self::DependencyFailed => "dependency-failed",
            Self::Rejected => "rejected",
            Self::PlatformFailed => "platform-failed",
        }
    }
}

impl fmt::Display for TerminalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How payload bytes are to be read. The node reads exactly two media types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MediaType {
    /// `application/json`: parameters or result mapped as `docs/values.md` says.
    #[default]
    Json,
    /// `application/octet-stream`: the bytes themselves.
    OctetStream,
}

impl MediaType {
    /// The media type's registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::OctetStream => "application/octet-stream",
        }
    }

    /// Reads a media type; parameters after `;` are ignored, as is case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        [Self::Json, Self::OctetStream].into_iter().find(|m| essence.eq_ignore_ascii_case(m.as_str()))
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Bytes and how to read them. Cloning shares the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payload {
    /// How to read the bytes.
    pub media_type: MediaType,
    /// The bytes.
    pub bytes: Bytes,
}

impl Payload {
    /// A JSON payload.
    pub fn json(bytes: impl Into<Bytes>) -> Self {
        Self { media_type: MediaType::Json, bytes: bytes.into() }
    }

    /// A raw payload.
    pub fn octets(bytes: impl Into<Bytes>) -> Self {
        Self { media_type: MediaType::OctetStream, bytes: bytes.into() }
    }
}

/// What one contained execution came to, before anything outside it (a cancel, a deadline, the cell's disposition)
/// is weighed against it. `activation-containment.md`, "Stable activation mapping".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutionOutcome {
    /// The guest returned.
    Returned(Payload),
    /// The guest returned the `err` of its sole top-level `result`.
    DeclaredError(Payload),
    /// Stopped by an explicit cancel.
    Cancelled,
    /// Stopped by the effective deadline.
    DeadlineExceeded,
    /// Stopped because the transport went away.
    TransportStopped,
    /// Failed after a growth of linear memory had been denied.
    MemoryExhausted,
    /// Ran out of fuel.
    FuelExhausted,
    /// Reached another enforced limit.
    LimitExceeded {
        /// The stable detail kind, such as `activation.table-exhausted`.
        kind: &'static str,
        /// The limit's value.
        limit: u64,
    },
    /// The guest trapped.
    Trapped {
        /// A stable category in kebab case, such as `unreachable`.
        category: &'static str,
    },
    /// The guest ended its own run through `wasi:cli/exit` where that is no result of its function.
    Exited {
        /// The status it left with; 0 says success, but there is no value to return.
        status: i32,
    },
    /// Failed in any other way: refused before it ran, or a fault of the platform.
    Failed(PlatformError),
}

/// What an activation's caller gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivationOutcome {
    /// The guest returned a result.
    Succeeded {
        /// The encoded result.
        output: Payload,
    },
    /// The guest returned the `err` of its own top-level `result`.
    DeclaredError {
        /// The encoded error.
        error: Payload,
    },
    /// The activation ended any other way.
    Failed {
        /// The classification.
        terminal_state: TerminalState,
        /// Why.
        error: PlatformError,
    },
}

impl ActivationOutcome {
    /// A failure whose terminal state follows from its code.
    #[must_use]
    pub fn failed(error: PlatformError) -> Self {
        Self::Failed { terminal_state: error.code().terminal_state(), error }
    }

    /// The terminal state.
    #[must_use]
    pub fn terminal_state(&self) -> TerminalState {
        match self {
            Self::Succeeded { .. } | Self::DeclaredError { .. } => TerminalState::Completed,
            Self::Failed { terminal_state, .. } => *terminal_state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlatformErrorCode;

    #[test]
    fn success_and_declared_error_are_both_completed() {
        let output = Payload::json("1");
        assert_eq!(ActivationOutcome::Succeeded { output: output.clone() }.terminal_state(), TerminalState::Completed);
        assert_eq!(ActivationOutcome::DeclaredError { error: output }.terminal_state(), TerminalState::Completed);
    }

    #[test]
    fn every_code_has_a_failing_terminal_state() {
        for code in PlatformErrorCode::ALL {
            assert_ne!(code.terminal_state(), TerminalState::Completed, "{code}");
        }
    }

    #[test]
    fn media_types_ignore_case_and_parameters() {
        assert_eq!(MediaType::parse("Application/JSON; charset=utf-8"), Some(MediaType::Json));
        assert_eq!(MediaType::parse("application/octet-stream"), Some(MediaType::OctetStream));
        assert_eq!(MediaType::parse("text/plain"), None);
    }
}
