//! The repository's own commands: `tidy`, `conformance`, `licences`, and the long ones that run the bench crate.
//!
//! Invariant: nothing here links a crate of the project, so a check still runs when the code does not build.

mod arrows;
mod conformance;
mod errors;
mod files;
mod fuzz;
mod licences;
mod links;
mod repository;
mod simulate;
mod sources;
mod tidy;

use std::io::Write as _;
use std::process::{Command, ExitCode};

use repository::Repository;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy               layout, dependency arrows, fences, error pages, links, decision records
  conformance        every row of docs/conformance.md has a test, a gate or a reason; --list prints all tests
  licences           every package of the lock file has a licence that deny.toml accepts
  endurance [ARGS]   runs `endurance` of latent-bench, e.g. `cargo xtask endurance --calls 100000`
  lifecycle [ARGS]   runs `lifecycle-endurance` of latent-bench, e.g. `cargo xtask lifecycle --drop-running`
  crash [ARGS]       runs `crash` of latent-bench, e.g. `cargo xtask crash --cycles 200`
  node [ARGS]        builds `latent` and runs `node-cycles` of latent-bench over it, e.g. `cargo xtask node --kill 200 --spin`
  scale [--max N]    builds `latent` and runs `scale` of latent-bench over it: up to 100,000 dormant deployments on one node
  fairness [ARGS]    builds `latent` and runs `fairness` of latent-bench over it, e.g. `cargo xtask fairness --seconds 5`
  soak [ARGS]        builds `latent` and runs `soak` of latent-bench over it, e.g. `cargo xtask soak --calls 20000`
  hostile [ARGS]     builds `latent` and runs `hostile` of latent-bench over it, e.g. `cargo xtask hostile --only 20,21`
  simulate [--seeds N] [--from S]
                     runs N seeds (2000), from seed S (0) on, of the simulation of latent-node
  fuzz [--seconds N] [TARGET...]
                     builds the fuzz targets and runs each, or those that are named, for N seconds (60)
  bench [ARGS]       runs the activation bench of latent-bench";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = args.split_first() else {
        return usage("no command given");
    };
    let outcome = match (command.as_str(), rest) {
        ("tidy", []) => check(tidy::run),
        ("conformance", []) => check(conformance::run),
        ("conformance", [option]) if option == "--list" => check(conformance::list),
        ("licences", []) => licences::run().map(|summary| {
            println!("{summary}");
            ExitCode::SUCCESS
        }),
        ("tidy" | "conformance" | "licences", _) => {
            return usage(&format!("`{command}` does not take `{}`", rest.join(" ")));
        }
        ("endurance", _) => cargo(&["run", "--release", "--locked", "--bin", "endurance"], rest),
        ("lifecycle", _) => cargo(&["run", "--release", "--locked", "--bin", "lifecycle-endurance"], rest),
        ("crash", _) => cargo(&["run", "--release", "--locked", "--bin", "crash"], rest),
        ("node", _) => whole_nodes("node-cycles", rest),
        ("scale", _) => whole_nodes("scale", rest),
        ("fairness", _) => whole_nodes("fairness", rest),
        ("soak", _) => whole_nodes("soak", rest),
        ("hostile", _) => whole_nodes("hostile", rest),
        ("simulate", _) => match simulate::Seeds::parse(rest) {
            Ok(seeds) => simulate::run(seeds),
            Err(wrong) => return usage(&wrong),
        },
        ("fuzz", _) => match fuzz::Asked::parse(rest) {
            Ok(asked) => fuzz::run(&asked),
            Err(wrong) => return usage(&wrong),
        },
        ("bench", _) => cargo(&["bench", "--locked", "-p", "latent-bench", "--bench", "activation"], rest),
        _ => return usage(&format!("`{command}` is not a command")),
    };
    outcome.unwrap_or_else(|sentence| {
        eprintln!("xtask: {sentence}");
        ExitCode::FAILURE
    })
}

fn usage(wrong: &str) -> ExitCode {
    eprintln!("xtask: {wrong}\n\n{USAGE}");
    ExitCode::from(2)
}

/// Loads the repository, prints what the check found, and fails when it found anything.
fn check(run: fn(&Repository) -> Result<String, Vec<String>>) -> Result<ExitCode, String> {
    let (text, failure) = match run(&Repository::load()?) {
        Ok(summary) => (summary, None),
        Err(findings) => (findings.join("\n"), Some(format!("{} findings", findings.len()))),
    };
    // A reader that closes the pipe early has seen what it wanted.
    let _closed = writeln!(std::io::stdout(), "{text}");
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Builds the program and the `trial` of latent-bench in one go, so that both are of the same sources, and runs the trial on it.
fn whole_nodes(trial: &str, rest: &[String]) -> Result<ExitCode, String> {
    let build = ["build", "--release", "--locked", "--workspace", "--bin", "latent", "--bin", trial];
    let outcome = run(repository::cargo().args(build))?;
    if outcome != ExitCode::SUCCESS {
        return Ok(outcome);
    }
    let this = std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
    let target = this.ancestors().nth(2).ok_or("this program is not in a target directory")?;
    run(Command::new(target.join("release").join(trial)).args(rest))
}

/// Runs cargo with `args -- rest` and passes its exit code on. No package is selected, so that features are those of the
/// whole workspace and the engine is not built again.
fn cargo(args: &[&str], rest: &[String]) -> Result<ExitCode, String> {
    run(repository::cargo().args(args).arg("--").args(rest))
}

/// Runs a command at the root of the repository and passes its exit code on.
fn run(command: &mut Command) -> Result<ExitCode, String> {
    let started = command.current_dir(repository::root()).status();
    let status = started.map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
