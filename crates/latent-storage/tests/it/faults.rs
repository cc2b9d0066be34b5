//! A full, read-only or failing disk at every single step: a typed error, nothing changed, and no restart needed once
//! the disk works again.

use std::io;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::SealedSource as _;
use latent_storage::{DocumentEdit, Storage};

use crate::disk::{Fault, MemoryDisk, Survival};
use crate::support::{Held, apply, delete, digest, fresh, furnish, held, open, publish, tenant};

/// More steps than any change takes.
const STEPS_MAX: u64 = 2000;

type Change = fn(&Storage) -> Result<(), PlatformError>;

const CHANGES: [(&str, Change); 8] = [
    ("publish", |storage| publish(storage, "acme", "three").map(drop)),
    ("publish what another has", |storage| publish(storage, "initech", "two").map(drop)),
    ("apply", |storage| apply(storage, "acme", "red", "one").map(drop)),
    ("replace", |storage| apply(storage, "acme", "blue", "two").map(drop)),
    ("delete", |storage| delete(storage, "acme", "green").map(drop)),
    ("delete a release", |storage| storage.delete_release(&tenant("acme"), digest("spare"))),
    ("set a quota", |storage| storage.set_quota(&tenant("acme"), Some(12345))),
    ("write documents", write_documents),
];

/// Replaces, removes and adds one each, with a quota.
fn write_documents(storage: &Storage) -> Result<(), PlatformError> {
    let edits =
        [("note", "first", Some("dear sir")), ("letter", "first", None), ("letter", "second", Some("dear madam"))];
    let edits = edits.map(|(kind, key, value)| DocumentEdit { kind, key, value: value.map(str::as_bytes) });
    storage.put_documents(&edits, &[(tenant("initech"), Some(4321))])
}

/// Lets the disk fail at each step of each change, and answers how many failures were seen.
fn failed_at_every_step(fault: impl Fn(u64) -> Fault, check: impl Fn(&PlatformError)) -> u64 {
    let mut failures = 0;
    let (disk, storage) = fresh();
    furnish(&storage);
    let before = held(&storage);
    drop(storage);
    for (name, change) in CHANGES {
        let after = changed(&disk, change);
        for step in 1.. {
            assert!(step < STEPS_MAX, "{name} never ended");
            let failing = disk.copy();
            let storage = open(&failing).expect("the furnished storage opens");
            failing.watch(Some(fault(step)));
            let answer = change(&storage);
            let is_over = failing.steps() < step;
            if let Err(error) = &answer {
                failures += 1;
                check(error);
                assert_eq!(held(&storage), before, "{name}, step {step}: seen although it failed");
                storage.identify(&tenant("acme"), digest("one")).expect("what runs goes on");
                failing.mend();
                change(&storage).unwrap_or_else(|error| panic!("{name}, step {step}, mended: {error}"));
            }
            failing.mend();
            assert_eq!(held(&storage), after, "{name}, step {step}");
            let killed = failing.after(Survival::Synced);
            drop(storage);
            for left in [killed, failing] {
                let reopened = open(&left).unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
                assert_eq!(held(&reopened), after, "{name}, step {step}: after a restart");
            }
            if is_over {
                break;
            }
        }
    }
    failures
}

fn changed(disk: &MemoryDisk, change: Change) -> Held {
    let storage = open(&disk.copy()).expect("the furnished storage opens");
    change(&storage).expect("the change works on a disk that works");
    held(&storage)
}

#[test]
fn a_full_disk_fails_the_change_and_nothing_else() {
    let kind = io::ErrorKind::StorageFull;
    let failures = failed_at_every_step(
        |from| Fault::Fail { from, kind },
        |error| {
            assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted, "{error}");
            assert!(error.has_detail("storage.disk-full") && error.is_retryable(), "{error}");
            assert!(error.message().contains("make room"), "{error}");
        },
    );
    assert!(failures > 30, "{failures} steps failed");
}

#[test]
fn a_read_only_directory_fails_the_change_and_nothing_else() {
    let kind = io::ErrorKind::ReadOnlyFilesystem;
    failed_at_every_step(
        |from| Fault::Fail { from, kind },
        |error| {
            assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{error}");
            assert!(error.has_detail("storage.read-only") && error.is_retryable(), "{error}");
        },
    );
}

#[test]
fn a_single_failure_of_the_disk_fails_the_change_and_nothing_else() {
    let kind = io::ErrorKind::Other;
    failed_at_every_step(
        |at| Fault::FailOnce { at, kind },
        |error| {
            assert_eq!(error.code(), PlatformErrorCode::Unavailable, "{error}");
            assert!(error.has_detail("storage.io") && error.is_retryable(), "{error}");
        },
    );
}

#[test]
fn a_disk_that_stays_full_for_many_changes_loses_nothing() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let before = held(&storage);
    disk.watch(Some(Fault::Fail { from: 1, kind: io::ErrorKind::StorageFull }));
    for _ in 0..20 {
        for (name, change) in CHANGES {
            assert!(change(&storage).is_err(), "{name} needs the disk");
        }
    }
    assert_eq!(held(&storage), before);
    disk.mend();
    publish(&storage, "acme", "three").expect("there is room again");
    drop(storage);
    assert_eq!(held(&open(&disk).expect("it opens")).releases.len(), before.releases.len() + 1);
}

#[test]
fn a_collection_on_a_read_only_directory_fails_and_is_done_later() {
    let (disk, storage) = fresh();
    furnish(&storage);
    storage.delete_release(&tenant("acme"), digest("spare")).expect("nothing uses it");
    disk.watch(Some(Fault::Fail { from: 1, kind: io::ErrorKind::ReadOnlyFilesystem }));
    let error = storage.collect().expect_err("nothing can be removed");
    assert!(error.has_detail("storage.read-only") && error.is_retryable());
    disk.mend();
    assert_eq!(storage.collect().expect("now it can").files, 1);
}

#[test]
fn the_same_release_again_needs_no_room() {
    let (disk, storage) = fresh();
    furnish(&storage);
    disk.watch(Some(Fault::Fail { from: 1, kind: io::ErrorKind::StorageFull }));
    assert!(!publish(&storage, "acme", "one").expect("it is there already"));
}

/// Lets each change fail at each step, makes another change, and looks at what is there after a power failure.
fn failed_then_another_change(fault: impl Fn(u64) -> Fault) {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let other: Change = |storage| storage.set_quota(&tenant("initech"), Some(777));
    let expected = changed(&disk, other);
    for (name, change) in CHANGES {
        for step in 1.. {
            assert!(step < STEPS_MAX, "{name} never ended");
            let failing = disk.copy();
            let storage = open(&failing).expect("the furnished storage opens");
            failing.watch(Some(fault(step)));
            let answer = change(&storage);
            let is_over = failing.steps() < step;
            failing.mend();
            if answer.is_err() {
                other(&storage).unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
                assert_eq!(held(&storage), expected, "{name}, step {step}");
                let reopened = open(&failing.after(Survival::Synced)).expect("it opens after a power failure");
                assert_eq!(held(&reopened), expected, "{name}, step {step}: the failed change came back");
            }
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_change_that_failed_does_not_come_back_with_the_next_one() {
    let kind = io::ErrorKind::StorageFull;
    failed_then_another_change(|from| Fault::Fail { from, kind });
    failed_then_another_change(|at| Fault::FailOnce { at, kind });
}

#[test]
fn a_change_that_failed_once_is_gone_before_its_error_is_answered() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let before = held(&storage);
    drop(storage);
    for (name, change) in CHANGES {
        for at in 1.. {
            assert!(at < STEPS_MAX, "{name} never ended");
            let failing = disk.copy();
            let storage = open(&failing).expect("the furnished storage opens");
            failing.watch(Some(Fault::FailOnce { at, kind: io::ErrorKind::Other }));
            let answer = change(&storage);
            if answer.is_err() {
                for survival in [Survival::Everything, Survival::Synced] {
                    let reopened = open(&failing.after(survival)).expect("it opens after a stop");
                    assert_eq!(held(&reopened), before, "{name}, step {at}, {survival:?}: it failed and is there");
                }
            }
            if failing.steps() < at {
                break;
            }
        }
    }
}
