//! A node with its tenants: their credentials and clients, releases and deployments.
//!
//! Invariant: deployment `at` belongs to tenant `at % TENANTS`, as in [`catalogs`], and to a release that this tenant
//! published.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use latent_core::Sha256Digest;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{ApplyRequest, DeleteDeploymentRequest};
use rustix::process::Signal;
use tokio::time::Instant;

use super::look::Look;
use crate::catalogs::{RELEASES, Spread, TENANTS, names};
use crate::nodes::fixtures::{publish, variant};
use crate::nodes::program::{Home, Served};
use crate::nodes::tenants::tenant;

/// The guest: what toolchains make, with a number that makes each component another one.
pub const GUEST: &str = "echo-rust";
/// Changes that are under way at once while the node is filled.
const TOGETHER: usize = 64;
/// Uploads that are.
const UPLOADS: usize = 8;

/// A node, who uses it, and how full it is.
pub struct Fleet {
    home: Home,
    served: Served,
    tokens: Vec<String>,
    clients: Vec<Client>,
    releases: Vec<Sha256Digest>,
    deployments: usize,
}

/// How fast a node was filled.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Deployments that were added.
    pub applied: usize,
    /// How long that took, without the releases.
    pub took: Duration,
}

impl Fleet {
    /// Starts a node of `program` in `dir`, which has tenants and nothing deployed.
    ///
    /// # Errors
    /// A sentence: what the node refused.
    pub async fn begin(program: &Path, dir: &Path) -> Result<Self, String> {
        let home = Home::new(program, dir, "").map_err(|error| format!("no configuration: {error}"))?;
        let served = home.serve().await?;
        let operator = served.client()?;
        let names: Vec<_> = (0..TENANTS).map(|number| names(number).0.to_string()).collect();
        let tokens = names.iter().map(|name| tenant(&operator, name));
        let tokens = stream::iter(tokens).buffered(TOGETHER).try_collect().await?;
        let mut fleet = Self { home, served, tokens, clients: Vec::new(), releases: Vec::new(), deployments: 0 };
        fleet.connect()?;
        Ok(fleet)
    }

    /// How many deployments there are.
    pub fn deployments(&self) -> usize {
        self.deployments
    }

    /// How many releases there are.
    pub fn releases(&self) -> usize {
        self.releases.len()
    }

    /// The client of the tenant that has deployment `at`.
    pub fn client(&self, at: usize) -> &Client {
        &self.clients[at % TENANTS]
    }

    /// Where the node keeps releases and deployments.
    pub fn store(&self) -> PathBuf {
        self.home.data().join("store")
    }

    /// Publishes and deploys until there are so many `deployments`, which must be a multiple of [`TENANTS`].
    ///
    /// # Errors
    /// The first refusal.
    pub async fn grow(&mut self, deployments: usize) -> Result<Growth, String> {
        let missing: Vec<_> = (self.releases.len()..deployments.min(RELEASES)).map(component).collect();
        let first = self.releases.len();
        let published = missing.iter().enumerate().map(|(offset, component)| {
            let client = self.client(first + offset).clone();
            async move { publish(&client, component.clone()).await.map(|()| Sha256Digest::of(component)) }
        });
        let published: Result<Vec<_>, CallError> = stream::iter(published).buffered(UPLOADS).try_collect().await;
        self.releases.extend(published.map_err(|error| format!("a release: {error}"))?);
        let (from, began) = (self.deployments, Instant::now());
        self.apply(from..deployments, TOGETHER).await?;
        self.deployments = deployments.max(from);
        Ok(Growth { applied: self.deployments - from, took: began.elapsed() })
    }

    /// Applies these deployments, so many at once. They do not count among those that there are.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn apply(&self, deployments: Range<usize>, together: usize) -> Result<(), String> {
        stream::iter(deployments.map(Ok)).try_for_each_concurrent(together, |at| self.apply_one(at)).await
    }

    async fn apply_one(&self, at: usize) -> Result<(), String> {
        let manifest = Spread::manifest(at, self.releases[at % self.releases.len()]).to_json();
        let applied = self.client(at).apply(ApplyRequest { manifest, ..ApplyRequest::default() }).await;
        applied.map(drop).map_err(|error| format!("deployment {at}: {error}"))
    }

    /// Deletes these deployments again.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn delete(&self, deployments: Range<usize>) -> Result<(), String> {
        let delete = |at: usize| async move {
            let deployment = Spread::manifest(at, Sha256Digest::of(&[])).deployment.to_string();
            let service = names(at).1.to_string();
            let request = DeleteDeploymentRequest { service, deployment, expected_generation: None };
            let deleted = self.client(at).delete_deployment(request).await;
            deleted.map(drop).map_err(|error| format!("deployment {at} is not deleted: {error}"))
        };
        stream::iter(deployments.map(Ok)).try_for_each_concurrent(TOGETHER, delete).await
    }

    /// What the node's process holds, while one client asks it and no other is connected; call it before
    /// [`connect`](Self::connect).
    ///
    /// # Errors
    /// What the system or the node does not tell.
    pub async fn look(&self) -> Result<Look, String> {
        Look::settled(&self.served).await
    }

    /// Ends the node and its clients.
    ///
    /// # Errors
    /// When it does not end as it should.
    pub async fn stop(&mut self) -> Result<(), String> {
        self.clients.clear();
        self.served.signal(Signal::TERM);
        let ended = self.served.ended().await?;
        if ended.status.success() {
            Ok(())
        } else {
            Err(format!("the node ended with {}: {}", ended.status, ended.stderr))
        }
    }

    /// Starts the node over its directory; how long it took until it was ready.
    ///
    /// # Errors
    /// What it said instead.
    pub async fn start(&mut self) -> Result<Duration, String> {
        let began = Instant::now();
        self.served = self.home.serve().await?;
        Ok(began.elapsed())
    }

    /// Makes a client for each tenant.
    ///
    /// # Errors
    /// None for tokens that the node gave.
    pub fn connect(&mut self) -> Result<(), String> {
        self.clients = self.tokens.iter().map(|token| self.served.client_with(token)).collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Component `at`.
fn component(at: usize) -> bytes::Bytes {
    variant(GUEST, u32::try_from(at).expect("there are few releases"))
}
