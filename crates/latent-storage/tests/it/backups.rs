//! Copies: consistent while changes go on, verified, and put back.

use std::io;
use std::path::Path;
use std::sync::Arc;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_storage::disk::Disk as _;
use latent_storage::{Storage, StorageLimits, Verified, restore_on, verify_on};

use crate::disk::{Fault, MemoryDisk, Survival};
use crate::support::{Held, ROOT, apply, delete, digest, fresh, furnish, held, open_at, options, publish, tenant};

const BACKUP: &str = "/data/backup";

/// What the error has to name, and what is done to the backup.
type Damage<'a> = (&'a str, &'a dyn Fn(&MemoryDisk));

fn verify(disk: &MemoryDisk, directory: &str) -> Result<Verified, PlatformError> {
    verify_on(Arc::new(disk.clone()), directory, &StorageLimits::default())
}

fn restore(disk: &MemoryDisk, from: &str, to: &str) -> Result<Verified, PlatformError> {
    restore_on(Arc::new(disk.clone()), from, to, &StorageLimits::default())
}

/// A furnished storage with a backup beside it, and what the backup holds. The storage has changed since.
fn backed_up() -> (MemoryDisk, Held) {
    let (disk, storage) = fresh();
    furnish(&storage);
    let held = held(&storage);
    let copied = storage.backup(BACKUP).expect("a backup is made");
    assert_eq!((copied.generation, copied.releases, copied.deployments, copied.components), (3, 4, 3, 3));
    delete(&storage, "acme", "green").expect("it is deleted");
    publish(&storage, "acme", "three").expect("it is published");
    (disk, held)
}

#[test]
fn a_backup_is_a_storage_with_what_there_was_at_its_moment() {
    let (disk, expected) = backed_up();
    assert_eq!(verify(&disk, BACKUP).expect("it is whole").deployments, 3);
    let restored = restore(&disk, BACKUP, "/data/again").expect("it is restored");
    assert_eq!(restored, verify(&disk, BACKUP).expect("it is whole"));
    for place in ["/data/again", BACKUP] {
        let storage = open_at(&disk, place).expect("it opens");
        assert_eq!(held(&storage), expected);
        apply(&storage, "acme", "red", "one").expect("it goes on from there");
    }
}

#[test]
fn a_backup_survives_a_power_failure_right_after_it_was_made() {
    let (disk, expected) = backed_up();
    let left = disk.after(Survival::Synced);
    assert_eq!(held(&open_at(&left, BACKUP).expect("it opens")), expected);
}

#[test]
fn a_backup_shares_no_file_with_its_original() {
    let (disk, expected) = backed_up();
    let file = format!("components/{}", digest("one"));
    disk.set_bytes(Path::new(ROOT).join(&file), b"rubbish".to_vec());
    assert_eq!(held(&open_at(&disk, BACKUP).expect("it opens")), expected);
}

#[test]
fn a_target_with_something_in_it_is_refused_and_left_alone() {
    let (disk, storage) = fresh();
    furnish(&storage);
    storage.backup(BACKUP).expect("a backup is made");
    let before = disk.below(BACKUP);
    for error in [
        storage.backup(BACKUP).expect_err("there is one already"),
        storage.backup(ROOT).expect_err("it is the original"),
        restore(&disk, BACKUP, ROOT).expect_err("there is one already"),
    ] {
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
        assert!(error.has_detail("storage.not-empty") && error.message().contains("name an empty one"), "{error}");
    }
    assert_eq!(disk.below(BACKUP), before);
}

#[test]
fn what_is_damaged_in_a_backup_is_named() {
    let (disk, _) = backed_up();
    let component = format!("{BACKUP}/components/{}", digest("two"));
    let database = format!("{BACKUP}/database.redb");
    let cases: [Damage<'_>; 4] = [
        (&digest("two").to_string(), &|disk| disk.set_bytes(&component, b"rubbish".to_vec())),
        (&digest("two").to_string(), &|disk| disk.forget(&component)),
        ("database.redb", &|disk| disk.set_bytes(&database, vec![7; 100_000])),
        ("format", &|disk| disk.set_bytes(format!("{BACKUP}/format"), b"formless".to_vec())),
    ];
    for (named, damage) in cases {
        let damaged = disk.copy();
        damage(&damaged);
        for error in [
            verify(&damaged, BACKUP).expect_err("it is damaged"),
            restore(&damaged, BACKUP, "/data/again").expect_err("it is damaged"),
        ] {
            assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact, "{error}");
            assert!(error.message().contains(named), "{named} in: {error}");
        }
        assert_eq!(damaged.kind(Path::new("/data/again")).unwrap(), None, "nothing is left of a copy that failed");
    }
}

#[test]
fn bits_flipped_in_the_records_of_a_backup_are_found_without_changing_it() {
    let (disk, _) = backed_up();
    let database = format!("{BACKUP}/database.redb");
    let whole = disk.bytes(&database);
    let expected = verify(&disk, BACKUP).expect("it is whole");
    assert_eq!(disk.bytes(&database), whole, "looking changes nothing");
    let mut refused = 0;
    for byte in (0..whole.len()).step_by(37) {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        disk.set_bytes(&database, bytes.clone());
        match verify(&disk, BACKUP) {
            Ok(found) => assert_eq!(found, expected, "byte {byte}"),
            Err(error) => {
                refused += 1;
                assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact, "byte {byte}: {error}");
            }
        }
        assert_eq!(disk.bytes(&database), bytes, "looking changes nothing");
    }
    assert!(refused > 20, "records matter: {refused} refused");
}

#[test]
fn a_damaged_component_stops_a_backup_by_name() {
    let (disk, storage) = fresh();
    furnish(&storage);
    disk.set_bytes(Path::new(ROOT).join(format!("components/{}", digest("two"))), b"rubbish".to_vec());
    let error = storage.backup(BACKUP).expect_err("it is damaged");
    assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact);
    assert!(error.message().contains(&digest("two").to_string()), "{error}");
    assert_eq!(disk.kind(Path::new(BACKUP)).unwrap(), None, "nothing is left of it");
    disk.create_directory(Path::new(BACKUP)).expect("it is made");
    storage.backup(BACKUP).expect_err("it is damaged");
    assert_eq!(
        disk.list(Path::new(BACKUP)).unwrap(),
        Some(Vec::new()),
        "a directory that was there stays, and is empty"
    );
}

#[test]
fn a_file_where_a_directory_is_named_is_the_callers_mistake() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let file = place.path().join("file");
    std::fs::write(&file, "kept").expect("it takes files");
    let storage = Storage::open(place.path().join("data"), options()).expect("a directory is made");
    let limits = StorageLimits::default();
    for wrong in [file.clone(), file.join("below")] {
        let backup = storage.backup(&wrong).map(drop);
        let opened = Storage::open(&wrong, options()).map(drop);
        let verified = latent_storage::verify(&wrong, &limits).map(drop);
        let restored = latent_storage::restore(&wrong, place.path().join("again"), &limits).map(drop);
        for refused in [backup, opened, verified, restored] {
            let error = refused.expect_err("it is a file");
            assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::InvalidArgument, false), "{error}");
            assert!(error.has_detail("storage.not-a-directory"), "{error}");
            assert!(error.message().contains(wrong.to_str().expect("it is text")), "{error}");
        }
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "kept");
}

#[test]
fn a_storage_in_use_and_a_directory_without_one_are_not_verified() {
    let (disk, _storage) = fresh();
    assert!(verify(&disk, ROOT).expect_err("it is in use").has_detail("storage.in-use"));
    let error = verify(&disk, "/data/nowhere").expect_err("there is nothing");
    assert!(error.has_detail("storage.absent") && error.message().contains("/data/nowhere"), "{error}");
}

#[test]
fn a_storage_whose_process_was_killed_is_verified_as_it_is() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let left = disk.after(Survival::Everything);
    drop(storage);
    assert_eq!(verify(&left, ROOT).expect("it is whole").deployments, 3);
}

#[test]
fn a_backup_stopped_or_failing_at_any_step_is_whole_or_no_storage() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let expected = held(&storage);
    drop(storage);
    for step in 1.. {
        assert!(step < 2000, "a backup ends");
        let (stopped, failing) = (disk.copy(), disk.copy());
        let storage = open_at(&stopped, ROOT).expect("it opens");
        stopped.watch(Some(Fault::Stop { at: step }));
        let answer = storage.backup(BACKUP);
        for survival in [Survival::Everything, Survival::Synced, Survival::Some(5), Survival::Some(6)] {
            let left = stopped.after(survival);
            let found = verify(&left, BACKUP);
            assert!(found.is_ok() || answer.is_err(), "step {step}, {survival:?}: an acknowledged backup is gone");
            if found.is_ok() {
                assert_eq!(held(&open_at(&left, BACKUP).expect("it opens")), expected, "step {step}, {survival:?}");
            }
        }
        let storage = open_at(&failing, ROOT).expect("it opens");
        failing.watch(Some(Fault::Fail { from: step, kind: io::ErrorKind::StorageFull }));
        let failed = storage.backup(BACKUP);
        let is_over = failing.steps() < step;
        failing.mend();
        assert_eq!(held(&storage), expected, "step {step}");
        if is_over {
            failed.expect("nothing failed");
            return;
        }
        assert!(failed.is_err_and(|error| error.has_detail("storage.disk-full")), "step {step}");
        storage.backup("/data/another").expect("there is room again");
    }
}

#[test]
fn a_collection_is_postponed_while_files_are_copied() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = latent_storage::Storage::open(place.path().join("data"), crate::support::options());
    let storage = storage.expect("it opens");
    for number in 0..200 {
        publish(&storage, "acme", &number.to_string()).expect("it is published");
    }
    let target = place.path().join("backup");
    std::thread::scope(|scope| {
        let copy = scope.spawn(|| storage.backup(&target).expect("a backup is made"));
        for number in 0..200 {
            storage.delete_release(&tenant("acme"), digest(&number.to_string())).expect("nothing uses it");
            storage.collect().expect("it works, now or later");
        }
        let copied = copy.join().expect("the copying thread ends");
        assert!(copied.releases <= 200);
        let found = latent_storage::verify(&target, &StorageLimits::default()).expect("it is whole");
        assert_eq!(found, copied);
    });
}
