//! Why a request is refused: one fact each, naming the field and the bound.
//!
//! Nothing of what the caller sent is repeated in an error, apart from sizes and offsets.

use std::fmt;

use latent_core::principal::CallerError;
use latent_core::{ErrorDetail, IdError, PlatformError, PlatformErrorCode};

use crate::id_source::IdsExhausted;

/// A part of a request that can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the request's own fields")]
pub enum RequestField {
    ActivationId,
    RootActivationId,
    ParentActivationId,
    Tenant,
    Subject,
    CallingService,
    Service,
    Route,
    Contract,
    Function,
    Payload,
    Fuel,
    MemoryBytes,
    LogBytes,
    WallLimit,
    Deadline,
    TraceParent,
    TraceState,
    IdempotencyKey,
    RetryCount,
    Metadata,
    MetadataKey,
    MetadataValue,
    Context,
}

impl RequestField {
    /// The field's name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActivationId => "activation-id",
            Self::RootActivationId => "root-activation-id",
            Self::ParentActivationId => "parent-activation-id",
            Self::Tenant => "tenant",
            Self::Subject => "subject",
            Self::CallingService => "calling-service",
            Self::Service => "service",
            Self::Route => "route",
            Self::Contract => "contract",
            Self::Function => "function",
            Self::Payload => "payload",
            Self::Fuel => "fuel",
            Self::MemoryBytes => "memory-bytes",
            Self::LogBytes => "log-bytes",
            Self::WallLimit => "wall-limit",
            Self::Deadline => "deadline",
            Self::TraceParent => "trace-parent",
            Self::TraceState => "trace-state",
            Self::IdempotencyKey => "idempotency-key",
            Self::RetryCount => "retry-count",
            Self::Metadata => "metadata",
            Self::MetadataKey => "metadata-key",
            Self::MetadataValue => "metadata-value",
            Self::Context => "context",
        }
    }
}

impl fmt::Display for RequestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestRefusal {
    /// The caller is no principal.
    Caller(CallerError),
    /// The principal belongs to another tenant than the service.
    ForeignTenant,
    /// A text breaks a rule that all ids and names share.
    Text {
        /// Which field.
        field: RequestField,
        /// Which rule.
        reason: IdError,
    },
    /// A field is larger than its bound.
    TooLarge {
        /// Which field.
        field: RequestField,
        /// What is counted.
        unit: &'static str,
        /// What was found.
        found: u64,
        /// The bound.
        max: u64,
    },
    /// A field is zero where that asks for nothing, or a deadline lies before anything could have been asked.
    TooSmall {
        /// Which field.
        field: RequestField,
    },
    /// A parent without a root.
    ParentWithoutRoot,
    /// A metadata key that is reserved for the node.
    ReservedMetadata {
        /// The reserved beginning.
        prefix: &'static str,
    },
    /// The node has no id left to give.
    IdsExhausted(IdsExhausted),
}

impl fmt::Display for RequestRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(CallerError::Anonymous) => {
                f.write_str("nobody authenticated; an activation needs a principal")
            }
            Self::Caller(CallerError::UnnamedService) => {
                f.write_str("the calling service does not name itself; its credential has to")
            }
            Self::ForeignTenant => f.write_str("the principal and the called service belong to different tenants"),
            Self::Text { field, reason } => write!(f, "{field} {reason}"),
            Self::TooLarge { field, unit, found, max } => {
                write!(f, "{field} has {found} {unit}; at most {max} are allowed")
            }
            Self::TooSmall { field: RequestField::Deadline } => {
                f.write_str("deadline is not after the start of 1970; leave it out for none")
            }
            Self::TooSmall { field } => {
                write!(f, "{field} is zero, with which nothing can run; leave it out for the node's own")
            }
            Self::ParentWithoutRoot => {
                f.write_str("parent-activation-id is given without root-activation-id; give both or neither")
            }
            Self::ReservedMetadata { prefix } => {
                write!(f, "metadata-key starts with {prefix}, which only the node may say; leave it out")
            }
            Self::IdsExhausted(exhausted) => exhausted.fmt(f),
        }
    }
}

impl std::error::Error for RequestRefusal {}

impl From<RequestRefusal> for PlatformError {
    fn from(refusal: RequestRefusal) -> Self {
        use PlatformErrorCode as Code;
        let error = |code| Self::new(code, &refusal);
        let invalid = |field: RequestField, rule: &str| {
            ErrorDetail::new("activation.request-invalid").with("field", field).with("rule", rule)
        };
        match &refusal {
            RequestRefusal::Caller(_) => error(Code::Unauthenticated),
            RequestRefusal::ForeignTenant => {
                error(Code::PermissionDenied).with_detail(ErrorDetail::new("activation.tenant-mismatch"))
            }
            RequestRefusal::Text { field, reason } => {
                let detail = match reason {
                    IdError::Empty => invalid(*field, "nonempty"),
                    IdError::TooLong { actual, max } => {
                        invalid(*field, "max").with("unit", "bytes").with("found", actual).with("max", max)
                    }
                    IdError::ForbiddenCharacter { offset } => invalid(*field, "characters").with("offset", offset),
                };
                error(Code::InvalidArgument).with_detail(detail)
            }
            RequestRefusal::TooLarge { field, unit, found, max } => {
                let detail = invalid(*field, "max").with("unit", unit).with("found", found).with("max", max);
                error(Code::InvalidArgument).with_detail(detail)
            }
            RequestRefusal::TooSmall { field } => error(Code::InvalidArgument).with_detail(invalid(*field, "positive")),
            RequestRefusal::ParentWithoutRoot => {
                let detail = invalid(RequestField::ParentActivationId, "needs-root");
                error(Code::InvalidArgument).with_detail(detail)
            }
            RequestRefusal::ReservedMetadata { prefix } => {
                let detail = invalid(RequestField::MetadataKey, "reserved").with("prefix", prefix);
                error(Code::InvalidArgument).with_detail(detail)
            }
            RequestRefusal::IdsExhausted(exhausted) => Self::from(*exhausted),
        }
    }
}
