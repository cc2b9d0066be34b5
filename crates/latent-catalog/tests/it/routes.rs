//! From a request to a revision: the default route, a deployment's own, and everything that leads nowhere.

use std::collections::BTreeSet;

use latent_catalog::{ActivationCatalogSource, Catalog, DeploymentManifest, revision_id};
use latent_core::{PlatformError, PlatformErrorCode};

use crate::support::{apply_of, empty, manifest, plain, release, resolve, resolve_in, weight};

fn with(ids: &[&str]) -> Catalog {
    let catalog = empty();
    for id in ids {
        catalog.apply(apply_of(manifest("acme", "text", id), plain())).unwrap();
    }
    catalog
}

fn refused(result: Result<latent_core::ResolvedRevision, PlatformError>) -> (PlatformErrorCode, String) {
    let error = result.expect_err("the route leads nowhere");
    assert!(!error.is_retryable());
    (error.code(), error.details()[0].kind().to_owned())
}

#[test]
fn the_only_deployment_of_a_service_serves_the_default_route_and_its_own() {
    let catalog = with(&["blue"]);
    for route in ["default", "blue"] {
        let resolved = resolve(&*catalog.view(), route, "a").unwrap();
        assert_eq!((resolved.deployment.as_str(), resolved.route.as_str()), ("blue", route));
        assert_eq!((resolved.tenant.as_str(), resolved.service.as_str()), ("acme", "text"));
        assert_eq!(resolved.release, plain().digest());
        assert_eq!(resolved.revision, revision_id(&manifest("acme", "text", "blue")));
        assert_eq!(resolved.route_generation, 1);
    }
}

#[test]
fn every_deployment_feeds_the_default_route() {
    let catalog = with(&["blue", "green", "red"]);
    let view = catalog.view();
    let reached: BTreeSet<_> =
        (0..200).map(|at| resolve(&*view, "default", &format!("a{at}")).unwrap().deployment).collect();
    assert_eq!(reached.len(), 3);
    for at in 0..50 {
        assert_eq!(resolve(&*view, "green", &format!("a{at}")).unwrap().deployment.as_str(), "green");
    }
}

#[test]
fn the_routing_key_is_the_activation_id_and_repeats_its_choice() {
    let catalog = with(&["blue", "green"]);
    let pinned = catalog.pin();
    let chosen: Vec<_> =
        (0..100).map(|at| resolve(&*pinned, "default", &format!("a{at}")).unwrap().deployment).collect();
    let again: Vec<_> =
        (0..100).map(|at| resolve(&*catalog.pin(), "default", &format!("a{at}")).unwrap().deployment).collect();
    assert_eq!(chosen, again);
    assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), 2, "other ids may lead elsewhere");
}

#[test]
fn reweighting_moves_shares_and_keeps_the_revision() {
    let catalog = with(&["blue", "green"]);
    let before = resolve(&*catalog.view(), "blue", "a").unwrap();
    let heavy = DeploymentManifest { weight: weight(10_000), ..manifest("acme", "text", "blue") };
    catalog.apply(apply_of(heavy, plain())).unwrap();
    let light = DeploymentManifest { weight: weight(1), ..manifest("acme", "text", "green") };
    catalog.apply(apply_of(light, plain())).unwrap();
    let view = catalog.view();
    assert_eq!(resolve(&*view, "blue", "a").unwrap().revision, before.revision);
    let to_blue =
        (0..1_000).filter(|at| resolve(&*view, "default", &format!("a{at}")).unwrap().deployment.as_str() == "blue");
    assert!(to_blue.count() >= 995);
}

#[test]
fn an_unknown_route_fails_and_never_falls_back() {
    let catalog = with(&["blue"]);
    let unavailable = (PlatformErrorCode::RouteUnavailable, "route.unknown".to_owned());
    for route in ["green", "Default", "blue.", "BLUE", "../blue"] {
        assert_eq!(refused(resolve(&*catalog.view(), route, "a")), unavailable, "{route}");
    }
    assert_eq!(refused(resolve_in(&*catalog.view(), ("acme", "other", "default"), "run", "a")), unavailable);
    assert_eq!(refused(resolve(&*empty().view(), "default", "a")), unavailable);
}

#[test]
fn a_foreign_service_looks_like_one_that_does_not_exist() {
    let catalog = with(&["blue"]);
    let asked = ("mallory", "text", "blue");
    let foreign = resolve_in(&*catalog.view(), asked, "run", "a").unwrap_err();
    let missing = resolve_in(&*empty().view(), asked, "run", "a").unwrap_err();
    assert_eq!(foreign, missing);
}

#[test]
fn a_route_whose_candidates_lack_the_function_is_incompatible() {
    let catalog = with(&["blue"]);
    let incompatible = (PlatformErrorCode::IncompatibleContract, "route.incompatible".to_owned());
    for route in ["default", "blue"] {
        let result = resolve_in(&*catalog.view(), ("acme", "text", route), "walk", "a");
        assert_eq!(refused(result), incompatible, "{route}");
    }
}

#[test]
fn only_candidates_with_the_function_take_part() {
    let catalog = with(&["blue", "green"]);
    catalog.apply(apply_of(manifest("acme", "text", "newer"), release("newer", &["run", "walk"]))).unwrap();
    let view = catalog.view();
    for at in 0..50 {
        let resolved = resolve_in(&*view, ("acme", "text", "default"), "walk", &format!("a{at}")).unwrap();
        assert_eq!(resolved.deployment.as_str(), "newer");
    }
    assert!(resolve_in(&*view, ("acme", "text", "blue"), "walk", "a").is_err(), "a named route stays with its own");
}

#[test]
fn ids_that_look_alike_never_meet() {
    let alike = ["caf\u{e9}", "cafe\u{301}", "CAF\u{c9}", "caf\u{e9}.", "../caf\u{e9}", "caf\u{e9}/", "c"];
    let catalog = with(&alike);
    let view = catalog.view();
    assert_eq!(view.len(), alike.len());
    for id in alike {
        assert_eq!(resolve(&*view, id, "a").unwrap().deployment.as_str(), id);
    }
}
