//! The process of the hostile tenants: one thread that keeps their calls under way until it is told to stop.
//!
//! Invariant: it speaks in lines, one order and one report; when it reports, it has no call under way.

use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use latent_core::PlatformErrorCode;
use latent_wire::client::times::to_duration;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::InvokeRequest;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::kind::{DEADLINE, Kind, LEAVES};
use super::orders::{End, Ends, Order, Party};
use crate::nodes::fixtures::call;
use crate::nodes::program::client;
use crate::process::processor_time;

/// The argument that makes the bench this process.
pub const ARGUMENT: &str = "--hostile";
/// Calls that share a connection; a node takes 128 of one.
const STREAMS: usize = 125;
/// Lines that may wait to be read.
const LINES: usize = 4;
/// How long a call that was refused waits before it comes again.
const REFUSED: Duration = Duration::from_millis(50);

/// Obeys orders on standard input, until that ends.
///
/// # Errors
/// What of an order cannot be understood.
pub fn serve() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let (read, mut lines) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if read.blocking_send(line).is_err() {
                return;
            }
        }
    });
    runtime.block_on(async {
        while let Some(line) = lines.recv().await {
            let (order, ends, before) = (Order::parse(&line)?, Arc::new(Ends::default()), processor_time());
            let mut calling = begin(&order, &ends)?;
            let _stop_or_the_end = lines.recv().await;
            calling.shutdown().await;
            say(&ends.report(processor_time().saturating_sub(before)));
        }
        Ok(())
    })
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever does not read any more has ended, and this process with it.
    let _nobody_reads = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Begins every call of every party.
fn begin(order: &Order, ends: &Arc<Ends>) -> Result<JoinSet<()>, String> {
    let mut calling = JoinSet::new();
    for party in &order.parties {
        let party = Arc::new(party.clone());
        let mut shared = client(order.addresses, &party.token)?;
        for lane in 0..party.kind.lanes() {
            if lane > 0 && lane.is_multiple_of(STREAMS) {
                shared = client(order.addresses, &party.token)?;
            }
            let lane = Lane { party: party.clone(), addresses: order.addresses, ends: ends.clone(), at: lane };
            calling.spawn(lane.keep(shared.clone()));
        }
    }
    Ok(calling)
}

/// One of the calls that a party keeps under way.
struct Lane {
    party: Arc<Party>,
    addresses: [SocketAddr; 2],
    ends: Arc<Ends>,
    at: usize,
}

impl Lane {
    async fn keep(self, shared: Client) {
        for round in self.at.. {
            let end = match self.party.kind {
                Kind::Leaver => self.leave().await,
                _ => end_of(&shared.invoke(self.request(round)).await.map(drop)),
            };
            self.ends.count(end);
            if matches!(end, End::Refused | End::Lost) {
                sleep(REFUSED).await;
            }
        }
    }

    /// A connection of its own, a call that spins, and away.
    async fn leave(&self) -> End {
        let Ok(own) = client(self.addresses, &self.party.token) else { return End::Lost };
        match timeout(LEAVES, own.invoke(self.request(0))).await {
            Ok(early) => end_of(&early.map(drop)),
            Err(_left) => End::Left,
        }
    }

    fn request(&self, round: usize) -> InvokeRequest {
        let request = match self.party.kind {
            Kind::Spinner | Kind::Leaver => call("containment-capsule", "spin", "[]", ""),
            Kind::Memory if round.is_multiple_of(2) => call("memory-fill", "run", "[]", ""),
            Kind::Memory => call("containment-capsule", "grow-memory", "[16]", ""),
            Kind::Logs => call("stdout", "lines", "[100000]", ""),
            Kind::Queue | Kind::Equal => burn(self.party.iterations),
        };
        match self.party.kind {
            Kind::Queue | Kind::Equal => request,
            _ => InvokeRequest { timeout: Some(to_duration(DEADLINE)), ..request },
        }
    }
}

/// A call that computes for so many iterations.
#[must_use]
pub fn burn(iterations: u64) -> InvokeRequest {
    call("containment-capsule", "burn", &format!("[{iterations}]"), "")
}

fn end_of(outcome: &Result<(), CallError>) -> End {
    match outcome {
        Ok(()) => End::Returned,
        Err(CallError::Node(node)) => match node.error.code() {
            // Nothing ran, or it waited in vain.
            PlatformErrorCode::AdmissionRejected | PlatformErrorCode::Unavailable => End::Refused,
            PlatformErrorCode::ResourceExhausted if node.consumption.as_ref().is_none_or(|used| used.fuel == 0) => {
                End::Refused
            }
            _ => End::Stopped,
        },
        Err(CallError::Transport(_) | CallError::Unreachable(_)) => End::Lost,
    }
}
