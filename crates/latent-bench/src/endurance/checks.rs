//! What must hold at the end of a run: every account balanced, every resource back.

use latent_core::{CellClass, PlatformError};
use latent_executor::{ExecutionBackend as _, RuntimeResourceSnapshot};
use latent_node::ActivationRunnerSnapshot;
use latent_scheduler::CellPoolSnapshot;

use crate::node::Node;
use crate::process;

use super::mix::Kind;
use super::tally::Tally;

/// Growth of resident memory that counts as noise, whatever the size.
const RESIDENT_NOISE_BYTES: u64 = 8 << 20;
/// Growth of resident memory that counts as noise, in hundredths of the memory after the warm-up.
const RESIDENT_NOISE_PERCENT: u64 = 5;

/// What the process held at one moment at which no activation was under way.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Resident memory.
    pub resident_bytes: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
}

impl Sample {
    /// What the process holds now.
    #[must_use]
    pub fn take() -> Self {
        Self {
            resident_bytes: process::resident_bytes(),
            descriptors: process::descriptors(),
            threads: process::threads(),
        }
    }
}

/// The node's own accounts at one moment.
#[derive(Debug)]
pub struct Accounts {
    /// The pool's, counted out.
    pub pool: Result<CellPoolSnapshot, PlatformError>,
    /// The runner's.
    pub runner: ActivationRunnerSnapshot,
    /// The backend's.
    pub runtime: RuntimeResourceSnapshot,
    /// Bytes of log records in the sink, and records that it lost.
    pub sink: (u64, u64),
}

impl Accounts {
    /// The accounts of `node` now.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        Self {
            pool: node.pool.audit(),
            runner: node.runner.snapshot(),
            runtime: node.backend.resources(),
            sink: node.sink.usage(),
        }
    }

    /// Whether all `capacity` cells are free and nobody holds or waits for anything.
    #[must_use]
    pub fn is_idle(&self, capacity: usize) -> bool {
        self.pool_is_exact(capacity) && self.runner_is_idle() && self.runtime.is_idle() && self.sink == (0, 0)
    }

    fn pool_is_exact(&self, capacity: usize) -> bool {
        let all_free = CellPoolSnapshot {
            class: CellClass::Standard,
            capacity,
            available: capacity,
            queue_depth: 0,
            active_leases: 0,
            quarantined: 0,
        };
        self.pool.as_ref() == Ok(&all_free)
    }

    fn runner_is_idle(&self) -> bool {
        let ActivationRunnerSnapshot { registrations, waiting, running_invocations, .. } = self.runner;
        (registrations, waiting, running_invocations) == (0, 0, 0)
    }
}

/// Everything that the verdict rests on.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Activations that were asked for.
    pub calls: u64,
    /// Cells that the pool was made with.
    pub cells: usize,
    /// What came of them.
    pub tally: &'a Tally<{ Kind::ALL.len() }>,
    /// After the warm-up.
    pub warm: Sample,
    /// At the end.
    pub end: Sample,
    /// Moments between, at which something was still held.
    pub busy_pauses: usize,
    /// At the end.
    pub accounts: &'a Accounts,
}

/// One thing that must hold, in words, and whether it does.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// The rule and the figures it was judged by.
    pub sentence: String,
    /// Whether it holds.
    pub passed: bool,
}

impl Evidence<'_> {
    /// All checks.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let Self { tally, warm, end, accounts, .. } = self;
        let as_expected = tally.total().saturating_sub(tally.mismatches);
        let rarest = tally.ended().iter().min().copied().unwrap_or(0);
        let quarantined = accounts.pool.as_ref().map_or(usize::MAX, |pool| pool.quarantined);
        let runner = accounts.runner;
        let mut checks = vec![
            check(as_expected == self.calls, format!("{as_expected} of {} ended as expected", self.calls)),
            check(rarest > 0, format!("every way of ending occurred, the rarest {rarest} times")),
            check(accounts.pool_is_exact(self.cells), format!("the pool is exact, all {} cells free", self.cells)),
            check(
                (quarantined, runner.quarantines, runner.failed_dispositions) == (0, 0, 0),
                "nothing was quarantined, every disposition succeeded".to_owned(),
            ),
            check(
                runner.releases == tally.granted,
                format!("{} cells released, {} granted", runner.releases, tally.granted),
            ),
            check(accounts.runner_is_idle(), "the runner has no registration, wait or invocation left".to_owned()),
            check(accounts.runtime.is_idle(), "the runtime holds nothing but prepared code".to_owned()),
            check(accounts.sink == (0, 0), "every log record was collected, none lost".to_owned()),
            check(self.busy_pauses == 0, format!("{} pauses found anything held", self.busy_pauses)),
        ];
        checks.extend(growth_checks(*warm, *end));
        checks
    }
}

/// A check, judged.
#[must_use]
pub fn check(passed: bool, sentence: String) -> Check {
    Check { sentence, passed }
}

/// The checks that nothing grew from `warm` to `end`, but for noise in memory.
#[must_use]
pub fn growth_checks(warm: Sample, end: Sample) -> [Check; 3] {
    let growth = i128::from(end.resident_bytes) - i128::from(warm.resident_bytes);
    let noise = RESIDENT_NOISE_BYTES.max(warm.resident_bytes / 100 * RESIDENT_NOISE_PERCENT);
    [
        check(end.descriptors == warm.descriptors, format!("descriptors {} → {}", warm.descriptors, end.descriptors)),
        check(end.threads == warm.threads, format!("threads {} → {}", warm.threads, end.threads)),
        check(
            growth <= i128::from(noise),
            format!("resident memory grew by {} KiB, at most {} KiB is noise", growth / 1024, noise / 1024),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        Accounts {
            pool: Ok(CellPoolSnapshot {
                class: CellClass::Standard,
                capacity: 4,
                available: 4,
                queue_depth: 0,
                active_leases: 0,
                quarantined: 0,
            }),
            runner: ActivationRunnerSnapshot::default(),
            runtime: RuntimeResourceSnapshot { prepared_entries: 5, ..RuntimeResourceSnapshot::default() },
            sink: (0, 0),
        }
    }

    fn failed(accounts: &Accounts, warm: Sample, end: Sample) -> Vec<String> {
        let tally = Tally::default();
        let evidence = Evidence { calls: 0, cells: 4, tally: &tally, warm, end, busy_pauses: 0, accounts };
        let failed = evidence.checks().into_iter().filter(|check| !check.passed).map(|check| check.sentence);
        // Nothing was called in these tests.
        failed.filter(|sentence| !sentence.starts_with("every way of ending")).collect()
    }

    const QUIET: Sample = Sample { resident_bytes: 100 << 20, descriptors: 9, threads: 5 };

    #[test]
    fn an_idle_node_without_growth_passes() {
        assert!(accounts().is_idle(4));
        assert_eq!(failed(&accounts(), QUIET, QUIET), Vec::<String>::new());
    }

    #[test]
    fn growth_beyond_noise_and_one_descriptor_fail() {
        let noisy = Sample { resident_bytes: QUIET.resident_bytes + RESIDENT_NOISE_BYTES, ..QUIET };
        assert_eq!(failed(&accounts(), QUIET, noisy), Vec::<String>::new());
        let grown = Sample { resident_bytes: noisy.resident_bytes + 1, descriptors: 10, threads: 6 };
        assert_eq!(failed(&accounts(), QUIET, grown).len(), 3);
    }

    #[test]
    fn a_lost_cell_and_a_live_store_fail() {
        let mut held = accounts();
        held.runtime.stores = 1;
        let pool = held.pool.as_mut().expect("a sound pool");
        (pool.available, pool.quarantined) = (3, 1);
        assert!(!held.is_idle(4));
        assert_eq!(failed(&held, QUIET, QUIET).len(), 3);
    }
}
