//! What a tenant may store.

use std::sync::Arc;

use latent_core::PlatformErrorCode;
use latent_storage::Storage;

use crate::disk::MemoryDisk;
use crate::support::{digest, fresh, furnish, open, options_with, publish, tenant};

#[test]
fn a_publication_beyond_the_quota_is_refused_and_stores_nothing() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let (acme, used) = (tenant("acme"), storage.usage(&tenant("acme")).bytes);
    storage.set_quota(&acme, Some(used + 1)).expect("a quota is set");
    disk.watch(None);
    let error = publish(&storage, "acme", "three").expect_err("it does not fit");
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    let detail = error.details().iter().find(|detail| detail.kind() == "storage.quota").expect("the quota is named");
    assert_eq!(detail.field("used_bytes"), Some(&*used.to_string()));
    assert_eq!(detail.field("quota_bytes"), Some(&*(used + 1).to_string()));
    assert_eq!((disk.steps(), storage.usage(&acme).bytes), (0, used));
    let needed: u64 = detail.field("needed_bytes").and_then(|bytes| bytes.parse().ok()).expect("it is a number");
    storage.set_quota(&acme, Some(used + needed)).expect("a quota is set");
    publish(&storage, "acme", "three").expect("now it fits exactly");
    assert_eq!(storage.usage(&acme).bytes, used + needed);
}

#[test]
fn shared_components_count_for_each_owner() {
    let (_, storage) = fresh();
    publish(&storage, "acme", "one").expect("it is published");
    let alone = storage.usage(&tenant("acme"));
    publish(&storage, "umbrella", "one").expect("it is published");
    assert_eq!(storage.usage(&tenant("umbrella")), alone);
    assert_eq!(storage.usage(&tenant("acme")), alone, "another owner changes nothing");
    assert_eq!(storage.inventory().charged_bytes, 2 * alone.bytes);
}

#[test]
fn a_deleted_release_gives_its_room_back() {
    let (_, storage) = fresh();
    publish(&storage, "acme", "one").expect("it is published");
    assert!(storage.usage(&tenant("acme")).bytes > 13);
    storage.delete_release(&tenant("acme"), digest("one")).expect("nothing uses it");
    let usage = storage.usage(&tenant("acme"));
    assert_eq!((usage.releases, usage.bytes), (0, 0));
}

#[test]
fn a_quota_of_its_own_survives_a_restart_until_it_is_taken_away() {
    let (disk, storage) = fresh();
    let default = storage.usage(&tenant("acme")).quota_bytes;
    assert_eq!(default, 1 << 30);
    storage.set_quota(&tenant("acme"), Some(0)).expect("a quota is set");
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    assert_eq!(storage.usage(&tenant("acme")).quota_bytes, 0, "zero grants nothing");
    assert!(publish(&storage, "acme", "one").is_err());
    storage.set_quota(&tenant("acme"), None).expect("it is taken away");
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    assert_eq!(storage.usage(&tenant("acme")).quota_bytes, default);
    publish(&storage, "acme", "one").expect("it fits");
}

#[test]
fn the_number_of_releases_is_bounded_for_each_tenant() {
    let options = options_with(|limits| limits.tenant_releases_max = 2);
    let storage = Storage::open_on(Arc::new(MemoryDisk::default()), "/data/latent", options).expect("it opens");
    for name in ["one", "two"] {
        publish(&storage, "acme", name).expect("there is room");
    }
    let error = publish(&storage, "acme", "three").expect_err("two are allowed");
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    assert!(error.has_detail("storage.release-count"), "{error}");
    publish(&storage, "umbrella", "three").expect("another tenant has its own bound");
    assert!(!publish(&storage, "acme", "one").expect("the same again is none more"));
}
