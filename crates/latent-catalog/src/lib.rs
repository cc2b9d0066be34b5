//! What a name means.
//!
//! A *release* is one immutable component. A *deployment* is a release with a policy, under a tenant, a service and
//! a deployment id. A *revision* is what a deployment consists of, its weight left out. A *route* leads from a
//! tenant's service to weighted revisions. The *catalog* is all of that at one generation.
//!
//! Three rules hold everywhere:
//!
//! - **A view never changes.** [`CatalogView`] is immutable and shares its structure with the one before; whoever
//!   pinned it keeps seeing the same routes and the same policies, whatever is deployed meanwhile.
//! - **Readers never wait.** [`Catalog`] is one atomically swapped pointer to the current view; a pin takes no lock,
//!   and a writer takes one that no reader knows. A change copies a handful of nodes, however many deployments
//!   there are.
//! - **Selection is a pure function.** The same key on the same view always leads to the same revision ([`select`]).
//!
//! This crate decides and remembers nothing on disk. Whoever makes changes durable stages them
//! ([`Catalog::stage`]), writes them down, and publishes them; [`CatalogView::restore`] builds a view from what was written.
//!
//! Specification: `activation-lifecycle.md`, "Resolution and lifecycle"; reference, sections 1 and 3.

mod catalog;
mod deployment;
mod manifest;
mod port;
mod refusal;
mod release;
mod revision;
mod select;
mod share;
mod view;

pub use catalog::{Catalog, Staged};
pub use deployment::Deployment;
pub use manifest::{
    CapsuleManifest, DeploymentManifest, ExportName, ManifestError, ManifestLimits, WEIGHT_DEFAULT, Weight,
};
pub use port::{
    ActivationCatalog, ActivationCatalogSource, HttpService, RevisionPolicySource, RouteRequest, RouteResolver,
};
pub use refusal::{ChangeRefusal, RestoreRefusal};
pub use release::{Release, Surfaces};
pub use revision::revision_id;
pub use select::{Choice, select, select_explained};
pub use view::{
    Applied, Apply, CatalogLimits, CatalogView, Delete, Deleted, DeploymentCursor, DeploymentPage, Explained,
    PageBounds, Restored,
};
