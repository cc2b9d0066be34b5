//! The first call of a component whose image is on disk but not in memory, beside the warm call; and what compiling costs.
//!
//! `cargo bench -p latent-bench --bench cold`; `-- --short` for a quick look. Components of the text-stats example may be
//! named after it: `-- --short js.wasm python.wasm`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_bench::series::Series;
use latent_core::{ExecutionOutcome, Payload, ResourceBudget, SystemWallClock, TenantId};
use latent_executor::fake::FakeRepository;
use latent_executor::{BoundedLogSink, ComponentArtifact, ExecutionBackend as _, ExecutionRequest, suite};
use latent_wasmtime::{
    COMPILE_COMMAND, ChildOptions, CompileLimits, CompilerChoice, EngineSettings, ImageLimits, ImageStore, Preparation,
    WasmtimeBackend, compile_child,
};

/// A component and a short call of it.
struct Guest {
    label: String,
    artifact: ComponentArtifact,
    function: &'static str,
    arguments: &'static str,
}

/// A backend that keeps one component in memory, so that two evict each other.
struct Bench {
    backend: WasmtimeBackend,
    repository: Arc<FakeRepository>,
    tenant: TenantId,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == COMPILE_COMMAND) {
        return compile_child();
    }
    let rounds = if arguments.iter().any(|argument| argument == "--short") { 50 } else { 500 };
    let named = arguments.iter().filter(|argument| !argument.starts_with("--")).map(PathBuf::from);
    let guests: Vec<_> = built_in().into_iter().chain(named.map(|path| text_stats(&path))).collect();
    let images = tempfile::tempdir().expect("a temporary directory");
    let bench = Bench::new(images.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    println!(
        "| component | size KB | compile s | KB/s in the child | image KB | warm p50 µs | first call p50 µs | first over warm, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for guest in &guests {
        runtime.block_on(bench.row(guest, rounds));
    }
    ExitCode::SUCCESS
}

fn built_in() -> Vec<Guest> {
    let echo = Guest {
        label: "Rust echo".to_owned(),
        artifact: ComponentArtifact::new(latent_guests::component("echo-rust")),
        function: "fixture:echo-rust/echo@0.1.0#echo-string",
        arguments: "[\"hello\"]",
    };
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/text-stats/rust/text-stats.wasm");
    vec![echo, Guest { label: "Rust text-stats".to_owned(), ..text_stats(&example) }]
}

fn text_stats(path: &Path) -> Guest {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Guest {
        label: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        artifact: ComponentArtifact::new(bytes),
        function: "example:text-stats/analyze@1.0.0#reverse",
        arguments: "[\"abc\"]",
    }
}

impl Bench {
    fn new(images: &Path) -> Self {
        let settings = EngineSettings { prepared_entries_max: 1, ..EngineSettings::for_cells(4) };
        let options = ChildOptions {
            program: PathBuf::from("/proc/self/exe"),
            limits: CompileLimits::default(),
            functions: None,
        };
        let store = ImageStore::open(images, ImageLimits::default(), Arc::new(SystemWallClock));
        let preparation = Preparation {
            compiler: CompilerChoice::Child(options),
            images: Some(store.expect("the directory takes images")),
        };
        let sink = Arc::new(BoundedLogSink::new(1 << 20));
        let backend = WasmtimeBackend::with_preparation(settings, preparation, sink).expect("the engine starts");
        let tenant = TenantId::new("bench").expect("a plain id");
        Self { backend, repository: Arc::new(FakeRepository::sealed()), tenant }
    }

    async fn row(&self, guest: &Guest, rounds: u32) {
        let evictor = ComponentArtifact::new(latent_guests::component("echo"));
        self.repository.put(&self.tenant, &guest.artifact);
        let compile = timed(self.prepared(&guest.artifact)).await;
        let image_bytes = self.backend.resources().prepared_bytes;
        let (mut warm, mut cold) = (Series::default(), Series::default());
        for _ in 0..rounds {
            self.backend.prepare(evictor.clone(), &self.tenant).await.expect("it prepares");
            cold.push(timed(self.call(guest)).await);
            warm.push(timed(self.call(guest)).await);
        }
        let bytes = guest.artifact.bytes().len();
        let (warm, cold) = (warm.quantile_micros(500), cold.quantile_micros(500));
        println!(
            "| {} | {} | {:.2} | {:.0} | {} | {warm:.0} | {cold:.0} | {:.2} |",
            guest.label,
            bytes / 1000,
            compile.as_secs_f64(),
            kilobytes(bytes) / compile.as_secs_f64(),
            image_bytes / 1000,
            (cold - warm) / 1e3,
        );
    }

    async fn prepared(&self, artifact: &ComponentArtifact) {
        self.backend.prepare(artifact.clone(), &self.tenant).await.expect("it prepares");
    }

    /// The whole way of an admitted activation: readiness from the repository, a permit, the call.
    async fn call(&self, guest: &Guest) {
        let key = self.backend.preparation_key(guest.artifact.digest());
        let repository = self.repository.owned_by(&self.tenant);
        let ready = self.backend.prepare_ready_from_repository(repository, key).await.expect("it prepares");
        let prepared = self.backend.materialize_ready(ready).expect("a permit is free");
        let request = request(guest);
        let cancellation = suite::cancellation(&request, None);
        let ran = self.backend.invoke_prepared_contained(prepared, request, cancellation).await;
        assert!(matches!(ran.report.outcome, ExecutionOutcome::Returned(Payload { .. })), "{ran:?}");
    }
}

fn request(guest: &Guest) -> ExecutionRequest {
    let mut request = suite::request(guest.function, guest.arguments);
    request.budget = ResourceBudget::default();
    request
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1e3
}
