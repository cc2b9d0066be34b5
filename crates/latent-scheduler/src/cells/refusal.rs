//! Why a pool says no, and the one table that turns each reason into an error.
//!
//! Invariant: every kind starts with `cell-pool.`, and deadline and cancel start from the constructors that all
//! stages share.

use latent_core::{ActivationId, CellClass, ErrorDetail, PlatformError, PlatformErrorCode};

use super::slots::POOL_CAPACITY_MAX;

/// Why an acquisition ends without a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AcquireRefusal {
    /// The pool holds cells of another class.
    UnsupportedClass { held: CellClass, asked: CellClass },
    /// The deadline has passed.
    Expired,
    /// The same tenant's activation of that id waits for or holds a cell.
    Duplicate(ActivationId),
    /// All cells are busy and the queue is full.
    QueueFull { queue_capacity: usize },
    /// No cell is left that could ever be leased.
    AllQuarantined { capacity: usize },
    /// A counter that must not repeat has no value left.
    SequenceExhausted,
    /// Somebody cancelled the wait.
    Cancelled,
}

/// Why a lease is not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnRefusal {
    /// The lease is not, or no longer, live.
    DoubleRelease,
    /// The lease does not say what was recorded when it was granted.
    IdentityMismatch,
    /// Another issuer minted the lease.
    ForeignLease,
}

impl From<AcquireRefusal> for PlatformError {
    fn from(refusal: AcquireRefusal) -> Self {
        use AcquireRefusal as R;
        match refusal {
            R::UnsupportedClass { held, asked } => Self::new(
                PlatformErrorCode::InvalidArgument,
                format_args!("no cell of class {asked} in a pool of class {held}; ask a pool that holds {asked} cells"),
            )
            .with_detail(ErrorDetail::new("cell-pool.unsupported-class").with("asked", asked).with("held", held)),
            R::Expired => Self::deadline_exceeded().with_detail(ErrorDetail::new("cell-pool.deadline-exceeded")),
            R::Duplicate(id) => Self::new(
                PlatformErrorCode::AlreadyExists,
                format_args!("activation {id} already waits for or holds a cell; use another id or wait for its end"),
            )
            .with_detail(ErrorDetail::new("cell-pool.duplicate-activation").with("activation_id", id)),
            R::QueueFull { queue_capacity } => Self::new(
                PlatformErrorCode::ResourceExhausted,
                format_args!("every cell is busy and the queue of {queue_capacity} is full; try again later"),
            )
            .retryable()
            .with_detail(ErrorDetail::new("cell-pool.queue-full").with("queue_capacity", queue_capacity)),
            R::AllQuarantined { capacity } => Self::new(
                PlatformErrorCode::Unavailable,
                format_args!("all {capacity} cells are quarantined; restart the node or try another one"),
            )
            .retryable()
            .with_detail(ErrorDetail::new("cell-pool.all-quarantined").with("capacity", capacity)),
            R::SequenceExhausted => Self::new(
                PlatformErrorCode::Internal,
                "the pool has used up its lease numbers and grants no more; restart the node",
            )
            .with_detail(ErrorDetail::new("cell-pool.sequence-exhausted")),
            R::Cancelled => Self::cancelled().with_detail(ErrorDetail::new("cell-pool.waiter-cancelled")),
        }
    }
}

impl From<ReturnRefusal> for PlatformError {
    fn from(refusal: ReturnRefusal) -> Self {
        let (code, kind, message) = match refusal {
            ReturnRefusal::DoubleRelease => (
                PlatformErrorCode::NotFound,
                "cell-pool.double-release",
                "no live lease matches the one returned; return each lease once",
            ),
            ReturnRefusal::IdentityMismatch => (
                PlatformErrorCode::InvalidArgument,
                "cell-pool.identity-mismatch",
                "the lease differs from what was granted, so its cell is quarantined; return leases unaltered",
            ),
            ReturnRefusal::ForeignLease => (
                PlatformErrorCode::PermissionDenied,
                "cell-pool.foreign-lease",
                "this pool did not issue the lease; return it to the pool that did",
            ),
        };
        Self::new(code, message).with_detail(ErrorDetail::new(kind))
    }
}

/// A pool was asked for that cannot exist.
pub(super) fn invalid_capacity(capacity: usize) -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        format_args!("a pool of {capacity} cells is not possible; ask for 1 to {POOL_CAPACITY_MAX}"),
    )
    .with_detail(
        ErrorDetail::new("cell-pool.invalid-capacity").with("capacity", capacity).with("max", POOL_CAPACITY_MAX),
    )
}

/// A quarantine came without a reason that anyone could read.
pub(super) fn invalid_quarantine_reason() -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        "the quarantine reason is blank; say why the cell cannot be reused (the cell is quarantined nevertheless)",
    )
    .with_detail(ErrorDetail::new("cell-pool.invalid-quarantine-reason"))
}

/// The pool's implementation does not offer an optional operation.
pub(super) fn unsupported_operation(operation: &str) -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::Unavailable,
        format_args!("this cell pool does not offer {operation}; use a pool that does"),
    )
    .with_detail(ErrorDetail::new("cell-pool.unsupported-operation").with("operation", operation))
}

/// The pool and all its leases are gone.
pub(super) fn owner_gone() -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::Unavailable,
        "the cell pool is gone and will not change again; stop waiting for it",
    )
    .with_detail(ErrorDetail::new("cell-pool.owner-gone"))
}

/// Somebody listens to the pool's changes.
pub(super) fn listener_taken() -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        "the cell pool has a listener; give each scheduler pools of its own",
    )
    .with_detail(ErrorDetail::new("cell-pool.listener-taken"))
}
