//! Who calls. A principal comes only from the trusted embedding, never from caller metadata
//! (`activation-lifecycle.md`, "Start and identity").

use crate::id::{ServiceName, TenantId};

/// What kind of caller a principal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A person or an operator's tool.
    User,
    /// Another service, which names itself.
    Service(ServiceName),
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Whose caller it is.
    pub tenant: TenantId,
    /// The authenticated subject, bounded like an id.
    pub subject: crate::id::ServiceName,
    /// Which kind of caller.
    pub kind: PrincipalKind,
}
