//! Several changes in one transaction: each is decided after the one before it, and answered for itself.

use latent_catalog::Weight;
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, ContractSurface, DeploymentId, Environment, ImportGrant, PlatformErrorCode, SecretReferences,
    ServiceName, Sha256Digest, TenantId,
};
use latent_executor::{ComponentInspection, ComponentInspector};

use super::*;
use crate::StorageOptions;

const COMPONENT: &[u8] = b"a component";

/// Finds nothing in any component.
struct Nothing;

impl ComponentInspector for Nothing {
    fn inspect(&self, _bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
        let surface = ContractSurface { functions: Vec::new(), refused: Vec::new() };
        Ok(ComponentInspection { surface, imports: Vec::new(), declared_memory_bytes: 0 })
    }
}

fn tenant() -> TenantId {
    TenantId::new("acme").expect("a plain id")
}

fn manifest(id: &str, component: &[u8]) -> DeploymentManifest {
    DeploymentManifest {
        tenant: tenant(),
        service: ServiceName::new("text").expect("a plain id"),
        deployment: DeploymentId::new(id).expect("a plain id"),
        release: Sha256Digest::of(component),
        weight: Weight::default(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    }
}

fn apply(id: &str, component: &[u8], expected: Option<u64>) -> Change {
    Change::Apply(Box::new(manifest(id, component)), expected)
}

fn delete(id: &str) -> Change {
    let DeploymentManifest { tenant, service, deployment, .. } = manifest(id, COMPONENT);
    Change::Delete(Delete { tenant, service, deployment, expected_generation: None })
}

/// Generations or codes.
fn told(answers: Vec<Result<Done, PlatformError>>) -> Vec<Result<u64, PlatformErrorCode>> {
    answers.into_iter().map(|answer| answer.map(|done| done.generation).map_err(|error| error.code())).collect()
}

#[test]
fn changes_of_one_transaction_are_decided_in_turn_and_are_there_after_a_restart() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let open = || Storage::open(place.path(), StorageOptions::new(Arc::new(Nothing))).expect("it opens");
    let storage = open();
    storage.publish(&tenant(), b"{}", COMPONENT).expect("it is published");
    let answers = storage.make(vec![
        apply("blue", COMPONENT, Some(0)),
        apply("blue", COMPONENT, Some(0)),
        apply("green", b"another component", None),
        apply("blue", COMPONENT, Some(1)),
        delete("red"),
        apply("red", COMPONENT, None),
        delete("blue"),
        apply("green", COMPONENT, None),
    ]);
    let expected = [
        Ok(1),
        Err(PlatformErrorCode::StateConflict),
        Err(PlatformErrorCode::NotFound),
        Ok(2),
        Err(PlatformErrorCode::NotFound),
        Ok(3),
        Ok(4),
        Ok(5),
    ];
    assert_eq!(told(answers), expected);
    let check = |storage: &Storage| {
        storage.audit().expect("the counters add up");
        let view = storage.view();
        let mut ids: Vec<_> = view.of_tenant(&tenant()).map(|deployment| deployment.id().to_string()).collect();
        ids.sort();
        assert_eq!(ids, ["green", "red"]);
    };
    check(&storage);
    drop(storage);
    check(&open());
}

#[test]
fn a_transaction_of_refusals_alone_writes_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open(place.path(), StorageOptions::new(Arc::new(Nothing))).expect("it opens");
    let database = || std::fs::read(place.path().join("database.redb")).expect("the database is read");
    let before = database();
    let answers = storage.make(vec![delete("blue"), apply("blue", COMPONENT, None)]);
    assert_eq!(told(answers), [Err(PlatformErrorCode::NotFound); 2]);
    assert!(database() == before);
}
