//! A node for a run of whole lives: manager, supervisor, tenants and their services.

use std::sync::Arc;
use std::time::Duration;

use latent_activation::ActivationRequest;
use latent_core::id::ID_BYTES_MAX;
use latent_core::{ActivationId, FunctionTarget, Payload, ServiceName, TenantId};
use latent_executor::{ComponentArtifact, ExecutionBackend as _, OwnedRepository};
use latent_node::{
    CLEANUP_GRACE_MAX, CleanupSupervisor, CleanupSupervisorConfig, LocalActivationManager, LocalActivationManagerConfig,
};
use latent_wasmtime::EngineSettings;

use super::spares::Spares;
use super::stalling::StallingRepository;
use crate::endurance::guests::{Guest, Guests, Target};
use crate::lifecycle::{LifecycleNode, Size, request};

/// How many tenants there are.
pub const TENANTS: usize = 8;

/// The service whose code is not ready before the run says so.
const STALLED: &str = "stalled";
/// Longer than any run, so that records go only when there are too many.
const RETENTION: Duration = Duration::from_hours(24);

/// How large the node is.
#[derive(Debug, Clone, Copy)]
pub struct Rooms {
    /// Its cells, spare ones included.
    pub cells: u32,
    /// Cells that are kept out of use until others are lost.
    pub spares: u32,
    /// Those who call at once.
    pub callers: usize,
    /// Records of ended activations that are kept.
    pub retained: usize,
}

/// A node and those who use it.
pub struct House {
    /// What the manager composes, and its counters.
    pub node: LifecycleNode,
    /// The manager, with its repository behind a door.
    pub manager: LocalActivationManager,
    /// The supervisor of that manager.
    pub supervisor: Arc<CleanupSupervisor>,
    /// The cells that are kept out of use.
    pub spares: Spares,
    /// The door.
    pub repository: Arc<StallingRepository>,
    /// What is called.
    pub guests: Guests,
    /// The tenants.
    pub tenants: [TenantId; TENANTS],
}

impl House {
    /// A node of this size. Cleanups have as long as can be configured: this is about what is left, not about how soon.
    ///
    /// # Panics
    /// When this machine does not run the engine, or outside of a runtime.
    #[must_use]
    pub fn new(rooms: Rooms, seed: u64) -> Self {
        let Rooms { cells, spares, callers, retained } = rooms;
        // Each caller has one under way, and may have left another to the supervisor.
        let live = callers * 2;
        let mut settings = EngineSettings::for_cells(cells);
        let wide = u32::try_from(live).unwrap_or(u32::MAX);
        (settings.ready_pins_max, settings.preparations_max, settings.preparations_per_tenant_max) = (wide, wide, wide);
        let node = LifecycleNode::new(settings, Size { queue_capacity: live, retained, retention: RETENTION });
        let guests = Guests::new(seed);
        let stalled = renamed(guests.artifact(Guest::Echo));
        let mut parts = node.manager.parts().clone();
        let repository = Arc::new(StallingRepository::new(parts.repository, stalled.digest()));
        parts.repository = repository.clone();
        let cleanup_grace = CLEANUP_GRACE_MAX;
        let config = LocalActivationManagerConfig { cleanup_grace, ..LocalActivationManagerConfig::default() };
        let manager = LocalActivationManager::new(parts, config).expect("a manager within its bounds");
        let config = CleanupSupervisorConfig { continuations_max: live, cleanup_grace };
        let (supervisor, driver) = CleanupSupervisor::new(config).expect("a supervisor within its bounds");
        let tenants = std::array::from_fn(|index| TenantId::new(format!("tenant-{index}")).expect("a short id"));
        for tenant in &tenants {
            for guest in Guest::ALL {
                node.deploy(tenant, &service(guest.as_str()), guests.artifact(guest));
            }
            node.deploy(tenant, &service(STALLED), &stalled);
        }
        // Ends with the supervisor.
        tokio::spawn(driver);
        let spares = Spares::of(&node.pool, spares as usize);
        Self { node, manager, supervisor, spares, repository, guests, tenants }
    }

    /// Compiles what is not stalled, ahead of the first call.
    ///
    /// # Panics
    /// When it does not compile.
    pub async fn prepare(&self) {
        for artifact in self.guests.artifacts() {
            let backend = &self.node.backend;
            let repository = OwnedRepository::new(self.repository.clone(), self.tenants[0].clone());
            let ready = backend.prepare_ready_from_repository(repository, backend.preparation_key(artifact.digest()));
            drop(ready.await.expect("the fixture compiles"));
        }
    }

    /// Whose turn it is at this number: tenants take turns.
    #[must_use]
    pub fn tenant(&self, number: u64) -> &TenantId {
        &self.tenants[tenant_index(number)]
    }

    /// Another tenant than that of this number.
    #[must_use]
    pub fn stranger(&self, number: u64) -> &TenantId {
        &self.tenants[tenant_index(number + 1)]
    }

    /// The request of this number.
    #[must_use]
    pub fn request(&self, number: u64, target: Target) -> ActivationRequest {
        let Target { guest, contract, function, payload } = target;
        self.of_service(number, guest.as_str(), (contract, function), payload)
    }

    /// The request of this number for code that is not ready.
    #[must_use]
    pub fn stalled(&self, number: u64) -> ActivationRequest {
        self.of_service(number, STALLED, ("fixture:echo/echo@0.1.0", "echo-string"), Payload::json("[\"never\"]"))
    }

    fn of_service(
        &self,
        number: u64,
        name: &str,
        (contract, function): (&str, &str),
        payload: Payload,
    ) -> ActivationRequest {
        let target = FunctionTarget { contract: contract.into(), function: function.into() };
        let mut request = request(self.tenant(number), &service(name), target, payload);
        request.activation_id = Some(name_of(number).as_str().to_owned());
        request
    }
}

/// What the activation of this number is called.
///
/// # Panics
/// Never: the name is short.
#[must_use]
pub fn name_of(number: u64) -> ActivationId {
    const { assert!(ID_BYTES_MAX > 30) };
    ActivationId::new(format!("life-{number}")).expect("a short id")
}

/// The index of the tenant of this number.
#[must_use]
pub fn tenant_index(number: u64) -> usize {
    usize::try_from(number % TENANTS as u64).expect("a small number")
}

fn service(name: &str) -> ServiceName {
    ServiceName::new(name).expect("a constant name")
}

/// The same component under another digest: with one more custom section, empty and without a name.
fn renamed(artifact: &ComponentArtifact) -> ComponentArtifact {
    let mut bytes = artifact.bytes().to_vec();
    bytes.extend([0, 1, 0]);
    ComponentArtifact::new(bytes)
}
