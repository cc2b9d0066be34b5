//! Why admission says no, from closed sets, and the one table that turns each reason into an error.
//!
//! Invariant: a passed deadline is the error that all stages share; everything else is `admission.limit` with
//! exactly the fields `scope`, `dimension` and `reason`.

use std::fmt;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// The detail kind of every denial but a passed deadline. Whoever classifies an end by its cause looks for it.
pub const ADMISSION_LIMIT: &str = "admission.limit";

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $name { $($variant,)* }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }
    };
}

words! {
    /// Whose rule it is.
    Scope {
        Request = "request",
        Capsule = "capsule",
        Deployment = "deployment",
        Node = "node",
        Tenant = "tenant",
        Trust = "trust-class",
        Queue = "queue-class",
        Cell = "cell-class",
    }
}

words! {
    /// What the rule is about.
    Dimension {
        Tenant = "tenant",
        Subject = "subject",
        Caller = "principal-kind",
        QueueClass = "queue-class",
        Revision = "revision",
        Threading = "threading",
        Fuel = "fuel",
        Memory = "memory-bytes",
        Payload = "payload-bytes",
        Live = "live-activations",
        Queued = "queued-reservations",
        Deadline = "deadline",
        ActivationId = "activation-id",
        CpuPressure = "cpu-pressure",
        MemoryPressure = "memory-pressure",
        IoPressure = "io-pressure",
        PressureSample = "pressure-sample",
    }
}

words! {
    /// In which way the rule was broken.
    Reason {
        PrincipalNotAuthorized = "principal-not-authorized",
        TenantMismatch = "tenant-mismatch",
        RevisionNotAvailable = "revision-not-available",
        UnsupportedExecutionRequirement = "unsupported-execution-requirement",
        NoCompatibleCell = "no-compatible-cell",
        PayloadTooLarge = "payload-too-large",
        CapacityExhausted = "capacity-exhausted",
        NodeOverloaded = "node-overloaded",
        QueueDeadlineInfeasible = "queue-deadline-infeasible",
        ActivationIdUnavailable = "activation-id-unavailable",
    }
}

impl Reason {
    const fn code(self) -> PlatformErrorCode {
        match self {
            Self::PrincipalNotAuthorized | Self::TenantMismatch => PlatformErrorCode::PermissionDenied,
            Self::RevisionNotAvailable | Self::UnsupportedExecutionRequirement | Self::NoCompatibleCell => {
                PlatformErrorCode::AdmissionRejected
            }
            Self::PayloadTooLarge | Self::CapacityExhausted | Self::NodeOverloaded | Self::QueueDeadlineInfeasible => {
                PlatformErrorCode::ResourceExhausted
            }
            Self::ActivationIdUnavailable => PlatformErrorCode::AlreadyExists,
        }
    }

    const fn retryable(self) -> bool {
        matches!(self, Self::CapacityExhausted | Self::NodeOverloaded | Self::QueueDeadlineInfeasible)
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::PrincipalNotAuthorized => "the caller is not on the list; ask the operator to be added",
            Self::TenantMismatch => "the caller belongs to another tenant; call a service of its own",
            Self::RevisionNotAvailable => "no policy is known for the revision; publish the deployment first",
            Self::UnsupportedExecutionRequirement => {
                "no cell of this node can give that; change the request or the manifests"
            }
            Self::NoCompatibleCell => {
                "no cell that this tenant may use is large enough; ask for less, or for larger cells"
            }
            Self::PayloadTooLarge => "the payload is larger than allowed; send less at once",
            Self::CapacityExhausted => "no room is left; try again later",
            Self::NodeOverloaded => "the node is under pressure; try again later or on another node",
            Self::QueueDeadlineInfeasible => "the wait would outlast the deadline; allow more time or try again later",
            Self::ActivationIdUnavailable => "a live activation has that id; leave it out or wait for its end",
        }
    }
}

/// A refused admission. Nothing is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denial {
    /// The deadline came before the admission.
    DeadlinePassed,
    /// A rule or a limit.
    Limit {
        scope: Scope,
        dimension: Dimension,
        reason: Reason,
        /// What was asked for against what is allowed, where those are numbers.
        asked: Option<(u64, u64)>,
        /// Even alone the request would be too much, so that no retry helps.
        never: bool,
    },
}

impl Denial {
    pub(super) const fn limit(scope: Scope, dimension: Dimension, reason: Reason) -> Self {
        Self::Limit { scope, dimension, reason, asked: None, never: false }
    }

    /// More was asked for than `allowed`.
    pub(super) const fn over(scope: Scope, dimension: Dimension, reason: Reason, asked: u64, allowed: u64) -> Self {
        Self::Limit { scope, dimension, reason, asked: Some((asked, allowed)), never: asked > allowed }
    }
}

impl From<Denial> for PlatformError {
    fn from(denial: Denial) -> Self {
        let Denial::Limit { scope, dimension, reason, asked, never } = denial else { return Self::deadline_exceeded() };
        let advice = if never && reason == Reason::CapacityExhausted {
            "that is more than the quota allows at any time; ask for less"
        } else {
            reason.advice()
        };
        let error = match asked {
            Some((asked, allowed)) => Self::new(
                reason.code(),
                format_args!(
                    "admission denied by the {scope}'s {dimension} ({asked} asked, {allowed} allowed): {advice}"
                ),
            ),
            None => Self::new(reason.code(), format_args!("admission denied by the {scope}'s {dimension}: {advice}")),
        };
        let detail =
            ErrorDetail::new(ADMISSION_LIMIT).with("scope", scope).with("dimension", dimension).with("reason", reason);
        let error = error.with_detail(detail);
        if reason.retryable() && !never { error.retryable() } else { error }
    }
}
