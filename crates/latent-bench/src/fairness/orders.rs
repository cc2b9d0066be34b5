//! What the process of the hostile tenants is told, what it tells, and the handle of it.
//!
//! Invariant: every call that ended is in exactly one count; the process is killed when its [`Hostile`] is dropped.

use std::fmt;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::hostile::ARGUMENT;
use super::kind::Kind;

/// A tenant that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Its credential.
    pub token: String,
    /// What it does.
    pub kind: Kind,
    /// How much a call that computes is to compute.
    pub iterations: u64,
}

/// Who calls where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The listeners *invoke* and *control*.
    pub addresses: [SocketAddr; 2],
    /// All that call at once.
    pub parties: Vec<Party>,
}

impl Order {
    /// The order in a line.
    ///
    /// # Errors
    /// What it lacks.
    pub fn parse(line: &str) -> Result<Self, String> {
        let order: Value =
            serde_json::from_str(line).map_err(|error| format!("an order is one line of JSON: {error}"))?;
        let address = |name: &str| {
            let address = order[name].as_str().and_then(|text| text.parse().ok());
            address.ok_or_else(|| format!("an order has an address as {name:?}"))
        };
        let party = |party: &Value| {
            let token = party["token"].as_str()?.to_owned();
            let kind = Kind::parse(party["kind"].as_str()?)?;
            Some(Party { token, kind, iterations: party["iterations"].as_u64()? })
        };
        let parties = order["parties"].as_array().ok_or("an order has parties")?;
        let parties = parties.iter().map(party).collect::<Option<_>>();
        let parties = parties.ok_or("a party has a token, a known kind and iterations")?;
        Ok(Self { addresses: [address("invoke")?, address("control")?], parties })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let party = |Party { token, kind, iterations }: &Party| json!({ "token": token, "kind": kind.as_str(), "iterations": iterations });
        let [invoke, control] = self.addresses.map(|address| address.to_string());
        let parties: Vec<_> = self.parties.iter().map(party).collect();
        write!(f, "{}", json!({ "invoke": invoke, "control": control, "parties": parties }))
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Returned,
    /// By a limit, a trap or its deadline.
    Stopped,
    /// Before its guest ran.
    Refused,
    /// With its connection closed by the client.
    Left,
    /// Without an answer of the node.
    Lost,
}

/// Counts of ends.
#[derive(Debug, Default)]
pub struct Ends([AtomicU64; 5]);

impl Ends {
    /// Counts one.
    pub fn count(&self, end: End) {
        self.0[end as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The line that tells the counts, and the processor time that was spent.
    pub fn report(&self, spent: Duration) -> String {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed).to_string());
        counts.chain([spent.as_micros().to_string()]).collect::<Vec<_>>().join(" ")
    }
}

/// What the process told after an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Calls that returned.
    pub returned: u64,
    /// Calls that a limit, a trap or the deadline ended.
    pub stopped: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Calls that were left.
    pub left: u64,
    /// Calls without an answer.
    pub lost: u64,
    /// Processor time that making them took the process.
    pub spent: Duration,
}

impl Report {
    fn parse(line: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = line.split(' ').map(|number| number.parse().ok()).collect();
        let [returned, stopped, refused, left, lost, micros] = numbers?[..] else { return None };
        Some(Self { returned, stopped, refused, left, lost, spent: Duration::from_micros(micros) })
    }

    /// Calls whose guests ran.
    pub fn ran(&self) -> u64 {
        self.returned + self.stopped + self.left
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { returned, stopped, refused, left, lost, .. } = self;
        write!(f, "{returned} / {stopped} / {left} / {refused} / {lost}")
    }
}

/// The process.
#[derive(Debug)]
pub struct Hostile {
    child: Child,
    orders: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
}

impl Hostile {
    /// Starts this program again as the process of the hostile tenants.
    ///
    /// # Errors
    /// When there is no process to be had.
    pub fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
        let mut command = Command::new(program);
        command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start the hostile tenants: {error}"))?;
        let orders = child.stdin.take().ok_or("its standard input is piped")?;
        let reports = BufReader::new(child.stdout.take().ok_or("its standard output is piped")?).lines();
        Ok(Self { child, orders, reports })
    }

    /// Has them begin.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn begin(&mut self, order: &Order) -> Result<(), String> {
        self.send(&order.to_string())
    }

    /// Has them stop. Blocks until they have.
    ///
    /// # Errors
    /// When the process is gone, or tells something else than its counts.
    pub fn stop(&mut self) -> Result<Report, String> {
        self.send("stop")?;
        let line = self.reports.next().and_then(Result::ok).ok_or("the hostile tenants ended too early")?;
        Report::parse(&line).ok_or_else(|| format!("the hostile tenants said {line:?}"))
    }

    fn send(&mut self, line: &str) -> Result<(), String> {
        let sent = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
        sent.map_err(|error| format!("the hostile tenants do not listen: {error}"))
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _status = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_understood_as_it_was_meant() {
        let party = |kind| Party { token: "token".to_owned(), kind, iterations: 7 };
        let order = Order {
            addresses: [([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into()],
            parties: Kind::mixture(5).into_iter().map(party).collect(),
        };
        assert_eq!(Order::parse(&order.to_string()), Ok(order));
        assert!(Order::parse("{}").unwrap_err().contains("parties"));
    }

    #[test]
    fn a_report_has_each_end_once() {
        let ends = Ends::default();
        for end in [End::Stopped, End::Stopped, End::Lost, End::Left] {
            ends.count(end);
        }
        let report = Report::parse(&ends.report(Duration::from_micros(9))).unwrap();
        assert_eq!((report.returned, report.stopped, report.left, report.lost, report.ran()), (0, 2, 1, 1, 3));
        assert_eq!((report.refused, report.spent), (0, Duration::from_micros(9)));
        assert_eq!(Report::parse("1 2"), None);
    }
}
