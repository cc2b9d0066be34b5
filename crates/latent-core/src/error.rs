//! The closed table of errors: a code, a bounded message, whether a retry can help, bounded details.
//!
//! Bounds are applied when an error is built, so that an error is safe to hand across the activation boundary
//! wherever it came from. `activation-containment.md`, "Stable activation mapping"; one page per code in
//! `docs/errors/`.

use std::fmt;

use crate::outcome::TerminalState;

/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 512;
/// The longest detail kind and field name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The longest field value, in bytes.
pub const VALUE_BYTES_MAX: usize = 256;
/// The most details an error carries.
pub const DETAILS_MAX: usize = 8;
/// The most fields a detail carries.
pub const FIELDS_MAX: usize = 16;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal => $state:ident,)*) => {
        /// What went wrong, from a closed set. Written in kebab case wherever a user sees it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum PlatformErrorCode {
            $($(#[$doc])* $variant,)*
        }

        impl PlatformErrorCode {
            /// Every code, in alphabetical order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code in kebab case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The terminal state of an activation that ended with this code, where nothing more specific is
            /// known about it.
            #[must_use]
            pub const fn terminal_state(self) -> TerminalState {
                match self { $(Self::$variant => TerminalState::$state,)* }
            }
        }
    };
}

codes! {
    /// A policy or quota said no before anything was reserved.
    AdmissionRejected = "admission-rejected" => Rejected,
    /// The id is in use or still retained.
    AlreadyExists = "already-exists" => Rejected,
    /// An explicit cancel was accepted.
    Cancelled = "cancelled" => Cancelled,
    /// Stored or offered bytes are not what they claim to be.
    CorruptArtifact = "corrupt-artifact" => Rejected,
    /// The effective deadline passed.
    DeadlineExceeded = "deadline-exceeded" => DeadlineExceeded,
    /// Something the activation depends on failed.
    DependencyFailed = "dependency-failed" => DependencyFailed,
    /// The guest trapped.
    GuestTrap = "guest-trap" => GuestTrap,
    /// The component lacks the function, or needs what the node does not offer.
    IncompatibleContract = "incompatible-contract" => Rejected,
    /// A fault of the platform itself.
    Internal = "internal" => PlatformFailed,
    /// The caller's input is malformed.
    InvalidArgument = "invalid-argument" => Rejected,
    /// No such object, or none the caller may see.
    NotFound = "not-found" => Rejected,
    /// The caller is known but not allowed.
    PermissionDenied = "permission-denied" => Rejected,
    /// A limit or a bounded queue is full.
    ResourceExhausted = "resource-exhausted" => ResourceExhausted,
    /// No route of that name serves the call.
    RouteUnavailable = "route-unavailable" => DependencyFailed,
    /// The object changed since the caller looked.
    StateConflict = "state-conflict" => StateConflict,
    /// The caller is not known.
    Unauthenticated = "unauthenticated" => Rejected,
    /// The part needed is not up at the moment.
    Unavailable = "unavailable" => DependencyFailed,
}

impl fmt::Display for PlatformErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One machine-readable fact about an error: a stable kind and named values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorDetail {
    kind: Box<str>,
    fields: Vec<(Box<str>, Box<str>)>,
}

impl ErrorDetail {
    /// A detail of the given kind, cut to [`NAME_BYTES_MAX`].
    #[must_use]
    pub fn new(kind: &str) -> Self {
        Self { kind: cut(kind, NAME_BYTES_MAX).into(), fields: Vec::new() }
    }

    /// Adds a field, cut to its bounds. Beyond [`FIELDS_MAX`] fields the detail stays as it is.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        if self.fields.len() < FIELDS_MAX {
            let value = bounded(value, VALUE_BYTES_MAX);
            self.fields.push((cut(name, NAME_BYTES_MAX).into(), value));
        }
        self
    }

    /// The stable kind, such as `activation.guest-trap`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The fields in the order they were added.
    #[must_use]
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of the first field called `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

/// An error as it may cross the activation boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformError {
    code: PlatformErrorCode,
    message: Box<str>,
    retryable: bool,
    details: Vec<ErrorDetail>,
}

impl PlatformError {
    /// A non-retryable error. `message` is a lower-case fragment, cut to [`MESSAGE_BYTES_MAX`].
    #[must_use]
    pub fn new(code: PlatformErrorCode, message: impl fmt::Display) -> Self {
        Self { code, message: bounded(message, MESSAGE_BYTES_MAX), retryable: false, details: Vec::new() }
    }

    /// The same error, marked as worth trying again unchanged.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Adds a detail. Beyond [`DETAILS_MAX`] the error stays as it is.
    #[must_use]
    pub fn with_detail(mut self, detail: ErrorDetail) -> Self {
        if self.details.len() < DETAILS_MAX {
            self.details.push(detail);
        }
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> PlatformErrorCode {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The details in the order they were added.
    #[must_use]
    pub fn details(&self) -> &[ErrorDetail] {
        &self.details
    }

    /// Whether any detail has this kind.
    #[must_use]
    pub fn has_detail(&self, kind: &str) -> bool {
        self.details.iter().any(|detail| &*detail.kind == kind)
    }

    /// An accepted cancellation, the same at every stage that observes it.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::of_activation(PlatformErrorCode::Cancelled, "activation.cancelled", "the activation was cancelled")
    }

    /// A passed deadline, the same at every stage that observes it.
    #[must_use]
    pub fn deadline_exceeded() -> Self {
        Self::of_activation(
            PlatformErrorCode::DeadlineExceeded,
            "activation.deadline-exceeded",
            "the activation's deadline passed",
        )
    }

    /// A transport that went away, the same at every stage that observes it.
    #[must_use]
    pub fn transport_stopped() -> Self {
        Self::of_activation(
            PlatformErrorCode::Cancelled,
            "activation.transport-stopped",
            "the transport that carried the activation went away",
        )
    }

    /// An error with one `activation.*` detail that has no fields yet.
    #[must_use]
    pub fn of_activation(code: PlatformErrorCode, kind: &str, message: impl fmt::Display) -> Self {
        Self::new(code, message).with_detail(ErrorDetail::new(kind))
    }
}

impl fmt::Display for PlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for PlatformError {}

/// The longest prefix of `text` that has at most `max` bytes and ends between characters.
#[must_use]
pub fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Writes `value` into at most `max` bytes without ever holding more than that.
fn bounded(value: impl fmt::Display, max: usize) -> Box<str> {
    struct Bounded {
        text: String,
        max: usize,
    }
    impl fmt::Write for Bounded {
        fn write_str(&mut self, more: &str) -> fmt::Result {
            let room = self.max - self.text.len();
            let taken = cut(more, room);
            self.text.push_str(taken);
            if taken.len() < more.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut out = Bounded { text: String::new(), max };
    // An error here only says that the bound was reached: what fits has been kept.
    let _cut_short = fmt::write(&mut out, format_args!("{value}"));
    out.text.into_boxed_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_error_stays_within_its_bounds(
            message in ".{0,2000}", kind in ".{0,300}", value in ".{0,1000}", details in 0usize..12, fields in 0usize..24,
        ) {
            let mut error = PlatformError::new(PlatformErrorCode::Internal, &message);
            for _ in 0..details {
                let detail = (0..fields).fold(ErrorDetail::new(&kind), |d, _| d.with(&kind, &value));
                error = error.with_detail(detail);
            }
            prop_assert!(error.message().len() <= MESSAGE_BYTES_MAX && message.starts_with(error.message()));
            prop_assert_eq!(error.details().len(), details.min(DETAILS_MAX));
            for detail in error.details() {
                prop_assert!(detail.kind().len() <= NAME_BYTES_MAX);
                prop_assert_eq!(detail.fields().len(), fields.min(FIELDS_MAX));
                prop_assert!(detail.fields().all(|(n, v)| n.len() <= NAME_BYTES_MAX && v.len() <= VALUE_BYTES_MAX));
            }
        }
    }

    #[test]
    fn codes_are_unique_kebab_case_and_sorted() {
        let texts: Vec<_> = PlatformErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(texts.len(), 17);
        assert!(texts.is_sorted_by(|a, b| a < b), "{texts:?}");
        assert!(texts.iter().all(|t| t.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    #[test]
    fn shared_constructors_do_not_depend_on_the_stage() {
        let cancelled = PlatformError::cancelled();
        assert_eq!(cancelled.code(), PlatformErrorCode::Cancelled);
        assert!(cancelled.has_detail("activation.cancelled") && !cancelled.is_retryable());
        let deadline = PlatformError::deadline_exceeded();
        assert_eq!(deadline.code(), PlatformErrorCode::DeadlineExceeded);
        assert!(deadline.has_detail("activation.deadline-exceeded") && !deadline.is_retryable());
    }
}
