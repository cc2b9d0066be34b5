//! What a dormant deployment costs in memory, and what a change beside many leaves behind.

use latent_catalog::{Catalog, DeploymentManifest};
use latent_core::http::HttpAuthentication;

use crate::allocations::held;
use crate::support::{apply_of, delete_of, empty, handler, http, manifest, plain};

const DEPLOYMENTS: i64 = 10_000;
/// Resident bytes of one deployment among many, its name of 14 bytes and that of its service included.
const DEPLOYMENT_BYTES_MAX: i64 = 400;

/// A catalog of many services with one deployment each, of one release.
fn many() -> Catalog {
    let (catalog, release) = (empty(), plain());
    for at in 0..DEPLOYMENTS {
        let (service, id) = (format!("service-{at:06}"), format!("release-{at:06}"));
        catalog.apply(apply_of(manifest("acme", &service, &id), release.clone())).expect("there is room for all");
    }
    catalog
}

#[test]
fn a_dormant_deployment_costs_at_most_four_hundred_bytes() {
    // What a thread's first pin sets up for itself stays with the thread.
    drop(empty().view());
    let before = held();
    let catalog = many();
    let each = (held() - before) / DEPLOYMENTS;
    assert!(each <= DEPLOYMENT_BYTES_MAX, "{each} bytes a deployment");
    assert_eq!(i64::try_from(catalog.view().len()).unwrap(), DEPLOYMENTS);
    drop(catalog);
    assert_eq!(held(), before, "and gives all of it back");
}

#[test]
fn applying_and_deleting_again_and_again_holds_no_more_than_before() {
    let (catalog, release) = (many(), handler("handler"));
    let change = || {
        let http = http(&["a.example.com/a/b", "*.example.com", "*/a"], HttpAuthentication::Open);
        let extra = DeploymentManifest { http, ..manifest("acme", "service-000007", "extra") };
        let _applied = catalog.apply(apply_of(extra, release.clone())).unwrap();
        let _deleted = catalog.delete(&delete_of("acme", "service-000007", "extra")).unwrap();
    };
    change();
    let before = held();
    (0..1_000).for_each(|_| change());
    assert_eq!(held(), before);
}
