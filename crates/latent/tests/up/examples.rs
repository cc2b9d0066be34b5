//! How soon an edit of the example service answers, in Rust and in JavaScript.
//!
//! Opt-in, because their toolchains are no part of this build: set `LATENT_EXAMPLES=1`, with cargo's wasm32-wasip2 target
//! installed and npm or jco on the PATH. What is measured is from the built file on, without the toolchain's own time.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Place;

/// Two idle cores take about nine seconds (docs/performance.md), and more than thirty for the whole component. What lies
/// between is room for a busy machine.
const JAVASCRIPT_MAX: Duration = Duration::from_secs(20);

#[test]
fn an_edit_of_the_rust_example_answers_within_a_second() {
    let body = "text.chars().rev().collect()";
    edit("rust", "src/lib.rs", body, "text.chars().rev().chain(['!']).collect()", Duration::from_secs(1));
}

#[test]
fn an_edit_of_the_javascript_example_answers_long_before_a_whole_compilation_would() {
    let body = "[...text].reverse().join('')";
    edit("js", "text-stats.js", body, "[...text].reverse().join('') + '!'", JAVASCRIPT_MAX);
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever runs the tests, and the time that is measured")]
fn edit(language: &str, source: &str, body: &str, edited: &str, bound: Duration) {
    if !std::env::var("LATENT_EXAMPLES").is_ok_and(|value| value == "1") {
        println!("skipped: set LATENT_EXAMPLES=1 to build and edit the examples");
        return;
    }
    let place = Place::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/text-stats");
    for part in ["wit", language] {
        succeed(Command::new("cp").arg("-R").arg(examples.join(part)).arg(place.path("")));
    }
    let build = |to: &str| {
        let script = place.path(language).join("build.sh");
        succeed(Command::new("bash").arg(script).arg(place.path(to)));
        std::fs::read(place.path(to)).expect("the script makes the file that is named")
    };
    build("text-stats.wasm");
    let mut up = place.up(&["text-stats.wasm"]);
    let reverse = "POST /v1/invoke/text-stats/reverse";
    assert_eq!(up.call(reverse, "[\"abc\"]").body, "\"cba\"");

    let source = place.path(language).join(source);
    let text = std::fs::read_to_string(&source).expect("the source was copied");
    assert!(text.contains(body), "the source has changed: {}", source.display());
    std::fs::write(&source, text.replace(body, edited)).expect("the copy can be edited");
    let component = build("edited.wasm");
    let begun = Instant::now();
    place.put("text-stats.wasm", component);
    up.until("deployed text-stats.wasm again");
    assert_eq!(up.call(reverse, "[\"abc\"]").body, "\"cba!\"");
    let took = begun.elapsed();
    println!("{language}: an edit answers after {:.2} s", took.as_secs_f64());
    assert!(took < bound, "{took:?}");
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}
