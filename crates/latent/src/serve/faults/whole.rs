//! A whole node in this process, called through its API, and everything that it holds as one comparable value.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use latent_catalog::PageBounds;
use latent_core::{Principal, PrincipalKind, ServiceName, Sha256Digest, SystemWallClock, TenantId, WallClock};
use latent_executor::ExecutionBackend as _;
use latent_node::access::{Access, Role, TenantQuota};
use latent_node::operations::Operations as _;
use latent_storage::disk::{Disk, UnsyncedDisk};
use latent_storage::{Storage, StorageOptions};
use latent_wasmtime::{CompilerChoice, ImageLimits, ImageStore, Preparation};
use latent_wire::api::{Api, ApiConfig, Arrival, CallContext, Invoked, Refused};
use latent_wire::proto;

use crate::config::{Config, PressureSource};
use crate::serve::node::{Node, Outside};
use crate::serve::{Places, directory, listeners};

/// Nothing in a test takes longer.
pub const WATCHDOG: Duration = Duration::from_mins(1);
/// Rows of a page; nothing here has more.
const ROWS: u32 = 100;

/// A node of tenant `t` with two cells, and what calls it.
pub struct Whole {
    pub node: Node,
    pub api: Api,
    place: tempfile::TempDir,
}

/// A call of a function.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub service: &'static str,
    pub name: &'static str,
    pub payload: &'static str,
}

/// What is always deployed and always answers.
pub const STEADY: Function = Function { service: "echo", name: "echo-string", payload: "[\"hi\"]" };

impl Whole {
    /// A node whose storage is on `disk`, with [`STEADY`] and `guests` deployed.
    pub async fn begin(disk: impl Disk + 'static, guests: &[&'static str]) -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let mut config = Config { data_dir: place.path().join("data"), workers: 1, ..Config::default() };
        config.pressure_source = PressureSource::None;
        config.cells[2].count = 2;
        config.tenants.insert(tenant(), TenantQuota::default());
        let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
        let (node, driver) = {
            directory::make_private(&config.data_dir).expect("a directory");
            let images = ImageStore::open(&Places::of(&config).images, ImageLimits::default(), clock.clone());
            let preparation =
                Preparation { compiler: CompilerChoice::InProcess, images: Some(images.expect("a directory")) };
            let disk = Arc::new(disk);
            let outside = Outside { preparation, disk, pressure: None, spans: None, observer: None };
            Node::assemble(&config, &clock, outside).expect("a node")
        };
        tokio::spawn(driver);
        assert!(node.operations.lifecycle().started(), "it serves from now on");
        let api = Api::new(listeners::ports(&node), ApiConfig::default());
        let whole = Self { node, api, place };
        for guest in guests.iter().chain([&STEADY.service]) {
            let component = latent_guests::component(guest);
            whole.publish(component).await.expect("the guest is published");
            whole.deploy(guest, component).await.expect("the guest is deployed");
        }
        whole.serves().await;
        whole
    }

    fn caller() -> CallContext {
        let subject = ServiceName::new("caller").expect("a name");
        let principal = Principal { tenant: tenant(), subject, kind: PrincipalKind::User };
        let access = Access { principal, roles: Role::ALL.into_iter().collect(), credential: "test".into() };
        CallContext {
            access: Arc::new(access),
            arrived: Arrival(tokio::time::Instant::now().into_std()),
            transport_timeout: None,
            trace: latent_activation::request::TraceContext::default(),
        }
    }

    pub async fn publish(&self, component: &[u8]) -> Result<(), Refused> {
        let component = component.to_vec().into();
        self.api.publish(&Self::caller(), proto::PublishHead::default(), component).await.map(drop)
    }

    /// Makes `component` the one deployment of `service`.
    pub async fn deploy(&self, service: &str, component: &[u8]) -> Result<(), Refused> {
        let release = Sha256Digest::of(component);
        let manifest = format!(r#"{{"service":"{service}","deployment":"d","release":"{release}"}}"#);
        let request = proto::ApplyRequest { manifest, ..Default::default() };
        self.api.apply(&Self::caller(), request).await.map(drop)
    }

    pub async fn remove(&self, service: &str) -> Result<(), Refused> {
        let (service, deployment) = (service.to_owned(), "d".to_owned());
        let request = proto::DeleteDeploymentRequest { service, deployment, expected_generation: None };
        self.api.delete_deployment(&Self::caller(), request).await.map(drop)
    }

    pub async fn withdraw(&self, component: &[u8]) -> Result<(), Refused> {
        let request = proto::DeleteReleaseRequest { digest: Sha256Digest::of(component).to_string() };
        self.api.delete_release(&Self::caller(), request).await.map(drop)
    }

    /// Calls `function` of the service as activation `id`.
    pub async fn invoke(&self, function: Function, service: &str, id: &str) -> Result<Invoked, Refused> {
        let request = proto::InvokeRequest {
            service: service.to_owned(),
            function: function.name.to_owned(),
            payload: function.payload.into(),
            activation_id: id.to_owned(),
            budget: Some(proto::Budget { fuel: Some(20_000_000), ..Default::default() }),
            ..Default::default()
        };
        self.api.invoke(&Self::caller(), request).await
    }

    pub async fn cancel(&self, id: &str) -> Result<proto::CancelDisposition, Refused> {
        let request = proto::CancelRequest { activation_id: id.to_owned(), reason: "enough".to_owned() };
        self.api.cancel(&Self::caller(), request).await.map(|answer| answer.disposition())
    }

    /// How the activation ended; empty where there is none, or none that has ended.
    pub async fn end_of(&self, id: &str) -> String {
        let request = proto::GetActivationRequest { activation_id: id.to_owned() };
        let found = self.api.get_activation(&Self::caller(), request).await;
        found.ok().and_then(|activation| activation.terminal).map(|end| end.state).unwrap_or_default()
    }

    /// Everything is given back, and a call that has nothing to do with anything is answered.
    pub async fn serves(&self) {
        self.settles().await;
        let answer = self.invoke(STEADY, STEADY.service, "").await.expect("the steady service answers");
        assert_eq!(answer.response.outcome, Some(proto::invoke_response::Outcome::Result("\"hi\"".into())));
        self.settles().await;
    }

    async fn settles(&self) {
        let settled = async {
            while !self.is_settled() {
                tokio::task::yield_now().await;
            }
        };
        assert!(
            tokio::time::timeout(WATCHDOG, settled).await.is_ok(),
            "not all is given back: {:?} {:?}",
            self.node.operations.inventory(),
            self.node.backend.resources()
        );
        self.node.supervisor.audit().expect("the slots add up");
        self.node.storage.audit().expect("the counters add up");
    }

    /// Whether each part holds what it held before any call.
    fn is_settled(&self) -> bool {
        let supervisor = self.node.supervisor.snapshot();
        let cells = self.node.operations.inventory().cells;
        let resources = self.node.backend.resources();
        supervisor.reserved + supervisor.continuing == 0
            && self.node.manager.parts().admission.ledger().snapshot().live() == 0
            && cells.iter().all(|(_, cells)| cells.available == cells.capacity && cells.quarantined == 0)
            && resources.is_idle()
            && resources.preparations == 0
    }

    /// What the API lists.
    pub async fn held(&self) -> Held {
        let releases = proto::ListReleasesRequest { page_size: ROWS, ..Default::default() };
        let releases = self.api.list_releases(&Self::caller(), releases).await.expect("a list").releases;
        let deployments = proto::ListDeploymentsRequest { page_size: ROWS, ..Default::default() };
        let deployments = self.api.list_deployments(&Self::caller(), deployments).await.expect("a list").deployments;
        let releases = releases.into_iter().map(|release| release.digest);
        let deployments = deployments.into_iter().map(|one| format!("{} {}", one.service, one.release));
        Held(releases.chain(deployments).collect())
    }

    /// What a node would find that is started after this one has stopped here.
    pub fn left(&self) -> Held {
        let copy = tempfile::tempdir().expect("a temporary directory");
        copied(&self.node.places.store, copy.path());
        let options = StorageOptions::new(self.node.backend.clone());
        let storage = Storage::open_on(Arc::new(UnsyncedDisk), copy.path(), options).expect("it opens");
        storage.audit().expect("the counters add up");
        let (tenant, bounds) = (tenant(), PageBounds { rows_max: ROWS as usize, ..PageBounds::default() });
        let page = storage.releases(&tenant, None, bounds).releases;
        let releases = page.iter().map(|record| record.release.digest().to_string());
        let view = storage.view();
        let deployments = view.of_tenant(&tenant);
        let deployments = deployments.map(|one| format!("{} {}", one.service(), one.manifest().release));
        Held(releases.chain(deployments).collect())
    }

    /// Where the node keeps compiled components.
    pub fn images(&self) -> &Path {
        &self.node.places.images
    }

    /// Waits for `call` no longer than the watchdog.
    pub async fn soon<T>(&self, call: impl Future<Output = T>) -> T {
        let place = self.place.path().display();
        tokio::time::timeout(WATCHDOG, call).await.unwrap_or_else(|_| panic!("a call in {place} does not end"))
    }
}

/// Runs `test` on threads of a node. One of them is for the disk, so that what is asked of it is done in order.
pub fn on_runtime(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).max_blocking_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(test);
}

/// Digests of releases, and deployments with theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held(pub BTreeSet<String>);

/// The `number`-th of components that do the same and are not the same.
pub fn variant(component: &[u8], number: u32) -> Vec<u8> {
    // A section of its own, which is called `n`.
    [component, &[0, 6, 1, b'n'], &number.to_le_bytes()].concat()
}

fn tenant() -> TenantId {
    TenantId::new("t").expect("a name")
}

fn copied(from: &Path, to: &Path) {
    for entry in from.read_dir().expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).expect("a directory");
            copied(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("a file");
        }
    }
}
