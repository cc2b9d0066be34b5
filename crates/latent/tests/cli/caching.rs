//! Where `latent run` keeps what it compiled, and what it does where nothing can be kept.

use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, run};

const ECHO: [&str; 4] = ["--call", "echo-string", "--args", "[\"hi\"]"];

fn images(cache: &Path) -> usize {
    std::fs::read_dir(cache.join("images")).map_or(0, Iterator::count)
}

#[test]
fn a_second_run_uses_the_image_of_the_first() {
    let scratch = Scratch::new();
    let (cache, echo) = (scratch.path().join("cache"), scratch.guest("echo"));
    let flags = [&ECHO[..], &["--cache-dir", cache.to_str().unwrap()]].concat();
    for _ in 0..2 {
        let ran = run(&echo, &flags);
        assert_eq!((ran.code, ran.text()), (Some(0), "\"hi\"\n"), "{ran:?}");
        assert_eq!(images(&cache), 1);
    }
}

#[test]
fn without_a_cache_nothing_is_kept() {
    let scratch = Scratch::new();
    let home = scratch.path().join("home");
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("run").arg(scratch.guest("echo")).args(ECHO).arg("--no-cache");
    let output = command.env("XDG_CACHE_HOME", &home).env("HOME", &home).output().expect("the binary starts");
    assert!(output.status.success(), "{output:?}");
    assert!(!home.exists(), "not even a directory was made");
}

#[test]
fn a_named_directory_that_cannot_be_used_is_refused_and_a_default_one_done_without() {
    let scratch = Scratch::new();
    let (file, echo) = (scratch.file("file", b"in the way"), scratch.guest("echo"));
    let named = run(&echo, &[&ECHO[..], &["--cache-dir", file.to_str().unwrap()]].concat());
    named.assert_refused(1, &["cache directory", file.to_str().unwrap(), "--cache-dir"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("run").arg(&echo).args(ECHO).env("XDG_CACHE_HOME", &file);
    let output = command.output().expect("the binary starts");
    assert_eq!(output.stdout, b"\"hi\"\n", "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("warning: compiled components are not kept"),
        "{output:?}"
    );
}

#[test]
fn a_directory_in_which_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let (cache, echo) = (scratch.path().join("cache"), scratch.guest("echo"));
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = run(&echo, &[&ECHO[..], &["--cache-dir", cache.to_str().unwrap()]].concat());
    ran.assert_refused(1, &["other users may write", "chmod go-w"]);
}

#[test]
fn a_function_that_is_not_there_is_told_before_compiling() {
    let scratch = Scratch::new();
    let (cache, echo) = (scratch.path().join("cache"), scratch.guest("echo"));
    let ran = run(&echo, &["--call", "nowhere", "--cache-dir", cache.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(images(&cache), 0);
}
