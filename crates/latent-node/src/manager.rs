//! `LocalActivationManager`: one activation from its request to one record.
//!
//! Invariant: it sequences and decides nothing. What is allowed is admission's, who is next the scheduler's, what an
//! end is called the precedence table's. Each step is a state that owns what the activation holds, and consumes the
//! one before; dropped anywhere, a state gives up its cell, then its quota, then publishes its end.

mod owner;

mod admitted;
mod asked;
mod granted;
mod ready;
mod running;

mod ended;
mod settled;

mod handle;
mod services;
mod stops;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use latent_activation::journal::{ActivationPage, ActivationStatus, ActivationWatch, Lookup, PageCursor};
use latent_activation::{
    ActivationIdSource, ActivationRequest, CancelDisposition, LifecycleEvent, LocalActivationJournal, RequestLimits,
};
use latent_catalog::{ActivationCatalogSource, HttpService};
use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode, TenantId, WallClock};
use latent_executor::{ArtifactRepository, ExecutionBackend, HttpExchange};
use latent_scheduler::admission::{Admission, PressureSample, QueueClass, TransportTimeout};
use latent_scheduler::fair::LocalScheduler;

use crate::contain::{call, port_panicked};
use crate::observe::ActivationObserver;
use crate::time::now;
use asked::Asked;
use owner::{Accepted, Called, Owner};
use services::Services;

pub use handle::{ActivationHandle, ActivationReceipt, ActivationTransportInterruption};

/// The longest grace: one second.
pub const CLEANUP_GRACE_MAX: Duration = Duration::from_secs(1);

/// How a manager is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalActivationManagerConfig {
    /// What a request may be. Beyond it, it is refused before anything is reserved.
    pub requests: RequestLimits,
    /// How long a stopped run may take to say that it is clean, and how long a pool may take to take a cell back. Beyond
    /// it the cell is out of reuse. Default 100 milliseconds; more than zero, at most [`CLEANUP_GRACE_MAX`].
    pub cleanup_grace: Duration,
}

impl Default for LocalActivationManagerConfig {
    fn default() -> Self {
        Self { requests: RequestLimits::default(), cleanup_grace: Duration::from_millis(100) }
    }
}

/// What a manager composes. Whoever owns the node keeps the same parts, and asks them for their counters.
#[derive(Clone)]
pub struct LocalActivationManagerParts {
    /// Where routes and policies come from.
    pub catalog: Arc<dyn ActivationCatalogSource>,
    /// Where components come from.
    pub repository: Arc<dyn ArtifactRepository>,
    /// Who may take part, over the node's one ledger.
    pub admission: Arc<Admission>,
    /// Who is next.
    pub scheduler: Arc<LocalScheduler>,
    /// What runs guests.
    pub backend: Arc<dyn ExecutionBackend>,
    /// Where records are kept.
    pub journal: Arc<LocalActivationJournal>,
    /// Names for activations that came without one.
    pub ids: Arc<dyn ActivationIdSource>,
    /// Wall time, for absolute deadlines and for people.
    pub clock: Arc<dyn WallClock>,
    /// Who is told of ends.
    pub observer: Arc<dyn ActivationObserver>,
}

/// How a call came in: what its embedding knows of it besides the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivationArrival {
    /// What the transport allows, counted from when the head of the call arrived.
    pub transport: Option<TransportTimeout>,
    /// How urgent the call is among its tenant's; higher goes first, up to what the tenant may have.
    pub priority: u8,
    /// What kind of waiting it stands.
    pub queue_class: QueueClass,
}

/// The activations of an embedding that knows of no tenants: the interface before this one.
pub trait ActivationManager: Send + Sync {
    /// Accepts a request, and hands out what runs it.
    ///
    /// # Errors
    /// What is wrong with the request, or why there is no room for it.
    fn start(&self, request: ActivationRequest) -> Result<ActivationHandle, PlatformError>;

    /// Cancels whichever activation has this id, whosever it is.
    ///
    /// # Errors
    /// `permission-denied` from a manager whose activations belong to tenants.
    fn cancel(&self, activation_id: &ActivationId, reason: &str) -> Result<CancelDisposition, PlatformError>;
}

/// Runs activations (`activation-lifecycle.md`). It spawns no task and has no timer of its own: who holds a handle
/// polls it, on a Tokio runtime with its timer on, to its end; a handle that is dropped while its guest runs costs a cell.
/// Whoever owns the node calls the journal's `sweep` now and then.
pub struct LocalActivationManager {
    services: Arc<Services>,
}

impl LocalActivationManager {
    /// A manager over `parts`.
    ///
    /// # Errors
    /// `invalid-argument`, detail `activation.manager-config`, for a grace out of its bounds.
    pub fn new(
        parts: LocalActivationManagerParts,
        config: LocalActivationManagerConfig,
    ) -> Result<Self, PlatformError> {
        let grace = config.cleanup_grace;
        if grace.is_zero() || grace > CLEANUP_GRACE_MAX {
            let message =
                format_args!("cleanup_grace is {grace:?}; it has to be more than zero and at most one second");
            let detail = ErrorDetail::new("activation.manager-config").with("setting", "cleanup_grace");
            return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail));
        }
        Ok(Self { services: Arc::new(Services::new(parts, config)) })
    }

    /// Accepts a request that came in no particular way. As [`start_arrived`](Self::start_arrived).
    ///
    /// # Errors
    /// As there.
    pub fn start(&self, request: ActivationRequest) -> Result<ActivationHandle, PlatformError> {
        self.start_arrived(request, ActivationArrival::default())
    }

    /// Checks the request, records the activation and makes it cancellable. From here on it has an id, and it ends with
    /// exactly one terminal event, also when the handle is dropped (`activation-lifecycle.md`, "Start and identity").
    ///
    /// # Errors
    /// `invalid-argument`, `permission-denied` or `unauthenticated` for a request that is wrong, naming the field and the
    /// bound; otherwise as [`LocalActivationJournal::reserve`]. Nothing has been recorded then.
    pub fn start_arrived(
        &self,
        request: ActivationRequest,
        arrival: ActivationArrival,
    ) -> Result<ActivationHandle, PlatformError> {
        self.accept(request, arrival, None)
    }

    /// Accepts an HTTP request, whose target is the HTTP handler and whose payload is empty: its guest reads and answers
    /// `exchange`. As [`start_arrived`](Self::start_arrived).
    ///
    /// # Errors
    /// As there.
    pub fn start_http(
        &self,
        request: ActivationRequest,
        arrival: ActivationArrival,
        exchange: Arc<HttpExchange>,
    ) -> Result<ActivationHandle, PlatformError> {
        self.accept(request, arrival, Some(exchange))
    }

    fn accept(
        &self,
        request: ActivationRequest,
        arrival: ActivationArrival,
        exchange: Option<Arc<HttpExchange>>,
    ) -> Result<ActivationHandle, PlatformError> {
        let services = &self.services;
        let received = call(|| services.moment(), || port_panicked("clock", "now"))?;
        let limits = &services.config.requests;
        let valid = call(
            || request.validate(limits, &*services.parts.ids, received.wall),
            || port_panicked("id source", "next_id"),
        )??;
        let reservation = services.parts.journal.reserve(valid.tenant().clone(), valid.lineage().clone(), received)?;
        let owner = Owner::new(reservation, Called::of(&valid, exchange, &services.parts.observer));
        let accepted = Box::new(Accepted { request: valid, arrival, owner });
        Ok(ActivationHandle::new(Arc::clone(services), received, Asked { accepted }))
    }

    /// Which service answers an HTTP request to `host`, as [`canonical_host`](latent_core::http::canonical_host) writes it,
    /// for `path`; `None` when no deployment's routes cover it.
    ///
    /// # Errors
    /// `internal` when the catalog panics.
    pub fn http_route(&self, host: &str, path: &str) -> Result<Option<HttpService>, PlatformError> {
        call(|| self.services.parts.catalog.pin().http_route(host, path), || port_panicked("catalog", "http_route"))
    }

    /// How an activation of `tenant` stands. Another tenant's is as unknown as one that never was.
    #[must_use]
    pub fn status(&self, tenant: &TenantId, activation_id: &ActivationId) -> Lookup<ActivationStatus> {
        self.services.parts.journal.status(tenant, activation_id, now())
    }

    /// The events of an activation of `tenant`, in order.
    #[must_use]
    pub fn events(&self, tenant: &TenantId, activation_id: &ActivationId) -> Lookup<Vec<LifecycleEvent>> {
        self.services.parts.journal.events(tenant, activation_id, now())
    }

    /// Watches an activation of `tenant`. As [`LocalActivationJournal::watch`].
    ///
    /// # Errors
    /// As there.
    pub fn watch(
        &self,
        tenant: &TenantId,
        activation_id: &ActivationId,
    ) -> Result<Lookup<ActivationWatch>, PlatformError> {
        self.services.parts.journal.watch(tenant, activation_id, now())
    }

    /// A page of the activations of `tenant`, newest first, from `from` on; at most `rows` lines.
    #[must_use]
    pub fn list(&self, tenant: &TenantId, from: Option<PageCursor>, rows: usize) -> ActivationPage {
        self.services.parts.journal.list(tenant, from, rows, now())
    }

    /// Cancels an activation of `tenant`, in whatever phase it is. Accepted says that its end will be a cancelled one, not
    /// that anything has been cleaned up yet (`activation-lifecycle.md`, "Cancellation, cleanup, and accounting").
    #[must_use]
    pub fn cancel_for(&self, tenant: &TenantId, activation_id: &ActivationId, reason: &str) -> CancelDisposition {
        self.services.parts.journal.cancel(tenant, activation_id, reason, now())
    }

    /// Cancels every activation there is, whosever it is, and says how many cancels were accepted. For a node that stops.
    #[must_use]
    pub fn cancel_all(&self, reason: &str) -> usize {
        self.services.parts.journal.cancel_all(reason)
    }

    /// Tells admission how the node is doing, until the next call. Without one a node whose policy asks for it is taken
    /// to be overloaded.
    pub fn observe_pressure(&self, sample: Option<PressureSample>) {
        self.services.pressure.store(sample.map(Arc::new));
    }

    /// Whether the node's pressure lets anything be admitted now.
    ///
    /// # Errors
    /// What every activation is refused with, as long as it does not.
    pub fn check_pressure(&self) -> Result<(), PlatformError> {
        let pressure = self.services.pressure.load();
        self.services.parts.admission.check_pressure(pressure.as_deref(), now())
    }

    /// How long a cleanup may take.
    #[must_use]
    pub fn cleanup_grace(&self) -> Duration {
        self.services.config.cleanup_grace
    }

    /// What a request may be.
    #[must_use]
    pub fn request_limits(&self) -> &RequestLimits {
        &self.services.config.requests
    }

    /// What the manager composes.
    #[must_use]
    pub fn parts(&self) -> &LocalActivationManagerParts {
        &self.services.parts
    }
}

impl ActivationManager for LocalActivationManager {
    fn start(&self, request: ActivationRequest) -> Result<ActivationHandle, PlatformError> {
        Self::start(self, request)
    }

    /// Always refused: an id alone gives no right.
    fn cancel(&self, _activation_id: &ActivationId, _reason: &str) -> Result<CancelDisposition, PlatformError> {
        let message = "an activation is cancelled in the name of its tenant; use cancel_for";
        Err(PlatformError::of_activation(PlatformErrorCode::PermissionDenied, "activation.unscoped-cancel", message))
    }
}

impl fmt::Debug for LocalActivationManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Services { parts, config, .. } = &*self.services;
        f.debug_struct("LocalActivationManager")
            .field("config", config)
            .field("journal", &parts.journal.snapshot())
            .field("quota", &parts.admission.ledger().snapshot())
            .finish_non_exhaustive()
    }
}
