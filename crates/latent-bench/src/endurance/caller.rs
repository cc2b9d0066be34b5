//! How a call is made: from the mix's description to an envelope, and through the runner to a report.
//!
//! Invariant: an activation is cancelled only once it has been seen running in its cell, never in the queue.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use latent_activation::ActivationEnvelope;
use latent_core::{SystemWallClock, WallClock as _};
use latent_executor::ComponentArtifact;
use latent_node::ActivationReport;

use crate::node::{Node, Template};

use super::guests::{Guests, Target};
use super::judge::{End, Expected, judge};
use super::mix::{Call, Kind};
use super::tally::Tally;

/// How often a run has to be seen pending before its guest has certainly run: once for the queue and once for the guest.
/// An activation that had to queue is woken only when its cell is there, and that poll takes it into its guest; the
/// guests that get cancelled wake their tasks themselves.
const PENDING_POLLS: u32 = 2;

/// Makes the calls of one run.
pub struct Caller {
    node: Arc<Node>,
    guests: Guests,
    seed: u64,
}

/// One call, ready to be made.
struct Prepared {
    template: Template,
    artifact: ComponentArtifact,
    deadline: Option<Duration>,
    expected: Expected,
}

impl Caller {
    /// A caller on `node`, whose calls follow from `seed`.
    #[must_use]
    pub fn new(node: Arc<Node>, seed: u64) -> Self {
        Self { node, guests: Guests::new(seed), seed }
    }

    /// Compiles every guest ahead of the first call.
    pub async fn prepare(&self) {
        for artifact in self.guests.artifacts() {
            self.node.prepare(artifact).await;
        }
    }

    /// Makes the call of this number, and enters it with whatever was wrong about its end.
    pub async fn make(&self, number: u64, tally: &mut Tally<{ Kind::ALL.len() }>) {
        let call = Call::of(self.seed, number);
        let Prepared { template, artifact, deadline, expected } = self.prepared(call, number);
        let mut envelope = template.envelope(&format!("endurance-{number}"));
        envelope.deadline = deadline.map(|after| SystemWallClock.now() + after);
        let (tenant, id) = (envelope.principal.tenant.clone(), envelope.activation_id.clone());
        let report = if let Call::Cancel { .. } = call {
            let running = cancelled(self.node.clone(), envelope, artifact);
            // A task of its own: what still wakes this one on behalf of earlier calls would count as a sight.
            tokio::spawn(running).await.expect("a calling task does not panic")
        } else {
            self.node.runner.run(envelope, artifact).await
        };
        let logs = if report.consumption.log_bytes == 0 { Vec::new() } else { self.node.sink.take(&tenant, &id) };
        let granted = report.cell.is_some();
        let judged =
            judge(call, &expected, End { outcome: &report.outcome, used: &report.consumption, granted }, &logs);
        tally.enter(call.kind() as usize, granted, judged.map_err(|wrong| format!("call {number}, {call:?}: {wrong}")));
    }

    fn prepared(&self, call: Call, number: u64) -> Prepared {
        let tenant = if number.is_multiple_of(2) { "even" } else { "odd" };
        let Target { guest, contract, function, payload } = self.guests.target(call);
        let mut template = Template::new(tenant, contract, function, payload);
        let mut deadline = None;
        match call {
            Call::Fuel { granted } => template.budget.fuel = granted,
            Call::Memory { granted_bytes, .. } => template.budget.memory_bytes = granted_bytes,
            Call::Deadline { millis, .. } => {
                template.budget.fuel = u64::MAX;
                deadline = Some(Duration::from_millis(millis));
            }
            Call::Cancel { .. } => template.budget.fuel = u64::MAX,
            _ => {}
        }
        Prepared {
            template,
            artifact: self.guests.artifact(guest).clone(),
            deadline,
            expected: self.guests.expected(call),
        }
    }
}

/// Runs until the guest is seen running, cancels, and waits for the end.
async fn cancelled(node: Arc<Node>, envelope: ActivationEnvelope, artifact: ComponentArtifact) -> ActivationReport {
    let (tenant, id) = (envelope.principal.tenant.clone(), envelope.activation_id.clone());
    let mut run = pin!(node.runner.run(envelope, artifact));
    let mut seen = 0;
    let early = poll_fn(|cx| match run.as_mut().poll(cx) {
        Poll::Ready(report) => Poll::Ready(Some(report)),
        Poll::Pending => {
            seen += 1;
            if seen < PENDING_POLLS { Poll::Pending } else { Poll::Ready(None) }
        }
    })
    .await;
    if let Some(report) = early {
        return report;
    }
    // Whether the cancel was accepted shows in the report.
    let _disposition = node.runner.cancel(&tenant, &id, "endurance");
    run.await
}
