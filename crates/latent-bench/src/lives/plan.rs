//! What is planned for each activation: to be left alone, or to be stopped in some way in some place.
//!
//! Invariant: a plan follows from the seed and the activation's number alone, so a run can be repeated whatever the
//! tasks' order.

use crate::endurance::mix::{Call, Dice, Endless, Kind};

/// A way of living and ending; one column of the table each. The letter says where it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Column {
    Text,
    Bytes,
    Output,
    DeclaredError,
    Trap,
    Fuel,
    Memory,
    Deadline,
    CancelPreparing,
    CancelQueued,
    CancelRunning,
    DropNew,
    DropPreparing,
    DropQueued,
    DropRunning,
    Disconnect,
    TransportDeadline,
}

/// What the columns' headings mean.
pub const LEGEND: &str = "cancel, drop: preparing, queued, running, or new, which is before the first poll; \
                          gone: disconnected, late: beyond the transport's deadline, both anywhere";

/// What half of the deadlines are later.
const FAR_MILLIS: u64 = 30;

impl Column {
    /// Every column, in order.
    pub const ALL: [Self; 17] = [
        Self::Text,
        Self::Bytes,
        Self::Output,
        Self::DeclaredError,
        Self::Trap,
        Self::Fuel,
        Self::Memory,
        Self::Deadline,
        Self::CancelPreparing,
        Self::CancelQueued,
        Self::CancelRunning,
        Self::DropNew,
        Self::DropPreparing,
        Self::DropQueued,
        Self::DropRunning,
        Self::Disconnect,
        Self::TransportDeadline,
    ];

    /// The heading.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => Kind::Text.as_str(),
            Self::Bytes => Kind::Bytes.as_str(),
            Self::Output => Kind::Output.as_str(),
            Self::DeclaredError => Kind::DeclaredError.as_str(),
            Self::Trap => Kind::Trap.as_str(),
            Self::Fuel => Kind::Fuel.as_str(),
            Self::Memory => Kind::Memory.as_str(),
            Self::Deadline => Kind::Deadline.as_str(),
            Self::CancelPreparing => "cancel-p",
            Self::CancelQueued => "cancel-q",
            Self::CancelRunning => "cancel-r",
            Self::DropNew => "drop-n",
            Self::DropPreparing => "drop-p",
            Self::DropQueued => "drop-q",
            Self::DropRunning => "drop-r",
            Self::Disconnect => "gone",
            Self::TransportDeadline => "late",
        }
    }

    /// How many of a hundred activations are of this column, on average. Drops of running work are planned apart.
    const fn percent(self) -> u64 {
        match self {
            Self::Text => 22,
            Self::Bytes => 15,
            Self::DeclaredError | Self::Trap => 9,
            Self::Output | Self::Fuel | Self::Memory => 6,
            Self::CancelQueued | Self::DropQueued => 4,
            Self::Deadline | Self::CancelPreparing | Self::CancelRunning | Self::DropNew | Self::DropPreparing => 3,
            Self::Disconnect | Self::TransportDeadline => 2,
            Self::DropRunning => 0,
        }
    }
}

/// Who stops an activation, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its tenant cancels it.
    Cancel,
    /// Whoever holds its handle drops it.
    Drop,
    /// Its transport goes away, and the supervisor cleans up.
    Disconnect,
    /// Its transport's time is over, and the supervisor cleans up.
    TransportDeadline,
}

/// Where an activation is when it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Accepted, and never polled.
    New,
    /// Its code is being made ready.
    Preparing,
    /// It waits for a cell.
    Queued,
    /// Its guest runs.
    Running,
}

/// What becomes of one activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// It ends by itself, or by its own deadline.
    Left(Call),
    /// An endless guest is stopped.
    Stopped {
        /// How.
        stop: Stop,
        /// Where.
        place: Place,
        /// The guest.
        guest: Endless,
    },
}

/// Which activations are dropped while they run: one in so many, or none.
pub type DropOneIn = Option<u64>;

impl Plan {
    /// The plan for the activation of this number.
    #[must_use]
    pub fn of(seed: u64, number: u64, drop_one_in: DropOneIn) -> (Column, Self) {
        let mut dice = Dice::new(seed, number);
        if drop_one_in.is_some_and(|one_in| number % one_in == one_in / 2) {
            return (Column::DropRunning, stopped(Stop::Drop, Place::Running, &mut dice));
        }
        let column = pick(dice.below(100));
        let plan = match column {
            Column::Text => Self::Left(Call::of_kind(Kind::Text, &mut dice)),
            Column::Bytes => Self::Left(Call::of_kind(Kind::Bytes, &mut dice)),
            Column::Output => Self::Left(Call::of_kind(Kind::Output, &mut dice)),
            Column::DeclaredError => Self::Left(Call::of_kind(Kind::DeclaredError, &mut dice)),
            Column::Trap => Self::Left(Call::of_kind(Kind::Trap, &mut dice)),
            Column::Fuel => Self::Left(Call::of_kind(Kind::Fuel, &mut dice)),
            Column::Memory => Self::Left(Call::of_kind(Kind::Memory, &mut dice)),
            Column::Deadline => Self::Left(deadline(&mut dice)),
            Column::CancelPreparing => stopped(Stop::Cancel, Place::Preparing, &mut dice),
            Column::CancelQueued => stopped(Stop::Cancel, Place::Queued, &mut dice),
            Column::CancelRunning => stopped(Stop::Cancel, Place::Running, &mut dice),
            Column::DropNew => stopped(Stop::Drop, Place::New, &mut dice),
            Column::DropPreparing => stopped(Stop::Drop, Place::Preparing, &mut dice),
            Column::DropQueued => stopped(Stop::Drop, Place::Queued, &mut dice),
            Column::DropRunning => stopped(Stop::Drop, Place::Running, &mut dice),
            Column::Disconnect => stopped(Stop::Disconnect, anywhere(&mut dice), &mut dice),
            Column::TransportDeadline => stopped(Stop::TransportDeadline, anywhere(&mut dice), &mut dice),
        };
        (column, plan)
    }
}

/// A deadline within which nothing gets through the queue, or one that leaves time to run.
fn deadline(dice: &mut Dice) -> Call {
    let millis = 2 + dice.below(4) + FAR_MILLIS * dice.below(2);
    Call::Deadline { guest: dice.endless(), millis }
}

fn stopped(stop: Stop, place: Place, dice: &mut Dice) -> Plan {
    Plan::Stopped { stop, place, guest: dice.endless() }
}

fn anywhere(dice: &mut Dice) -> Place {
    match dice.below(4) {
        0 => Place::New,
        1 => Place::Preparing,
        2 => Place::Queued,
        _ => Place::Running,
    }
}

/// The column on which a throw of 0 to 99 falls.
fn pick(mut throw: u64) -> Column {
    for column in Column::ALL {
        if throw < column.percent() {
            return column;
        }
        throw -= column.percent();
    }
    unreachable!("the percentages add up to a hundred")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentages_cover_every_throw() {
        assert_eq!(Column::ALL.iter().map(|column| column.percent()).sum::<u64>(), 100);
        assert_eq!((pick(0), pick(99)), (Column::Text, Column::TransportDeadline));
    }

    #[test]
    fn the_same_seed_gives_the_same_plans_and_another_seed_others() {
        let plans = |seed| (0..2_000).map(|number| Plan::of(seed, number, None)).collect::<Vec<_>>();
        assert_eq!(plans(7), plans(7));
        let same = plans(7).iter().zip(&plans(8)).filter(|(a, b)| a == b).count();
        assert!(same < 300, "{same} of 2000 plans are the same under a neighbouring seed");
    }

    #[test]
    fn running_work_is_dropped_exactly_as_often_as_asked() {
        let dropped =
            |one_in| (0..1_000).filter(|number| Plan::of(1, *number, one_in).0 == Column::DropRunning).count();
        assert_eq!((dropped(None), dropped(Some(10)), dropped(Some(125))), (0, 100, 8));
    }

    #[test]
    fn lost_transports_are_lost_everywhere() {
        for place in [Place::New, Place::Preparing, Place::Queued, Place::Running] {
            let there = |number| matches!(Plan::of(3, number, None).1, Plan::Stopped { stop: Stop::Disconnect, place: p, .. } if p == place);
            assert!((0..5_000).any(there), "{place:?}");
        }
    }
}
