//! Admission: may this activation take part, with how much, until when, and in which class of cell?
//!
//! Reading order: `config` is what an operator says and `request` what a caller asks; `terms` decides from those
//! two alone, with `deadline`, `feasibility` and `pressure`; `ledger` weighs the answer against what is already
//! reserved, and `permit` is the reservation. Invariant: what is reserved is given back once, by its permit.

mod classes;
mod config;
mod denial;

mod deadline;
mod feasibility;
mod pressure;
mod request;
mod terms;

mod books;
mod ledger;
mod permit;

mod gate;

pub use classes::{CallerKind, QueueClass, TrustClass};
pub use config::{
    AdmissionConfig, Allowlist, ClassOffer, NodeCeilings, Quota, TenantPolicy, TrustPolicy, WALL_LIMIT_MAX,
};
pub use deadline::{ClockSample, TransportTimeout};
pub use denial::ADMISSION_LIMIT;
pub use feasibility::FeasibilityMargins;
pub use gate::Admission;
pub use ledger::{LIVE_MAX, LedgerSnapshot, QuotaLedger};
pub use permit::{AdmissionPermit, ExecutionPermit, QuotaHold};
pub use pressure::{MalformedPressure, PressureLimits, PressurePolicy, PressureSample};
pub use request::{AdmissionRequest, Conditions};
pub use terms::Terms;
