//! What the ports will do with one activation, drawn when it arrives.

use std::time::Duration;

use latent_core::{ExecutionOutcome, Payload, PlatformError, PlatformErrorCode};

use crate::random::Random;

/// How long something takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// So many polls, each of which wakes its task again.
    Polls(u32),
    Time(Duration),
    Forever,
}

/// How a preparation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparationEnds {
    Ready,
    NoRoom,
    Corrupt,
    PanicCall,
    PanicPoll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preparation {
    /// It waits for a compiler's job, which goes on without whoever waits.
    pub compiles: bool,
    pub lasts: Lasts,
    pub ends: PreparationEnds,
    /// Its future panics when it is dropped.
    pub bomb: bool,
    /// What it made panics when it is dropped before it ran.
    pub pin_bomb: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Materialization {
    Ready,
    NoPermit,
    Panic,
}

/// What a run listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heeds {
    AtOnce,
    After(Duration),
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnds {
    With(Own),
    PanicCall,
    PanicPoll,
}

/// What a run comes to of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    Returned,
    Declared,
    Trapped,
    Exited,
    Fuel,
    Memory,
    Limit,
    Failed,
    /// It says so although nobody cancelled it.
    Cancelled,
    Deadline,
    Transport,
}

impl Own {
    pub const ALL: [Self; 11] = [
        Self::Returned,
        Self::Declared,
        Self::Trapped,
        Self::Exited,
        Self::Fuel,
        Self::Memory,
        Self::Limit,
        Self::Failed,
        Self::Cancelled,
        Self::Deadline,
        Self::Transport,
    ];

    pub fn outcome(self) -> ExecutionOutcome {
        match self {
            Self::Returned => ExecutionOutcome::Returned(Payload::json("1")),
            Self::Declared => ExecutionOutcome::DeclaredError(Payload::json("2")),
            Self::Trapped => ExecutionOutcome::Trapped { category: "unreachable" },
            Self::Exited => ExecutionOutcome::Exited { status: 3 },
            Self::Fuel => ExecutionOutcome::FuelExhausted,
            Self::Memory => ExecutionOutcome::MemoryExhausted,
            Self::Limit => ExecutionOutcome::LimitExceeded { kind: "activation.table-exhausted", limit: 7 },
            Self::Failed => {
                ExecutionOutcome::Failed(PlatformError::new(PlatformErrorCode::DependencyFailed, "simulated"))
            }
            Self::Cancelled => ExecutionOutcome::Cancelled,
            Self::Deadline => ExecutionOutcome::DeadlineExceeded,
            Self::Transport => ExecutionOutcome::TransportStopped,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub lasts: Lasts,
    pub ends: RunEnds,
    pub heeds: Heeds,
    /// How long each of its polls keeps the thread.
    pub works: Duration,
    pub proves: bool,
    /// Its future panics when it is dropped, also after its answer.
    pub bomb: bool,
    pub fuel: u64,
}

/// What the pool does when it takes a cell back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposal {
    After(Lasts),
    Refuses,
    PanicCall,
    PanicPoll,
}

/// Where a port is when somebody cancels the activation that it works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    Preparation,
    Materialization,
    Entry,
    Run,
    Disposal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub cancelled: Option<Inside>,

    pub preparation: Preparation,
    pub materialization: Materialization,
    pub run: Run,
    pub disposal: Disposal,
}

impl Plan {
    /// A plan that misbehaves as often as `mischief` says, in percent.
    pub fn draw(random: &mut Random, mischief: u64) -> Self {
        let drawn = Self::draw_any(random);
        if random.percent(mischief) { drawn } else { drawn.behaved() }
    }

    /// The same without what no port should do.
    fn behaved(self) -> Self {
        let brief = |lasts| if lasts == Lasts::Forever { Lasts::Polls(2) } else { lasts };
        let Self { cancelled, preparation, run, disposal, .. } = self;
        let ends = match run.ends {
            RunEnds::With(own) => RunEnds::With(own),
            RunEnds::PanicCall | RunEnds::PanicPoll => RunEnds::With(Own::Trapped),
        };
        let disposal = match disposal {
            Disposal::After(lasts @ Lasts::Polls(_)) => Disposal::After(lasts),
            _ => Disposal::After(Lasts::Polls(0)),
        };
        Self {
            cancelled,
            preparation: Preparation {
                lasts: brief(preparation.lasts),
                ends: PreparationEnds::Ready,
                bomb: false,
                pin_bomb: false,
                ..preparation
            },
            materialization: Materialization::Ready,
            run: Run { lasts: brief(run.lasts), ends, heeds: Heeds::AtOnce, proves: true, bomb: false, ..run },
            disposal,
        }
    }

    fn draw_any(random: &mut Random) -> Self {
        let all = [Inside::Preparation, Inside::Materialization, Inside::Entry, Inside::Run, Inside::Disposal];
        Self {
            cancelled: random.percent(8).then(|| random.pick(&all)),
            preparation: preparation(random),
            materialization: match random.below(40) {
                0 => Materialization::NoPermit,
                1 => Materialization::Panic,
                _ => Materialization::Ready,
            },
            run: run(random),
            disposal: match random.below(100) {
                0 => Disposal::Refuses,
                1 => Disposal::PanicCall,
                2 => Disposal::PanicPoll,
                3 => Disposal::After(Lasts::Forever),
                4..=9 => Disposal::After(Lasts::Time(random.millis(1, 180))),
                10..=19 => Disposal::After(Lasts::Polls(1)),
                _ => Disposal::After(Lasts::Polls(0)),
            },
        }
    }
}

fn preparation(random: &mut Random) -> Preparation {
    let lasts = match random.below(20) {
        0 => Lasts::Forever,
        1..=5 => Lasts::Time(random.millis(1, 400)),
        6..=8 => Lasts::Polls(1 + u32::try_from(random.below(3)).expect("a few")),
        _ => Lasts::Polls(0),
    };
    let ends = match random.below(50) {
        0 => PreparationEnds::NoRoom,
        1 => PreparationEnds::Corrupt,
        2 => PreparationEnds::PanicCall,
        3 => PreparationEnds::PanicPoll,
        _ => PreparationEnds::Ready,
    };
    Preparation { compiles: random.percent(15), lasts, ends, bomb: random.percent(2), pin_bomb: random.percent(3) }
}

fn run(random: &mut Random) -> Run {
    let lasts = match random.below(20) {
        0 | 1 => Lasts::Forever,
        2..=12 => Lasts::Time(random.millis(1, 600)),
        13..=16 => Lasts::Polls(1 + u32::try_from(random.below(4)).expect("a few")),
        _ => Lasts::Polls(0),
    };
    let ends = match random.below(60) {
        0 => RunEnds::PanicCall,
        1 => RunEnds::PanicPoll,
        2..=40 => RunEnds::With(Own::Returned),
        _ => RunEnds::With(random.pick(&Own::ALL)),
    };
    let heeds = match random.below(10) {
        0..=2 => Heeds::Never,
        3 | 4 => Heeds::After(random.millis(1, 180)),
        _ => Heeds::AtOnce,
    };
    let works = if random.percent(20) { random.millis(1, 300) } else { Duration::ZERO };
    Run {
        lasts,
        ends,
        heeds,
        works,
        proves: random.percent(98),
        bomb: random.percent(1),
        fuel: 1 + random.below(1_000),
    }
}
