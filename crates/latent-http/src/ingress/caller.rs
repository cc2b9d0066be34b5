//! Who makes a request.
//!
//! Invariant: a credential that the node has looked at goes no further, and one that is another tenant's is answered as one
//! that nobody has.

use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use latent_catalog::HttpService;
use latent_core::http::HttpAuthentication;
use latent_core::{Caller, ServiceName};
use latent_node::access::{self, Authenticator, Role};
use latent_wire::api::{Peer, Refused, authenticate};

/// The subject of whoever makes requests of an open route: a user of the route's tenant of whom nothing is known.
pub const ANONYMOUS_SUBJECT: &str = "anonymous";

/// The caller of a request to `service`. The `authorization` header of an open route is the guest's, unless it has a token
/// of a node: that is never for a guest, whose tenant may be another one than the token's.
///
/// # Errors
/// `unauthenticated` without a credential of the service's tenant, `permission-denied` (detail `access.role-missing`) for one
/// without the role `invoke`, where the route wants one.
pub(super) fn of(
    authenticator: &dyn Authenticator,
    service: &HttpService,
    anonymous: &ServiceName,
    headers: &mut HeaderMap,
    peer: Peer,
    now: SystemTime,
) -> Result<Caller, Refused> {
    match service.authentication {
        HttpAuthentication::Open => {
            if headers.get_all(AUTHORIZATION).iter().any(has_token) {
                headers.remove(AUTHORIZATION);
            }
            Ok(Caller::User { tenant: service.tenant.clone(), subject: anonymous.clone() })
        }
        HttpAuthentication::Bearer => {
            let access = authenticate(authenticator, headers, peer, now)?;
            headers.remove(AUTHORIZATION);
            if access.principal.tenant != service.tenant {
                return Err(access::unauthenticated().into());
            }
            access.require(Role::Invoke)?;
            Ok(access.principal.clone().into())
        }
    }
}

fn has_token(value: &HeaderValue) -> bool {
    let prefix = access::TOKEN_PREFIX.as_bytes();
    value.as_bytes().windows(prefix.len()).any(|part| part == prefix)
}
