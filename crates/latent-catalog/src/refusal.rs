//! Why the catalog says no, and the one table that turns each reason into an error.
//!
//! Invariant: what belongs to another tenant looks exactly like what does not exist.

mod change;

use std::fmt;

use latent_core::{
    DeploymentId, ErrorDetail, FunctionTarget, PlatformError, PlatformErrorCode, RevisionId, RouteName, ServiceName,
    TenantId,
};

use crate::manifest::ExportName;

pub use change::ChangeRefusal;

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
