//! What a node is told: a file, flags and one variable of the environment, read once into one plain struct.
//!
//! Invariant: a key that is not known, a value that cannot be read and values that contradict each other end the start,
//! each with its name and its place.

mod check;
mod document;
mod effective;
mod example;
mod keys;
mod kinds;
mod print;
mod settings;
mod tenants;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::OutputForm;
use crate::ending::{Exit, Failure};
use crate::terminal;

pub use effective::Effective;
use effective::Origin;
pub use kinds::PressureSource;
pub use settings::{CellsConfig, Config, ListenerSettings};

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The one variable that is read.
const OTLP_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The flags that say what a node is told.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigArgs {
    /// The configuration file; without it everything has its default
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Where everything that lasts is kept (key `data_dir`)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Where calls come in, such as 127.0.0.1:7070 (key `listeners.invoke.address`)
    #[arg(long, value_name = "ADDRESS")]
    pub invoke: Option<SocketAddr>,

    /// Where the node is operated, such as 127.0.0.1:7071 (key `listeners.control.address`)
    #[arg(long, value_name = "ADDRESS")]
    pub control: Option<SocketAddr>,

    /// Where HTTP requests for components come in, such as 127.0.0.1:8080 (key `listeners.http.address`)
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
}

/// What `latent config` takes.
#[derive(Debug, Args)]
pub struct ConfigCommandArgs {
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Print a file with every key, its meaning and its default, instead of what is in force
    #[arg(long)]
    pub example: bool,

    /// How to print it: as a file with the origins in comments, or one JSON object a key
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    pub output: OutputForm,
}

/// `latent config`.
pub fn config(args: &ConfigCommandArgs) -> Exit {
    let printed = if args.example {
        example::text()
    } else {
        match load(&args.config) {
            Ok(effective) => print::print(&effective.rows(), args.output),
            Err(failure) => return terminal::failure(&failure),
        }
    };
    terminal::to_stdout(printed.as_bytes())
        .map_or_else(|lost| terminal::lost_output(&lost, Exit::Success), |()| Exit::Success)
}

/// Reads what the flags name.
///
/// # Errors
/// One sentence: which file and line, or which flag; which key; what was expected.
#[expect(clippy::disallowed_methods, reason = "this is where the configuration is parsed")]
pub fn load(args: &ConfigArgs) -> Result<Effective, Failure> {
    let variable = std::env::var(OTLP_VARIABLE).ok().filter(|text| !text.is_empty());
    read(args, variable.as_deref()).map_err(Failure::local)
}

fn read(args: &ConfigArgs, otlp: Option<&str>) -> Result<Effective, String> {
    let mut effective = Effective::default();
    if let Some(path) = &args.config {
        effective.take_file(path, &text_of(path)?)?;
    }
    if let Some(endpoint) = otlp.filter(|_| effective.config.otlp_endpoint.is_none()) {
        effective.take_text("telemetry.otlp_endpoint", endpoint, Origin::Environment(OTLP_VARIABLE))?;
    }
    if let Some(dir) = &args.data_dir {
        let text = dir.to_str().ok_or_else(|| "--data-dir: the path is no UTF-8; name another".to_owned())?;
        effective.take_text("data_dir", text, Origin::Flag("--data-dir"))?;
    }
    for (name, flag, address) in [
        ("listeners.invoke.address", "--invoke", args.invoke),
        ("listeners.control.address", "--control", args.control),
        ("listeners.http.address", "--http", args.http),
    ] {
        if let Some(address) = address {
            effective.take_text(name, &address.to_string(), Origin::Flag(flag))?;
        }
    }
    check::check(&effective.config).map_err(|wrong| match &args.config {
        Some(path) => format!("{}: {wrong}", path.display()),
        None => wrong,
    })?;
    Ok(effective)
}

fn text_of(path: &Path) -> Result<String, String> {
    let unreadable = |why: &dyn std::fmt::Display| format!("cannot read the configuration {}: {why}", path.display());
    let about = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if about.len() > FILE_BYTES_MAX {
        return Err(unreadable(&format_args!("it has {} bytes; at most {FILE_BYTES_MAX} are read", about.len())));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}
