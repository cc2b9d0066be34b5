//! What a node is doing, as one byte that every activation looks at.
//!
//! Invariant: a node that is told to stop, or that fails, never takes an activation again.

use std::sync::atomic::{AtomicU8, Ordering};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use super::NodeState;

/// Whether the node has been told to stop: a bit beside its state.
const STOPPING: u8 = 0x80;

const STATES: [NodeState; 5] =
    [NodeState::Starting, NodeState::Ready, NodeState::Draining, NodeState::Drained, NodeState::Failing];

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Started,
    Drain,
    Emptied,
    Resume,
    Stop,
    Fail,
}

/// The state of a node. It begins as [`NodeState::Starting`].
#[derive(Debug, Default)]
pub struct NodeLifecycle(AtomicU8);

impl NodeLifecycle {
    /// A node that starts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the node is doing. One atomic load.
    #[must_use]
    pub fn state(&self) -> NodeState {
        state_of(self.0.load(Ordering::Acquire))
    }

    /// Whether it has been told to stop, or fails.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.load(Ordering::Acquire) & STOPPING != 0
    }

    /// Whether a new activation may begin. One atomic load.
    ///
    /// # Errors
    /// Retryable `unavailable`, detail `activation.shutting-down` with `state`.
    pub fn admits(&self) -> Result<(), PlatformError> {
        match self.state() {
            NodeState::Ready => Ok(()),
            state => Err(refused(state)),
        }
    }

    /// The node listens: it is ready, unless it has been told otherwise meanwhile. Whether it is.
    pub fn started(&self) -> bool {
        self.happen(Event::Started) == NodeState::Ready
    }

    /// It takes no activation any more.
    pub fn drain(&self) {
        self.happen(Event::Drain);
    }

    /// Nothing is under way any more.
    pub fn emptied(&self) {
        self.happen(Event::Emptied);
    }

    /// It takes activations again.
    ///
    /// # Errors
    /// `state-conflict`, detail `node.state` with `state`, when it is starting, stopping or failing.
    pub fn resume(&self) -> Result<(), PlatformError> {
        let state = self.happen(Event::Resume);
        if state == NodeState::Ready { Ok(()) } else { Err(not_resumed(state)) }
    }

    /// It takes no activation any more, for good.
    pub fn stop(&self) {
        self.happen(Event::Stop);
    }

    /// It cannot go on. Whether this is news.
    pub fn fail(&self) -> bool {
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |byte| Some(next(byte, Event::Fail)));
        before.is_ok_and(|before| state_of(before) != NodeState::Failing)
    }

    /// The state after `event`.
    fn happen(&self, event: Event) -> NodeState {
        let mut byte = self.0.load(Ordering::Acquire);
        loop {
            let after = next(byte, event);
            match self.0.compare_exchange_weak(byte, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return state_of(after),
                Err(found) => byte = found,
            }
        }
    }
}

fn state_of(byte: u8) -> NodeState {
    STATES.get(usize::from(byte & !STOPPING)).copied().unwrap_or(NodeState::Failing)
}

/// The byte after `event`; the same where the event means nothing.
fn next(byte: u8, event: Event) -> u8 {
    let is_stopping = byte & STOPPING != 0;
    match (state_of(byte), event) {
        (_, Event::Fail) => NodeState::Failing as u8 | STOPPING,
        (NodeState::Failing, _) => byte,
        (NodeState::Starting, Event::Started) => NodeState::Ready as u8,
        (NodeState::Draining | NodeState::Drained, Event::Resume) if !is_stopping => NodeState::Ready as u8,
        (NodeState::Ready, Event::Drain) => NodeState::Draining as u8,
        (NodeState::Draining, Event::Emptied) => NodeState::Drained as u8 | byte & STOPPING,
        (NodeState::Starting | NodeState::Ready, Event::Stop) => NodeState::Draining as u8 | STOPPING,
        (_, Event::Stop) => byte | STOPPING,
        _ => byte,
    }
}

fn refused(state: NodeState) -> PlatformError {
    let message = format_args!("the node is {}; try again later or on another node", state.as_str());
    let detail = ErrorDetail::new("activation.shutting-down").with("state", state.as_str());
    PlatformError::new(PlatformErrorCode::Unavailable, message).with_detail(detail).retryable()
}

fn not_resumed(state: NodeState) -> PlatformError {
    let message = format_args!("the node is {} and does not take activations again; restart it", state.as_str());
    let detail = ErrorDetail::new("node.state").with("state", state.as_str());
    PlatformError::new(PlatformErrorCode::StateConflict, message).with_detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> NodeLifecycle {
        let node = NodeLifecycle::new();
        assert!(node.started());
        node
    }

    #[test]
    fn only_a_ready_node_takes_activations() {
        let node = NodeLifecycle::new();
        let refusal = node.admits().unwrap_err();
        assert!(refusal.is_retryable() && refusal.has_detail("activation.shutting-down"), "{refusal:?}");
        assert!(node.started());
        node.admits().unwrap();
        node.drain();
        assert!(node.admits().unwrap_err().message().contains("draining"));
        node.emptied();
        assert!(node.admits().unwrap_err().message().contains("drained"));
        node.resume().unwrap();
        node.admits().unwrap();
    }

    #[test]
    fn a_node_that_is_told_to_stop_stays_stopped() {
        let node = ready();
        node.stop();
        assert_eq!((node.state(), node.is_stopping()), (NodeState::Draining, true));
        let conflict = node.resume().unwrap_err();
        assert_eq!(conflict.code(), PlatformErrorCode::StateConflict);
        node.emptied();
        assert_eq!((node.state(), node.is_stopping()), (NodeState::Drained, true));
        assert!(node.resume().is_err() && !node.started());
    }

    #[test]
    fn a_stop_before_the_start_is_over_wins() {
        let node = NodeLifecycle::new();
        node.stop();
        assert!(!node.started());
        assert_eq!(node.state(), NodeState::Draining);
    }

    #[test]
    fn a_drained_node_that_is_told_to_stop_does_not_resume() {
        let node = ready();
        node.drain();
        node.emptied();
        node.stop();
        assert!(node.resume().is_err());
        assert_eq!(node.state(), NodeState::Drained);
    }

    #[test]
    fn failing_is_news_once_and_final() {
        let node = ready();
        assert!(node.fail() && !node.fail());
        for event in [Event::Started, Event::Drain, Event::Emptied, Event::Resume, Event::Stop] {
            assert_eq!(node.happen(event), NodeState::Failing, "{event:?}");
        }
        assert!(node.is_stopping() && node.admits().is_err());
    }

    #[test]
    fn a_starting_node_is_neither_drained_nor_resumed() {
        let node = NodeLifecycle::new();
        node.drain();
        assert!(node.resume().is_err());
        assert_eq!(node.state(), NodeState::Starting);
    }

    #[test]
    fn every_state_has_its_place() {
        for state in STATES {
            assert_eq!(state_of(state as u8), state);
            assert_eq!(state_of(state as u8 | STOPPING), state);
        }
    }
}
