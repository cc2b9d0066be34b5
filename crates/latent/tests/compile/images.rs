//! What a child compiles is what this process would have compiled, and loads in the engine with the pool.

use latent_core::PlatformErrorCode;

use crate::support::{Rig, Setup, bulky, bytes};

#[test]
fn every_fixture_compiles_to_the_same_image_in_a_child_and_loads_in_the_pooled_engine() {
    let rig = Rig::new(Setup::default());
    let mut loaded = 0;
    for name in latent_guests::names() {
        let component = latent_guests::component(name);
        match (rig.compile(component), rig.compile_here(component)) {
            (Ok(child), Ok(here)) => {
                assert!(bytes(&child) == bytes(&here), "{name}: the images differ");
                rig.load(&child).unwrap_or_else(|error| panic!("{name}: {error}"));
                loaded += 1;
            }
            (child, here) => assert_eq!(child.unwrap_err(), here.unwrap_err(), "{name}"),
        }
    }
    assert!(loaded > 20, "only {loaded} fixtures were compiled");
    rig.assert_nothing_left();
}

#[test]
fn what_does_not_validate_is_refused_in_the_engines_words() {
    let rig = Rig::new(Setup::default());
    let mut component = latent_guests::component("echo").to_vec();
    component.truncate(component.len() / 2);
    let error = rig.compile(&component).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert!(error.has_detail("component.malformed") && !error.is_retryable(), "{error:?}");
    assert_eq!(error, rig.compile_here(&component).unwrap_err());
    rig.assert_nothing_left();
}

#[test]
fn a_full_disk_is_told_and_passes() {
    let rig = Rig::new(Setup::default());
    let full = std::fs::File::options().read(true).write(true).open("/dev/full").unwrap();
    let error = rig.refused_into(latent_guests::component("echo"), &full);
    drop(full);
    assert_eq!(error.code(), PlatformErrorCode::Unavailable);
    assert!(error.has_detail("compiler.io") && error.is_retryable(), "{error:?}");
    assert!(error.message().contains("No space left"), "{error}");
    rig.load(&rig.compile(latent_guests::component("echo")).unwrap()).unwrap();
    rig.assert_nothing_left();
}

#[test]
fn a_program_that_leaves_something_else_than_an_image_is_not_believed() {
    for script in ["exit 0", "echo rubbish", "/bin/cat \"$0\""] {
        let rig = Rig::script(Setup::default().limits, script);
        let error = rig.compile(latent_guests::component("echo")).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::Internal, "{error}");
        assert!(error.has_detail("compiler.no-image"), "{error:?}");
        rig.assert_nothing_left();
    }
}

#[test]
fn the_image_does_not_pass_through_the_memory_of_this_process() {
    const IMAGE_BYTES: usize = 48 << 20;
    let rig = Rig::new(Setup::default());
    let component = bulky(IMAGE_BYTES);
    // Whatever the test itself needed is in the peak before.
    let copy = component.clone();
    let before = peak_memory_bytes();
    drop(copy);
    let image = rig.compile(&component).unwrap();
    let grown = peak_memory_bytes() - before;
    assert!(image.metadata().unwrap().len() >= IMAGE_BYTES as u64);
    assert!(grown < 8 << 20, "{grown} bytes more");
}

/// The most memory this process has had.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
