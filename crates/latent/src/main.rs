//! The one binary. Reads the command line and hands it on; what a command does is in its own module.

mod cli;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::run(&args).into(),
    }
}
