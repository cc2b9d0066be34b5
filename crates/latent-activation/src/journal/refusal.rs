//! Why a journal takes no record.

use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode};

use super::config::wide;

/// What stands in the way of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The tenant has a record of that id, of an activation that is under way or has ended.
    Duplicate,
    /// As many activations are under way as may be.
    ActiveFull {
        /// The bound.
        active_max: usize,
    },
    /// As many activations of the tenant are under way as one may have.
    TenantFull {
        /// The bound.
        tenant_active_max: usize,
    },
    /// The reservations of those under way leave too few bytes.
    BytesFull {
        /// The bound.
        aggregate_bytes_max: u64,
    },
    /// No number is left for another record.
    SequenceExhausted,
}

impl Refused {
    pub(super) fn error(self, activation_id: &ActivationId) -> PlatformError {
        let exhausted = |whose, bound, max: u64| {
            PlatformError::new(
                PlatformErrorCode::ResourceExhausted,
                format_args!(
                    "the activations{whose} under way leave no room in the journal, whose {bound} is {max}; \
                     try again later"
                ),
            )
            .retryable()
            .with_detail(ErrorDetail::new("activation.journal-full").with("bound", bound).with("max", max))
        };
        match self {
            Self::Duplicate => PlatformError::new(
                PlatformErrorCode::AlreadyExists,
                format_args!("activation {activation_id} is under way or still on record; use another id, or none"),
            )
            .with_detail(ErrorDetail::new("activation.duplicate").with("activation_id", activation_id)),
            Self::ActiveFull { active_max } => exhausted("", "active_max", wide(active_max)),
            Self::TenantFull { tenant_active_max } => {
                exhausted(" of the tenant", "tenant_active_max", wide(tenant_active_max))
            }
            Self::BytesFull { aggregate_bytes_max } => exhausted("", "aggregate_bytes_max", aggregate_bytes_max),
            Self::SequenceExhausted => PlatformError::new(
                PlatformErrorCode::Internal,
                "the journal has numbered as many records as it can; restart the node",
            )
            .with_detail(ErrorDetail::new("activation.journal-sequence-exhausted")),
        }
    }
}
