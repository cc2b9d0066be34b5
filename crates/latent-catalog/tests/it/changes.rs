//! Apply and delete: what they answer, what they expect, and every reason for which they change nothing.

use std::sync::Arc;

use latent_catalog::{
    ActivationCatalog, Apply, Catalog, CatalogLimits, CatalogView, ChangeRefusal, Delete, DeploymentManifest,
};
use latent_core::{BudgetCeilings, PlatformError, PlatformErrorCode};

use crate::support::{apply_of, delete_of, deployment, empty, manifest, plain, release};

fn expecting(generation: u64) -> Apply {
    Apply { expected_generation: Some(generation), ..apply_of(manifest("acme", "text", "blue"), plain()) }
}

fn conflict(expected: u64, found: u64) -> ChangeRefusal {
    ChangeRefusal::GenerationConflict { deployment: deployment("blue"), expected, found }
}

#[test]
fn an_apply_answers_the_deployment_and_what_it_replaced() {
    let catalog = empty();
    let first = catalog.apply(expecting(0)).unwrap();
    assert_eq!(first.deployment.generation(), 1);
    assert!(first.replaced.is_none());
    let ceilings = BudgetCeilings { fuel: Some(7), ..BudgetCeilings::default() };
    let changed = DeploymentManifest { ceilings, ..manifest("acme", "text", "blue") };
    let second = catalog.apply(apply_of(changed.clone(), plain())).unwrap();
    assert_eq!(second.replaced.unwrap().generation(), 1);
    assert_ne!(second.deployment.revision(), first.deployment.revision());
    assert_eq!(second.deployment.manifest(), changed);
    assert_eq!(catalog.view().len(), 1);
}

#[test]
fn an_expected_generation_must_be_exactly_the_deployments() {
    let catalog = empty();
    assert_eq!(catalog.apply(expecting(1)).unwrap_err(), conflict(1, 0), "it does not exist");
    catalog.apply(expecting(0)).unwrap();
    assert_eq!(catalog.apply(expecting(0)).unwrap_err(), conflict(0, 1), "it exists");
    catalog.apply(apply_of(manifest("acme", "text", "green"), plain())).unwrap();
    assert_eq!(catalog.apply(expecting(2)).unwrap_err(), conflict(2, 1), "another deployment's does not count");
    assert_eq!(catalog.apply(expecting(1)).unwrap().deployment.generation(), 3);
    assert_eq!(catalog.apply(expecting(1)).unwrap_err(), conflict(1, 3), "a generation serves once");
    assert_eq!(catalog.view().generation(), 3, "a refusal changes nothing");
}

#[test]
fn a_delete_expects_like_an_apply_and_a_generation_never_returns() {
    let catalog = empty();
    let delete = |expected_generation| Delete { expected_generation, ..delete_of("acme", "text", "blue") };
    let missing = catalog.delete(&delete(None)).unwrap_err();
    assert!(matches!(missing, ChangeRefusal::NotFound { .. }));
    assert!(matches!(catalog.delete(&delete(Some(0))).unwrap_err(), ChangeRefusal::NotFound { .. }));
    assert_eq!(catalog.delete(&delete(Some(4))).unwrap_err(), conflict(4, 0));
    catalog.apply(expecting(0)).unwrap();
    assert_eq!(catalog.delete(&delete(Some(0))).unwrap_err(), conflict(0, 1));
    let deleted = catalog.delete(&delete(Some(1))).unwrap();
    assert_eq!((deleted.generation, deleted.deployment.generation()), (2, 1));
    assert!(catalog.view().is_empty());
    assert_eq!(catalog.apply(expecting(0)).unwrap().deployment.generation(), 3);
    assert_eq!(catalog.delete(&delete(Some(1))).unwrap_err(), conflict(1, 3), "not even for the same name");
}

#[test]
fn a_stale_change_is_a_state_conflict_with_its_reason() {
    let error = PlatformError::from(conflict(2, 5));
    assert_eq!(error.code(), PlatformErrorCode::StateConflict);
    assert!(!error.is_retryable());
    let detail = &error.details()[0];
    assert_eq!(detail.kind(), "deployment-generation-conflict");
    assert_eq!(detail.field("reason"), Some("deployment-generation-conflict"));
    assert_eq!((detail.field("expected"), detail.field("found")), (Some("2"), Some("5")));
}

#[test]
fn the_name_of_the_default_route_is_reserved() {
    let catalog = empty();
    let refusal = catalog.apply(apply_of(manifest("acme", "text", "default"), plain())).unwrap_err();
    assert_eq!(refusal, ChangeRefusal::ReservedId);
    assert_eq!(PlatformError::from(refusal).code(), PlatformErrorCode::InvalidArgument);
}

#[test]
fn a_manifest_and_its_release_must_be_of_one_component() {
    let other = release("other", &["run"]);
    let apply = Apply { release: other.clone(), ..expecting(0) };
    let refusal = empty().apply(apply).unwrap_err();
    assert_eq!(refusal, ChangeRefusal::OtherRelease { named: plain().digest(), given: other.digest() });
    assert_eq!(PlatformError::from(refusal).code(), PlatformErrorCode::InvalidArgument);
}

#[test]
fn full_services_and_catalogs_refuse_more_but_replace_and_delete() {
    let limits = CatalogLimits { deployments_max: 3, deployments_per_service_max: 2 };
    let catalog = Catalog::new(CatalogView::empty(limits));
    let apply = |service, id| catalog.apply(apply_of(manifest("acme", service, id), plain()));
    for id in ["blue", "green"] {
        apply("text", id).unwrap();
    }
    let service_full = apply("text", "red").unwrap_err();
    assert_eq!(service_full, ChangeRefusal::ServiceFull { deployments_max: 2 });
    apply("other", "blue").unwrap();
    let catalog_full = apply("third", "blue").unwrap_err();
    assert_eq!(catalog_full, ChangeRefusal::CatalogFull { deployments_max: 3 });
    for refusal in [service_full, catalog_full] {
        let error = PlatformError::from(refusal);
        assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
        assert!(error.has_detail("catalog.limit"));
    }
    apply("text", "blue").unwrap();
    catalog.delete(&delete_of("acme", "text", "blue")).unwrap();
    apply("third", "blue").unwrap();
}

#[test]
fn a_staged_change_is_seen_once_it_is_published() {
    let catalog = empty();
    let mut staged = catalog.stage();
    let applied = staged.apply(expecting(0)).unwrap();
    assert_eq!((staged.generation(), applied.deployment.generation()), (1, 1));
    assert!(catalog.view().is_empty(), "nobody sees it yet");
    staged.publish().unwrap();
    assert_eq!(catalog.view().len(), 1);
    let mut staged = catalog.stage();
    staged.delete(&delete_of("acme", "text", "blue")).unwrap();
    drop(staged);
    assert_eq!(catalog.view().generation(), 1, "a dropped one is forgotten");
    let mut staged = catalog.stage();
    assert_eq!(staged.delete(&delete_of("acme", "text", "blue")).unwrap().generation, 2);
    staged.publish().unwrap();
    assert!(catalog.view().is_empty());
}

#[test]
fn changes_that_are_staged_together_are_decided_in_turn_and_seen_together() {
    let catalog = empty();
    let mut staged = catalog.stage();
    let first = staged.apply(expecting(0)).unwrap().deployment;
    let conflict = staged.apply(expecting(0)).unwrap_err();
    assert!(matches!(conflict, ChangeRefusal::GenerationConflict { expected: 0, found: 1, .. }), "{conflict}");
    assert_eq!(staged.generation(), 1, "a refused one is not among them");
    let second = staged.apply(expecting(1)).unwrap();
    assert_eq!(second.replaced.map(|replaced| replaced.generation()), Some(first.generation()));
    staged.apply(apply_of(manifest("acme", "other", "blue"), plain())).unwrap();
    assert!(catalog.view().is_empty());
    staged.publish().unwrap();
    assert_eq!((catalog.view().len(), catalog.view().generation()), (2, 3));
}

#[test]
fn a_staged_change_that_was_overtaken_is_refused() {
    let catalog = empty();
    let mut staged = catalog.stage();
    staged.apply(expecting(0)).unwrap();
    catalog.apply(apply_of(manifest("acme", "other", "blue"), plain())).unwrap();
    let refusal = staged.publish().unwrap_err();
    assert_eq!(refusal, ChangeRefusal::Overtaken { staged_on: 0, found: 1 });
    let error = PlatformError::from(refusal);
    assert!(error.is_retryable() && error.code() == PlatformErrorCode::StateConflict);
    assert_eq!(catalog.view().len(), 1);
}

#[test]
fn the_last_generation_refuses_change_instead_of_wrapping() {
    let view = CatalogView::restore(u64::MAX, [], CatalogLimits::default()).unwrap();
    let catalog = Catalog::new(view);
    let refusal = catalog.apply(expecting(0)).unwrap_err();
    assert_eq!(refusal, ChangeRefusal::GenerationsExhausted);
    assert_eq!(PlatformError::from(refusal).code(), PlatformErrorCode::Internal);
}

#[test]
fn equal_policies_and_names_are_held_once() {
    let (catalog, release) = (empty(), plain());
    let (tenant, service) = ("a-tenant-with-a-name-too-long-to-be-kept-in-place", "and-a-service-with-such-a-name");
    let apply = |id| catalog.apply(apply_of(manifest(tenant, service, id), release.clone())).unwrap().deployment;
    let (blue, green) = (apply("blue"), apply("green"));
    assert!(Arc::ptr_eq(blue.policy(), green.policy()));
    assert!(std::ptr::eq(blue.tenant().as_str(), green.tenant().as_str()));
    assert!(std::ptr::eq(blue.service().as_str(), green.service().as_str()));
}
