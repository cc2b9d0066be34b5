//! No storage within a storage, by whatever path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use latent_core::{PlatformError, PlatformErrorCode};
use latent_storage::{Storage, StorageLimits, restore};
use tempfile::TempDir;

use crate::support::{furnish, held, options};

/// Names of everything below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).expect("it is listed") {
        let path = entry.expect("it is listed").path();
        if path.is_dir() {
            names.extend(below(&path));
        }
        names.push(path);
    }
    names.sort();
    names
}

/// A furnished storage at `data`, and paths that lead into it.
fn nested() -> (TempDir, PathBuf, Storage, Vec<PathBuf>) {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let root = place.path().canonicalize().expect("it is there");
    let directory = root.join("data");
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    furnish(&storage);
    fs::create_dir(root.join("beside")).expect("a directory is made");
    symlink(&directory, root.join("link")).expect("a link is made");
    symlink(directory.join("staged"), root.join("staged-link")).expect("a link is made");
    let into = [
        "data/sub",
        "data/staged",
        "data/staged/x",
        "data/staged/x/y/z",
        "data/components/sub",
        "data/./sub",
        "data/new/../sub",
        "beside/../data/sub",
        "beside/new/../../data/sub",
        "link/sub",
        "link/staged/x",
        "staged-link",
        "staged-link/x",
    ];
    let into = into.iter().map(|path| root.join(path)).collect();
    (place, directory, storage, into)
}

fn assert_inside(error: &PlatformError, path: &Path, storage: &Path) {
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{error}");
    assert!(error.has_detail("storage.inside"), "{error}");
    for part in
        [&*path.display().to_string(), &*format!("the storage {};", storage.display()), "name one outside of it"]
    {
        assert!(error.message().contains(part), "{part} in: {error}");
    }
}

#[test]
fn a_backup_into_the_storage_is_refused_naming_both() {
    let (_place, directory, storage, into) = nested();
    let (before, expected) = (below(&directory), held(&storage));
    for path in into {
        assert_inside(&storage.backup(&path).expect_err("it is inside"), &path, &directory);
        assert_eq!(below(&directory), before, "{}", path.display());
    }
    drop(storage);
    assert_eq!(held(&Storage::open(&directory, options()).expect("it opens again")), expected);
}

#[test]
fn a_restored_copy_within_its_backup_is_refused_naming_both() {
    let (_place, directory, storage, into) = nested();
    drop(storage);
    let before = below(&directory);
    for path in into {
        let error = restore(&directory, &path, &StorageLimits::default()).expect_err("it is inside");
        assert_inside(&error, &path, &directory);
        assert_eq!(below(&directory), before, "{}", path.display());
    }
}

#[test]
fn a_backup_or_a_new_storage_within_another_storage_is_refused_naming_that_one() {
    let (place, directory, inner, into) = nested();
    let storage = Storage::open(place.path().join("other"), options()).expect("it lies beside");
    let before = below(&directory);
    for path in into {
        assert_inside(&storage.backup(&path).expect_err("it is inside"), &path, &directory);
        assert_inside(&Storage::open(&path, options()).expect_err("it is inside"), &path, &directory);
        assert_eq!(below(&directory), before, "{}", path.display());
    }
    held(&inner);
}

#[test]
fn a_backup_beside_the_storage_is_made_through_a_link_too() {
    let (place, directory, storage, _) = nested();
    symlink(place.path().join("beside"), directory.join("out")).expect("a link is made");
    for path in ["data-2", "beside/new/../x", "data/out/y"] {
        let target = place.path().join(path);
        storage.backup(&target).expect("it lies beside");
    }
    assert!(place.path().join("beside/y/format").exists());
}
