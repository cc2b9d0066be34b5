//! The process or the power is gone at every single step of every change: what was acknowledged is there, nothing else
//! is in between, nothing half-written is served.

use latent_core::PlatformError;
use latent_storage::{DocumentEdit, Storage};

use crate::disk::{Fault, MemoryDisk, Survival};
use crate::support::{ROOT, apply, delete, digest, fresh, furnish, held, in_root, open, publish, tenant};

const SURVIVALS: [Survival; 6] = [
    Survival::Everything,
    Survival::Synced,
    Survival::Some(1),
    Survival::Some(2),
    Survival::Some(3),
    Survival::Some(4),
];

/// More steps than any change takes.
const STEPS_MAX: u64 = 2000;

/// Stops `change` at each of its steps, in turn, and looks at what the next process finds.
fn stopped_at_every_step(change: impl Fn(&Storage) -> Result<(), PlatformError>) {
    let (before, after, disk) = furnished(&change);
    for at in 1..STEPS_MAX {
        let stopped = disk.copy();
        let storage = open(&stopped).expect("the furnished storage opens");
        stopped.watch(Some(Fault::Stop { at }));
        let answer = change(&storage);
        let is_done = answer.is_ok() && stopped.steps() < at;
        for survival in SURVIVALS {
            let left = stopped.after(survival);
            let reopened = open(&left).unwrap_or_else(|error| panic!("step {at}, {survival:?}: {error}"));
            let found = held(&reopened);
            let is_new = found == after;
            assert!(is_new || found == before, "step {at}, {survival:?}: something in between: {found:#?}");
            assert!(is_new || answer.is_err(), "step {at}, {survival:?}: an acknowledged change is gone");
            assert_eq!(left.below(in_root("staged")), Vec::<String>::new(), "step {at}, {survival:?}");
        }
        if is_done {
            assert!(at > 3, "a change has some steps");
            return;
        }
    }
    panic!("the change never ended within {STEPS_MAX} steps");
}

/// A furnished disk, closed, with what it holds before and after `change`.
fn furnished(
    change: &impl Fn(&Storage) -> Result<(), PlatformError>,
) -> (crate::support::Held, crate::support::Held, MemoryDisk) {
    let (disk, storage) = fresh();
    furnish(&storage);
    publish(&storage, "initech", "loose").expect("a component is published");
    storage.delete_release(&tenant("initech"), digest("loose")).expect("a loose release is deleted");
    drop(storage);
    let other = disk.copy();
    let storage = open(&other).expect("the furnished storage opens");
    let before = held(&storage);
    change(&storage).expect("the change works on a disk that works");
    (before, held(&storage), disk)
}

#[test]
fn a_publication_is_whole_or_not_there() {
    stopped_at_every_step(|storage| publish(storage, "acme", "three").map(drop));
}

#[test]
fn a_publication_of_what_another_tenant_has_is_whole_or_not_there() {
    stopped_at_every_step(|storage| publish(storage, "initech", "two").map(drop));
}

#[test]
fn an_apply_of_a_new_deployment_is_whole_or_not_there() {
    stopped_at_every_step(|storage| apply(storage, "acme", "red", "one").map(drop));
}

#[test]
fn an_apply_in_the_place_of_another_is_whole_or_not_there() {
    stopped_at_every_step(|storage| apply(storage, "acme", "blue", "two").map(drop));
}

#[test]
fn a_deletion_of_a_deployment_is_whole_or_not_there() {
    stopped_at_every_step(|storage| delete(storage, "acme", "green").map(drop));
}

#[test]
fn a_deletion_of_a_release_is_whole_or_not_there() {
    stopped_at_every_step(|storage| storage.delete_release(&tenant("acme"), digest("spare")));
}

#[test]
fn a_quota_is_whole_or_not_there() {
    stopped_at_every_step(|storage| storage.set_quota(&tenant("acme"), Some(12345)));
}

#[test]
fn documents_and_quotas_of_one_call_are_whole_or_not_there() {
    stopped_at_every_step(|storage| {
        let edits = [("note", "first", None), ("note", "second", Some(&b"dear madam"[..]))];
        let edits = edits.map(|(kind, key, value)| DocumentEdit { kind, key, value });
        storage.put_documents(&edits, &[(tenant("acme"), Some(12345))])
    });
}

#[test]
fn a_collection_takes_nothing_that_is_owned() {
    stopped_at_every_step(|storage| {
        let collected = storage.collect()?;
        assert_eq!(collected.files, 1, "the one that nobody owns");
        storage.set_quota(&tenant("acme"), Some(1))
    });
}

#[test]
fn a_directory_that_was_stopped_while_it_was_made_is_made_the_next_time() {
    for at in 1..STEPS_MAX {
        let disk = MemoryDisk::default();
        disk.watch(Some(Fault::Stop { at }));
        let is_done = open(&disk).is_ok() && disk.steps() < at;
        for survival in SURVIVALS {
            let left = disk.after(survival);
            let storage = open(&left).unwrap_or_else(|error| panic!("step {at}, {survival:?}: {error}"));
            furnish(&storage);
            assert_eq!(left.below(in_root("staged")), Vec::<String>::new(), "step {at}, {survival:?}");
        }
        if is_done {
            return;
        }
    }
    panic!("opening {ROOT} never ended within {STEPS_MAX} steps");
}

#[test]
fn a_start_after_a_stop_may_be_stopped_itself() {
    let (disk, storage) = fresh();
    furnish(&storage);
    disk.watch(Some(Fault::Stop { at: 6 }));
    let _stopped = publish(&storage, "acme", "three");
    let left = disk.after(Survival::Everything);
    let expected = held(&open(&left.copy()).expect("it opens after a stop"));
    for at in 1..STEPS_MAX {
        let again = left.copy();
        again.watch(Some(Fault::Stop { at }));
        let is_done = open(&again).is_ok() && again.steps() < at;
        for survival in SURVIVALS {
            let reopened = open(&again.after(survival)).unwrap_or_else(|error| panic!("{at}, {survival:?}: {error}"));
            assert_eq!(held(&reopened), expected, "step {at}, {survival:?}");
        }
        if is_done {
            return;
        }
    }
    panic!("opening never ended within {STEPS_MAX} steps");
}
