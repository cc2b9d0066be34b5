//! The parts of the command's own node, sized by its flags.
//!
//! Invariant: whatever the load keeps in flight has its place in every queue, ledger and journal at once, so that no
//! activation is ever refused for want of room.

use std::sync::Arc;
use std::time::Duration;

use latent_activation::{LocalActivationJournalConfig, RequestLimits};
use latent_catalog::{Apply, CapsuleManifest, DeploymentManifest, Release, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, CellClass, ContractSurface, DeploymentId, Environment, ImportGrant, NodeId, PlatformError,
    SecretReferences, ServiceName, Sha256Digest, Threading,
};
use latent_executor::ComponentArtifact;
use latent_node::{CLEANUP_GRACE_MAX, LocalActivationManagerConfig};
use latent_scheduler::admission::{
    Admission, AdmissionConfig, ClassOffer, NodeCeilings, Quota, QuotaLedger, WALL_LIMIT_MAX,
};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::EngineSettings;

use super::NodeOptions;
use crate::preparing;

/// The most bytes of records, in canonical encoding, that the command holds for all activations under way.
const SINK_BYTES_MAX: u64 = 128 << 20;
/// Room in the sink, for each activation in flight, for the node's own notice about dropped records.
const NOTICE_BYTES: u64 = 4 << 10;

impl NodeOptions {
    /// The engine's settings: a node's defaults, with the ceiling where the grant is, and a pin for each activation
    /// that may wait for a cell.
    pub fn engine(&self) -> EngineSettings {
        let settings = EngineSettings::for_cells(self.cells);
        let ready_pins_max = settings.ready_pins_max.max(self.in_flight_max);
        EngineSettings { memory_bytes_max: self.memory_bytes, ready_pins_max, ..settings }
    }

    /// What the sink must hold. An activation's records are taken out when it ends, so whatever those in flight are
    /// granted is enough for all. This is an account, not an allocation: memory is used as guests log. Beyond
    /// [`SINK_BYTES_MAX`] the oldest records are evicted, as on any node.
    pub(super) fn sink_bytes(&self) -> u64 {
        let granted = self.log_bytes.saturating_add(NOTICE_BYTES).saturating_mul(u64::from(self.in_flight_max));
        granted.min(SINK_BYTES_MAX)
    }

    pub(super) fn pool(&self) -> FixedCellPoolConfig {
        FixedCellPoolConfig {
            node: NodeId::new("local").expect("a literal without forbidden characters"),
            class: CellClass::Standard,
            capacity: self.cells as usize,
            queue_capacity: self.in_flight_max as usize,
        }
    }

    pub(super) fn scheduler(&self, pool: Arc<FixedCellPool>) -> Result<LocalScheduler, PlatformError> {
        let queue = ClassQueue {
            class: CellClass::Standard,
            pool,
            queue_capacity: self.in_flight_max as usize,
            tenant_cells_max: None,
        };
        LocalScheduler::new(LocalSchedulerConfig::default(), [queue])
    }

    /// A policy for the one user there is. The flags are the node's ceilings, so that requests ask for nothing.
    pub(super) fn admission(&self) -> Result<Admission, PlatformError> {
        let memory_bytes = self.share(self.memory_bytes);
        let offer = ClassOffer {
            class: CellClass::Standard,
            cells: u64::from(self.cells),
            memory_bytes,
            threading: Threading::Single,
            service_time: Duration::ZERO,
            quota: Quota::UNLIMITED,
        };
        let ceilings = NodeCeilings {
            fuel: self.share(self.fuel),
            memory_bytes,
            log_bytes: self.log_bytes,
            wall_limit: WALL_LIMIT_MAX,
        };
        let open = AdmissionConfig::open(vec![offer], u64::from(self.in_flight_max));
        Admission::new(Arc::new(QuotaLedger::new()), AdmissionConfig { ceilings, ..open })
    }

    /// At most what all in flight can be granted together: the ledger counts no further than 64 bits.
    fn share(&self, granted: u64) -> u64 {
        granted.min(u64::MAX / u64::from(self.in_flight_max))
    }

    /// A journal of what is under way. Receipts carry all that is printed, so hardly anything of the ended is kept.
    pub(super) fn journal(&self) -> LocalActivationJournalConfig {
        let records = LocalActivationJournalConfig {
            active_max: self.in_flight_max as usize,
            terminal_max: 1,
            declared_error_bytes_max: 0,
            evicted_ids_max: 0,
            ..LocalActivationJournalConfig::default()
        };
        let aggregate_bytes_max = records.reservation_bytes().saturating_mul(u64::from(self.in_flight_max) + 1);
        LocalActivationJournalConfig { aggregate_bytes_max, ..records }
    }

    /// What the user asks for is bounded by the engine, whose refusals name the flag. The grace is the longest there
    /// is: nobody else waits for the cells.
    pub(super) fn manager() -> LocalActivationManagerConfig {
        let requests = RequestLimits {
            target_bytes_max: usize::MAX,
            payload_bytes_max: usize::MAX,
            context_bytes_max: usize::MAX,
            ..RequestLimits::default()
        };
        LocalActivationManagerConfig { requests, cleanup_grace: CLEANUP_GRACE_MAX }
    }
}

/// The deployment of the node's one service: everything that the component exports, with everything a node offers.
///
/// # Errors
/// None that a component can bring about.
pub(super) fn deployment(
    service: ServiceName,
    artifact: &ComponentArtifact,
    surface: &ContractSurface,
) -> Result<Apply, PlatformError> {
    let release: Sha256Digest = artifact.digest();
    let manifest = DeploymentManifest {
        tenant: preparing::tenant(),
        service,
        deployment: DeploymentId::new("main").expect("a literal without forbidden characters"),
        release,
        weight: Weight::default(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    };
    let release = Arc::new(Release::new(release, surface, &CapsuleManifest::default())?);
    Ok(Apply { manifest, release, expected_generation: None })
}
