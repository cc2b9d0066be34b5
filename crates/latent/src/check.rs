//! `latent check`: for each component, whether a node would take it, and what it is.
//!
//! A component is taken when it passes everything that a node asks before a first call: it is read, inspected, compiled
//! under the limits of a compiler, and linked. Nothing of it runs.

mod examine;
mod report_json;
mod report_text;

use std::path::Path;

use latent_executor::BoundedLogSink;
use latent_node::runtime::data_runtime;
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

use crate::cli::{CheckArgs, OutputForm};
use crate::ending::{Exit, Failure};
use crate::signals::StopSwitch;
use crate::{preparing, terminal};
use examine::{Examined, Examiner};

/// Runs the command and says how it ended. All failures have been printed.
pub fn check(args: &CheckArgs) -> Exit {
    attempt(args).unwrap_or_else(|failure| terminal::failure(&failure))
}

fn attempt(args: &CheckArgs) -> Result<Exit, Failure> {
    let settings = EngineSettings { memory_bytes_max: args.memory, ..EngineSettings::for_cells(1) };
    let sink = std::sync::Arc::new(BoundedLogSink::new(0));
    let backend = WasmtimeBackend::with_preparation(settings, preparing::preparation(&args.cache)?, sink)
        .map_err(|error| Failure::local(format!("cannot start an engine: {}", error.message())))?;
    let runtime = data_runtime(1).map_err(|error| Failure::local(format!("cannot start a thread: {error}")))?;
    let exit = runtime.block_on(all(args, &Examiner::new(backend)));
    // After a signal a file may still be read: nobody waits for it.
    runtime.shutdown_background();
    exit
}

/// Examines one component after the other, until a signal comes. The worst finding counts.
async fn all(args: &CheckArgs, examiner: &Examiner) -> Result<Exit, Failure> {
    let signalled = StopSwitch::new();
    signalled.flip_on_signal().map_err(|error| Failure::local(format!("cannot catch signals: {error}")))?;
    let mut worst = Exit::Success;
    for path in &args.components {
        let found = tokio::select! {
            biased;
            () = signalled.on() => return Ok(Exit::Interrupted),
            found = examiner.examine(path) => found,
        };
        if !found.is_taken() {
            worst = Exit::LocalFailure;
        }
        if let Err(error) = print(args.output, path, &found) {
            return Ok(terminal::lost_output(&error, worst));
        }
    }
    Ok(worst)
}

fn print(form: OutputForm, path: &Path, examined: &Examined) -> std::io::Result<()> {
    match form {
        OutputForm::Text => terminal::to_stdout(report_text::text(path, examined).as_bytes()),
        OutputForm::Json => terminal::to_stdout(&report_json::line(path, examined)),
    }
}
