//! A guest that leaves through the command-line exit: a written policy with distinct outcomes, never a host error.

use latent_core::{ActivationOutcome, TerminalState};
use latent_executor::ComponentArtifact;
use latent_node::ActivationReport;

use crate::calls::{assert_failed, call, call_of, failed, succeeded};
use crate::support::{Setup, on_node};

fn assert_exited(report: &ActivationReport, status: &str) {
    assert_failed(report, TerminalState::GuestTrap, "activation.guest-trap");
    let detail = &failed(report).1.details()[0];
    assert_eq!((detail.field("category"), detail.field("status")), (Some("exit"), Some(status)));
}

#[test]
fn leaving_well_where_there_is_no_result_is_a_return_and_leaving_badly_is_a_trap_with_its_status() {
    on_node(Setup::default(), |node| async move {
        assert_eq!(succeeded(&node.run(call("exit", "leave", "exit", "[true]")).await), "null");
        assert_exited(&node.run(call("exit", "leave", "exit", "[false]")).await, "1");
        node.settled().await;
        for status in ["1", "2", "255"] {
            let report = node.run(call("exit-with-code", "leave", "exit", &format!("[{status}]"))).await;
            assert_exited(&report, status);
            node.settled().await;
        }
        assert_eq!(succeeded(&node.run(call("exit-with-code", "leave", "exit", "[0]")).await), "null");
    });
}

/// The shape of `wasi:cli/run`, and beside it a function whose result an exit cannot give.
const COMMAND: (&str, &str) = (
    "package test:command@0.1.0;
     interface run {
       run: func(ok: bool) -> result;
       answer: func(ok: bool) -> u32;
       message: func(ok: bool) -> result<string, string>;
     }
     world command { import wasi:cli/exit@0.2.0; export run; }
     package wasi:cli@0.2.0 { interface exit { exit: func(status: result); } }",
    r#"(module
         (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
         (memory (export "memory") 1)
         (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
         (func $leave
           (export "test:command/run@0.1.0#run")
           (export "test:command/run@0.1.0#answer")
           (export "test:command/run@0.1.0#message")
           (param $ok i32) (result i32)
           (call $exit (i32.eqz (local.get $ok)))
           unreachable))"#,
);

#[test]
fn leaving_is_a_result_exactly_where_the_function_has_one_without_a_value() {
    on_node(Setup::default(), |node| async move {
        let bytes = latent_guests::componentize(COMMAND.0, "command", COMMAND.1).expect("it implements its world");
        let command = ComponentArtifact::new(bytes);
        let leave = |function: &str, ok: bool| {
            node.run(call_of(command.clone(), "test:command/run@0.1.0", function, &format!("[{ok}]")))
        };
        assert_eq!(succeeded(&leave("run", true).await), "{\"ok\":null}");
        match leave("run", false).await.outcome {
            ActivationOutcome::DeclaredError { error } => assert_eq!(&*error.bytes, b"null"),
            other => panic!("expected a declared error, got {other:?}"),
        }
        for function in ["answer", "message"] {
            assert_exited(&leave(function, true).await, "0");
            assert_exited(&leave(function, false).await, "1");
        }
    });
}

/// Leaves while it is made, before the function can be entered.
const LEAVES_AT_START: (&str, &str) = (
    "package test:start@0.1.0;
     interface run { run: func(); }
     world start { import wasi:cli/exit@0.2.0; export run; }
     package wasi:cli@0.2.0 { interface exit { exit: func(status: result); } }",
    r#"(module
         (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
         (func $leave (call $exit (i32.const 0)))
         (func (export "test:start/run@0.1.0#run"))
         (start $leave))"#,
);

#[test]
fn leaving_before_the_function_was_entered_is_no_result_of_it() {
    on_node(Setup::default(), |node| async move {
        let bytes = latent_guests::componentize(LEAVES_AT_START.0, "start", LEAVES_AT_START.1)
            .expect("it implements its world");
        let guest = ComponentArtifact::new(bytes);
        assert_exited(&node.run(call_of(guest, "test:start/run@0.1.0", "run", "[]")).await, "0");
    });
}
