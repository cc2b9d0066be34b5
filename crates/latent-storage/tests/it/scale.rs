//! A hundred thousand deployments: how long a start takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_catalog::DeploymentManifest;
use latent_core::{DeploymentId, ServiceName};
use latent_storage::Storage;
use latent_storage::disk::UnsyncedDisk;

use crate::support::{digest, manifest, options, publish, tenant};

const DEPLOYMENTS: usize = 100_000;
const RELEASES: usize = 1000;
const TENANTS: usize = 100;
const START_MAX: Duration = Duration::from_secs(2);

fn furnish(storage: &Storage) {
    let owner = |release: usize| format!("tenant-{}", release % TENANTS);
    for release in 0..RELEASES {
        publish(storage, &owner(release), &release.to_string()).expect("it is published");
    }
    for number in 0..DEPLOYMENTS {
        let release = number % RELEASES;
        let wanted = DeploymentManifest {
            tenant: tenant(&owner(release)),
            service: ServiceName::new(format!("service-{}", number / 2)).expect("it is an id"),
            deployment: DeploymentId::new(format!("deployment-{number}")).expect("it is an id"),
            release: digest(&release.to_string()),
            ..manifest("any", "any", "any")
        };
        storage.apply(wanted, None).expect("it is applied");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time that a start takes is what this measures")]
fn a_storage_with_100_000_deployments_over_1_000_releases_opens_within_two_seconds() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open_on(Arc::new(UnsyncedDisk), place.path(), options()).expect("it opens");
    furnish(&storage);
    let inventory = storage.inventory();
    drop(storage);
    let begun = Instant::now();
    let storage = Storage::open(place.path(), options()).expect("it opens again");
    let taken = begun.elapsed();
    let file = std::fs::metadata(place.path().join("database.redb")).expect("it is there").len();
    println!("start with {DEPLOYMENTS} deployments: {} ms, {} KiB", taken.as_millis(), file >> 10);
    assert_eq!((inventory.deployments, inventory.releases), (DEPLOYMENTS, RELEASES as u64));
    assert_eq!(storage.inventory(), inventory);
    assert!(taken <= START_MAX, "a start took {taken:?}");
}
