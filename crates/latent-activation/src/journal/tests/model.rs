//! The journal against a naive model of it: lists that are searched from end to end.

use super::*;
use crate::journal::config::RECORD_BYTES;
use proptest::prelude::*;

const IDS: [&str; 4] = ["a", "b", "c", "d"];
const TENANTS: [&str; 3] = ["t", "u", "v"];
const ACTIVE_MAX: usize = 3;
const TENANT_ACTIVE_MAX: usize = 2;
const TERMINAL_MAX: usize = 5;
const EVICTED_MAX: usize = 3;
const RETENTION_MS: u64 = 100;
const LARGE: u64 = 64 << 10;

#[derive(Debug, Clone, Copy)]
enum Step {
    Reserve { of: usize, id: usize },
    Advance { nth: usize },
    Cancel { of: usize, id: usize },
    Publish { nth: usize, large: bool },
    Drop { nth: usize },
    Ask { of: usize, id: usize },
    List { of: usize, rows: usize },
    Tick { ms: u64 },
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || (0..TENANTS.len(), 0..IDS.len());
    prop_oneof![
        6 => key().prop_map(|(of, id)| Step::Reserve { of, id }),
        4 => (0_usize..3).prop_map(|nth| Step::Advance { nth }),
        3 => key().prop_map(|(of, id)| Step::Cancel { of, id }),
        5 => (0_usize..3, any::<bool>()).prop_map(|(nth, large)| Step::Publish { nth, large }),
        1 => (0_usize..3).prop_map(|nth| Step::Drop { nth }),
        3 => key().prop_map(|(of, id)| Step::Ask { of, id }),
        1 => (0..TENANTS.len(), 1_usize..6).prop_map(|(of, rows)| Step::List { of, rows }),
        2 => (0_u64..60).prop_map(|ms| Step::Tick { ms }),
        1 => Just(Step::Sweep),
    ]
}

/// A record as the model sees it.
#[derive(Debug, Clone)]
struct Known {
    of: usize,
    id: usize,
    received: usize,
    phase: usize,
    cancelled: bool,
    end: Option<(TerminalState, u64, u64)>,
}

impl Known {
    fn expired(&self, now: u64) -> bool {
        self.end.is_some_and(|(_, at, _)| now - at >= RETENTION_MS)
    }
}

#[derive(Debug, Default)]
struct Model {
    /// Under way in order of reception, then ended in order of their ends.
    active: Vec<Known>,
    ended: Vec<Known>,
    evicted: Vec<(usize, usize)>,
    now: u64,
    /// The latest time that the journal was told; a drop knows no other.
    told: u64,
    receptions: usize,
}

impl Model {
    fn reservation() -> u64 {
        config().reservation_bytes()
    }

    fn evict(&mut self, index: usize) {
        let gone = self.ended.remove(index);
        self.evicted.push((gone.of, gone.id));
        if self.evicted.len() > EVICTED_MAX {
            self.evicted.remove(0);
        }
    }

    fn retained_bytes(&self) -> u64 {
        self.ended.iter().filter_map(|known| known.end).map(|(.., bytes)| bytes).sum()
    }

    /// What has expired goes first, then the oldest of whoever holds most, and of equals the oldest.
    fn make_room(&mut self, measure: impl Fn(u64) -> u64, at: u64) {
        let held = |of| -> u64 {
            let own = self.ended.iter().filter(|known| known.of == of);
            own.filter_map(|known| known.end).map(|(.., bytes)| measure(bytes)).sum()
        };
        let most = (0..TENANTS.len()).map(held).max().unwrap();
        let oldest = self.ended.iter().position(|known| held(known.of) == most).unwrap();
        self.evict(if self.ended[0].expired(at) { 0 } else { oldest });
    }

    fn reserve(&mut self, of: usize, id: usize) -> Result<(), &'static str> {
        for _ in 0..2 {
            if self.ended.first().is_some_and(|known| known.expired(self.now)) {
                self.evict(0);
            }
        }
        let same = |known: &Known| known.of == of && known.id == id;
        let ended = self.ended.iter().position(same);
        let expired = ended.filter(|index| self.ended[*index].expired(self.now));
        if self.active.iter().any(same) || ended.is_some() && expired.is_none() {
            return Err("activation.duplicate");
        }
        if self.active.iter().filter(|known| known.of == of).count() >= TENANT_ACTIVE_MAX {
            return Err("tenant_active_max");
        }
        let room = config().aggregate_bytes_max / Self::reservation();
        if self.active.len() >= ACTIVE_MAX || self.active.len() as u64 >= room {
            return Err("active_max");
        }
        if let Some(index) = expired {
            self.evict(index);
        }
        let reserved = (self.active.len() as u64 + 1) * Self::reservation();
        while reserved + self.retained_bytes() > config().aggregate_bytes_max {
            self.make_room(|bytes| bytes, self.now);
        }
        self.receptions += 1;
        let received = self.receptions;
        self.active.push(Known { of, id, received, phase: 0, cancelled: false, end: None });
        Ok(())
    }

    fn end(&mut self, nth: usize, state: TerminalState, at: u64, own_bytes: u64) {
        let mut known = self.active.remove(nth);
        let names = TENANTS[known.of].len() + 2 * IDS[known.id].len();
        let reason = if known.cancelled { "why".len() } else { 0 };
        let bytes = RECORD_BYTES + (names + reason) as u64 + own_bytes;
        known.end = Some((state, at, bytes));
        self.ended.push(known);
        if self.ended.len() > TERMINAL_MAX {
            self.make_room(|_| 1, at);
        }
    }

    fn find(&self, of: usize, id: usize) -> Lookup<&Known> {
        let all = || self.active.iter().chain(&self.ended);
        match all().find(|known| known.of == of && known.id == id) {
            Some(known) if known.expired(self.now) => Lookup::Evicted,
            Some(known) => Lookup::Found(known),
            None if self.evicted.contains(&(of, id)) => Lookup::Evicted,
            None => Lookup::Unknown,
        }
    }
}

fn config() -> LocalActivationJournalConfig {
    let base = LocalActivationJournalConfig::default();
    LocalActivationJournalConfig {
        active_max: ACTIVE_MAX,
        tenant_active_max: TENANT_ACTIVE_MAX,
        terminal_max: TERMINAL_MAX,
        aggregate_bytes_max: 4 * base.reservation_bytes(),
        terminal_retention: Duration::from_millis(RETENTION_MS),
        evicted_ids_max: EVICTED_MAX,
        ..base
    }
}

/// What an error without fields takes.
fn error_bytes(message: &str, kind: &str) -> u64 {
    (message.len() + kind.len()) as u64 + 40
}

struct Run {
    journal: Arc<LocalActivationJournal>,
    model: Model,
    held: Vec<JournalReservation>,
    start: Moment,
}

impl Run {
    fn now(&self) -> Instant {
        self.start.monotonic + Duration::from_millis(self.model.now)
    }

    fn key(of: usize, id: usize) -> (TenantId, ActivationId) {
        (tenant(TENANTS[of]), super::id(IDS[id]))
    }

    fn apply(&mut self, step: Step) {
        let now = self.now();
        let tells = match step {
            Step::Tick { .. } | Step::Advance { .. } | Step::Drop { .. } => false,
            Step::Publish { nth, .. } => nth < self.held.len(),
            _ => true,
        };
        if tells {
            self.model.told = self.model.now;
        }
        match step {
            Step::Tick { ms } => self.model.now += ms,
            Step::Sweep => {
                let gone = self.model.ended.iter().filter(|known| known.expired(self.model.now)).count();
                (0..gone).for_each(|_| self.model.evict(0));
                assert_eq!(self.journal.sweep(now), gone);
            }
            Step::Reserve { of, id } => {
                let (tenant, activation_id) = Self::key(of, id);
                let received = Moment { monotonic: now, wall: wall() };
                let reserved = self.journal.reserve(tenant, Lineage::root(activation_id), received);
                match (reserved, self.model.reserve(of, id)) {
                    (Ok(reservation), Ok(())) => self.held.push(reservation),
                    (Err(error), Err(expected)) => {
                        let detail = &error.details()[0];
                        assert_eq!(detail.field("bound").unwrap_or(detail.kind()), expected, "{error}");
                    }
                    (real, model) => panic!("{real:?} and {model:?}"),
                }
            }
            Step::Advance { nth } => self.advance(nth, now),
            Step::Cancel { of, id } => {
                let expected = match self.model.find(of, id) {
                    Lookup::Found(Known { end: Some((state, ..)), .. }) => CancelDisposition::AlreadyTerminal(*state),
                    Lookup::Found(_) => CancelDisposition::Accepted,
                    _ => CancelDisposition::NotFound,
                };
                let (tenant, activation_id) = Self::key(of, id);
                assert_eq!(self.journal.cancel(&tenant, &activation_id, "why", now), expected);
                let same = |known: &&mut Known| known.of == of && known.id == id;
                if let Some(known) = self.model.active.iter_mut().find(same) {
                    known.cancelled = true;
                }
            }
            Step::Publish { nth, large } => self.publish(nth, large, now),
            Step::Drop { nth } if nth < self.held.len() => {
                drop(self.held.remove(nth));
                let (message, kind) = if self.model.active[nth].cancelled {
                    ("the activation was cancelled", "activation.cancelled")
                } else {
                    ("whoever waited for the activation gave it up", "activation.abandoned")
                };
                self.model.end(nth, TerminalState::Cancelled, self.model.told, error_bytes(message, kind));
            }
            Step::Drop { .. } => {}
            Step::Ask { of, id } => self.ask(of, id),
            Step::List { of, rows } => self.list(of, rows),
        }
    }

    fn advance(&mut self, nth: usize, now: Instant) {
        let Some(reservation) = self.held.get_mut(nth) else { return };
        let known = &mut self.model.active[nth];
        let next = LifecyclePhase::ALL.get(known.phase + 1).copied();
        let to = next.unwrap_or(LifecyclePhase::Running);
        let advanced = if to == LifecyclePhase::Resolved {
            // Pins a revision, whose names the model would have to count; the phase alone is what matters here.
            reservation.record.advance(to, now)
        } else {
            reservation.advance(to, now)
        };
        assert_eq!(advanced.is_ok(), next.is_some());
        known.phase += usize::from(next.is_some());
    }

    fn publish(&mut self, nth: usize, large: bool, now: Instant) {
        if nth >= self.held.len() {
            return;
        }
        let bytes = if large { LARGE } else { 10 };
        let payload = Payload::octets(vec![0; usize::try_from(bytes).unwrap()]);
        let reservation = self.held.remove(nth);
        let ended = evidence(ExecutionOutcome::DeclaredError(payload));
        let published = reservation.publish(ended, BudgetConsumption::default(), now);
        let (state, bytes) = if self.model.active[nth].cancelled {
            (TerminalState::Cancelled, error_bytes("the activation was cancelled", "activation.cancelled"))
        } else {
            (TerminalState::Completed, bytes)
        };
        assert_eq!(published.outcome.terminal_state(), state);
        self.model.end(nth, state, self.model.now, bytes);
    }

    fn ask(&self, of: usize, id: usize) {
        let (tenant, activation_id) = Self::key(of, id);
        let status = self.journal.status(&tenant, &activation_id, self.now());
        let events = self.journal.events(&tenant, &activation_id, self.now());
        let shown = status.map(|status| {
            (status.phase, status.cancel_reason.is_some(), status.terminal.map(|terminal| terminal.state))
        });
        let expected = self
            .model
            .find(of, id)
            .map(|known| (LifecyclePhase::ALL[known.phase], known.cancelled, known.end.map(|(state, ..)| state)));
        assert_eq!(shown, expected);
        let count = self.model.find(of, id).map(|known| known.phase + 1 + usize::from(known.end.is_some()));
        assert_eq!(events.map(|events| events.len()), count);
    }

    fn list(&self, of: usize, rows: usize) {
        let mut listed = Vec::new();
        let mut from = None;
        loop {
            let page = self.journal.list(&tenant(TENANTS[of]), from, rows, self.now());
            assert!(page.rows.len() <= rows);
            listed.extend(page.rows.into_iter().map(|row| row.activation_id));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        let all = self.model.active.iter().chain(&self.model.ended);
        let mut expected: Vec<_> = all.filter(|known| known.of == of && !known.expired(self.model.now)).collect();
        expected.sort_by_key(|known| std::cmp::Reverse(known.received));
        assert_eq!(listed, expected.iter().map(|known| super::id(IDS[known.id])).collect::<Vec<_>>());
    }

    fn check(&self) {
        let audit = self.journal.audit().unwrap();
        let model = &self.model;
        let expected = JournalSnapshot {
            active: model.active.len(),
            terminal: model.ended.len(),
            reserved_bytes: model.active.len() as u64 * Model::reservation(),
            retained_bytes: model.retained_bytes(),
            evicted_ids: model.evicted.len(),
        };
        assert_eq!((audit, self.journal.snapshot()), (expected, expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_order_of_events_agrees_with_the_naive_model(steps in proptest::collection::vec(step(), 1..120)) {
        let start = moment();
        let mut run = Run { journal: journal(config()), model: Model::default(), held: Vec::new(), start };
        for step in steps {
            run.apply(step);
            run.check();
        }
        run.model.told = run.model.now;
        for of in 0..TENANTS.len() {
            (0..IDS.len()).for_each(|id| run.ask(of, id));
            run.list(of, 2);
        }
        while !run.held.is_empty() {
            run.apply(Step::Drop { nth: 0 });
            run.check();
        }
    }
}
