//! A node that cases share, and its tenants: the hostile one, a healthy one beside it, and whoever operates the node.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use latent_wire::client::times::to_duration;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{
    Activation, ApplyRequest, GetActivationRequest, GetReleaseRequest, GetUsageRequest, Inventory, InvokeRequest,
    InvokeResponse, ListActivationsRequest,
};
use tempfile::TempDir;

use super::ledger::Ledger;
use crate::nodes::fixtures::{bare, call, deploy, digest, echo};
use crate::nodes::program::{Home, Served};
use crate::nodes::tenants::{self, count_of, tenant};

/// The tenant that does what cases do.
pub const HOSTILE: &str = "hostile";
/// The tenant that must not notice.
pub const HEALTHY: &str = "healthy";
/// Cells of the node that most cases share.
pub const CELLS: usize = 8;
/// Of those, how many one tenant may have while others want one.
pub const TENANT_CELLS: usize = CELLS - 1;
/// Times that every connection is used before the first case.
const WARM: usize = 50;
/// Activations that may wait there.
pub const QUEUED: usize = 64;

/// What a node is like. Nothing ends a guest but its deadline, or the budget of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Few cells, small caches, small bodies, impatient with readers.
    Tight,
    /// Two cells, and room for a thousand to wait.
    Crowd,
    /// Where the machine gives each process few seconds of a processor.
    Hurried,
}

impl Place {
    fn config(self) -> String {
        let (cells, queued, wall) = if self == Self::Crowd { (2, 1100, "1h") } else { (CELLS, QUEUED, "30s") };
        format!(
            "[pressure]\nsource = \"none\"\n[cells.standard]\ncount = {cells}\nqueue = {queued}\n[limits]\n\
             wall = \"{wall}\"\nfuel = 1000000000000000\ncomponent = \"16Mi\"\n\
             [prepared]\nentries = 16\nbytes = \"64Mi\"\n\
             [journal]\nretained = 262144\n\
             retention = \"1h\"\ntenant_active = {queued}\n[logs]\nbytes = \"4Mi\"\n[http]\nrequest_body = \"1Mi\"\n\
             response_body = \"16Mi\"\nreader_wait = \"1s\"\n[shutdown]\ngrace = \"1s\"\n"
        )
    }

    fn before(self) -> &'static str {
        if self == Self::Hurried { "ulimit -t 3" } else { ":" }
    }
}

/// A running node with its tenants.
#[derive(Debug)]
pub struct Scene {
    dir: TempDir,
    /// The process.
    pub served: Served,
    /// Whoever operates it.
    pub operator: Client,
    /// The hostile tenant.
    pub hostile: Client,
    /// The other one.
    pub healthy: Client,
    /// The hostile tenant's token.
    pub token: String,
    /// The ends that were written down so far.
    pub ledger: Mutex<Ledger>,
    started: u64,
    deployed: Mutex<HashSet<String>>,
}

impl Scene {
    /// Starts the node of a place, with both tenants and the healthy one's echo.
    pub async fn open(program: &Path, place: Place) -> Result<Self, String> {
        let no = |error: std::io::Error| format!("no directory for the node: {error}");
        let dir = tempfile::tempdir().map_err(no)?;
        let home = Home::new(program, dir.path(), "").map_err(no)?;
        home.configure(&place.config()).map_err(no)?;
        let served = home.after(place.before()).serve().await?;
        let operator = served.client()?;
        let token = tenant(&operator, HOSTILE).await?;
        let other = tenant(&operator, HEALTHY).await?;
        let (hostile, healthy) = (served.client_with(&token)?, served.client_with(&other)?);
        deploy(&healthy, "echo").await?;
        deploy(&hostile, "echo").await?;
        let started = served.process().started()?;
        let ledger = Mutex::new(Ledger::new(&home.data().join("usage")));
        let deployed = Mutex::new(HashSet::from(["echo".to_owned()]));
        let scene = Self { dir, served, operator, hostile, healthy, token, ledger, started, deployed };
        for _ in 0..WARM {
            scene.connected().await?;
        }
        Ok(scene)
    }

    /// Uses every connection of the scene once, so that those which the node closed as idle are there again.
    pub async fn connected(&self) -> Result<(), String> {
        for client in [&self.hostile, &self.healthy] {
            echo(client).await?;
            let request = ListActivationsRequest { page_size: 1, ..ListActivationsRequest::default() };
            client.list_activations(request).await.map_err(|error| format!("the list of activations: {error}"))?;
        }
        self.inventory().await?;
        // The file of the log is open from its first line on.
        let usage = self.operator.get_usage(GetUsageRequest::default()).await;
        usage.map(drop).map_err(|error| format!("the usage: {error}"))
    }

    /// The node's data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A client of the hostile tenant with connections of its own.
    pub fn client(&self) -> Result<Client, String> {
        self.served.client_with(&self.token)
    }

    /// Publishes a fixture and deploys it as the hostile tenant's service of its name, once.
    pub async fn deploy(&self, fixture: &str) -> Result<(), String> {
        let known = |deployed: &Mutex<HashSet<String>>| deployed.lock().is_ok_and(|known| known.contains(fixture));
        if known(&self.deployed) {
            return Ok(());
        }
        deploy(&self.hostile, fixture).await?;
        if let Ok(mut deployed) = self.deployed.lock() {
            deployed.insert(fixture.to_owned());
        }
        Ok(())
    }

    /// Deploys the probe of HTTP at the host `hostile.example`.
    pub async fn deploy_probe(&self) -> Result<(), String> {
        self.deploy_at("http-probe", "hostile.example").await
    }

    /// Deploys a fixture that answers requests, at a host.
    pub async fn deploy_at(&self, fixture: &str, host: &str) -> Result<(), String> {
        self.deploy(fixture).await?;
        let release = digest(latent_guests::component(fixture));
        let manifest = serde_json::json!({
            "service": fixture, "deployment": "main", "release": release, "http": {"routes": [format!("{host}/")]},
        });
        apply(&self.hostile, &manifest.to_string()).await.map_err(|error| format!("cannot route to {fixture}: {error}"))
    }

    /// Calls a function of a service of the hostile tenant, with a connection that is there.
    pub async fn call(&self, service: &str, function: &str, arguments: &str) -> Result<InvokeResponse, CallError> {
        self.hostile.invoke(call(service, function, arguments, "")).await
    }

    /// What the node holds.
    pub async fn inventory(&self) -> Result<Inventory, String> {
        tenants::inventory(&self.operator).await
    }

    /// One of its counts.
    pub async fn count(&self, name: &str) -> Result<u64, String> {
        count_of(&self.inventory().await?, name)
    }

    /// The record of an activation of the hostile tenant.
    pub async fn record(&self, id: &str) -> Result<Activation, String> {
        let request = GetActivationRequest { activation_id: id.to_owned() };
        self.hostile.get_activation(request).await.map_err(|error| format!("the record of {id:?}: {error}"))
    }

    /// Refuses that the hostile tenant has a release.
    pub async fn has_not(&self, digest: &str) -> Result<(), String> {
        let digest = bare(digest).to_owned();
        match self.hostile.get_release(GetReleaseRequest { digest }).await {
            Err(CallError::Node(node)) if node.error.code() == latent_core::PlatformErrorCode::NotFound => Ok(()),
            other => Err(format!("it should not be stored: {other:?}")),
        }
    }

    /// Refuses that the process has ended, or is another one, or has said that it panicked.
    pub fn is_the_same(&self) -> Result<(), String> {
        let said = self.served.said();
        let started = self.served.process().started().map_err(|wrong| format!("{wrong}; it said: {said}"))?;
        if started != self.started {
            return Err("the node is another process".to_owned());
        }
        if said.contains("panicked") { Err(format!("the node panicked: {said}")) } else { Ok(()) }
    }
}

/// Applies a manifest.
pub async fn apply(client: &Client, manifest: &str) -> Result<(), CallError> {
    client.apply(ApplyRequest { manifest: manifest.to_owned(), ..ApplyRequest::default() }).await.map(drop)
}

/// A call that waits only so long.
pub fn within(time: Duration, request: InvokeRequest) -> InvokeRequest {
    InvokeRequest { timeout: Some(to_duration(time)), ..request }
}
