//! Why the catalog makes no change.
//!
//! Invariant: a refusal says the same about a route of another tenant, whichever tenant and service that is.

use std::fmt;

use latent_core::http::{HttpAuthentication, HttpRoute};
use latent_core::{DeploymentId, ErrorDetail, PlatformError, PlatformErrorCode, ServiceName, Sha256Digest};

/// Why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeRefusal {
    /// The deployment is at another generation than the change expects; zero says that it does not exist.
    GenerationConflict {
        /// The deployment.
        deployment: DeploymentId,
        /// What the change expects.
        expected: u64,
        /// What the catalog has.
        found: u64,
    },
    /// Another change was published after this one was staged.
    Overtaken {
        /// The generation on which the change was staged.
        staged_on: u64,
        /// The current generation.
        found: u64,
    },
    /// There is no such deployment to delete.
    NotFound {
        /// The service asked for.
        service: ServiceName,
        /// The deployment asked for.
        deployment: DeploymentId,
    },
    /// The id is that of the route which every deployment feeds.
    ReservedId,
    /// The manifest names another component than the release that came with it.
    OtherRelease {
        /// What the manifest names.
        named: Sha256Digest,
        /// What came with it.
        given: Sha256Digest,
    },
    /// The service has as many deployments as one may have.
    ServiceFull {
        /// How many that is.
        deployments_max: usize,
    },
    /// The catalog has as many deployments as it may have.
    CatalogFull {
        /// How many that is.
        deployments_max: usize,
    },
    /// The manifest has HTTP routes, and its release has nothing to serve them.
    NoHttpHandler {
        /// The release.
        release: Sha256Digest,
        /// What it offers instead, cut where that is much.
        exports: Box<str>,
    },
    /// An HTTP route leads to another service already.
    HttpRouteTaken {
        /// The route.
        route: HttpRoute,
        /// To which one, where it is of the same tenant; nothing is told of another's.
        service: Option<ServiceName>,
    },
    /// Other deployments of the service have an HTTP route with another authentication.
    HttpAuthentication {
        /// The route.
        route: HttpRoute,
        /// The authentication that the others have.
        found: HttpAuthentication,
    },
    /// The generations are used up.
    GenerationsExhausted,
}

impl fmt::Display for ChangeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GenerationConflict { deployment, expected: 0, found } => {
                write!(f, "deployment {deployment} was expected to be absent and is at generation {found}")
            }
            Self::GenerationConflict { deployment, expected, found: 0 } => {
                write!(f, "deployment {deployment} was expected at generation {expected} and does not exist")
            }
            Self::GenerationConflict { deployment, expected, found } => {
                write!(f, "deployment {deployment} was expected at generation {expected} and is at {found}")
            }
            Self::Overtaken { staged_on, found } => {
                write!(f, "the change was staged on generation {staged_on} of the catalog, which is at {found} now")
            }
            Self::NotFound { service, deployment } => write!(f, "service {service} has no deployment {deployment}"),
            Self::ReservedId => f.write_str("the id default belongs to the route that every deployment feeds"),
            Self::OtherRelease { named, given } => {
                write!(f, "the manifest names release {named}, and {given} came with it")
            }
            Self::ServiceFull { deployments_max } => {
                write!(f, "the service has {deployments_max} deployments, as many as one may have")
            }
            Self::CatalogFull { deployments_max } => {
                write!(f, "the catalog has {deployments_max} deployments, as many as it may have")
            }
            Self::GenerationsExhausted => f.write_str("the catalog has no generation left"),
            Self::NoHttpHandler { release, exports } => {
                write!(f, "the deployment has HTTP routes, and release {release} offers no HTTP handler but {exports}")
            }
            Self::HttpRouteTaken { route, service: Some(service) } => {
                write!(f, "the HTTP route {route} belongs to service {service}")
            }
            Self::HttpRouteTaken { route, service: None } => {
                write!(f, "the HTTP route {route} belongs to a service that is not the deployment's")
            }
            Self::HttpAuthentication { route, found } => {
                let found = found.as_str();
                write!(f, "other deployments of the service have the HTTP route {route} with authentication {found}")
            }
        }
    }
}

impl std::error::Error for ChangeRefusal {}

impl From<ChangeRefusal> for PlatformError {
    fn from(refusal: ChangeRefusal) -> Self {
        use PlatformErrorCode as Code;
        let error = |code, advice: &str| Self::new(code, format_args!("{refusal}; {advice}"));
        match &refusal {
            ChangeRefusal::GenerationConflict { expected, found, .. } => {
                error(Code::StateConflict, "read it again and decide again").with_detail(conflict(*expected, *found))
            }
            ChangeRefusal::Overtaken { staged_on, found } => error(Code::StateConflict, "stage the change again")
                .retryable()
                .with_detail(ErrorDetail::new("catalog.overtaken").with("staged_on", staged_on).with("found", found)),
            ChangeRefusal::NotFound { service, deployment } => error(Code::NotFound, "check service and id")
                .with_detail(
                    ErrorDetail::new("catalog.unknown-deployment")
                        .with("service", service)
                        .with("deployment", deployment),
                ),
            ChangeRefusal::ReservedId => {
                error(Code::InvalidArgument, "choose another").with_detail(ErrorDetail::new("catalog.reserved-id"))
            }
            ChangeRefusal::OtherRelease { named, given } => error(Code::InvalidArgument, "send the release it names")
                .with_detail(ErrorDetail::new("catalog.other-release").with("named", named).with("given", given)),
            ChangeRefusal::ServiceFull { deployments_max } => {
                error(Code::ResourceExhausted, "delete one first").with_detail(limit("service", *deployments_max))
            }
            ChangeRefusal::CatalogFull { deployments_max } => {
                error(Code::ResourceExhausted, "delete one first").with_detail(limit("catalog", *deployments_max))
            }
            ChangeRefusal::NoHttpHandler { release, .. } => {
                error(Code::IncompatibleContract, "deploy a component that exports wasi:http/incoming-handler@0.2")
                    .with_detail(ErrorDetail::new("catalog.no-http-handler").with("release", release))
            }
            ChangeRefusal::HttpRouteTaken { route, service } => {
                let detail = of_route("catalog.http-route-taken", route);
                error(Code::StateConflict, "choose another host or path, or have it given up there")
                    .with_detail(service.iter().fold(detail, |detail, service| detail.with("service", service)))
            }
            ChangeRefusal::HttpAuthentication { route, found } => {
                error(Code::StateConflict, "use the same, or take the route from the others first")
                    .with_detail(of_route("catalog.http-authentication", route).with("found", found.as_str()))
            }
            ChangeRefusal::GenerationsExhausted => error(Code::Internal, "restore it into a fresh directory"),
        }
    }
}

fn conflict(expected: u64, found: u64) -> ErrorDetail {
    const REASON: &str = "deployment-generation-conflict";
    ErrorDetail::new(REASON).with("reason", REASON).with("expected", expected).with("found", found)
}

fn of_route(kind: &'static str, route: &HttpRoute) -> ErrorDetail {
    ErrorDetail::new(kind).with("host", &route.host).with("path", &route.path)
}

fn limit(scope: &str, deployments_max: usize) -> ErrorDetail {
    ErrorDetail::new("catalog.limit").with("scope", scope).with("deployments_max", deployments_max)
}
