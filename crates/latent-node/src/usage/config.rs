//! The bounds of a usage log. Invariant: what passes [`UsageLogConfig::check`] can hold a line.

use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use super::line::LINE_BYTES_MAX;

/// The bounds of a usage log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLogConfig {
    /// Ends that may wait for the writer, about half a KiB each. Beyond it they are dropped and counted. 1 to 1,048,576;
    /// default 4096.
    pub queue_max: usize,
    /// Bytes of a file, after which the next is begun. At least 64 KiB; default 64 MiB.
    pub file_bytes_max: u64,
    /// Files; the oldest is deleted. 2 to 100,000; default 16.
    pub files_max: usize,
    /// How long the writer waits after it has been idle or has failed, so that lines are written many at a time. Above
    /// zero; default 50 milliseconds.
    pub linger: Duration,
}

impl Default for UsageLogConfig {
    fn default() -> Self {
        Self { queue_max: 4096, file_bytes_max: 64 << 20, files_max: 16, linger: Duration::from_millis(50) }
    }
}

impl UsageLogConfig {
    pub(super) fn check(&self) -> Result<(), PlatformError> {
        let linger_ms = u64::from(!self.linger.is_zero());
        let rules = [
            ("queue_max", self.queue_max as u64, 1, 1 << 20),
            ("file_bytes_max", self.file_bytes_max, LINE_BYTES_MAX as u64, u64::MAX),
            ("files_max", self.files_max as u64, 2, 100_000),
            ("linger", linger_ms, 1, u64::MAX),
        ];
        for (setting, value, min, max) in rules {
            if !(min..=max).contains(&value) {
                let message = format_args!("{setting} of the usage log is {value}; it has to be from {min} to {max}");
                let detail = ErrorDetail::new("usage.config").with("setting", setting);
                return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail));
            }
        }
        Ok(())
    }
}
