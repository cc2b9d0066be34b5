//! Hostile inputs and faults against nodes that run.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::hostile::{Options, run};

/// Does to `latent serve` whatever a hostile guest, tenant, peer or machine can, and looks that it goes on.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rows to try, such as `20,21`; otherwise all.
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    only: Vec<String>,
    /// What random moments and places follow from.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// The program `latent`; otherwise the one beside this one.
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { only, seed, node } = Arguments::parse();
    let outcome = latent_bench::nodes::program_at(node)
        .and_then(|program| run(&Options { program, only, seed }, &mut io::stdout().lock()));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hostile: {error}");
            ExitCode::FAILURE
        }
    }
}
