//! One activation, side by side: bare Wasmtime against the runner over the pool.
//!
//! `cargo bench -p latent-bench --bench activation`; `-- --short` for a quick look.

use latent_bench::bare::Bare;
use latent_bench::node::{Node, Template};
use latent_bench::series::{Plan, Series, Subject, alternate};
use latent_bench::subjects::{BareText, GUESTS, Guest, Through};
use latent_core::Payload;
use latent_executor::ComponentArtifact;
use latent_wasmtime::{EngineSettings, PagemapScanChoice};
use wasmtime::component::ComponentExportIndex;

const MIB: usize = 1 << 20;

struct BareBytes<'a>(&'a Bare, ComponentExportIndex, Vec<u8>);

impl Subject for BareBytes<'_> {
    type Input = ();

    fn input(&self, _thread: usize, _round: u64) {}

    async fn call(&self, (): ()) {
        assert_eq!(self.0.call_bytes(&self.1, &self.2).await.len(), self.2.len());
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

fn compare(guest: Guest, scan: PagemapScanChoice, scale: u64) {
    let component = latent_guests::component(guest.fixture);
    let contract = format!("fixture:{}/echo@0.1.0", guest.fixture);
    let artifact = ComponentArtifact::new(component);
    let settings = EngineSettings { pagemap_scan: scan, ..EngineSettings::default() };
    let bare = Bare::new(&settings, component);
    let node = Node::new(settings, 48);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(node.prepare(&artifact));
    let scanned = if node.backend.report().pagemap_scan { "page scan" } else { "no page scan" };
    let text = Template::new("bench", &contract, "echo-string", Payload::json("[\"hello\"]"));
    for threads in [1, 2] {
        let plan = Plan { threads, blocks: 4 * scale, calls: 1000 };
        let a = BareText(&bare, bare.export(&contract, "echo-string"));
        let (a, b) = alternate(plan, &a, &Through(&node, text.clone(), artifact.clone()));
        row(&format!("{}, a string, {scanned}", guest.label), threads, &a, &b);
    }
    let block: Vec<u8> = (0..=255u8).cycle().take(MIB).collect();
    let bytes = Template::new("bench", &contract, "echo-bytes", Payload::octets(block.clone()));
    let plan = Plan { threads: 1, blocks: 2 * scale, calls: 50 };
    let a = BareBytes(&bare, bare.export(&contract, "echo-bytes"), block);
    let (a, b) = alternate(plan, &a, &Through(&node, bytes, artifact.clone()));
    row(&format!("{}, 1 MiB typed, {scanned}", guest.label), 1, &a, &b);
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let scale = if short { 1 } else { 10 };
    println!(
        "| what | threads | bare p50 µs | bare p99 µs | bare /s·thread | runner p50 µs | runner p99 µs | \
         runner /s·thread | p50 ratio | throughput ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for guest in GUESTS {
        for scan in [PagemapScanChoice::Auto, PagemapScanChoice::Off] {
            compare(guest, scan, scale);
        }
    }
}
