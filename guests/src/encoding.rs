//! From text to component bytes. Every core module is encoded against its WIT world by the reference encoder,
//! so a fixture can misbehave only at run time, never by being malformed.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The line by which a core module asks for the shared allocator.
const ALLOCATOR_MARK: &str = ";; include bump-allocator";

/// The shared allocator: `cabi_realloc` that bumps, `$reset` that forgets everything; it owns memory from 1024 up.
const ALLOCATOR: &str = include_str!("../bump-allocator.wat");

/// Builds the component that implements `world` of the main package in `wit` with the core module `wat`.
///
/// The line `;; include bump-allocator` in `wat` is replaced by the shared allocator, which needs a memory named
/// `$memory`, leaves the first 1024 bytes alone and exports `cabi_realloc`.
///
/// # Errors
/// A sentence that says which of WIT, WAT and their match was wrong, and what the parser said about it.
pub fn componentize(wit: &str, world: &str, wat: &str) -> Result<Vec<u8>, String> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("world.wit", wit).map_err(|error| format!("the WIT does not parse: {error:#}"))?;
    let world = resolve
        .select_world(&[package], Some(world))
        .map_err(|error| format!("the WIT's main package has no world `{world}`: {error:#}"))?;
    let wat = wat.replace(ALLOCATOR_MARK, ALLOCATOR);
    let mut module = wat::parse_str(&wat).map_err(|error| format!("the WAT does not parse: {error}"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| format!("the world cannot be embedded in the module: {error:#}"))?;
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| format!("the module does not implement the world: {error:#}"))
}

/// Encodes component text as it stands.
///
/// # Errors
/// A sentence with the parser's complaint and its place.
pub(crate) fn assemble(component: &str) -> Result<Vec<u8>, String> {
    wat::parse_str(component).map_err(|error| format!("the component text does not parse: {error}"))
}
