//! What a transport tells of a call, and what an answer tells besides its message.
//!
//! Invariant: who calls comes from a credential that was checked, never from the message.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_activation::request::TraceContext;
use latent_core::{
    ActivationId, BudgetConsumption, ErrorDetail, PlatformError, PlatformErrorCode, RevisionId, Sha256Digest, TenantId,
};
use latent_node::access::{Access, Role};

/// Where a connection comes from. The listener puts it into the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peer {
    /// The other side's address, where the transport has one.
    pub address: Option<IpAddr>,
    /// The SHA-256 of the client certificate, whose chain was verified.
    pub certificate: Option<Sha256Digest>,
}

/// When the head of a request arrived. The listener puts it into the extensions of every request; timeouts count from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival(pub Instant);

/// A call of somebody who is known.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Who calls, and what for.
    pub access: Arc<Access>,
    /// When the call arrived.
    pub arrived: Arrival,
    /// How long the transport waits, from the arrival on: the shortest of its own and the client's timeouts.
    pub transport_timeout: Option<Duration>,
    /// `traceparent` and `tracestate`, as they came.
    pub trace: TraceContext,
}

impl CallContext {
    /// The tenant in whose name the call is made.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.access.principal.tenant
    }

    /// Tells the operator's log who changed what; called once it holds.
    pub(crate) fn audit(&self, call: &'static str, what: impl fmt::Display) {
        let Access { principal, credential, .. } = &*self.access;
        tracing::info!(
            target: "latent::audit",
            tenant = %principal.tenant, subject = %principal.subject, %credential, call, %what
        );
    }

    /// Insists that the credential has `role`.
    ///
    /// # Errors
    /// `permission-denied`, detail `access.role-missing`, naming the role that is needed.
    pub fn require(&self, role: Role) -> Result<(), Refused> {
        if self.access.roles.has(role) {
            return Ok(());
        }
        let message =
            format_args!("the call needs a credential with role {role}; ask the operator of the node for one");
        let detail = ErrorDetail::new("access.role-missing").with("role", role);
        Err(PlatformError::new(PlatformErrorCode::PermissionDenied, message).with_detail(detail).into())
    }
}

/// What is known of the activation that an answer is about: the `latent-*` headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Its id, once it has one.
    pub activation_id: Option<ActivationId>,
    /// The revision that it is pinned to, once it is.
    pub revision: Option<RevisionId>,
    /// What it used, once it has ended.
    pub consumption: Option<BudgetConsumption>,
}

/// A call that is answered with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub error: PlatformError,
    /// The activation that it is about, if there is one.
    pub about: Option<Box<About>>,
}

impl Refused {
    /// The same, about an activation.
    #[must_use]
    pub fn about(mut self, about: About) -> Self {
        self.about = Some(Box::new(about));
        self
    }
}

impl From<PlatformError> for Refused {
    fn from(error: PlatformError) -> Self {
        Self { error, about: None }
    }
}
