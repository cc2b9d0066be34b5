//! How times, digests and quantities of the wire are shown. Pure.

use std::fmt;
use std::time::{Duration, SystemTime};

use latent_wire::client::NodeError;
use latent_wire::client::times::{WireDuration, WireTimestamp, from_duration, from_timestamp};
use latent_wire::proto::{Consumption, Error};
use serde::Serialize;

use crate::errors::ErrorText;
use crate::printable::Printable;
use crate::quantities::{Size, Span};

/// When the year 10000 begins, in seconds after the year 1970 did.
const YEAR_10000_SECS: u64 = 253_402_300_800;
/// How much of a digest tells it from others at a glance.
const SHORT_DIGITS: usize = 12;

/// A wall time in UTC to the millisecond; nothing for none.
pub fn time(wire: Option<&WireTimestamp>) -> String {
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(YEAR_10000_SECS - 1);
    let time = wire.and_then(from_timestamp).map(|time| time.min(last));
    time.map(|time| humantime::format_rfc3339_millis(time).to_string()).unwrap_or_default()
}

/// A duration in the unit that fits; nothing for none.
pub fn span(wire: Option<&WireDuration>) -> String {
    wire.map(|wire| Span(from_duration(wire)).to_string()).unwrap_or_default()
}

/// The beginning of a digest.
pub fn short(digest: &str) -> String {
    digest.trim_start_matches("sha256:").chars().take(SHORT_DIGITS).collect()
}

/// A size; nothing for none.
pub fn size(bytes: Option<u64>) -> String {
    bytes.map(|bytes| Size(bytes).to_string()).unwrap_or_default()
}

/// A number; nothing for none.
pub fn number(count: Option<impl ToString>) -> String {
    count.map(|count| count.to_string()).unwrap_or_default()
}

/// An error of the node, in one line; one that this program does not know is shown as it came.
pub fn error(message: &Error) -> String {
    match NodeError::of(message.clone()) {
        Some(node) => ErrorText(&node.error).to_string(),
        None => format!("{}: {}", Printable(&message.code), Printable(&message.message)),
    }
}

/// What an activation used, in one line.
pub fn used(consumption: &Consumption) -> String {
    let time = consumption.wall_time.as_ref().map(from_duration).unwrap_or_default();
    let requests = Requests(consumption.outbound_requests);
    format!(
        "time {}, fuel {}, peak memory {}{requests}",
        Span(time),
        consumption.fuel,
        Size(consumption.peak_memory_bytes)
    )
}

/// How many HTTP requests a guest made, behind what else it used; nothing of none.
pub struct Requests(pub u64);

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, ", outgoing requests {}", self.0) }
    }
}

/// What an activation used, as `latent run` has it in JSON.
#[derive(Debug, Serialize)]
pub struct Used {
    fuel: u64,
    peak_memory_bytes: u64,
    wall_time_micros: u64,
    log_bytes: u64,
    outbound_requests: u64,
}

impl Used {
    /// The object of `consumption`.
    pub fn of(consumption: &Consumption) -> Self {
        let time = consumption.wall_time.as_ref().map(from_duration).unwrap_or_default();
        Self {
            fuel: consumption.fuel,
            peak_memory_bytes: consumption.peak_memory_bytes,
            wall_time_micros: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            log_bytes: consumption.log_bytes,
            outbound_requests: consumption.outbound_requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::client::times::to_duration;

    #[test]
    fn times_are_in_utc_and_absurd_ones_are_shown_without_harm() {
        let at = |seconds, nanos| time(Some(&WireTimestamp { seconds, nanos }));
        assert_eq!(at(0, 5_000_000), "1970-01-01T00:00:00.005Z");
        assert_eq!(at(i64::from(u32::MAX) * 1000, 0), "9999-12-31T23:59:59.000Z");
        assert_eq!(at(i64::MAX, 0), "9999-12-31T23:59:59.000Z");
        assert_eq!((at(-1, 0), time(None)), (String::new(), String::new()));
    }

    #[test]
    fn digests_are_cut_to_what_tells_them_apart() {
        assert_eq!(short("sha256:0123456789abcdef"), "0123456789ab");
        assert_eq!(short("é"), "é");
    }

    #[test]
    fn consumption_is_one_line_and_one_object() {
        let consumption = Consumption {
            fuel: 7,
            peak_memory_bytes: 1 << 20,
            wall_time: Some(to_duration(Duration::from_micros(412))),
            log_bytes: 3,
            outbound_requests: 0,
        };
        assert_eq!(used(&consumption), "time 412.0µs, fuel 7, peak memory 1.0 MiB");
        let object = serde_json::to_string(&Used::of(&consumption)).unwrap();
        assert_eq!(
            object,
            r#"{"fuel":7,"peak_memory_bytes":1048576,"wall_time_micros":412,"log_bytes":3,"outbound_requests":0}"#
        );
        let asking = Consumption { outbound_requests: 2, ..consumption };
        assert!(used(&asking).ends_with("peak memory 1.0 MiB, outgoing requests 2"), "{}", used(&asking));
    }

    #[test]
    fn an_error_that_is_not_known_is_shown_as_it_came() {
        let message = Error { code: "moon-\u{1b}phase".to_owned(), message: "full".to_owned(), ..Default::default() };
        assert_eq!(error(&message), "moon-\\u{1b}phase: full");
    }
}
