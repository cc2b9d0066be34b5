//! The repository and its sealed source.

use std::sync::Arc;

use latent_core::PlatformErrorCode;
use latent_executor::{ArtifactRepository, OwnedRepository, Seal, SealedSource as _};

use crate::support::{component, digest, fresh, furnish, open, tenant};

#[test]
fn a_warm_lookup_reads_and_hashes_nothing() {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    disk.watch(None);
    for _ in 0..1000 {
        let sealed = storage.identify(&tenant("acme"), digest("one")).expect("acme has it");
        assert_eq!(sealed.digest(), digest("one"));
    }
    assert_eq!(disk.operations(), 0, "the disk was asked for something");
    // The bytes are gone, and still nobody looks.
    disk.forget(crate::support::in_root(&format!("components/{}", digest("one"))));
    storage.identify(&tenant("acme"), digest("one")).expect("acme has it");
    assert_eq!(disk.operations(), 0);
}

#[test]
fn a_sealed_release_is_read_and_verified_in_one_operation() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let sealed = storage.identify(&tenant("acme"), digest("two")).expect("acme has it");
    disk.watch(None);
    let artifact = storage.fetch_sealed(&sealed).expect("it is whole");
    assert_eq!((artifact.digest(), artifact.bytes().to_vec()), (digest("two"), component("two")));
    assert_eq!(disk.operations(), 1);
}

#[test]
fn nobody_is_vouched_for_who_does_not_have_the_release() {
    let (_, storage) = fresh();
    furnish(&storage);
    for name in ["two", "nothing"] {
        let error = storage.identify(&tenant("umbrella"), digest(name)).map(drop).expect_err("umbrella has not");
        assert_eq!(error.code(), PlatformErrorCode::NotFound);
    }
    let (_, other) = fresh();
    furnish(&other);
    let foreign = [Seal::new()];
    for sealed in [foreign[0].vouch(digest("one")), other.identify(&tenant("acme"), digest("one")).expect("it has")] {
        let error = storage.fetch_sealed(&sealed).map(drop).expect_err("another vouched for it");
        assert_eq!(error.code(), PlatformErrorCode::Internal);
        assert!(error.has_detail("storage.foreign-seal"));
    }
}

#[test]
fn a_release_deleted_after_it_was_identified_is_not_found_once_its_file_is_gone() {
    let (_, storage) = fresh();
    furnish(&storage);
    let sealed = storage.identify(&tenant("acme"), digest("spare")).expect("acme has it");
    storage.delete_release(&tenant("acme"), digest("spare")).expect("nothing uses it");
    storage.collect().expect("the file is removed");
    let error = storage.fetch_sealed(&sealed).map(drop).expect_err("it is gone");
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
}

#[test]
fn one_tenants_part_of_the_storage_serves_a_preparation() {
    let (_, storage) = fresh();
    furnish(&storage);
    let repository: Arc<dyn ArtifactRepository> = Arc::new(storage);
    let owned = OwnedRepository::new(repository, tenant("umbrella"));
    assert_eq!(owned.vouches_for(digest("one")), Ok(true));
    assert_eq!(owned.fetch(digest("one")).expect("umbrella has it").bytes().to_vec(), component("one"));
    assert_eq!(owned.fetch(digest("two")).expect_err("only acme has it").code(), PlatformErrorCode::NotFound);
}
