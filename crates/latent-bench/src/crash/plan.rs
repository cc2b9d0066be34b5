//! The changes that a worker makes: a sequence that follows from its seed alone.

use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, DeploymentId, Environment, ImportGrant, SecretReferences, ServiceName, Sha256Digest, TenantId,
};

use latent_catalog::{DeploymentManifest, Weight};

const TENANTS: u64 = 3;
const COMPONENTS: u64 = 6;
const DEPLOYMENTS: u64 = 4;

/// A sequence of numbers and changes.
#[derive(Debug, Clone)]
pub struct Plan(u64);

/// One change.
#[derive(Debug, Clone)]
pub enum Change {
    /// A component of so many bytes with this filling is published.
    Publish(TenantId, Vec<u8>),
    /// A deployment is made or replaced.
    Apply(Box<DeploymentManifest>),
    /// A deployment is deleted.
    Delete(TenantId, ServiceName, DeploymentId),
    /// A release is deleted.
    DeleteRelease(TenantId, Sha256Digest),
    /// Files that nobody owns are removed.
    Collect,
}

impl Plan {
    /// The plan that follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number; all 64 bits look random (`SplitMix64`).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next change.
    pub fn change(&mut self) -> Change {
        let tenant = TenantId::new(format!("tenant-{}", self.number() % TENANTS)).expect("a plain id");
        match self.number() % 16 {
            0..=4 => Change::Publish(tenant, component(self.number() % COMPONENTS)),
            5..=10 => Change::Apply(Box::new(self.manifest(tenant))),
            11 | 12 => {
                let (service, deployment) = self.names();
                Change::Delete(tenant, service, deployment)
            }
            13 | 14 => Change::DeleteRelease(tenant, Sha256Digest::of(&component(self.number() % COMPONENTS))),
            _ => Change::Collect,
        }
    }

    fn manifest(&mut self, tenant: TenantId) -> DeploymentManifest {
        let (service, deployment) = self.names();
        let weight = u16::try_from(1 + self.number() % 10_000).expect("it is small");
        DeploymentManifest {
            tenant,
            service,
            deployment,
            release: Sha256Digest::of(&component(self.number() % COMPONENTS)),
            weight: Weight::new(weight).expect("it is within the bounds"),
            ceilings: BudgetCeilings::default(),
            imports: ImportGrant::Standard,
            environment: Environment::default(),
            secrets: SecretReferences::default(),
            http: HttpIngress::default(),
            outgoing: Box::default(),
        }
    }

    fn names(&mut self) -> (ServiceName, DeploymentId) {
        let at = self.number() % DEPLOYMENTS;
        let service = ServiceName::new(format!("service-{}", at % 2)).expect("a plain id");
        (service, DeploymentId::new(format!("deployment-{at}")).expect("a plain id"))
    }
}

/// Component `at`: from one byte to a few hundred kilobytes, all alike within.
fn component(at: u64) -> Vec<u8> {
    let bytes = 1 + usize::try_from(at * at * 9_000).expect("it is small");
    vec![u8::try_from(at).expect("there are few"); bytes]
}
