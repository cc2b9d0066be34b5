//! Reading the secrets of an activation before its store exists.
//!
//! Invariant: a source that hangs holds up the activation that asked and no worker thread, and as many reads are under
//! way as there may be instances, however many activations have given up waiting.

use std::sync::Arc;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, RevisionPolicy, TenantId};
use latent_executor::secret::secret_unavailable;
use latent_executor::{ExecutionRequest, SecretSource, SecretValue};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// What the secrets of one activation hold, in the order of its policy's references.
pub type Secrets = Box<[SecretValue]>;

/// The source, and the places of those who read from it.
pub struct SecretReader {
    source: Arc<dyn SecretSource>,
    places: Arc<Semaphore>,
    places_max: u32,
}

impl SecretReader {
    /// Reads from `source`, for at most `places_max` activations at a time.
    pub fn new(source: Arc<dyn SecretSource>, places_max: u32) -> Self {
        Self { source, places: Arc::new(Semaphore::new(places_max as usize)), places_max }
    }

    /// Reads what the policy of `request` refers to, on a thread for work that blocks, or on this one where there is no
    /// Tokio runtime. Dropping the future leaves a read under way to its end, and its place taken until then.
    ///
    /// # Errors
    /// What the source answers for the first secret that is not there; `resource-exhausted` when every place is taken.
    pub async fn read(&self, request: &ExecutionRequest) -> Result<Secrets, PlatformError> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| no_place(self.places_max))?;
        let (source, policy) = (self.source.clone(), request.policy.clone());
        let tenant = request.context.principal.tenant.clone();
        let Ok(runtime) = Handle::try_current() else { return read_all(&*source, &tenant, &policy) };
        let read = runtime.spawn_blocking(move || {
            let read = read_all(&*source, &tenant, &policy);
            drop(place);
            read
        });
        // A source that panics, or a runtime that ends, has read nothing.
        read.await.unwrap_or_else(|_gone| Err(first_unavailable(&request.policy)))
    }
}

fn read_all(source: &dyn SecretSource, tenant: &TenantId, policy: &RevisionPolicy) -> Result<Secrets, PlatformError> {
    policy.execution.secrets.iter().map(|(_, name)| source.secret(tenant, name)).collect()
}

fn first_unavailable(policy: &RevisionPolicy) -> PlatformError {
    secret_unavailable(policy.execution.secrets.iter().next().map_or("", |(_, name)| name))
}

fn no_place(places_max: u32) -> PlatformError {
    PlatformError::new(PlatformErrorCode::ResourceExhausted, "every place to read secrets is taken; try again")
        .retryable()
        .with_detail(ErrorDetail::new("activation.secret-reads-exhausted").with("reads_max", places_max))
}
