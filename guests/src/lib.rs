//! The guests that tests run: each fixture is a few lines of text that misbehave in one known way.
//! They are built into components once a process, on first use, and depend on no guest toolchain; the one written in
//! Rust is committed as its toolchain built it.
//!
//! A fixture is a folder beside `src/`: `<name>.wat` (a core module, whose first line says what it is for) with
//! `world.wit` (its contract), or `component.wat` where a component is easier to write whole. Its contract is
//! `fixture:<name>/<interface>@0.1.0`. Components whose size is a parameter come from [`generated`] instead,
//! and those that are hostile to whoever compiles them from [`bombs`].

pub mod bombs;
mod catalog;
mod encoding;
pub mod generated;

pub use catalog::{component, names};
pub use encoding::componentize;
