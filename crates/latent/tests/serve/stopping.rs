//! How a node ends: idle, under load, hurried, and before it has begun.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Answer, Ended, Served, Setup, WATCHDOG};

const SPIN: &str = "POST /v1/invoke/containment-capsule/modes/spin";

#[expect(clippy::disallowed_methods, reason = "how long an end takes is what is tested")]
fn timed(node: Served, signals: &[Signal]) -> (Ended, Duration) {
    let began = Instant::now();
    for signal in signals {
        node.signal(*signal);
    }
    let ended = node.ended();
    (ended, began.elapsed())
}

/// A node with a guest that spins, as long as it is allowed to.
fn spinning(grace: &str) -> (Setup, Served, TcpStream) {
    let setup = Setup::new(&format!("[shutdown]\ngrace = \"{grace}\"\n[limits]\nwall = \"10m\"\nfuel = 1000000000000"));
    let node = setup.serve();
    node.deploy("containment-capsule");
    let call = node.ask(node.invoke, SPIN, b"[]");
    wait_until_running(&node);
    (setup, node, call)
}

fn wait_until_running(node: &Served) {
    loop {
        let answer = node.call(node.control, "GET /v1/activations", b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        if answer.body.contains("running") || answer.body.contains("RUNNING") {
            return;
        }
    }
}

fn answer_of(mut call: TcpStream) -> Answer {
    let mut answer = Vec::new();
    call.set_read_timeout(Some(WATCHDOG)).unwrap();
    call.read_to_end(&mut answer).unwrap();
    Answer::of(&answer)
}

#[test]
fn an_idle_node_ends_at_once_and_clean() {
    for signal in [Signal::TERM, Signal::INT] {
        let setup = Setup::new("");
        let (ended, took) = timed(setup.serve(), &[signal]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains("nothing left") && took < Duration::from_secs(5), "{took:?} {ended:?}");
    }
}

#[test]
fn a_spinning_guest_is_cancelled_after_the_grace_and_its_caller_told() {
    let (_setup, node, call) = spinning("1s");
    let silent = TcpStream::connect(node.invoke).unwrap();
    let _watching = node.ask(node.control, "GET /v1/logs", b"");
    let (ended, took) = timed(node, &[Signal::TERM]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(took >= Duration::from_millis(900) && took < Duration::from_secs(4), "{took:?} {ended:?}");
    let answer = answer_of(call);
    assert_eq!(answer.json["code"].as_str(), Some("cancelled"), "{answer:?}");
    drop(silent);
}

#[test]
fn a_second_signal_skips_the_grace() {
    let (_setup, node, call) = spinning("10m");
    let (ended, took) = timed(node, &[Signal::TERM, Signal::INT]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(took < Duration::from_secs(10), "{took:?} {ended:?}");
    assert_eq!(answer_of(call).json["code"].as_str(), Some("cancelled"));
}

#[test]
fn a_compilation_ends_with_its_node_whether_somebody_waits_for_it_or_not() {
    let setup = Setup::new("[shutdown]\ngrace = \"50ms\"");
    let component = latent_guests::bombs::laborious(300, 2000);
    for waits in [true, false] {
        let node = setup.serve();
        node.deploy_component(&component, &serde_json::json!({"service": "laborious", "deployment": "main"}));
        let call = node.ask(node.invoke, "POST /v1/invoke/laborious/run/nop", b"[]");
        wait_until_compiling(&node);
        let call = waits.then_some(call);
        let (ended, took) = timed(node, &[Signal::TERM]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains("nothing left") && took < Duration::from_secs(5), "{took:?} {ended:?}");
        drop(call);
    }
}

#[expect(clippy::disallowed_methods, reason = "a watchdog")]
fn wait_until_compiling(node: &Served) {
    let begun = Instant::now();
    while begun.elapsed() < WATCHDOG {
        let inventory = node.call(node.control, "GET /v1/node", b"").json;
        let counts = inventory["counts"].as_array().expect("an inventory has counts");
        if counts.iter().any(|count| count["name"] == "compilations" && count["value"] != "0") {
            return;
        }
    }
    panic!("nothing is being compiled");
}

#[test]
fn a_signal_while_the_node_starts_ends_it_clean() {
    let setup = Setup::new("");
    let mut node = setup.begin();
    // The first line comes before the node takes calls.
    assert!(node.line().starts_with("invoke "));
    let (ended, _) = timed(node, &[Signal::TERM]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
