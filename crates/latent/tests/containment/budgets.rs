//! What an activation used is exact where the engine is, and never above what was granted.

use latent_core::TerminalState;

use crate::calls::{assert_failed, mode, succeeded};
use crate::support::{Setup, on_node};

#[test]
fn exhausted_fuel_is_charged_to_the_last_unit() {
    on_node(Setup::default(), |node| async move {
        for granted in [1, 100, 12_345, 5_000_000] {
            let report = node.run(mode("spin", "[]").fuel(granted)).await;
            assert_failed(&report, TerminalState::ResourceExhausted, "activation.fuel-exhausted");
            assert_eq!(report.consumption.fuel, granted);
        }
    });
}

#[test]
fn fuel_that_suffices_suffices_and_a_few_rounds_less_do_not() {
    on_node(Setup::default(), |node| async move {
        let used = node.run(mode("burn", "[1000]")).await.consumption.fuel;
        let exact = node.run(mode("burn", "[1000]").fuel(used)).await;
        succeeded(&exact);
        assert_eq!(exact.consumption.fuel, used, "the same work costs the same");
        // The engine looks at the account once a round.
        let granted = used - used / 100;
        let short = node.run(mode("burn", "[1000]").fuel(granted)).await;
        assert_failed(&short, TerminalState::ResourceExhausted, "activation.fuel-exhausted");
        assert_eq!(short.consumption.fuel, granted);
    });
}

#[test]
fn peak_memory_never_exceeds_the_grant_whatever_the_step() {
    on_node(Setup::default(), |node| async move {
        const PAGE: u64 = 64 << 10;
        for granted in [2 * PAGE, 3 * PAGE - 1, 10 * PAGE, 16 << 20] {
            for step in [1, 7, 64, 40_000] {
                let report = node.run(mode("grow-memory", &format!("[{step}]")).memory(granted)).await;
                assert_failed(&report, TerminalState::ResourceExhausted, "activation.memory-exhausted");
                let fitting = 2 + (granted / PAGE - 2) / step * step;
                assert_eq!(report.consumption.peak_memory_bytes, fitting * PAGE, "{granted} bytes, steps of {step}");
                assert!(report.consumption.peak_memory_bytes <= granted);
            }
        }
    });
}

#[test]
fn a_guest_that_takes_the_denial_well_goes_on() {
    on_node(Setup::default(), |node| async move {
        let report = node.run(mode("grow-memory-politely", "[1]").memory(1 << 20)).await;
        assert_eq!(succeeded(&report), "16");
        assert_eq!(report.consumption.peak_memory_bytes, 1 << 20);
    });
}

#[test]
fn a_grant_below_what_the_guest_declares_is_memory_exhaustion_before_it_runs() {
    on_node(Setup::default(), |node| async move {
        let report = node.run(mode("echo", "[\"hi\"]").memory(1 << 16)).await;
        assert_failed(&report, TerminalState::ResourceExhausted, "activation.memory-exhausted");
        assert_eq!((report.consumption.peak_memory_bytes, report.consumption.fuel), (0, 0));
    });
}

#[test]
fn consumption_is_kept_whatever_the_outcome() {
    on_node(Setup::default(), |node| async move {
        for call in [mode("trap", "[]"), mode("declared", "[true]"), mode("delayed-trap", "[5]")] {
            let delayed = call.to_string().ends_with("delayed-trap");
            let consumption = node.run(call).await.consumption;
            assert!(consumption.fuel > 0 && consumption.peak_memory_bytes == 2 << 16, "{consumption:?}");
            assert!(!consumption.wall_time.is_zero());
            assert!(!delayed || consumption.wall_time.as_millis() >= 5, "parked time is the guest's: {consumption:?}");
        }
    });
}
