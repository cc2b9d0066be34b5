//! Releases: published, listed, deleted; shared bytes without shared knowledge.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use latent_catalog::PageBounds;
use latent_core::{PlatformErrorCode, Sha256Digest};
use latent_executor::ArtifactRepository as _;
use latent_storage::Storage;

use crate::disk::MemoryDisk;
use crate::support::{
    Scripted, apply, component, delete, digest, fresh, furnish, held, in_root, open, options, options_with, publish,
    tenant,
};

#[test]
fn a_release_has_what_the_component_and_its_manifest_say() {
    let (_, storage) = fresh();
    let manifest = br#"{"exports":["example:text/analyze@1.0.0#run"],"ceilings":{"fuel":7},"threading":"shared"}"#;
    let published = storage.publish(&tenant("acme"), manifest, &component("one")).expect("it is published");
    assert!(published.created);
    let release = storage.release(&tenant("acme"), digest("one")).expect("it is there");
    assert_eq!(*release, *published.release);
    assert_eq!(release.release.digest(), digest("one"));
    assert_eq!(release.release.ceilings().fuel, Some(7));
    assert_eq!(release.release.surface().functions.len(), 1);
    assert_eq!(release.component_bytes, 13);
    assert_eq!(&*release.imports[0].0, "wasi:clocks/monotonic-clock@0.2.6");
    assert_eq!(release.declared_memory_bytes, 1 << 16);
}

#[test]
fn everything_about_a_release_survives_a_restart() {
    let (disk, storage) = fresh();
    let manifest = br#"{"imports":["wasi:clocks/monotonic-clock"],"ceilings":{"wall-limit-ms":1500,"log-bytes":0}}"#;
    let published = storage.publish(&tenant("acme"), manifest, &component("one")).expect("it is published");
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    assert_eq!(*storage.release(&tenant("acme"), digest("one")).expect("it is there"), *published.release);
}

#[test]
fn the_same_again_changes_nothing_and_is_not_inspected_again() {
    let disk = MemoryDisk::default();
    let inspector = Arc::new(Scripted::default());
    let options = latent_storage::StorageOptions::new(inspector.clone());
    let storage = Storage::open_on(Arc::new(disk), "/data/latent", options).expect("it opens");
    assert!(publish(&storage, "acme", "one").expect("the first time"));
    let before = storage.usage(&tenant("acme"));
    assert!(!publish(&storage, "acme", "one").expect("the second time"));
    assert_eq!(storage.usage(&tenant("acme")), before);
    assert_eq!(inspector.inspections.load(Ordering::Relaxed), 1);
}

#[test]
fn the_same_component_with_another_manifest_is_a_conflict_for_its_tenant_alone() {
    let (_, storage) = fresh();
    furnish(&storage);
    let other = br#"{"ceilings":{"fuel":1}}"#;
    let error = storage.publish(&tenant("acme"), other, &component("one")).expect_err("it has another manifest");
    assert_eq!(error.code(), PlatformErrorCode::StateConflict);
    assert!(error.has_detail("storage.other-manifest") && error.message().contains("delete it first"), "{error}");
    storage.publish(&tenant("initech"), other, &component("one")).expect("another tenant's is its own");
    let fuel = |owner| storage.release(&tenant(owner), digest("one")).expect("it is there").release.ceilings().fuel;
    assert_eq!((fuel("acme"), fuel("initech")), (None, Some(1)));
}

#[test]
fn what_another_tenant_has_looks_like_what_nobody_has() {
    let (_, storage) = fresh();
    furnish(&storage);
    let (foreign, missing) = (digest("two"), digest("nothing"));
    let umbrella = tenant("umbrella");
    let same = |foreign: latent_core::PlatformError, missing: latent_core::PlatformError| {
        let text = |error: &latent_core::PlatformError, digest: &Sha256Digest| {
            format!("{error:?}").replace(&digest.to_string(), "DIGEST")
        };
        assert_eq!(text(&foreign, &digest("two")), text(&missing, &digest("nothing")));
        assert_eq!(foreign.code(), PlatformErrorCode::NotFound);
    };
    let fetch = |digest| storage.fetch(&umbrella, digest).map(drop).expect_err("it has none");
    same(fetch(foreign), fetch(missing));
    let release = |digest| storage.release(&umbrella, digest).map(drop).expect_err("it has none");
    same(release(foreign), release(missing));
    let delete = |digest| storage.delete_release(&umbrella, digest).expect_err("it has none");
    same(delete(foreign), delete(missing));
    let deploy = |name| apply(&storage, "umbrella", "red", name).expect_err("it has none");
    same(deploy("two"), deploy("nothing"));
}

#[test]
fn publishing_what_another_tenant_has_takes_the_same_steps() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let (shared, own) = (disk.copy(), disk.copy());
    drop(storage);
    let operations = |disk: &MemoryDisk, name: &str| {
        let storage = open(disk).expect("it opens");
        disk.watch(None);
        publish(&storage, "initech", name).expect("it is published");
        (disk.steps(), disk.operations())
    };
    assert_eq!(operations(&shared, "two"), operations(&own, "new"), "names of equal length, one of them shared");
}

#[test]
fn bytes_that_are_no_component_are_refused_and_nothing_is_stored() {
    let (disk, storage) = fresh();
    disk.watch(None);
    let error = storage.publish(&tenant("acme"), b"{}", b"\x7fELF").expect_err("it is no component");
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    let error = storage.publish(&tenant("acme"), b"{\"exports\":[\"a:b/c\"]}", &component("one"));
    assert_eq!(error.expect_err("it exports no such thing").code(), PlatformErrorCode::IncompatibleContract);
    let error = storage.publish(&tenant("acme"), b"{\"imports\":[]}", &component("one"));
    assert_eq!(error.expect_err("it imports a clock").code(), PlatformErrorCode::IncompatibleContract);
    let error = storage.publish(&tenant("acme"), b"{\"exports\":", &component("one"));
    assert_eq!(error.expect_err("the manifest is cut").code(), PlatformErrorCode::InvalidArgument);
    assert_eq!(disk.steps(), 0, "the disk was not touched");
    assert_eq!(storage.inventory(), latent_storage::StorageInventory::default());
}

#[test]
fn a_component_beyond_its_bound_is_refused_before_it_is_looked_at() {
    let disk = MemoryDisk::default();
    let options = options_with(|limits| limits.component_bytes_max = 12);
    let storage = Storage::open_on(Arc::new(disk), "/data/latent", options).expect("it opens");
    let error = publish(&storage, "acme", "one").expect_err("13 bytes are too many");
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    let detail = &error.details()[0];
    assert_eq!(
        (detail.kind(), detail.field("found"), detail.field("max")),
        ("storage.component-size", Some("13"), Some("12"))
    );
}

#[test]
fn a_release_that_a_deployment_uses_is_not_deleted() {
    let (_, storage) = fresh();
    furnish(&storage);
    let delete_two = || storage.delete_release(&tenant("acme"), digest("two"));
    let error = delete_two().expect_err("green uses it");
    assert_eq!(error.code(), PlatformErrorCode::StateConflict);
    assert!(error.message().contains("used by deployment green of service text"), "{error}");
    apply(&storage, "acme", "green", "one").expect("green is given another");
    delete_two().expect("nothing uses it any more");
    let error = storage.release(&tenant("acme"), digest("two")).map(drop).expect_err("it is gone");
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
    assert_eq!(storage.release(&tenant("acme"), digest("one")).map(drop), Ok(()));
}

#[test]
fn a_deleted_deployment_lets_go_of_its_release() {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let storage = open(&disk).expect("uses are counted at the start too");
    assert!(storage.delete_release(&tenant("umbrella"), digest("one")).is_err());
    delete(&storage, "umbrella", "blue").expect("it is deleted");
    storage.delete_release(&tenant("umbrella"), digest("one")).expect("nothing uses it any more");
    assert!(held(&storage).releases.contains_key(&("acme".to_owned(), digest("one"))), "acme has its own");
}

#[test]
fn pages_are_bounded_by_rows_and_by_bytes_and_show_each_release_once() {
    let (_, storage) = fresh();
    let mut expected: Vec<_> = (0..25).map(|number| digest(&number.to_string())).collect();
    expected.sort();
    for number in 0..25 {
        publish(&storage, "acme", &number.to_string()).expect("it is published");
    }
    publish(&storage, "umbrella", "foreign").expect("it is published");
    for bounds in [
        PageBounds { rows_max: 4, ..PageBounds::default() },
        PageBounds { rows_max: 0, ..PageBounds::default() },
        PageBounds { bytes_max: 1500, ..PageBounds::default() },
        PageBounds { bytes_max: 0, ..PageBounds::default() },
        PageBounds::default(),
    ] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = storage.releases(&tenant("acme"), after, bounds);
            assert!(!page.releases.is_empty() && page.releases.len() <= bounds.rows_max.max(1), "{bounds:?}");
            assert!(page.releases.len() == 1 || page.releases.len() * 256 <= bounds.bytes_max, "{bounds:?}");
            found.extend(page.releases.iter().map(|release| release.release.digest()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{bounds:?}");
    }
    assert!(storage.releases(&tenant("initech"), None, PageBounds::default()).releases.is_empty());
}

#[test]
fn the_inventory_counts_shared_components_once() {
    let (disk, storage) = fresh();
    furnish(&storage);
    let inventory = storage.inventory();
    assert_eq!((inventory.tenants, inventory.releases, inventory.deployments), (2, 4, 3));
    assert_eq!((inventory.components, inventory.component_bytes), (3, 13 + 13 + 15));
    assert_eq!(disk.below(in_root("components")).len(), 3);
    drop(storage);
    let storage = Storage::open_on(Arc::new(disk), "/data/latent", options()).expect("it opens again");
    assert_eq!(storage.inventory(), inventory);
}
