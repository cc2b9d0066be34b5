//! Compiled functions that are kept: a component that changed a little is compiled from them, to the same image.

use std::path::PathBuf;

use latent_wasmtime::FunctionsOptions;

use crate::support::{Rig, Setup, bytes, laborious};

fn rig() -> Rig {
    Rig::with(|dir| Setup { functions: Some(FunctionsOptions::in_dir(dir.join("functions"))), ..Setup::default() })
}

/// The tenants' files with their sizes.
fn files(rig: &Rig) -> Vec<(PathBuf, u64)> {
    let dir = rig.dir.path().join("functions");
    let mut files: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), path.metadata().unwrap().len())).collect()
}

fn component(constant: u32, data: &str) -> Vec<u8> {
    let text = format!(
        r#"(component (core module (memory 1) (data (i32.const 0) "{data}")
             (func (result i32) i32.const {constant}) (func (param i32) (result i32) (i32.load (local.get 0)))))"#
    );
    wat::parse_str(&text).unwrap()
}

#[test]
fn an_edited_component_adds_only_what_changed_and_gets_the_image_it_would_get_without() {
    let rig = rig();
    rig.compile_for(Some("a"), &component(1, "first")).unwrap();
    let first = files(&rig)[0].1;
    let edited = component(1, "other");
    let image = rig.compile_for(Some("a"), &edited).unwrap();
    assert_eq!(files(&rig)[0].1, first, "only data changed");
    assert!(bytes(&image) == bytes(&rig.compile_here(&edited).unwrap()));
    rig.load(&image).unwrap();
    drop(image);
    rig.compile_for(Some("a"), &component(2, "other")).unwrap();
    let (second, file) = (files(&rig)[0].1, files(&rig).len());
    assert!(second > first && second < 2 * first && file == 1, "one function of two changed: {first} then {second}");
    rig.assert_nothing_left();
}

#[test]
fn tenants_share_nothing() {
    let rig = rig();
    let component = component(1, "same");
    rig.compile_for(Some("a"), &component).unwrap();
    rig.compile_for(Some("b"), &component).unwrap();
    rig.compile_for(None, &component).unwrap();
    let files = files(&rig);
    assert_eq!(files.len(), 2);
    assert_eq!(files[0].1, files[1].1, "the second tenant's began with nothing");
}

#[test]
fn no_damage_to_the_kept_functions_changes_an_image() {
    let rig = rig();
    let component = component(1, "same");
    let sound = bytes(&rig.compile_for(Some("a"), &component).unwrap());
    let path = files(&rig).remove(0).0;
    let kept = std::fs::read(&path).unwrap();
    for at in (0..kept.len()).step_by(kept.len() / 40) {
        let mut damaged = kept.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, damaged).unwrap();
        assert!(bytes(&rig.compile_for(Some("a"), &component).unwrap()) == sound, "byte {at}");
    }
}

#[test]
fn two_children_of_one_tenant_at_once_both_succeed() {
    let rig = rig();
    let component = laborious(50, 100);
    let images = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| rig.compile_for(Some("a"), &component).unwrap()));
        both.map(|one| bytes(&one.join().unwrap()))
    });
    assert!(images[0] == images[1]);
    assert_eq!(files(&rig).len(), 1);
    rig.load(&rig.compile_for(Some("a"), &component).unwrap()).unwrap();
}
