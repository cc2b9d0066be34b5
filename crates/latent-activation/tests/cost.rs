//! What the journal costs an activation: allocations, counted exactly, and time, which is only printed:
//!
//! `cargo test --release -p latent-activation --test cost -- --nocapture`
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use latent_activation::{
    ActivationIdSource, Evidence, LifecyclePhase, Lineage, LocalActivationJournal, LocalActivationJournalConfig,
    Moment, RandomActivationIdSource,
};
use latent_core::{
    BudgetConsumption, DeploymentId, ExecutionOutcome, Payload, ResolvedRevision, RevisionId, RouteName, ServiceName,
    Sha256Digest, TenantId,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RETAINED: usize = 65_536;
const BATCH: u32 = 1000;
const BATCHES: usize = 400;

struct Node {
    journal: Arc<LocalActivationJournal>,
    ids: RandomActivationIdSource,
    tenant: TenantId,
    resolved: ResolvedRevision,
    start: Instant,
}

impl Node {
    fn new() -> Self {
        let tenant = TenantId::new("tenant").unwrap();
        let digest = Sha256Digest::of(b"component");
        let resolved = ResolvedRevision {
            tenant: tenant.clone(),
            service: ServiceName::new("service").unwrap(),
            route: RouteName::new("default").unwrap(),
            deployment: DeploymentId::new("deployment").unwrap(),
            revision: RevisionId::new(digest),
            release: digest,
            route_generation: 1,
        };
        let config = LocalActivationJournalConfig { terminal_max: RETAINED, ..LocalActivationJournalConfig::default() };
        let journal = Arc::new(LocalActivationJournal::new(config).unwrap());
        Self { journal, ids: RandomActivationIdSource::new(), tenant, resolved, start: Instant::now() }
    }

    /// The whole way of one activation through the journal, its id included.
    fn activation(&self) {
        let received = Moment { monotonic: self.start, wall: SystemTime::UNIX_EPOCH };
        let lineage = Lineage::root(self.ids.next_id().unwrap());
        let mut reservation = self.journal.reserve(self.tenant.clone(), lineage, received).unwrap();
        reservation.resolved(self.resolved.clone(), self.start).unwrap();
        for phase in &LifecyclePhase::ALL[2..] {
            reservation.advance(*phase, self.start).unwrap();
        }
        let evidence = Evidence::of(ExecutionOutcome::Returned(Payload::default()));
        black_box(reservation.publish(evidence, BudgetConsumption::default(), self.start));
    }
}

#[test]
fn an_activation_costs_the_journal_two_allocations_its_record_and_its_latch() {
    let node = Node::new();
    (0..RETAINED * 2).for_each(|_| node.activation());
    let before = ALLOCATIONS.with(Cell::get);
    let mut batches: [Duration; BATCHES] = std::array::from_fn(|_| {
        let started = Instant::now();
        (0..BATCH).for_each(|_| node.activation());
        started.elapsed() / BATCH
    });
    let activations = u64::from(BATCH) * BATCHES as u64;
    let per_thousand = (ALLOCATIONS.with(Cell::get) - before) * 1000 / activations;
    batches.sort();
    let (best, median) = (batches[0], batches[BATCHES / 2]);
    println!("best {best:?}, median {median:?}, {per_thousand} allocations a thousand, {RETAINED} records retained");
    // The record and its latch. The indexes have grown to their size by now.
    assert_eq!(per_thousand, 2000);
    let audit = node.journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal), (0, RETAINED));
}
