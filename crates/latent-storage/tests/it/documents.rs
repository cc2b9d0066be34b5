//! Small documents: kept, bounded, written together, and added to a storage that was made without them.

use std::sync::Arc;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_storage::{DOCUMENT_NAME_BYTES_MAX, DocumentEdit, Storage};

use crate::disk::{Fault, MemoryDisk, Survival};
use crate::support::{fresh, furnish, held, in_root, open, options, options_with, publish, tenant};

fn edit<'a>(kind: &'a str, key: &'a str, value: Option<&'a str>) -> DocumentEdit<'a> {
    DocumentEdit { kind, key, value: value.map(str::as_bytes) }
}

fn listed(storage: &Storage, kind: &str) -> Vec<(String, String)> {
    let text = |bytes| String::from_utf8(bytes).expect("a test's document is text");
    storage.documents(kind).into_iter().map(|(key, value)| (key, text(value))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A storage that takes documents of four bytes, two of a kind.
fn narrow() -> Storage {
    let options = options_with(|limits| (limits.document_bytes_max, limits.documents_max) = (4, 2));
    Storage::open_on(Arc::new(MemoryDisk::default()), crate::support::ROOT, options).expect("it opens")
}

#[test]
fn documents_are_listed_by_kind_in_the_order_of_their_keys_and_after_a_restart() {
    let (disk, storage) = fresh();
    for (kind, key, value) in [("a", "2", "two"), ("ab", "c", "other"), ("a", "1", "one"), ("a", "2", "zwei")] {
        storage.put_document(kind, key, Some(value.as_bytes())).expect("a document is written");
    }
    storage.put_document("a", "none", None).expect("removing nothing changes nothing");
    let expected = pairs(&[("1", "one"), ("2", "zwei")]);
    assert_eq!((listed(&storage, "a"), listed(&storage, "abc")), (expected.clone(), vec![]));
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    assert_eq!((listed(&storage, "a"), listed(&storage, "ab")), (expected, pairs(&[("c", "other")])));
    storage.put_document("ab", "c", None).expect("it is removed");
    drop(storage);
    assert_eq!(listed(&open(&disk).expect("it opens again"), "ab"), vec![]);
}

#[test]
fn the_edits_of_one_call_follow_one_another() {
    let (_, storage) = fresh();
    let edits = [edit("a", "1", Some("x")), edit("a", "1", None), edit("a", "2", None), edit("a", "2", Some("y"))];
    storage.put_documents(&edits, &[(tenant("acme"), Some(77))]).expect("they are written");
    assert_eq!(listed(&storage, "a"), pairs(&[("2", "y")]));
    assert_eq!(storage.usage(&tenant("acme")).quota_bytes, 77);
    storage.put_documents(&[], &[]).expect("nothing is always written");
}

fn refused(answer: Result<(), PlatformError>, code: PlatformErrorCode, kind: &str, field: (&str, &str)) {
    let error = answer.expect_err("it is refused");
    assert_eq!((error.code(), error.is_retryable()), (code, false), "{error}");
    let detail = error.details().iter().find(|detail| detail.kind() == kind).unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!(detail.field(field.0), Some(field.1), "{error:?}");
}

#[test]
fn a_document_beyond_its_bytes_is_refused_with_all_that_came_with_it() {
    let storage = narrow();
    storage.put_document("a", "1", Some(b"four")).expect("it fits");
    let answer = storage.put_documents(&[edit("b", "1", Some("ok")), edit("a", "1", Some("fiver"))], &[]);
    let found = ("found_bytes", "5");
    refused(answer, PlatformErrorCode::ResourceExhausted, "storage.document-size", found);
    assert_eq!((listed(&storage, "a"), listed(&storage, "b")), (pairs(&[("1", "four")]), vec![]));
}

#[test]
fn a_kind_has_so_many_documents_and_no_more_while_others_have_theirs() {
    let storage = narrow();
    let count = |answer| {
        refused(answer, PlatformErrorCode::ResourceExhausted, "storage.document-count", ("documents_max", "2"));
    };
    count(storage.put_documents(&["1", "2", "3"].map(|key| edit("a", key, Some("x"))), &[]));
    storage.put_documents(&["1", "2"].map(|key| edit("a", key, Some("x"))), &[]).expect("two fit");
    count(storage.put_document("a", "3", Some(b"x")));
    storage.put_document("a", "2", Some(b"y")).expect("a document may be replaced");
    storage.put_documents(&[edit("a", "3", Some("x")), edit("a", "1", None)], &[]).expect("one goes, one comes");
    storage.put_document("b", "1", Some(b"x")).expect("another kind has room");
    assert_eq!(listed(&storage, "a"), pairs(&[("2", "y"), ("3", "x")]));
}

#[test]
fn a_kind_or_key_that_is_empty_or_too_long_is_refused() {
    let (_, storage) = fresh();
    let (long, longest) = ("x".repeat(DOCUMENT_NAME_BYTES_MAX + 1), "x".repeat(DOCUMENT_NAME_BYTES_MAX));
    for (kind, key, part) in [("", "k", "kind"), ("k", "", "key"), (&*long, "k", "kind"), ("k", &*long, "key")] {
        let answer = storage.put_document(kind, key, Some(b""));
        refused(answer, PlatformErrorCode::InvalidArgument, "storage.document-name", ("part", part));
    }
    storage.put_document(&longest, &longest, Some(b"")).expect("the longest is fine");
}

#[test]
fn a_tenant_holds_something_from_its_first_release_to_its_last() {
    let (_, storage) = fresh();
    let acme = tenant("acme");
    storage.set_quota(&acme, Some(5000)).expect("a quota is set");
    assert!(!storage.holds_anything(&acme), "a quota is nothing");
    publish(&storage, "acme", "one").expect("it is published");
    assert!(storage.holds_anything(&acme) && !storage.holds_anything(&tenant("umbrella")));
    storage.delete_release(&acme, crate::support::digest("one")).expect("nothing uses it");
    assert!(!storage.holds_anything(&acme));
}

/// What a program that knew no documents left behind.
fn earlier() -> MemoryDisk {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open(place.path(), options()).expect("it opens");
    publish(&storage, "acme", "one").expect("it is published");
    drop(storage);
    let file = place.path().join("database.redb");
    let database = redb::Database::open(&file).expect("it is a database");
    let transaction = database.begin_write().expect("a transaction begins");
    let table = redb::TableDefinition::<&[u8], &[u8]>::new("documents");
    assert!(transaction.delete_table(table).expect("the table is removed"));
    transaction.commit().expect("it is written");
    drop(database);
    let (disk, storage) = fresh();
    publish(&storage, "acme", "one").expect("its component is there");
    drop(storage);
    disk.set_bytes(in_root("database.redb"), std::fs::read(&file).expect("it is read"));
    disk.set_bytes(in_root("format"), b"latent storage, format 1\n".to_vec());
    disk
}

#[test]
fn a_storage_of_the_format_without_documents_takes_them_once_it_was_opened() {
    let disk = earlier();
    let memory: Arc<MemoryDisk> = Arc::new(disk.copy());
    let whole = latent_storage::verify_on(memory, crate::support::ROOT, &options().limits);
    assert_eq!(whole.expect("it is verified as it is").releases, 1);
    let storage = open(&disk).expect("it opens");
    assert!(storage.holds_anything(&tenant("acme")));
    assert_eq!(disk.bytes(in_root("format")), b"latent storage, format 2\n");
    furnish(&storage);
    let expected = held(&storage);
    assert_eq!(expected.documents.len(), 2);
    drop(storage);
    assert_eq!(held(&open(&disk).expect("it opens again")), expected);
}

#[test]
fn taking_over_an_earlier_format_may_be_stopped_at_any_step() {
    let disk = earlier();
    let expected = held(&open(&disk.copy()).expect("it opens"));
    for at in 1..2000 {
        let stopped = disk.copy();
        stopped.watch(Some(Fault::Stop { at }));
        let is_done = open(&stopped).is_ok() && stopped.steps() < at;
        for survival in [Survival::Everything, Survival::Synced, Survival::Some(1), Survival::Some(2)] {
            let reopened = open(&stopped.after(survival)).unwrap_or_else(|error| panic!("{at}, {survival:?}: {error}"));
            assert_eq!(held(&reopened), expected, "step {at}, {survival:?}");
        }
        if is_done {
            return;
        }
    }
    panic!("opening never ended");
}
