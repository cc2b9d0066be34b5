//! `latent serve`: a node from its configuration to its clean end.
//!
//! Invariant: the signals are caught before anything begins, so that a node which is told to end while it starts does.

mod asked;
mod directory;
mod host;
mod housekeeping;
mod listeners;
mod logging;
mod node;
mod pressure;
mod sizes;
mod stop;
mod stores;
mod telemetry;

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use latent_core::{PlatformError, SystemWallClock, WallClock};
use latent_node::access::TenantDirectory as _;
use latent_node::runtime::data_runtime;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::config::{self, Config, ConfigArgs};
use crate::ending::{Exit, Failure};
use crate::terminal;
use asked::Asked;
pub use directory::make_private;
use listeners::{Listening, Prepared};
use logging::LogFormat;
use node::Node;
pub use sizes::{Places, engine, storage};
use stop::{DataRuntime, Running};
pub use stores::Stores;

/// Threads of the control runtime on which calls may wait for the disk.
const DISK_THREADS: usize = 32;
/// What the control runtime has for its end, when all else has ended.
const CONTROL_END: Duration = Duration::from_millis(100);

/// What `latent serve` takes.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub config: ConfigArgs,

    /// How to write what the node says of itself to standard error
    #[arg(long, value_name = "FORM", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// `latent serve`.
pub fn serve(args: &ServeArgs) -> Exit {
    let config = match config::load(&args.config) {
        Ok(effective) => effective.config,
        Err(failure) => return terminal::failure(&failure),
    };
    logging::begin(args.log_format);
    run(config).unwrap_or_else(|failure| terminal::failure(&failure))
}

fn run(config: Config) -> Result<Exit, Failure> {
    let no_threads = |error: io::Error| {
        let advice = "lower workers, or raise the limits of the system (RLIMIT_NPROC, RLIMIT_AS)";
        Failure::local(format!("cannot start the node's threads: {error}; {advice}"))
    };
    let control = control_runtime().map_err(no_threads)?;
    let (asking, asked) = Asked::new();
    {
        let _entered = control.enter();
        asking.ask_on_signals().map_err(|error| Failure::local(format!("cannot catch signals: {error}")))?;
    }
    let data = data_runtime(workers(&config)).map_err(no_threads)?;
    let exit = control.block_on(live(config, DataRuntime::new(data), asked));
    control.shutdown_timeout(CONTROL_END);
    exit
}

/// A node from its start to its end.
async fn live(config: Config, data: DataRuntime, asked: Asked) -> Result<Exit, Failure> {
    let failing = Arc::new(Notify::new());
    let running = start(config, data, &failing).await?;
    let state = running.node.operations.clone();
    if !asked.at_all() && state.lifecycle().started() {
        say(b"ready\n")?;
    }
    tokio::select! {
        () = asked.times(1) => tracing::info!("asked to stop"),
        () = failing.notified() => tracing::error!("too many quarantined cells; the node ends, to be started again"),
    }
    let is_failing = !asked.at_all();
    drop(state);
    // When it fails nobody has asked yet; whoever does then is in a hurry.
    let stopped = stop::stop(running, asked.times(if is_failing { 1 } else { 2 })).await;
    if stopped.is_clean() {
        tracing::info!("{stopped}");
    } else {
        tracing::error!("{stopped}");
    }
    Ok(if stopped.is_clean() && !is_failing { Exit::Success } else { Exit::LocalFailure })
}

/// Opens everything, then listens.
async fn start(config: Config, data: DataRuntime, failing: &Arc<Notify>) -> Result<Running, Failure> {
    let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
    let now = Instant::now().into_std();
    let (invoke_on, control_on) = (data.handle().clone(), Handle::current());
    let opened = spawn_blocking(move || {
        let (node, driver) = Node::open(&config, &clock, now)?;
        let told = |error: PlatformError| Failure::local(format!("cannot start the node: {}", error.message()));
        development_credential(&node, &config).map_err(told)?;
        let invoke = Prepared::new(&config.invoke, invoke_on).map_err(told)?;
        let control = Prepared::new(&config.control, control_on).map_err(told)?;
        let (invoke_at, control_at) = (invoke.place(), control.place());
        let listening = Listening::begin(&node, &config, invoke, control).map_err(told)?;
        let file = &node.places.listeners;
        directory::note_listeners(file, invoke_at, control_at)
            .map_err(|error| Failure::local(format!("cannot write {}: {error}", file.display())))?;
        Ok::<_, Failure>((node, driver, listening, [("invoke", invoke_at), ("control", control_at)]))
    });
    let opened = opened.await.map_err(|_panic| Failure::local("the node failed while it started; report this"))?;
    let (node, driver, listening, places) = opened?;
    let mut lines = String::new();
    for (name, place) in places {
        let _infallible = writeln!(lines, "{name} {}", directory::url(place));
    }
    say(lines.as_bytes())?;
    let node = Arc::new(node);
    let driver = data.handle().spawn(driver);
    let housekeeping = tokio::spawn(housekeeping::keep(node.clone(), failing.clone()));
    Ok(Running { node, listening, data, driver, housekeeping })
}

/// Makes the credential of a development node: where nobody has one, and only this machine can reach the node.
fn development_credential(node: &Node, config: &Config) -> Result<(), PlatformError> {
    let Places { credential, .. } = &node.places;
    let is_local = config.invoke.address.ip().is_loopback() && config.control.address.ip().is_loopback();
    let is_first = node.registry.credentials(None, None, 1).rows.is_empty();
    if is_local && (is_first || credential.exists()) {
        let made = node.registry.development_credential(credential)?;
        tracing::info!(file = %credential.display(), new = made.is_new, "the credential of this development node");
    }
    Ok(())
}

fn control_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(DISK_THREADS)
        .thread_name("latent-control")
        .enable_all()
        .build()
}

fn workers(config: &Config) -> usize {
    match usize::try_from(config.workers) {
        Ok(0) => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers.unwrap_or(usize::MAX),
    }
}

/// Whoever started the node reads these lines.
fn say(lines: &[u8]) -> Result<(), Failure> {
    terminal::to_stdout(lines).map_err(|error| Failure::local(format!("cannot write to standard output: {error}")))
}
