//! Well-formed manifests: what they mean, their canonical form, and how a capsule's narrows its component.

use std::time::Duration;

use latent_catalog::{CapsuleManifest, DeploymentManifest, ManifestLimits, Release, WEIGHT_DEFAULT};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, Environment, FunctionTarget, ImportGrant, PlatformErrorCode, SecretReferences, Sha256Digest,
    Threading,
};
use proptest::prelude::*;

use crate::support::{CONTRACT, deployment, service, surface, target, tenant, weight};

fn read(json: &str) -> DeploymentManifest {
    DeploymentManifest::from_json(json.as_bytes(), &ManifestLimits::default()).expect("the manifest is well formed")
}

fn capsule(json: &str) -> CapsuleManifest {
    CapsuleManifest::from_json(json.as_bytes(), &ManifestLimits::default()).expect("the manifest is well formed")
}

#[test]
fn a_short_deployment_manifest_has_the_documented_defaults() {
    let digest = Sha256Digest::of(b"component");
    let manifest =
        read(&format!(r#"{{"tenant": "acme", "service": "text", "deployment": "blue", "release": "{digest}"}}"#));
    let defaults = DeploymentManifest {
        tenant: tenant("acme"),
        service: service("text"),
        deployment: deployment("blue"),
        release: digest,
        weight: weight(WEIGHT_DEFAULT),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    };
    assert_eq!(manifest, defaults);
}

#[test]
fn a_full_deployment_manifest_is_read_whole() {
    let digest = Sha256Digest::of(b"component");
    let manifest = read(
        &format!(
            r#"{{
            "environment": {{"MODE": "fast", "EMPTY": "", "ÜBER": "naïve\n"}},
            "secrets": {{"TOKEN": "session_token", "API_KEY": "partner.key-2"}},
            "imports": ["wasi:io/streams", "latent:log/log"],
            "ceilings": {{"fuel": 18446744073709551615, "memory-bytes": 1, "log-bytes": 0, "wall-limit-ms": 1500}},
            "weight": 10000,
            "release": "sha256:{digest}",
            "deployment": "../blue.", "service": "\u0074ext", "tenant": "ac me"
        }}"#
        )
        .replace("ac me", "acmé"),
    );
    let ceilings = BudgetCeilings {
        fuel: Some(u64::MAX),
        memory_bytes: Some(1),
        log_bytes: Some(0),
        wall_limit: Some(Duration::from_millis(1_500)),
    };
    assert_eq!(manifest.ceilings, ceilings);
    assert_eq!(manifest.imports, ImportGrant::Only(["latent:log/log".into(), "wasi:io/streams".into()].into()));
    let variables: Vec<_> = manifest.environment.iter().collect();
    assert_eq!(variables, [("EMPTY", ""), ("MODE", "fast"), ("ÜBER", "naïve\n")]);
    let references: Vec<_> = manifest.secrets.iter().collect();
    assert_eq!(references, [("API_KEY", "partner.key-2"), ("TOKEN", "session_token")]);
    assert_eq!((manifest.weight.get(), manifest.release), (10_000, digest));
    let names = (manifest.tenant.as_str(), manifest.service.as_str(), manifest.deployment.as_str());
    assert_eq!(names, ("acmé", "text", "../blue."));
}

#[test]
fn the_example_in_the_documentation_is_read_whole() {
    let page = include_str!("../../../../docs/manifests.md");
    let example = page.split("```json").nth(1).and_then(|rest| rest.split("```").next());
    let manifest = read(example.expect("the page shows a deployment manifest"));
    assert_eq!((manifest.service.as_str(), manifest.release), ("text-stats", Sha256Digest::of(b"abc")));
    assert!(manifest.ceilings.wall_limit.is_some() && !manifest.environment.is_empty());
}

#[test]
fn an_empty_list_of_imports_grants_none() {
    let digest = Sha256Digest::of(b"component");
    let manifest =
        read(&format!(r#"{{"tenant":"a","service":"b","deployment":"c","release":"{digest}","imports":[]}}"#));
    assert!(!manifest.imports.allows("wasi:io/streams@0.2.6"));
}

fn any_ceilings() -> impl Strategy<Value = BudgetCeilings> {
    let positive = || prop::option::of(1..=u64::MAX);
    let wall_limit = prop::option::of((1..=u64::MAX).prop_map(Duration::from_millis));
    (positive(), positive(), prop::option::of(any::<u64>()), wall_limit).prop_map(
        |(fuel, memory_bytes, log_bytes, wall_limit)| BudgetCeilings { fuel, memory_bytes, log_bytes, wall_limit },
    )
}

fn any_interfaces() -> impl Strategy<Value = Option<Vec<Box<str>>>> {
    let name = "[a-z]{1,6}(-[a-z0-9]{0}[a-z]{1,4})?:[a-z]{1,8}/[a-zA-Z]{1,8}";
    prop::option::of(prop::collection::btree_set(name, 0..5))
        .prop_map(|names| names.map(|names| names.into_iter().map(String::into_boxed_str).collect()))
}

proptest! {
    #[test]
    fn a_deployment_manifest_reads_back_from_its_canonical_form(
        names in prop::array::uniform3("[^\\s\\p{C}\u{2028}\u{2029}]{1,20}"),
        content in any::<[u8; 8]>(), share in 1_u16..=10_000,
        ceilings in any_ceilings(), imports in any_interfaces(),
        variables in prop::collection::btree_map("[^=\\p{C}]{1,12}", "[^\0]{0,40}", 0..6),
        references in prop::collection::btree_map("[A-Z_]{1,12}", "[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,20}", 0..6),
    ) {
        let [tenant_id, service_name, id] = names;
        prop_assume!(id != "default");
        let references = references.into_iter().filter(|(variable, _)| !variables.contains_key(variable));
        let secrets = SecretReferences::new(references.map(|(variable, secret)| (variable.into(), secret.into())));
        let environment = Environment::new(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        let manifest = DeploymentManifest {
            tenant: tenant(&tenant_id),
            service: service(&service_name),
            deployment: deployment(&id),
            release: Sha256Digest::of(&content),
            weight: weight(share),
            ceilings,
            imports: imports.map_or(ImportGrant::Standard, |names| ImportGrant::Only(names.into())),
            environment,
            secrets,
            http: HttpIngress::default(),
            outgoing: Box::default(),
        };
        prop_assert_eq!(read(&manifest.to_json()), manifest);
    }

    #[test]
    fn a_capsule_manifest_reads_back_from_its_canonical_form(
        ceilings in any_ceilings(), imports in any_interfaces(), exports in any_interfaces(), shared in any::<bool>(),
        functions in prop::collection::btree_set("[a-z]{1,6}", 0..4),
    ) {
        let contract = |function: String| FunctionTarget { contract: CONTRACT.into(), function: function.into() };
        let exports = exports.map(|contracts| {
            let contracts = contracts.into_iter().map(latent_catalog::ExportName::Contract);
            let functions = functions.into_iter().map(|name| latent_catalog::ExportName::Function(contract(name)));
            contracts.chain(functions).collect()
        });
        let threading = if shared { Threading::Shared } else { Threading::Single };
        let manifest = CapsuleManifest { exports, imports, ceilings, threading };
        prop_assert_eq!(capsule(&manifest.to_json()), manifest);
    }

    #[test]
    fn a_damaged_manifest_is_refused_or_read_whole_and_never_panics(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let full = DeploymentManifest {
            ceilings: BudgetCeilings { fuel: Some(12), log_bytes: Some(0), ..BudgetCeilings::default() },
            imports: ImportGrant::Only(["wasi:io/streams".into()].into()),
            environment: Environment::new([("MODE".into(), "\u{e9}\n\"".into())]),
            ..crate::support::manifest("acme", "text", "blue")
        };
        let mut bytes = full.to_json().into_bytes();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        match DeploymentManifest::from_json(&bytes, &ManifestLimits::default()) {
            Ok(manifest) => prop_assert_eq!(read(&manifest.to_json()), manifest),
            Err(error) => prop_assert!(error.path().starts_with('$') && !error.expected().is_empty()),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _refused = DeploymentManifest::from_json(&bytes, &ManifestLimits::default());
        let _refused = CapsuleManifest::from_json(&bytes, &ManifestLimits::default());
    }
}

#[test]
fn an_empty_capsule_manifest_offers_what_the_component_has() {
    let exported = surface(&["run", "walk"]);
    assert_eq!(capsule("{}"), CapsuleManifest::default());
    assert_eq!(capsule("{}").narrow(&exported).unwrap(), exported);
    assert!(capsule("{}").check_imports(["anything:at/all@1.0.0"]).is_ok());
}

#[test]
fn a_capsule_manifest_narrows_what_may_be_called() {
    let mut exported = surface(&["run", "walk"]);
    exported
        .functions
        .push((FunctionTarget { contract: "".into(), function: "main".into() }, exported.functions[0].1.clone()));
    exported.refused.push((target("open"), "has a resource in its signature".into()));
    let offered = |json: &str| -> Vec<String> {
        let surface = capsule(json).narrow(&exported).unwrap();
        surface.functions.iter().map(|(target, _)| target.to_string()).collect()
    };
    let run = format!("{CONTRACT}#run");
    assert_eq!(offered(&format!(r#"{{"exports": ["{run}"]}}"#)), std::slice::from_ref(&run));
    assert_eq!(offered(r##"{"exports": ["#main"]}"##), ["main"]);
    assert_eq!(offered(&format!(r#"{{"exports": ["{CONTRACT}"]}}"#)), [run, format!("{CONTRACT}#walk")]);
    assert!(offered(r#"{"exports": []}"#).is_empty(), "an empty list offers nothing");
}

#[test]
fn a_capsule_manifest_cannot_add_to_its_component() {
    for export in ["example:text/analyze@2.0.0", "example:text/analyze@1.0.0#fly", "#run"] {
        let manifest = capsule(&format!(r#"{{"exports": ["{export}"]}}"#));
        let error = Release::new(Sha256Digest::of(b"c"), &surface(&["run"]), &manifest).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract, "{export}");
        assert_eq!(error.details()[0].field("export"), Some(export));
    }
}

#[test]
fn an_import_that_a_capsule_manifest_does_not_list_is_refused() {
    let manifest = capsule(r#"{"imports": ["wasi:io/streams"]}"#);
    assert!(manifest.check_imports(["wasi:io/streams@0.2.6", "wasi:io/streams"]).is_ok());
    let error = manifest.check_imports(["wasi:io/streams@0.2.6", "wasi:io/poll@0.2.6"]).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    assert_eq!(error.details()[0].field("import"), Some("wasi:io/poll@0.2.6"));
}

#[test]
fn a_release_carries_what_its_capsule_manifest_says() {
    let manifest = capsule(r#"{"ceilings": {"fuel": 5}, "threading": "shared"}"#);
    let release = Release::new(Sha256Digest::of(b"c"), &surface(&["run"]), &manifest).unwrap();
    assert_eq!((release.ceilings().fuel, release.threading()), (Some(5), Threading::Shared));
}
