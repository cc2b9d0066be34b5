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

#[cfg(test)]
mod tests {
    use super::componentize;

    const WIT: &str = "package test:pkg@0.1.0; interface run { run: func() -> u32; } world fixture { export run; }";
    const WAT: &str = r#"(module (func (export "test:pkg/run@0.1.0#run") (result i32) (i32.const 7)))"#;

    #[test]
    fn a_module_that_implements_its_world_becomes_a_component() {
        let bytes = componentize(WIT, "fixture", WAT).expect("the module implements the world");
        assert!(wasmparser::Parser::is_component(&bytes));
    }

    #[test]
    fn the_part_that_is_wrong_is_named() {
        let missing = componentize(WIT, "fixture", "(module)").expect_err("the export is missing");
        assert!(missing.starts_with("the module does not implement the world"), "{missing}");
        let world = componentize(WIT, "other", WAT).expect_err("there is no such world");
        assert!(world.starts_with("the WIT's main package has no world `other`"), "{world}");
        let wat = componentize(WIT, "fixture", "(module").expect_err("the text is cut");
        assert!(wat.starts_with("the WAT does not parse"), "{wat}");
        let wit = componentize("package", "fixture", WAT).expect_err("the contract is cut");
        assert!(wit.starts_with("the WIT does not parse"), "{wit}");
    }
}
