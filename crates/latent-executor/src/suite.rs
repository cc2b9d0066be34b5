//! The contract that every backend passes, run on the fake and on the real engine.
//!
//! A [`Subject`] says how its backend spells five calls; [`run`] then checks the port's promises on them and panics
//! with a sentence at the first that is broken. [`run_prepared`] does so for backends that prepare ahead.

mod prepared;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use latent_core::{
    ActivationId, BudgetLedger, CellId, ExecutionOutcome, FunctionTarget, Payload, PlatformErrorCode, Principal,
    PrincipalKind, ResourceBudget, RevisionPolicy, ServiceName, StopLatch, TenantId,
};

pub use prepared::run_prepared;

use crate::artifact::ComponentArtifact;
use crate::backend::{ActivationContext, ContainedExecution, ExecutionBackend, ExecutionCleanup, ExecutionRequest};
use crate::cancellation::ExecutionCancellation;

/// The calls that the suite makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Returns a value.
    Echo,
    /// Returns a declared error.
    Declared,
    /// Traps.
    Trap,
    /// Never returns.
    Spin,
    /// Names a function that does not exist.
    Unknown,
}

/// A backend under test.
pub struct Subject {
    backend: Arc<dyn ExecutionBackend>,
    artifact: ComponentArtifact,
    spell: fn(Call) -> (&'static str, &'static str),
}

impl Subject {
    /// `spell` gives each call's `contract#function` and its JSON parameters.
    #[must_use]
    pub fn new(
        backend: Arc<dyn ExecutionBackend>,
        artifact: ComponentArtifact,
        spell: fn(Call) -> (&'static str, &'static str),
    ) -> Self {
        Self { backend, artifact, spell }
    }

    fn request(&self, call: Call) -> ExecutionRequest {
        let (function, args) = (self.spell)(call);
        request(function, args)
    }

    fn start(
        &self,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        self.backend.invoke_contained(self.artifact.clone(), request, cancellation)
    }
}

/// A request by tenant `suite` for `contract#function` with JSON parameters, a standard budget and the default policy.
///
/// # Panics
/// Never: its ids are constants.
#[must_use]
pub fn request(function: &str, args: &str) -> ExecutionRequest {
    let (contract, function) = function.rsplit_once('#').unwrap_or(("", function));
    let principal = Principal {
        tenant: TenantId::new("suite").expect("a constant id"),
        subject: ServiceName::new("tester").expect("a constant id"),
        kind: PrincipalKind::User,
    };
    let context = ActivationContext {
        activation_id: ActivationId::new("suite-activation").expect("a constant id"),
        service: None,
        principal,
        trace_parent: None,
        deadline: None,
        metadata: Vec::new(),
    };
    ExecutionRequest {
        context: Arc::new(context),
        cell: CellId::new("suite-cell"),
        target: FunctionTarget { contract: contract.into(), function: function.into() },
        payload: Payload::json(args.to_owned()),
        budget: ResourceBudget { fuel: u64::MAX / 2, ..ResourceBudget::default() },
        policy: Arc::new(RevisionPolicy::default()),
        exchange: None,
    }
}

/// A live cancellation for `request`, with a deadline that far from now.
#[must_use]
pub fn cancellation(request: &ExecutionRequest, deadline: Option<Duration>) -> ExecutionCancellation {
    #[expect(clippy::disallowed_methods, reason = "the suite is its own admission")]
    let deadline = deadline.map(|after| Instant::now() + after);
    let ledger = Arc::new(BudgetLedger::new(request.budget));
    ExecutionCancellation::new(Arc::new(StopLatch::new()), deadline, ledger)
}

/// Runs the whole contract.
///
/// # Panics
/// At the first promise that is broken.
pub async fn run(subject: &Subject) {
    outcomes_are_typed_and_proven(subject).await;
    a_cancelled_spin_ends_cancelled(subject).await;
    a_deadline_ends_a_spin(subject).await;
    cancellation_wins_over_a_deadline_at_one_checkpoint(subject).await;
    a_dropped_run_leaves_nothing(subject).await;
    outcomes_are_typed_and_proven(subject).await;
}

async fn outcomes_are_typed_and_proven(subject: &Subject) {
    let echo = ended(subject, Call::Echo).await;
    assert!(matches!(echo, ExecutionOutcome::Returned(payload) if !payload.bytes.is_empty()));
    assert!(matches!(ended(subject, Call::Declared).await, ExecutionOutcome::DeclaredError(_)));
    assert!(matches!(ended(subject, Call::Trap).await, ExecutionOutcome::Trapped { .. }));
    match ended(subject, Call::Unknown).await {
        ExecutionOutcome::Failed(error) => assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract),
        other => panic!("an unknown function ended as {other:?}"),
    }
}

async fn ended(subject: &Subject, call: Call) -> ExecutionOutcome {
    let request = subject.request(call);
    let cancellation = cancellation(&request, None);
    let contained = subject.start(request, cancellation).await;
    proven(subject, contained)
}

fn proven(subject: &Subject, contained: ContainedExecution) -> ExecutionOutcome {
    assert_eq!(contained.cleanup, ExecutionCleanup::Reusable, "a contained run proves its cleanup");
    let left = subject.backend.resources();
    assert!(left.is_idle(), "a finished run holds nothing: {left:?}");
    contained.report.outcome
}

async fn a_cancelled_spin_ends_cancelled(subject: &Subject) {
    let request = subject.request(Call::Spin);
    let cancellation = cancellation(&request, None);
    let latch = cancellation.probe().clone();
    let mut run = pin!(subject.start(request, cancellation));
    let mut polls = 0;
    let contained = poll_fn(|cx| {
        polls += 1;
        if polls == 2 {
            latch.request_cancel();
        }
        run.as_mut().poll(cx)
    })
    .await;
    assert!(polls >= 2, "a spinning guest yields");
    assert_eq!(proven(subject, contained), ExecutionOutcome::Cancelled);
}

async fn a_deadline_ends_a_spin(subject: &Subject) {
    let request = subject.request(Call::Spin);
    let cancellation = cancellation(&request, Some(Duration::from_millis(20)));
    let contained = subject.start(request, cancellation).await;
    assert_eq!(proven(subject, contained), ExecutionOutcome::DeadlineExceeded);
}

async fn cancellation_wins_over_a_deadline_at_one_checkpoint(subject: &Subject) {
    let request = subject.request(Call::Spin);
    let cancellation = cancellation(&request, Some(Duration::ZERO));
    cancellation.probe().request_cancel();
    let contained = subject.start(request, cancellation).await;
    assert_eq!(proven(subject, contained), ExecutionOutcome::Cancelled);
}

async fn a_dropped_run_leaves_nothing(subject: &Subject) {
    let request = subject.request(Call::Spin);
    let cancellation = cancellation(&request, None);
    let mut run = Box::pin(subject.start(request, cancellation));
    poll_fn(|cx| {
        assert!(run.as_mut().poll(cx).is_pending(), "a spin does not end by itself");
        Poll::Ready(())
    })
    .await;
    assert!(!subject.backend.resources().is_idle());
    drop(run);
    assert!(subject.backend.resources().is_idle(), "a dropped run holds nothing");
}
