//! Where HTTP requests lead, and which routes a deployment may have beside those that others have.

use latent_catalog::{ActivationCatalog as _, Catalog, ChangeRefusal, DeploymentManifest};
use latent_core::http::{HttpAuthentication, HttpIngress};
use latent_core::{FunctionTarget, PlatformError, PlatformErrorCode};

use crate::support::{apply_of, delete_of, empty, handler, http, manifest, plain, resolve_in};

use HttpAuthentication::{Bearer, Open};

/// Applies a deployment (tenant, service, id) with these routes.
fn apply(catalog: &Catalog, at: (&str, &str, &str), http: HttpIngress) -> Result<(), ChangeRefusal> {
    let manifest = DeploymentManifest { http, ..manifest(at.0, at.1, at.2) };
    catalog.apply(apply_of(manifest, handler("handler"))).map(drop)
}

/// Where a request leads, as `tenant/service`.
fn found(catalog: &Catalog, host: &str, path: &str) -> Option<String> {
    let found = catalog.view().http_route(host, path)?;
    Some(format!("{}/{}", found.tenant, found.service))
}

#[test]
fn the_most_specific_rule_wins_by_host_first_and_then_by_path() {
    let catalog = empty();
    for (service, route) in [
        ("exact", "api.example.com/v1"),
        ("near", "*.example.com/"),
        ("near-deep", "*.example.com/v1/users"),
        ("far", "*.com/v1/users/me"),
        ("any", "*/v1/users/me/now"),
    ] {
        apply(&catalog, ("acme", service, "blue"), http(&[route], Open)).unwrap();
    }
    for (host, path, service) in [
        ("api.example.com", "/v1", Some("exact")),
        ("api.example.com", "/v1/users/me/now", Some("exact")),
        ("api.example.com", "/v1/", Some("exact")),
        ("api.example.com", "/v10", Some("near")),
        ("api.example.com", "/", Some("near")),
        ("a.b.example.com", "/v1/users/me/now", Some("near-deep")),
        ("a.b.example.com", "/v1/user", Some("near")),
        ("example.com", "/v1/users/me/now", Some("far")),
        ("example.com", "/v1/users", None),
        ("com", "/v1/users/me/now/or/never", Some("any")),
        ("com", "/v1//users", None),
        ("com", "*", None),
    ] {
        let service = service.map(|service| format!("acme/{service}"));
        assert_eq!(found(&catalog, host, path), service, "{host}{path}");
    }
}

#[test]
fn a_path_that_is_written_differently_leads_to_the_same_service() {
    let catalog = empty();
    apply(&catalog, ("acme", "web", "blue"), http(&["/"], Open)).unwrap();
    apply(&catalog, ("acme", "admin", "blue"), http(&["/admin"], Bearer)).unwrap();
    let admin = catalog.view().http_route("h", "/%61dmi%6E/x").unwrap();
    assert_eq!((admin.service.as_str(), admin.authentication), ("admin", Bearer));
    assert_eq!(found(&catalog, "h", "/admin%2Fx").as_deref(), Some("acme/web"), "an encoded slash parts nothing");
}

#[test]
fn a_route_of_another_tenant_is_taken_and_nothing_of_that_tenant_is_told() {
    let catalog = empty();
    apply(&catalog, ("secretive", "hidden", "covert"), http(&["api.example.com/v1"], Bearer)).unwrap();
    let before = catalog.view().generation();
    let mine = http(&["a.example.com", "api.example.com/v1"], Open);
    let refusal = apply(&catalog, ("acme", "text", "blue"), mine).unwrap_err();
    let error = PlatformError::from(refusal);
    assert_eq!(error.code(), PlatformErrorCode::StateConflict);
    let detail = &error.details()[0];
    assert_eq!(detail.kind(), "catalog.http-route-taken");
    assert_eq!((detail.field("host"), detail.field("path")), (Some("api.example.com"), Some("/v1")));
    let told = format!("{error:?}");
    for foreign in ["secretive", "hidden", "covert", "bearer"] {
        assert!(!told.contains(foreign), "{told}");
    }
    assert_eq!((catalog.view().generation(), catalog.view().len()), (before, 1), "nothing has changed");
    assert_eq!(found(&catalog, "a.example.com", "/"), None, "no part of it either");
    let other_path = http(&["api.example.com/v2", "api.example.com"], Open);
    apply(&catalog, ("acme", "text", "blue"), other_path).expect_err("the host is another tenant's");
    apply(&catalog, ("secretive", "other", "blue"), http(&["api.example.com/v1/x"], Open))
        .expect("its own paths are free");
    assert_eq!(found(&catalog, "api.example.com", "/v1").as_deref(), Some("secretive/hidden"));
}

#[test]
fn a_route_of_another_service_of_the_tenant_is_taken_and_says_by_which() {
    let catalog = empty();
    apply(&catalog, ("acme", "text", "blue"), http(&["a/b"], Open)).unwrap();
    let error = PlatformError::from(apply(&catalog, ("acme", "mail", "blue"), http(&["a/b"], Open)).unwrap_err());
    assert_eq!(error.details()[0].field("service"), Some("text"));
}

#[test]
fn deployments_of_a_service_share_a_route_until_the_last_one_goes() {
    let catalog = empty();
    for id in ["blue", "green"] {
        apply(&catalog, ("acme", "text", id), http(&["a/b", "a/c"], Open)).unwrap();
    }
    apply(&catalog, ("acme", "text", "blue"), http(&["a/d"], Open)).unwrap();
    assert_eq!(found(&catalog, "a", "/b").as_deref(), Some("acme/text"), "green has it still");
    catalog.delete(&delete_of("acme", "text", "green")).unwrap();
    assert_eq!((found(&catalog, "a", "/b"), found(&catalog, "a", "/c")), (None, None));
    assert_eq!(found(&catalog, "a", "/d").as_deref(), Some("acme/text"));
    apply(&catalog, ("zeta", "text", "blue"), http(&["a/b"], Open)).expect_err("the host has an owner still");
    apply(&catalog, ("acme", "text", "blue"), HttpIngress::default()).unwrap();
    assert_eq!(found(&catalog, "a", "/d"), None, "a deployment without routes gives up those it had");
    apply(&catalog, ("zeta", "text", "blue"), http(&["a/b"], Open)).expect("whoever comes first now has it");
}

#[test]
fn deployments_of_a_service_agree_on_the_authentication_of_a_route() {
    let catalog = empty();
    for id in ["blue", "green"] {
        apply(&catalog, ("acme", "text", id), http(&["a/b"], Open)).unwrap();
    }
    let error = PlatformError::from(apply(&catalog, ("acme", "text", "green"), http(&["a/b"], Bearer)).unwrap_err());
    assert_eq!(error.code(), PlatformErrorCode::StateConflict);
    let detail = &error.details()[0];
    let fields = ["host", "path", "found"].map(|name| detail.field(name));
    assert_eq!((detail.kind(), fields), ("catalog.http-authentication", [Some("a"), Some("/b"), Some("open")]));
    apply(&catalog, ("acme", "text", "green"), http(&["a/c"], Bearer)).expect("another route may have another");
    apply(&catalog, ("acme", "text", "blue"), http(&["a/b"], Bearer)).expect("alone with it, it may change it");
    assert_eq!(catalog.view().http_route("a", "/b").unwrap().authentication, Bearer);
}

#[test]
fn routes_need_a_release_with_an_http_handler() {
    let catalog = empty();
    let wanted = DeploymentManifest { http: http(&["a/b"], Open), ..manifest("acme", "text", "blue") };
    let error = PlatformError::from(catalog.apply(apply_of(wanted, plain())).unwrap_err());
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    assert!(error.has_detail("catalog.no-http-handler"), "{error:?}");
    assert!(error.message().contains("example:text/analyze@1.0.0#run"), "{}", error.message());
    assert!(catalog.view().is_empty());
}

#[test]
fn a_request_resolves_among_the_deployments_that_have_a_handler() {
    let catalog = empty();
    apply(&catalog, ("acme", "text", "blue"), http(&["a/b"], Open)).unwrap();
    catalog.apply(apply_of(manifest("acme", "text", "plain"), plain())).unwrap();
    let target = FunctionTarget::http_handler();
    let (tenant, service) = (crate::support::tenant("acme"), crate::support::service("text"));
    let route = latent_core::RouteName::new("default").unwrap();
    for at in 0..50 {
        let activation_id = latent_core::ActivationId::new(format!("a{at}")).unwrap();
        let key = latent_catalog::RouteRequest {
            tenant: &tenant,
            service: &service,
            route: &route,
            target: &target,
            activation_id: &activation_id,
        };
        let explained = catalog.view().explain(&key).unwrap();
        assert_eq!(explained.resolved.deployment.as_str(), "blue");
        assert_eq!(explained.candidates.iter().filter(|(_, eligible)| *eligible).count(), 1);
    }
    assert!(resolve_in(&*catalog.view(), ("acme", "text", "plain"), "run", "a").is_ok());
}
