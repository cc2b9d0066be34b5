//! The endurance run of the whole lifecycle as a command: exits 0 only if all checks passed.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::lives::{Options, run};
use latent_node::runtime::data_runtime;

/// The threads that carry the activations.
const WORKER_THREADS: usize = 2;

/// Lives many activations of several tenants, most of which are stopped in some way, and checks that nothing is left.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many activations.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(40_000..=1_000_000_000))]
    calls: u64,
    /// How many cells are in use at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=256))]
    cells: u32,
    /// How many tasks call at once, besides one for each cell in use.
    #[arg(long, default_value_t = 52, value_parser = clap::value_parser!(u32).range(28..=4096))]
    waiting: u32,
    /// Drops about 300 activations while they run as well. Each costs a cell, for which there is a spare one.
    #[arg(long)]
    drop_running: bool,
    /// What the plans follow from: the same seed plans the same lives.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
}

fn main() -> ExitCode {
    let Arguments { calls, cells, waiting, drop_running, seed } = Arguments::parse();
    let options = Options { calls, cells, waiting: waiting as usize, seed, drop_running };
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
    eprintln!("lifecycle-endurance: {what}: {error}");
    ExitCode::FAILURE
}
