//! What a listener allows its peers: bounds and times.
//!
//! Invariant: a value that passed [`ListenerConfig::check`] bounds every buffer, map and wait of a listener.

use std::net::SocketAddr;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// The bounds of one listener. Memory for peers is at most about
/// `connections_max × (http2.connection_window_bytes + header_bytes_max + 64 KiB)`, without what calls hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// Connections at once; 1 to 65,536, default 4,096. Further ones wait unaccepted in the kernel's queue.
    pub connections_max: usize,
    /// Connections of one IP address at once; 1 to `connections_max`, default 2,048. Further ones are closed at once.
    pub connections_per_peer_max: usize,
    /// From a connection's begin to the head of its first request, the TLS handshake included; default 10 s.
    pub first_byte_timeout: Duration,
    /// From the end of an HTTP/1 response to the end of the next head; default 10 s.
    pub header_read_timeout: Duration,
    /// Without any request under way, until the connection is closed; default 10 s.
    pub idle_timeout: Duration,
    /// While a request's body is waited for, [`body_progress_bytes`](Self::body_progress_bytes) have to arrive, or its
    /// end; default 10 s.
    pub body_stall_timeout: Duration,
    /// How many bytes of a body are progress; 1 to 1 MiB, default 8 KiB.
    pub body_progress_bytes: usize,
    /// How long a peer may take nothing of what is written to it; default 20 s.
    pub write_stall_timeout: Duration,
    /// Bytes of a request's head; 8 KiB to 1 MiB, default 32 KiB.
    pub header_bytes_max: usize,
    /// Header fields of a request; 1 to 1,024, default 128.
    pub header_count_max: usize,
    /// What holds for HTTP/2 alone.
    pub http2: Http2Config,
}

/// The bounds of an HTTP/2 connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http2Config {
    /// Requests of one connection at once; 1 to 1,024, default 128.
    pub streams_max: u32,
    /// Bytes of one body that a peer sends ahead of their being read; 64 KiB to 16 MiB, default 256 KiB.
    pub stream_window_bytes: u32,
    /// The same for all bodies of a connection together; 64 KiB to 16 MiB, default 512 KiB.
    pub connection_window_bytes: u32,
    /// Bytes of one frame; 16 KiB to 1 MiB, default 16 KiB.
    pub frame_bytes_max: u32,
    /// Streams that the peer reset before they were served; beyond, the connection is closed. 1 to 1,024, default 20.
    pub pending_resets_max: usize,
    /// Streams that were reset because the peer broke a rule; beyond, the connection is closed. 1 to 1,024, default 64.
    pub error_resets_max: usize,
    /// Bytes of responses that wait in a connection for the peer; 16 KiB to 16 MiB, default 256 KiB for each stream.
    pub send_buffer_bytes: usize,
    /// How often a quiet peer is asked whether it is still there; default 15 s.
    pub ping_interval: Duration,
    /// How long it may take to answer; default 10 s.
    pub ping_timeout: Duration,
}

impl Default for Http2Config {
    fn default() -> Self {
        Self {
            streams_max: 128,
            stream_window_bytes: 256 << 10,
            connection_window_bytes: 512 << 10,
            frame_bytes_max: 16 << 10,
            pending_resets_max: 20,
            error_resets_max: 64,
            send_buffer_bytes: 256 << 10,
            ping_interval: Duration::from_secs(15),
            ping_timeout: Duration::from_secs(10),
        }
    }
}

/// The longest of the times.
const TIME_MAX: Duration = Duration::from_hours(1);

impl ListenerConfig {
    /// The defaults for a listener at `address`.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        let quiet = Duration::from_secs(10);
        Self {
            address,
            connections_max: 4096,
            connections_per_peer_max: 2048,
            first_byte_timeout: quiet,
            header_read_timeout: quiet,
            idle_timeout: quiet,
            body_stall_timeout: quiet,
            body_progress_bytes: 8 << 10,
            write_stall_timeout: quiet * 2,
            header_bytes_max: 32 << 10,
            header_count_max: 128,
            http2: Http2Config::default(),
        }
    }

    /// Whether every setting is within its bounds.
    ///
    /// # Errors
    /// `invalid-argument`, detail `listener.config`, naming the first that is not.
    pub fn check(&self) -> Result<(), PlatformError> {
        let http2 = &self.http2;
        count("connections_max", self.connections_max, 1, 65_536)?;
        count("connections_per_peer_max", self.connections_per_peer_max, 1, self.connections_max)?;
        count("body_progress_bytes", self.body_progress_bytes, 1, 1 << 20)?;
        count("header_bytes_max", self.header_bytes_max, 8 << 10, 1 << 20)?;
        count("header_count_max", self.header_count_max, 1, 1024)?;
        count("http2.streams_max", http2.streams_max as usize, 1, 1024)?;
        count("http2.stream_window_bytes", http2.stream_window_bytes as usize, 64 << 10, 16 << 20)?;
        count("http2.connection_window_bytes", http2.connection_window_bytes as usize, 64 << 10, 16 << 20)?;
        count("http2.frame_bytes_max", http2.frame_bytes_max as usize, 16 << 10, 1 << 20)?;
        count("http2.pending_resets_max", http2.pending_resets_max, 1, 1024)?;
        count("http2.error_resets_max", http2.error_resets_max, 1, 1024)?;
        count("http2.send_buffer_bytes", http2.send_buffer_bytes, 16 << 10, 16 << 20)?;
        time("first_byte_timeout", self.first_byte_timeout)?;
        time("header_read_timeout", self.header_read_timeout)?;
        time("idle_timeout", self.idle_timeout)?;
        time("body_stall_timeout", self.body_stall_timeout)?;
        time("write_stall_timeout", self.write_stall_timeout)?;
        time("http2.ping_interval", http2.ping_interval)?;
        time("http2.ping_timeout", http2.ping_timeout)
    }
}

fn count(setting: &str, found: usize, min: usize, max: usize) -> Result<(), PlatformError> {
    if (min..=max).contains(&found) {
        return Ok(());
    }
    Err(invalid(setting, &found.to_string(), &format!("{min} to {max}")))
}

fn time(setting: &str, found: Duration) -> Result<(), PlatformError> {
    if found > Duration::ZERO && found <= TIME_MAX {
        return Ok(());
    }
    Err(invalid(setting, &format!("{} ms", found.as_millis()), "more than 0, and at most 1 h"))
}

fn invalid(setting: &str, found: &str, expected: &str) -> PlatformError {
    let detail = ErrorDetail::new("listener.config").with("setting", setting).with("found", found);
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        format!("the listener's {setting} is {found}; expected is {expected}"),
    )
    .with_detail(detail.with("expected", expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ListenerConfig {
        ListenerConfig::new(([127, 0, 0, 1], 0).into())
    }

    #[test]
    fn defaults_are_within_their_bounds() {
        config().check().expect("defaults pass");
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_what_is_allowed() {
        let few = ListenerConfig { connections_per_peer_max: 4097, ..config() };
        let error = few.check().expect_err("more for one peer than for all");
        assert_eq!(error.message(), "the listener's connections_per_peer_max is 4097; expected is 1 to 4096");
        assert!(error.has_detail("listener.config"));
        let never = ListenerConfig { idle_timeout: Duration::ZERO, ..config() };
        assert!(never.check().expect_err("zero").message().contains("idle_timeout is 0 ms"));
    }
}
