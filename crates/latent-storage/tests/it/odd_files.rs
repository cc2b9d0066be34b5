//! Pipes, directories and links where files belong, and names that nobody gave: named or removed, and never waited for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::{ArtifactRepository as _, SealedSource as _};
use latent_storage::{Storage, StorageLimits, restore, verify};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::support::{component, digest, furnish, held, options, publish, tenant};

/// How long an answer may take that waits for nobody.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A furnished storage in a directory of its own.
fn furnished() -> (TempDir, PathBuf, Storage) {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let directory = place.path().join("data");
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    furnish(&storage);
    (place, directory, storage)
}

/// What it is called, and how it is made at a path; the second path is what a link leads to.
type Odd = (&'static str, fn(&Path, &Path));

/// Every kind of thing that is no file.
const ODD: [Odd; 4] = [
    ("a named pipe, a socket or a device", |path, _| make_pipe(path)),
    ("a named pipe, a socket or a device", |path, _| {
        drop(std::os::unix::net::UnixListener::bind(path).expect("a socket is made"));
    }),
    ("a directory", |path, _| fs::create_dir(path).expect("a directory is made")),
    ("a symbolic link", |path, target| symlink(target, path).expect("a link is made")),
];

fn make_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe is made");
}

/// What `work` answers, on a thread that is left behind should it wait for somebody.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(ANSWER_MAX).expect("an answer comes without waiting for anybody")
}

fn refusal(directory: &Path) -> PlatformError {
    let directory = directory.to_owned();
    in_time(move || Storage::open(directory, options()).map(drop)).expect_err("the directory is refused")
}

fn assert_names(error: &PlatformError, file: &str, found: &str) {
    assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact, "{error}");
    assert!(error.has_detail("storage.wrong-kind") && !error.is_retryable(), "{error}");
    for part in [file, found, "move it away"] {
        assert!(error.message().contains(part), "{part} in: {error}");
    }
}

#[test]
fn whatever_is_no_file_in_the_place_of_one_refuses_the_start_by_name() {
    let (place, directory, storage) = furnished();
    let expected = held(&storage);
    drop(storage);
    for name in ["format", "lock", "latest", "database.redb"] {
        let (file, aside) = (directory.join(name), place.path().join("aside"));
        fs::rename(&file, &aside).expect("it is put aside");
        let before = fs::read(&aside).expect("it reads");
        for (found, make) in ODD {
            make(&file, &aside);
            assert_names(&refusal(&directory), &file.display().to_string(), found);
            let looked = directory.clone();
            let verified = in_time(move || verify(looked, &StorageLimits::default()));
            assert_names(&verified.expect_err("it is refused"), &file.display().to_string(), found);
            fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).expect("it is removed");
        }
        assert_eq!(fs::read(&aside).expect("it reads"), before, "what a link leads to is not written");
        fs::rename(&aside, &file).expect("it is put back");
    }
    assert_eq!(held(&Storage::open(&directory, options()).expect("it opens again")), expected);
}

#[test]
fn a_pipe_or_link_in_the_place_of_a_component_is_not_served_and_is_replaced_by_a_publication() {
    let (place, directory, storage) = furnished();
    let storage = std::sync::Arc::new(storage);
    let file = directory.join("components").join(digest("one").to_string());
    let aside = place.path().join("aside");
    for (found, make) in ODD.into_iter().filter(|(found, _)| *found != "a directory") {
        fs::rename(&file, &aside).expect("it is put aside");
        make(&file, &aside);
        let (shared, name) = (storage.clone(), digest("one"));
        let fetched = in_time(move || shared.fetch(&tenant("acme"), name).map(drop));
        let error = fetched.expect_err("it is no component");
        assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact, "{found}");
        assert!(error.has_detail("storage.corrupt-release"), "{found}: {error}");
        assert!(error.message().contains("is no regular file; publish it again"), "{found}: {error}");
        let shared = storage.clone();
        in_time(move || publish(&shared, "acme", "one")).expect("it is published again");
        assert_eq!(storage.fetch(&tenant("acme"), digest("one")).expect("it is whole").bytes(), &*component("one"));
        assert_eq!(fs::read(&aside).expect("what the link led to is there"), component("one"));
    }
}

#[test]
fn a_directory_in_the_place_of_a_component_is_named_until_it_is_moved_away() {
    let (place, directory, storage) = furnished();
    let file = directory.join("components").join(digest("one").to_string());
    fs::remove_file(&file).expect("it is removed");
    fs::create_dir(&file).expect("a directory is made");
    let sealed = storage.identify(&tenant("acme"), digest("one")).expect("the tenant has it");
    for error in [
        storage.fetch(&tenant("acme"), digest("one")).expect_err("it is no component"),
        storage.fetch_sealed(&sealed).expect_err("it is no component"),
        publish(&storage, "acme", "one").expect_err("its name is taken"),
        publish(&storage, "initech", "one").expect_err("its name is taken"),
        storage.backup(place.path().join("backup")).expect_err("it cannot be copied"),
    ] {
        assert_names(&error, &format!("components/{}", digest("one")), "a directory");
        assert!(!error.message().contains(&directory.display().to_string()), "tenants read this: {error}");
    }
    fs::rename(&file, place.path().join("aside")).expect("it is moved away");
    publish(&storage, "acme", "one").expect("its name is free");
    storage.fetch(&tenant("acme"), digest("one")).expect("it is whole");
    assert_eq!(fs::read_dir(directory.join("staged")).expect("it is listed").count(), 0);
}

#[test]
fn a_directory_that_nobody_owns_does_not_stop_a_collection() {
    let (_place, directory, storage) = furnished();
    let components = directory.join("components");
    let odd = components.join(digest("nobody's").to_string());
    fs::create_dir(&odd).expect("a directory is made");
    make_pipe(&components.join(digest("a pipe").to_string()));
    for name in ["x", "y", "z"] {
        fs::write(components.join(digest(name).to_string()), "left").expect("a file is written");
    }
    assert_eq!(storage.collect().expect("it goes on").files, 4);
    assert_eq!(storage.collect().expect("it goes on").files, 0);
    assert!(odd.is_dir(), "it is no component");
    held(&storage);
}

#[test]
fn whatever_is_staged_and_no_directory_is_removed_at_a_start() {
    let (place, directory, storage) = furnished();
    let expected = held(&storage);
    drop(storage);
    let (staged, kept) = (directory.join("staged"), place.path().join("kept"));
    fs::create_dir(&kept).expect("a directory is made");
    fs::write(kept.join("letter.txt"), "dear reader").expect("a file is written");
    fs::write(staged.join(OsStr::from_bytes(b"\xff\xfe")), "odd").expect("a file is written");
    make_pipe(&staged.join("pipe"));
    symlink(&kept, staged.join("link")).expect("a link is made");
    symlink("nowhere", staged.join("dangling")).expect("a link is made");
    let storage = Storage::open(&directory, options()).expect("it opens");
    assert_eq!(fs::read_dir(&staged).expect("it is listed").count(), 0);
    assert!(kept.join("letter.txt").exists(), "links are not followed");
    assert_eq!(held(&storage), expected);
}

#[test]
fn a_directory_that_is_staged_refuses_the_start_by_name_and_stays() {
    let (_place, directory, storage) = furnished();
    drop(storage);
    let odd = directory.join("staged").join("mine");
    fs::create_dir(&odd).expect("a directory is made");
    fs::write(odd.join("letter.txt"), "dear reader").expect("a file is written");
    assert_names(&refusal(&directory), &odd.display().to_string(), "a directory");
    assert!(odd.join("letter.txt").exists());
}

#[test]
fn a_part_that_is_a_link_is_refused_by_name_and_its_target_is_left_alone() {
    let (place, directory, storage) = furnished();
    drop(storage);
    let elsewhere = place.path().join("elsewhere");
    for part in ["staged", "components"] {
        let part = directory.join(part);
        fs::rename(&part, &elsewhere).expect("it is put elsewhere");
        fs::write(elsewhere.join("letter.txt"), "dear reader").expect("a file is written");
        symlink(&elsewhere, &part).expect("a link is made");
        for error in [
            refusal(&directory),
            verify(&directory, &StorageLimits::default()).expect_err("it is refused"),
            restore(&directory, place.path().join("again"), &StorageLimits::default()).expect_err("it is refused"),
        ] {
            assert_names(&error, &part.display().to_string(), "a symbolic link where a directory belongs");
        }
        assert!(elsewhere.join("letter.txt").exists(), "the target is left alone");
        fs::remove_file(elsewhere.join("letter.txt")).expect("it is removed");
        fs::remove_file(&part).expect("the link is removed");
        fs::rename(&elsewhere, &part).expect("it is put back");
    }
    Storage::open(&directory, options()).expect("it opens again");
}

#[test]
fn a_name_in_the_directory_that_is_not_utf_8_is_no_hindrance() {
    let (_place, directory, storage) = furnished();
    let expected = held(&storage);
    drop(storage);
    for part in [directory.clone(), directory.join("components")] {
        fs::write(part.join(OsStr::from_bytes(b"\xff")), "odd").expect("a file is written");
    }
    let storage = Storage::open(&directory, options()).expect("it opens");
    assert_eq!(storage.collect().expect("it works").files, 0);
    assert_eq!(held(&storage), expected);
}
