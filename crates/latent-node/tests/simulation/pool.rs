//! The fixed pool, with what is planned for each return of a cell in front of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, PlatformError, PlatformErrorCode, TenantId};
use latent_scheduler::fair::NonqueueingCellPool;
use latent_scheduler::{CellLease, CellPool, CellPoolSnapshot, CellRequest, FixedCellPool};

use crate::board::{Board, Disposed, Index, planned_panic};
use crate::lasting::Lasting;
use crate::plan::{Disposal, Inside, Lasts};

pub struct SimulatedPool {
    pub inner: Arc<FixedCellPool>,
    pub board: Board,
}

/// The return of a cell, until the pool has answered.
struct Returning<'a> {
    pool: &'a SimulatedPool,
    index: Index,
    disposal: Disposal,
    lasting: Lasting,
    lease: Option<CellLease>,
    reason: Option<&'a str>,
    answered: bool,
}

impl SimulatedPool {
    fn take_back<'a>(&'a self, lease: CellLease, reason: Option<&'a str>) -> BoxFuture<'a, Result<(), PlatformError>> {
        let (index, plan) = self.board.current();
        let lasts = match plan.disposal {
            Disposal::After(lasts) => lasts,
            Disposal::Refuses | Disposal::PanicCall | Disposal::PanicPoll => Lasts::Polls(0),
        };
        self.board.edit(index, |facts| facts.disposed = Disposed::Pending);
        self.board.meanwhile(Inside::Disposal);
        let lasting = Lasting::new(lasts);
        let disposal = plan.disposal;
        let returning = Returning { pool: self, index, disposal, lasting, lease: Some(lease), reason, answered: false };
        if plan.disposal == Disposal::PanicCall {
            returning.fail();
            planned_panic();
        }
        Box::pin(returning)
    }
}

impl Returning<'_> {
    fn fail(mut self) {
        self.answered = true;
        self.pool.board.edit(self.index, |facts| facts.disposed = Disposed::Failed);
        drop(self.lease.take());
    }
}

impl Future for Returning<'_> {
    type Output = Result<(), PlatformError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.lasting.poll(cx).is_pending() {
            return Poll::Pending;
        }
        let this = &mut *self;
        this.answered = true;
        let (board, lease) = (&this.pool.board, this.lease.take().expect("a cell is returned once"));
        if this.disposal == Disposal::Refuses || this.disposal == Disposal::PanicPoll {
            board.edit(this.index, |facts| facts.disposed = Disposed::Failed);
            drop(lease);
            if this.disposal == Disposal::PanicPoll {
                planned_panic();
            }
            return Poll::Ready(Err(PlatformError::new(PlatformErrorCode::Unavailable, "the pool refuses")));
        }
        let (disposed, mut inner) = match this.reason {
            Some(reason) => (Disposed::Quarantined, this.pool.inner.quarantine(lease, reason)),
            None => (Disposed::Released, this.pool.inner.release(lease)),
        };
        board.edit(this.index, |facts| facts.disposed = disposed);
        let answer = inner.as_mut().poll(cx);
        if answer.is_pending() || matches!(&answer, Poll::Ready(Err(_))) {
            board.wrong(format!("the fixed pool refuses the cell of activation {}", this.index));
        }
        answer
    }
}

impl Drop for Returning<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.pool.board.edit(self.index, |facts| facts.disposed = Disposed::GivenUp);
        }
    }
}

impl CellPool for SimulatedPool {
    fn acquire(&self, _request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        unreachable!("the scheduler keeps the queue")
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        self.take_back(lease, None)
    }

    fn capacity(&self, class: CellClass) -> usize {
        self.inner.capacity(class)
    }

    fn available(&self, class: CellClass) -> usize {
        self.inner.available(class)
    }

    fn cancel_waiting<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        unreachable!("nobody waits in the pool")
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        self.take_back(lease, Some(reason))
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        self.inner.observations(class)
    }
}

impl NonqueueingCellPool for SimulatedPool {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        let named = (request.tenant.clone(), request.activation_id.clone());
        let class = request.class;
        let lease = self.inner.try_acquire(request)?;
        if lease.is_some() {
            let mut state = self.board.lock();
            match state.open.get(&named).copied() {
                Some(index) => {
                    state.facts[index].granted_class = Some(class);
                    state.facts[index].grants += 1;
                    state.grants.push((index, crate::backend::now()));
                }
                None => state.wrong = Some(format!("a cell for {named:?}, which is not under way")),
            }
        }
        Ok(lease)
    }

    fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        self.inner.listen(listener)
    }
}
