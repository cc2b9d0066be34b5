//! `cargo xtask fuzz`: the targets of `fuzz/`, built and run one after the other.
//!
//! Invariant: what a run finds new stays in `fuzz/corpus`, which is not kept; `fuzz/seeds` is only read.

use std::fs;
use std::process::{Command, ExitCode, Output};

use crate::repository;

/// How long each target runs if nobody says otherwise.
const SECONDS: u64 = 60;
/// Lines of what a target said last that are shown when it failed.
const TAIL: usize = 40;
/// A single input takes no longer and a target no more memory, whatever the input is.
const BOUNDS: [&str; 4] = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=8192", "-print_final_stats=1"];
/// Every build of the project is with a stable compiler, which has coverage only when it is told so.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// What is run, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    seconds: u64,
    /// All of them, when none is named.
    targets: Vec<String>,
}

impl Asked {
    /// Reads `--seconds N` and names of targets. A sentence says what is wrong.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut asked = Self { seconds: SECONDS, targets: Vec::new() };
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if word == "--seconds" {
                let value = rest.next().ok_or("`--seconds` needs a number")?;
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                asked.seconds = seconds.ok_or_else(|| format!("`--seconds {value}` is no number above 0"))?;
            } else if word.starts_with('-') {
                return Err(format!("`fuzz` does not take `{word}`"));
            } else {
                asked.targets.push(word.clone());
            }
        }
        Ok(asked)
    }
}

/// Builds the targets and runs them. The last line is `N passed, N failed`.
pub fn run(asked: &Asked) -> Result<ExitCode, String> {
    let installed = command(&["--version"]).output().map_err(|error| cannot_start(&error))?;
    if !installed.status.success() {
        return Err("cargo-fuzz is not installed; `cargo install cargo-fuzz` installs it".to_owned());
    }
    let known = targets()?;
    let unknown = asked.targets.iter().find(|name| !known.contains(name));
    if let Some(name) = unknown {
        return Err(format!("there is no target `{name}`; there are: {}", known.join(", ")));
    }
    let built = command(&["build", "--sanitizer", "none"]).status().map_err(|error| cannot_start(&error))?;
    if !built.success() {
        return Err("the targets do not build".to_owned());
    }
    let chosen = if asked.targets.is_empty() { &known } else { &asked.targets };
    let mut failed = 0;
    for name in chosen {
        let told = one(name, asked.seconds)?;
        let said = String::from_utf8_lossy(&told.stderr);
        let executions = executions(&said).map_or_else(|| "?".to_owned(), |count| count.to_string());
        let result = if told.status.success() { "passed" } else { "FAILED" };
        println!("{name:<12} {executions:>12} executions  {result}");
        if !told.status.success() {
            failed += 1;
            let lines: Vec<&str> = said.lines().collect();
            println!("{}", lines[lines.len().saturating_sub(TAIL)..].join("\n"));
        }
    }
    println!("{} passed, {failed} failed", chosen.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one target from its corpus, its seeds, and its dictionary if there is one.
fn one(name: &str, seconds: u64) -> Result<Output, String> {
    let root = repository::root().join("fuzz");
    let (corpus, seeds, words) = (
        root.join("corpus").join(name),
        root.join("seeds").join(name),
        root.join("dictionaries").join(format!("{name}.dict")),
    );
    fs::create_dir_all(&corpus).map_err(|error| format!("cannot make {}: {error}", corpus.display()))?;
    let mut command = command(&["run", "--sanitizer", "none", name]);
    command.arg(corpus);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.arg("--").args(BOUNDS).arg(format!("-max_total_time={seconds}"));
    if words.is_file() {
        command.arg(format!("-dict={}", words.display()));
    }
    command.output().map_err(|error| cannot_start(&error))
}

fn command(args: &[&str]) -> Command {
    let mut command = repository::cargo();
    command.arg("fuzz").args(args).env(UNSTABLE.0, UNSTABLE.1);
    command
}

fn cannot_start(error: &std::io::Error) -> String {
    format!("cannot start cargo: {error}")
}

/// The names of the targets, in order.
fn targets() -> Result<Vec<String>, String> {
    let place = repository::root().join("fuzz/targets");
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", place.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&place).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.file_name();
        names.extend(file.to_str().and_then(|name| name.strip_suffix(".rs")).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// How many inputs were tried, as libFuzzer says it at its end.
fn executions(said: &str) -> Option<u64> {
    let stated = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    stated.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked, String> {
        Asked::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn seconds_and_targets_are_read_in_any_order() {
        assert_eq!(parse(""), Ok(Asked { seconds: SECONDS, targets: vec![] }));
        let expected = Asked { seconds: 5, targets: vec!["values".to_owned(), "edge".to_owned()] };
        assert_eq!(parse("values --seconds 5 edge"), Ok(expected));
    }

    #[test]
    fn what_is_no_number_or_no_option_is_named() {
        for (line, named) in [("--seconds", "needs"), ("--seconds 0", "above 0"), ("--second 5", "--second`")] {
            let wrong = parse(line).expect_err(line);
            assert!(wrong.contains(named), "{line}: {wrong}");
        }
    }

    #[test]
    fn every_target_is_found_and_has_its_function() {
        let names = targets().expect("the targets are listed");
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            assert!(repository::root().join(format!("fuzz/src/{name}.rs")).is_file(), "{name}");
        }
    }

    #[test]
    fn executions_are_read_from_what_is_said_at_the_end() {
        let said = "Done 7 runs in 1 second(s)\nstat::number_of_executed_units: 1234\nstat::peak_rss_mb: 5\n";
        assert_eq!(executions(said), Some(1234));
        assert_eq!(executions("it crashed"), None);
    }
}
