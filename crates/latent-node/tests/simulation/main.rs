//! A seeded simulation of the manager over the real admission, scheduler, pools, journal and catalog: virtual time, one
//! thread, ports that misbehave in every way that the specification speaks of. Every invariant is checked after every
//! step. `cargo xtask simulate --seeds N --from S` runs more seeds, or one again.
#![cfg(not(latent_loom))]

mod activation;
mod admissions;
mod arrivals;
mod backend;
mod board;
mod catalog;
mod check;
mod ends;
mod lasting;
mod node;
mod plan;
mod polls;
mod pool;
mod preparation;
mod random;
mod run;
mod seen;
mod trace;
mod turns;
mod wakes;
mod world;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trace::{Event, Trace};
use world::{Checked, Options, World};

const SEEDS: u64 = 2_000;
/// How much of a failing seed's trace is printed.
const TAIL: usize = 40;

/// Runs one seed, on a clock of its own.
fn simulate(seed: u64, options: Options) -> (Checked, Vec<Event>) {
    let trace = Trace::default();
    let checked = simulate_into(seed, options, &trace);
    (checked, trace.events())
}

fn simulate_into(seed: u64, options: Options, trace: &Trace) -> Checked {
    let of_run = trace.clone();
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime is made");
        runtime.block_on(tokio::task::unconstrained(async { World::new(seed, options, of_run).run().await }))
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Err(format!("a panic came through: {}", text.as_deref().unwrap_or("of another kind")))
    })
}

fn told(seed: u64, broken: &str, events: &[Event]) -> String {
    let mut text = format!("seed {seed}: {broken}\n");
    for Event { step, at, what } in &events[events.len().saturating_sub(TAIL)..] {
        let _infallible = writeln!(text, "  step {step} at {at:?}: {what:?}");
    }
    text + &format!("again: cargo xtask simulate --seeds 1 --from {seed}")
}

#[expect(clippy::disallowed_methods, reason = "the command that runs more seeds says so in the environment")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number of seeds"))
}

#[test]
fn a_seed_always_makes_the_same_trace_and_another_seed_another() {
    let mut traces = Vec::new();
    for seed in 0..20 {
        let (checked, events) = simulate(seed, Options::default());
        assert_eq!(checked, Ok(()), "{}", told(seed, "it is to hold", &events));
        let (_, again) = simulate(seed, Options::default());
        assert!(events.len() > 100, "a trace of {} events", events.len());
        assert_eq!(events, again, "seed {seed} took another way");
        assert!(!traces.contains(&events), "seed {seed} took the way of another");
        traces.push(events);
    }
}

#[test]
fn a_wall_clock_that_is_set_changes_nothing_but_absolute_deadlines() {
    for seed in 0..50 {
        let set = Options { no_absolute_deadlines: true, ..Options::default() };
        let (checked, events) = simulate(seed, set);
        assert_eq!(checked, Ok(()), "{}", told(seed, "it is to hold", &events));
        let (_, standing) = simulate(seed, Options { wall_clock_stands: true, ..set });
        assert_eq!(events, standing, "seed {seed} took another way");
    }
}

#[test]
fn every_case_is_met_within_a_few_hundred_seeds() {
    let trace = Trace::default();
    for seed in 0..400 {
        let checked = simulate_into(seed, Options::default(), &trace);
        assert_eq!(checked, Ok(()), "{}", told(seed, "it is to hold", &trace.events()));
    }
    let met = trace.cases();
    let missed: Vec<_> = seen::CASES.into_iter().filter(|case| !met.contains_key(case)).collect();
    assert!(missed.is_empty(), "never met: {missed:?}; met: {met:#?}");
    let turns = met.get("turns compared").copied().unwrap_or_default();
    assert!(turns > 100, "turns were compared {turns} times only");
}

#[test]
fn two_thousand_seeds_hold_every_invariant() {
    let from = setting("LATENT_SIMULATION_FROM").unwrap_or(0);
    let seeds = setting("LATENT_SIMULATION_SEEDS").unwrap_or(SEEDS);
    for seed in from..from + seeds {
        let (checked, events) = simulate(seed, Options::default());
        if let Err(broken) = checked {
            panic!("{}", told(seed, &broken, &events));
        }
    }
}
