//! The kill test as a command: kills a process that changes a storage, again and again, and looks at what is left.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use latent_bench::crash::{Options, run, work};

/// Kills a process that changes a storage at random points, and checks that everything acknowledged is there.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many kills.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    cycles: u64,
    /// What changes and kills follow from.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// Be the process that is killed, in this directory.
    #[arg(long, hide = true)]
    work_in: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { cycles, seed, work_in } = Arguments::parse();
    let done = match work_in {
        Some(directory) => work(&directory, seed, &mut io::stdout().lock()).map(|()| true),
        None => in_a_fresh_directory(Options { cycles, seed }),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crash: {error}");
            ExitCode::FAILURE
        }
    }
}

fn in_a_fresh_directory(options: Options) -> io::Result<bool> {
    let directory = tempfile::tempdir()?;
    run(options, directory.path(), Path::new("/proc/self/exe"), &mut io::stdout().lock())
}
