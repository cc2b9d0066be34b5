//! Times and durations, both ways.
//!
//! Invariant: a moment that a message cannot express becomes the nearest one that it can; one that the node cannot
//! express is refused.

use std::time::{Duration, SystemTime};

use latent_core::PlatformError;
use pbjson_types as pb;

use super::field;

const NANOS_PER_SEC: u32 = 1_000_000_000;
/// The seconds of the years 1 to 9999, which is what a message can express.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// The longest duration that a message can express, in seconds: about 10,000 years.
const SECONDS_MAX: i64 = 315_576_000_000;

/// A wall time as a message has it.
pub(crate) fn timestamp(at: SystemTime) -> pb::Timestamp {
    let (before, distance) = match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (false, after),
        Err(earlier) => (true, earlier.duration()),
    };
    let seconds = i64::try_from(distance.as_secs()).unwrap_or(i64::MAX).min(*SECONDS.end());
    match (before, nanos(distance.subsec_nanos())) {
        (false, nanos) => pb::Timestamp { seconds, nanos },
        (true, 0) => pb::Timestamp { seconds: -seconds, nanos: 0 },
        // Nanoseconds count forward, also before 1970.
        (true, past) => pb::Timestamp { seconds: -seconds - 1, nanos: nanos(NANOS_PER_SEC) - past },
    }
}

/// A duration as a message has it.
pub(crate) fn duration(duration: Duration) -> pb::Duration {
    pb::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).min(SECONDS_MAX),
        nanos: nanos(duration.subsec_nanos()),
    }
}

/// A wall time from a message.
pub(crate) fn system_time(field: &str, at: pb::Timestamp) -> Result<SystemTime, PlatformError> {
    let refused = || field::invalid(field, "a time of the years 1 to 9999, with 0 to 999,999,999 nanos");
    let nanos = u32::try_from(at.nanos).ok().filter(|nanos| *nanos < NANOS_PER_SEC).ok_or_else(refused)?;
    if !SECONDS.contains(&at.seconds) {
        return Err(refused());
    }
    let whole = Duration::from_secs(at.seconds.unsigned_abs());
    let base = SystemTime::UNIX_EPOCH;
    let seconds = if at.seconds < 0 { base.checked_sub(whole) } else { base.checked_add(whole) };
    seconds.and_then(|seconds| seconds.checked_add(Duration::from_nanos(nanos.into()))).ok_or_else(refused)
}

/// A duration from a message: more than zero.
pub(crate) fn positive(field: &str, given: pb::Duration) -> Result<Duration, PlatformError> {
    let duration = non_negative(field, given)?;
    if duration.is_zero() { Err(field::invalid(field, "more than zero")) } else { Ok(duration) }
}

/// A duration from a message.
pub(crate) fn non_negative(field: &str, given: pb::Duration) -> Result<Duration, PlatformError> {
    let seconds = u64::try_from(given.seconds).ok().filter(|_| given.seconds <= SECONDS_MAX);
    let nanos = u32::try_from(given.nanos).ok().filter(|nanos| *nanos < NANOS_PER_SEC);
    match (seconds, nanos) {
        (Some(seconds), Some(nanos)) => Ok(Duration::new(seconds, nanos)),
        _ => Err(field::invalid(field, "a duration of 0 to 315,576,000,000 seconds, with 0 to 999,999,999 nanos")),
    }
}

/// Fewer than 2^31 of them.
fn nanos(nanos: u32) -> i32 {
    i32::try_from(nanos).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: pb::Timestamp = pb::Timestamp { seconds: -2, nanos: 750_000_000 };

    #[test]
    fn times_on_both_sides_of_1970_go_out_and_come_back() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_millis(1_250);
        assert_eq!(timestamp(before), BEFORE);
        assert_eq!(system_time("at", BEFORE), Ok(before));
        let after = SystemTime::UNIX_EPOCH + Duration::new(1_800_000_000, 7);
        assert_eq!(system_time("at", timestamp(after)), Ok(after));
    }

    #[test]
    fn a_time_beyond_the_clock_is_refused_by_its_field() {
        for at in [pb::Timestamp { seconds: i64::MAX, nanos: 0 }, pb::Timestamp { seconds: 0, nanos: -1 }] {
            let error = system_time("deadline", at).unwrap_err();
            assert_eq!(error.details()[0].field("field"), Some("deadline"), "{error}");
        }
    }

    #[test]
    fn a_duration_has_to_be_positive_and_whole() {
        let five = pb::Duration { seconds: 5, nanos: 1 };
        assert_eq!(positive("timeout", five), Ok(Duration::new(5, 1)));
        for (seconds, nanos) in [(0, 0), (-1, 0), (1, -1), (1, 1_000_000_000)] {
            let error = positive("timeout", pb::Duration { seconds, nanos }).unwrap_err();
            assert!(error.has_detail("api.field"), "{error}");
        }
    }
}
