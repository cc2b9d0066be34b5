//! What requests of guests may take of a node: bounds and times.
//!
//! Invariant: a value that passed [`EgressConfig::check`] bounds every connection, buffer and wait.

use std::path::PathBuf;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// The bounds of outgoing requests. Memory for them is at most about
/// `connections_per_node × (response_head_bytes_max + request_head_bytes_max + 640 KiB)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressConfig {
    /// Requests of all guests that have or wait for a connection at once; 1 to 65,536, default 512. Further ones are
    /// refused.
    pub connections_per_node: usize,
    /// The same for one tenant; 1 to `connections_per_node`, default 64.
    pub connections_per_tenant: usize,
    /// Names whose addresses are asked for at once; 1 to 256, default 64. Further requests are refused. The system's
    /// resolver takes a thread for each, also for one that was given up.
    pub lookups_per_node: usize,
    /// The same for one tenant; 1 to `lookups_per_node`, default 16.
    pub lookups_per_tenant: usize,
    /// From a request's begin to a connection: address, connection and TLS together; default 10 s. As all times: more
    /// than 0, at most 1 h, and where the guest wants less, that.
    pub connect_timeout: Duration,
    /// From the last piece of the request that went out to the head of the response; default 30 s.
    pub first_byte_timeout: Duration,
    /// How long a reader of the response's body waits for a piece; default 30 s.
    pub between_bytes_timeout: Duration,
    /// From a request's begin to the end of the response's body; default 5 min. The connection is closed then, whether
    /// the guest reads or not.
    pub total_timeout: Duration,
    /// Bytes of a request's method, URI and header fields; 1 KiB to 1 MiB, default 64 KiB.
    pub request_head_bytes_max: usize,
    /// Bytes of a request's body; at most 1 TiB, default 64 MiB.
    pub request_body_bytes_max: u64,
    /// Bytes of a response's head; 8 KiB to 1 MiB, default 64 KiB.
    pub response_head_bytes_max: usize,
    /// Header fields of a response; 1 to 1,024, default 128.
    pub response_headers_max: usize,
    /// Bytes of a response's body; at most 1 TiB, default 64 MiB.
    pub response_body_bytes_max: u64,
    /// Certificates of authorities that are trusted besides the system's: PEM, at most 1 MiB. Default none.
    pub ca_file: Option<PathBuf>,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            connections_per_node: 512,
            connections_per_tenant: 64,
            lookups_per_node: 64,
            lookups_per_tenant: 16,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            between_bytes_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(5),
            request_head_bytes_max: 64 << 10,
            request_body_bytes_max: 64 << 20,
            response_head_bytes_max: 64 << 10,
            response_headers_max: 128,
            response_body_bytes_max: 64 << 20,
            ca_file: None,
        }
    }
}

/// The longest of the times.
const TIME_MAX: Duration = Duration::from_hours(1);
/// The largest body.
const BODY_BYTES_MAX: u64 = 1 << 40;

impl EgressConfig {
    /// Whether every setting is within its bounds.
    ///
    /// # Errors
    /// `invalid-argument`, detail `egress.config`, naming the first that is not.
    pub fn check(&self) -> Result<(), PlatformError> {
        count("connections_per_node", self.connections_per_node, 1, 65_536)?;
        count("connections_per_tenant", self.connections_per_tenant, 1, self.connections_per_node)?;
        count("lookups_per_node", self.lookups_per_node, 1, 256)?;
        count("lookups_per_tenant", self.lookups_per_tenant, 1, self.lookups_per_node)?;
        time("connect_timeout", self.connect_timeout)?;
        time("first_byte_timeout", self.first_byte_timeout)?;
        time("between_bytes_timeout", self.between_bytes_timeout)?;
        time("total_timeout", self.total_timeout)?;
        count("request_head_bytes_max", self.request_head_bytes_max, 1 << 10, 1 << 20)?;
        body("request_body_bytes_max", self.request_body_bytes_max)?;
        count("response_head_bytes_max", self.response_head_bytes_max, 8 << 10, 1 << 20)?;
        count("response_headers_max", self.response_headers_max, 1, 1024)?;
        body("response_body_bytes_max", self.response_body_bytes_max)
    }
}

fn count(setting: &str, found: usize, min: usize, max: usize) -> Result<(), PlatformError> {
    let expected = || format!("{min} to {max}");
    if (min..=max).contains(&found) { Ok(()) } else { Err(invalid(setting, &found.to_string(), &expected())) }
}

fn body(setting: &str, found: u64) -> Result<(), PlatformError> {
    if found <= BODY_BYTES_MAX {
        return Ok(());
    }
    Err(invalid(setting, &found.to_string(), &format!("at most {BODY_BYTES_MAX}")))
}

fn time(setting: &str, found: Duration) -> Result<(), PlatformError> {
    if !found.is_zero() && found <= TIME_MAX {
        return Ok(());
    }
    Err(invalid(setting, &format!("{} ms", found.as_millis()), "more than 0, and at most 1 h"))
}

fn invalid(setting: &str, found: &str, expected: &str) -> PlatformError {
    let message = format!("the setting {setting} of outgoing HTTP is {found}; expected is {expected}");
    let detail = ErrorDetail::new("egress.config").with("setting", setting).with("found", found);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail.with("expected", expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_bounds() {
        EgressConfig::default().check().expect("defaults pass");
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_what_is_allowed() {
        let default = EgressConfig::default;
        for (setting, config) in [
            ("connections_per_node", EgressConfig { connections_per_node: 0, ..default() }),
            ("connections_per_tenant", EgressConfig { connections_per_tenant: 513, ..default() }),
            ("lookups_per_node", EgressConfig { lookups_per_node: 257, ..default() }),
            ("lookups_per_tenant", EgressConfig { lookups_per_tenant: 65, ..default() }),
            ("connect_timeout", EgressConfig { connect_timeout: Duration::ZERO, ..default() }),
            ("first_byte_timeout", EgressConfig { first_byte_timeout: Duration::from_secs(3601), ..default() }),
            ("between_bytes_timeout", EgressConfig { between_bytes_timeout: Duration::ZERO, ..default() }),
            ("total_timeout", EgressConfig { total_timeout: Duration::ZERO, ..default() }),
            ("request_head_bytes_max", EgressConfig { request_head_bytes_max: 1023, ..default() }),
            ("request_body_bytes_max", EgressConfig { request_body_bytes_max: (1 << 40) + 1, ..default() }),
            ("response_head_bytes_max", EgressConfig { response_head_bytes_max: 8191, ..default() }),
            ("response_headers_max", EgressConfig { response_headers_max: 1025, ..default() }),
            ("response_body_bytes_max", EgressConfig { response_body_bytes_max: (1 << 40) + 1, ..default() }),
        ] {
            let error = config.check().expect_err(setting);
            assert!(error.message().contains(&format!("setting {setting} of")), "{}", error.message());
            assert!(error.has_detail("egress.config"));
        }
    }
}
