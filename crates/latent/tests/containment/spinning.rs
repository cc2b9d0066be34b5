//! Guests that never come back, wherever they hang: each ends by its deadline, within the documented tolerance.

use std::time::Duration;

use latent_core::TerminalState;
use latent_node::ActivationReport;

use crate::calls::{Call, assert_deadline, assert_failed, call, spin};
use crate::support::{Node, Setup, alone_on_node, now, on_node};

/// Runs `call` under a deadline of `requested` and checks both sides of it.
pub async fn ends_by_deadline(node: &Node, what: &str, call: Call, requested: Duration) -> ActivationReport {
    let started = now();
    let report = node.run(call.within(requested)).await;
    let elapsed = started.elapsed();
    assert_deadline(&report);
    assert!(elapsed >= requested, "{what} ended {:?} early", requested.saturating_sub(elapsed));
    let allowed = requested + node.tolerance();
    assert!(elapsed <= allowed, "{what} took {elapsed:?}, allowed are {allowed:?}");
    println!("{what}: {requested:?} requested, overshot by {:?}", elapsed.saturating_sub(requested));
    report
}

const REQUESTED: Duration = Duration::from_millis(100);

fn hangs(fixture: &'static str, args: &'static str) {
    alone_on_node(Setup::default(), move |node| async move {
        node.warm(fixture).await;
        ends_by_deadline(&node, fixture, call(fixture, "run", "run", args).fuel(u64::MAX), REQUESTED).await;
    });
}

#[test]
fn an_infinite_loop_ends_by_its_deadline() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let report = ends_by_deadline(&node, "spin", spin(), REQUESTED).await;
        println!("spin: {} fuel in {:?}", report.consumption.fuel, report.consumption.wall_time);
        // A guest keeps its count in a register and is stopped in the middle of it.
        assert!(report.consumption.fuel >= 1_000_000, "what it burnt is kept");
        assert!(report.consumption.wall_time >= REQUESTED - Duration::from_millis(20));
    });
}

#[test]
fn an_infinite_loop_ends_by_its_deadline_without_a_cache_and_with_long_ticks() {
    let mut setup = Setup::uncached();
    setup.settings.epoch_tick_interval_millis = 20;
    setup.settings.epoch_deadline_ticks = 3;
    alone_on_node(setup, |node| async move {
        ends_by_deadline(&node, "spin, 3 ticks of 20 ms", spin(), REQUESTED).await;
    });
}

#[test]
fn a_start_function_that_spins_ends_by_its_deadline() {
    hangs("spin-start", "[]");
}

#[test]
fn a_start_function_that_parks_ends_by_its_deadline() {
    hangs("park-start", "[]");
}

#[test]
fn an_allocator_that_spins_ends_by_its_deadline() {
    hangs("spin-realloc", "[\"text\"]");
}

#[test]
fn a_post_return_that_spins_ends_by_its_deadline() {
    hangs("spin-post-return", "[]");
}

#[test]
fn an_endless_list_ends_at_the_limit_of_what_a_call_may_carry() {
    on_node(Setup::default(), |node| async move {
        node.warm("endless-list").await;
        for function in ["strings", "lists"] {
            let endless = call("endless-list", "run", function, "[]").fuel(u64::MAX);
            let started = now();
            let report = node.run(endless.within(Duration::from_secs(2))).await;
            println!("endless {function}: {:?}", started.elapsed());
            assert_failed(&report, TerminalState::ResourceExhausted, "activation.host-call-exhausted");
        }
    });
}

#[test]
fn an_endless_list_within_a_wide_limit_ends_by_its_deadline() {
    let mut setup = Setup::default();
    setup.settings.host_call_bytes_max = 64 << 20;
    alone_on_node(setup, |node| async move {
        node.warm("endless-list").await;
        for function in ["strings", "lists"] {
            let endless = call("endless-list", "run", function, "[]").fuel(u64::MAX);
            ends_by_deadline(&node, function, endless, Duration::from_millis(1)).await;
        }
    });
}
