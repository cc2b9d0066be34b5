//! What is fuzzed: one function a target, which takes any bytes and panics when something does not hold.
//!
//! Invariant: nothing here reads the clock or random numbers, so that an input that fails does so again.

#[cfg(feature = "engine")]
pub mod images;
#[cfg(feature = "engine")]
pub mod prescan;
#[cfg(feature = "engine")]
pub mod values;

pub mod config;
pub mod edge;
pub mod manifests;
pub mod messages;
pub mod refusal;
pub mod routes;

/// The program's own, which its configuration is written with.
#[path = "../../crates/latent/src/quantities.rs"]
#[allow(dead_code, missing_docs, reason = "not everything of the program is fuzzed")]
pub mod quantities;
