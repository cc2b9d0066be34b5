//! The real parts under simulated ports, as small as makes them crowded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use latent_activation::id_source::IdsExhausted;
use latent_activation::{ActivationIdSource, LocalActivationJournal, LocalActivationJournalConfig};
use latent_catalog::{Catalog, CatalogLimits, CatalogView};
use latent_core::{ActivationId, CellClass, ManualWallClock, NodeId, Threading};
use latent_executor::fake::FakeRepository;
use latent_node::{LocalActivationManager, LocalActivationManagerConfig, LocalActivationManagerParts, NoObserver};
use latent_scheduler::admission::{
    Admission, AdmissionConfig, ClassOffer, NodeCeilings, PressureLimits, PressurePolicy, Quota, QuotaLedger,
    TenantPolicy,
};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};

use crate::backend::SimulatedBackend;
use crate::board::Board;
use crate::pool::SimulatedPool;
use crate::random::Random;

pub const CLASSES: [CellClass; 2] = [CellClass::Small, CellClass::Large];
/// The most memory in a small cell; everything fits a large one.
pub const SMALL_BYTES: u64 = 1 << 20;
pub const LARGE_BYTES: u64 = 1 << 24;

/// The rules that are drawn once.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub grace: Duration,
    pub cells: [usize; 2],
    pub queue_capacity: [usize; 2],
    pub tenant_cells_max: Option<usize>,
    pub active_max: usize,
    pub terminal_max: usize,
    pub retention: Duration,
}

/// The policy view that holds now.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    pub live: u64,
    pub queued: u64,
    pub tenant_live: u64,
    pub fuel: u64,
    pub wall_limit: Duration,
    pub pressure: Option<Duration>,
}

pub struct Node {
    pub rules: Rules,
    pub manager: LocalActivationManager,
    pub pools: [Arc<FixedCellPool>; 2],
    pub scheduler: Arc<LocalScheduler>,
    pub journal: Arc<LocalActivationJournal>,
    pub admission: Arc<Admission>,
    pub catalog: Arc<Catalog>,
    pub clock: Arc<ManualWallClock>,
}

impl Rules {
    fn draw(random: &mut Random) -> Self {
        let size = |random: &mut Random, most| 1 + random.index(most);
        let most = if random.percent(50) { 1 } else { 4 };
        Self {
            grace: random.millis(20, 150),
            cells: [size(random, most), size(random, 2)],
            queue_capacity: [random.index(20), size(random, 6)],
            tenant_cells_max: random.percent(40).then(|| 1 + random.index(3)),
            active_max: 6 + random.index(30),
            terminal_max: 4 + random.index(40),
            retention: random.millis(500, 20_000),
        }
    }
}

impl Policy {
    pub fn draw(random: &mut Random) -> Self {
        Self {
            live: 3 + random.below(40),
            queued: 2 + random.below(40),
            tenant_live: 1 + random.below(12),
            fuel: random.pick(&[500, 10_000, 100_000]),
            wall_limit: random.millis(300, 4_000),
            pressure: random.percent(4).then(|| random.millis(50, 2_000)),
        }
    }

    pub fn config(&self, rules: &Rules) -> AdmissionConfig {
        let offer = |place: usize, memory_bytes| ClassOffer {
            class: CLASSES[place],
            cells: rules.cells[place] as u64,
            memory_bytes,
            threading: Threading::Shared,
            service_time: Duration::ZERO,
            quota: Quota::UNLIMITED,
        };
        let tenant =
            TenantPolicy { quota: Quota { live: self.tenant_live, ..Quota::UNLIMITED }, ..TenantPolicy::open() };
        let limits = |stale_after| PressureLimits { stale_after, ..PressureLimits::default() };
        AdmissionConfig {
            ceilings: NodeCeilings {
                fuel: self.fuel,
                memory_bytes: LARGE_BYTES,
                wall_limit: self.wall_limit,
                ..NodeCeilings::default()
            },
            node: Quota { live: self.live, queued: self.queued, ..Quota::UNLIMITED },
            other_tenants: Some(tenant),
            pressure: self.pressure.map_or(PressurePolicy::None, |stale| PressurePolicy::Linux(limits(stale))),
            ..AdmissionConfig::open(vec![offer(0, SMALL_BYTES), offer(1, LARGE_BYTES)], self.live)
        }
    }
}

/// Ids in order.
#[derive(Default)]
struct Counted(AtomicU64);

impl ActivationIdSource for Counted {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ActivationId::new(format!("given-{number}")).expect("digits make an id"))
    }
}

/// Where the wall clock begins.
pub fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

impl Node {
    pub fn draw(random: &mut Random, board: &Board, policy: &Policy) -> Self {
        let rules = Rules::draw(random);
        let clock = Arc::new(ManualWallClock::new(epoch()));
        let pools = [0, 1].map(|place| {
            let node = NodeId::new("simulated").expect("a word is an id");
            let config =
                FixedCellPoolConfig { node, class: CLASSES[place], capacity: rules.cells[place], queue_capacity: 0 };
            Arc::new(FixedCellPool::new(config, clock.clone()).expect("the pool is within its bounds"))
        });
        let queues = [0, 1].map(|place| ClassQueue {
            class: CLASSES[place],
            pool: Arc::new(SimulatedPool { inner: Arc::clone(&pools[place]), board: board.clone() }),
            queue_capacity: rules.queue_capacity[place],
            tenant_cells_max: rules.tenant_cells_max,
        });
        let starvation_after = random.millis(0, 1_000);
        let scheduler =
            LocalScheduler::new(LocalSchedulerConfig { starvation_after, cleanup_grace: rules.grace }, queues);
        let journal = LocalActivationJournal::new(LocalActivationJournalConfig {
            active_max: rules.active_max,
            terminal_max: rules.terminal_max,
            terminal_retention: rules.retention,
            ..LocalActivationJournalConfig::default()
        });
        let admission = Admission::new(Arc::new(QuotaLedger::new()), policy.config(&rules));
        let scheduler = Arc::new(scheduler.expect("the queues are within their bounds"));
        let journal = Arc::new(journal.expect("the journal is within its bounds"));
        let admission = Arc::new(admission.expect("the policy is within its bounds"));
        let catalog = Arc::new(Catalog::new(CatalogView::empty(CatalogLimits::default())));
        let parts = LocalActivationManagerParts {
            catalog: catalog.clone(),
            repository: Arc::new(FakeRepository::sealed()),
            admission: Arc::clone(&admission),
            scheduler: Arc::clone(&scheduler),
            backend: Arc::new(SimulatedBackend(board.clone())),
            journal: Arc::clone(&journal),
            ids: Arc::new(Counted::default()),
            clock: clock.clone(),
            observer: Arc::new(NoObserver),
        };
        let config = LocalActivationManagerConfig { cleanup_grace: rules.grace, ..Default::default() };
        let manager = LocalActivationManager::new(parts, config).expect("the grace is within its bounds");
        Self { rules, manager, pools, scheduler, journal, admission, catalog, clock }
    }
}
