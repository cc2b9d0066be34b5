//! A pinned catalog keeps its routes and policies, whatever is deployed afterwards.

use latent_catalog::{ActivationCatalogSource, DeploymentManifest};
use latent_core::{BudgetCeilings, Environment, ImportGrant, PlatformErrorCode};

use crate::support::{apply_of, delete_of, empty, manifest, plain, release, resolve};

fn with_fuel(fuel: u64) -> DeploymentManifest {
    let ceilings = BudgetCeilings { fuel: Some(fuel), ..BudgetCeilings::default() };
    DeploymentManifest { ceilings, ..manifest("acme", "text", "blue") }
}

#[test]
fn a_pinned_view_is_untouched_by_later_applies_and_deletes() {
    let catalog = empty();
    catalog.apply(apply_of(with_fuel(1), plain())).unwrap();
    let pinned = catalog.pin();
    let before = resolve(&*pinned, "default", "a").unwrap();
    catalog.apply(apply_of(with_fuel(2), release("other", &["walk"]))).unwrap();
    catalog.apply(apply_of(manifest("acme", "text", "green"), plain())).unwrap();
    catalog.delete(&delete_of("acme", "text", "blue")).unwrap();
    assert_eq!(resolve(&*pinned, "default", "a").unwrap(), before);
    assert_eq!(pinned.generation(), 1);
    assert_eq!(pinned.policy(&before).unwrap().admission.deployment.fuel, Some(1));
    assert_eq!(resolve(&*catalog.pin(), "default", "a").unwrap().deployment.as_str(), "green");
}

#[test]
fn route_and_policy_come_from_the_same_view() {
    let catalog = empty();
    catalog.apply(apply_of(with_fuel(1), plain())).unwrap();
    let old = catalog.pin();
    let resolved = resolve(&*old, "blue", "a").unwrap();
    catalog.apply(apply_of(with_fuel(2), plain())).unwrap();
    let error = catalog.pin().policy(&resolved).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::NotFound, "a later view does not answer for an older revision");
    assert!(error.has_detail("route.unknown-revision"));
    assert!(old.policy(&resolved).is_ok());
}

#[test]
fn the_pinned_policy_holds_ceilings_and_grants() {
    let catalog = empty();
    let wanted = DeploymentManifest {
        imports: ImportGrant::Only(["wasi:io/streams".into()].into()),
        environment: Environment::new([("MODE".into(), "fast".into())]),
        ..with_fuel(9)
    };
    catalog.apply(apply_of(wanted.clone(), plain())).unwrap();
    let pinned = catalog.pin();
    let policy = pinned.policy(&resolve(&*pinned, "default", "a").unwrap()).unwrap();
    assert_eq!(policy.admission.deployment, wanted.ceilings);
    assert_eq!(policy.admission.capsule, BudgetCeilings::default());
    assert_eq!((&policy.execution.imports, &policy.execution.environment), (&wanted.imports, &wanted.environment));
}

#[test]
fn a_revision_of_another_tenant_has_no_policy_here() {
    let catalog = empty();
    catalog.apply(apply_of(with_fuel(1), plain())).unwrap();
    let pinned = catalog.pin();
    let mut forged = resolve(&*pinned, "blue", "a").unwrap();
    forged.tenant = crate::support::tenant("mallory");
    assert_eq!(pinned.policy(&forged).unwrap_err().code(), PlatformErrorCode::NotFound);
}
