//! Flipped bits, cut and missing files: noticed, or of no effect; and never a panic.

use std::sync::atomic::{AtomicUsize, Ordering};

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::ArtifactRepository as _;
use latent_storage::Storage;
use redb::ReadableTable as _;

use crate::disk::{Fault, MemoryDisk, Survival};
use crate::support::{Held, apply, digest, fresh, furnish, held, in_root, open, options, publish, tenant};

/// A closed, furnished storage and what it holds.
fn closed() -> (MemoryDisk, Held) {
    let (disk, storage) = fresh();
    furnish(&storage);
    let held = held(&storage);
    drop(storage);
    (disk, held)
}

/// A furnished storage whose process was killed.
fn killed() -> (MemoryDisk, Held) {
    let (disk, storage) = fresh();
    furnish(&storage);
    let held = held(&storage);
    (disk.after(Survival::Everything), held)
}

/// Which bytes of the database opening it reads; what lies elsewhere cannot matter to it.
fn bytes_read(disk: &MemoryDisk, length: usize) -> Vec<usize> {
    let disk = disk.copy();
    disk.watch(None);
    drop(open(&disk).expect("the undamaged storage opens"));
    let mut is_read = vec![false; length];
    for range in disk.read_ranges() {
        for at in range {
            if let Some(at) = usize::try_from(at).ok().and_then(|at| is_read.get_mut(at)) {
                *at = true;
            }
        }
    }
    (0..length).filter(|at| is_read[*at]).collect()
}

/// Flips bits of `file` in `disk`, one at a time, and opens what results.
fn flip(disk: &MemoryDisk, file: &str, bits: &[usize], expected: &Held) -> (usize, usize) {
    let (original, next) = (disk.bytes(in_root(file)), AtomicUsize::new(0));
    let (refused, unchanged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(bit) = bits.get(next.fetch_add(1, Ordering::Relaxed)) {
            let damaged = disk.copy();
            let mut bytes = original.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            damaged.set_bytes(in_root(file), bytes);
            match open(&damaged) {
                Ok(storage) => {
                    assert_eq!(held(&storage), *expected, "bit {bit} of {file} changed what is read");
                    // Closing writes, and nobody looks at it afterwards.
                    damaged.watch(Some(Fault::Stop { at: 1 }));
                    unchanged.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    assert_refused(&error);
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    (refused.into_inner(), unchanged.into_inner())
}

fn assert_refused(error: &PlatformError) {
    let is_damage = error.code() == PlatformErrorCode::CorruptArtifact
        && (error.has_detail("storage.damaged") || error.has_detail("catalog.damaged"));
    let is_other_format = error.has_detail("storage.format");
    assert!(is_damage || is_other_format, "an error of another kind: {error}");
    assert!(error.message().contains("restore") || error.message().contains("version"), "what to do: {error}");
}

fn bits_of(bytes: &[usize]) -> Vec<usize> {
    bytes.iter().flat_map(|byte| 8 * byte..8 * byte + 8).collect()
}

/// Bytes that hold the database's own header, with both of its commit slots.
const HEADER_BYTES: usize = 512;

#[test]
fn every_bit_of_the_databases_header_is_noticed_or_of_no_effect() {
    for (disk, expected) in [closed(), killed()] {
        let bits = bits_of(&(0..HEADER_BYTES).collect::<Vec<_>>());
        let (refused, unchanged) = flip(&disk, "database.redb", &bits, &expected);
        assert_eq!(refused + unchanged, bits.len());
        assert!(refused > 0, "some of the header matters");
    }
}

#[test]
fn a_bit_of_every_byte_that_is_read_after_a_kill_is_noticed_or_of_no_effect() {
    a_bit_of_every(1, &killed());
}

#[test]
fn a_bit_of_every_fourth_byte_that_is_read_after_closing_is_noticed_or_of_no_effect() {
    a_bit_of_every(4, &closed());
}

fn a_bit_of_every(distance: usize, (disk, expected): &(MemoryDisk, Held)) {
    let read = bytes_read(disk, disk.bytes(in_root("database.redb")).len());
    let bits: Vec<_> = read.iter().step_by(distance).map(|byte| 8 * byte + byte / 3 % 8).collect();
    let (refused, unchanged) = flip(disk, "database.redb", &bits, expected);
    assert_eq!(refused + unchanged, bits.len());
    assert!(refused > 300, "records matter: {refused} refused");
}

#[test]
#[ignore = "opens a storage 660,000 times, which takes some ten minutes"]
fn every_bit_of_the_database_is_noticed_or_of_no_effect() {
    for (disk, expected) in [closed(), killed()] {
        let length = disk.bytes(in_root("database.redb")).len();
        let read = bytes_read(&disk, length);
        let mut bits = bits_of(&read);
        // What is not read cannot matter in one bit more than in another.
        bits.extend((0..length).filter(|byte| read.binary_search(byte).is_err()).map(|byte| 8 * byte + byte % 8));
        let (refused, unchanged) = flip(&disk, "database.redb", &bits, &expected);
        println!(
            "{length} bytes, {} read: of {} bits, {refused} were refused and {unchanged} had no effect",
            read.len(),
            bits.len()
        );
        assert_eq!(refused + unchanged, bits.len());
    }
}

#[test]
fn every_bit_of_the_files_beside_the_database_is_noticed_or_of_no_effect() {
    let (disk, expected) = closed();
    for file in ["format", "latest"] {
        let bits = bits_of(&(0..disk.bytes(in_root(file)).len()).collect::<Vec<_>>());
        let (refused, unchanged) = flip(&disk, file, &bits, &expected);
        assert_eq!(refused + unchanged, bits.len());
        assert_eq!(refused == bits.len(), file == "format", "the note is only a note");
    }
}

#[test]
fn a_database_cut_anywhere_is_refused() {
    let (disk, expected) = closed();
    let whole = disk.bytes(in_root("database.redb"));
    for part in 0..64 {
        let cut = disk.copy();
        cut.set_bytes(in_root("database.redb"), whole[..whole.len() * part / 64].to_vec());
        match open(&cut) {
            Ok(storage) => assert_eq!(held(&storage), expected, "cut at {part}/64"),
            Err(error) => assert_refused(&error),
        }
    }
}

#[test]
fn a_database_of_an_earlier_time_is_refused() {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let earlier = disk.bytes(in_root("database.redb"));
    let storage = open(&disk).expect("it opens again");
    apply(&storage, "acme", "red", "one").expect("a deployment is applied");
    drop(storage);
    disk.set_bytes(in_root("database.redb"), earlier);
    let error = open(&disk).expect_err("the deployment is missing");
    assert_refused(&error);
    assert!(error.message().contains("was acknowledged"), "{error}");
}

#[test]
fn a_missing_database_is_not_replaced_by_an_empty_one() {
    let (disk, _) = closed();
    disk.forget(in_root("database.redb"));
    let error = open(&disk).expect_err("everything is missing");
    assert_refused(&error);
    assert!(error.message().contains("/data/latent/database.redb is damaged: it is missing"), "{error}");
}

#[test]
fn a_missing_note_says_nothing() {
    let (disk, expected) = closed();
    disk.forget(in_root("latest"));
    assert_eq!(held(&open(&disk).expect("the database is whole")), expected);
}

/// Where a component lies.
fn component_file(name: &str) -> std::path::PathBuf {
    in_root(&format!("components/{}", digest(name)))
}

fn fetch(storage: &Storage, name: &str) -> Result<bytes::Bytes, PlatformError> {
    storage.fetch(&tenant("acme"), digest(name)).map(|artifact| artifact.bytes().clone())
}

fn assert_corrupt(storage: &Storage, name: &str, what: &str) {
    let error = fetch(storage, name).expect_err("damaged bytes are never served");
    assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact);
    assert!(error.has_detail("storage.corrupt-release") && error.message().contains(what), "{error}");
    assert!(!error.is_retryable());
}

#[test]
fn a_component_with_any_bit_flipped_is_not_served() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let whole = disk.bytes(component_file("one"));
    for bit in 0..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        disk.set_bytes(component_file("one"), bytes);
        assert_corrupt(&storage, "one", "is not what was published");
    }
    fetch(&storage, "two").expect("another component is served");
}

#[test]
fn a_component_that_is_cut_longer_or_missing_is_not_served() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let whole = disk.bytes(component_file("one"));
    disk.set_bytes(component_file("one"), whole[1..].to_vec());
    assert_corrupt(&storage, "one", "is not what was published");
    disk.set_bytes(component_file("one"), [&*whole, b"!"].concat());
    assert_corrupt(&storage, "one", "has more bytes");
    disk.forget(component_file("one"));
    assert_corrupt(&storage, "one", "is missing");
}

#[test]
fn publishing_a_damaged_component_again_replaces_it() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let whole = disk.bytes(component_file("one"));
    disk.set_bytes(component_file("one"), b"component oNe".to_vec());
    assert!(!publish(&storage, "acme", "one").expect("it is published again"), "the tenant had it");
    assert_eq!(fetch(&storage, "one").expect("it is whole again"), whole);
    disk.forget(component_file("one"));
    assert!(publish(&storage, "initech", "one").expect("another tenant publishes it"), "this one had it not");
    assert_eq!(fetch(&storage, "one").expect("it is there again"), whole);
}

type Records = redb::TableDefinition<'static, &'static [u8], &'static [u8]>;

/// Changes a table of a real storage as the database itself allows, and answers with what the next start says.
fn meddled(
    name: &'static str,
    meddle: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>),
) -> PlatformError {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open(place.path(), options()).expect("it opens");
    furnish(&storage);
    drop(storage);
    let database = redb::Database::open(place.path().join("database.redb")).expect("it is a database");
    let transaction = database.begin_write().expect("a transaction begins");
    meddle(&mut transaction.open_table(Records::new(name)).expect("there is such a table"));
    transaction.commit().expect("the database finds nothing wrong");
    drop(database);
    let error = Storage::open(place.path(), options()).expect_err("the storage does");
    assert_refused(&error);
    error
}

/// The first record of a table.
fn first(table: &redb::Table<'_, &'static [u8], &'static [u8]>) -> (Vec<u8>, Vec<u8>) {
    let (key, value) = table.first().expect("it reads").expect("there are records");
    (key.value().to_vec(), value.value().to_vec())
}

#[test]
fn a_record_that_is_gone_is_missed() {
    for name in ["releases", "deployments", "quotas", "documents"] {
        let error = meddled(name, |table| {
            let (key, _) = first(table);
            table.remove(&*key).expect("it is removed");
        });
        assert!(error.message().contains("records are not the 10 that were written"), "{name}: {error}");
    }
}

#[test]
fn a_record_that_was_changed_or_moved_is_found() {
    for name in ["releases", "deployments", "quotas", "documents"] {
        let changed = meddled(name, |table| {
            let (key, mut value) = first(table);
            *value.last_mut().expect("a record has a value") ^= 1;
            table.insert(&*key, &*value).expect("it is replaced");
        });
        let moved = meddled(name, |table| {
            let (mut key, value) = first(table);
            table.remove(&*key).expect("it is removed");
            *key.last_mut().expect("a record has a key") ^= 1;
            table.insert(&*key, &*value).expect("it is added");
        });
        for error in [changed, moved] {
            assert!(error.message().contains(name) && error.message().contains("checksum"), "{name}: {error}");
        }
    }
}

#[test]
fn a_summary_that_is_gone_or_changed_is_found() {
    let gone = meddled("summary", |table| drop(table.remove(&b"summary"[..]).expect("it is removed")));
    let changed = meddled("summary", |table| {
        table.insert(&b"summary"[..], &[0; 40][..]).expect("it is replaced");
    });
    assert!(gone.message().contains("no summary") && changed.message().contains("in its summary"), "{gone}; {changed}");
}
