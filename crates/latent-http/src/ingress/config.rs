//! What the ingress allows clients and guests: bounds and times.

use std::time::Duration;

use http::uri::Scheme;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// How clients reach the listener: what the URI of a request says, whatever the client wrote there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListenerScheme {
    /// Without TLS.
    #[default]
    Http,
    /// With TLS, here or at a proxy before the node.
    Https,
}

impl ListenerScheme {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(super) fn scheme(self) -> Scheme {
        match self {
            Self::Http => Scheme::HTTP,
            Self::Https => Scheme::HTTPS,
        }
    }

    /// The port that an authority has that names none.
    pub(super) const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// What becomes of the headers in which proxies say for whom they ask: `forwarded`, `x-forwarded-for`, `-host`, `-port` and
/// `-proto`, and `x-real-ip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forwarded {
    /// Those of the client are removed; the guest gets its address as `x-forwarded-for` and the listener's scheme as
    /// `x-forwarded-proto`.
    #[default]
    Replace,
    /// Every client is a proxy that is trusted: they stay, the client's address is added to `x-forwarded-for`, and
    /// `x-forwarded-proto` is set where it is missing.
    Append,
}

/// The bounds of the ingress; those of connections are the listener's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressConfig {
    /// How clients reach the listener; default without TLS.
    pub scheme: ListenerScheme,
    /// Bytes of the body of one request; 0 to 1 TiB, default 64 MiB. It is streamed: nobody holds it whole.
    pub request_body_bytes_max: u64,
    /// Bytes of the body of one response; 0 to 1 TiB, default 1 GiB. Beyond, the guest is stopped and the response is cut.
    pub response_body_bytes_max: u64,
    /// How long a guest may wait for the readers of its response, in all; more than 0, at most a day, default 10 s. Then it
    /// is stopped and the response is cut, so that a slow reader holds no cell.
    pub reader_wait: Duration,
    /// The longest `latent-timeout` that counts; a longer one counts as this. More than 0, at most a day, default one hour.
    pub timeout_max: Duration,
    /// Whether clients are proxies that are believed; default not.
    pub forwarded: Forwarded,
}

/// The largest of the bounds of bodies: 1 TiB.
const BODY_BYTES_MAX: u64 = 1 << 40;

impl Default for IngressConfig {
    fn default() -> Self {
        Self {
            scheme: ListenerScheme::default(),
            request_body_bytes_max: 64 << 20,
            response_body_bytes_max: 1 << 30,
            reader_wait: Duration::from_secs(10),
            timeout_max: Duration::from_hours(1),
            forwarded: Forwarded::default(),
        }
    }
}

impl IngressConfig {
    /// The longest of the times: a day.
    pub const TIME_MAX: Duration = Duration::from_hours(24);

    /// Whether every setting is within its bounds.
    ///
    /// # Errors
    /// `invalid-argument`, detail `http.config`, naming the first that is not.
    pub fn check(&self) -> Result<(), PlatformError> {
        bytes("request_body_bytes_max", self.request_body_bytes_max)?;
        bytes("response_body_bytes_max", self.response_body_bytes_max)?;
        time("reader_wait", self.reader_wait)?;
        time("timeout_max", self.timeout_max)
    }
}

fn bytes(setting: &str, found: u64) -> Result<(), PlatformError> {
    if found <= BODY_BYTES_MAX {
        return Ok(());
    }
    Err(invalid(setting, &format!("{found} bytes"), "at most 1 TiB"))
}

fn time(setting: &str, found: Duration) -> Result<(), PlatformError> {
    if !found.is_zero() && found <= IngressConfig::TIME_MAX {
        return Ok(());
    }
    Err(invalid(setting, &format!("{} ms", found.as_millis()), "more than 0, and at most a day"))
}

fn invalid(setting: &str, found: &str, expected: &str) -> PlatformError {
    let message = format_args!("the HTTP setting {setting} is {found}; expected is {expected}");
    let detail = ErrorDetail::new("http.config").with("setting", setting).with("found", found);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail.with("expected", expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_bounds() {
        IngressConfig::default().check().expect("defaults pass");
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_what_is_allowed() {
        for (config, setting) in [
            (IngressConfig { request_body_bytes_max: (1 << 40) + 1, ..Default::default() }, "request_body_bytes_max"),
            (IngressConfig { response_body_bytes_max: u64::MAX, ..Default::default() }, "response_body_bytes_max"),
            (IngressConfig { reader_wait: Duration::ZERO, ..Default::default() }, "reader_wait"),
            (IngressConfig { timeout_max: Duration::MAX, ..Default::default() }, "timeout_max"),
        ] {
            let error = config.check().expect_err(setting);
            assert_eq!(error.details()[0].field("setting"), Some(setting));
            assert!(error.has_detail("http.config") && error.message().contains("expected is"), "{error:?}");
        }
    }
}
