//! A fault of the host's own: the activation fails as the platform's, its cell is lost, the node lives.

use std::panic::{set_hook, take_hook};
use std::sync::{Arc, Once};

use latent_core::{PlatformErrorCode, TerminalState};
use latent_executor::{LogRecord, LogRefused, LogSink};

use crate::calls::{Call, assert_failed, call, failed, succeeded};
use crate::support::{Setup, on_node};

const PANIC: &str = "the sink panics on purpose";

/// Panics on any record that asks for it.
struct Panicking;

impl LogSink for Panicking {
    fn offer(&self, record: LogRecord, _bytes: u64) -> Result<(), LogRefused> {
        assert!(!record.message.contains("panic"), "{PANIC}");
        Ok(())
    }
}

fn panicking() -> Setup {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<String>().is_none_or(|message| !message.contains(PANIC)) {
                loud(panic);
            }
        }));
    });
    Setup { sink: Some(Arc::new(Panicking)), ..Setup::default() }
}

fn say(message: &str) -> Call {
    call("log-context", "speak", "say", &format!("[\"{message}\"]"))
}

#[test]
fn a_panic_in_a_host_call_costs_one_cell_and_fails_as_the_platforms() {
    on_node(panicking(), |node| async move {
        for lost in 1..=3 {
            let report = node.run(say("panic now")).await;
            assert_failed(&report, TerminalState::PlatformFailed, "activation.host-panic");
            let (_, error) = failed(&report);
            assert_eq!(error.code(), PlatformErrorCode::Internal);
            assert!(!format!("{error:?}").contains(PANIC), "the panic's own words stay inside");
            assert!(report.consumption.fuel > 0, "what it burnt is kept");
            node.lose_a_cell();
            assert_eq!(node.runner.snapshot().quarantines, lost);
            assert!(node.cells.quarantined_cells().iter().any(|cell| Some(&cell.cell) == report.cell.as_ref()));
            node.settled().await;
            assert_eq!(succeeded(&node.run(say("hello")).await), "{\"ok\":null}", "another cell serves the same guest");
        }
    });
}

#[test]
fn a_panic_while_standard_output_is_written_costs_one_cell() {
    on_node(panicking(), |node| async move {
        let report = node.run(call("stdout", "output", "stderr", "[\"panic\\n\"]")).await;
        assert_failed(&report, TerminalState::PlatformFailed, "activation.host-panic");
        node.lose_a_cell();
    });
}

#[test]
fn a_panic_while_the_store_is_dropped_costs_one_cell_and_not_the_result() {
    on_node(panicking(), |node| async move {
        // The line has no end, so it is written out only when its stream goes.
        let report = node.run(call("stdout", "output", "stderr", "[\"panic\"]")).await;
        assert_eq!(succeeded(&report), "null");
        node.lose_a_cell();
    });
}

#[test]
fn a_panic_during_a_run_that_is_dropped_stays_inside() {
    on_node(panicking(), |node| async move {
        node.warm("stdout").await;
        let mut run = Box::pin(node.run(call("stdout", "output", "stderr", "[\"panic\"]")));
        drop(crate::polls::poll_once(&mut run).await);
        drop(run);
        node.lose_a_cell();
    });
}
