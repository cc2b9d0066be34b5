//! What is called, and how it has to end: a function of the seed and the call's number alone.

use crate::crash::Plan;

/// Calls of a hundred that do not behave.
const HOSTILE_PERCENT: u64 = 5;

/// By which of the node's doors a call comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// gRPC.
    Grpc,
    /// The API over plain HTTP.
    Json,
    /// A request for a component that handles HTTP itself.
    Web,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Gives back what it got, or says hello.
    Behave,
    /// Traps.
    Trap,
    /// Spins until its fuel is spent.
    Fuel,
    /// Grows until it is denied more memory.
    Memory,
    /// Waits for longer than it may.
    Deadline,
    /// Spins for longer than it may.
    Spin,
    /// Is cancelled while it waits.
    Cancel,
    /// Loses its client while it waits.
    Leave,
}

impl Act {
    /// All, in the order of the table.
    pub const ALL: [Self; 8] =
        [Self::Behave, Self::Trap, Self::Fuel, Self::Memory, Self::Deadline, Self::Spin, Self::Cancel, Self::Leave];

    /// Its column in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Behave => "ok",
            Self::Trap => "trap",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Deadline => "deadline",
            Self::Spin => "spin",
            Self::Cancel => "cancel",
            Self::Leave => "leave",
        }
    }

    /// The code with which it has to end; `None` for a result, or for nobody who could be told.
    pub const fn code(self) -> Option<&'static str> {
        match self {
            Self::Behave | Self::Leave => None,
            Self::Trap => Some("guest-trap"),
            Self::Fuel | Self::Memory => Some("resource-exhausted"),
            Self::Deadline | Self::Spin => Some("deadline-exceeded"),
            Self::Cancel => Some("cancelled"),
        }
    }
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// How it comes.
    pub way: Way,
    /// What it does.
    pub act: Act,
}

impl Call {
    /// The call of this number.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut plan = Plan::new(seed ^ number.wrapping_mul(0xA24B_AED4_963E_E407));
        let way = match plan.number() % 4 {
            0 | 1 => Way::Grpc,
            2 => Way::Json,
            _ => Way::Web,
        };
        let act = if plan.number() % 100 < HOSTILE_PERCENT { hostile(plan.number()) } else { Act::Behave };
        // A cancel goes by the API, and so does its call; the HTTP handler has too little fuel to spin for long.
        let way = if way == Way::Web && matches!(act, Act::Cancel | Act::Spin) { Way::Json } else { way };
        Self { way, act }
    }
}

/// Spinning to a deadline costs so much more of the processor than the rest that it is rare.
fn hostile(number: u64) -> Act {
    match number % 24 {
        0..=3 => Act::Trap,
        4..=7 => Act::Fuel,
        8..=11 => Act::Memory,
        12..=14 => Act::Deadline,
        15 => Act::Spin,
        16..=19 => Act::Cancel,
        _ => Act::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_of_a_hundred_calls_are_hostile_and_every_kind_occurs_on_every_way() {
        let calls: Vec<_> = (0..100_000).map(|number| Call::of(7, number)).collect();
        let hostile = calls.iter().filter(|call| call.act != Act::Behave).count();
        assert!((4_700..5_300).contains(&hostile), "{hostile}");
        for act in Act::ALL {
            for way in [Way::Grpc, Way::Json, Way::Web] {
                let occurs = calls.contains(&Call { way, act });
                let never = way == Way::Web && matches!(act, Act::Cancel | Act::Spin);
                assert_eq!(occurs, !never, "{way:?} {act:?}");
            }
        }
    }

    #[test]
    fn a_call_follows_from_seed_and_number() {
        assert_eq!(Call::of(1, 5), Call::of(1, 5));
        assert!((0..1_000).any(|number| Call::of(1, number) != Call::of(2, number)));
    }
}
