//! The record of a run, without running it.
//!
//! An activation arrives as an [`ActivationEnvelope`], can be cancelled through its [`CancellationRegistration`] for
//! as long as that lives, and ends as exactly one `ActivationOutcome`. Several things may have ended it at once: which
//! one its caller is told about is the business of one table and one function, [`conclude`].
//!
//! Nothing here waits, reads a clock or knows a cell. Whoever runs activations gathers the facts, as [`Evidence`], and
//! asks. Specification: `activation-containment.md`, "Race and error precedence" and "Stable activation mapping".

pub mod envelope;

pub mod cancel;

pub mod precedence;

pub mod outcome;

pub use cancel::{CancelDisposition, CancellationRegistration, CancellationRegistry};
pub use envelope::ActivationEnvelope;
pub use outcome::from_execution;
pub use precedence::{DispositionFailure, EndCause, Evidence, conclude};
