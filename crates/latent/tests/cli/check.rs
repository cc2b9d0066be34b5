//! `latent check`: what it says of components that a node takes and of those that it refuses.

use serde_json::Value;

use crate::support::{Ran, Scratch, latent, signal};

/// Checks one file and asks for JSON.
fn checked(scratch: &Scratch, name: &str, bytes: &[u8]) -> (Ran, Value) {
    let path = scratch.file(name, bytes);
    let ran = latent(&["check", "--output", "json", path.to_str().expect("a plain path")]);
    let line = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran, line)
}

#[test]
fn a_component_that_a_node_takes_is_described() {
    let scratch = Scratch::new();
    let cache = scratch.path().join("cache");
    let path = scratch.guest("echo");
    let arguments = ["check", "--output", "json", "--cache-dir", cache.to_str().unwrap(), path.to_str().unwrap()];
    let first = latent(&arguments);
    let line: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!((first.code, &line["taken"]), (Some(0), &Value::Bool(true)), "{first:?}");
    assert_eq!(line["bytes"], latent_guests::component("echo").len());
    assert!(line["digest"].as_str().unwrap().starts_with("sha256:"));
    let exports = line["exports"].as_array().unwrap();
    let echo = exports.iter().find(|export| export["function"] == "echo-string").expect("it is exported");
    assert_eq!(
        (&echo["contract"], &echo["signature"]),
        (&"fixture:echo/echo@0.1.0".into(), &"func(text: string) -> string".into())
    );
    assert!(line["memory_bytes"].as_u64() >= Some(65_536) && line["image_bytes"].as_u64() > Some(1_000), "{line}");
    assert!(line["compile_millis"].is_u64(), "it was compiled now: {line}");
    let second = latent(&arguments);
    let again: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!((&again["taken"], &again["compile_millis"]), (&Value::Bool(true), &Value::Null), "its image was kept");
    assert!(again["image_bytes"].as_u64() >= line["image_bytes"].as_u64(), "the seal of a kept image counts: {again}");
}

#[test]
fn people_are_told_the_same() {
    let scratch = Scratch::new();
    let path = scratch.guest("echo");
    let ran = latent(&["check", "--no-cache", path.to_str().unwrap()]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    for part in
        ["a node would take it", "sha256:", "echo-string: func(text: string) -> string", "compiled in ", "mapped once"]
    {
        assert!(ran.text().contains(part), "no {part:?} in {}", ran.text());
    }
}

#[test]
fn whatever_is_no_component_is_named() {
    let scratch = Scratch::new();
    for (name, bytes, what) in [
        ("empty.wasm", &b""[..], "an empty file"),
        ("elf.wasm", b"\x7fELF\x02\x01\x01", "an ELF file"),
        ("picture.wasm", b"\x89PNG\r\n\x1a\n", "a PNG image"),
        ("packed.wasm", b"\x1f\x8b\x08\0", "gzip data"),
        ("text.wasm", b"(component", "text, not a WebAssembly component"),
        ("module.wasm", b"\0asm\x01\0\0\0", "a core WebAssembly module"),
        ("header.wasm", b"\0asm\x0d\0\x01\0", "only a component's header"),
    ] {
        let (ran, line) = checked(&scratch, name, bytes);
        assert_eq!((ran.code, &line["taken"]), (Some(1), &Value::Bool(false)), "{name}: {ran:?}");
        assert_eq!(line["error"]["code"], "invalid-argument", "{name}");
        assert!(line["error"]["message"].as_str().unwrap().contains(what), "{name}: {line}");
    }
    let (ran, line) = checked(&scratch, "typo.wat", b"(component (core modul))");
    assert_eq!((ran.code, &line["taken"]), (Some(1), &Value::Null), "nobody can tell what it would be");
    assert!(line["error"]["message"].as_str().unwrap().contains("at line 1"), "{line}");
}

#[test]
fn an_import_that_is_not_offered_is_named_with_the_nearest() {
    let scratch = Scratch::new();
    for (import, wanted, nearest) in [
        ("acme:missing/thing@1.2.3", "1.2.3", "none"),
        ("wasi:clocks/wall-clock@0.3.0", "0.3.0", "wasi:clocks/wall-clock@0.2.12"),
    ] {
        let text = format!("(component (import \"{import}\" (instance (export \"now\" (func)))))");
        let (ran, line) = checked(&scratch, "importing.wat", text.as_bytes());
        assert_eq!(ran.code, Some(1));
        let fields = &line["error"]["details"][0]["fields"];
        assert_eq!(fields["import"], import, "{line}");
        assert_eq!((&fields["wanted"], &fields["nearest"]), (&wanted.into(), &nearest.into()));
    }
    let text =
        "(component (import \"wasi:clocks/monotonic-clock@0.2.0\" (instance (export \"now\" (func (result string))))))";
    let (ran, line) = checked(&scratch, "mistyped.wat", text.as_bytes());
    assert_eq!((ran.code, &line["error"]["code"]), (Some(1), &"incompatible-contract".into()), "{line}");
    assert!(line["error"]["message"].as_str().unwrap().contains("with other types"), "{line}");
}

#[test]
fn a_bomb_is_refused_by_the_setting_that_it_exceeds() {
    let scratch = Scratch::new();
    let nested = format!("(component {} {})", "(type (instance ".repeat(20), "))".repeat(20));
    let (ran, line) = checked(&scratch, "nested.wat", nested.as_bytes());
    assert_eq!((ran.code, &line["taken"]), (Some(1), &Value::Bool(false)), "{line}");
    assert_eq!(line["error"]["details"][0]["fields"]["setting"], "prescan.type_depth_max");
}

#[test]
fn one_refused_component_makes_the_command_fail_and_the_others_are_told_all_the_same() {
    let scratch = Scratch::new();
    let (echo, missing, types) = (scratch.guest("echo"), scratch.path().join("missing.wasm"), scratch.guest("types"));
    let paths = [&echo, &missing, &types].map(|path| path.to_str().unwrap());
    let ran = latent(&[&["check", "--output", "json"], &paths[..]].concat());
    assert_eq!(ran.code, Some(1));
    let lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["taken"] == true).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(lines[1]["error"]["message"], format!("cannot read {}: there is no such file", paths[1]));
}

#[test]
fn text_is_bounded_before_it_is_assembled() {
    let scratch = Scratch::new();
    let (ran, line) = checked(&scratch, "long.wat", &vec![b' '; (2 << 20) + 1]);
    assert_eq!(ran.code, Some(1));
    assert!(line["error"]["message"].as_str().unwrap().contains("2097152 bytes"), "{line}");
}

#[test]
fn an_image_that_was_damaged_is_made_again_and_that_is_told() {
    let scratch = Scratch::new();
    let (cache, path) = (scratch.path().join("cache"), scratch.guest("echo"));
    let arguments = ["check", "--output", "json", "--cache-dir", cache.to_str().unwrap(), path.to_str().unwrap()];
    assert_eq!(latent(&arguments).code, Some(0));
    let image = std::fs::read_dir(cache.join("images")).unwrap().next().expect("there is one").unwrap().path();
    std::fs::write(&image, b"damaged").unwrap();
    let line: Value = serde_json::from_slice(&latent(&arguments).stdout).unwrap();
    assert!(line["taken"] == true && line["compile_millis"].is_u64(), "{line}");
}

#[test]
fn an_interrupt_ends_a_check_that_waits_for_its_input() {
    let scratch = Scratch::new();
    let fifo = scratch.path().join("component.wasm");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("there is a mkfifo");
    assert!(made.success());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("check").arg(&fifo).arg("--no-cache").stdin(std::process::Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    // Opening it to write waits for the command to open it to read; from then on it reads, and nothing comes.
    let writer = std::fs::OpenOptions::new().write(true).open(&fifo).expect("it can be opened");
    signal(child.id(), "INT");
    let code = child.wait().expect("it can be waited for").code();
    drop(writer);
    assert_eq!(code, Some(130));
}

#[test]
fn without_a_component_the_usage_is_wrong() {
    assert_eq!(latent(&["check"]).code, Some(2));
}
