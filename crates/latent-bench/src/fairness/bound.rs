//! How much later than alone a victim's call may end: what the scheduler and the turns of tenants promise together. Pure.
//!
//! Invariant: the bound follows from the sizes of the node and of the load, and from how many calls of the victim are under way
//! when it is alone; not from the row that it is for.

use std::time::Duration;

use super::kind::{DEADLINE, JOB, Kind, TICK};

/// What the node was given.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Cells.
    pub cells: usize,
    /// Threads that run guests.
    pub workers: usize,
}

/// How much later a call may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Until it has a cell: its tenant's turn comes after one grant of each other tenant.
    pub cell: Duration,
    /// Until the tenants beside it have had their turns on the processor, as often as it needs one itself.
    pub processor: Duration,
}

impl Bound {
    /// Both.
    pub fn total(&self) -> Duration {
        self.cell + self.processor
    }
}

/// The bound for a call that computes for `work` beside tenants of these kinds, with so many calls of the victim under way.
pub fn bound(sizes: Sizes, kinds: &[Kind], own: usize, work: Duration) -> Bound {
    Bound { cell: cell(sizes, kinds, own), processor: processor(sizes, kinds, own, work) }
}

/// No wait while there are cells for all. Otherwise ⌈(g + 1) / cells⌉ × the longest run, with one grant ahead for each
/// other tenant.
fn cell(sizes: Sizes, kinds: &[Kind], own: usize) -> Duration {
    let wanted = kinds.iter().map(|kind| kind.lanes()).sum::<usize>() + own;
    if wanted <= sizes.cells {
        return Duration::ZERO;
    }
    let short = JOB * narrow(sizes.cells.div_ceil(sizes.workers));
    let run = |kind: &Kind| if *kind == Kind::Queue { short } else { DEADLINE };
    let longest = kinds.iter().map(run).max().unwrap_or_default();
    longest * narrow((kinds.len() + 1).div_ceil(sizes.cells))
}

/// As many slices as the call needs, and one more that it does not use up. Before each of them one slice of every other tenant, spread over
/// the workers: not more than their sum by the workers, and the longest of them. That for each of the victim's own calls, which
/// have its slices one after the other.
fn processor(sizes: Sizes, kinds: &[Kind], own: usize, work: Duration) -> Duration {
    let slices = kinds.iter().map(|kind| kind.slice());
    let longest = slices.clone().max().unwrap_or_default();
    let round = slices.sum::<Duration>() / narrow(sizes.workers) + longest;
    round * narrow(usize::try_from(work.as_nanos().div_ceil(TICK.as_nanos()) + 1).unwrap_or(usize::MAX)) * narrow(own)
}

/// What a tenant may ask for beside tenants that take whatever they get, in processors. Nothing else is promised to who asks for
/// more.
pub fn share(sizes: Sizes, kinds: &[Kind]) -> Option<f64> {
    let take_all = !kinds.is_empty() && kinds.iter().all(|kind| *kind == Kind::Spinner);
    take_all.then(|| f64::from(narrow(sizes.workers)) / f64::from(narrow(kinds.len() + 1)))
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { cells: 48, workers: 2 };
    const WORK: Duration = Duration::from_millis(2);

    fn millis(bound: Bound) -> (u128, u128) {
        (bound.cell.as_millis(), bound.processor.as_millis())
    }

    #[test]
    fn beside_nobody_there_is_nothing_to_wait_for() {
        assert_eq!(millis(bound(SIZES, &[], 1, WORK)), (0, 0));
    }

    #[test]
    fn with_cells_for_all_only_the_processor_is_shared() {
        assert_eq!(millis(bound(SIZES, &[Kind::Spinner], 1, WORK)), (0, 3 * (2 / 2 + 2)));
        assert_eq!(millis(bound(SIZES, &[Kind::Spinner], 4, WORK)), (0, 4 * 3 * (2 / 2 + 2)));
        assert_eq!(millis(bound(SIZES, &[Kind::Memory; 2], 1, WORK)), (0, 3 * (2 * 17 / 2 + 17)));
        assert_eq!(millis(bound(SIZES, &[Kind::Spinner; 16], 1, WORK)), (0, 3 * (16 * 2 / 2 + 2)));
    }

    #[test]
    fn beside_tenants_that_take_what_they_get_there_is_an_equal_share() {
        assert_eq!(share(SIZES, &[Kind::Spinner; 3]), Some(0.5));
        assert_eq!(share(SIZES, &[Kind::Spinner, Kind::Logs]), None);
        assert_eq!(share(SIZES, &[]), None);
    }

    #[test]
    fn with_more_calls_than_cells_a_turn_of_the_others_is_ahead() {
        assert_eq!(millis(bound(SIZES, &[Kind::Queue], 1, WORK)), (24, 3 * (2 / 2 + 2)));
        let mixed = [Kind::Queue, Kind::Spinner];
        assert_eq!(bound(SIZES, &mixed, 1, WORK).cell, DEADLINE);
        let few = Sizes { cells: 2, ..SIZES };
        assert_eq!(bound(few, &mixed, 1, WORK).cell, DEADLINE * 2);
    }
}
