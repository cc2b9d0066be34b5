//! A client that changes its own part of a node, and the book that it keeps of it.
//!
//! Invariant: the book has what was acknowledged, and the one change of which it is not known whether it took effect.

use std::collections::{BTreeMap, BTreeSet};

use latent_wire::client::{CallError, Client};
use latent_wire::proto::{DeleteDeploymentRequest, DeleteReleaseRequest};

use super::fixtures::{self, bare, digest, variant};
use crate::crash::Plan;

/// Components of a client.
const RELEASES: u32 = 6;
/// Deployments of a client.
const DEPLOYMENTS: u32 = 3;

/// What a client has on the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Its releases, by number.
    pub releases: BTreeSet<u32>,
    /// Its deployments, by number: release and weight.
    pub deployments: BTreeMap<u32, (u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Publish(u32),
    Withdraw(u32),
    Apply(u32, u32, u32),
    Delete(u32),
}

impl Held {
    /// Whether the node has to take `change`.
    fn allows(&self, change: Change) -> bool {
        match change {
            Change::Publish(_) => true,
            Change::Withdraw(release) => {
                self.releases.contains(&release) && self.deployments.values().all(|(of, _)| *of != release)
            }
            Change::Apply(_, release, _) => self.releases.contains(&release),
            Change::Delete(deployment) => self.deployments.contains_key(&deployment),
        }
    }

    fn make(&mut self, change: Change) {
        match change {
            Change::Publish(release) => drop(self.releases.insert(release)),
            Change::Withdraw(release) => drop(self.releases.remove(&release)),
            Change::Apply(deployment, release, weight) => {
                self.deployments.insert(deployment, (release, weight));
            }
            Change::Delete(deployment) => drop(self.deployments.remove(&deployment)),
        }
    }
}

/// A client's book.
#[derive(Debug)]
pub struct Book {
    number: u32,
    held: Held,
    under_way: Option<Change>,
    /// Changes that the node acknowledged.
    pub acknowledged: u64,
    /// Activations that it answered.
    pub answered: u64,
}

impl Book {
    /// The empty book of client `number`.
    pub fn new(number: u32) -> Self {
        Self { number, held: Held::default(), under_way: None, acknowledged: 0, answered: 0 }
    }

    /// The client's service.
    pub fn service(&self) -> String {
        format!("service-{}", self.number)
    }

    /// Component `release` of this client.
    fn component(&self, release: u32) -> bytes::Bytes {
        variant("echo", self.number * RELEASES + release)
    }

    /// The digests of all components that it may publish, by number.
    pub fn digests(&self) -> Vec<String> {
        (0..RELEASES).map(|release| digest(&self.component(release))).collect()
    }

    /// Changes and calls until the node is gone.
    ///
    /// # Errors
    /// Something that a node which lives should not have said.
    pub async fn work(&mut self, client: &Client, mut plan: Plan) -> Result<(), String> {
        loop {
            let invoked = self.held.deployments.iter().nth(small(&mut plan, DEPLOYMENTS) as usize);
            let lost = match invoked.map(|(deployment, (release, _))| (*deployment, *release)) {
                Some((deployment, release)) if plan.number().is_multiple_of(2) => {
                    self.call(client, deployment, release).await?
                }
                _ => self.change(client, &mut plan).await?,
            };
            if lost {
                return Ok(());
            }
        }
    }

    /// Makes one change; whether the node was lost over it.
    async fn change(&mut self, client: &Client, plan: &mut Plan) -> Result<bool, String> {
        let (release, deployment) = (small(plan, RELEASES), small(plan, DEPLOYMENTS));
        let change = match plan.number() % 8 {
            0..=2 => Change::Publish(release),
            3 => Change::Withdraw(release),
            4..=6 => Change::Apply(deployment, release, 1 + small(plan, 10_000)),
            _ => Change::Delete(deployment),
        };
        self.under_way = Some(change);
        let allowed = self.held.allows(change);
        match (self.send(client, change).await, allowed) {
            (Ok(()), true) => {
                self.held.make(change);
                self.acknowledged += 1;
            }
            (Ok(()), false) => return Err(format!("{change:?} was acknowledged, with {:?}", self.held)),
            (Err(CallError::Node(_)), false) => (),
            (Err(CallError::Node(node)), true) => return Err(format!("{change:?} was refused: {}", node.error)),
            (Err(CallError::Transport(_)), _) => return Ok(true),
            (Err(CallError::Unreachable(_)), _) => {
                self.under_way = None;
                return Ok(true);
            }
        }
        self.under_way = None;
        Ok(false)
    }

    async fn send(&self, client: &Client, change: Change) -> Result<(), CallError> {
        match change {
            Change::Publish(release) => fixtures::publish(client, self.component(release)).await,
            Change::Withdraw(release) => {
                let digest = digest(&self.component(release));
                client.delete_release(DeleteReleaseRequest { digest }).await.map(drop)
            }
            Change::Apply(deployment, release, weight) => {
                let digest = digest(&self.component(release));
                fixtures::apply(client, &self.service(), &name(deployment), &digest, weight).await
            }
            Change::Delete(deployment) => {
                let (service, deployment) = (self.service(), name(deployment));
                let request = DeleteDeploymentRequest { service, deployment, expected_generation: None };
                client.delete_deployment(request).await.map(drop)
            }
        }
    }

    /// Calls one deployment and checks that it answers, as the release that it has; whether the node was lost over it.
    async fn call(&mut self, client: &Client, deployment: u32, release: u32) -> Result<bool, String> {
        let mut request = fixtures::call(&self.service(), "echo-string", "[\"hello\"]", "");
        request.route = name(deployment);
        let answer = match client.invoke(request).await {
            Ok(answer) => answer,
            Err(CallError::Node(node)) => {
                return Err(format!("{} of {} does not run: {}", name(deployment), self.service(), node.error));
            }
            Err(CallError::Transport(_) | CallError::Unreachable(_)) => return Ok(true),
        };
        let served = answer.revision.as_ref().map(|revision| bare(&revision.release).to_owned());
        let expected = digest(&self.component(release));
        if fixtures::result(&answer) != b"\"hello\"" || served.as_ref() != Some(&expected) {
            return Err(format!("{} has release {expected} and answered {answer:?}", name(deployment)));
        }
        self.answered += 1;
        Ok(false)
    }

    /// Compares with what the node has after its restart, goes on from there, and calls every deployment.
    ///
    /// # Errors
    /// What is missing, or what nobody made.
    pub async fn compare(&mut self, client: &Client, found: Held) -> Result<(), String> {
        let without = std::mem::replace(&mut self.held, found.clone());
        let under_way = self.under_way.take();
        if found != without {
            let mut with = without.clone();
            if let Some(change) = under_way {
                with.make(change);
            }
            if found != with {
                let client = self.number;
                return Err(format!(
                    "client {client}: {without:?} was acknowledged and {under_way:?} under way, and there is {found:?}"
                ));
            }
        }
        for (deployment, (release, _)) in found.deployments {
            if self.call(client, deployment, release).await? {
                return Err("the node was lost while its deployments were called".to_owned());
            }
        }
        Ok(())
    }
}

fn name(deployment: u32) -> String {
    format!("deployment-{deployment}")
}

/// The number in a deployment's name.
pub fn number(name: &str) -> Option<u32> {
    name.strip_prefix("deployment-")?.parse().ok()
}

fn small(plan: &mut Plan, below: u32) -> u32 {
    u32::try_from(plan.number() % u64::from(below)).expect("it is below a small number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_must_take_follows_from_what_it_has() {
        let mut held = Held::default();
        assert!(!held.allows(Change::Apply(0, 1, 5)) && !held.allows(Change::Withdraw(1)));
        held.make(Change::Publish(1));
        assert!(held.allows(Change::Apply(0, 1, 5)) && held.allows(Change::Withdraw(1)));
        held.make(Change::Apply(0, 1, 5));
        assert!(!held.allows(Change::Withdraw(1)) && held.allows(Change::Delete(0)));
        held.make(Change::Delete(0));
        held.make(Change::Withdraw(1));
        assert_eq!(held, Held::default());
    }

    #[test]
    fn each_component_of_each_client_is_another_one() {
        let all: BTreeSet<_> = (0..4).flat_map(|number| Book::new(number).digests()).collect();
        assert_eq!(all.len(), 4 * RELEASES as usize);
        assert_eq!((number("deployment-2"), number("other")), (Some(2), None));
    }
}
