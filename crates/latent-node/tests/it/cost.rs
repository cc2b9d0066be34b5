//! What a run costs when a cell is free: heap allocations, counted on this thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, CellClass, ExecutionOutcome, NodeId, SystemWallClock, TerminalState};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest,
};
use latent_node::{Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};

use crate::support::{artifact, envelope};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Echoes with the one allocation of its own future.
struct Echo;

impl ExecutionBackend for Echo {
    fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        unreachable!("the runner uses the contained entry")
    }

    fn invoke_contained(
        &self,
        _artifact: ComponentArtifact,
        request: ExecutionRequest,
        _cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let outcome = ExecutionOutcome::Returned(request.payload);
        let report = ExecutionReport { outcome, consumption: BudgetConsumption::default() };
        Box::pin(std::future::ready(ContainedExecution { report, cleanup: ExecutionCleanup::Reusable }))
    }
}

#[test]
fn with_a_free_cell_a_run_makes_few_allocations_and_no_timer() {
    let clock = Arc::new(SystemWallClock);
    let config = FixedCellPoolConfig {
        node: NodeId::new("node").unwrap(),
        class: CellClass::Standard,
        capacity: 1,
        queue_capacity: 0,
    };
    let pool = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
    let runner = Phase0ActivationRunner::new(pool, Arc::new(Echo), clock, Phase0ActivationRunnerConfig::default());
    for round in 0..100 {
        let mut asked = envelope("a", "echo");
        asked.deadline = Some(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 40));
        let artifact = artifact();
        let before = ALLOCATIONS.get();
        // No runtime is entered, so a timer would panic; and nothing suspends.
        let report = runner.run(asked, artifact).now_or_never().expect("a run with a free cell never waits");
        let allocations = ALLOCATIONS.get() - before;
        assert_eq!(report.outcome.terminal_state(), TerminalState::Completed);
        // Latch, context and ledger; the pool's acquisition, lease and release; the backend's future. The first rounds
        // also size the tables.
        assert!(round < 2 || allocations <= 3 + 3 + 1, "{allocations} allocations in round {round}");
    }
}
