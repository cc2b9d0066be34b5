//! The core beside a naive model that scans everything: same entry selected, same counters, at every step.
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use latent_core::{ActivationId, ResourceBudget};
use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);
const CELLS: usize = 3;

fn rules(queue_capacity: usize, tenant_cells_max: Option<usize>) -> QueueRules {
    let turns = TurnRules { starvation_after: 50 * MS, cells: CELLS, tenant_cells_max };
    QueueRules { turns, queue_capacity, cleanup_grace: 20 * MS }
}

fn tenant(name: usize) -> TenantId {
    TenantId::new(format!("tenant-{name}")).unwrap()
}

fn ask(of: usize, priority: u8, deadline: Option<Instant>) -> Ask {
    let activation_id = ActivationId::new("activation").unwrap();
    Ask { tenant: tenant(of), activation_id, priority, deadline, budget: ResourceBudget::default() }
}

/// Wakes are tickets' own numbers, leases are numbers of cells.
type Core = FairCore<usize, usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Ready,
    Dormant,
    Promised { cell: usize, since: Instant },
    Failed,
}

#[derive(Debug, Clone)]
struct Naive {
    ticket: Ticket,
    tenant: usize,
    priority: u8,
    deadline: Option<Instant>,
    since: Instant,
    fate: Fate,
}

/// The model: lists, scanned from the beginning each time.
struct Model {
    entries: Vec<Naive>,
    /// Tenants in the order of their turns.
    turns: Vec<usize>,
    /// Whose cells run.
    running: Vec<(usize, usize)>,
    free: Vec<usize>,
    cap: Option<usize>,
}

impl Model {
    fn cells_of(&self, tenant: usize) -> usize {
        let promised = |entry: &&Naive| entry.tenant == tenant && matches!(entry.fate, Fate::Promised { .. });
        self.entries.iter().filter(promised).count() + self.running.iter().filter(|(of, _)| *of == tenant).count()
    }

    fn is_known(&self, tenant: usize) -> bool {
        let waits = |entry: &Naive| entry.tenant == tenant && entry.fate == Fate::Ready;
        self.cells_of(tenant) > 0 || self.entries.iter().any(waits)
    }

    fn may_have_more(&self, tenant: usize) -> bool {
        let others = (0..4).any(|other| other != tenant && self.is_known(other));
        let cap = self.cap.unwrap_or(if others { CELLS - 1 } else { CELLS });
        self.cells_of(tenant) < cap
    }

    fn ready_of(&self, tenant: usize) -> Vec<&Naive> {
        self.entries.iter().filter(|entry| entry.tenant == tenant && entry.fate == Fate::Ready).collect()
    }

    fn select(&self, now: Instant) -> Option<Ticket> {
        let tenant = *self.turns.iter().find(|tenant| self.may_have_more(**tenant))?;
        let ready = self.ready_of(tenant);
        let starved = ready.iter().filter(|entry| now - entry.since >= 50 * MS).min_by_key(|entry| entry.ticket);
        if let Some(starved) = starved {
            return Some(starved.ticket);
        }
        let far = now + Duration::from_hours(1);
        let key = |entry: &&&Naive| (u8::MAX - entry.priority, entry.deadline.unwrap_or(far), entry.ticket);
        ready.iter().min_by_key(key).map(|entry| entry.ticket)
    }

    fn join_turns(&mut self, tenant: usize) {
        if !self.turns.contains(&tenant) {
            self.turns.push(tenant);
        }
    }

    fn leave_turns(&mut self, tenant: usize) {
        if self.ready_of(tenant).is_empty() {
            self.turns.retain(|turn| *turn != tenant);
        }
    }

    fn find(&mut self, ticket: Ticket) -> &mut Naive {
        self.entries.iter_mut().find(|entry| entry.ticket == ticket).expect("the core knows only entries of the model")
    }

    fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.fate, Fate::Ready | Fate::Dormant)).count()
    }
}

/// Dispatches both until nothing is left to do, comparing each step.
fn dispatch(core: &mut Core, model: &mut Model, now: Instant) {
    let something =
        !model.turns.is_empty() || model.entries.iter().any(|entry| matches!(entry.fate, Fate::Promised { .. }));
    assert_eq!(core.begin(), something);
    if !something {
        return;
    }
    loop {
        match core.step(now) {
            Step::TakeBack(cell) => {
                let taken = model.entries.iter_mut().find(|entry| {
                    matches!(entry.fate, Fate::Promised { cell: of, since } if of == cell && now - since >= 20 * MS)
                });
                taken.expect("only overdue promises are taken back").fate = Fate::Dormant;
                model.free.push(cell);
            }
            Step::Ask(ticket, ask) => {
                assert_eq!(Some(ticket), model.select(now));
                assert_eq!(ask.tenant, tenant(model.find(ticket).tenant));
                let Some(cell) = model.free.pop() else {
                    assert!(core.no_cell());
                    return;
                };
                let _wake = core.grant(now, ticket, cell).expect("a selected entry is ready");
                let entry = model.find(ticket);
                entry.fate = Fate::Promised { cell, since: now };
                let of = entry.tenant;
                model.turns.retain(|turn| *turn != of);
                if !model.ready_of(of).is_empty() {
                    model.turns.push(of);
                }
            }
            Step::Done => {
                assert_eq!(model.select(now), None);
                return;
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Event {
    Arrive { tenant: usize, priority: u8, deadline_ms: Option<u64> },
    Look(usize),
    Withdraw(usize),
    Finish(usize),
    Fail(usize),
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0usize..4, 0u8..3, prop::option::of(1u64..200))
            .prop_map(|(tenant, priority, deadline_ms)| Event::Arrive { tenant, priority, deadline_ms }),
        5 => (0usize..20).prop_map(Event::Look),
        1 => (0usize..20).prop_map(Event::Withdraw),
        4 => (0usize..CELLS).prop_map(Event::Finish),
        1 => (0usize..20).prop_map(Event::Fail),
        3 => (1u64..30).prop_map(Event::Pass),
    ]
}

fn apply(core: &mut Core, model: &mut Model, now: Instant, event: &Event) {
    match *event {
        Event::Arrive { tenant: of, priority, deadline_ms } => {
            let deadline = deadline_ms.map(|ms| now + Duration::from_millis(ms));
            match core.enqueue(now, ask(of, priority, deadline), &mut Some(of)) {
                Ok(ticket) => {
                    assert!(model.waiting() < 6);
                    model.entries.push(Naive { ticket, tenant: of, priority, deadline, since: now, fate: Fate::Ready });
                    model.join_turns(of);
                }
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::QueueFull { queue_capacity: 6 });
                    assert!(model.waiting() >= 6);
                }
            }
        }
        Event::Look(which) if which < model.entries.len() => {
            let Naive { ticket, tenant, fate, .. } = model.entries[which];
            let mut wake = Some(tenant);
            match (core.look(ticket, &mut wake), fate) {
                (Look::Waiting, Fate::Ready) => {}
                (Look::Waiting, Fate::Dormant) => {
                    model.entries[which].fate = Fate::Ready;
                    model.join_turns(tenant);
                }
                (Look::Granted(got), Fate::Promised { cell, .. }) => {
                    assert_eq!(got, cell);
                    model.entries.remove(which);
                    model.running.push((tenant, cell));
                }
                (Look::Failed(_), Fate::Failed) => drop(model.entries.remove(which)),
                (look, fate) => panic!("{look:?} for {fate:?}"),
            }
        }
        Event::Withdraw(which) if which < model.entries.len() => {
            let gone = model.entries.remove(which);
            let withdrawn = core.withdraw(gone.ticket);
            if let Fate::Promised { cell, .. } = gone.fate {
                assert_eq!(withdrawn.lease, Some(cell));
                model.free.push(cell);
            } else {
                assert_eq!(withdrawn.lease, None);
                model.leave_turns(gone.tenant);
            }
        }
        Event::Finish(which) if which < model.running.len() => {
            let (of, cell) = model.running.remove(which);
            model.free.push(cell);
            core.finish(&tenant(of));
        }
        Event::Fail(which) if which < model.entries.len() => {
            let Naive { ticket, tenant, fate, .. } = model.entries[which];
            let _wake = core.fail(ticket, Refusal::AllQuarantined);
            if matches!(fate, Fate::Ready | Fate::Dormant) {
                model.entries[which].fate = Fate::Failed;
                model.leave_turns(tenant);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_order_of_events_selects_whom_the_naive_model_selects(
        cap in prop::option::of(1usize..=CELLS), events in prop::collection::vec(event(), 0..200),
    ) {
        let mut now = Instant::now();
        let mut core = Core::new(rules(6, cap));
        let free = (0..CELLS).collect();
        let mut model = Model { entries: vec![], turns: vec![], running: vec![], free, cap };
        for event in events {
            if let Event::Pass(ms) = event {
                now += Duration::from_millis(ms);
            }
            apply(&mut core, &mut model, now, &event);
            dispatch(&mut core, &mut model, now);
            let counted = core.audit().unwrap();
            prop_assert_eq!(counted.queued, model.waiting());
            prop_assert_eq!(model.free.len() + counted.promised + model.running.len(), CELLS);
        }
        for entry in std::mem::take(&mut model.entries) {
            drop(core.withdraw(entry.ticket));
        }
        for (of, _) in model.running {
            core.finish(&tenant(of));
        }
        prop_assert_eq!(core.audit().unwrap(), SchedulerSnapshot { queued: 0, promised: 0, queue_capacity: 6 });
        prop_assert!(core.turns.is_idle() && core.turns.cells() == 0 && core.entries.is_empty());
    }
}

/// Grants `count` cells and names the tenants that got them, in order; each goes back at once.
fn serve(core: &mut Core, now: Instant, count: usize) -> Vec<Ticket> {
    let mut served = Vec::new();
    for cell in 0..count {
        assert!(core.begin());
        let Step::Ask(ticket, ask) = core.step(now) else { panic!("somebody waits") };
        let _wake = core.grant(now, ticket, cell).unwrap();
        let Look::Granted(_) = core.look(ticket, &mut None) else { panic!("it was granted the line before") };
        core.break_off();
        core.finish(&ask.tenant);
        served.push(ticket);
    }
    core.audit().unwrap();
    served
}

#[test]
fn tenants_take_turns_and_a_newcomer_joins_the_tail() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    let arrive = |core: &mut Core, of| core.enqueue(now, ask(of, 0, None), &mut Some(0)).unwrap();
    let a = [(); 4].map(|()| arrive(&mut core, 0));
    let b = [(); 2].map(|()| arrive(&mut core, 1));
    assert_eq!(serve(&mut core, now, 2), [a[0], b[0]]);
    let c = arrive(&mut core, 2);
    assert_eq!(serve(&mut core, now, 5), [a[1], b[1], c, a[2], a[3]]);
}

#[test]
fn within_a_turn_priority_then_deadline_then_arrival_decide() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    let mut arrive = |priority, deadline: Option<u32>| {
        core.enqueue(now, ask(0, priority, deadline.map(|s| now + s * 1000 * MS)), &mut Some(0)).unwrap()
    };
    let (none, late, early) = (arrive(1, None), arrive(1, Some(9)), arrive(1, Some(3)));
    let (low, high, none_too) = (arrive(0, Some(1)), arrive(2, None), arrive(1, None));
    assert_eq!(serve(&mut core, now, 6), [high, early, late, none, none_too, low]);
}

#[test]
fn an_entry_that_waited_long_enough_goes_before_any_priority_oldest_first() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    let old = core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    let less_old = core.enqueue(now + MS, ask(0, 5, None), &mut Some(0)).unwrap();
    let young = core.enqueue(now + 10 * MS, ask(0, 255, None), &mut Some(0)).unwrap();
    let later = now + 49 * MS;
    assert_eq!(core.turns.select(later), Some(young), "a moment before, priority decides");
    assert_eq!(serve(&mut core, now + 51 * MS, 3), [old, less_old, young]);
}

#[test]
fn under_a_flood_of_higher_priority_nobody_waits_longer_than_the_entries_before_it() {
    let mut now = Instant::now();
    let mut core = Core::new(rules(1000, None));
    let victim = core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    let mut grants = 0;
    loop {
        // Two urgent ones come for each that is served.
        for _ in 0..2 {
            core.enqueue(now, ask(0, 255, None), &mut Some(0)).unwrap();
        }
        let served = serve(&mut core, now, 1);
        grants += 1;
        if served == [victim] {
            break;
        }
        now += 10 * MS;
        assert!(grants < 100, "the victim starves");
    }
    assert_eq!(grants, 6, "50 ms of starvation_after are five grants, then it is first");
}

#[test]
fn a_tenant_at_its_cap_is_passed_over_and_keeps_its_turn() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    for _ in 0..CELLS {
        assert_eq!(core.direct(&tenant(0)), Direct::Ask, "alone, a tenant may have every cell");
    }
    let a = core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    let b = core.enqueue(now, ask(1, 0, None), &mut Some(0)).unwrap();
    core.finish(&tenant(0));
    assert_eq!(core.turns.select(now), Some(b), "with another tenant there, all but one");
    core.finish(&tenant(0));
    assert_eq!(core.turns.select(now), Some(a), "its turn was the earlier one");
}

#[test]
fn a_selected_entry_keeps_its_place_until_it_is_granted() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    let a = core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    core.enqueue(now, ask(1, 0, None), &mut Some(0)).unwrap();
    for _ in 0..3 {
        assert!(core.begin());
        assert!(matches!(core.step(now), Step::Ask(ticket, _) if ticket == a));
        assert!(core.no_cell());
    }
}

#[test]
fn a_queue_without_places_refuses_even_what_could_run_at_once() {
    let mut core = Core::new(rules(0, None));
    assert_eq!(core.direct(&tenant(0)), Direct::Refused(Refusal::QueueFull { queue_capacity: 0 }));
}

#[test]
fn a_dispatcher_that_comes_while_another_works_is_not_forgotten() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    assert!(core.begin());
    assert!(matches!(core.step(now), Step::Ask(..)));
    assert!(!core.begin(), "one at a time");
    assert!(!core.no_cell(), "the first looks again instead");
    assert!(core.no_cell());
    assert!(core.begin());
}

#[test]
fn a_promise_taken_back_after_the_shutdown_ends_its_wait() {
    let now = Instant::now();
    let mut core = Core::new(rules(100, None));
    let ticket = core.enqueue(now, ask(0, 0, None), &mut Some(0)).unwrap();
    assert!(core.begin());
    let Step::Ask(..) = core.step(now) else { panic!("somebody waits") };
    core.grant(now, ticket, 7).unwrap();
    assert!(core.shut_down().is_empty(), "a promise stays until its owner looks");
    assert!(matches!(core.step(now + 20 * MS), Step::TakeBack(7)));
    assert!(matches!(core.look(ticket, &mut None), Look::Failed(Refusal::ShuttingDown)));
    assert_eq!(core.audit().unwrap(), SchedulerSnapshot { queued: 0, promised: 0, queue_capacity: 100 });
}
