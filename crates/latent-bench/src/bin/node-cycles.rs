//! Whole nodes under trial: killed, told to end, full of spinning guests, and short of what they need.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::nodes::{Options, program_at, run};

/// Tries `latent serve` from outside, and says what came of it. Without a trial named, all of them.
#[derive(Debug, Parser)]
struct Arguments {
    /// Cycles of load, `kill -9` and restart.
    #[arg(long, value_name = "CYCLES", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    kill: u64,
    /// Cycles of load and SIGTERM.
    #[arg(long, value_name = "CYCLES", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    term: u64,
    /// How soon a node full of spinning guests tells its state and cancels.
    #[arg(long)]
    spin: bool,
    /// Descriptors, disk, memory, and a directory of two nodes.
    #[arg(long)]
    faults: bool,
    /// What changes and moments follow from.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// The program `latent`; otherwise the one beside this one.
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match options(arguments).and_then(|options| run(&options, &mut io::stdout().lock())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("node-cycles: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: Arguments) -> io::Result<Options> {
    let Arguments { mut kill, mut term, mut spin, mut faults, seed, node } = arguments;
    if kill == 0 && term == 0 && !spin && !faults {
        (kill, term, spin, faults) = (200, 200, true, true);
    }
    let program = program_at(node)?;
    Ok(Options { program, kill, term, spin, faults, seed })
}
