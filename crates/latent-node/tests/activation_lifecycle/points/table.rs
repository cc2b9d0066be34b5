//! The points, the actions, and how an activation ends when one meets the other.

use latent_activation::LifecyclePhase as Phase;
use latent_core::TerminalState as State;

/// Where an activation can wait for its next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    BeforeFirstPoll,
    Preparing,
    Queued,
    Running,
    Disposing,
}

impl Point {
    pub const ALL: [Self; 5] = [Self::BeforeFirstPoll, Self::Preparing, Self::Queued, Self::Running, Self::Disposing];

    pub fn phase(self) -> Phase {
        match self {
            Self::BeforeFirstPoll => Phase::Received,
            Self::Preparing | Self::Queued => Phase::Queued,
            Self::Running | Self::Disposing => Phase::Running,
        }
    }
}

/// What happens to it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Drop,
    Cancel,
    Deadline,
    Disconnected,
    TransportDeadline,
    /// The port that is waited for, or called next, panics.
    PanicOnPoll,
    /// The handle is dropped, and what the port made panics in its destructor. Before the first poll a port has made
    /// nothing; there the destructor of the catalog's view panics at the poll.
    PanicInDestructor,
}

impl Action {
    pub const ALL: [Self; 7] = [
        Self::Drop,
        Self::Cancel,
        Self::Deadline,
        Self::Disconnected,
        Self::TransportDeadline,
        Self::PanicOnPoll,
        Self::PanicInDestructor,
    ];
}

/// How the activation ends then.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    pub state: State,
    /// The kind of the error's first detail; none for a success.
    pub kind: Option<&'static str>,
    pub phase: Phase,
    pub quarantined: usize,
}

pub fn expected(point: Point, action: Action) -> End {
    use Action as A;
    use Point as P;
    let end = |state, kind, phase, quarantined| End { state, kind: Some(kind), phase, quarantined };
    let (phase, runs) = (point.phase(), usize::from(point == P::Running));
    match (point, action) {
        (P::BeforeFirstPoll, A::PanicInDestructor) => {
            end(State::PlatformFailed, "activation.port-panic", Phase::Resolved, 0)
        }
        (_, A::Drop | A::PanicInDestructor) => {
            let entered = usize::from(phase == Phase::Running);
            end(State::Cancelled, "activation.abandoned", phase, entered)
        }
        (_, A::Cancel) => end(State::Cancelled, "activation.cancelled", phase, runs),
        // The result has been handed over: nothing but a cancel comes in time any more.
        (P::Disposing, A::Deadline | A::Disconnected | A::TransportDeadline) => {
            End { state: State::Completed, kind: None, phase, quarantined: 0 }
        }
        // It is found out at admission, which follows the resolution.
        (P::BeforeFirstPoll, A::Deadline) => {
            end(State::DeadlineExceeded, "activation.deadline-exceeded", Phase::Resolved, 0)
        }
        (_, A::Deadline | A::TransportDeadline) => {
            end(State::DeadlineExceeded, "activation.deadline-exceeded", phase, runs)
        }
        (_, A::Disconnected) => end(State::Cancelled, "activation.transport-stopped", phase, runs),
        (P::BeforeFirstPoll | P::Preparing, A::PanicOnPoll) => {
            end(State::PlatformFailed, "activation.port-panic", phase, 0)
        }
        (P::Queued, A::PanicOnPoll) => end(State::PlatformFailed, "activation.pool-panic", phase, 0),
        (P::Running, A::PanicOnPoll) => end(State::PlatformFailed, "activation.backend-panic", phase, 1),
        (P::Disposing, A::PanicOnPoll) => end(State::PlatformFailed, "cell-disposition.release-failed", phase, 1),
    }
}
