//! The core against a naive model, and at the end of its counters. After every step the books are counted out.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use latent_core::{ActivationId, CellClass, NodeId, ResourceBudget, TenantId};
use proptest::prelude::*;

use super::{Admission, PoolCore, Progress, WhenBusy};
use crate::cells::port::CellRequest;
use crate::cells::quarantine::QuarantineReason;
use crate::cells::refusal::AcquireRefusal;
use crate::cells::slots::Grant;

/// Wakes are the number of the look that left them.
type Core = PoolCore<usize>;

fn core(capacity: usize, queue_capacity: usize) -> Core {
    PoolCore::new(NodeId::new("node").unwrap(), CellClass::Standard, capacity, queue_capacity)
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Activation `who`: even and odd ones belong to two tenants, which use the same ids.
fn request(who: usize, expires_at: Option<SystemTime>) -> CellRequest {
    CellRequest {
        activation_id: ActivationId::new(format!("a{}", who / 2)).unwrap(),
        tenant: TenantId::new(format!("t{}", who % 2)).unwrap(),
        class: CellClass::Standard,
        budget: ResourceBudget::default(),
        expires_at,
    }
}

fn granted(core: &mut Core, who: usize) -> Grant {
    match core.admit(request(who, None), None, WhenBusy::Queue) {
        Admission::Granted(grant) => grant,
        other => panic!("{other:?}"),
    }
}

fn queued(core: &mut Core, who: usize) -> u64 {
    match core.admit(request(who, None), None, WhenBusy::Queue) {
        Admission::Queued(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn refused(core: &mut Core, who: usize) -> AcquireRefusal {
    match core.admit(request(who, None), None, WhenBusy::Queue) {
        Admission::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn failed(core: &mut Core, ticket: u64) -> AcquireRefusal {
    match core.progress(ticket, None, &mut Some(0)) {
        Progress::Failed(refusal, _) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_lease_number_is_used_and_the_next_grant_fails_closed() {
    let mut core = core(2, 4);
    core.seed(u64::MAX, 0, 1);
    let last = granted(&mut core, 0);
    assert_eq!(refused(&mut core, 1), AcquireRefusal::SequenceExhausted);
    let snapshot = core.audit().unwrap();
    assert_eq!((snapshot.active_leases, snapshot.quarantined, snapshot.available), (1, 1, 0));
    assert_eq!(refused(&mut core, 2), AcquireRefusal::SequenceExhausted, "nobody waits for what cannot come");
    drop(core.release(&last.key, &last.identity).unwrap());
    assert_eq!(refused(&mut core, 2), AcquireRefusal::SequenceExhausted);
    assert_eq!(core.audit().unwrap().quarantined, 2);
    assert_eq!(refused(&mut core, 2), AcquireRefusal::AllQuarantined { capacity: 2 });
}

#[test]
fn running_out_of_lease_numbers_quarantines_the_cell_and_fails_every_waiter() {
    let mut core = core(2, 4);
    core.seed(u64::MAX - 2, 0, 1);
    let (first, _second) = (granted(&mut core, 0), granted(&mut core, 1));
    let tickets = [queued(&mut core, 2), queued(&mut core, 3), queued(&mut core, 4)];
    for (look, ticket) in tickets.into_iter().enumerate() {
        assert!(matches!(core.progress(ticket, None, &mut Some(look)), Progress::Waiting));
    }
    let aftermath = core.release(&first.key, &first.identity).unwrap();
    assert_eq!(aftermath.wake, [0], "the last number goes to the first waiter");
    let aftermath = core.withdraw(tickets[0]);
    assert_eq!(aftermath.wake, [1, 2], "its cell has no number left, so the others are told");
    for ticket in &tickets[1..] {
        assert_eq!(failed(&mut core, *ticket), AcquireRefusal::SequenceExhausted);
    }
    let snapshot = core.audit().unwrap();
    assert_eq!((snapshot.queue_depth, snapshot.active_leases, snapshot.quarantined), (0, 1, 1));
    assert_eq!(core.slots().list_quarantined()[0].reason, QuarantineReason::SequenceExhausted);
}

#[test]
fn a_cell_without_another_generation_retires_alone() {
    let mut core = core(1, 1);
    core.seed(1, u64::MAX - 1, 1);
    let grant = granted(&mut core, 0);
    assert_eq!(grant.identity.generation, u64::MAX);
    let ticket = queued(&mut core, 1);
    drop(core.release(&grant.key, &grant.identity).unwrap());
    assert_eq!(failed(&mut core, ticket), AcquireRefusal::AllQuarantined { capacity: 1 });
    assert_eq!(core.audit().unwrap().quarantined, 1);
}

#[test]
fn a_queue_without_another_number_refuses() {
    let mut core = core(1, 4);
    core.seed(1, 0, u64::MAX);
    let _grant = granted(&mut core, 0);
    queued(&mut core, 1);
    assert_eq!(refused(&mut core, 2), AcquireRefusal::SequenceExhausted);
    assert_eq!(core.audit().unwrap().queue_depth, 1);
}

#[test]
fn a_ticket_used_after_its_end_gets_nothing() {
    let mut core = core(1, 1);
    let grant = granted(&mut core, 0);
    let ticket = queued(&mut core, 1);
    drop(core.withdraw(ticket));
    assert_eq!(failed(&mut core, ticket), AcquireRefusal::Cancelled);
    drop(core.withdraw(ticket));
    drop(core.release(&grant.key, &grant.identity).unwrap());
    assert_eq!(core.audit().unwrap().available, 1);
}

#[derive(Debug, Clone)]
enum Step {
    Admit { who: usize, life: Option<u64>, busy: WhenBusy },
    Look(usize),
    Withdraw(usize),
    Cancel(usize),
    Release(usize),
    Quarantine(usize),
    Abandon(usize),
    ReturnUnaccepted(usize),
    ReleaseAgain(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let busy = prop_oneof![4 => Just(WhenBusy::Queue), 1 => Just(WhenBusy::Return)];
    prop_oneof![
        8 => (0..10usize, proptest::option::of(0..6u64), busy)
            .prop_map(|(who, life, busy)| Step::Admit { who, life, busy }),
        6 => (0..64usize).prop_map(Step::Look),
        2 => (0..64usize).prop_map(Step::Withdraw),
        2 => (0..10usize).prop_map(Step::Cancel),
        6 => (0..64usize).prop_map(Step::Release),
        1 => (0..64usize).prop_map(Step::Quarantine),
        1 => (0..64usize).prop_map(Step::Abandon),
        2 => (0..64usize).prop_map(Step::ReturnUnaccepted),
        1 => (0..64usize).prop_map(Step::ReleaseAgain),
        2 => (0..3u64).prop_map(Step::Pass),
    ]
}

#[derive(Debug, Clone, PartialEq)]
enum Fate {
    Waiting,
    Promised,
    Failed(AcquireRefusal),
}

#[derive(Debug)]
struct ModelWaiter {
    ticket: u64,
    who: usize,
    expires_at: Option<SystemTime>,
    fate: Fate,
}

/// The specification in the plainest words: lists, searched from the front.
#[derive(Debug)]
struct Model {
    capacity: usize,
    queue_capacity: usize,
    idle: usize,
    quarantined: usize,
    now: u64,
    queue: VecDeque<u64>,
    waiters: Vec<ModelWaiter>,
    leases: Vec<(usize, Grant)>,
    ended: Vec<Grant>,
}

impl Model {
    fn is_live(&self, who: usize) -> bool {
        self.leases.iter().any(|(holder, _)| *holder == who) || self.unsettled(who).is_some()
    }

    fn unsettled(&self, who: usize) -> Option<usize> {
        self.waiters.iter().position(|w| w.who == who && !matches!(w.fate, Fate::Failed(_)))
    }

    fn set(&mut self, ticket: u64, fate: Fate) {
        self.waiters.iter_mut().find(|w| w.ticket == ticket).unwrap().fate = fate;
    }

    fn cell_returns(&mut self) {
        match self.queue.pop_front() {
            Some(ticket) => self.set(ticket, Fate::Promised),
            None => self.idle += 1,
        }
    }

    fn cell_goes(&mut self) {
        self.quarantined += 1;
        if self.quarantined == self.capacity {
            while let Some(ticket) = self.queue.pop_front() {
                self.set(ticket, Fate::Failed(AcquireRefusal::AllQuarantined { capacity: self.capacity }));
            }
        }
    }

    fn stop_waiting(&mut self, waiter: usize) {
        let ModelWaiter { ticket, ref fate, .. } = self.waiters[waiter];
        match fate {
            Fate::Waiting => self.queue.retain(|queued| *queued != ticket),
            Fate::Promised => self.cell_returns(),
            Fate::Failed(_) => {}
        }
    }

    fn admit(&mut self, core: &mut Core, who: usize, expires_at: Option<SystemTime>, busy: WhenBusy) {
        let answer = core.admit(request(who, expires_at), Some(at(self.now)), busy);
        let expired = expires_at.is_some_and(|end| at(self.now) >= end);
        match answer {
            Admission::Refused(AcquireRefusal::Expired) => assert!(expired),
            Admission::Refused(AcquireRefusal::Duplicate(_)) => assert!(!expired && self.is_live(who)),
            Admission::Refused(AcquireRefusal::AllQuarantined { .. }) => assert_eq!(self.quarantined, self.capacity),
            Admission::Refused(AcquireRefusal::QueueFull { .. }) => {
                assert!(busy == WhenBusy::Queue && self.idle == 0 && self.queue.len() == self.queue_capacity);
            }
            Admission::Refused(other) => panic!("{other:?}"),
            Admission::Busy => assert!(busy == WhenBusy::Return && self.idle == 0 && !self.is_live(who)),
            Admission::Granted(grant) => {
                assert!(!expired && !self.is_live(who) && self.queue.is_empty());
                self.idle = self.idle.checked_sub(1).expect("only an idle cell is granted");
                self.leases.push((who, grant));
            }
            Admission::Queued(ticket) => {
                assert!(!expired && !self.is_live(who) && self.idle == 0 && busy == WhenBusy::Queue);
                self.queue.push_back(ticket);
                self.waiters.push(ModelWaiter { ticket, who, expires_at, fate: Fate::Waiting });
            }
        }
    }

    fn look(&mut self, core: &mut Core, waiter: usize) {
        let ModelWaiter { ticket, who, expires_at, ref fate } = self.waiters[waiter];
        let expired = expires_at.is_some_and(|end| at(self.now) >= end);
        match (core.progress(ticket, Some(at(self.now)), &mut Some(waiter)), fate.clone()) {
            (Progress::Granted(grant), Fate::Promised) if !expired => {
                self.waiters.remove(waiter);
                self.leases.push((who, grant));
            }
            (Progress::Failed(AcquireRefusal::Expired, _), Fate::Promised | Fate::Waiting) if expired => {
                self.stop_waiting(waiter);
                self.waiters.remove(waiter);
            }
            (Progress::Failed(got, _), Fate::Failed(expected)) if got == expected => {
                self.waiters.remove(waiter);
            }
            (Progress::Waiting, Fate::Waiting) if !expired => {}
            (got, expected) => panic!("{got:?} where the model has {expected:?}, expired {expired}"),
        }
    }

    /// A lease leaves the model; its cell comes back or goes for good.
    fn end(&mut self, index: usize, cell_returns: bool) {
        let (_, grant) = self.leases.remove(index);
        self.ended.push(grant);
        if cell_returns { self.cell_returns() } else { self.cell_goes() }
    }

    fn take(&mut self, core: &mut Core, step: &Step) {
        let lease = |index: usize| index.checked_rem(self.leases.len());
        let waiter = |index: usize| index.checked_rem(self.waiters.len());
        match *step {
            Step::Admit { who, life, busy } => self.admit(core, who, life.map(|life| at(self.now + life)), busy),
            Step::Pass(seconds) => self.now += seconds,
            Step::Look(index) => {
                let Some(index) = waiter(index) else { return };
                self.look(core, index);
            }
            Step::Withdraw(index) => {
                let Some(index) = waiter(index) else { return };
                drop(core.withdraw(self.waiters[index].ticket));
                self.stop_waiting(index);
                self.waiters.remove(index);
            }
            Step::Cancel(who) => {
                let CellRequest { tenant, activation_id, .. } = request(who, None);
                let cancelled = core.cancel(&tenant, &activation_id).is_some();
                let expected = self.unsettled(who);
                assert_eq!(cancelled, expected.is_some());
                let Some(index) = expected else { return };
                self.stop_waiting(index);
                self.waiters[index].fate = Fate::Failed(AcquireRefusal::Cancelled);
            }
            Step::Release(index) => {
                let Some(index) = lease(index) else { return };
                let (_, grant) = &self.leases[index];
                drop(core.release(&grant.key, &grant.identity).unwrap());
                self.end(index, true);
            }
            Step::Quarantine(index) => {
                let Some(index) = lease(index) else { return };
                let (_, grant) = &self.leases[index];
                drop(core.quarantine(&grant.key, &grant.identity, QuarantineReason::Abandoned).unwrap());
                self.end(index, false);
            }
            Step::Abandon(index) => {
                let Some(index) = lease(index) else { return };
                drop(core.abandon(&self.leases[index].1.key));
                self.end(index, false);
            }
            Step::ReturnUnaccepted(index) => {
                let Some(index) = lease(index) else { return };
                drop(core.return_unaccepted(&self.leases[index].1.key));
                self.end(index, true);
            }
            Step::ReleaseAgain(index) => {
                let Some(index) = index.checked_rem(self.ended.len()) else { return };
                let ended = &self.ended[index];
                core.release(&ended.key, &ended.identity).unwrap_err();
                drop(core.abandon(&ended.key));
                drop(core.return_unaccepted(&ended.key));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_order_of_events_agrees_with_the_naive_model(
        capacity in 1..5usize, queue_capacity in 0..5usize, steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut core = core(capacity, queue_capacity);
        let mut model = Model {
            capacity, queue_capacity, idle: capacity, quarantined: 0, now: 1,
            queue: VecDeque::new(), waiters: Vec::new(), leases: Vec::new(), ended: Vec::new(),
        };
        for step in &steps {
            model.take(&mut core, step);
            let counted = core.audit().unwrap();
            let promised = model.waiters.iter().filter(|w| w.fate == Fate::Promised).count();
            prop_assert_eq!(counted.available, model.idle);
            prop_assert_eq!(counted.quarantined, model.quarantined);
            prop_assert_eq!(counted.active_leases, model.leases.len() + promised);
            prop_assert_eq!(counted.queue_depth, model.queue.len());
            prop_assert_eq!(counted.available + counted.active_leases + counted.quarantined, capacity);
        }
    }
}
