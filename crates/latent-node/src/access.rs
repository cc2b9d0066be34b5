//! Who may do what: tenants, their quotas, and the credentials that stand for them.
//!
//! Reading order: `roles`, `model` and `port` are what the edge asks; `token` is what a caller shows, `book` all that is
//! known, `document` how it is written down, `failures` what is counted of those that show nothing right; `registry` joins
//! them, and `policy` turns tenants into the view of admission. Invariant: a principal comes only from here, never from
//! what a caller says of itself (reference, section 9).

mod model;
mod port;
mod roles;

mod book;
mod document;
mod failures;
mod refusal;
mod token;

mod file;
mod policy;
mod registry;

pub use failures::FailureLimits;
pub use file::{CredentialFile, DEVELOPMENT_TENANT};
pub use model::{Access, Credential, NewCredential, Page, Presented, Tenant, TenantQuota};
pub use policy::policy;
pub use port::{
    Authenticator, PolicySink, REGISTRY_KINDS, RegistryChange, RegistryDocument, RegistryStore, TenantDirectory,
};
pub use refusal::unauthenticated;
pub use registry::{LIFETIME_MAX, PAGE_ROWS_MAX, TenantRegistry, TenantRegistryConfig, TenantRegistryParts};
pub use roles::{Role, Roles};
pub use token::TOKEN_PREFIX;
