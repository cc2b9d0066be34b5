//! `latent usage`: what activations used.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use clap::Args;
use latent_core::{SystemWallClock, WallClock as _};
use latent_wire::client::times::to_timestamp;
use latent_wire::proto::{GetUsageRequest, UsageSum};

use super::finding::NodeArgs;
use super::session::{Ended, Session};
use super::shown;
use super::table::Table;
use crate::ending::Exit;
use crate::quantities::{Size, parse_duration};
use crate::terminal::warn;

pub const EXAMPLES: &str = "\
JSON output: one line {sums [{tenant, service, activations, ended {state: count}, limited {limit: count}, fuel,
wall_time, peak_memory_bytes, log_bytes, outbound_requests, bytes_in, bytes_out}], dropped}. A key that is absent is
0 or empty; 64-bit numbers are strings.

Examples:
  latent usage --since 1h
  latent usage --tenant acme --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --output json";

/// What `latent usage` takes.
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Of this tenant alone [default: one's own; with role operate, all]
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Of activations that ended at this time or later: RFC 3339, or how long ago [default: as far as the log reaches]
    #[arg(long, value_name = "TIME|DURATION", value_parser = Moment::parse)]
    since: Option<Moment>,
    /// Of activations that ended before this time: RFC 3339, or how long ago [default: now]
    #[arg(long, value_name = "TIME|DURATION", value_parser = Moment::parse)]
    until: Option<Moment>,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// A time, or how long ago it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    At(SystemTime),
    Ago(Duration),
}

impl Moment {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = humantime::parse_rfc3339_weak(text) {
            return Ok(Self::At(at));
        }
        parse_duration(text).map(Self::Ago).map_err(|_neither| {
            "expected a time such as 2026-11-30T08:00:00Z, or a duration such as 90m or 7d".to_owned()
        })
    }

    /// The time; what is longer ago than the year 1970 is that.
    fn at(self, now: SystemTime) -> SystemTime {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => now.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH).max(SystemTime::UNIX_EPOCH),
        }
    }
}

/// Prints the sums.
pub async fn run(args: &UsageArgs, session: &Session) -> Result<Exit, Ended> {
    let now = SystemWallClock.now();
    let wire = |moment: Option<Moment>| moment.map(|moment| to_timestamp(moment.at(now)));
    let request = GetUsageRequest {
        tenant: args.tenant.clone().unwrap_or_default(),
        since: wire(args.since),
        until: wire(args.until),
    };
    let answer = session.client.get_usage(request).await.map_err(|error| session.ended(error))?;
    session.print(&answer, || table(&answer.sums).to_string())?;
    if answer.dropped > 0 {
        warn(&format!(
            "the log could not take {} activations since the node started; the sums are without them",
            answer.dropped
        ));
    }
    Ok(Exit::Success)
}

/// A table of sums; with the requests that guests made where there were any.
fn table(sums: &[UsageSum]) -> Table {
    let asked = sums.iter().any(|sum| sum.outbound_requests > 0);
    let head = ["TENANT", "SERVICE", "ACTIVATIONS", "ENDED", "LIMITED", "FUEL", "TIME", "PEAK", "IN", "OUT", "LOGS"];
    let head: Vec<&str> = head.into_iter().chain(asked.then_some("REQUESTS")).collect();
    let mut table = Table::new(&head);
    for sum in sums {
        let cells = [
            sum.tenant.clone(),
            sum.service.clone(),
            sum.activations.to_string(),
            counts(&sum.ended),
            counts(&sum.limited),
            sum.fuel.to_string(),
            shown::span(sum.wall_time.as_ref()),
            Size(sum.peak_memory_bytes).to_string(),
            Size(sum.bytes_in).to_string(),
            Size(sum.bytes_out).to_string(),
            Size(sum.log_bytes).to_string(),
        ];
        table.row(cells.into_iter().chain(asked.then(|| sum.outbound_requests.to_string())));
    }
    table
}

/// `completed 3, cancelled 1`, the most frequent first.
fn counts(counts: &HashMap<String, u64>) -> String {
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by(|(one, n), (other, m)| m.cmp(n).then(one.cmp(other)));
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_how_long_ago_it_was() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(10);
        assert_eq!(Moment::parse("1h").unwrap().at(now), SystemTime::UNIX_EPOCH + Duration::from_hours(9));
        let at = Moment::parse("1970-01-01T09:00:00Z").unwrap();
        assert_eq!(at.at(now), SystemTime::UNIX_EPOCH + Duration::from_hours(9));
        assert_eq!(Moment::parse("1000000years").unwrap().at(now), SystemTime::UNIX_EPOCH);
        for bad in ["", "yesterday", "12", "2026-13-01T00:00:00Z"] {
            assert!(Moment::parse(bad).unwrap_err().contains("90m"), "{bad}");
        }
    }

    #[test]
    fn sums_are_told_with_how_activations_ended() {
        let ended =
            HashMap::from([("completed".to_owned(), 3), ("cancelled".to_owned(), 1), ("guest-trap".to_owned(), 1)]);
        assert_eq!(counts(&ended), "completed 3, cancelled 1, guest-trap 1");
        let sum =
            UsageSum { tenant: "t".to_owned(), service: "s".to_owned(), activations: 5, ended, ..Default::default() };
        let asking = UsageSum { outbound_requests: 7, ..sum.clone() };
        let text = table(&[sum.clone(), asking]).to_string();
        assert!(
            text.starts_with("TENANT  SERVICE") && text.contains("LOGS  REQUESTS\n") && text.ends_with("  7\n"),
            "{text}"
        );
        let text = table(&[sum]).to_string();
        assert!(!text.contains("REQUESTS"), "{text}");
        assert!(text.lines().last().unwrap().starts_with("t       s        5            completed 3, "), "{text}");
    }
}
