//! Deployments that come and go, policies and pressure that change.

use std::sync::Arc;
use std::time::Duration;

use latent_catalog::{Apply, CapsuleManifest, Delete, DeploymentManifest, Release, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, ContractSurface, DeploymentId, Environment, FunctionSignature, FunctionTarget, ImportGrant,
    SecretReferences, ServiceName, Sha256Digest,
};
use latent_scheduler::admission::PressureSample;

use crate::backend::now;
use crate::node::Policy;
use crate::trace::What;
use crate::world::{Checked, DEPLOYMENTS, TENANTS, World};

pub const CONTRACT: &str = "example:text/analyze@1.0.0";

pub fn deployment_name(deployment: usize) -> String {
    format!("d{deployment}")
}

/// What a version runs.
pub fn digest(version: u64) -> Sha256Digest {
    Sha256Digest::of(&version.to_be_bytes())
}

/// What a version allows.
pub fn fuel_of(version: u64) -> u64 {
    100 + version * 7
}

impl World {
    pub fn change_catalog(&mut self) -> Checked {
        let (tenant, deployment) = (self.random.index(TENANTS), self.random.index(DEPLOYMENTS));
        if self.random.percent(75) { self.apply(tenant, deployment) } else { self.delete(tenant, deployment) }
    }

    pub fn apply(&mut self, tenant: usize, deployment: usize) -> Checked {
        self.versions += 1;
        let version = self.versions;
        let target = FunctionTarget { contract: CONTRACT.into(), function: "run".into() };
        let signature = FunctionSignature { params: vec![], result: None };
        let surface = ContractSurface { functions: [(target, signature)].into_iter().collect(), refused: vec![] };
        let release = Release::new(digest(version), &surface, &CapsuleManifest::default());
        let manifest = DeploymentManifest {
            tenant: self.tenants[tenant].clone(),
            service: service(),
            deployment: id(deployment),
            release: digest(version),
            weight: Weight::new(1 + u16::try_from(self.random.below(300)).expect("a few")).expect("a weight"),
            ceilings: BudgetCeilings { fuel: Some(fuel_of(version)), ..BudgetCeilings::default() },
            imports: ImportGrant::Standard,
            environment: Environment::default(),
            secrets: SecretReferences::default(),
            http: HttpIngress::default(),
            outgoing: Box::default(),
        };
        let release = Arc::new(release.map_err(|error| format!("a release: {error:?}"))?);
        let applied = self.node.catalog.apply(Apply { manifest, release, expected_generation: None });
        applied.map_err(|refusal| format!("an apply: {refusal:?}"))?;
        self.deployments[tenant][deployment] = Some(version);
        self.note(What::Applied { tenant, deployment, version });
        Ok(())
    }

    fn delete(&mut self, tenant: usize, deployment: usize) -> Checked {
        let was_there = self.deployments[tenant][deployment].take().is_some();
        let tenant_id = self.tenants[tenant].clone();
        let delete =
            Delete { tenant: tenant_id, service: service(), deployment: id(deployment), expected_generation: None };
        let deleted = self.node.catalog.delete(&delete);
        self.note(What::Deleted { tenant, deployment, was_there });
        if deleted.is_ok() == was_there { Ok(()) } else { Err(format!("a delete: {deleted:?}")) }
    }

    pub fn replace_policy(&mut self) -> Checked {
        self.policy = Policy::draw(&mut self.random);
        self.note(What::PolicyReplaced);
        let config = self.policy.config(&self.node.rules);
        self.node.admission.replace(config).map_err(|error| format!("a policy: {error:?}"))
    }

    pub fn press(&mut self) {
        let back = self.random.millis(0, 100);
        let pressed = self.random.percent(20);
        self.pressure = self.random.percent(90).then(|| PressureSample {
            taken_at: now().checked_sub(back).unwrap_or_else(now),
            cpu_some: if pressed { 9_500 } else { 100 },
            memory_full: 0,
            io_full: 0,
        });
        self.note(What::Pressed);
        self.node.manager.observe_pressure(self.pressure);
    }

    /// Whether the node counts as overloaded now.
    pub fn is_overloaded(&self) -> bool {
        let fresh = |stale_after: Duration| {
            let sample = self.pressure.filter(|sample| now().saturating_duration_since(sample.taken_at) <= stale_after);
            sample.is_some_and(|sample| sample.cpu_some <= 9_000)
        };
        self.policy.pressure.is_some_and(|stale_after| !fresh(stale_after))
    }
}

fn service() -> ServiceName {
    ServiceName::new("text").expect("a word is an id")
}

fn id(deployment: usize) -> DeploymentId {
    DeploymentId::new(deployment_name(deployment)).expect("a word is an id")
}
