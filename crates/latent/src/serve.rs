//! `latent serve`: a node from its configuration to its clean end.
//!
//! Invariant: the signals are caught before anything begins, so that a node which is told to end while it starts does.

mod asked;
mod beside;
mod descriptors;
mod directory;
#[cfg(test)]
mod faults;
mod holder;
mod host;
mod housekeeping;
mod listeners;
mod logging;
mod node;
mod pressure;
mod renewing;
mod sizes;
mod stop;
mod stores;
mod telemetry;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use latent_core::{PlatformError, SystemWallClock, WallClock};
use latent_node::ActivationObserver;
use latent_node::access::TenantDirectory as _;
use latent_node::runtime::data_runtime;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::config::{self, Config, ConfigArgs};
use crate::ending::{Exit, Failure};
use crate::terminal;
use beside::Beside;
use listeners::{Addresses, Listening, Prepared};

pub use asked::Asked;
pub use beside::{Companion, Ready, Work};
pub use directory::make_private;
pub use logging::{LogFormat, begin as begin_logging};
pub use node::Node;
pub use sizes::{Places, engine, storage};
use stop::{DataRuntime, Running};
pub use stores::Stores;

/// Threads of the control runtime on which calls may wait for the disk.
const DISK_THREADS: usize = 32;
/// What the control runtime has for its end, when all else has ended.
const CONTROL_END: Duration = Duration::from_millis(100);
/// What a companion has for its end, before activations are asked for theirs.
const COMPANION_END: Duration = Duration::from_millis(500);

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
    run(config, None).unwrap_or_else(|failure| terminal::failure(&failure))
}

/// Runs a node from its start to its end, with a companion, if there is one, in the place of the lines that the node
/// says on standard output.
///
/// # Errors
/// One sentence: why it cannot start.
pub fn run(mut config: Config, companion: Option<Companion>) -> Result<Exit, Failure> {
    descriptors::fit(&mut config).map_err(Failure::local)?;
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
    let exit = control.block_on(live(config, DataRuntime::new(data), asked, companion));
    control.shutdown_timeout(CONTROL_END);
    exit
}

/// A node from its start to its end.
async fn live(config: Config, data: DataRuntime, asked: Asked, companion: Option<Companion>) -> Result<Exit, Failure> {
    let failing = Arc::new(Notify::new());
    let (observer, begin) = companion.map(|companion| (companion.observer, companion.begin)).unzip();
    let (running, ready) = start(config, data, &failing, observer, asked.clone()).await?;
    let mut beside = Beside::begin(begin, ready)?;
    tokio::select! {
        () = asked.times(1) => tracing::info!("asked to stop"),
        () = failing.notified() => tracing::error!("too many quarantined cells; the node ends, to be started again"),
        () = beside.failed() => {}
    }
    let is_failing = !asked.at_all();
    beside.end(COMPANION_END).await;
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
async fn start(
    config: Config,
    data: DataRuntime,
    failing: &Arc<Notify>,
    observer: Option<Arc<dyn ActivationObserver>>,
    asked: Asked,
) -> Result<(Running, Ready), Failure> {
    let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
    let now = Instant::now().into_std();
    let (data_on, control_on) = (data.handle().clone(), Handle::current());
    let opened = spawn_blocking(move || {
        let (node, driver) = Node::open(&config, &clock, now, observer)?;
        let told = |error: PlatformError| Failure::local(format!("cannot start the node: {}", error.message()));
        development_credential(&node, &config).map_err(told)?;
        let invoke = Prepared::new(&config.invoke, data_on.clone())
            .map_err(|error| no_listener("--invoke", config.invoke.address, &error))?;
        let control = Prepared::new(&config.control, control_on)
            .map_err(|error| no_listener("--control", config.control.address, &error))?;
        let http =
            Prepared::new(&config.http, data_on).map_err(|error| no_listener("--http", config.http.address, &error))?;
        let places = [invoke.place(), control.place(), http.place()];
        let listening = Listening::begin(&node, &config, Addresses { invoke, control, http }).map_err(told)?;
        let file = &node.places.listeners;
        directory::note_listeners(file, places)
            .map_err(|error| Failure::local(format!("cannot write {}: {error}", file.display())))?;
        Ok::<_, Failure>((node, driver, listening, places.map(directory::url)))
    });
    let opened = opened.await.map_err(|_panic| Failure::local("the node failed while it started; report this"))?;
    let (node, driver, listening, [invoke, control, http]) = opened?;
    let node = Arc::new(node);
    let driver = data.handle().spawn(driver);
    let housekeeping = tokio::spawn(housekeeping::keep(node.clone(), failing.clone()));
    if !listening.tls().is_empty() {
        renewing::renew_on_hangup(listening.tls().to_vec())
            .map_err(|error| Failure::local(format!("cannot catch signals: {error}")))?;
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %invoke, %control, %http, "listening");
    warn_if_nobody_is_known(&node);
    let ready = Ready { node: node.clone(), invoke, control, http, asked };
    Ok((Running { node, listening, data, driver, housekeeping }, ready))
}

/// Why a listener is not to be had; of an address that is taken, who has it and how to choose another.
fn no_listener(flag: &str, address: SocketAddr, error: &PlatformError) -> Failure {
    let holder = holder::of(address).filter(|_| error.has_detail("listener.bind"));
    let what = holder.map_or_else(String::new, |holder| {
        let free = SocketAddr::new(address.ip(), 0);
        format!(" (the process {holder} has it; {flag} {free} takes any port that is free)")
    });
    Failure::local(format!("cannot start the node: {}{what}", error.message()))
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

/// What to do about a node that nobody can use.
fn warn_if_nobody_is_known(node: &Node) {
    if node.registry.credentials(None, None, 1).rows.is_empty() {
        tracing::warn!(
            "there is no credential, so that nobody can use this node: stop it, and make one with `latent recover`"
        );
    }
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

#[cfg(test)]
mod tests;
