//! `latent new` from outside: what it writes, says and refuses.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, Scratch, end, latent};

fn new_in(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("new").args(arguments).current_dir(directory).stdin(Stdio::null());
    end(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts"))
}

#[test]
fn each_language_gets_its_sources_its_contract_and_a_build_script_that_can_be_run() {
    let scratch = Scratch::new();
    let js = ["service.js", "package.json", "wit/service.wit", "wit/deps/http.wit"];
    let python = ["app.py", "requirements.txt", "wit/service.wit", "wit/deps/http.wit"];
    for (language, files) in
        [("rust", &["src/lib.rs", "Cargo.toml", "Cargo.lock"][..]), ("js", &js), ("python", &python)]
    {
        let name = format!("shop-{language}");
        let ran = new_in(scratch.path(), &[&name, "--lang", language]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
        for command in [
            format!("cd {name} && ./build.sh {name}.wasm"),
            format!("latent up {name}.wasm"),
            "curl http://127.0.0.1:8080/".to_owned(),
        ] {
            assert!(ran.text().lines().any(|line| line.trim() == command), "{command}: {ran:?}");
        }
        let made = scratch.path().join(&name);
        for file in files.iter().chain(&["README.md", ".gitignore", "build.sh"]) {
            assert!(made.join(file).is_file(), "{language}: {file}");
        }
        let script = made.join("build.sh").metadata().expect("it is there");
        assert_eq!(script.permissions().mode() & 0o100, 0o100, "{language}");
        let readme = std::fs::read_to_string(made.join("README.md")).expect("text");
        assert!(readme.contains(&format!("latent up {name}.wasm")), "{readme}");
    }
}

#[test]
fn the_json_form_names_every_file_that_was_written() {
    let scratch = Scratch::new();
    let ran = new_in(scratch.path(), &["shop", "--lang", "js", "--output", "json"]);
    let line: Value = serde_json::from_str(ran.text()).expect("one object");
    assert_eq!((&line["directory"], &line["language"]), (&"shop".into(), &"js".into()));
    assert_eq!(line["commands"][1], "latent up shop.wasm");
    let files = line["files"].as_array().expect("files");
    assert!(files.len() >= 11 && files.contains(&"shop/wit/deps/io.wit".into()), "{line}");
    for file in files {
        assert!(scratch.path().join(file.as_str().expect("a path")).is_file(), "{file}");
    }
}

#[test]
fn what_is_there_already_stays_whatever_it_is() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("kept")).expect("a directory");
    scratch.file("kept/build.sh", "mine");
    scratch.file("file", "mine too");
    std::os::unix::fs::symlink("elsewhere", scratch.path().join("link")).expect("a link");
    for name in ["kept", "file", "link"] {
        let ran = new_in(scratch.path(), &[name, "--lang", "rust"]);
        ran.assert_refused(1, &[name, "there already", "choose another name"]);
    }
    let text = |name: &str| std::fs::read_to_string(scratch.path().join(name)).expect("it is there");
    assert_eq!((&*text("kept/build.sh"), &*text("file")), ("mine", "mine too"));
    assert_eq!(std::fs::read_dir(scratch.path().join("kept")).expect("a directory").count(), 1);
    assert!(!scratch.path().join("elsewhere").exists());
}

#[test]
fn a_name_that_is_a_path_or_no_name_and_an_unknown_language_are_wrong_usage() {
    let scratch = Scratch::new();
    for name in ["../shop", "/tmp/shop", "Shop", "2nd", "shop.wasm", ""] {
        new_in(scratch.path(), &[name, "--lang", "js"]).assert_refused(2, &["beginning with a letter"]);
    }
    new_in(scratch.path(), &["shop", "--lang", "cobol"]).assert_refused(2, &["cobol"]);
    new_in(scratch.path(), &["shop"]).assert_refused(2, &["required"]);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("a directory").count(), 0);
}

#[test]
fn the_help_says_what_is_written_and_how_the_command_ends() {
    let ran = latent(&["new", "--help"]);
    for part in ["build.sh", "wasi:http", "--lang", "Exit codes", "latent new shop --lang rust"] {
        assert!(ran.text().contains(part), "{part}: {ran:?}");
    }
}
