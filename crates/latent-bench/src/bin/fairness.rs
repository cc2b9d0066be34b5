//! The noisy neighbour: what a tenant that behaves sees beside tenants that do not.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use latent_bench::fairness::{Options, hostile, run};
use latent_bench::nodes::program_at;

/// Puts hostile tenants beside one that behaves, on a node of `latent serve`, and says what it sees of them.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long each row is measured.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// The program `latent`; otherwise the one beside this one.
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(hostile::ARGUMENT) {
        return end(hostile::serve().map(|()| true));
    }
    let Arguments { seconds, node } = Arguments::parse();
    let options = program_at(node).map(|program| Options { program, span: Duration::from_secs(seconds) });
    let outcome = options.and_then(|options| run(&options, &mut io::stdout().lock()));
    end(outcome.map_err(|error| error.to_string()))
}

fn end(outcome: Result<bool, String>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            eprintln!("fairness: {wrong}");
            ExitCode::FAILURE
        }
    }
}
