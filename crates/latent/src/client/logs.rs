//! `latent logs`: what guests wrote.

use std::fmt::Write as _;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use latent_wire::proto::{FollowLogsRequest, GetLogsRequest, LogRecord};

use super::finding::NodeArgs;
use super::session::{Ended, Session};
use super::shown;
use crate::ending::{Exit, Failure};
use crate::printable::{Printable, Quotable};
use crate::terminal::warn;

/// The most records that a node gives a follower at first.
const TAIL_MAX: u64 = 1000;

pub const EXAMPLES: &str = "\
JSON output: one record a line {activation_id, service, at, level, message, fields [{name, value}], missed}. A key
that is absent is 0, false or empty.

Examples:
  latent logs order-4711
  latent logs --service text-stats --tail 100
  latent logs --service text-stats --follow
  latent logs --follow --tail 100 --output json";

/// What `latent logs` takes.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The activation whose records to print, oldest first
    #[arg(value_name = "ACTIVATION", required_unless_present_any = ["follow", "tail"])]
    #[arg(conflicts_with_all = ["service", "follow", "tail"])]
    activation: Option<String>,
    /// Print the records of this service alone; with --tail, --follow or both
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    /// Print records of the tenant as they are written, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Print so many of the latest records of the tenant; then end, or go on with --follow
    #[arg(long, value_name = "N")]
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(0..=TAIL_MAX))]
    tail: Option<u32>,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Prints the records.
pub async fn run(args: &LogsArgs, session: &Session) -> Result<Exit, Ended> {
    match (&args.activation, args.follow, args.tail) {
        (Some(id), _, _) => of_activation(id, session).await,
        (None, true, _) | (None, false, Some(_)) => of_tenant(args, session).await,
        (None, false, None) => Err(Failure::usage("name an activation, --tail or --follow").into()),
    }
}

async fn of_activation(id: &str, session: &Session) -> Result<Exit, Ended> {
    let request = GetLogsRequest { activation_id: id.to_owned() };
    let logs = session.client.get_logs(request).await.map_err(|error| session.ended(error))?;
    for record in &logs.records {
        session.print(record, || line(record, false))?;
    }
    if logs.dropped > 0 {
        warn(&format!(
            "{} more records are gone: beyond the activation's budget, or the node's room was full",
            logs.dropped
        ));
    }
    Ok(Exit::Success)
}

async fn of_tenant(args: &LogsArgs, session: &Session) -> Result<Exit, Ended> {
    let service = args.service.clone().unwrap_or_default();
    let tail = args.tail.unwrap_or_default();
    let request = FollowLogsRequest { service, tail, tail_only: !args.follow };
    let mut records = session.client.follow_logs(request).await.map_err(|error| session.ended(error))?;
    while let Some(record) = records.next().await.map_err(|error| session.ended(error))? {
        session.print(&record, || line(&record, true))?;
    }
    Ok(Exit::Success)
}

/// One record in one line; `of_many` names the activation that wrote it.
fn line(record: &LogRecord, of_many: bool) -> String {
    let mut line = String::new();
    if record.missed > 0 {
        let _infallible = writeln!(line, "({} records were missed here)", record.missed);
    }
    let _infallible = write!(line, "{} ", shown::time(record.at.as_ref()));
    if of_many {
        let _infallible = write!(line, "{} {} ", Quotable(&record.service), Printable(&record.activation_id));
    }
    let _infallible = write!(line, "{} {}", Printable(&record.level), Printable(&record.message));
    for field in &record.fields {
        let _infallible = write!(line, " {}={}", Printable(&field.name), Quotable(&field.value));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::client::times::WireTimestamp;
    use latent_wire::proto::Field;

    #[test]
    fn a_record_is_one_line_that_cannot_drive_a_terminal() {
        let mut record = LogRecord {
            activation_id: "a-1".to_owned(),
            service: "s".to_owned(),
            at: Some(WireTimestamp { seconds: 0, nanos: 0 }),
            level: "info".to_owned(),
            message: "hi\u{1b}[2J\nthere".to_owned(),
            fields: vec![Field { name: "k".to_owned(), value: "a b".to_owned() }],
            missed: 0,
        };
        let wanted = "1970-01-01T00:00:00.000Z info hi\\u{1b}[2J\\nthere k=\"a b\"\n";
        assert_eq!(line(&record, false), wanted);
        assert!(line(&record, true).starts_with("1970-01-01T00:00:00.000Z s a-1 info "));
        record.missed = 3;
        assert!(line(&record, false).starts_with("(3 records were missed here)\n"));
    }
}
