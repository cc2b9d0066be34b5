//! Components that are none, or that cannot run here: one sentence, exit code 1, nothing on standard output.

use crate::support::{Scratch, latent, run};

#[test]
fn a_missing_file_and_a_directory_are_named() {
    let scratch = Scratch::new();
    let missing = scratch.path().join("missing.wasm");
    let name = missing.display().to_string();
    run(&missing, &[]).assert_refused(1, &[&name, "no such file"]);
    run(scratch.path(), &[]).assert_refused(1, &[&scratch.path().display().to_string(), "is a directory", ".wasm"]);
    latent(&["run"]).assert_refused(2, &["required arguments"]);
}

#[test]
fn files_that_are_no_component_are_told_what_they_are() {
    let scratch = Scratch::new();
    let core = [&b"\0asm\x01\0\0\0"[..], b"\x01\x04\x01\x60\0\0"].concat();
    for (name, bytes, what) in [
        ("empty.wasm", &b""[..], "an empty file"),
        ("core.wasm", &core, "a core WebAssembly module"),
        ("header.wasm", b"\0asm\x0d\0\x01\0", "only a component's header"),
        ("program", b"\x7fELF\x02\x01\x01\0", "an ELF file"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        ("component.wasm.gz", b"\x1f\x8b\x08\0\0\0\0\0", "gzip data"),
        (
            "notes.txt",
            b"not a component\n",
            "text, not a WebAssembly component; give component text the extension .wat",
        ),
        ("noise.bin", b"\xff\xfe\x00\x01\x02", "not WebAssembly"),
    ] {
        let file = scratch.file(name, bytes);
        run(&file, &["--call", "f"]).assert_refused(1, &[&file.display().to_string(), what]);
    }
}

#[test]
fn a_component_that_is_cut_short_is_refused() {
    let scratch = Scratch::new();
    let whole = latent_guests::component("echo");
    for length in [1, 4, 7, 8, 9, 40, whole.len() / 2, whole.len() - 1] {
        let file = scratch.file(&format!("cut-{length}.wasm"), &whole[..length]);
        run(&file, &["--call", "nop"]).assert_refused(1, &[&file.display().to_string()]);
    }
}

#[test]
fn a_typo_in_component_text_is_told_with_its_place() {
    let scratch = Scratch::new();
    let file = scratch.file("typo.wat", "(component\n  (core modul))\n");
    run(&file, &[]).assert_refused(1, &[&file.display().to_string(), "line 2, column 4"]);
    let file = scratch.file("binary.wat", b"\xff\xfe");
    run(&file, &[]).assert_refused(1, &[&file.display().to_string(), "is not component text"]);
    let file = scratch.file("module.wat", "(module)");
    run(&file, &[]).assert_refused(1, &["a core WebAssembly module"]);
}

#[test]
fn an_import_that_is_not_offered_is_named_with_what_is_wanted_and_the_nearest() {
    let scratch = Scratch::new();
    run(&scratch.guest("unknown-import"), &[]).assert_refused(1, &["acme:missing/thing@1.2.3", "wanted", "nearest"]);
    let offered = "wasi:clocks/monotonic-clock@0.2.";
    run(&scratch.guest("wrong-version"), &[])
        .assert_refused(1, &["wasi:clocks/monotonic-clock@0.3.0", "wanted", "0.3.0", "nearest", offered]);
    run(&scratch.guest("wrong-shape"), &[]).assert_refused(1, &["wasi:clocks/monotonic-clock@0.2.0", "type"]);
    assert_eq!(run(&scratch.guest("newer-patch"), &[]).code, Some(0), "a newer patch of the same track links");
}

#[test]
fn a_declared_minimum_above_the_memory_is_refused_naming_the_flag() {
    let scratch = Scratch::new();
    let file = scratch.file("big.wasm", latent_guests::generated::declared_minimum(32));
    let flags = ["--call", "nop", "--memory", "1Mi"];
    run(&file, &flags).assert_refused(1, &["2097152", "1048576", "memory_bytes_max", "--memory"]);
    assert_eq!(run(&file, &["--call", "nop", "--memory", "2Mi"]).code, Some(0));
}

#[test]
fn machines_find_the_reason_of_a_refusal_in_a_record() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("unknown-import"), &["--output", "json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    let record = ran.record();
    assert_eq!((&record["outcome"], &record["terminal_state"]), (&"failed".into(), &"rejected".into()));
    assert_eq!(record["error"]["code"], "incompatible-contract");
    assert_eq!(record["error"]["details"][0]["fields"]["import"], "acme:missing/thing@1.2.3");
    assert_eq!((&record["consumption"]["fuel"], &record["logs"]), (&0.into(), &serde_json::json!([])));
}

#[test]
fn a_component_that_the_compiler_fails_on_is_refused_in_one_sentence() {
    let scratch = Scratch::new();
    let deeper = |at: u32| format!("(type $t{at} (instance (export \"a\" (instance (type $t{})))))", at - 1);
    let types: String = (1..400).map(deeper).collect();
    let nested = format!("(component (type $t0 (instance (export \"a\" (func)))) {types})");
    let file = scratch.file("nested.wat", nested);
    let ran = run(&file, &["--call", "f"]);
    ran.assert_refused(1, &[&file.display().to_string()]);
    assert!(!ran.stderr.contains("panicked") && ran.stderr.lines().count() == 1, "{ran:?}");
}

#[test]
fn a_list_of_exports_and_a_name_are_bounded() {
    let scratch = Scratch::new();
    let exports: String = (0..500).map(|at| format!("(export \"f{at}\" (func $f)) ")).collect();
    let text = format!(
        "(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m))
         (func $f (canon lift (core func $i \"f\"))) {exports})"
    );
    let ran = run(&scratch.file("many.wat", text), &["--call", &"x".repeat(50_000)]);
    ran.assert_refused(2, &["the component exports no function xxx"]);
    assert!(ran.stderr.contains("\n  and 400 more\n"), "{}", ran.stderr.lines().last().unwrap_or_default());
    assert!(ran.stderr.len() < 16_000, "{} bytes", ran.stderr.len());
}
