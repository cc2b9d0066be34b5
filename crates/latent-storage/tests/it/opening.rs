//! Directories: new, ours, somebody else's, in use, of another format.

use std::path::Path;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_storage::Storage;

use crate::support::{ROOT, fresh, furnish, held, in_root, open, options};

fn refusal(directory: &Path) -> PlatformError {
    Storage::open(directory, options()).expect_err("the directory is refused")
}

#[test]
fn a_new_directory_is_made_and_opens_again_with_what_was_written() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let directory = place.path().join("below").join("data");
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    furnish(&storage);
    let written = held(&storage);
    drop(storage);
    let storage = Storage::open(&directory, options()).expect("it opens again");
    assert_eq!(held(&storage), written);
    assert_eq!(storage.path(), directory);
}

#[test]
fn a_second_owner_is_refused_at_once_through_a_symlink_too() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let (directory, link) = (place.path().join("data"), place.path().join("link"));
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    std::os::unix::fs::symlink(&directory, &link).expect("a link is made");
    for path in [&directory, &link, &place.path().join("data/../data")] {
        let error = refusal(path);
        assert_eq!(error.code(), PlatformErrorCode::Unavailable);
        assert!(error.has_detail("storage.in-use") && error.is_retryable(), "{error}");
        assert!(error.message().contains(&path.display().to_string()), "{error}");
        assert!(error.message().contains("stop the other node"), "{error}");
    }
    drop(storage);
    Storage::open(&link, options()).expect("the owner is gone");
}

#[test]
fn a_directory_with_other_files_is_refused_and_left_alone() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    std::fs::write(place.path().join("letter.txt"), "dear reader").expect("a file is written");
    let error = refusal(place.path());
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert!(error.has_detail("storage.not-ours") && error.message().contains("letter.txt"), "{error}");
    assert!(error.message().contains(&place.path().display().to_string()), "{error}");
    let left: Vec<_> = std::fs::read_dir(place.path()).expect("it is listed").collect();
    assert_eq!(left.len(), 1, "nothing was added");
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let place = tempfile::NamedTempFile::new().expect("a temporary file is made");
    let error = refusal(place.path());
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert!(error.message().contains(&place.path().display().to_string()), "{error}");
}

#[test]
fn what_a_file_system_has_by_itself_is_no_hindrance() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    std::fs::create_dir(place.path().join("lost+found")).expect("a directory is made");
    Storage::open(place.path(), options()).expect("it counts as empty");
}

#[test]
fn a_newer_format_is_refused_naming_both() {
    let (disk, storage) = fresh();
    drop(storage);
    disk.set_bytes(in_root("format"), b"latent storage, format 3\n".to_vec());
    let error = open(&disk).expect_err("it is newer");
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    assert!(error.has_detail("storage.format"), "{error}");
    for part in [ROOT, "format 3", "format 2", "use the version that wrote it"] {
        assert!(error.message().contains(part), "{part} in: {error}");
    }
}

#[test]
fn staged_files_of_a_dead_process_are_removed() {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let written = {
        use latent_storage::disk::Disk as _;
        disk.write_file(&in_root("staged/17"), b"half a compo").expect("a file is written");
        held(&open(&disk).expect("it opens"))
    };
    assert_eq!(disk.below(in_root("staged")), Vec::<String>::new());
    assert_eq!(written.releases.len(), 4);
}

#[test]
fn names_on_the_disk_are_digests_and_our_own() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let mut names = disk.below(ROOT);
    names.retain(|name| !name.starts_with("components/"));
    assert_eq!(names, ["components", "database.redb", "format", "latest", "lock", "staged"]);
    assert_eq!(disk.below(in_root("components")).len(), 3, "one component is shared");
}

#[test]
fn nobody_but_the_owner_can_read_what_is_stored() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let directory = place.path().join("data");
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    furnish(&storage);
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o077;
    for part in [".", "components", "staged", "database.redb", "format", "latest", "lock"] {
        assert_eq!(mode(&directory.join(part)), 0, "{part}");
    }
}
