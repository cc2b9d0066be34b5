//! What tests call, and what they expect of the report.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latent_activation::ActivationEnvelope;
use latent_core::{
    ActivationId, ActivationOutcome, FunctionTarget, Payload, PlatformError, Principal, PrincipalKind, ResourceBudget,
    ServiceName, TenantId, TerminalState,
};
use latent_executor::ComponentArtifact;
use latent_node::ActivationReport;

use crate::support::wall_now;

/// One call that a test makes.
pub struct Call {
    pub envelope: ActivationEnvelope,
    pub artifact: ComponentArtifact,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.envelope.target.fmt(f)
    }
}

/// A fixture's artifact.
pub fn artifact(fixture: &str) -> ComponentArtifact {
    ComponentArtifact::new(latent_guests::component(fixture))
}

/// Calls `function` of `interface` of `fixture` with JSON parameters.
pub fn call(fixture: &str, interface: &str, function: &str, args: &str) -> Call {
    call_of(artifact(fixture), &format!("fixture:{fixture}/{interface}@0.1.0"), function, args)
}

/// Calls `function` of `contract` of any component.
pub fn call_of(artifact: ComponentArtifact, contract: &str, function: &str, args: &str) -> Call {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("activation-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let principal = Principal {
        tenant: TenantId::new("tenant").expect("a constant id"),
        subject: ServiceName::new("caller").expect("a constant id"),
        kind: PrincipalKind::User,
    };
    let envelope = ActivationEnvelope {
        activation_id: ActivationId::new(id).expect("a short id"),
        principal,
        target: FunctionTarget { contract: contract.into(), function: function.into() },
        payload: Payload::json(args.to_owned()),
        budget: ResourceBudget::default(),
        deadline: None,
        trace_parent: None,
        metadata: Vec::new(),
    };
    Call { envelope, artifact }
}

/// A function of the containment capsule.
pub fn mode(function: &str, args: &str) -> Call {
    call("containment-capsule", "modes", function, args)
}

/// The healthy call.
pub fn echo() -> Call {
    mode("echo", "[\"hi\"]")
}

/// The guest that never ends, with all the fuel there is.
pub fn spin() -> Call {
    mode("spin", "[]").fuel(u64::MAX)
}

impl Call {
    pub fn id(&self) -> (TenantId, ActivationId) {
        (self.envelope.principal.tenant.clone(), self.envelope.activation_id.clone())
    }

    pub fn named(mut self, id: &str) -> Self {
        self.envelope.activation_id = ActivationId::new(id).expect("an id");
        self
    }

    pub fn tenant(mut self, tenant: &str) -> Self {
        self.envelope.principal.tenant = TenantId::new(tenant).expect("an id");
        self
    }

    pub fn fuel(mut self, fuel: u64) -> Self {
        self.envelope.budget.fuel = fuel;
        self
    }

    pub fn memory(mut self, bytes: u64) -> Self {
        self.envelope.budget.memory_bytes = bytes;
        self
    }

    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.envelope.budget.log_bytes = bytes;
        self
    }

    /// A deadline that far from now.
    pub fn within(mut self, left: Duration) -> Self {
        self.envelope.deadline = Some(wall_now().checked_add(left).expect("a time that the clock can express"));
        self
    }
}

/// The JSON that a call returned.
#[track_caller]
pub fn succeeded(report: &ActivationReport) -> &str {
    match &report.outcome {
        ActivationOutcome::Succeeded { output } => std::str::from_utf8(&output.bytes).expect("JSON is UTF-8"),
        other => panic!("expected a success, got {other:?}"),
    }
}

/// How a call failed.
#[track_caller]
pub fn failed(report: &ActivationReport) -> (TerminalState, &PlatformError) {
    match &report.outcome {
        ActivationOutcome::Failed { terminal_state, error } => (*terminal_state, error),
        other => panic!("expected a failure, got {other:?}"),
    }
}

/// Asserts that a call failed in `state` with the detail `kind`.
#[track_caller]
pub fn assert_failed(report: &ActivationReport, state: TerminalState, kind: &str) {
    let (actual, error) = failed(report);
    assert_eq!(actual, state, "{error:?}");
    assert!(error.has_detail(kind), "expected {kind}: {error:?}");
}

/// Asserts the shared form of a deadline.
#[track_caller]
pub fn assert_deadline(report: &ActivationReport) {
    assert_failed(report, TerminalState::DeadlineExceeded, "activation.deadline-exceeded");
    assert_eq!(failed(report).1, &PlatformError::deadline_exceeded());
}

/// Asserts the shared form of a cancel.
#[track_caller]
pub fn assert_cancelled(report: &ActivationReport) {
    assert_failed(report, TerminalState::Cancelled, "activation.cancelled");
    assert_eq!(failed(report).1, &PlatformError::cancelled());
}
