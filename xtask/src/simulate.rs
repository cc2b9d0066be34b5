//! `cargo xtask simulate`: which seeds the simulation of latent-node runs, told to its test through the environment.

use std::process::ExitCode;

use crate::repository;

/// Which seeds are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    count: u64,
    from: u64,
}

impl Seeds {
    /// Reads `--seeds N` and `--from S`. A sentence says what is wrong.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut seeds = Self { count: 2_000, from: 0 };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            let place = match option.as_str() {
                "--seeds" => &mut seeds.count,
                "--from" => &mut seeds.from,
                _ => return Err(format!("`simulate` does not take `{option}`")),
            };
            let value = rest.next().ok_or_else(|| format!("`{option}` needs a number"))?;
            *place = value.parse().map_err(|_| format!("`{option} {value}` is not a number"))?;
        }
        match seeds.from.checked_add(seeds.count) {
            Some(_) if seeds.count > 0 => Ok(seeds),
            _ => Err("`--seeds` has to be at least 1, and the last seed has to fit 64 bits".to_owned()),
        }
    }
}

/// Runs the test, and passes its exit code on.
pub fn run(seeds: Seeds) -> Result<ExitCode, String> {
    let test = ["test", "--release", "--locked", "-p", "latent-node", "--test", "simulation"];
    let status = repository::cargo()
        .args(test)
        .args(["--", "--exact", "two_thousand_seeds_hold_every_invariant", "--nocapture"])
        .env("LATENT_SIMULATION_SEEDS", seeds.count.to_string())
        .env("LATENT_SIMULATION_FROM", seeds.from.to_string())
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Seeds, String> {
        Seeds::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn seeds_and_the_first_of_them_are_read_in_any_order() {
        assert_eq!(parse(""), Ok(Seeds { count: 2_000, from: 0 }));
        assert_eq!(parse("--from 7 --seeds 1"), Ok(Seeds { count: 1, from: 7 }));
    }

    #[test]
    fn what_is_no_number_or_no_option_is_named() {
        for (line, named) in [
            ("--seeds", "`--seeds` needs"),
            ("--seeds many", "many"),
            ("--form 1", "--form"),
            ("--seeds 0", "at least 1"),
            ("--from 18446744073709551615", "64 bits"),
        ] {
            let wrong = parse(line).expect_err(line);
            assert!(wrong.contains(named), "{line}: {wrong}");
        }
    }
}
