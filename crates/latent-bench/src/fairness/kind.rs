//! How a tenant can be hostile, and what of a node each kind can have. Pure.

use std::time::Duration;

/// Cells that a hostile tenant's quota allows it, and calls that it keeps under way, unless its point is a deep queue.
pub const LIVE: usize = 2;
/// Calls that a tenant with a deep queue keeps under way.
pub const DEEP: usize = 1_000;
/// Calls that each of several equal tenants keeps under way.
pub const BACKLOG: usize = 7;
/// When a call of a hostile tenant ends at the latest, from its arrival.
pub const DEADLINE: Duration = Duration::from_millis(100);
/// What a call of a deep queue computes.
pub const JOB: Duration = Duration::from_millis(1);
/// After how long a client that leaves does so.
pub const LEAVES: Duration = Duration::from_millis(20);
/// The node's epoch tick: how long a slice of a guest is at least.
pub const TICK: Duration = Duration::from_millis(1);
/// One bulk operation over the sixteen mebibytes of the memory bomb, a millisecond each while they are cold. Nothing
/// interrupts it.
pub const FILL: Duration = Duration::from_millis(16);

/// What a tenant does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Spins to its deadline.
    Spinner,
    /// Fills all its memory over and over to its deadline, and grows it until it is denied.
    Memory,
    /// Writes lines until its log budget is spent.
    Logs,
    /// Keeps a thousand short calls under way.
    Queue,
    /// Begins a call that spins and closes its connection.
    Leaver,
    /// Keeps a few short calls under way: no hostile tenant, but one of several that are alike.
    Equal,
}

impl Kind {
    /// The hostile ones, in the order in which a mixture has them.
    pub const HOSTILE: [Self; 5] = [Self::Spinner, Self::Memory, Self::Logs, Self::Queue, Self::Leaver];

    /// Its name in a table and in an order.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spinner => "spinner",
            Self::Memory => "memory bomb",
            Self::Logs => "log flood",
            Self::Queue => "deep queue",
            Self::Leaver => "leaving client",
            Self::Equal => "equal",
        }
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Equal].into_iter().chain(Self::HOSTILE).find(|kind| kind.as_str() == name)
    }

    /// Calls that it keeps under way.
    pub const fn lanes(self) -> usize {
        match self {
            Self::Queue => DEEP,
            Self::Equal => BACKLOG,
            Self::Spinner | Self::Memory | Self::Logs | Self::Leaver => LIVE,
        }
    }

    /// How long a slice of one of its guests is at most. It ends when the guest yields after it had a whole tick, which is within
    /// the next one, except where the guest is in a bulk operation.
    pub const fn slice(self) -> Duration {
        match self {
            Self::Memory => TICK.saturating_add(FILL),
            _ => TICK.saturating_add(TICK),
        }
    }

    /// So many hostile tenants, of all kinds in turn.
    pub fn mixture(count: usize) -> Vec<Self> {
        Self::HOSTILE.into_iter().cycle().take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in Kind::mixture(5).into_iter().chain([Kind::Equal]) {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::parse("friendly"), None);
    }
}
