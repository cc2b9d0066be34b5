//! `Phase0ActivationRunner`: one activation from envelope to report.
//!
//! Invariant: of every run that registers, the registration is removed last; of every lease it accepts, exactly one
//! disposition is attempted, or the lease is dropped with the run and its pool quarantines the cell.

mod activation;
mod asked;
mod counters;
mod granted;
mod handed;
mod report;

use std::fmt;
use std::sync::Arc;

use latent_activation::{ActivationEnvelope, CancelDisposition, CancellationRegistry};
use latent_core::{ActivationId, CellClass, RevisionPolicy, TenantId, WallClock};
use latent_executor::{ComponentArtifact, ExecutionBackend};
use latent_scheduler::CellPool;

use asked::Asked;
use counters::Counters;

pub use report::{ActivationReport, ActivationRunnerSnapshot};

/// How a runner is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase0ActivationRunnerConfig {
    /// The most activations that may be under way at once, queued ones included; the next is refused with a retryable
    /// `resource-exhausted`. Default 64; 0 refuses everything. Costs about 200 bytes for each one ever reached.
    pub registrations_max: usize,
    /// The class of cell that every activation gets. Default standard.
    pub class: CellClass,
}

impl Default for Phase0ActivationRunnerConfig {
    fn default() -> Self {
        Self { registrations_max: 64, class: CellClass::Standard }
    }
}

/// Joins a pool of cells and an execution backend (`activation-containment.md`, "Ownership boundary").
pub struct Phase0ActivationRunner {
    pool: Arc<dyn CellPool>,
    backend: Arc<dyn ExecutionBackend>,
    clock: Arc<dyn WallClock>,
    registry: Arc<CancellationRegistry>,
    counters: Counters,
    class: CellClass,
    /// One for all activations: there are no revisions here, so that nothing is restricted and nothing extra granted.
    policy: Arc<RevisionPolicy>,
}

impl Phase0ActivationRunner {
    /// A runner over `pool` and `backend`. `clock` should be the pool's: it turns a wall deadline into a monotonic one,
    /// once for each activation.
    #[must_use]
    pub fn new(
        pool: Arc<dyn CellPool>,
        backend: Arc<dyn ExecutionBackend>,
        clock: Arc<dyn WallClock>,
        config: Phase0ActivationRunnerConfig,
    ) -> Self {
        let registry = Arc::new(CancellationRegistry::new(config.registrations_max));
        let (counters, policy) = (Counters::default(), Arc::default());
        Self { pool, backend, clock, registry, counters, class: config.class, policy }
    }

    /// Runs one activation to its end. All failures are in the report.
    ///
    /// The steps are those of `activation-containment.md`, "Cleanup ordering". Waiting for a cell under a deadline
    /// needs a Tokio runtime with its timer on; nothing else does. Dropping the future gives the activation up: a
    /// queued one leaves the queue, and the cell of a granted one is quarantined.
    pub async fn run(&self, envelope: ActivationEnvelope, artifact: ComponentArtifact) -> ActivationReport {
        // Each state is awaited where it stands and consumed by the next, so that nothing large is moved twice.
        let mut asked = match Asked::register(self, envelope, artifact) {
            Ok(asked) => asked,
            Err(refused) => return refused.report(),
        };
        let end = asked.wait().await;
        let granted = match asked.granted(end) {
            Ok(granted) => granted,
            Err(settled) => return settled.publish(),
        };
        let handed = match granted.stopped() {
            None => {
                let mut started = granted.start();
                let contained = started.finish().await;
                started.hand_over(contained)
            }
            Some(execution) => granted.decline(execution),
        };
        handed.dispose().await.publish()
    }

    /// Cancels an activation of `tenant`, whatever it is doing. A cancel that comes after the result was handed over
    /// and before the registration is removed is accepted and changes nothing.
    pub fn cancel(&self, tenant: &TenantId, activation_id: &ActivationId, reason: &str) -> CancelDisposition {
        self.registry.cancel(tenant, activation_id, reason)
    }

    /// The runner's counters, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> ActivationRunnerSnapshot {
        self.counters.snapshot(self.registry.registrations())
    }
}

impl fmt::Debug for Phase0ActivationRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phase0ActivationRunner")
            .field("class", &self.class)
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}
