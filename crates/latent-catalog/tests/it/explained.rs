//! What is told to people: why a choice is made, what an apply would do, and manifests that leave their tenant out.

use latent_catalog::{DeploymentManifest, ManifestLimits, RouteRequest};
use latent_core::{ActivationId, RouteName};

use crate::support::{apply_of, empty, manifest, plain, release, resolve, service, target, tenant, weight};

#[test]
fn an_explained_choice_is_the_choice_and_its_ticket_is_in_the_range_of_the_chosen() {
    let catalog = empty();
    for (id, share) in [("blue", 1), ("green", 2), ("red", 300)] {
        let named = DeploymentManifest { weight: weight(share), ..manifest("acme", "text", id) };
        catalog.apply(apply_of(named, plain())).unwrap();
    }
    let lacking = apply_of(manifest("acme", "text", "lacking"), release("other", &["walk"]));
    catalog.apply(lacking).unwrap();
    let view = catalog.view();
    for at in 0..200 {
        let id = format!("a-{at}");
        let key = RouteRequest {
            tenant: &tenant("acme"),
            service: &service("text"),
            route: &RouteName::new("default").unwrap(),
            target: &target("run"),
            activation_id: &ActivationId::new(id.as_str()).unwrap(),
        };
        let explained = view.explain(&key).unwrap();
        assert_eq!(explained.resolved, resolve(&*view, "default", &id).unwrap());
        assert_eq!(explained.candidates.iter().filter(|(_, eligible)| *eligible).count(), 3);
        let choice = explained.choice;
        let (ticket, first) = (choice.ticket.unwrap(), choice.weight_before);
        assert_eq!(choice.total_weight, 303);
        assert!((first..first + u64::from(choice.chosen.weight().get())).contains(&ticket), "{id}: {choice:?}");
    }
}

#[test]
fn a_preview_says_what_the_apply_does_and_changes_nothing() {
    let catalog = empty();
    let apply = || apply_of(manifest("acme", "text", "blue"), plain());
    for _ in 0..2 {
        let (view, before) = (catalog.view(), catalog.view().len());
        let previewed = view.preview(apply()).unwrap();
        assert_eq!(catalog.view().len(), before);
        let applied = catalog.apply(apply()).unwrap();
        let of = |applied: &latent_catalog::Applied| {
            let replaced = applied.replaced.as_ref().map(|deployment| deployment.generation());
            (applied.deployment.revision(), applied.deployment.generation(), replaced)
        };
        assert_eq!(of(&previewed), of(&applied));
    }
    let absent = latent_catalog::Apply { expected_generation: Some(0), ..apply() };
    let refused = catalog.view().preview(absent.clone()).unwrap_err();
    assert_eq!(refused, catalog.apply(absent).unwrap_err());
}

#[test]
fn a_manifest_may_leave_the_tenant_out_where_it_is_known() {
    let limits = ManifestLimits::default();
    let digest = plain().digest();
    let without = format!(r#"{{"service":"text","deployment":"blue","release":"{digest}"}}"#);
    let read = DeploymentManifest::from_json_of(without.as_bytes(), &limits, &tenant("acme")).unwrap();
    assert_eq!(read.tenant, tenant("acme"));
    assert!(DeploymentManifest::from_json(without.as_bytes(), &limits).is_err());
    let with = read.to_json();
    let named = DeploymentManifest::from_json_of(with.as_bytes(), &limits, &tenant("other")).unwrap();
    assert_eq!(named.tenant, tenant("acme"));
}
