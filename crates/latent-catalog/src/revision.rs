//! The id of a revision: a digest over the release and everything about the deployment except its weight.
//!
//! Invariant: every part is written with its length before it, so two different configurations never write the
//! same bytes.

use latent_core::http::{HttpIngress, OutgoingGrant};
use latent_core::{BudgetCeilings, ImportGrant, RevisionId, Sha256Digest};

use crate::manifest::DeploymentManifest;

/// Separates these digests from all others.
const DOMAIN: &[u8] = b"latent revision";

/// The revision that `manifest` describes. Another weight is the same revision; any other difference is another.
#[must_use]
pub fn revision_id(manifest: &DeploymentManifest) -> RevisionId {
    let mut text = Lengths(Vec::with_capacity(256));
    text.put(DOMAIN);
    text.put(manifest.tenant.as_str().as_bytes());
    text.put(manifest.service.as_str().as_bytes());
    text.put(manifest.deployment.as_str().as_bytes());
    text.put(manifest.release.as_bytes());
    put_ceilings(&mut text, &manifest.ceilings);
    match &manifest.imports {
        ImportGrant::Standard => text.put(b"standard"),
        ImportGrant::Only(names) => {
            text.put(b"only");
            text.count(names.len());
            names.iter().for_each(|name| text.put(name.as_bytes()));
        }
    }
    text.count(manifest.environment.len());
    for (name, value) in manifest.environment.iter() {
        text.put(name.as_bytes());
        text.put(value.as_bytes());
    }
    // Only where there are any, so that revisions of deployments without secrets stay what they were.
    if !manifest.secrets.is_empty() {
        text.put(b"secrets");
        text.count(manifest.secrets.len());
        for (variable, secret) in manifest.secrets.iter() {
            text.put(variable.as_bytes());
            text.put(secret.as_bytes());
        }
    }
    put_http(&mut text, &manifest.http);
    put_outgoing(&mut text, &manifest.outgoing);
    RevisionId::new(Sha256Digest::of(&text.0))
}

fn put_ceilings(text: &mut Lengths, ceilings: &BudgetCeilings) {
    for ceiling in [ceilings.fuel, ceilings.memory_bytes, ceilings.log_bytes] {
        match ceiling {
            Some(value) => text.put(&value.to_be_bytes()),
            None => text.put(&[]),
        }
    }
    match ceilings.wall_limit {
        Some(limit) => text.put(&limit.as_nanos().to_be_bytes()),
        None => text.put(&[]),
    }
}

/// Only where there are routes, for the same reason.
fn put_http(text: &mut Lengths, http: &HttpIngress) {
    if http.routes.is_empty() {
        return;
    }
    text.put(b"http");
    text.put(http.authentication.as_str().as_bytes());
    text.count(http.routes.len());
    for route in &http.routes {
        text.put(route.host.to_string().as_bytes());
        text.put(route.path.as_bytes());
    }
}

/// Only where there are any, for the same reason.
fn put_outgoing(text: &mut Lengths, grants: &[OutgoingGrant]) {
    if grants.is_empty() {
        return;
    }
    text.put(b"outgoing");
    text.count(grants.len());
    for grant in grants {
        text.put(grant.to_string().as_bytes());
        text.count(grant.networks.len());
        grant.networks.iter().for_each(|network| text.put(network.to_string().as_bytes()));
    }
}

/// Bytes in which every part is preceded by its length.
pub(crate) struct Lengths(pub(crate) Vec<u8>);

impl Lengths {
    pub(crate) fn put(&mut self, part: &[u8]) {
        self.count(part.len());
        self.0.extend_from_slice(part);
    }

    fn count(&mut self, count: usize) {
        self.0.extend_from_slice(&(count as u64).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use latent_core::http::{HttpAuthentication, HttpRoute};
    use latent_core::{DeploymentId, Environment, SecretReferences, ServiceName, TenantId};

    use super::*;
    use crate::manifest::Weight;

    fn manifest() -> DeploymentManifest {
        DeploymentManifest {
            tenant: TenantId::new("acme").unwrap(),
            service: ServiceName::new("text").unwrap(),
            deployment: DeploymentId::new("blue").unwrap(),
            release: Sha256Digest::of(b"component"),
            weight: Weight::default(),
            ceilings: BudgetCeilings::default(),
            imports: ImportGrant::Standard,
            environment: Environment::default(),
            secrets: SecretReferences::default(),
            http: HttpIngress::default(),
            outgoing: Box::default(),
        }
    }

    #[test]
    fn another_weight_is_the_same_revision() {
        let reweighted = DeploymentManifest { weight: Weight::new(1).unwrap(), ..manifest() };
        assert_eq!(revision_id(&reweighted), revision_id(&manifest()));
    }

    #[test]
    fn every_other_difference_is_another_revision() {
        let base = manifest();
        let pairs = |pairs: &[(&str, &str)]| {
            Environment::new(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())))
        };
        let references = |pairs: &[(&str, &str)]| {
            SecretReferences::new(pairs.iter().map(|(variable, secret)| ((*variable).into(), (*secret).into())))
        };
        let http = |routes: &[&str], authentication| HttpIngress {
            routes: routes.iter().map(|route| HttpRoute::parse(route).unwrap()).collect(),
            authentication,
        };
        let outgoing = |grants: &[&str], network: Option<&str>| -> Box<[OutgoingGrant]> {
            let networks: Box<[ipnet::IpNet]> = network.iter().map(|network| network.parse().unwrap()).collect();
            let grants = grants.iter().map(|grant| OutgoingGrant::parse(grant).unwrap());
            grants.map(|grant| OutgoingGrant { networks: networks.clone(), ..grant }).collect()
        };
        let ceilings = BudgetCeilings::default();
        let second = Duration::from_secs(1);
        let others = [
            base.clone(),
            DeploymentManifest { tenant: TenantId::new("acmet").unwrap(), ..base.clone() },
            DeploymentManifest { service: ServiceName::new("ext").unwrap(), ..base.clone() },
            DeploymentManifest { deployment: DeploymentId::new("green").unwrap(), ..base.clone() },
            DeploymentManifest { release: Sha256Digest::of(b"other"), ..base.clone() },
            DeploymentManifest { ceilings: BudgetCeilings { fuel: Some(1), ..ceilings }, ..base.clone() },
            DeploymentManifest { ceilings: BudgetCeilings { memory_bytes: Some(1), ..ceilings }, ..base.clone() },
            DeploymentManifest { ceilings: BudgetCeilings { log_bytes: Some(0), ..ceilings }, ..base.clone() },
            DeploymentManifest { ceilings: BudgetCeilings { wall_limit: Some(second), ..ceilings }, ..base.clone() },
            DeploymentManifest { imports: ImportGrant::Only([].into()), ..base.clone() },
            DeploymentManifest { imports: ImportGrant::Only(["a:b/c".into()].into()), ..base.clone() },
            DeploymentManifest { environment: pairs(&[("a", "bc")]), ..base.clone() },
            DeploymentManifest { environment: pairs(&[("ab", "c")]), ..base.clone() },
            DeploymentManifest { environment: pairs(&[("a", ""), ("bc", "")]), ..base.clone() },
            DeploymentManifest { environment: pairs(&[("secrets", ""), ("a", "bc")]), ..base.clone() },
            DeploymentManifest { secrets: references(&[("a", "bc")]), ..base.clone() },
            DeploymentManifest { secrets: references(&[("ab", "c")]), ..base.clone() },
            DeploymentManifest { secrets: references(&[("a", "bd")]), ..base.clone() },
            DeploymentManifest { http: http(&["a/b"], HttpAuthentication::Open), ..base.clone() },
            DeploymentManifest { http: http(&["a/b"], HttpAuthentication::Bearer), ..base.clone() },
            DeploymentManifest { http: http(&["a/b", "a/c"], HttpAuthentication::Open), ..base.clone() },
            DeploymentManifest { http: http(&["*.a/b"], HttpAuthentication::Open), ..base.clone() },
            DeploymentManifest { outgoing: outgoing(&["http://a"], None), ..base.clone() },
            DeploymentManifest { outgoing: outgoing(&["https://a"], None), ..base.clone() },
            DeploymentManifest { outgoing: outgoing(&["https://a:1"], None), ..base.clone() },
            DeploymentManifest { outgoing: outgoing(&["https://a"], Some("10.0.0.0/8")), ..base.clone() },
            DeploymentManifest { outgoing: outgoing(&["https://a", "https://b"], None), ..base },
        ];
        let ids: std::collections::BTreeSet<_> = others.iter().map(revision_id).collect();
        assert_eq!(ids.len(), others.len());
    }

    #[test]
    fn the_id_of_a_known_configuration_stays_what_it_is() {
        assert_eq!(
            revision_id(&manifest()).to_string(),
            "8b73d6d62f63f55c948f21760c80b93ee320592d042880f4925644af2400ec2a"
        );
    }
}
