//! Who calls. A principal comes only from the trusted embedding, never from caller metadata
//! (`activation-lifecycle.md`, "Start and identity").

use std::fmt;

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

/// What the embedding knows of a caller, before anyone has asked whether it is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody authenticated.
    Anonymous,
    /// A person or an operator's tool.
    User {
        /// Whose caller it is.
        tenant: TenantId,
        /// The authenticated subject.
        subject: ServiceName,
    },
    /// Another service.
    Service {
        /// Whose caller it is.
        tenant: TenantId,
        /// The authenticated subject.
        subject: ServiceName,
        /// Which service it is, where its credential says so.
        service: Option<ServiceName>,
    },
}

/// Why a caller is no principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerError {
    /// Nobody authenticated.
    Anonymous,
    /// A service that does not say which one it is.
    UnnamedService,
}

impl Caller {
    /// The principal that this caller is.
    ///
    /// # Errors
    /// [`CallerError`] for an anonymous caller, and for a service that does not name itself.
    pub fn authenticated(self) -> Result<Principal, CallerError> {
        match self {
            Self::Anonymous => Err(CallerError::Anonymous),
            Self::User { tenant, subject } => Ok(Principal { tenant, subject, kind: PrincipalKind::User }),
            Self::Service { service: None, .. } => Err(CallerError::UnnamedService),
            Self::Service { tenant, subject, service: Some(service) } => {
                Ok(Principal { tenant, subject, kind: PrincipalKind::Service(service) })
            }
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        let Principal { tenant, subject, kind } = principal;
        match kind {
            PrincipalKind::User => Self::User { tenant, subject },
            PrincipalKind::Service(service) => Self::Service { tenant, subject, service: Some(service) },
        }
    }
}

impl fmt::Display for CallerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "nobody authenticated",
            Self::UnnamedService => "the calling service does not name itself",
        })
    }
}

impl std::error::Error for CallerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_callers_become_principals_and_stay_what_they_are() {
        let tenant = TenantId::new("t").unwrap();
        let name = |text| ServiceName::new(text).unwrap();
        assert_eq!(Caller::Anonymous.authenticated(), Err(CallerError::Anonymous));
        let service = |service| Caller::Service { tenant: tenant.clone(), subject: name("s"), service };
        assert_eq!(service(None).authenticated(), Err(CallerError::UnnamedService));
        for caller in [service(Some(name("front"))), Caller::User { tenant: tenant.clone(), subject: name("u") }] {
            assert_eq!(Caller::from(caller.clone().authenticated().unwrap()), caller);
        }
    }
}
