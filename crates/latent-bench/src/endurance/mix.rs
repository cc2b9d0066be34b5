//! What is called: a seeded mix of every way in which an activation ends.
//!
//! Invariant: a call follows from the seed and its number alone, so a run can be repeated whatever the tasks' order.

/// How a call is meant to end; one column of the table each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the outcomes")]
pub enum Kind {
    Text,
    Bytes,
    Output,
    DeclaredError,
    Trap,
    Fuel,
    Memory,
    Deadline,
    Cancel,
}

impl Kind {
    /// Every kind, in the order of the columns.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Bytes,
        Self::Output,
        Self::DeclaredError,
        Self::Trap,
        Self::Fuel,
        Self::Memory,
        Self::Deadline,
        Self::Cancel,
    ];

    /// The column's heading.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Output => "output",
            Self::DeclaredError => "declared",
            Self::Trap => "trap",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Deadline => "deadline",
            Self::Cancel => "cancel",
        }
    }

    /// How many of a hundred calls are of this kind, on average.
    const fn percent(self) -> u64 {
        match self {
            Self::Text => 20,
            Self::Bytes => 14,
            Self::Output => 8,
            Self::Fuel | Self::Memory => 9,
            Self::DeclaredError | Self::Trap | Self::Deadline | Self::Cancel => 10,
        }
    }
}

/// An echo, of which there are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// Written by hand; grows for large input only.
    Plain,
    /// Written in Rust; grows its memory at every call.
    Rust,
}

/// A guest that does not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endless {
    /// Loops without a host call.
    Spins,
    /// Waits a millisecond in the host, over and over.
    Parks,
}

/// A piece of the shared text: where it starts and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The offset in bytes.
    pub at: usize,
    /// The length in bytes.
    pub len: usize,
}

/// One call, with whatever varies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A string, returned as it came.
    Text(Echo, Piece),
    /// Bytes, returned as they came.
    Bytes(Echo, Piece),
    /// Lines on the guest's standard output.
    Output {
        /// How many.
        lines: u32,
    },
    /// The `err` of the function's own result.
    DeclaredError,
    /// An unreachable instruction.
    Trap,
    /// A loop with little fuel.
    Fuel {
        /// The fuel granted.
        granted: u64,
    },
    /// Growth until it is denied.
    Memory {
        /// The memory granted.
        granted_bytes: u64,
        /// The pages of one growth.
        step_pages: u32,
    },
    /// An endless guest with a deadline.
    Deadline {
        /// The guest.
        guest: Endless,
        /// From the call to its deadline.
        millis: u64,
    },
    /// An endless guest, cancelled once it is seen running.
    Cancel {
        /// The guest.
        guest: Endless,
    },
}

/// Bytes of the text that [`Piece`]s are cut from.
pub const TEXT_BYTES: usize = 128 << 10;
/// The longest piece sent as a string.
const STRING_BYTES_MAX: usize = 4 << 10;
/// The longest piece sent as bytes.
const OCTETS_MAX: usize = 64 << 10;

impl Call {
    /// The call of this number.
    #[must_use]
    pub fn of(seed: u64, number: u64) -> Self {
        let mut dice = Dice::new(seed, number);
        let kind = pick(dice.below(100));
        Self::of_kind(kind, &mut dice)
    }

    /// A call of this kind, with the rest thrown by `dice`.
    pub fn of_kind(kind: Kind, dice: &mut Dice) -> Self {
        match kind {
            Kind::Text => Self::Text(dice.echo(), dice.piece(STRING_BYTES_MAX)),
            Kind::Bytes => Self::Bytes(dice.echo(), dice.piece(OCTETS_MAX)),
            Kind::Output => Self::Output { lines: 1 + dice.below_small(16) },
            Kind::DeclaredError => Self::DeclaredError,
            Kind::Trap => Self::Trap,
            Kind::Fuel => Self::Fuel { granted: 1_000 + dice.below(100_000) },
            Kind::Memory => {
                Self::Memory { granted_bytes: (256 << 10) + dice.below(4 << 20), step_pages: 1 + dice.below_small(16) }
            }
            Kind::Deadline => Self::Deadline { guest: dice.endless(), millis: 2 + dice.below(4) },
            Kind::Cancel => Self::Cancel { guest: dice.endless() },
        }
    }

    /// How the call is meant to end.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Text(..) => Kind::Text,
            Self::Bytes(..) => Kind::Bytes,
            Self::Output { .. } => Kind::Output,
            Self::DeclaredError => Kind::DeclaredError,
            Self::Trap => Kind::Trap,
            Self::Fuel { .. } => Kind::Fuel,
            Self::Memory { .. } => Kind::Memory,
            Self::Deadline { .. } => Kind::Deadline,
            Self::Cancel { .. } => Kind::Cancel,
        }
    }
}

/// The kind on which a throw of 0 to 99 falls.
fn pick(mut throw: u64) -> Kind {
    for kind in Kind::ALL {
        if throw < kind.percent() {
            return kind;
        }
        throw -= kind.percent();
    }
    unreachable!("the percentages add up to a hundred")
}

/// The `SplitMix64` generator: a counter that walks by the golden ratio, and a finalizer that mixes it.
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The dice of one call. The seed is mixed first, so that neighbouring seeds share no calls.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        let mut of_seed = Self { state: seed };
        let start = of_seed.next() ^ number;
        let mut of_call = Self { state: start };
        Self { state: of_call.next() }
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "the sequence has no end")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; for the small bounds here the bias is nil.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn below_small(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).expect("a number below a 32-bit bound")
    }

    fn echo(&mut self) -> Echo {
        if self.below(2) == 0 { Echo::Plain } else { Echo::Rust }
    }

    /// A guest that does not end by itself.
    pub fn endless(&mut self) -> Endless {
        if self.below(2) == 0 { Endless::Spins } else { Endless::Parks }
    }

    fn piece(&mut self, len_max: usize) -> Piece {
        let mut up_to = |most: usize| usize::try_from(self.below(most as u64 + 1)).expect("a number up to a usize");
        let len = up_to(len_max);
        Piece { len, at: up_to(TEXT_BYTES - len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: u64 = 20_000;

    fn calls(seed: u64) -> Vec<Call> {
        (0..CALLS).map(|number| Call::of(seed, number)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_calls_and_another_seed_others() {
        assert_eq!(calls(7), calls(7));
        let same = calls(7).iter().zip(&calls(8)).filter(|(a, b)| a == b).count();
        assert!(same < 1_000, "{same} of {CALLS} calls are the same under a neighbouring seed");
    }

    #[test]
    fn every_kind_comes_about_as_often_as_it_should() {
        let calls = calls(1);
        for kind in Kind::ALL {
            let count = calls.iter().filter(|call| call.kind() == kind).count() as u64;
            let expected = CALLS * kind.percent() / 100;
            assert!(count.abs_diff(expected) < expected / 5, "{kind:?}: {count}, expected about {expected}");
        }
    }

    #[test]
    fn the_percentages_cover_every_throw() {
        assert_eq!(Kind::ALL.iter().map(|kind| kind.percent()).sum::<u64>(), 100);
        assert_eq!((pick(0), pick(99)), (Kind::Text, Kind::Cancel));
    }

    #[test]
    fn both_guests_of_each_pair_are_called() {
        let calls = calls(3);
        for wanted in [Endless::Spins, Endless::Parks] {
            assert!(calls.iter().any(|call| matches!(call, Call::Cancel { guest } if *guest == wanted)));
            assert!(calls.iter().any(|call| matches!(call, Call::Deadline { guest, .. } if *guest == wanted)));
        }
        for wanted in [Echo::Plain, Echo::Rust] {
            assert!(calls.iter().any(|call| matches!(call, Call::Text(echo, _) if *echo == wanted)));
            assert!(calls.iter().any(|call| matches!(call, Call::Bytes(echo, _) if *echo == wanted)));
        }
    }

    #[test]
    fn pieces_lie_within_the_text_and_deadlines_within_two_to_five_milliseconds() {
        for call in calls(4) {
            match call {
                Call::Text(_, Piece { at, len }) => assert!(at + len <= TEXT_BYTES && len <= STRING_BYTES_MAX),
                Call::Bytes(_, Piece { at, len }) => assert!(at + len <= TEXT_BYTES && len <= OCTETS_MAX),
                Call::Deadline { millis, .. } => assert!((2..=5).contains(&millis)),
                _ => {}
            }
        }
    }
}
