//! What tests ask for, and what is published for them to be asked for.

use latent_activation::ActivationRequest;
use latent_activation::request::TraceContext;
use latent_catalog::{Apply, CapsuleManifest, DeploymentManifest, Release, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    ActivationId, BudgetCeilings, Caller, ContractSurface, DeploymentId, Environment, FunctionSignature,
    FunctionTarget, ImportGrant, Payload, RouteName, SecretReferences, ServiceName, TenantId, Threading,
};
use latent_executor::ComponentArtifact;
use latent_executor::fake::FakeRepository;

use super::ScriptedCatalog;

pub const CONTRACT: &str = "test:lifecycle/api";
/// What every published component exports: `f`, whose script a test sets, and the fixed ones of the backend.
pub const FUNCTIONS: [&str; 6] = ["f", "echo", "acknowledge", "look", "sleep", "unscripted"];

pub fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

pub fn activation(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

pub fn service(text: &str) -> ServiceName {
    ServiceName::new(text).unwrap()
}

pub fn target(function: &str) -> FunctionTarget {
    FunctionTarget { contract: CONTRACT.into(), function: function.into() }
}

pub fn user(of: &str) -> Caller {
    Caller::User { tenant: tenant(of), subject: service("caller") }
}

/// A call of `f` by tenant `t`, as activation `id`.
pub fn request(id: &str) -> ActivationRequest {
    request_of("t", id, "f")
}

pub fn request_of(of: &str, id: &str, function: &str) -> ActivationRequest {
    ActivationRequest {
        activation_id: Some(id.to_owned()),
        root_activation_id: None,
        parent_activation_id: None,
        caller: user(of),
        tenant: tenant(of),
        service: service("s"),
        route: RouteName::new("default").unwrap(),
        target: target(function),
        payload: Payload::json("[\"hi\"]"),
        budget: BudgetCeilings::default(),
        deadline: None,
        trace: TraceContext::default(),
        idempotency_key: None,
        retry_count: 0,
        metadata: Vec::new(),
    }
}

/// The component `name`.
pub fn artifact(name: &str) -> ComponentArtifact {
    ComponentArtifact::new(name.as_bytes().to_vec())
}

/// What deploys the component `name` for the service `s` of tenant `of`.
pub fn apply(of: &str, deployment: &str, name: &str, weight: u16) -> Apply {
    apply_manifest(of, deployment, name, weight, &CapsuleManifest::default())
}

/// What deploys the component `first`, as the deployment that every service has, with guests that thread so.
pub fn apply_threaded(of: &str, threading: Threading) -> Apply {
    apply_manifest(of, "d", "first", 100, &CapsuleManifest { threading, ..CapsuleManifest::default() })
}

fn apply_manifest(of: &str, deployment: &str, name: &str, weight: u16, manifest: &CapsuleManifest) -> Apply {
    let signature = FunctionSignature { params: vec![], result: None };
    let functions = FUNCTIONS.iter().map(|function| (target(function), signature.clone())).collect();
    let surface = ContractSurface { functions, refused: vec![] };
    let release = Release::new(artifact(name).digest(), &surface, manifest).unwrap();
    let manifest = DeploymentManifest {
        tenant: tenant(of),
        service: service("s"),
        deployment: DeploymentId::new(deployment).unwrap(),
        release: release.digest(),
        weight: Weight::new(weight).unwrap(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    };
    Apply { manifest, release: release.into(), expected_generation: None }
}

/// Puts the component `name` into the repository and deploys it.
pub fn publish(
    catalog: &ScriptedCatalog,
    repository: &FakeRepository,
    of: &str,
    deployment: &str,
    name: &str,
    weight: u16,
) {
    repository.put(&tenant(of), &artifact(name));
    catalog.inner.apply(apply(of, deployment, name, weight)).unwrap();
}
