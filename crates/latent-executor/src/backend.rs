//! The port itself: a request, a report, a cleanup proof, and the trait that turns one into the others.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use latent_core::{
    ActivationId, BudgetConsumption, CellId, ExecutionOutcome, FunctionTarget, Payload, PlatformError,
    PlatformErrorCode, Principal, ResourceBudget, RevisionPolicy, ServiceName, Sha256Digest,
};

use crate::artifact::ComponentArtifact;
use crate::cancellation::ExecutionCancellation;
use crate::http::HttpExchange;
use crate::prepared::{PreparationKey, PreparedActivation, PreparedReadiness};
use crate::repository::OwnedRepository;
use crate::resources::RuntimeResourceSnapshot;

/// Who and what an activation is, as its guest may ask (`latent:context`). Shared, immutable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationContext {
    /// The activation.
    pub activation_id: ActivationId,
    /// The service that was called, where there is one.
    pub service: Option<ServiceName>,
    /// The authenticated caller; its tenant owns the activation.
    pub principal: Principal,
    /// The W3C `traceparent` that came with the call.
    pub trace_parent: Option<Box<str>>,
    /// The effective wall deadline.
    pub deadline: Option<SystemTime>,
    /// Metadata that the guest may read: keys with the prefix `guest.`, as the caller gave them.
    pub metadata: Vec<(Box<str>, Box<str>)>,
}

/// One call of one function, with the budget that its lease granted. Which code it runs on is said beside it: by the
/// bytes, or by the prepared activation that owns it.
#[derive(Debug, Clone)]
pub struct ExecutionRequest {
    /// Who and what.
    pub context: Arc<ActivationContext>,
    /// The cell the lease is for.
    pub cell: CellId,
    /// The function.
    pub target: FunctionTarget,
    /// The parameters.
    pub payload: Payload,
    /// What is granted.
    pub budget: ResourceBudget,
    /// What the revision allows. Its `execution` part is what a backend reads: the imports that are bound, the
    /// environment that the guest sees, and the names of the secrets beside it.
    pub policy: Arc<RevisionPolicy>,
    /// The HTTP request, where the target is the HTTP handler; the payload is empty then.
    pub exchange: Option<Arc<HttpExchange>>,
}

/// What an execution came to and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionReport {
    /// The outcome.
    pub outcome: ExecutionOutcome,
    /// The consumption, kept whatever the outcome.
    pub consumption: BudgetConsumption,
}

impl ExecutionReport {
    /// A failure that used nothing.
    #[must_use]
    pub fn failed(error: PlatformError) -> Self {
        Self { outcome: ExecutionOutcome::Failed(error), consumption: BudgetConsumption::default() }
    }
}

/// Whether everything an invocation held is known to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionCleanup {
    /// Store, instance, values and permits are gone: the cell may serve again.
    Reusable,
    /// Nobody knows: the cell must not serve again.
    Unproven {
        /// Why there is no proof, for the operator.
        reason: &'static str,
    },
}

/// A report together with its cleanup proof.
#[must_use = "the cleanup decides what becomes of the cell"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainedExecution {
    /// What happened.
    pub report: ExecutionReport,
    /// What is left.
    pub cleanup: ExecutionCleanup,
}

impl ContainedExecution {
    /// A refusal before anything was created: there is nothing to clean, and what was charged before stays charged.
    pub fn refused(cancellation: &ExecutionCancellation, error: PlatformError) -> Self {
        Self::ended_early(cancellation, ExecutionOutcome::Failed(error))
    }

    /// An end before anything was created, such as a stop while code is prepared.
    pub fn ended_early(cancellation: &ExecutionCancellation, outcome: ExecutionOutcome) -> Self {
        let consumption = cancellation.budget_accounting().consumption();
        Self { report: ExecutionReport { outcome, consumption }, cleanup: ExecutionCleanup::Reusable }
    }
}

/// Whatever can run a guest.
///
/// Implementations own everything that one invocation creates and let go of it before they answer. A future that is
/// dropped before it is ready drops the same things; its cell is then quarantined by its owner.
pub trait ExecutionBackend: Send + Sync {
    /// Runs `request` on `artifact` to its end without live cancellation or proof: the legacy entry.
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport>;

    /// Runs `request` on `artifact` so that `cancellation` can stop it, and says what is left afterwards.
    ///
    /// The default runs [`Self::invoke`] and proves nothing, so a backend that has only that entry pays for each
    /// call with its cell.
    fn invoke_contained(
        &self,
        artifact: ComponentArtifact,
        request: ExecutionRequest,
        _cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(async move {
            let report = self.invoke(artifact, request).await;
            ContainedExecution {
                report,
                cleanup: ExecutionCleanup::Unproven { reason: "the backend proves no cleanup" },
            }
        })
    }

    /// The key under which this backend would keep the component `digest` prepared.
    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        PreparationKey::new(digest, 0)
    }

    /// Prepares the component of `key` out of `repository`, which answers for its owner only. Called after admission
    /// and before a cell is waited for; the answer pins code and imports, and has no store, instance or cell
    /// (`activation-lifecycle.md`, "Preparation and capability binding"). Dropping the future gives up its place.
    ///
    /// # Errors
    /// By default `unavailable`, because the backend prepares nothing ahead. A backend that does answers what
    /// [`ArtifactRepository::fetch`](crate::ArtifactRepository::fetch) does, `incompatible-contract` or
    /// `invalid-argument` for a component that it cannot run, and `resource-exhausted` when the places to wait, the
    /// pins, or what the compiler may use are exhausted.
    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        drop((repository, key));
        Box::pin(std::future::ready(Err(prepares_nothing())))
    }

    /// Turns a readiness into a prepared activation, once a cell is assigned: the pin moves over and the permit of one
    /// live instance is taken.
    ///
    /// # Errors
    /// By default `unavailable`. `resource-exhausted` when every permit is taken; `internal` for code that another
    /// backend prepared. The readiness and its pin are gone then.
    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        drop(ready);
        Err(prepares_nothing())
    }

    /// Prepares `artifact` and takes the permit of one live instance: for callers that hold the bytes themselves.
    ///
    /// # Errors
    /// By default `unavailable`, because the backend prepares nothing ahead. A backend that does answers
    /// `incompatible-contract` or `invalid-argument` for a component it cannot run, and `resource-exhausted` when
    /// permits or the compiler's queue are used up.
    fn prepare_for_use(&self, artifact: ComponentArtifact) -> BoxFuture<'_, Result<PreparedActivation, PlatformError>> {
        drop(artifact);
        Box::pin(std::future::ready(Err(prepares_nothing())))
    }

    /// Runs `request` on code that is already prepared, consuming its owner. Completion, drop and panic release the
    /// use and its permit.
    ///
    /// The default refuses with `unavailable`, because a backend that prepares nothing has no code to run; nothing ran,
    /// so that the cell may serve again.
    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        drop((prepared, request));
        Box::pin(std::future::ready(ContainedExecution::refused(&cancellation, prepares_nothing())))
    }

    /// What the backend holds right now, in constant time.
    fn resources(&self) -> RuntimeResourceSnapshot {
        RuntimeResourceSnapshot::default()
    }
}

fn prepares_nothing() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, "this backend prepares nothing ahead of an invocation")
}
