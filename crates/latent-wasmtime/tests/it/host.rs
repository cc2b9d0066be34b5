//! What a guest learns of its activation, and everything that it is denied.

use std::sync::Arc;
use std::time::Duration;

use latent_core::{ExecutionOutcome, ServiceName};
use latent_executor::ComponentArtifact;

use crate::support::{Call, bench, by_tenant, guest, request, request_of, returned};

fn ask(function: &str, args: &str) -> Call {
    request("log-context", "speak", function, args)
}

#[tokio::test]
async fn the_context_says_what_the_request_says() {
    let bench = bench();
    let mut base = by_tenant(ask("whoami", "[]"), "acme");
    let context = Arc::make_mut(&mut base.context);
    context.principal.subject = ServiceName::new("billing").unwrap();
    context.trace_parent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
    let asked = |function: &str| {
        let mut request = base.clone();
        request.target.function = function.into();
        request
    };
    assert_eq!(bench.json(asked("whoami")).await, "\"acme-activation\"");
    assert_eq!(bench.json(asked("tenant")).await, "\"acme\"");
    assert_eq!(bench.json(asked("subject")).await, "\"billing\"");
    let trace = "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"";
    assert_eq!(bench.json(asked("trace-parent")).await, trace);
    assert_eq!(bench.json(ask("trace-parent", "[]")).await, "null");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn only_metadata_for_guests_is_shown() {
    let bench = bench();
    let shown = async |key: &str| {
        let mut request = ask("metadata", &format!("[\"{key}\"]"));
        Arc::make_mut(&mut request.context).metadata = vec![
            ("latent.auth.token".into(), "secret".into()),
            ("guest.color".into(), "red".into()),
            ("color".into(), "blue".into()),
            ("guest.".into(), "nameless".into()),
        ];
        bench.json(request).await
    };
    assert_eq!(shown("color").await, "\"red\"");
    assert_eq!(shown("").await, "\"nameless\"");
    for hidden in ["guest.color", "latent.auth.token", "auth.token", "Color"] {
        assert_eq!(shown(hidden).await, "null", "{hidden}");
    }
}

#[tokio::test]
async fn the_time_that_is_left_is_that_to_the_deadline() {
    let bench = bench();
    assert_eq!(bench.json(ask("deadline-millis", "[]")).await, "null");
    let within = bench.run_within(ask("deadline-millis", "[]"), Some(Duration::from_mins(1))).await;
    let left: u64 = returned(&within).trim_matches('"').parse().unwrap();
    assert!(left <= 60_000 && left > 50_000, "{left}");
}

#[tokio::test]
async fn the_fuel_that_is_left_is_less_than_the_grant_and_what_was_burnt_adds_up() {
    let bench = bench();
    let request = ask("remaining-fuel", "[]");
    let granted = request.budget.fuel;
    let ran = bench.run(request).await;
    let left: u64 = returned(&ran).trim_matches('"').parse().unwrap();
    let burnt = ran.report.consumption.fuel;
    assert!(left < granted && left >= granted - burnt, "{left} left of {granted}, {burnt} burnt in the end");
}

/// Counts what the command-line and file system interfaces have for it.
fn asks_for_everything() -> ComponentArtifact {
    let wit = "
        package fixture:greedy@0.1.0;
        interface greedy {
            environment: func() -> u32;
            arguments: func() -> u32;
            preopens: func() -> u32;
            working-directory: func() -> u32;
            create-socket: func() -> u32;
            resolve: func() -> u32;
            read-stdin: func() -> u32;
        }
        world fixture {
            import wasi:cli/environment@0.2.0;
            import wasi:cli/stdin@0.2.0;
            import wasi:filesystem/preopens@0.2.0;
            import wasi:sockets/tcp-create-socket@0.2.0;
            import wasi:sockets/instance-network@0.2.0;
            import wasi:sockets/ip-name-lookup@0.2.0;
            export greedy;
        }
        package wasi:io@0.2.0 {
            interface error { resource error; }
            interface streams {
                use error.{error};
                variant stream-error { last-operation-failed(error), closed }
                resource input-stream { read: func(len: u64) -> result<list<u8>, stream-error>; }
            }
        }
        package wasi:cli@0.2.0 {
            interface environment {
                get-environment: func() -> list<tuple<string, string>>;
                get-arguments: func() -> list<string>;
                initial-cwd: func() -> option<string>;
            }
            interface stdin {
                use wasi:io/streams@0.2.0.{input-stream};
                get-stdin: func() -> input-stream;
            }
        }
        package wasi:filesystem@0.2.0 {
            interface types { resource descriptor; }
            interface preopens {
                use types.{descriptor};
                get-directories: func() -> list<tuple<descriptor, string>>;
            }
        }
        package wasi:sockets@0.2.0 {
            interface network {
                resource network;
                enum error-code {
                    unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout,
                    concurrency-conflict, not-in-progress, would-block, invalid-state, new-socket-limit,
                    address-not-bindable, address-in-use, remote-unreachable, connection-refused, connection-reset,
                    connection-aborted, datagram-too-large, name-unresolvable, temporary-resolver-failure,
                    permanent-resolver-failure,
                }
                enum ip-address-family { ipv4, ipv6 }
            }
            interface instance-network {
                use network.{network};
                instance-network: func() -> network;
            }
            interface tcp { resource tcp-socket; }
            interface tcp-create-socket {
                use network.{error-code, ip-address-family};
                use tcp.{tcp-socket};
                create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
            }
            interface ip-name-lookup {
                use network.{network, error-code};
                resource resolve-address-stream;
                resolve-addresses: func(network: borrow<network>, name: string)
                    -> result<resolve-address-stream, error-code>;
            }
        }";
    // Lists answer with their length, results with 0 for success or 100 and the error's number.
    let module = r#"(module
        (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
        (import "wasi:cli/environment@0.2.0" "get-arguments" (func $arguments (param i32)))
        (import "wasi:cli/environment@0.2.0" "initial-cwd" (func $cwd (param i32)))
        (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))
        (import "wasi:io/streams@0.2.0" "[method]input-stream.read" (func $read (param i32 i64 i32)))
        (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
        (import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket" (func $create (param i32 i32)))
        (import "wasi:sockets/instance-network@0.2.0" "instance-network" (func $network (result i32)))
        (import "wasi:sockets/ip-name-lookup@0.2.0" "resolve-addresses"
          (func $resolve (param i32 i32 i32 i32)))
        (memory $memory (export "memory") 2)
        (data (i32.const 64) "localhost")
        ;; include bump-allocator
        (func $length (result i32) (i32.load (i32.const 20)))
        (func $answer (result i32)
          (if (result i32) (i32.load8_u (i32.const 16))
            (then (i32.add (i32.const 100) (i32.load8_u (i32.const 20))))
            (else (i32.const 0))))
        (func (export "fixture:greedy/greedy@0.1.0#environment") (result i32)
          (call $environment (i32.const 16)) (call $length))
        (func (export "fixture:greedy/greedy@0.1.0#arguments") (result i32)
          (call $arguments (i32.const 16)) (call $length))
        (func (export "fixture:greedy/greedy@0.1.0#preopens") (result i32)
          (call $directories (i32.const 16)) (call $length))
        (func (export "fixture:greedy/greedy@0.1.0#working-directory") (result i32)
          (call $cwd (i32.const 16)) (i32.load8_u (i32.const 16)))
        (func (export "fixture:greedy/greedy@0.1.0#create-socket") (result i32)
          (call $create (i32.const 0) (i32.const 16)) (call $answer))
        (func (export "fixture:greedy/greedy@0.1.0#resolve") (result i32)
          (call $resolve (call $network) (i32.const 64) (i32.const 9) (i32.const 16)) (call $answer))
        (func (export "fixture:greedy/greedy@0.1.0#read-stdin") (result i32)
          (call $read (call $stdin) (i64.const 100) (i32.const 16)) (call $answer)))"#;
    guest(wit, module)
}

#[tokio::test]
async fn a_guest_finds_no_environment_no_arguments_no_directories_and_no_network() {
    let bench = bench();
    let greedy = asks_for_everything();
    let asked = async |function: &str| {
        bench.json(request_of(&greedy, &format!("fixture:greedy/greedy@0.1.0#{function}"), "[]")).await
    };
    for nothing in ["environment", "arguments", "preopens", "working-directory"] {
        assert_eq!(asked(nothing).await, "0", "{nothing}");
    }
    // 1 is access-denied, 20 permanent-resolver-failure; a closed stream is case 1 of its error.
    assert_eq!(asked("create-socket").await, "101");
    assert_eq!(asked("resolve").await, "120");
    assert_eq!(asked("read-stdin").await, "101");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_host_call_in_every_state_leaves_the_next_guest_its_own() {
    let bench = bench();
    for tenant in ["a", "b", "a"] {
        assert_eq!(bench.json(by_tenant(ask("tenant", "[]"), tenant)).await, format!("\"{tenant}\""));
        let said = bench.outcome(by_tenant(ask("say", &format!("[\"from {tenant}\"]")), tenant)).await;
        assert!(matches!(said, ExecutionOutcome::Returned(_)), "{said:?}");
        let records = bench.logs(&by_tenant(ask("say", "[]"), tenant));
        assert_eq!(records.iter().map(|r| &*r.message).collect::<Vec<_>>(), [format!("from {tenant}")]);
    }
}
