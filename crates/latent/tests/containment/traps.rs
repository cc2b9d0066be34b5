//! Guests that trap late or deep, and one that only talks a lot.

use latent_core::TerminalState;

use crate::calls::{assert_failed, call, failed, mode, succeeded};
use crate::support::{Setup, on_node};

fn category(report: &latent_node::ActivationReport) -> Option<&str> {
    failed(report).1.details()[0].field("category")
}

#[test]
fn recursion_to_the_end_of_the_stack_is_a_trap() {
    on_node(Setup::default(), |node| async move {
        for function in ["overflow", "overflow-into-host"] {
            let report = node.run(call("stack-overflow", "recurse", function, "[]")).await;
            assert_failed(&report, TerminalState::GuestTrap, "activation.guest-trap");
            assert_eq!(category(&report), Some("stack-overflow"), "{function}");
            node.settled().await;
        }
        let report = node.run(call("fails-start-recursion", "run", "run", "[]")).await;
        assert_failed(&report, TerminalState::GuestTrap, "activation.guest-trap");
        assert_eq!(category(&report), Some("stack-overflow"), "during instantiation");
    });
}

#[test]
fn a_trap_in_post_return_fails_the_call_and_not_the_next() {
    on_node(Setup::default(), |node| async move {
        for _ in 0..3 {
            let report = node.run(call("trap-post-return", "run", "run", "[]")).await;
            assert_failed(&report, TerminalState::GuestTrap, "activation.guest-trap");
            assert_eq!(category(&report), Some("unreachable"));
            node.healthy().await;
        }
    });
}

#[test]
fn a_trap_is_told_without_the_guests_own_frames() {
    on_node(Setup::default(), |node| async move {
        let report = node.run(mode("trap", "[]")).await;
        let (_, error) = failed(&report);
        assert_eq!(error.message(), "the guest trapped: unreachable");
        assert_eq!((error.details().len(), error.details()[0].fields().len()), (1, 1));
    });
}

#[test]
fn a_million_host_calls_finish_and_are_charged() {
    on_node(Setup::default(), |node| async move {
        let calls = 1_000_000;
        let chatter = |count: u64| call("host-calls", "calls", "clock-reads", &format!("[{count}]")).fuel(u64::MAX);
        let report = node.run(chatter(calls)).await;
        assert_eq!(succeeded(&report), format!("\"{calls}\""));
        let half = node.run(chatter(calls / 2)).await;
        let per_call = (report.consumption.fuel - half.consumption.fuel) / (calls / 2);
        assert!(per_call >= 1, "each call is charged");
        println!("{calls} host calls: {} fuel, {:?}", report.consumption.fuel, report.consumption.wall_time);

        let granted = report.consumption.fuel / 2;
        let cut = node.run(chatter(calls).fuel(granted)).await;
        assert_failed(&cut, TerminalState::ResourceExhausted, "activation.fuel-exhausted");
        assert_eq!(cut.consumption.fuel, granted);
    });
}
