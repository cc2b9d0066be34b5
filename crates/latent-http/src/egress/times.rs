//! When each phase of a request has to be over.
//!
//! Invariant: no phase is longer than the node allows, and none ends after the whole.

use std::time::Duration;

use latent_executor::OutgoingRequest;
use tokio::time::Instant;

use super::config::EgressConfig;

/// The times of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) connect_end: Instant,
    pub(super) first_byte: Duration,
    pub(super) between_bytes: Duration,
    pub(super) end: Instant,
}

impl Times {
    /// The lower of what the node allows and the guest wants, from `now` on.
    pub(super) fn new(config: &EgressConfig, outgoing: &OutgoingRequest, now: Instant) -> Self {
        let lower = |node: Duration, guest: Option<Duration>| guest.map_or(node, |guest| guest.min(node));
        let connect = lower(config.connect_timeout, outgoing.connect_timeout);
        Self {
            connect_end: now + connect.min(config.total_timeout),
            first_byte: lower(config.first_byte_timeout, outgoing.first_byte_timeout),
            between_bytes: lower(config.between_bytes_timeout, outgoing.between_bytes_timeout),
            end: now + config.total_timeout,
        }
    }
}
