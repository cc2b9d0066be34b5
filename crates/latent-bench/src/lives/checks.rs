//! What must hold at the end of a run of whole lives: every account balanced, every cell back but those given up.

use latent_activation::journal::{JournalDiscrepancy, JournalSnapshot};
use latent_core::{CellClass, PlatformError};
use latent_executor::{ExecutionBackend as _, RuntimeResourceSnapshot};
use latent_node::{CleanupDiscrepancy, CleanupSupervisorSnapshot};
use latent_scheduler::CellPoolSnapshot;
use latent_scheduler::admission::LedgerSnapshot;
use latent_scheduler::fair::SchedulerSnapshot;

use super::filed::Part;
use super::house::{House, TENANTS};
use super::plan::Column;
use crate::endurance::checks::{Check, Sample, check, growth_checks};

/// The least that each tenant has to have done of its share when the first has done all, in percent. One tenant has half
/// of all callers: first come, first served would leave the others at about 14.
const FAIR_PERCENT: u64 = 50;

/// The accounts of everything that a manager composes, at one moment, counted out.
#[derive(Debug)]
pub struct Accounts {
    /// The cells.
    pub pool: Result<CellPoolSnapshot, PlatformError>,
    /// The queue.
    pub scheduler: Result<Option<SchedulerSnapshot>, PlatformError>,
    /// The quotas.
    pub ledger: Result<LedgerSnapshot, PlatformError>,
    /// The records.
    pub journal: Result<JournalSnapshot, JournalDiscrepancy>,
    /// The supervisor.
    pub supervisor: Result<CleanupSupervisorSnapshot, CleanupDiscrepancy>,
    /// The backend.
    pub runtime: RuntimeResourceSnapshot,
    /// Cells that are still kept out of use.
    pub spares: usize,
    /// Bytes of log records in the sink, and records that it lost.
    pub sink: (u64, u64),
}

impl Accounts {
    /// The accounts of `house` now.
    #[must_use]
    pub fn of(house: &House) -> Self {
        let parts = house.manager.parts();
        let snapshot = || parts.scheduler.snapshot(CellClass::Standard);
        Self {
            pool: house.node.pool.audit(),
            scheduler: parts.scheduler.audit().map(|()| snapshot()),
            ledger: parts.admission.ledger().audit(),
            journal: parts.journal.audit(),
            supervisor: house.supervisor.audit(),
            runtime: house.node.backend.resources(),
            spares: house.spares.left(),
            sink: house.node.sink.usage(),
        }
    }

    /// Whether nothing is under way, and of the pool's cells exactly `lost` are out of reuse.
    #[must_use]
    pub fn is_idle(&self, cells: usize, lost: usize) -> bool {
        self.pool_is_exact(cells, lost)
            && self.queue_is_empty()
            && self.ledger == Ok(LedgerSnapshot::default())
            && self.journal.as_ref().is_ok_and(|journal| (journal.active, journal.reserved_bytes) == (0, 0))
            && self.supervisor_is_through()
            && self.runtime_is_idle()
            && self.sink == (0, 0)
    }

    fn pool_is_exact(&self, capacity: usize, quarantined: usize) -> bool {
        let wanted = CellPoolSnapshot {
            class: CellClass::Standard,
            capacity,
            available: capacity.saturating_sub(quarantined + self.spares),
            queue_depth: 0,
            active_leases: self.spares,
            quarantined,
        };
        self.pool.as_ref() == Ok(&wanted)
    }

    fn queue_is_empty(&self) -> bool {
        matches!(self.scheduler, Ok(Some(SchedulerSnapshot { queued: 0, promised: 0, .. })))
    }

    fn supervisor_is_through(&self) -> bool {
        matches!(self.supervisor, Ok(CleanupSupervisorSnapshot { reserved: 0, continuing: 0, overruns: 0, .. }))
    }

    fn runtime_is_idle(&self) -> bool {
        self.runtime.is_idle() && self.runtime.preparations == 0
    }
}

/// Everything that the verdict rests on.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Activations that were planned.
    pub calls: u64,
    /// Cells that the pool was made with.
    pub cells: usize,
    /// Activations that were planned to be dropped while they run.
    pub drops: u64,
    /// Ended records that the journal keeps.
    pub retained: usize,
    /// What came of them all.
    pub all: &'a Part,
    /// The least that each tenant had done at the first finish of any part, in percent of its share.
    pub least_percent: [u64; TENANTS],
    /// After the warm-up.
    pub warm: Sample,
    /// At the end.
    pub end: Sample,
    /// Moments between, at which something was still held or an account was wrong.
    pub busy_pauses: usize,
    /// At the end.
    pub accounts: &'a Accounts,
}

impl Evidence<'_> {
    /// All checks.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let Self { calls, cells, drops, all, accounts, .. } = self;
        let tally = &all.tally;
        let right = tally.total().saturating_sub(tally.mismatches);
        let lost = usize::try_from(*drops).unwrap_or(usize::MAX);
        let planned = |column: &&Column| **column != Column::DropRunning || *drops > 0;
        let rarest = Column::ALL.iter().filter(planned).map(|column| tally.ended()[*column as usize]).min();
        let records = usize::try_from(*calls).unwrap_or(usize::MAX).min(self.retained);
        let journal_is_exact =
            accounts.journal.as_ref().is_ok_and(|journal| (journal.active, journal.terminal) == (0, records));
        let ended = accounts.supervisor.map_or(u64::MAX, |supervisor| supervisor.ended);
        let least = self.least_percent.iter().min().copied().unwrap_or(0);
        let in_queue = [Column::CancelQueued, Column::DropQueued].map(|column| tally.ended()[column as usize]);
        let in_queue: u64 = in_queue.iter().sum();
        let deadlines = tally.ended()[Column::Deadline as usize];
        let mut checks = vec![
            check(
                right == *calls,
                format!("{right} of {calls} ended as planned, each with exactly one terminal event in its record"),
            ),
            check(
                rarest.is_some_and(|rarest| rarest > 0),
                format!("every way of living occurred, the rarest {} times", rarest.unwrap_or(0)),
            ),
            check(
                all.overtaken * 2 <= in_queue,
                format!("{} found a cell at once where they were to wait, at most {} may", all.overtaken, in_queue / 2),
            ),
            check(
                all.infeasible < deadlines,
                format!("of {deadlines} deadlines {} were refused ahead, the others passed", all.infeasible),
            ),
            check(
                accounts.pool_is_exact(*cells, lost) && accounts.spares == 0,
                format!("the pool is exact: of {cells} cells {lost} quarantined, one for each drop of running work"),
            ),
            check(accounts.queue_is_empty(), "the scheduler's books are right, nobody waits".to_owned()),
            check(
                accounts.ledger == Ok(LedgerSnapshot::default()),
                "the quota ledger's books are right, nothing is reserved".to_owned(),
            ),
            check(journal_is_exact, format!("the journal is exact: nothing under way, {records} records kept")),
            check(
                accounts.supervisor_is_through() && ended == all.transferred,
                format!("the supervisor ended {ended} of {} in time, none overran, none is left", all.transferred),
            ),
            check(accounts.runtime_is_idle(), "the runtime holds nothing but prepared code".to_owned()),
            check(accounts.sink == (0, 0), "every log record was collected, none lost".to_owned()),
            check(self.busy_pauses == 0, format!("{} pauses found anything held", self.busy_pauses)),
            check(
                least >= FAIR_PERCENT,
                format!("when the first tenant was through, the slowest had done {least} %, at least {FAIR_PERCENT} %"),
            ),
        ];
        checks.extend(growth_checks(self.warm, self.end));
        checks
    }
}

#[cfg(test)]
mod tests {
    use latent_core::PlatformErrorCode;

    use super::*;

    const QUIET: Sample = Sample { resident_bytes: 100 << 20, descriptors: 9, threads: 5 };

    fn accounts() -> Accounts {
        Accounts {
            pool: Ok(CellPoolSnapshot {
                class: CellClass::Standard,
                capacity: 6,
                available: 4,
                queue_depth: 0,
                active_leases: 0,
                quarantined: 2,
            }),
            scheduler: Ok(Some(SchedulerSnapshot { queued: 0, promised: 0, queue_capacity: 9 })),
            ledger: Ok(LedgerSnapshot::default()),
            journal: Ok(JournalSnapshot {
                active: 0,
                terminal: 0,
                reserved_bytes: 0,
                retained_bytes: 0,
                evicted_ids: 0,
            }),
            supervisor: Ok(CleanupSupervisorSnapshot {
                continuations_max: 9,
                reserved: 0,
                continuing: 0,
                ended: 0,
                overruns: 0,
                closed: false,
                driven: true,
            }),
            runtime: RuntimeResourceSnapshot { prepared_entries: 5, ..RuntimeResourceSnapshot::default() },
            spares: 0,
            sink: (0, 0),
        }
    }

    /// The numbers of the checks that fail, but for the two that need calls.
    fn failed(accounts: &Accounts, least: u64) -> Vec<usize> {
        let all = Part::default();
        let evidence = Evidence {
            calls: 0,
            cells: 6,
            drops: 2,
            retained: 9,
            all: &all,
            least_percent: [100, 100, least, 100, 100, 100, 100, 100],
            warm: QUIET,
            end: QUIET,
            busy_pauses: 0,
            accounts,
        };
        let checks = evidence.checks().into_iter().enumerate();
        checks.filter(|(index, check)| ![1, 3].contains(index) && !check.passed).map(|(index, _)| index).collect()
    }

    #[test]
    fn a_node_at_rest_with_one_cell_lost_for_each_drop_passes() {
        assert!(accounts().is_idle(6, 2));
        assert_eq!(failed(&accounts(), FAIR_PERCENT), Vec::<usize>::new());
    }

    #[test]
    fn every_account_that_is_not_at_rest_fails_its_own_check() {
        type Spoil = fn(&mut Accounts);
        let spoilt: [(Spoil, usize); 10] = [
            (|of| of.pool.as_mut().expect("sound").quarantined = 1, 4),
            (|of| of.spares = 1, 4),
            (|of| of.scheduler = Err(PlatformError::new(PlatformErrorCode::Internal, "wrong")), 5),
            (|of| of.ledger.as_mut().expect("sound").running = 1, 6),
            (|of| of.journal.as_mut().expect("sound").active = 1, 7),
            (|of| of.supervisor.as_mut().expect("sound").overruns = 1, 8),
            (|of| of.supervisor.as_mut().expect("sound").continuing = 1, 8),
            (|of| of.runtime.preparations = 1, 9),
            (|of| of.runtime.stores = 1, 9),
            (|of| of.sink.1 = 1, 10),
        ];
        for (spoil, check) in spoilt {
            let mut accounts = accounts();
            spoil(&mut accounts);
            assert!(!accounts.is_idle(6, 2), "check {check}");
            assert_eq!(failed(&accounts, 100), [check]);
        }
    }

    #[test]
    fn a_tenant_far_behind_fails() {
        assert_eq!(failed(&accounts(), FAIR_PERCENT - 1), [12]);
    }
}
