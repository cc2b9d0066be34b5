//! The one binary. Reads the command line and hands it on; what a command does is in its own module.

mod check;
mod cli;
mod client;
mod config;
mod ending;
mod errors;
mod input;
mod new;
mod preparing;
mod printable;
mod progress;
mod quantities;
mod recover;
mod run;
mod serve;
mod signals;
mod terminal;
mod up;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};

/// An activation allocates a few hundred small pieces, most of which another thread may free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quiet_compiler();
    match Cli::try_parse() {
        Ok(Cli { command: Command::Run(args) }) => run::run(&args).into(),
        Ok(Cli { command: Command::Check(args) }) => check::check(&args).into(),
        Ok(Cli { command: Command::Client(command) }) => client::run(&command).into(),
        Ok(Cli { command: Command::Config(args) }) => config::config(&args).into(),
        Ok(Cli { command: Command::New(args) }) => new::new(&args).into(),
        Ok(Cli { command: Command::Recover(args) }) => recover::recover(&args).into(),
        Ok(Cli { command: Command::Serve(args) }) => serve::serve(&args).into(),
        Ok(Cli { command: Command::Up(args) }) => up::up(&args).into(),
        Ok(Cli { command: Command::CompileComponent }) => latent_wasmtime::compile_child(),
        Err(told) => cli::explain(&told),
    }
}

/// A component that the compiler panics on is refused with a sentence of its own; the panic itself tells a user
/// nothing. Every other panic is told as usual.
fn quiet_compiler() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(latent_wasmtime::COMPILER_THREAD) {
            usual(panic);
        }
    }));
}
