//! The execution seam: what the node asks of whatever runs guests, and what it gets back.
//!
//! A backend takes an [`ExecutionRequest`] and an [`ExecutionCancellation`] and answers with a
//! [`ContainedExecution`]: the outcome, the consumption, and whether the cell may be used again. Reuse needs proof:
//! a backend that cannot give one costs its cell (`activation-containment.md`, "Cleanup ordering").
//!
//! Prepared code travels as owned values: [`PreparedReadiness`] (code and imports, no store, no instance),
//! [`PreparedUse`] (a pin on the code plus the permit of one live instance) and [`PreparedActivation`] (a use
//! together with every import the component declares).
//!
//! Bytes come from an [`ArtifactRepository`]; what they offer is read by a [`ComponentInspector`] before they are
//! compiled. What a deployment refers to as a secret comes from a [`SecretSource`], for each activation anew.
//!
//! An HTTP request goes to a guest as an [`HttpExchange`], and those that guests make go through [`OutgoingHttp`].
//!
//! [`fake`] and [`suite`] ship with the port: every backend passes the same contract.

pub mod artifact;
pub mod backend;
pub mod cancellation;
pub mod fake;
pub mod http;
pub mod inspector;
pub mod log;
pub mod prepared;
pub mod repository;
pub mod resources;
pub mod secret;
pub mod suite;

pub use artifact::ComponentArtifact;
pub use backend::{
    ActivationContext, ContainedExecution, ExecutionBackend, ExecutionCleanup, ExecutionReport, ExecutionRequest,
};
pub use cancellation::ExecutionCancellation;
pub use http::{
    HttpBody, HttpBodyError, HttpExchange, HttpExchangeParts, NoOutgoingHttp, OutgoingError, OutgoingHttp,
    OutgoingRequest,
};
pub use inspector::{ComponentInspection, ComponentInspector};
pub use log::{BoundedLogSink, LogLevel, LogRecord, LogRefused, LogSink};
pub use prepared::{
    ImportName, PreparationKey, PreparedActivation, PreparedCode, PreparedReadiness, PreparedUse, UseGuards,
    refuse_ungranted,
};
pub use repository::{ArtifactRepository, OwnedRepository, Seal, SealedRelease, SealedSource};
pub use resources::RuntimeResourceSnapshot;
pub use secret::{NoSecrets, SecretSource, SecretValue};
