//! The parts of the program that read its configuration, which are no library.

#[path = "../../../crates/latent/src/config/check.rs"]
pub mod check;
#[path = "../../../crates/latent/src/config/document.rs"]
pub mod document;
#[path = "../../../crates/latent/src/config/effective.rs"]
pub mod effective;
#[path = "../../../crates/latent/src/config/keys.rs"]
pub mod keys;
#[path = "../../../crates/latent/src/config/kinds.rs"]
pub mod kinds;
#[path = "../../../crates/latent/src/config/settings.rs"]
pub mod settings;
#[path = "../../../crates/latent/src/config/tenants.rs"]
pub mod tenants;
