//! What is told of services and of activations.

use std::process::Command;

use crate::support::{Place, answering};

#[test]
fn the_line_that_calls_a_function_works_as_it_is_printed() {
    let place = Place::new();
    place.put("echo.wasm", latent_guests::component("echo"));
    let up = place.up(&["echo.wasm"]);
    assert!(up.told.iter().any(|line| line.contains("#echo-string: func(")), "{:?}", up.told);
    let line = up.told.iter().find(|line| line.trim_start().starts_with("curl ")).expect("a line that calls").trim();
    let shell = Command::new("sh").args(["-c", &format!("{line} -sS")]).current_dir(place.path("")).output().unwrap();
    assert!(shell.status.success(), "{shell:?}");
    let answer: serde_json::Value = serde_json::from_slice(&shell.stdout).unwrap_or_default();
    assert!(!answer.is_null() && answer.get("code").is_none(), "{shell:?}");
}

#[test]
fn every_activation_that_ends_is_a_line_and_a_limit_is_told_in_words() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    place.put("containment-capsule.wasm", latent_guests::component("containment-capsule"));
    let mut up = place.up(&["answer.wat", "containment-capsule.wasm"]);
    up.call("POST /v1/invoke/answer/answer", "[]");
    let line = up.until("answer#answer");
    for part in ["succeeded", "time ", "fuel ", "peak memory ", "activation "] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
    up.call("POST /v1/invoke/containment-capsule/modes/spin", "[]");
    let line = up.until("containment-capsule#spin");
    assert!(line.contains("resource-exhausted") && line.contains("stopped by its limit of fuel"), "{line}");
}

#[test]
fn a_call_that_cannot_be_made_is_told_and_the_node_goes_on() {
    let place = Place::new();
    place.put("one.wat", answering(1));
    place.put("two.wat", answering(2));
    for (call, told) in [("nothing", "no service that is deployed has it"), ("answer", "may mean several")] {
        let mut up = place.up(&["one.wat", "two.wat", "--call", call]);
        up.until(told);
        up.until("two#answer");
        assert_eq!(up.call("POST /v1/invoke/one/answer", "[]").body, "1");
    }
    let up = place.up(&["one.wat", "two.wat", "--call", "two#answer"]);
    assert_eq!(up.result(), "2");
}
