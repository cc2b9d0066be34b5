//! Functions that are not there, arguments that do not fit, flags that cannot be: one sentence and the right code.

use crate::support::{Scratch, end, run, start};

/// Two interfaces with a function of the same name.
const TWO_RUNS: &str = r#"(component
    (core module $m (func (export "run")))
    (core instance $i (instantiate $m))
    (func $run (canon lift (core func $i "run")))
    (instance $c (export "run" (func $run)))
    (export "a:b/c" (instance $c))
    (instance $d (export "run" (func $run)))
    (export "a:b/d" (instance $d)))"#;

#[test]
fn an_unknown_function_is_wrong_usage_and_lists_what_is_exported() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("echo"), &["--call", "shout"]);
    ran.assert_refused(2, &["no function shout"]);
    assert!(ran.stderr.contains("\n  fixture:echo/echo@0.1.0#echo-string: func(text: string) -> string\n"), "{ran:?}");
}

#[test]
fn without_a_name_several_functions_are_listed() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("echo"), &[]);
    ran.assert_refused(2, &["3 functions", "--call"]);
    assert!(ran.stderr.contains("\n  fixture:echo/echo@0.1.0#nop: func()\n"), "{ran:?}");
}

#[test]
fn an_ambiguous_name_lists_what_it_may_mean() {
    let scratch = Scratch::new();
    let component = scratch.file("two.wat", TWO_RUNS);
    let ran = run(&component, &["--call", "run"]);
    ran.assert_refused(2, &["--call run", "several functions"]);
    assert!(ran.stderr.contains("\n  a:b/c#run: func()\n  a:b/d#run: func()\n"), "{ran:?}");
    assert_eq!(run(&component, &["--call", "d#run"]).code, Some(0));
}

#[test]
fn a_function_that_needs_resources_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    run(&scratch.guest("resource-signature"), &["--call", "make"]).assert_refused(1, &["#make", "resource"]);
}

#[test]
fn wrong_arguments_are_told_with_their_path() {
    let scratch = Scratch::new();
    let (echo, types) = (scratch.guest("echo"), scratch.guest("types"));
    for (component, call, args, parts) in [
        (&echo, "echo-string", "[1]", &["--args", "$[0]", "string", "a number"][..]),
        (&echo, "echo-string", "{\"txt\": \"a\"}", &["--args", "$", "txt"]),
        (&echo, "echo-string", "[\"a\"", &["--args", "$", "well-formed JSON"]),
        (&echo, "echo-string", "[\"a\", \"b\"]", &["--args", "$", "1 parameter"]),
        (&echo, "echo-string", "[]", &["--args", "1 parameter", "text: string"]),
        (&echo, "nop", "[1]", &["--args", "no parameters"]),
        (&types, "roundtrip-list-person", r#"[[{"name": "A", "age": 300}]]"#, &["--args", "$[0][0].age", "u8"]),
    ] {
        let ran = run(component, &["--call", call, "--args", args]);
        ran.assert_refused(1, parts);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    run(&echo, &["--call", "echo-string"]).assert_refused(1, &["no --args", "1 parameter", "text: string"]);
}

#[test]
fn machines_find_the_path_of_wrong_arguments_in_the_record() {
    let scratch = Scratch::new();
    let flags = ["--call", "echo-string", "--args", "[1]", "--output", "json"];
    let ran = run(&scratch.guest("echo"), &flags);
    assert_eq!(ran.code, Some(1));
    let record = ran.record();
    assert_eq!((&record["terminal_state"], &record["error"]["code"]), (&"rejected".into(), &"invalid-argument".into()));
    assert_eq!(record["error"]["details"][0]["fields"]["path"], "$[0]");
}

#[test]
fn arguments_that_cannot_be_read_or_are_too_large_are_named() {
    let scratch = Scratch::new();
    let echo = scratch.guest("echo");
    let call = |args: &str| run(&echo, &["--call", "echo-string", "--args", args]);
    let missing = scratch.path().join("missing.json").display().to_string();
    call(&format!("@{missing}")).assert_refused(1, &["cannot read", &missing, "no such file"]);
    call(&format!("@{}", scratch.path().display())).assert_refused(1, &["cannot read", "directory"]);
    let large = format!("[\"{}\"]", "x".repeat(9 << 20));
    let file = format!("@{}", scratch.file("large.json", &large).display());
    call(&file).assert_refused(1, &["large.json", "8388608", "bytes"]);
    let piped = end(start(&echo, &["--call", "echo-string", "--args", "-"], Some(large.as_bytes())));
    piped.assert_refused(1, &["--args -", "8388608", "bytes"]);
}

#[test]
fn bytes_for_a_function_of_text_are_refused() {
    let scratch = Scratch::new();
    let flags = ["--call", "echo-string", "--media-type", "application/octet-stream", "--args", "x"];
    run(&scratch.guest("echo"), &flags).assert_refused(1, &["--media-type", "list<u8>", "func(text: string)"]);
}

#[test]
fn flags_that_cannot_be_are_wrong_usage_naming_flag_and_value() {
    let scratch = Scratch::new();
    let echo = scratch.guest("echo");
    for (flag, value, hint) in [
        ("--fuel", "0", "at least 1"),
        ("--fuel", "18446744073709551616", "18446744073709551615"),
        ("--fuel", "1M", "without a suffix"),
        ("--fuel", "\u{1b}[31m", "\\u{1b}[31m"),
        ("--memory", "0", "at least 1"),
        ("--memory", "16Ei", "too large"),
        ("--memory", "64 apples", "64Mi"),
        ("--deadline", "500", "500ms"),
        ("--deadline", "soon", "500ms"),
        ("--deadline", "99999999999999999999years", "500ms"),
        ("--log-bytes", "-1", "unexpected"),
        ("--cells", "0", "1..=65536"),
        ("--cells", "65537", "1..=65536"),
        ("--repeat", "0", "1.."),
        ("--concurrency", "0", "1..=65536"),
        ("--media-type", "text/plain", "application/json or application/octet-stream"),
        ("--output", "yaml", "json"),
    ] {
        let ran = run(&echo, &["--call", "nop", flag, value]);
        assert_eq!((ran.code, ran.text()), (Some(2), ""), "{flag} {value}: {ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(hint), "{flag} {value}: {ran:?}");
        assert!(ran.stderr.contains(flag) || value == "-1", "{ran:?}");
    }
}
