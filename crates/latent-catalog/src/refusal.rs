//! Why the catalog says no, and the one table that turns each reason into an error.
//!
//! Invariant: what belongs to another tenant looks exactly like what does not exist.

use std::fmt;

use latent_core::{
    DeploymentId, ErrorDetail, FunctionTarget, PlatformError, PlatformErrorCode, RevisionId, RouteName, ServiceName,
    Sha256Digest, TenantId,
};

use crate::manifest::ExportName;

/// Why a route leads nowhere.
#[derive(Debug)]
pub(crate) enum RouteRefusal<'a> {
    /// The tenant's service has no route of this name.
    Unknown { service: &'a ServiceName, route: &'a RouteName },
    /// None of the candidates offers the function.
    Incompatible { service: &'a ServiceName, route: &'a RouteName, target: &'a FunctionTarget },
    /// The view has no such revision.
    UnknownRevision { service: &'a ServiceName, revision: RevisionId },
}

/// Why a capsule manifest does not go with its component.
#[derive(Debug)]
pub(crate) enum NarrowRefusal {
    /// The component lacks what the manifest offers.
    LacksExport(ExportName),
    /// The component imports what the manifest does not list.
    UnlistedImport(Box<str>),
}

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
    /// The generations are used up.
    GenerationsExhausted,
}

/// Why a view cannot be built from what was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreRefusal {
    /// A deployment is not one that could have been applied.
    Invalid(ChangeRefusal),
    /// Two deployments have the same tenant, service and id.
    Repeated(TenantId, ServiceName, DeploymentId),
    /// A deployment's generation is zero or greater than the catalog's.
    Generation {
        /// The deployment's.
        found: u64,
        /// The catalog's.
        catalog: u64,
    },
}

impl From<RouteRefusal<'_>> for PlatformError {
    fn from(refusal: RouteRefusal<'_>) -> Self {
        use PlatformErrorCode as Code;
        match refusal {
            RouteRefusal::Unknown { service, route } => Self::new(
                Code::RouteUnavailable,
                format_args!("service {service} has no route {route}; deploy to it, or ask for a route that it has"),
            )
            .with_detail(ErrorDetail::new("route.unknown").with("service", service).with("route", route)),
            RouteRefusal::Incompatible { service, route, target } => Self::new(
                Code::IncompatibleContract,
                format_args!(
                    "nothing on route {route} of service {service} offers {target}; call a function that its releases \
                     export"
                ),
            )
            .with_detail(
                ErrorDetail::new("route.incompatible")
                    .with("service", service)
                    .with("route", route)
                    .with("contract", &target.contract)
                    .with("function", &target.function),
            ),
            RouteRefusal::UnknownRevision { service, revision } => Self::new(
                Code::NotFound,
                format_args!(
                    "service {service} has no revision {revision} in this view; ask the view that resolved it"
                ),
            )
            .with_detail(
                ErrorDetail::new("route.unknown-revision").with("service", service).with("revision", revision),
            ),
        }
    }
}

impl From<NarrowRefusal> for PlatformError {
    fn from(refusal: NarrowRefusal) -> Self {
        let code = PlatformErrorCode::IncompatibleContract;
        match refusal {
            NarrowRefusal::LacksExport(export) => Self::new(
                code,
                format_args!(
                    "the manifest offers {export}, which the component does not export; name what it exports, or leave \
                     the key exports out"
                ),
            )
            .with_detail(ErrorDetail::new("manifest.export").with("export", export)),
            NarrowRefusal::UnlistedImport(import) => Self::new(
                code,
                format_args!("the component imports {import}, which its manifest does not list; add it to imports"),
            )
            .with_detail(ErrorDetail::new("manifest.import").with("import", import)),
        }
    }
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
            ChangeRefusal::GenerationsExhausted => error(Code::Internal, "restore it into a fresh directory"),
        }
    }
}

fn conflict(expected: u64, found: u64) -> ErrorDetail {
    const REASON: &str = "deployment-generation-conflict";
    ErrorDetail::new(REASON).with("reason", REASON).with("expected", expected).with("found", found)
}

fn limit(scope: &str, deployments_max: usize) -> ErrorDetail {
    ErrorDetail::new("catalog.limit").with("scope", scope).with("deployments_max", deployments_max)
}

impl fmt::Display for RestoreRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(refusal) => refusal.fmt(f),
            Self::Repeated(tenant, service, deployment) => {
                write!(f, "deployment {deployment} of service {service} of tenant {tenant} is there twice")
            }
            Self::Generation { found, catalog } => {
                write!(f, "a deployment has generation {found} where 1 to {catalog} are possible")
            }
        }
    }
}

impl std::error::Error for RestoreRefusal {}

impl From<RestoreRefusal> for PlatformError {
    fn from(refusal: RestoreRefusal) -> Self {
        Self::new(
            PlatformErrorCode::CorruptArtifact,
            format_args!("the catalog cannot be restored: {refusal}; restore it from a backup"),
        )
        .with_detail(ErrorDetail::new("catalog.damaged"))
    }
}
