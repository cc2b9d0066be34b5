//! Dormant services as a command: one node with more and more deployments that nobody calls.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use latent_bench::nodes::program_at;
use latent_bench::scale::{Options, run};

/// Fills a node with 100, 1,000, 10,000 and 100,000 deployments and measures what each costs that nobody calls.
#[derive(Debug, Parser)]
struct Arguments {
    /// Leaves out what is larger.
    #[arg(long, value_name = "DEPLOYMENTS", default_value_t = 100_000, value_parser = parse_max)]
    max: usize,
    /// The program `latent`; otherwise the one beside this one.
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { max, node } = Arguments::parse();
    let done = program_at(node).and_then(|program| run(&Options { program, max }, &mut io::stdout().lock()));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse_max(text: &str) -> Result<usize, String> {
    let max = text.parse::<usize>().ok().filter(|max| (1_000..=100_000).contains(max));
    max.ok_or_else(|| "expected a number from 1000 to 100000".to_owned())
}
