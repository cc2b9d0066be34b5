//! The record of a run, without running it.
//!
//! An activation is asked for with an [`ActivationRequest`], which is checked, within named bounds, into a
//! [`ValidRequest`] with a [`Lineage`]: nothing that did not pass reaches the rest. What runs is an
//! [`ActivationEnvelope`]. It goes through the [phases](LifecyclePhase) in order and ends as exactly one
//! `ActivationOutcome`. Several things may have ended it at once: which one its caller is told about is the business
//! of one table and one function, [`conclude`].
//!
//! The [`LocalActivationJournal`] keeps the record. Whoever runs the activation holds its [`JournalReservation`], which
//! alone can move the record on and publish its end; tenants ask and cancel through the journal. A cancel and the end
//! are put in order by the record's own lock: an accepted cancel is in the end that follows, and after an end a cancel
//! is told the state. A runner without a journal makes its runs cancellable through a [`CancellationRegistry`], whose
//! registrations know of nothing but those under way.
//!
//! Nothing here waits, reads a clock or knows a cell. Whoever runs activations gathers the facts, as [`Evidence`], and
//! asks; the time is an argument. Specification: `activation-lifecycle.md`, and of `activation-containment.md` "Race and
//! error precedence" and "Stable activation mapping".

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
pub use precedence::{DispositionFailure, EndCause, Evidence, conclude, conclude_denial};
pub use request::{ActivationRequest, Correlation, Lineage, RequestLimits, ValidRequest};
