//! The backend of the simulation: it does with each activation what is planned for it, and nothing on its own.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use latent_core::{ContractSurface, PlatformError, PlatformErrorCode};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionReport, ExecutionRequest,
    ImportName, OwnedRepository, PreparationKey, PreparedActivation, PreparedCode, PreparedReadiness,
};

use crate::board::{Board, Held, Index, Kind, Ran, planned_panic, planned_panic_of_destructor};
use crate::plan::{Inside, Materialization, PreparationEnds, RunEnds};
use crate::preparation::PreparationFuture;
use crate::run::RunFuture;

pub struct SimulatedBackend(pub Board);

pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The one code there is.
struct Code(ContractSurface);

impl PreparedCode for Code {
    fn surface(&self) -> &ContractSurface {
        &self.0
    }

    fn imports(&self) -> &[ImportName] {
        &[]
    }

    fn declared_memory_bytes(&self) -> u64 {
        0
    }

    fn code_bytes(&self) -> u64 {
        0
    }
}

/// Pins code until it runs, and may panic when it never does.
struct Pin {
    held: Option<Held>,
    board: Board,
    index: Index,
    bomb: bool,
}

impl Drop for Pin {
    fn drop(&mut self) {
        drop(self.held.take());
        let entered = self.board.facts(self.index).ran != Ran::NotEntered;
        if self.bomb && !entered && !std::thread::panicking() {
            self.board.edit(self.index, |facts| facts.pin_bombed = true);
            planned_panic_of_destructor();
        }
    }
}

pub fn readiness(board: &Board, index: Index, bomb: bool) -> PreparedReadiness {
    let held = Some(Held::new(board, Kind::ReadyPin));
    let pin: Box<dyn Any + Send> = Box::new(Pin { held, board: board.clone(), index, bomb });
    PreparedReadiness::new(Arc::new(Code(ContractSurface::default())), pin)
}

impl ExecutionBackend for SimulatedBackend {
    fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        unreachable!("the manager runs prepared code only")
    }

    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        let (index, plan) = self.0.current();
        self.0.edit(index, |facts| facts.release = Some(key.digest()));
        drop(repository);
        self.0.meanwhile(Inside::Preparation);
        if plan.preparation.ends == PreparationEnds::PanicCall {
            self.0.edit(index, |facts| facts.prepared = crate::board::Prepared::Panicked);
            planned_panic();
        }
        Box::pin(PreparationFuture::new(self.0.clone(), index, plan.preparation))
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        let (index, plan) = self.0.current();
        self.0.meanwhile(Inside::Materialization);
        let permits_left = {
            let state = self.0.lock();
            state.counts.permits < state.permits_max
        };
        if plan.materialization == Materialization::Ready && permits_left {
            return Ok(PreparedActivation::new(ready.into_use(Box::new(Held::new(&self.0, Kind::Permit)))));
        }
        if plan.materialization == Materialization::Panic {
            self.0.edit(index, |facts| facts.materialization_panicked = true);
            planned_panic();
        }
        self.0.edit(index, |facts| facts.no_permit = true);
        drop(ready);
        Err(PlatformError::new(PlatformErrorCode::ResourceExhausted, "no permit is left").retryable())
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let (index, plan) = self.0.current();
        if self.0.facts(index).ran != Ran::NotEntered {
            self.0.wrong(format!("activation {index} runs twice"));
        }
        let named = self
            .0
            .lock()
            .open
            .get(&(request.context.principal.tenant.clone(), request.context.activation_id.clone()))
            .copied();
        if named != Some(index) {
            self.0.wrong(format!("activation {index} runs in the name of {named:?}"));
        }
        let late = cancellation.deadline().is_some_and(|deadline| now() >= deadline);
        if cancellation.probe().cancel_requested() || late {
            self.0.wrong(format!("activation {index} is entered although a stop is to be seen"));
        }
        self.0.edit(index, |facts| facts.ran = Ran::Running);
        self.0.meanwhile(Inside::Entry);
        if plan.run.ends == RunEnds::PanicCall {
            self.0.edit(index, |facts| {
                facts.ran = Ran::Panicked;
                facts.run_over_at = Some(now());
            });
            drop(prepared);
            planned_panic();
        }
        Box::pin(RunFuture::new(self.0.clone(), index, plan.run, prepared.into_use(), cancellation))
    }
}
