//! The words every other crate speaks: ids, errors, budgets, outcomes, contracts, clocks and the stop latch.
//!
//! Nothing here does I/O, spawns or sleeps. Ambient time is read in one place, [`clock::SystemWallClock`];
//! everything else takes its instants as arguments. Types here are values with their bounds checked at
//! construction, so that whoever holds one need not check again.

pub mod budget;
pub mod cell;
pub mod clock;
pub mod contract;
pub mod digest;
pub mod error;
pub mod http;
pub mod id;
pub mod outcome;
pub mod policy;
pub mod principal;
pub mod printable;
pub mod revision;
pub mod secret;
pub mod stop;
pub mod trace;
pub mod wakes;

pub use budget::{BudgetConsumption, BudgetLedger, ResourceBudget};
pub use cell::{CellClass, CellId};
pub use clock::{ManualWallClock, SystemWallClock, WallClock};
pub use contract::{ContractSurface, FunctionSignature, FunctionTarget, ValueType};
pub use digest::Sha256Digest;
pub use error::{ErrorDetail, PlatformError, PlatformErrorCode};
pub use id::{ActivationId, DeploymentId, IdError, NodeId, RouteName, ServiceName, TenantId};
pub use outcome::{ActivationOutcome, ExecutionOutcome, MediaType, Payload, TerminalState};
pub use policy::{
    AdmissionPolicy, BudgetCeilings, Environment, ExecutionPolicy, ImportGrant, RevisionPolicy, Threading,
};
pub use principal::{Caller, CallerError, Principal, PrincipalKind};
pub use revision::{ResolvedRevision, RevisionId};
pub use secret::{SecretReferences, is_secret_name};
pub use stop::{StopCause, StopLatch};
