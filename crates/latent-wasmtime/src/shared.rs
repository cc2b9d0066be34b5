//! What every run of one backend shares: the engine, its watchdog, the prepared code, the counts and the log sink.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, Sha256Digest, TenantId};
use latent_executor::{ComponentArtifact, OwnedRepository, PreparationKey};
use wasmtime::Engine;

use crate::engine::{self, EngineReport};
use crate::gauges::{Gauges, Held, HeldUse};
use crate::host::Services;
use crate::ports::Ports;
use crate::preparation::Preparation;
use crate::prepare::PreparedComponent;
use crate::preparer::{Lookup, Preparer, Source, Workshop, compiler_gone};
use crate::processor::Processor;
use crate::ready::{ReadyBounds, ReadyPins};
use crate::secrets::SecretReader;
use crate::settings::EngineSettings;
use crate::ticker::Ticker;

/// The one set of parts behind all clones of a backend. Dropping it joins its threads.
pub struct Shared {
    pub(crate) engine: Engine,
    pub(crate) settings: EngineSettings,
    pub(crate) ticker: Ticker,
    pub(crate) processor: Arc<Processor>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) services: Arc<Services>,
    pub(crate) preparer: Preparer,
    pub(crate) ready: Arc<ReadyPins>,
    pub(crate) secrets: SecretReader,
    pub(crate) report: EngineReport,
    compatibility: u64,
}

impl Shared {
    /// Builds the engine and starts the watchdog and the preparation's workers.
    ///
    /// # Errors
    /// `invalid-argument` for an unusable setting, `internal` when this machine cannot run the engine.
    pub fn new(
        settings: EngineSettings,
        preparation: Preparation,
        Ports { secrets, outgoing, sink }: Ports,
    ) -> Result<Self, PlatformError> {
        let (engine, report) = engine::build(&settings)?;
        let interval = Duration::from_millis(u64::from(settings.epoch_tick_interval_millis.max(1)));
        let ticker = Ticker::start(&engine, interval).map_err(|error| no_thread(&error))?;
        let (compiler, images) = preparation.into_parts(&engine, &settings)?;
        let workshop = Workshop {
            engine: engine.clone(),
            settings: settings.clone(),
            compiler,
            images,
            compilations: AtomicU64::new(0),
        };
        let preparer = Preparer::start(workshop, &settings).map_err(|error| no_thread(&error))?;
        let ready = ReadyPins::new(ReadyBounds {
            pins_max: u64::from(settings.ready_pins_max),
            bytes_max: settings.ready_bytes_max,
        });
        let compatibility = engine::compatibility(&engine);
        let gauges = Arc::new(Gauges::default());
        let services = Arc::new(Services::new(&settings, sink, outgoing, gauges.clone()));
        let secrets = SecretReader::new(secrets, settings.instances_max);
        let processor = Arc::default();
        Ok(Self {
            engine,
            settings,
            ticker,
            processor,
            gauges,
            services,
            preparer,
            ready,
            secrets,
            report,
            compatibility,
        })
    }

    /// How long a slice of a guest that computes is at least: what it may run between two ticks that make it yield.
    pub fn slice(&self) -> Duration {
        let EngineSettings { epoch_tick_interval_millis: tick, epoch_deadline_ticks: ticks, .. } = self.settings;
        Duration::from_millis(u64::from(tick.max(1)) * u64::from(ticks))
    }

    /// The key of the component `digest` under this engine.
    pub fn key(&self, digest: Sha256Digest) -> PreparationKey {
        PreparationKey::new(digest, self.compatibility)
    }

    /// Finds the code of `artifact`, or a place to wait for it. It is compiled for `tenant`, if that is known.
    pub fn look_up(&self, artifact: &ComponentArtifact, tenant: Option<&TenantId>) -> Result<Lookup, PlatformError> {
        let source = || Source::Bytes { artifact: artifact.clone(), tenant: tenant.cloned() };
        self.preparer.look_up(self.key(artifact.digest()), source)
    }

    /// The code of `artifact`, compiled for `tenant` if need be.
    pub async fn ready(
        &self,
        artifact: ComponentArtifact,
        tenant: Option<&TenantId>,
    ) -> Result<Arc<PreparedComponent>, PlatformError> {
        arrived(self.look_up(&artifact, tenant)?).await
    }

    /// The code of `key` out of `repository`. Where a sealed source vouches for it and it is kept, nothing is read.
    pub async fn ready_from(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> Result<Arc<PreparedComponent>, PlatformError> {
        if key != self.key(key.digest()) {
            return Err(PlatformError::new(PlatformErrorCode::Internal, "the preparation key is another engine's"));
        }
        let digest = key.digest();
        let found = if repository.vouches_for(digest)? {
            self.preparer.look_up(key, || Source::Repository { repository, digest, verified: false })
        } else {
            self.preparer.verify(key, Source::Repository { repository, digest, verified: true })
        };
        arrived(found?).await
    }

    /// Takes the permit of one live instance for a run.
    pub fn permit(&self) -> Result<Held<'_>, PlatformError> {
        let max = u64::from(self.settings.instances_max);
        self.gauges.permit(max).ok_or_else(|| no_permit(max))
    }

    /// Takes a pin and the permit of one live instance for a use that leaves the backend.
    pub fn hold_use(&self) -> Result<HeldUse, PlatformError> {
        let max = u64::from(self.settings.instances_max);
        self.gauges.hold_use(max).ok_or_else(|| no_permit(max))
    }
}

/// The code, once it is there.
async fn arrived(found: Lookup) -> Result<Arc<PreparedComponent>, PlatformError> {
    match found {
        Lookup::Kept(code) => Ok(code),
        Lookup::Preparing(answer) => answer.await.unwrap_or_else(|_gone| Err(compiler_gone())),
    }
}

fn no_permit(max: u64) -> PlatformError {
    PlatformError::new(PlatformErrorCode::ResourceExhausted, "every instance permit is taken")
        .retryable()
        .with_detail(ErrorDetail::new("activation.instance-permits-exhausted").with("instances_max", max))
}

fn no_thread(error: &std::io::Error) -> PlatformError {
    let what = format_args!("the system gives no thread: {error}; raise its limits (RLIMIT_NPROC, RLIMIT_AS)");
    PlatformError::new(PlatformErrorCode::Internal, what)
}
