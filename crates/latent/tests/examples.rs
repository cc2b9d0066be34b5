//! The example service in Rust, JavaScript and Python: equal JSON for every case, through runner and binary.
//!
//! Opt-in, because two of the components take a toolchain and minutes: set `LATENT_EXAMPLES=1`. Tools are taken from the
//! PATH; what is missing is installed below `target/tmp/examples`, from npm or into a Python environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_activation::ActivationEnvelope;
use latent_core::principal::PrincipalKind;
use latent_core::{
    ActivationId, ActivationOutcome, CellClass, FunctionTarget, MediaType, NodeId, Payload, Principal, ResourceBudget,
    ServiceName, SystemWallClock, TenantId,
};
use latent_executor::{BoundedLogSink, ComponentArtifact, ExecutionBackend as _};
use latent_node::runtime::data_runtime;
use latent_node::{Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineSettings, ImageLimits, ImageStore, Preparation, WasmtimeBackend};
use serde_json::Value;

const CONTRACT: &str = "example:text-stats/analyze@1.0.0";

#[test]
fn the_rust_example_answers_every_case() {
    if wanted() {
        answers_every_case(&sources().join("rust/text-stats.wasm"), scratch().path());
    }
}

#[test]
fn the_javascript_example_answers_every_case() {
    if wanted() {
        let copy = copied("js");
        let bin = copy.join("js/node_modules/.bin");
        if !on_path("jco", &bin) {
            succeed(Command::new("npm").args(["install", "--no-audit", "--no-fund"]).current_dir(copy.join("js")));
        }
        let cache = scratch();
        let cold = answers_every_case(&built(&copy, "js", &bin), cache.path());
        let source = copy.join("js/text-stats.js");
        let text = std::fs::read_to_string(&source).expect("the source was copied");
        std::fs::write(&source, format!("{text}\n// An edit.\n")).expect("the copy can be edited");
        let edited = checked(&built(&copy, "js", &bin), cache.path()).expect("it is another component");
        assert!(edited * 2 < cold, "the interpreter is not compiled again: {edited:?} after {cold:?}");
    }
}

#[test]
fn the_python_example_answers_every_case() {
    if wanted() {
        let copy = copied("python");
        let venv = work().join("python-environment");
        if !on_path("componentize-py", &venv.join("bin")) {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv));
            let requirements = copy.join("python/requirements.txt");
            succeed(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "-r"]).arg(requirements));
        }
        answers_every_case(&built(&copy, "python", &venv.join("bin")), scratch().path());
    }
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever runs the tests")]
fn wanted() -> bool {
    let wanted = std::env::var("LATENT_EXAMPLES").is_ok_and(|value| value == "1");
    if !wanted {
        println!("skipped: set LATENT_EXAMPLES=1 to build and run the examples");
    }
    wanted
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/text-stats")
}

/// Where copies, tools and built components are kept between runs.
fn work() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples")
}

/// Where one component's images are kept for one test.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory takes directories")
}

/// Copies the contract and one implementation, so that a build leaves the sources as they are.
fn copied(language: &str) -> PathBuf {
    let copy = work().join(language);
    std::fs::create_dir_all(&copy).expect("the target directory takes directories");
    for part in ["wit", language] {
        succeed(Command::new("cp").arg("-R").arg(sources().join(part)).arg(&copy));
    }
    copy
}

fn search_path(first: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(first.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(directories).expect("directories of a search path can be joined again")
}

fn on_path(program: &str, first: &Path) -> bool {
    std::env::split_paths(&search_path(first)).any(|directory| directory.join(program).is_file())
}

/// Builds one implementation with its own script, with `tools` first on the search path.
fn built(copy: &Path, language: &str, tools: &Path) -> PathBuf {
    let component = copy.join("text-stats.wasm");
    let script = copy.join(language).join("build.sh");
    succeed(Command::new("bash").arg(script).arg(&component).env("PATH", search_path(tools)));
    component
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// Checks the component, then runs every case on it, and the first one through the binary too. Cold and warm times are
/// printed. Answers how long compiling took.
fn answers_every_case(component: &Path, cache: &Path) -> Duration {
    let compiled = checked(component, cache).expect("nothing is kept yet");
    assert_eq!(checked(component, cache), None, "its image was kept");
    let cases = std::fs::read(sources().join("cases.json")).expect("the example has its cases");
    let cases: Vec<Value> = serde_json::from_slice(&cases).expect("the cases are JSON");
    assert!(!cases.is_empty());
    let bench = Bench::prepare(&std::fs::read(component).expect("the component was built"), cache);
    for (number, case) in cases.iter().enumerate() {
        assert_eq!(bench.answer(number, case), case["expect"], "{}: {case}", component.display());
    }
    let case = &cases[0];
    let call = format!("{CONTRACT}#{}", case["function"].as_str().expect("a case names its function"));
    let args = case["args"].to_string();
    let run = |flag: &str, value: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
        command.arg("run").arg(component).args(["--call", &call, "--args", &args, flag]).args(value);
        let (output, took) = timed(&mut command);
        let printed: Value = serde_json::from_slice(&output.stdout).expect("the result is JSON");
        assert_eq!(printed, case["expect"]["result"], "{}", component.display());
        told(component, &format!("run {flag}"), took);
        took
    };
    run("--no-cache", None);
    let warm = run("--cache-dir", Some(cache));
    assert!(warm < Duration::from_secs(1), "a second run starts from the image: {warm:?}");
    compiled
}

/// Asks `latent check`, which must take the component, and answers how long it compiled, if it did.
fn checked(component: &Path, cache: &Path) -> Option<Duration> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.args(["check", "--output", "json"]).arg(component).arg("--cache-dir").arg(cache);
    let (output, took) = timed(&mut command);
    let line: Value = serde_json::from_slice(&output.stdout).expect("it says one object");
    assert_eq!(line["taken"], true, "{line}");
    let compiled = line["compile_millis"].as_u64().map(Duration::from_millis);
    told(component, if compiled.is_some() { "check, cold" } else { "check, warm" }, took);
    compiled
}

#[expect(clippy::disallowed_methods, reason = "cold and warm times are what is printed")]
fn timed(command: &mut Command) -> (Output, Duration) {
    let begun = Instant::now();
    let output = succeed(command);
    (output, begun.elapsed())
}

fn told(component: &Path, what: &str, took: Duration) {
    println!("{}: {what}: {:.2} s", component.display(), took.as_secs_f64());
}

/// One component, compiled once, behind a runner.
struct Bench {
    artifact: ComponentArtifact,
    runner: Phase0ActivationRunner,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    /// Prepares from the image that the binary left in `cache`.
    fn prepare(component: &[u8], cache: &Path) -> Self {
        let (clock, class) = (Arc::new(SystemWallClock), CellClass::Standard);
        let node = NodeId::new("examples").unwrap();
        let config = FixedCellPoolConfig { node, class, capacity: 1, queue_capacity: 0 };
        let pool = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
        let sink = Arc::new(BoundedLogSink::new(1 << 20));
        let images = ImageStore::open(&cache.join("images"), ImageLimits::default(), clock.clone()).unwrap();
        let preparation = Preparation { images: Some(images), ..Preparation::default() };
        let backend = WasmtimeBackend::with_preparation(EngineSettings::for_cells(1), preparation, sink).unwrap();
        let backend = Arc::new(backend);
        let artifact = ComponentArtifact::new(component.to_vec());
        let runtime = data_runtime(2).unwrap();
        runtime.block_on(backend.prepare_for_use(artifact.clone())).map(drop).expect("the node runs the component");
        let runner = Phase0ActivationRunner::new(pool, backend, clock, Phase0ActivationRunnerConfig::default());
        Self { artifact, runner, runtime }
    }

    /// What a case answers, in the form of its expectation.
    fn answer(&self, number: usize, case: &Value) -> Value {
        let function = case["function"].as_str().expect("a case names its function");
        let envelope = ActivationEnvelope {
            activation_id: ActivationId::new(format!("case-{number}")).unwrap(),
            principal: Principal {
                tenant: TenantId::new("examples").unwrap(),
                subject: ServiceName::new("test").unwrap(),
                kind: PrincipalKind::User,
            },
            target: FunctionTarget { contract: CONTRACT.into(), function: function.into() },
            payload: Payload::json(case["args"].to_string()),
            budget: ResourceBudget::default(),
            deadline: None,
            trace_parent: None,
            metadata: Vec::new(),
        };
        let report = self.runtime.block_on(self.runner.run(envelope, self.artifact.clone()));
        let (kind, payload) = match report.outcome {
            ActivationOutcome::Succeeded { output } => ("result", output),
            ActivationOutcome::DeclaredError { error } => ("declared_error", error),
            ActivationOutcome::Failed { error, .. } => panic!("{case}: {error}"),
        };
        assert_eq!(payload.media_type, MediaType::Json);
        let value: Value = serde_json::from_slice(&payload.bytes).expect("results are JSON");
        serde_json::json!({ kind: value })
    }
}
