//! What every run of one backend shares: the engine, its watchdog, the prepared code, the counts and the log sink.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, Sha256Digest};
use latent_executor::{ComponentArtifact, LogSink, PreparationKey};
use wasmtime::Engine;

use crate::cache::{Lookup, Preparer, compiler_gone};
use crate::engine::{self, EngineReport};
use crate::gauges::{Gauges, Held, HeldUse};
use crate::prepare::PreparedComponent;
use crate::settings::EngineSettings;
use crate::ticker::Ticker;

/// The one set of parts behind all clones of a backend. Dropping it joins its threads.
pub struct Shared {
    pub(crate) engine: Engine,
    pub(crate) settings: EngineSettings,
    pub(crate) ticker: Ticker,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) sink: Arc<dyn LogSink>,
    pub(crate) preparer: Preparer,
    pub(crate) report: EngineReport,
    compatibility: u64,
}

impl Shared {
    /// Builds the engine and starts the watchdog and the compiler.
    ///
    /// # Errors
    /// `invalid-argument` for an unusable setting, `internal` when this machine cannot run the engine.
    pub fn new(settings: EngineSettings, sink: Arc<dyn LogSink>) -> Result<Self, PlatformError> {
        let (engine, report) = engine::build(&settings)?;
        let interval = Duration::from_millis(u64::from(settings.epoch_tick_interval_millis.max(1)));
        let ticker = Ticker::start(&engine, interval).map_err(|error| no_thread(&error))?;
        let preparer = Preparer::start(&engine, &settings).map_err(|error| no_thread(&error))?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let compatibility = hasher.finish();
        let gauges = Arc::new(Gauges::default());
        Ok(Self { engine, settings, ticker, gauges, sink, preparer, report, compatibility })
    }

    /// The key of the component `digest` under this engine.
    pub fn key(&self, digest: Sha256Digest) -> PreparationKey {
        PreparationKey::new(digest, self.compatibility)
    }

    /// Finds the code of `artifact`, or a place to wait for it.
    pub fn look_up(&self, artifact: &ComponentArtifact) -> Result<Lookup, PlatformError> {
        self.preparer.look_up(self.key(artifact.digest()), artifact)
    }

    /// The code of `artifact`, compiled if need be.
    pub async fn ready(&self, artifact: ComponentArtifact) -> Result<Arc<PreparedComponent>, PlatformError> {
        match self.look_up(&artifact)? {
            Lookup::Kept(code) => Ok(code),
            Lookup::Compiling(answer) => answer.await.unwrap_or_else(|_gone| Err(compiler_gone())),
        }
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

fn no_permit(max: u64) -> PlatformError {
    PlatformError::new(PlatformErrorCode::ResourceExhausted, "every instance permit is taken")
        .retryable()
        .with_detail(ErrorDetail::new("activation.instance-permits-exhausted").with("instances_max", max))
}

fn no_thread(error: &std::io::Error) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the system gives no thread: {error}"))
}
