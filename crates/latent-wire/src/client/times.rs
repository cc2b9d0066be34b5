//! Times of the wire and times of the machine. What the one cannot express is the nearest that it can.

use std::time::{Duration, SystemTime};

/// A duration of the wire.
pub type WireDuration = pbjson_types::Duration;
/// A wall time of the wire.
pub type WireTimestamp = pbjson_types::Timestamp;

/// The most nanoseconds below a second.
const NANOS_MAX: u32 = 999_999_999;

/// `time` as the wire has it.
#[must_use]
pub fn to_duration(time: Duration) -> WireDuration {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    WireDuration { seconds, nanos: i32::try_from(time.subsec_nanos()).unwrap_or_default() }
}

/// The time in `wire`; a negative one is zero.
#[must_use]
pub fn from_duration(wire: &WireDuration) -> Duration {
    match u64::try_from(wire.seconds) {
        Ok(seconds) => Duration::new(seconds, nanos(wire.nanos)),
        Err(_negative) => Duration::ZERO,
    }
}

/// `time` as the wire has it; one before the year 1970 is its begin.
#[must_use]
pub fn to_timestamp(time: SystemTime) -> WireTimestamp {
    let since = to_duration(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    WireTimestamp { seconds: since.seconds, nanos: since.nanos }
}

/// The time in `wire`; `None` before the year 1970 and where the machine cannot express it.
#[must_use]
pub fn from_timestamp(wire: &WireTimestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(wire.seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos(wire.nanos)))
}

fn nanos(wire: i32) -> u32 {
    u32::try_from(wire).unwrap_or_default().min(NANOS_MAX)
}
