//! The example service in its committed form: every case of its list, through the binary.

use std::path::Path;

use serde_json::Value;

use crate::support::run;

#[test]
fn the_committed_component_answers_every_case_of_its_list() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/text-stats");
    let cases = std::fs::read(example.join("cases.json")).expect("the example has its cases");
    let cases: Vec<Value> = serde_json::from_slice(&cases).expect("the cases are JSON");
    assert!(!cases.is_empty());
    for case in cases {
        let call = format!("example:text-stats/analyze@1.0.0#{}", case["function"].as_str().unwrap());
        let flags = ["--call", &call, "--args", &case["args"].to_string(), "--output", "json"];
        let ran = run(&example.join("rust/text-stats.wasm"), &flags);
        let record = ran.record();
        let expected = case["expect"].as_object().unwrap();
        for kind in ["result", "declared_error"] {
            assert_eq!(record.get(kind), expected.get(kind), "{case}: {ran:?}");
        }
        let code = if expected.contains_key("result") { 0 } else { 3 };
        assert_eq!(ran.code, Some(code), "{case}: {ran:?}");
    }
}
