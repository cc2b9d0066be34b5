//! Every class of failure, and a healthy call immediately after each.

use std::time::Duration;

use latent_activation::CancelDisposition;
use latent_core::{ActivationOutcome, TerminalState};
use latent_node::ActivationReport;

use crate::calls::{Call, assert_cancelled, assert_deadline, assert_failed, call, failed, mode, spin, succeeded};
use crate::polls::poll_once;
use crate::support::{Node, Setup, on_node};

/// How an activation can end badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Trap,
    DelayedTrap,
    StackOverflow,
    Fuel,
    Memory,
    Deadline,
    Cancel,
    Limit,
    Exit,
    Declared,
    Start,
    BadArguments,
    UnknownFunction,
    MissingImport,
}

impl Class {
    pub const ALL: [Self; 14] = [
        Self::Trap,
        Self::DelayedTrap,
        Self::StackOverflow,
        Self::Fuel,
        Self::Memory,
        Self::Deadline,
        Self::Cancel,
        Self::Limit,
        Self::Exit,
        Self::Declared,
        Self::Start,
        Self::BadArguments,
        Self::UnknownFunction,
        Self::MissingImport,
    ];

    const MEMORY_BYTES: u64 = 4 << 20;

    fn call(self) -> Call {
        match self {
            Self::Trap => mode("trap", "[]"),
            Self::DelayedTrap => mode("delayed-trap", "[1]"),
            Self::StackOverflow => call("stack-overflow", "recurse", "overflow", "[]"),
            Self::Fuel => mode("spin", "[]").fuel(10_000),
            Self::Memory => mode("grow-memory", "[4]").memory(Self::MEMORY_BYTES),
            Self::Deadline => spin().within(Duration::from_millis(2)),
            Self::Cancel => spin(),
            Self::Limit => call("endless-list", "run", "strings", "[]"),
            Self::Exit => call("exit", "leave", "exit", "[false]"),
            Self::Declared => mode("declared", "[true]"),
            Self::Start => call("trap-start", "run", "run", "[]"),
            Self::BadArguments => mode("echo", "[1]"),
            Self::UnknownFunction => mode("nowhere", "[]"),
            Self::MissingImport => call("unknown-import", "run", "run", "[]"),
        }
    }

    /// Has an activation end in this way, and checks that it did.
    pub async fn happen(self, node: &Node) {
        let call = self.call();
        let id = call.id();
        let report = if self == Self::Cancel {
            let mut run = Box::pin(node.run(call));
            assert!(poll_once(&mut run).await.is_pending(), "a spinning guest yields");
            assert_eq!(node.cancel(&id), CancelDisposition::Accepted);
            run.await
        } else {
            node.run(call).await
        };
        self.check(&report);
    }

    fn check(self, report: &ActivationReport) {
        use TerminalState::{GuestTrap, Rejected, ResourceExhausted};
        match self {
            Self::Trap | Self::DelayedTrap | Self::StackOverflow | Self::Exit | Self::Start => {
                assert_failed(report, GuestTrap, "activation.guest-trap");
            }
            Self::Fuel => assert_failed(report, ResourceExhausted, "activation.fuel-exhausted"),
            Self::Memory => {
                assert_failed(report, ResourceExhausted, "activation.memory-exhausted");
                assert!(report.consumption.peak_memory_bytes <= Self::MEMORY_BYTES);
            }
            Self::Deadline => assert_deadline(report),
            Self::Cancel => assert_cancelled(report),
            Self::Limit => assert_failed(report, ResourceExhausted, "activation.host-call-exhausted"),
            Self::Declared => assert!(matches!(report.outcome, ActivationOutcome::DeclaredError { .. })),
            Self::BadArguments | Self::UnknownFunction | Self::MissingImport => {
                assert_eq!(failed(report).0, Rejected, "{report:?}");
                assert_eq!(report.consumption.fuel, 0, "refused before anything ran");
            }
        }
    }
}

#[test]
fn a_healthy_call_succeeds_immediately_after_every_class_of_failure() {
    on_node(Setup::default(), |node| async move {
        for class in Class::ALL {
            class.happen(&node).await;
            node.settled().await;
        }
    });
}

/// One cell and one slot for prepared code: whatever a failure left behind would meet the next call.
#[test]
fn a_healthy_call_succeeds_in_the_same_cell_after_every_class_of_failure_without_a_cache() {
    on_node(Setup { cells: 1, ..Setup::uncached() }, |node| async move {
        for class in Class::ALL {
            class.happen(&node).await;
            node.settled().await;
            assert_eq!(node.backend.resources().prepared_entries, 1, "the one shared slot");
        }
    });
}

#[test]
fn a_failure_is_told_within_the_bounds_of_an_error() {
    use latent_core::error::{DETAILS_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
    on_node(Setup::default(), |node| async move {
        let long = "x".repeat(100_000);
        let mut unknown = mode("nowhere", "[]");
        unknown.envelope.target.function = long.as_str().into();
        let argument = mode("burn", &format!("[\"{long}\"]"));
        let imported = call("unknown-import", "run", "run", "[]");
        for call in [unknown, argument, imported, mode("trap", "[]")] {
            let report = node.run(call).await;
            let (_, error) = failed(&report);
            assert!(error.message().len() <= MESSAGE_BYTES_MAX && error.details().len() <= DETAILS_MAX);
            for detail in error.details() {
                assert!(detail.kind().len() <= NAME_BYTES_MAX && detail.fields().len() <= FIELDS_MAX);
                assert!(
                    detail.fields().all(|(name, value)| name.len() <= NAME_BYTES_MAX && value.len() <= VALUE_BYTES_MAX)
                );
            }
        }
        assert_eq!(succeeded(&node.run(mode("burn", "[1]")).await), "\"1\"");
    });
}
