//! Deployments: durable generations, conflicts, and what readers see.

use latent_catalog::{ActivationCatalog as _, Delete, DeploymentManifest, Weight};
use latent_core::http::{HttpAuthentication, HttpIngress, HttpRoute, OutgoingGrant};
use latent_core::{BudgetCeilings, DeploymentId, Environment, ImportGrant, PlatformErrorCode, SecretReferences};
use std::path::Path;
use std::time::Duration;

use crate::support::{
    ROOT, apply, delete, fresh, furnish, held, manifest, open, open_at, options_with, publish, tenant,
};

#[test]
fn everything_about_a_deployment_survives_a_restart() {
    let (disk, storage) = fresh();
    publish(&storage, "acme", "one").expect("it is published");
    let full = DeploymentManifest {
        weight: Weight::new(10_000).expect("it is the largest"),
        ceilings: BudgetCeilings {
            fuel: Some(u64::MAX),
            memory_bytes: Some(1),
            log_bytes: Some(0),
            wall_limit: Some(Duration::from_millis(1500)),
        },
        imports: ImportGrant::Only(["wasi:clocks/monotonic-clock".into(), "wasi:io/streams".into()].into()),
        environment: Environment::new([("TOKEN".into(), "päss\nword".into()), ("EMPTY".into(), "".into())]),
        secrets: SecretReferences::new([("KEY".into(), "partner.key".into()), ("KEY2".into(), "other".into())]),
        outgoing: ["http://a:8080", "https://*.example.com"].map(|text| OutgoingGrant::parse(text).unwrap()).into(),
        ..manifest("acme", "blue", "one")
    };
    let none = DeploymentManifest { imports: ImportGrant::Only([].into()), ..manifest("acme", "green", "one") };
    let revisions = [&full, &none].map(|manifest| {
        let applied = storage.apply(manifest.clone(), Some(0)).expect("it is applied");
        applied.deployment.revision()
    });
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    for (expected, revision) in [full, none].into_iter().zip(revisions) {
        let view = storage.view();
        let found = view.get(&expected.tenant, &expected.service, &expected.deployment).expect("it is there");
        assert_eq!(found.manifest(), expected);
        assert_eq!(found.revision(), revision);
    }
}

#[test]
fn http_routes_lead_to_the_same_services_after_a_restart_and_from_a_backup() {
    let (disk, storage) = fresh();
    publish(&storage, "acme", "web").expect("it is published");
    let routes: [HttpRoute; 2] = ["api.example.com/v1", "*.example.com/"].map(|text| HttpRoute::parse(text).unwrap());
    let http = HttpIngress { routes: routes.into(), authentication: HttpAuthentication::Bearer };
    let blue = DeploymentManifest { http, ..manifest("acme", "blue", "web") };
    let green = DeploymentManifest {
        secrets: SecretReferences::new([("KEY".into(), "partner.key".into())]),
        ..DeploymentManifest { deployment: DeploymentId::new("green").unwrap(), ..blue.clone() }
    };
    let applied = [&blue, &green].map(|manifest| storage.apply(manifest.clone(), Some(0)).expect("it is applied"));
    let expected = storage.view().http_route("a.example.com", "/x").expect("a rule covers it");
    storage.backup(Path::new("/backup")).expect("it is backed up");
    drop(storage);
    for root in [ROOT, "/backup"] {
        let storage = open_at(&disk, root).expect("it opens again");
        let view = storage.view();
        assert_eq!(view.http_route("a.example.com", "/x").as_ref(), Some(&expected), "{root}");
        for applied in &applied {
            let found = view.get(&blue.tenant, &blue.service, applied.deployment.id()).expect("it is there");
            assert_eq!(found.manifest(), applied.deployment.manifest());
            assert_eq!(found.revision(), applied.deployment.revision());
        }
        delete(&storage, "acme", "blue").expect("it is deleted");
        assert!(storage.view().http_route("a.example.com", "/x").is_some(), "the other one has the rule still");
        delete(&storage, "acme", "green").expect("it is deleted");
        assert_eq!(storage.view().http_route("a.example.com", "/x"), None);
    }
}

#[test]
fn generations_go_on_after_a_restart_and_after_deletions() {
    let (disk, storage) = fresh();
    furnish(&storage);
    assert_eq!(storage.view().generation(), 3);
    assert_eq!(delete(&storage, "acme", "green").expect("it is deleted"), 4);
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    assert_eq!(storage.view().generation(), 4, "the deletion counts");
    assert_eq!(apply(&storage, "acme", "green", "two").expect("it is applied again"), 5);
}

#[test]
fn an_expected_generation_is_checked_across_a_restart() {
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let storage = open(&disk).expect("it opens again");
    let blue = || manifest("acme", "blue", "two");
    for wrong in [0, 2, 99] {
        let error = storage.apply(blue(), Some(wrong)).map(drop).expect_err("blue is at 1");
        assert_eq!(error.code(), PlatformErrorCode::StateConflict);
        assert!(error.has_detail("deployment-generation-conflict"));
    }
    let applied = storage.apply(blue(), Some(1)).expect("blue is at 1");
    assert_eq!(applied.replaced.map(|replaced| replaced.generation()), Some(1));
    let DeploymentManifest { tenant, service, deployment, .. } = blue();
    let stale = Delete { tenant, service, deployment, expected_generation: Some(1) };
    assert_eq!(storage.delete(&stale).map(drop).expect_err("it is at 4").code(), PlatformErrorCode::StateConflict);
}

#[test]
fn a_pinned_catalog_keeps_what_it_has() {
    let (_, storage) = fresh();
    furnish(&storage);
    let (before, pinned) = (storage.view(), storage.catalog().pin());
    delete(&storage, "acme", "blue").expect("it is deleted");
    assert_eq!((before.len(), storage.view().len()), (3, 2));
    assert_eq!((pinned.generation(), storage.catalog().pin().generation()), (3, 4));
}

#[test]
fn a_deployment_of_a_release_that_was_never_published_is_refused() {
    let (_, storage) = fresh();
    furnish(&storage);
    let before = held(&storage);
    let error = apply(&storage, "acme", "red", "nothing").expect_err("there is no such release");
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
    assert!(error.has_detail("storage.unknown-release") && error.message().contains("publish it first"), "{error}");
    assert_eq!(held(&storage), before);
}

#[test]
fn a_deployment_whose_record_is_too_large_is_refused_and_not_seen() {
    let disk = crate::disk::MemoryDisk::default();
    let options = options_with(|limits| limits.record_bytes_max = 300);
    let storage = latent_storage::Storage::open_on(std::sync::Arc::new(disk), "/data/latent", options);
    let storage = storage.expect("it opens");
    publish(&storage, "acme", "one").expect("it is published");
    let environment = Environment::new([("LONG".into(), "x".repeat(300).into())]);
    let large = DeploymentManifest { environment, ..manifest("acme", "blue", "one") };
    let error = storage.apply(large, None).map(drop).expect_err("it is too large");
    assert!(error.has_detail("storage.record-size"), "{error}");
    assert!(storage.view().is_empty());
    storage.delete_release(&tenant("acme"), crate::support::digest("one")).expect("nothing uses it");
}
