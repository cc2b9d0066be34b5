//! `latent run`: a node for one command, from the flags to the exit code.
//!
//! The order is: read what the user named, build the node, inspect, compile, deploy, choose the function, run the
//! activations, print what is left. Each part is a module; the pure ones decide, and only `input`, `signals` and `printer` have effects.

mod execute;
mod node;
mod printer;
mod report_json;
mod report_text;
mod target;
mod verdict;

use std::path::Path;
use std::sync::Arc;

use latent_core::{ContractSurface, PlatformError, PlatformErrorCode};
use latent_node::runtime::data_runtime;

use crate::cli::{OutputForm, RunArgs};
use crate::ending::{Exit, Failure};
use crate::input::{self, Arguments};
use crate::signals::StopSwitch;
use crate::{preparing, progress, terminal};
use execute::{Load, execute};
use node::{Call, Node, NodeOptions};
use printer::Printer;

pub use node::service_name;

/// Runs the command and says how it ended. All failures have been printed.
pub fn run(args: &RunArgs) -> Exit {
    attempt(args).unwrap_or_else(|failure| terminal::failure(&failure))
}

fn attempt(args: &RunArgs) -> Result<Exit, Failure> {
    let options = node_options(args);
    let limits = options.engine();
    let artifact = input::component(&args.component, limits.component_bytes_max)?;
    let arguments = input::arguments(args.args.as_deref(), args.media_type, limits.values.bytes_in_max)?;
    let node = Arc::new(Node::start(options, &args.component, artifact, preparing::preparation(&args.cache)?)?);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runtime = data_runtime(workers)
        .map_err(|error| Failure::local(format!("cannot start the runtime's {workers} threads: {error}")))?;
    let exit = runtime.block_on(serve(args, &node, arguments));
    // After a signal a component may still be inspected: nobody waits for it.
    runtime.shutdown_background();
    exit
}

/// One activation of a node has the grant that is also the node's ceiling.
fn node_options(args: &RunArgs) -> NodeOptions {
    NodeOptions {
        cells: args.cells,
        in_flight_max: u32::try_from(args.repeat).map_or(args.concurrency, |repeat| repeat.min(args.concurrency)),
        fuel: args.fuel,
        memory_bytes: args.memory,
        log_bytes: args.log_bytes,
        deadline: args.deadline,
    }
}

async fn serve(args: &RunArgs, node: &Arc<Node>, arguments: Arguments) -> Result<Exit, Failure> {
    let signalled = StopSwitch::new();
    signalled.flip_on_signal().map_err(|error| Failure::local(format!("cannot catch signals: {error}")))?;
    let printer = Printer {
        form: args.output,
        named: args.repeat > 1,
        arguments: arguments.named,
        component: args.component.display().to_string(),
    };
    printer.warn_about(node.engine());
    let choose = |surface: &ContractSurface| target::choose(surface, args.call.as_deref());
    if !node.has_image() {
        // Compiling takes a while: a function that is not there is told before.
        match inspect(node, &signalled).await {
            Ok(surface) => drop(choose(&surface)?),
            Err(error) => return Ok(never_started(node, &printer, error, &signalled)),
        }
    }
    let surface = match prepare(node, &printer, &signalled).await {
        Ok(surface) => surface,
        Err(error) => return Ok(never_started(node, &printer, error, &signalled)),
    };
    let target = choose(&surface)?;
    let call = Arc::new(Call { target, payload: arguments.payload });
    let load = Load { repeat: args.repeat, concurrency: args.concurrency };
    let ended = execute(node, &call, load, &signalled, |record| printer.record(record)).await;
    let exit = match ended {
        Ok(worst) if signalled.is_on() => worst.max(Exit::Interrupted),
        Ok(worst) => worst,
        // A lost output flips the switch too, and is no interrupt.
        Err((error, worst)) => return Ok(terminal::lost_output(&error, worst)),
    };
    Ok(finish(node, &printer, exit))
}

/// Inspects on a thread that may block, unless a signal comes first.
async fn inspect(node: &Arc<Node>, signalled: &StopSwitch) -> Result<ContractSurface, PlatformError> {
    let node = node.clone();
    let inspecting = tokio::task::spawn_blocking(move || node.inspect());
    tokio::select! {
        biased;
        () = signalled.on() => Err(PlatformError::cancelled()),
        inspected = inspecting => inspected.unwrap_or_else(|_panicked| {
            Err(PlatformError::new(PlatformErrorCode::Internal, "inspecting the component failed"))
        }),
    }
}

/// Compiles and deploys, unless a signal comes first.
async fn prepare(node: &Node, printer: &Printer, signalled: &StopSwitch) -> Result<ContractSurface, PlatformError> {
    let bytes = node.artifact().bytes().len() as u64;
    let is_shown = printer.form == OutputForm::Text && !node.has_image();
    let prepared = node.prepare();
    let prepared = async move {
        if is_shown {
            progress::while_compiling(Path::new(&printer.component), bytes, prepared).await
        } else {
            prepared.await
        }
    };
    tokio::select! {
        biased;
        () = signalled.on() => Err(PlatformError::cancelled()),
        prepared = prepared => prepared,
    }
}

/// Prints the record of the activation that could not be, so that machines find the reason where they look for it.
fn never_started(node: &Node, printer: &Printer, error: PlatformError, signalled: &StopSwitch) -> Exit {
    let record = node.never_started(error);
    // Whatever the reason is called: nothing has run.
    let exit = if signalled.is_on() { Exit::Interrupted } else { Exit::LocalFailure };
    match printer.record(&record) {
        Ok(()) => finish(node, printer, exit),
        Err(lost) => terminal::lost_output(&lost, exit),
    }
}

fn finish(node: &Node, printer: &Printer, exit: Exit) -> Exit {
    match printer.rest(&node.rest()) {
        Ok(()) => exit,
        Err(error) => terminal::lost_output(&error, exit),
    }
}
