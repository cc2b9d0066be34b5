//! Why an activation gets no cell, and the one table that turns each reason into an error.
//!
//! Invariant: a refusal is `scheduler.limit` with `class` and `reason`, or the pool's own error; a stop is one of the
//! errors that all stages share. The quota is handed back with it, never refunded behind the caller's back.

use std::fmt;

use latent_core::{CellClass, ErrorDetail, PlatformError, PlatformErrorCode, StopCause};

use crate::admission::QuotaHold;

/// The detail kind of every refusal that is the scheduler's own.
pub const SCHEDULER_LIMIT: &str = "scheduler.limit";

/// Why the queue of a class says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// As many wait as may. With a capacity of zero nobody may, and nobody gets a cell.
    QueueFull { queue_capacity: usize },
    /// No cell is left that could ever be leased.
    AllQuarantined,
    /// The scheduler takes nobody more.
    ShuttingDown,
    /// No pool of the class.
    UnknownClass,
    /// The pool refused for a reason of its own.
    Pool(PlatformError),
}

impl Refusal {
    pub(super) fn into_error(self, class: CellClass) -> PlatformError {
        let limit = |code, reason: &str, message: fmt::Arguments<'_>| {
            let detail = ErrorDetail::new(SCHEDULER_LIMIT).with("class", class).with("reason", reason);
            PlatformError::new(code, message).with_detail(detail)
        };
        match self {
            Self::QueueFull { queue_capacity: 0 } => limit(
                PlatformErrorCode::ResourceExhausted,
                "queue-full",
                format_args!("the queue for {class} cells has no places; give it some, or use another class"),
            ),
            Self::QueueFull { queue_capacity } => limit(
                PlatformErrorCode::ResourceExhausted,
                "queue-full",
                format_args!("all {queue_capacity} places of the queue for {class} cells are taken; try again later"),
            )
            .retryable(),
            Self::AllQuarantined => limit(
                PlatformErrorCode::Unavailable,
                "all-cells-quarantined",
                format_args!("all {class} cells are quarantined; restart the node or try another one"),
            )
            .retryable(),
            Self::ShuttingDown => limit(
                PlatformErrorCode::Unavailable,
                "shutting-down",
                format_args!("the node is shutting down; try again later or on another node"),
            )
            .retryable(),
            Self::UnknownClass => limit(
                PlatformErrorCode::InvalidArgument,
                "unknown-class",
                format_args!("the scheduler has no pool of {class} cells; offer only classes that it has"),
            ),
            Self::Pool(error) => error,
        }
    }
}

/// Why an activation did not get a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnassignedReason {
    /// Its latch or its deadline stopped it.
    Stopped(StopCause),
    /// It was refused.
    Refused(PlatformError),
}

impl UnassignedReason {
    /// The error as the activation's caller gets it: the shared one of its stop, or the refusal.
    #[must_use]
    pub fn into_error(self) -> PlatformError {
        match self {
            Self::Stopped(StopCause::Cancelled) => PlatformError::cancelled(),
            Self::Stopped(StopCause::DeadlineExceeded) => PlatformError::deadline_exceeded(),
            Self::Stopped(StopCause::TransportStopped) => PlatformError::transport_stopped(),
            Self::Refused(error) => error,
        }
    }
}

/// An activation without a cell. It holds its quota until this is dropped.
#[must_use = "dropping it refunds the quota"]
#[derive(Debug)]
pub struct Unassigned {
    /// Why.
    pub reason: UnassignedReason,
    /// What it had reserved.
    pub quota: QuotaHold,
}
