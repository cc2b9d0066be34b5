//! What a fake backend is told to do, in the order in which an activation meets it.

use latent_core::{ExecutionOutcome, PlatformError};

use super::{FakeHandler, Gate};

/// What each preparation does, once the repository answered.
#[derive(Debug, Clone, Default)]
pub enum FakePreparation {
    /// Answers with the code.
    #[default]
    Ready,
    /// Answers with this error.
    Fail(PlatformError),
    /// Panics when it is asked for, before a future exists.
    Panic,
    /// Panics when it is polled.
    PanicOnPoll,
    /// Opens `entered`, waits until `leave` is open, then goes on with `then`.
    Gated {
        /// Opened on entry.
        entered: Gate,
        /// Waited for.
        leave: Gate,
        /// What follows. A [`FakePreparation::Panic`] comes too late for the call and happens in the poll.
        then: Box<FakePreparation>,
    },
    /// Never answers.
    Hang,
    /// Never answers; its future panics when it is dropped.
    PanicOnDrop,
}

/// What each materialization does.
#[derive(Debug, Clone, Default)]
pub enum FakeMaterialization {
    /// Takes a permit, if there is one.
    #[default]
    Ready,
    /// Answers with this error.
    Fail(PlatformError),
    /// Panics.
    Panic,
}

/// What a scripted function does.
#[derive(Debug, Clone)]
pub enum FakeStep {
    /// Answers with the request's own payload.
    Echo,
    /// Answers with this outcome and a proof.
    End(ExecutionOutcome),
    /// Answers with this outcome and no proof.
    EndUnproven(ExecutionOutcome),
    /// Runs until the cancellation stops it.
    Spin,
    /// Never answers, whatever the cancellation says.
    Hang,
    /// Panics inside the backend.
    Panic,
    /// Panics when it is asked for, before a future exists. Behind another step it comes too late for that and happens
    /// in the poll.
    PanicOnCall,
    /// Never answers; its future panics when it is dropped.
    PanicOnDrop,
    /// Pends so many polls, each of which wakes its task again, then goes on with `then`.
    Yield {
        /// How many.
        polls: u32,
        /// What follows.
        then: Box<FakeStep>,
    },
    /// Charges the ledger, then goes on with `then`.
    Use {
        /// Fuel burnt in all.
        fuel: u64,
        /// Bytes of linear memory held at once.
        memory_bytes: u64,
        /// Bytes of log; beyond the grant they are refused whole, as a record would be.
        log_bytes: u64,
        /// What follows.
        then: Box<FakeStep>,
    },
    /// Opens `entered`, waits until `leave` is open whatever the cancellation says, then goes on with `then`.
    Gated {
        /// Opened on entry.
        entered: Gate,
        /// Waited for.
        leave: Gate,
        /// What follows.
        then: Box<FakeStep>,
    },
    /// Handles the HTTP request; a call that came without one fails.
    Handle(FakeHandler),
}
