//! Whole names, shortened ones, and those that may mean several.

use latent_catalog::{
    Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView, DeploymentManifest, ManifestLimits, Release,
};
use latent_core::{ContractSurface, FunctionSignature, Sha256Digest};

use super::*;

/// What the two deployments of the service `s` export.
const FIRST: [(&str, &str); 4] =
    [("", "run"), ("a:b/api@1.0.0", "f"), ("a:b/api@1.0.0", "g"), ("a:b/other@1.0.0", "g")];
const SECOND: [(&str, &str); 2] = [("a:b/api@1.0.0", "f"), ("a:c/api@2.0.0", "h")];

fn view() -> std::sync::Arc<CatalogView> {
    let catalog = Catalog::new(CatalogView::empty(CatalogLimits::default()));
    for (name, exports) in [("one", &FIRST[..]), ("two", &SECOND[..])] {
        let functions = exports.iter().map(|(contract, function)| {
            let target = FunctionTarget { contract: (*contract).into(), function: (*function).into() };
            (target, FunctionSignature { params: vec![], result: None })
        });
        let surface = ContractSurface { functions: functions.collect(), refused: vec![] };
        let release = Release::new(Sha256Digest::of(name.as_bytes()), &surface, &CapsuleManifest::default()).unwrap();
        let digest = release.digest();
        let json = format!(r#"{{"tenant":"t","service":"s","deployment":"{name}","release":"{digest}"}}"#);
        let manifest = DeploymentManifest::from_json(json.as_bytes(), &ManifestLimits::default()).unwrap();
        catalog.apply(Apply { manifest, release: release.into(), expected_generation: None }).unwrap();
    }
    catalog.view()
}

fn find(route: &str, contract: &str, function: &str) -> Result<String, PlatformError> {
    let (tenant, service) = (TenantId::new("t").unwrap(), ServiceName::new("s").unwrap());
    let route = super::route(route.to_owned()).unwrap();
    let found = Shortened { contract, function }.target(&view(), &tenant, &service, &route);
    found.map(|target| target.to_string())
}

#[test]
fn a_whole_name_is_taken_as_it_is() {
    assert_eq!(find("", "a:b/api@1.0.0", "g"), Ok("a:b/api@1.0.0#g".to_owned()));
    assert_eq!(find("", "", "run"), Ok("run".to_owned()));
}

#[test]
fn a_shortened_name_is_found_in_whichever_candidate_has_it() {
    for contract in ["a:b/api", "api", "api@1.0.0", ""] {
        assert_eq!(find("", contract, "f"), Ok("a:b/api@1.0.0#f".to_owned()), "{contract}");
    }
    assert_eq!(find("", "api", "h"), Ok("a:c/api@2.0.0#h".to_owned()));
}

#[test]
fn a_name_that_may_mean_several_is_refused_with_all_of_them() {
    let error = find("", "", "g").unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    let listed: Vec<_> = error.details()[0].fields().collect();
    assert_eq!(listed, [("found", "2"), ("function", "a:b/api@1.0.0#g"), ("function", "a:b/other@1.0.0#g")]);
}

#[test]
fn what_nobody_on_the_route_offers_stays_as_it_is() {
    assert_eq!(find("one", "api", "h"), Ok("api#h".to_owned()));
    assert_eq!(find("absent", "api", "f"), Ok("api#f".to_owned()));
    assert_eq!(find("", "a:b/api@1.0.0", "x#g"), Ok("a:b/api@1.0.0#x#g".to_owned()));
}

#[test]
fn a_function_has_a_name() {
    assert_eq!(find("", "api", "").unwrap_err().details()[0].field("field"), Some("function"));
}
