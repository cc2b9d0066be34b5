//! The record of a run, without running it.
//!
//! An activation arrives as an [`ActivationRequest`], which is checked into a [`ValidRequest`] before anything is
//! reserved for it.
//!
//! An activation arrives as an [`ActivationEnvelope`], can be cancelled through its [`CancellationRegistration`] for
//! as long as that lives, and ends as exactly one `ActivationOutcome`. Several things may have ended it at once: which
//! one its caller is told about is the business of one table and one function, [`conclude`].
//!
//! Nothing here waits, reads a clock or knows a cell. Whoever runs activations gathers the facts, as [`Evidence`], and
//! asks. Specification: `activation-containment.md`, "Race and error precedence" and "Stable activation mapping".

pub mod request;

pub mod id_source;

pub mod envelope;

pub mod phase;

pub mod cancel;

pub mod precedence;

pub mod outcome;

pub mod journal;

pub use cancel::{CancelDisposition, CancellationRegistration, CancellationRegistry};
pub use envelope::ActivationEnvelope;
pub use id_source::{ActivationIdSource, RandomActivationIdSource};
pub use journal::{JournalReservation, LocalActivationJournal, LocalActivationJournalConfig};
pub use outcome::from_execution;
pub use phase::{LifecycleEvent, LifecyclePhase, Moment, Progress};
pub use precedence::{DispositionFailure, EndCause, Evidence, conclude};
pub use request::{ActivationRequest, Lineage, RequestLimits, ValidRequest};
