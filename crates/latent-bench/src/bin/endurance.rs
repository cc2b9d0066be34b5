//! The endurance run as a command: reads the options, runs on the node's own runtime, exits 0 only if all checks passed.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::endurance::{Options, run};
use latent_node::runtime::data_runtime;

/// The threads that carry the activations.
const WORKER_THREADS: usize = 2;

/// Runs mixed activations that succeed, fail and are stopped, and checks that nothing of them is left.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many activations.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    calls: u64,
    /// How many cells.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    cells: u32,
    /// How many tasks call at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    concurrency: u32,
    /// What the calls follow from: the same seed makes the same calls.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
}

fn main() -> ExitCode {
    let Arguments { calls, cells, concurrency, seed } = Arguments::parse();
    let options = Options { calls, cells, concurrency: concurrency as usize, seed };
    let runtime = match data_runtime(WORKER_THREADS) {
        Ok(runtime) => runtime,
        Err(error) => return failed("the system gives no thread, timer or event queue", &error),
    };
    match runtime.block_on(run(options, &mut io::stdout())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed("the results cannot be written", &error),
    }
}

fn failed(what: &str, error: &io::Error) -> ExitCode {
    eprintln!("endurance: {what}: {error}");
    ExitCode::FAILURE
}
