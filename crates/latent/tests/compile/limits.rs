//! A component that needs more than a compilation may use is refused by the limit's name, and only its child ends.

use latent_core::{PlatformError, PlatformErrorCode};
use latent_wasmtime::{CompileLimits, FunctionsOptions};

use crate::support::{PROGRAM, Rig, Setup, bulky, executable, laborious};

fn with(limits: CompileLimits) -> Rig {
    Rig::new(Setup { limits, ..Setup::default() })
}

#[track_caller]
fn assert_limit(error: &PlatformError, limit: &str, setting: &str) {
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted, "{error:?}");
    let detail = error.details().iter().find(|detail| detail.kind() == "compiler.limit").unwrap();
    assert_eq!(detail.field("limit"), Some(limit), "{error:?}");
    assert!(error.message().contains(setting) && detail.field("setting").unwrap().contains(setting), "{error:?}");
    assert!(error.message().contains(detail.field("allowed").unwrap()), "{error:?}");
}

/// The node goes on: the same compiler takes the next component.
#[track_caller]
fn assert_unaffected(rig: &Rig) {
    rig.load(&rig.compile(latent_guests::component("echo")).unwrap()).unwrap();
    rig.assert_nothing_left();
}

#[test]
fn a_component_that_takes_too_much_processor_time_is_refused() {
    let rig = with(CompileLimits { cpu_base_seconds: 1, cpu_seconds_per_mebibyte: 0, ..CompileLimits::default() });
    let error = rig.compile(&laborious(300, 2000)).unwrap_err();
    assert_limit(&error, "cpu", "cpu_base_seconds");
    assert!(!error.is_retryable());
    assert_unaffected(&rig);
}

#[test]
fn a_component_that_takes_too_much_memory_is_refused() {
    let rig = with(CompileLimits { address_space_bytes: 256 << 20, ..CompileLimits::default() });
    let error = rig.compile(&laborious(1, 60_000)).unwrap_err();
    assert_limit(&error, "address-space", "address_space_bytes");
    assert_unaffected(&rig);
}

#[test]
fn a_component_that_does_not_even_fit_into_the_address_space_is_refused() {
    let rig = with(CompileLimits { address_space_bytes: 192 << 20, ..CompileLimits::default() });
    let error = rig.compile(&bulky(128 << 20)).unwrap_err();
    assert_limit(&error, "address-space", "address_space_bytes");
    rig.assert_nothing_left();
}

#[test]
fn an_image_over_its_bound_is_refused() {
    let rig = with(CompileLimits { image_bytes_max: 4 << 20, ..CompileLimits::default() });
    let error = rig.compile(&bulky(5 << 20)).unwrap_err();
    assert_limit(&error, "image", "image_bytes_max");
    assert_unaffected(&rig);
}

#[test]
fn a_program_that_writes_without_end_is_stopped_at_the_bound() {
    let limits = CompileLimits { image_bytes_max: 1 << 20, ..CompileLimits::default() };
    let rig = Rig::script(limits, "exec /usr/bin/head -c 3000000 /dev/zero");
    let error = rig.compile(latent_guests::component("echo")).unwrap_err();
    assert_limit(&error, "image", "image_bytes_max");
    rig.assert_nothing_left();
}

#[test]
fn a_child_that_does_nothing_is_killed_when_its_time_on_the_clock_is_up() {
    let limits =
        CompileLimits { cpu_base_seconds: 1, cpu_seconds_per_mebibyte: 0, wall_factor: 1, ..CompileLimits::default() };
    // It reads nothing either: a component larger than a pipe waits for it.
    for (script, component) in [
        ("exec /bin/sleep 1000", latent_guests::component("echo").to_vec()),
        ("exec /bin/sleep 1000", bulky(1 << 20)),
        ("exec /usr/bin/yes 1>&2", latent_guests::component("echo").to_vec()),
    ] {
        let rig = Rig::script(limits, script);
        let error = rig.compile(&component).unwrap_err();
        assert_limit(&error, "wall", "wall_factor");
        assert!(error.is_retryable());
        rig.assert_nothing_left();
    }
}

/// The program, started where a process may use no more than `ulimit` says.
fn started_under(ulimit: &str) -> String {
    format!("ulimit {ulimit}\nexec '{PROGRAM}' \"$@\"")
}

#[test]
fn a_limit_of_the_surroundings_is_named_and_is_not_the_components_fault() {
    let (long, wide) = (laborious(300, 2000), laborious(1, 60_000));
    let large = bulky(4 << 20);
    for (ulimit, component, named, allowed) in [
        ("-v 262144", &wide, "ulimit -v", "268435456"),
        ("-d 200000", &wide, "ulimit -d", "204800000"),
        // A file is counted in blocks of 512 bytes.
        ("-f 2048", &large, "ulimit -f", "1048576"),
        ("-t 2", &long, "ulimit -t", "1 seconds"),
        ("-t 1", &long, "ulimit -t", "1 seconds"),
    ] {
        let rig = Rig::script(CompileLimits::default(), &started_under(ulimit));
        let error = rig.compile(component).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{ulimit}: {error:?}");
        assert!(error.has_detail("compiler.unable") && error.is_retryable(), "{ulimit}: {error:?}");
        assert!(error.message().contains(named) && error.message().contains(allowed), "{ulimit}: {error}");
        rig.assert_nothing_left();
    }
}

#[test]
fn a_child_that_may_write_only_small_files_keeps_few_functions_and_compiles() {
    const FILE_BYTES_MAX: u64 = 256 << 10;
    let rig = Rig::with(|dir| Setup {
        program: executable(dir, &started_under("-f 512")),
        functions: Some(FunctionsOptions::in_dir(dir.join("functions"))),
        ..Setup::default()
    });
    for operations in 100..104 {
        rig.load(&rig.compile_for(Some("a"), &laborious(10, operations)).unwrap()).unwrap();
    }
    for kept in rig.dir.path().join("functions").read_dir().unwrap() {
        let bytes = kept.unwrap().metadata().unwrap().len();
        assert!(bytes > 0 && bytes <= FILE_BYTES_MAX, "{bytes}");
    }
    rig.assert_nothing_left();
}

#[test]
fn a_child_that_cannot_start_a_thread_is_not_the_components_fault() {
    // Enough for the program, and too little for the stack that compiling needs.
    let rig = with(CompileLimits { address_space_bytes: 70 << 20, ..CompileLimits::default() });
    let error = rig.compile(latent_guests::component("echo")).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{error:?}");
    assert!(error.has_detail("compiler.unable") && error.is_retryable(), "{error:?}");
    assert!(error.message().contains("thread") && error.message().contains("address_space_bytes"), "{error}");
    rig.assert_nothing_left();
}
