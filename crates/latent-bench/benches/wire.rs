//! Unary echo on loopback: bare tonic, a node over gRPC, a node over plain HTTP.
//!
//! `cargo bench -p latent-bench --bench wire`; `-- --short` for a quick look, `-- --runtimes` for connections and guests on
//! one runtime beside two, `-- --only bare`, `grpc` or `http` for a profile of one of them. The servers take turns in one run, and the callers are another process.

use std::time::Instant;

use latent_bench::lifecycle::{LifecycleNode, Size, request};
use latent_bench::series::Series;
use latent_bench::subjects::{GUESTS, Guest};
use latent_bench::wire::load::{self, Amount, Load, Measured, Protocol, Way};
use latent_bench::wire::servers::Servers;
use latent_bench::wire::table::{self, Row};
use latent_core::{ActivationOutcome, FunctionTarget, Payload, ServiceName, TenantId};
use latent_executor::ComponentArtifact;
use latent_wasmtime::EngineSettings;
use tokio::runtime::{Builder, Runtime};

/// The allocator of the node's program, for all of the servers.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Calls of a block.
const CALLS: usize = 3200;
/// How many call at once.
const CLIENTS: [usize; 2] = [1, 16];

/// Blocks of each way, `a b c c b a a b c …`, with `between` before each round.
fn alternate<const N: usize>(
    load: &mut Load,
    ways: &[Way<'_>; N],
    (clients, rounds): (usize, usize),
    mut between: impl FnMut(),
) -> [Measured; N] {
    let mut all: [Measured; N] = std::array::from_fn(|_| Measured::default());
    for round in 0..rounds {
        between();
        for within in 0..N {
            let at = if round % 2 == 0 { within } else { N - 1 - within };
            all[at].extend(&load.run(&ways[at], Amount { clients, calls: CALLS / clients }));
        }
    }
    all
}

/// The lifecycle in this process, called in blocks like the servers.
struct Lifecycle {
    node: LifecycleNode,
    runtime: Runtime,
    tenant: TenantId,
    service: ServiceName,
    target: FunctionTarget,
    series: Series,
}

impl Lifecycle {
    fn new(guest: Guest) -> Self {
        let node = LifecycleNode::new(EngineSettings::default(), Size::queueing(48));
        let (tenant, service) = (TenantId::new("bench").expect("an id"), ServiceName::new("echo").expect("an id"));
        node.deploy(&tenant, &service, &ComponentArtifact::new(latent_guests::component(guest.fixture)));
        let contract = format!("fixture:{}/echo@0.1.0", guest.fixture);
        let target = FunctionTarget { contract: contract.as_str().into(), function: "echo-string".into() };
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        Self { node, runtime, tenant, service, target, series: Series::default() }
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn block(&mut self) {
        for call in 0..CALLS + CALLS / 10 {
            let payload = Payload::json("[\"hello\"]");
            let request = request(&self.tenant, &self.service, self.target.clone(), payload);
            let begun = Instant::now();
            let handle = self.node.manager.start(request).expect("the request is sound and there is room");
            let receipt = self.runtime.block_on(handle);
            let took = begun.elapsed();
            assert!(matches!(receipt.outcome, ActivationOutcome::Succeeded { .. }), "{receipt:?}");
            if call >= CALLS / 10 {
                self.series.push(took);
            }
        }
    }
}

/// A bare server, and the node over both protocols.
fn side_by_side(servers: &mut Servers, load: &mut Load, guest: Guest, rounds: usize) {
    let (bare, node) = (servers.bare(guest.fixture), servers.node());
    let way = |protocol, address| Way { protocol, address, guest: guest.fixture };
    let ways = [way(Protocol::Grpc, bare), way(Protocol::Grpc, node), way(Protocol::Json, node)];
    let mut lifecycle = Lifecycle::new(guest);
    println!("\n{}\n\n{}", guest.label, table::HEAD);
    let measured = CLIENTS.map(|clients| alternate(load, &ways, (clients, rounds), || lifecycle.block()));
    for (clients, measured) in CLIENTS.into_iter().zip(&measured) {
        for (what, of) in ["bare tonic", "latent, gRPC", "latent, HTTP"].into_iter().zip(measured) {
            Row { what, clients, measured: of }.print(&measured[0]);
        }
    }
    println!();
    for (clients, [bare, node, _]) in CLIENTS.into_iter().zip(&measured) {
        table::aim(clients, bare, node, lifecycle.series.quantile_micros(500));
    }
}

/// One server and one client, for a profiler to look at.
fn alone(servers: &mut Servers, load: &mut Load, (guest, name): (Guest, &str), rounds: usize) {
    let (protocol, address) = match name {
        "bare" => (Protocol::Grpc, servers.bare(guest.fixture)),
        "grpc" => (Protocol::Grpc, servers.node()),
        "http" => (Protocol::Json, servers.node()),
        _ => panic!("there is no {name}; there are bare, grpc and http"),
    };
    let [measured] = alternate(load, &[Way { protocol, address, guest: guest.fixture }], (1, rounds), || ());
    println!("\n{}\n\n{}", guest.label, table::HEAD);
    Row { what: name, clients: 1, measured: &measured }.print(&measured);
}

/// Connections and guests on one runtime, and on two.
fn runtimes(servers: &mut Servers, load: &mut Load, guest: Guest, rounds: usize) {
    let bare = servers.bare(guest.fixture);
    let [together, apart] = servers.placed();
    let ways = [bare, together, apart].map(|address| Way { protocol: Protocol::Grpc, address, guest: guest.fixture });
    println!("\n{}\n\n{}", guest.label, table::HEAD);
    for clients in CLIENTS {
        let measured = alternate(load, &ways, (clients, rounds), || ());
        for (what, of) in ["bare tonic", "one runtime", "two runtimes"].into_iter().zip(&measured) {
            Row { what, clients, measured: of }.print(&measured[0]);
        }
    }
}

fn main() {
    let asked = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if asked(load::ARGUMENT) {
        return load::serve(&std::io::stdin());
    }
    let rounds = if asked("--short") { 2 } else { 10 };
    let only = std::env::args().skip_while(|argument| argument != "--only").nth(1);
    let directory = tempfile::tempdir().expect("a directory for the node");
    let mut servers = Servers::new(directory.path(), &GUESTS.map(|guest| guest.fixture));
    let mut load = Load::start(&servers.token);
    println!("{}", servers.conditions());
    for guest in GUESTS {
        match &only {
            Some(name) => alone(&mut servers, &mut load, (guest, name), rounds),
            None if asked("--runtimes") => runtimes(&mut servers, &mut load, guest, rounds),
            None => side_by_side(&mut servers, &mut load, guest, rounds),
        }
    }
}
