//! One activation, side by side: bare Wasmtime, the runner over the pool, and the whole lifecycle through the manager.
//!
//! `cargo bench -p latent-bench --bench lifecycle`; `-- --short` for a quick look. The three take turns in one run; all
//! calls are warm. Allocations are counted in calls of their own, which are not timed.

use latent_activation::ActivationRequest;
use latent_bench::allocations::{self, Counting};
use latent_bench::bare::Bare;
use latent_bench::lifecycle::{LifecycleNode, Size, request};
use latent_bench::node::{Node, Template};
use latent_bench::series::{Plan, Series, Subject, interleave};
use latent_bench::subjects::{BareText, GUESTS, Guest, Through};
use latent_core::{ActivationOutcome, FunctionTarget, Payload, ServiceName, TenantId};
use latent_executor::ComponentArtifact;
use latent_wasmtime::EngineSettings;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Whole<'a>(&'a LifecycleNode, ActivationRequest);

impl Subject for Whole<'_> {
    type Input = ActivationRequest;

    fn input(&self, _thread: usize, _round: u64) -> ActivationRequest {
        self.1.clone()
    }

    async fn call(&self, request: ActivationRequest) {
        let handle = self.0.manager.start(request).expect("the request is sound and there is room");
        let receipt = handle.await;
        assert!(matches!(receipt.outcome, ActivationOutcome::Succeeded { .. }), "{receipt:?}");
    }
}

fn row(name: &str, threads: usize, bare: &Series, other: (&str, &Series), allocations: [u64; 2]) {
    let (label, other) = other;
    let (a50, b50) = (bare.quantile_micros(500), other.quantile_micros(500));
    println!(
        "| {name} | {threads} | {label} | {a50:.2} | {:.2} | {:.0} | {} | {b50:.2} | {:.2} | {:.0} | {} | {:.2} | {:.2} |",
        bare.quantile_micros(990),
        bare.per_second(),
        allocations[0],
        other.quantile_micros(990),
        other.per_second(),
        allocations[1],
        b50 / a50,
        other.per_second() / bare.per_second(),
    );
}

/// Allocations of one call, the median of many.
fn allocations_of(subject: &impl Subject) -> u64 {
    const CALLS: u64 = 101;
    let runtime = runtime();
    let mut counts: Vec<u64> = (0..CALLS)
        .map(|round| {
            let input = subject.input(usize::MAX, round);
            let before = allocations::of_this_thread();
            runtime.block_on(subject.call(input));
            allocations::of_this_thread() - before
        })
        .collect();
    counts.sort_unstable();
    counts[counts.len() / 2]
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime starts")
}

fn compare(guest: Guest, scale: u64) {
    let component = latent_guests::component(guest.fixture);
    let contract = format!("fixture:{}/echo@0.1.0", guest.fixture);
    let artifact = ComponentArtifact::new(component);
    let settings = EngineSettings::default();
    let bare = Bare::new(&settings, component);
    let node = Node::new(settings.clone(), 48);
    runtime().block_on(node.prepare(&artifact));
    let (tenant, service) = (TenantId::new("bench").expect("an id"), ServiceName::new("echo").expect("an id"));
    let lifecycle = LifecycleNode::new(settings, Size::queueing(48));
    lifecycle.deploy(&tenant, &service, &artifact);
    let payload = Payload::json("[\"hello\"]");
    let target = FunctionTarget { contract: contract.as_str().into(), function: "echo-string".into() };
    let a = BareText(&bare, bare.export(&contract, "echo-string"));
    let b = Through(&node, Template::new("bench", &contract, "echo-string", payload.clone()), artifact);
    let c = Whole(&lifecycle, request(&tenant, &service, target, payload));
    runtime().block_on(c.call(c.1.clone()));
    let counts = [allocations_of(&a), allocations_of(&b), allocations_of(&c)];
    for threads in [1, 2] {
        let plan = Plan { threads, blocks: 4 * scale, calls: 1000 };
        let [of_a, of_b, of_c] = interleave(plan, &a, &b, &c);
        row(guest.label, threads, &of_a, ("runner", &of_b), [counts[0], counts[1]]);
        row(guest.label, threads, &of_a, ("manager", &of_c), [counts[0], counts[2]]);
    }
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let scale = if short { 1 } else { 10 };
    println!(
        "| guest | threads | what | bare p50 µs | bare p99 µs | bare /s·thread | bare allocations | p50 µs | p99 µs | \
         /s·thread | allocations | p50 ratio | throughput ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for guest in GUESTS {
        compare(guest, scale);
    }
}
