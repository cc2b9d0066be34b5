//! The process that calls, and its handle. They talk in lines: a block to run, a sign when it is warm, and what it took.
//!
//! Invariant: the server's processor time is read just before and just after the calls that are timed.

use std::fmt;
use std::io::{BufRead as _, BufReader, Lines, Stdin, StdinLock, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::calls::Caller;
use crate::process::processor_time;
use crate::series::Series;

/// The argument that makes a bench the process that calls.
pub const ARGUMENT: &str = "--load";

/// How callers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Grpc,
    /// A payload over HTTP/1.1.
    Json,
}

/// Who is called and how.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// How.
    pub protocol: Protocol,
    /// Where the server listens.
    pub address: SocketAddr,
    /// The fixture, as which its service is named.
    pub guest: &'a str,
}

/// How many call, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Callers at once, each with a connection of its own.
    pub clients: usize,
    /// Calls of each of them that are timed.
    pub calls: usize,
}

/// What was measured.
#[derive(Debug, Default, Clone)]
pub struct Measured {
    /// What each call took its caller.
    pub calls: Series,
    /// From the first call to the last, of all callers together.
    pub wall: Duration,
    /// Processor time of the servers' process.
    pub served_in: Duration,
    /// Processor time of the callers' process.
    pub called_in: Duration,
}

impl Measured {
    /// Adds what another block measured.
    pub fn extend(&mut self, other: &Self) {
        self.calls.extend(&other.calls);
        self.wall += other.wall;
        self.served_in += other.served_in;
        self.called_in += other.called_in;
    }
}

/// The process that calls.
pub struct Load {
    child: Child,
    orders: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
}

impl Load {
    /// Starts it; it shows `token` to whom it calls.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(token: &str) -> Self {
        let program = std::env::current_exe().expect("a process has a program");
        let child = Command::new(program).arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the program starts again");
        let orders = child.stdin.take().expect("it was asked for");
        let reports = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        let mut load = Self { child, orders, reports };
        load.send(token);
        load
    }

    /// Has a block of calls made.
    ///
    /// # Panics
    /// When a call fails.
    pub fn run(&mut self, way: &Way<'_>, amount: Amount) -> Measured {
        let Amount { clients, calls } = amount;
        self.send(&format!("{} {} {} {clients} {calls}", way.protocol, way.address, way.guest));
        assert_eq!(self.read(), "warm");
        let before = processor_time();
        self.send("go");
        let took = self.read();
        let served_in = processor_time().saturating_sub(before);
        let mut nanos = took.split(' ').map(|text| Duration::from_nanos(text.parse().expect("a number")));
        let mut next = || nanos.next().expect("wall and processor time");
        let (wall, called_in) = (next(), next());
        let mut series = Series::default();
        self.read().split(' ').for_each(|text| series.push(Duration::from_nanos(text.parse().expect("a number"))));
        assert_eq!(series.len(), clients * calls);
        Measured { calls: series, wall, served_in, called_in }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.orders, "{line}").expect("the callers listen");
    }

    fn read(&mut self) -> String {
        self.reports.next().expect("the callers go on").expect("they write text")
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended by itself, after a call that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls as it is told on standard input, until that ends.
///
/// # Panics
/// When a call fails.
pub fn serve(input: &Stdin) {
    let mut lines = input.lock().lines();
    let token = next(&mut lines).expect("the token is first");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    while let Some(order) = next(&mut lines) {
        let order: Vec<&str> = order.split(' ').collect();
        let [protocol, address, guest, clients, calls] = order[..] else { panic!("no order: {order:?}") };
        let way = Way {
            protocol: protocol.parse().expect("a protocol"),
            address: address.parse().expect("an address"),
            guest,
        };
        let amount = Amount { clients: clients.parse().expect("a number"), calls: calls.parse().expect("a number") };
        runtime.block_on(block(&way, amount, &token, &mut lines));
    }
}

fn next(lines: &mut Lines<StdinLock<'_>>) -> Option<String> {
    lines.next().map(|line| line.expect("orders are text"))
}

/// All connect and warm up; when all are warm and the other side is ready, all call.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn block(way: &Way<'_>, amount: Amount, token: &str, lines: &mut Lines<StdinLock<'_>>) {
    let Amount { clients, calls } = amount;
    let mut warm = JoinSet::new();
    for _ in 0..clients {
        let (way, guest, token) = ((way.protocol, way.address), way.guest.to_owned(), token.to_owned());
        warm.spawn(async move {
            let mut caller = Caller::connect(way.0, way.1, &guest, &token).await;
            for _ in 0..=calls / 10 {
                caller.call().await;
            }
            caller
        });
    }
    let callers = warm.join_all().await;
    say("warm");
    assert_eq!(next(lines).as_deref(), Some("go"));
    let (begun, used) = (Instant::now(), processor_time());
    let barrier = Arc::new(Barrier::new(clients));
    let mut calling = JoinSet::new();
    for caller in callers {
        calling.spawn(one(caller, calls, barrier.clone()));
    }
    let took: Vec<u128> = calling.join_all().await.concat();
    let (wall, used) = (begun.elapsed(), processor_time().saturating_sub(used));
    say(&format!("{} {}", wall.as_nanos(), used.as_nanos()));
    say(&took.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn one(mut caller: Caller, calls: usize, barrier: Arc<Barrier>) -> Vec<u128> {
    barrier.wait().await;
    let mut took = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        caller.call().await;
        took.push(begun.elapsed().as_nanos());
    }
    took
}

fn say(line: &str) {
    println!("{line}");
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grpc => "grpc",
            Self::Json => "json",
        })
    }
}

impl FromStr for Protocol {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Grpc, Self::Json].into_iter().find(|protocol| protocol.to_string() == text).ok_or(())
    }
}
