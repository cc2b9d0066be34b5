//! From bytes that a tenant publishes to code that runs: storage, inspector, child, images and backend together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use latent_core::{ExecutionOutcome, PlatformError, PlatformErrorCode, Sha256Digest, SystemWallClock, TenantId};
use latent_executor::{
    BoundedLogSink, ComponentInspector, ExecutionBackend as _, OwnedRepository, PreparedReadiness, suite,
};
use latent_storage::{Storage, StorageOptions};
use latent_wasmtime::{
    ChildOptions, CompileLimits, CompilerChoice, EngineSettings, ImageLimits, ImageStore, Preparation, WasmtimeBackend,
};

/// A directory with a storage and images, and what a node makes of it.
struct Node {
    directory: tempfile::TempDir,
    storage: Arc<Storage>,
    backend: WasmtimeBackend,
}

fn acme() -> TenantId {
    TenantId::new("acme").expect("a plain name")
}

fn backend(directory: &Path) -> WasmtimeBackend {
    let options = ChildOptions {
        program: PathBuf::from(env!("CARGO_BIN_EXE_latent")),
        limits: CompileLimits::default(),
        functions: None,
    };
    let images = ImageStore::open(&directory.join("images"), ImageLimits::default(), Arc::new(SystemWallClock));
    let preparation =
        Preparation { compiler: CompilerChoice::Child(options), images: Some(images.expect("images can be kept")) };
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    // Everybody who asks at once finds a place to wait, and a permit.
    let mut settings = EngineSettings::for_cells(4);
    (settings.preparations_per_tenant_max, settings.instances_max) = (64, 64);
    WasmtimeBackend::with_preparation(settings, preparation, sink).expect("the engine starts")
}

impl Node {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let backend = backend(directory.path());
        let inspector: Arc<dyn ComponentInspector> = Arc::new(backend.clone());
        let storage = Storage::open(directory.path().join("storage"), StorageOptions::new(inspector));
        Self { storage: Arc::new(storage.expect("the directory is ours")), directory, backend }
    }

    /// The same directory with an engine that has prepared nothing.
    fn restarted(&mut self) {
        self.backend = backend(self.directory.path());
    }

    fn publish(&self, fixture: &str) -> Sha256Digest {
        let component = latent_guests::component(fixture);
        self.storage.publish(&acme(), b"{}", component).expect("it is taken");
        Sha256Digest::of(component)
    }

    async fn ready(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<PreparedReadiness, PlatformError> {
        let repository = OwnedRepository::new(self.storage.clone(), tenant.clone());
        self.backend.prepare_ready_from_repository(repository, self.backend.preparation_key(digest)).await
    }

    async fn echo(&self, digest: Sha256Digest) {
        let ready = self.ready(&acme(), digest).await.expect("it prepares");
        let prepared = self.backend.materialize_ready(ready).expect("a permit is free");
        let request = suite::request("fixture:echo/echo@0.1.0#echo-string", "[\"hello\"]");
        let cancellation = suite::cancellation(&request, None);
        let ran = self.backend.invoke_prepared_contained(prepared, request, cancellation).await;
        assert!(matches!(ran.report.outcome, ExecutionOutcome::Returned(payload) if payload.bytes == "\"hello\""));
    }

    /// The file of a component in the storage.
    fn file(&self, digest: Sha256Digest) -> PathBuf {
        self.storage.path().join("components").join(digest.to_string())
    }

    fn remove_images(&self) {
        let images = self.directory.path().join("images");
        for image in std::fs::read_dir(images).expect("it can be listed") {
            std::fs::remove_file(image.expect("it can be listed").path()).expect("it can be removed");
        }
    }
}

#[tokio::test]
async fn a_warm_hit_reads_neither_component_nor_image() {
    let node = Node::new();
    let digest = node.publish("echo");
    node.echo(digest).await;
    std::fs::remove_file(node.file(digest)).expect("the component is there");
    node.remove_images();
    node.echo(digest).await;
}

#[tokio::test]
async fn after_a_restart_the_image_is_enough() {
    let mut node = Node::new();
    let digest = node.publish("echo");
    node.echo(digest).await;
    std::fs::remove_file(node.file(digest)).expect("the component is there");
    node.restarted();
    node.echo(digest).await;
}

#[tokio::test]
async fn corrupt_and_missing_bytes_are_typed_refusals_that_hold_nothing_and_a_new_upload_mends_them() {
    let node = Node::new();
    let digest = node.publish("echo");
    let file = node.file(digest);
    let mut damaged = std::fs::read(&file).expect("the component is there");
    damaged[100] ^= 1;
    std::fs::remove_file(&file).expect("it can be removed");
    for bytes in [Some(&damaged[..]), None] {
        if let Some(bytes) = bytes {
            std::fs::write(&file, bytes).expect("it can be written");
        } else {
            std::fs::remove_file(&file).expect("it can be removed");
        }
        let error = node.ready(&acme(), digest).await.err().expect("it is damaged");
        assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact, "{error:?}");
        assert!(node.backend.resources().is_idle());
        assert_eq!(node.backend.resources().prepared_entries, 0);
    }
    node.publish("echo");
    node.echo(digest).await;
}

#[tokio::test]
async fn a_tenant_that_has_not_published_finds_nothing_even_while_the_code_is_kept() {
    let node = Node::new();
    let digest = node.publish("echo");
    node.echo(digest).await;
    let error = node.ready(&TenantId::new("other").unwrap(), digest).await.err().expect("it is not theirs");
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_who_publish_and_call_the_same_component_at_once_cost_one_compilation() {
    let node = Arc::new(Node::new());
    let callers = (0..64).map(|_| {
        let node = node.clone();
        tokio::spawn(async move {
            let published = node.clone();
            let digest = tokio::task::spawn_blocking(move || published.publish("echo")).await.expect("it publishes");
            node.echo(digest).await;
        })
    });
    for caller in join_all(callers).await {
        caller.expect("every caller is served");
    }
    assert_eq!(node.storage.inventory().releases, 1);
    assert_eq!(node.backend.resources().prepared_entries, 1);
    let images = std::fs::read_dir(node.directory.path().join("images")).expect("it can be listed").count();
    assert_eq!(images, 1);
}

#[tokio::test]
async fn what_cannot_run_is_refused_at_publication_with_names_and_not_stored() {
    let node = Node::new();
    let text = "(component (import \"acme:missing/thing@1.2.3\" (instance (export \"f\" (func)))))";
    let component = wat::parse_str(text).expect("the text is well-formed");
    let error = node.storage.publish(&acme(), b"{}", &component).expect_err("nobody offers that");
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    assert!(error.message().contains("acme:missing/thing@1.2.3"), "{error:?}");
    assert_eq!(node.storage.inventory().releases, 0);
}
