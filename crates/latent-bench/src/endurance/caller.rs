//! How a call is made: from the mix's description to an envelope, and through the runner to a report.
//!
//! Invariant: an activation is cancelled only once it has been seen running in its cell, never in the queue.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use latent_activation::ActivationEnvelope;
use latent_core::{Payload, SystemWallClock, WallClock as _};
use latent_executor::ComponentArtifact;
use latent_node::ActivationReport;

use crate::node::{Node, Template};

use super::judge::{Expected, judge};
use super::mix::{Call, Dice, Echo, Endless, Piece, TEXT_BYTES};
use super::tally::Tally;

/// How often a run has to be seen pending before its guest has certainly run: once for the queue and once for the guest.
/// An activation that had to queue is woken only when its cell is there, and that poll takes it into its guest; the
/// guests that get cancelled wake their tasks themselves.
const PENDING_POLLS: u32 = 2;

/// The fixtures that are called.
struct Guests {
    capsule: ComponentArtifact,
    echo: ComponentArtifact,
    echo_rust: ComponentArtifact,
    output: ComponentArtifact,
    park: ComponentArtifact,
}

/// Makes the calls of one run.
pub struct Caller {
    node: Arc<Node>,
    guests: Guests,
    text: Bytes,
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
        let artifact = |name| ComponentArtifact::new(latent_guests::component(name));
        let guests = Guests {
            capsule: artifact("containment-capsule"),
            echo: artifact("echo"),
            echo_rust: artifact("echo-rust"),
            output: artifact("stdout"),
            park: artifact("clock-park"),
        };
        let mut dice = Dice::new(seed, u64::MAX);
        let letters: Vec<u8> = (0..TEXT_BYTES).map(|_| b'a' + dice.next().to_le_bytes()[0] % 26).collect();
        Self { node, guests, text: letters.into(), seed }
    }

    /// Compiles every guest ahead of the first call.
    pub async fn prepare(&self) {
        let Guests { capsule, echo, echo_rust, output, park } = &self.guests;
        for artifact in [capsule, echo, echo_rust, output, park] {
            self.node.prepare(artifact).await;
        }
    }

    /// Makes the call of this number, and enters it with whatever was wrong about its end.
    pub async fn make(&self, number: u64, tally: &mut Tally) {
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
        let judged = judge(call, &expected, &report, &logs);
        tally.enter(call.kind(), &report, judged.map_err(|wrong| format!("call {number}, {call:?}: {wrong}")));
    }

    fn prepared(&self, call: Call, number: u64) -> Prepared {
        let tenant = if number.is_multiple_of(2) { "even" } else { "odd" };
        let (artifact, contract, function, payload) = self.target(call);
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
        Prepared { template, artifact: artifact.clone(), deadline, expected: self.expected(call) }
    }

    fn target(&self, call: Call) -> (&ComponentArtifact, &'static str, &'static str, Payload) {
        const MODES: &str = "fixture:containment-capsule/modes@0.1.0";
        let mode = |function, args: String| (&self.guests.capsule, MODES, function, Payload::json(args));
        let endless = |guest| match guest {
            Endless::Spins => mode("spin", "[]".to_owned()),
            Endless::Parks => {
                let args = format!("[{},1]", u32::MAX);
                (&self.guests.park, "fixture:clock-park/park@0.1.0", "park-often", Payload::json(args))
            }
        };
        let echo = |echo, function, payload| match echo {
            Echo::Plain => (&self.guests.echo, "fixture:echo/echo@0.1.0", function, payload),
            Echo::Rust => (&self.guests.echo_rust, "fixture:echo-rust/echo@0.1.0", function, payload),
        };
        match call {
            Call::Text(guest, piece) => {
                let args = format!("[{}]", self.quoted(piece));
                echo(guest, "echo-string", Payload::json(args))
            }
            Call::Bytes(guest, piece) => echo(guest, "echo-bytes", Payload::octets(self.piece(piece))),
            Call::Output { lines } => {
                (&self.guests.output, "fixture:stdout/output@0.1.0", "lines", Payload::json(format!("[{lines}]")))
            }
            Call::DeclaredError => mode("declared", "[true]".to_owned()),
            Call::Trap => mode("trap", "[]".to_owned()),
            Call::Fuel { .. } => mode("spin", "[]".to_owned()),
            Call::Memory { step_pages, .. } => mode("grow-memory", format!("[{step_pages}]")),
            Call::Deadline { guest, .. } | Call::Cancel { guest } => endless(guest),
        }
    }

    fn expected(&self, call: Call) -> Expected {
        match call {
            Call::Text(_, piece) => Expected::Returned(Payload::json(self.quoted(piece))),
            Call::Bytes(_, piece) => Expected::Returned(Payload::octets(self.piece(piece))),
            Call::Output { .. } => Expected::Returned(Payload::json("null")),
            Call::DeclaredError => Expected::Declared(Payload::json("\"declared failure\"")),
            Call::Trap => Expected::trap(),
            Call::Fuel { .. } => Expected::exhausted("activation.fuel-exhausted"),
            Call::Memory { .. } => Expected::exhausted("activation.memory-exhausted"),
            Call::Deadline { .. } => Expected::deadline(),
            Call::Cancel { .. } => Expected::cancelled(),
        }
    }

    fn piece(&self, piece: Piece) -> Bytes {
        self.text.slice(piece.at..piece.at + piece.len)
    }

    /// The piece as a JSON string: it has letters only.
    fn quoted(&self, piece: Piece) -> String {
        format!("\"{}\"", self.piece(piece).escape_ascii())
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
