//! Every other way in which a child can end: crashes, kills, interrupts, no child at all.

use std::sync::Barrier;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_wasmtime::{CompileLimits, Compiler as _};

use crate::support::{Rig, Setup, children, executable};

/// What a child says when it is ready for the component.
const BEGAN: &str = r#"echo '{"Began":{}}' >&2"#;

/// The refusal when a child is ready for the component and then ends as `script` does.
fn refused_by(script: &str) -> PlatformError {
    refused_before_it_began(&format!("{BEGAN}\n{script}"))
}

fn refused_before_it_began(script: &str) -> PlatformError {
    let rig = Rig::script(CompileLimits::default(), script);
    let error = rig.compile(latent_guests::component("echo")).unwrap_err();
    rig.assert_nothing_left();
    error
}

#[test]
fn a_crash_of_the_compiler_is_the_components_fault() {
    for (script, status) in [
        ("kill -SEGV $$", "signal: 11"),
        ("kill -ABRT $$", "signal: 6"),
        ("kill -ILL $$", "signal: 4"),
        ("echo nonsense >&2; exit 3", "exit status: 3"),
        ("exit 101", "exit status: 101"),
    ] {
        let error = refused_by(script);
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{error:?}");
        assert!(error.has_detail("compiler.crashed") && !error.is_retryable(), "{error:?}");
        assert!(error.message().contains(status), "{error}");
    }
}

/// A component with one type, an instance that declares an instance that declares an instance, and so on. Reading it
/// takes stack in proportion.
fn nested(depth: usize) -> Vec<u8> {
    let mut section = vec![1];
    section.extend([0x42, 0x01, 0x01].repeat(depth));
    section.extend([0x42, 0x00]);
    let mut component = b"\0asm\x0d\0\x01\0\x07".to_vec();
    let mut length = section.len();
    while length >= 0x80 {
        component.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    component.push(u8::try_from(length).unwrap());
    component.extend(section);
    component
}

#[test]
fn a_component_that_overflows_the_compilers_stack_costs_its_child_only() {
    let rig = Rig::new(Setup::default());
    let error = rig.compile(&nested(100_000)).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{error:?}");
    assert!(error.has_detail("compiler.crashed"), "{error:?}");
    rig.load(&rig.compile(latent_guests::component("echo")).unwrap()).unwrap();
    rig.assert_nothing_left();
}

#[test]
fn a_depth_that_aborts_on_an_ordinary_stack_does_not_here() {
    let rig = Rig::new(Setup::default());
    match rig.compile(&nested(560)) {
        Ok(image) => rig.load(&image).unwrap(),
        Err(error) => assert!(error.has_detail("component.malformed"), "{error:?}"),
    }
}

#[test]
fn a_kill_from_outside_is_nobodys_fault() {
    // A page of the program that the disk does not give out any more is a signal, too, and so is a forbidden call.
    for signal in ["KILL", "TERM", "BUS", "SYS", "USR1", "ALRM"] {
        let error = refused_by(&format!("kill -{signal} $$"));
        assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{error:?}");
        assert!(error.has_detail("compiler.killed") && error.is_retryable(), "{error:?}");
    }
}

#[test]
fn a_child_that_ends_before_it_began_is_not_the_components_fault() {
    for script in [
        "echo the loader lacks a library >&2; exit 127",
        "echo the loader lacks a library >&2; exit 3",
        "echo the loader lacks a library >&2; kill -SEGV $$",
        "echo the loader lacks a library >&2; kill -ABRT $$",
        "echo the loader lacks a library >&2; kill -XCPU $$",
    ] {
        let error = refused_before_it_began(script);
        assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{error:?}");
        assert!(error.has_detail("compiler.unable") && error.is_retryable(), "{error:?}");
        assert!(error.message().contains("the loader lacks a library"), "{error}");
    }
}

#[test]
fn what_a_child_says_is_bounded() {
    let error = refused_by("/usr/bin/head -c 1000000 /dev/zero >&2; exit 3");
    assert!(error.has_detail("compiler.crashed"), "{error:?}");
    let error = refused_by(r#"printf '{"Invalid":"%0100000d"}\n' 0 >&2; exit 3"#);
    assert!(error.message().len() <= 512, "{error:?}");
}

#[test]
fn a_panic_of_the_compiler_is_told_from_a_crash() {
    let error = refused_by(r#"echo '"Panicked"' >&2; exit 3"#);
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{error:?}");
    assert!(error.has_detail("compiler.panic"), "{error:?}");
}

#[test]
fn a_missing_program_is_told_by_its_name() {
    let rig = Rig::new(Setup { program: "/nonexistent/latent".into(), ..Setup::default() });
    let error = rig.compile(latent_guests::component("echo")).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::Unavailable);
    assert!(error.has_detail("compiler.unable") && error.message().contains("/nonexistent/latent"), "{error:?}");
    rig.assert_nothing_left();
}

#[test]
fn a_program_that_is_not_to_be_found_in_proc_says_what_to_do() {
    let rig = Rig::new(Setup { program: "/proc/self/nothing".into(), ..Setup::default() });
    let error = rig.compile(latent_guests::component("echo")).unwrap_err();
    assert!(error.has_detail("compiler.unable") && error.is_retryable(), "{error:?}");
    assert!(error.message().contains("/proc/self/nothing") && error.message().contains("mount /proc"), "{error}");
}

#[test]
fn an_interrupt_ends_what_is_under_way_and_what_comes_later() {
    let started = Barrier::new(2);
    let rig = Rig::with(|dir| {
        // The pipe's other end tells that the child runs.
        let pipe = dir.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = format!("echo here > {}; exec /bin/sleep 1000", pipe.display());
        Setup { program: executable(dir, &script), ..Setup::default() }
    });
    std::thread::scope(|scope| {
        let under_way = scope.spawn(|| {
            started.wait();
            rig.compile(latent_guests::component("echo"))
        });
        started.wait();
        assert_eq!(std::fs::read_to_string(rig.dir.path().join("pipe")).unwrap(), "here\n");
        assert_eq!(children().len(), 1);
        rig.compiler.interrupt();
        let error = under_way.join().unwrap().unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::Unavailable);
        assert!(error.has_detail("compiler.interrupted") && error.is_retryable(), "{error:?}");
    });
    assert!(rig.compile(latent_guests::component("echo")).unwrap_err().has_detail("compiler.interrupted"));
    rig.assert_nothing_left();
}

#[test]
fn a_child_sees_nothing_of_the_parents_surroundings() {
    let rig = Rig::with(|dir| {
        let script = format!("/usr/bin/env > {0}; pwd >> {0}; exit 101", dir.join("seen").display());
        Setup { program: executable(dir, &script), ..Setup::default() }
    });
    rig.compile(latent_guests::component("echo")).unwrap_err();
    let seen = std::fs::read_to_string(rig.dir.path().join("seen")).unwrap();
    // The first is for its allocator; the shell sets the second for itself.
    assert_eq!(seen, "MIMALLOC_ARENA_RESERVE=32MiB\nPWD=/\n/\n");
}
