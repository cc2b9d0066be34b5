//! The soak: many calls of one node, and what it holds afterwards.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::nodes::program_at;
use latent_bench::soak::{CALLS_MIN, Options, run};

/// Calls a node of `latent serve` by every way in, and judges each end, its memory, its inventory and its usage log.
#[derive(Debug, Parser)]
struct Arguments {
    /// Calls.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(CALLS_MIN..=100_000_000))]
    calls: u64,
    /// What the calls follow from.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// The program `latent`; otherwise the one beside this one.
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { calls, seed, node } = Arguments::parse();
    let options = program_at(node).map(|program| Options { program, calls, seed });
    match options.and_then(|options| run(&options, &mut io::stdout().lock())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}
