//! A fault of the host's own: the activation fails as the platform's, its cell is lost, the node lives.

use std::panic::{set_hook, take_hook};
use std::sync::{Arc, Once};

use latent_core::{PlatformErrorCode, TerminalState};
use latent_executor::{ComponentArtifact, LogRecord, LogRefused, LogSink};

use crate::calls::{Call, assert_cancelled, assert_failed, call, call_of, failed, succeeded};
use crate::polls::park;
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

/// Leaves an unfinished line that makes the sink panic, and parks for an hour.
const UNFINISHED: (&str, &str) = (
    "package test:unfinished@0.1.0;
     interface run { run: func(); }
     world unfinished {
       import wasi:cli/stderr@0.2.0;
       import wasi:clocks/monotonic-clock@0.2.0;
       export run;
     }
     package wasi:io@0.2.0 {
       interface error { resource error; }
       interface poll { resource pollable { block: func(); } }
       interface streams {
         use error.{error};
         variant stream-error { last-operation-failed(error), closed }
         resource output-stream { blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>; }
       }
     }
     package wasi:cli@0.2.0 {
       interface stderr { use wasi:io/streams@0.2.0.{output-stream}; get-stderr: func() -> output-stream; }
     }
     package wasi:clocks@0.2.0 {
       interface monotonic-clock {
         use wasi:io/poll@0.2.0.{pollable};
         subscribe-duration: func(when: u64) -> pollable;
       }
     }",
    r#"(module
         (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
         (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
           (func $write (param i32 i32 i32 i32)))
         (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
         (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
         (memory (export "memory") 1)
         (data (i32.const 64) "panic")
         (func (export "test:unfinished/run@0.1.0#run")
           (call $write (call $stderr) (i32.const 64) (i32.const 5) (i32.const 16))
           (call $block (call $subscribe (i64.const 3600000000000)))))"#,
);

fn unfinished() -> Call {
    let bytes = latent_guests::componentize(UNFINISHED.0, "unfinished", UNFINISHED.1).expect("it implements its world");
    call_of(ComponentArtifact::new(bytes), "test:unfinished/run@0.1.0", "run", "[]")
}

#[test]
fn a_panic_while_a_dropped_run_lets_go_of_its_store_stays_inside() {
    on_node(panicking(), |node| async move {
        drop(node.backend.prepare_for_use(unfinished().artifact).await.expect("it prepares"));
        let mut run = Box::pin(node.run(unfinished()));
        park(&mut run).await;
        drop(run);
        node.lose_a_cell();
    });
}

#[test]
fn a_panic_while_the_store_of_a_stopped_run_is_dropped_costs_its_cell_and_not_its_outcome() {
    on_node(panicking(), |node| async move {
        drop(node.backend.prepare_for_use(unfinished().artifact).await.expect("it prepares"));
        let call = unfinished();
        let id = call.id();
        let mut run = Box::pin(node.run(call));
        park(&mut run).await;
        node.cancel(&id);
        assert_cancelled(&run.await);
        node.lose_a_cell();
        assert_eq!(node.runner.snapshot().quarantines, 1);
    });
}
