//! One activation, side by side: bare Wasmtime against the runner over the pool.
//!
//! `cargo bench -p latent-bench --bench activation`; `-- --short` for a quick look.

use latent_activation::ActivationEnvelope;
use latent_bench::bare::Bare;
use latent_bench::node::{Node, Template};
use latent_bench::series::{Plan, Series, Subject, alternate};
use latent_core::{ActivationOutcome, Payload};
use latent_executor::ComponentArtifact;
use latent_wasmtime::{EngineSettings, PagemapScanChoice};
use wasmtime::component::{ComponentExportIndex, Val};

const CONTRACT: &str = "fixture:echo/echo@0.1.0";
const MIB: usize = 1 << 20;

struct BareText<'a>(&'a Bare, ComponentExportIndex);
struct BareBytes<'a>(&'a Bare, ComponentExportIndex, Vec<u8>);
struct Through<'a>(&'a Node, Template, ComponentArtifact);

impl Subject for BareText<'_> {
    type Input = Val;

    fn input(&self, _thread: usize, _round: u64) -> Val {
        Val::String("hello".to_owned())
    }

    async fn call(&self, input: Val) {
        let result = self.0.call_dynamic(&self.1, &[input]).await;
        assert!(matches!(result, Val::String(text) if text == "hello"));
    }
}

impl Subject for BareBytes<'_> {
    type Input = ();

    fn input(&self, _thread: usize, _round: u64) {}

    async fn call(&self, (): ()) {
        assert_eq!(self.0.call_bytes(&self.1, &self.2).await.len(), self.2.len());
    }
}

impl Subject for Through<'_> {
    type Input = (ActivationEnvelope, ComponentArtifact);

    fn input(&self, thread: usize, round: u64) -> Self::Input {
        (self.1.envelope(&format!("bench-{thread}-{round}")), self.2.clone())
    }

    async fn call(&self, (envelope, artifact): Self::Input) {
        let report = self.0.runner.run(envelope, artifact).await;
        assert!(matches!(report.outcome, ActivationOutcome::Succeeded { .. }), "{report:?}");
    }
}

fn row(name: &str, threads: usize, a: &Series, b: &Series) {
    let (a50, b50) = (a.quantile_micros(500), b.quantile_micros(500));
    println!(
        "| {name} | {threads} | {a50:.2} | {:.2} | {:.0} | {b50:.2} | {:.2} | {:.0} | {:.2} | {:.2} |",
        a.quantile_micros(990),
        a.per_second(),
        b.quantile_micros(990),
        b.per_second(),
        b50 / a50,
        b.per_second() / a.per_second(),
    );
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let scale = if short { 1 } else { 10 };
    let echo = latent_guests::component("echo");
    let artifact = ComponentArtifact::new(echo);
    let text = Template::new("bench", CONTRACT, "echo-string", Payload::json("[\"hello\"]"));
    let block: Vec<u8> = (0..=255u8).cycle().take(MIB).collect();
    let bytes = Template::new("bench", CONTRACT, "echo-bytes", Payload::octets(block.clone()));
    println!(
        "| what | threads | bare p50 µs | bare p99 µs | bare /s·thread | runner p50 µs | runner p99 µs | runner /s·thread | p50 ratio | throughput ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (label, scan) in [("", PagemapScanChoice::Auto), (", no page scan", PagemapScanChoice::Off)] {
        let settings = EngineSettings { pagemap_scan: scan, ..EngineSettings::default() };
        let bare = Bare::new(&settings, echo);
        let node = Node::new(settings, 48);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        runtime.block_on(node.prepare(&artifact));
        for threads in [1, 2] {
            let plan = Plan { threads, blocks: 4 * scale, calls: 1000 };
            let a = BareText(&bare, bare.export(CONTRACT, "echo-string"));
            let b = Through(&node, text.clone(), artifact.clone());
            let (a, b) = alternate(plan, &a, &b);
            row(&format!("echo of a string{label}"), threads, &a, &b);
        }
        let plan = Plan { threads: 1, blocks: 2 * scale, calls: 50 };
        let a = BareBytes(&bare, bare.export(CONTRACT, "echo-bytes"), block.clone());
        let b = Through(&node, bytes.clone(), artifact.clone());
        let (a, b) = alternate(plan, &a, &b);
        row(&format!("echo of 1 MiB, typed{label}"), 1, &a, &b);
    }
}
