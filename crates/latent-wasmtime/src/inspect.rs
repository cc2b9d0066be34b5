//! What can be said of component bytes before anything is compiled: what they are, through the pre-scan what they
//! declare, then what they import and export, and whether that is offered. Nothing is allocated in proportion to what
//! the bytes claim.

mod declared;
mod read;

use std::panic::{AssertUnwindSafe, catch_unwind};

use latent_core::printable::Printable;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::{ComponentInspection, ComponentInspector};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::engine;
use crate::host::{bind_imports, mistyped, refuse_unoffered};
use crate::prescan::{self, Declared, Excess, Refusal};
use crate::settings::{AllocatorChoice, EngineSettings};

/// Bytes of a page of linear memory; pages of other sizes are not offered.
pub const WASM_PAGE_BYTES: u64 = 65_536;

/// Reads components without a backend: with an engine of its own, that compiles no guest and reserves no memory.
#[derive(Debug, Clone)]
pub struct WasmtimeInspector {
    engine: Engine,
    settings: EngineSettings,
}

impl WasmtimeInspector {
    /// An inspector that allows what a backend with the same settings allows.
    ///
    /// # Errors
    /// As of [`build_engine`](crate::build_engine).
    pub fn new(settings: &EngineSettings) -> Result<Self, PlatformError> {
        let settings = EngineSettings { allocator: AllocatorChoice::OnDemand, ..settings.clone() };
        let (engine, _) = engine::build(&settings)?;
        Ok(Self { engine, settings })
    }
}

impl ComponentInspector for WasmtimeInspector {
    fn inspect(&self, bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
        inspect_whole(&self.engine, bytes, &self.settings)
    }
}

/// What `read` answers, or the refusal of a component that makes it panic.
fn contained<T>(read: impl FnOnce() -> Result<T, PlatformError>) -> Result<T, PlatformError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_panic| {
        let detail = ErrorDetail::new("compiler.panic");
        Err(PlatformError::new(PlatformErrorCode::InvalidArgument, "the validator fails on this component")
            .with_detail(detail))
    })
}

/// Reads what `bytes` import and export, and checks that `engine` can be given it: everything that can be known without
/// compiling. An import of another type than the one offered is found here if only types, imports and aliases come
/// before the last import, which is how the usual tools write components; otherwise when the component is compiled.
///
/// # Errors
/// As of [`inspect`]; `incompatible-contract` (`component.import`) naming an import that is not offered, or not with
/// that type, the version wanted and the nearest there is; `invalid-argument` (`compiler.panic`) for one that makes the
/// validator panic, whoever asks.
pub fn inspect_whole(
    engine: &Engine,
    bytes: &[u8],
    settings: &EngineSettings,
) -> Result<ComponentInspection, PlatformError> {
    contained(|| read_whole(engine, bytes, settings))
}

fn read_whole(engine: &Engine, bytes: &[u8], settings: &EngineSettings) -> Result<ComponentInspection, PlatformError> {
    let declared = inspect(bytes, settings)?;
    let reading = read::read(bytes)?;
    let imports = &reading.outermost.imports;
    refuse_unoffered(imports.iter().filter(|import| !import.is_type).map(|import| &*import.name.0))?;
    let surface = reading.surface(&settings.prescan)?;
    if let Some(end) = reading.outermost.shell_end {
        check_types(engine, &bytes[..end])?;
    }
    let imports = reading.outermost.imports.into_iter().map(|import| import.name).collect();
    Ok(ComponentInspection { surface, imports, declared_memory_bytes: declared.memory_bytes })
}

/// Links `shell`, the beginning of a component: its imports and what their types are made of, without any code.
fn check_types(engine: &Engine, shell: &[u8]) -> Result<(), PlatformError> {
    let shell = Component::from_binary(engine, shell)
        .map_err(|error| malformed(format_args!("the imports do not validate: {}", error.root_cause())))?;
    let (linker, imports) = bind_imports(engine, &shell)?;
    linker.instantiate_pre(&shell).map(drop).map_err(|error| mistyped(&imports, &error))
}

/// Checks that `bytes` are a component whose declared sizes fit `settings`.
///
/// # Errors
/// `invalid-argument` (`component.malformed`) naming what the bytes are instead or where they stop being a component,
/// or `incompatible-contract`: `component.limit` naming the size, the cap and the setting, or `component.unresolved`.
pub fn inspect(bytes: &[u8], settings: &EngineSettings) -> Result<Declared, PlatformError> {
    if bytes.len() as u64 > settings.component_bytes_max {
        return Err(over("bytes", bytes.len() as u64, settings.component_bytes_max, "component_bytes_max"));
    }
    sniff(bytes).map_err(|what| malformed(format_args!("{what}")))?;
    prescan::scan(bytes, settings).map_err(refused)
}

fn refused(refusal: Refusal) -> PlatformError {
    match refusal {
        Refusal::Excess(Excess { what, declared, allowed, setting }) => over(what, declared, allowed, setting),
        Refusal::Malformed { message, offset } => malformed_at(offset, &message),
        Refusal::Unresolved { offset } => PlatformError::new(
            PlatformErrorCode::IncompatibleContract,
            format_args!(
                "the component instantiates a component that it only imports, at byte {offset}; no node offers components: compose it with the one it needs"
            ),
        )
        .with_detail(ErrorDetail::new("component.unresolved").with("offset", offset)),
    }
}

/// The error for `size` of `what` where a setting allows `cap`. The size stands where `what` has `{}`, else before it.
pub fn over(what: &str, size: u64, cap: u64, setting: &str) -> PlatformError {
    let (before, after) = what.split_once("{}").unwrap_or(("", what));
    let space = if what.contains("{}") { "" } else { " " };
    let message = format_args!(
        "the component declares {before}{size}{space}{after}, at most {cap} are allowed (setting {setting})"
    );
    PlatformError::new(PlatformErrorCode::IncompatibleContract, message).with_detail(
        ErrorDetail::new("component.limit").with("setting", setting).with("declared", size).with("allowed", cap),
    )
}

/// The error for bytes that are not a component.
#[must_use]
pub fn malformed(message: std::fmt::Arguments<'_>) -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(ErrorDetail::new("component.malformed"))
}

/// What the engine's reader says at `offset`. It quotes names out of the component: they are told on one line and without
/// characters that disturb a terminal.
fn malformed_at(offset: usize, message: &str) -> PlatformError {
    let detail = ErrorDetail::new("component.malformed").with("offset", offset);
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = format_args!("not a well-formed component: {} at byte {offset}", Printable(&line));
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

/// Says what `bytes` are when they are not a component.
fn sniff(bytes: &[u8]) -> Result<(), &'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x7fELF", "an ELF file, not a WebAssembly component"),
        (b"\x89PNG", "a PNG image, not a WebAssembly component"),
        (b"\x1f\x8b", "gzip data, not a WebAssembly component; decompress it first"),
        (b"PK\x03\x04", "a zip archive, not a WebAssembly component"),
    ];
    if bytes.is_empty() {
        return Err("an empty file, not a WebAssembly component");
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(what);
    }
    if !bytes.starts_with(b"\0asm") {
        let text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
        return Err(if text { "text, not a WebAssembly component" } else { "not WebAssembly" });
    }
    match bytes.get(4..8) {
        None => Err("a WebAssembly header that is cut short"),
        Some([1, 0, 0, 0]) => {
            Err("a core WebAssembly module, not a component; wrap it with `wasm-tools component new`")
        }
        Some([_, _, 1, 0]) if bytes.len() == 8 => Err("only a component's header, with nothing in it"),
        Some([_, _, 1, 0]) => Ok(()),
        Some(_) => Err("WebAssembly of an unknown version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        inspect(bytes, &EngineSettings::default()).unwrap_err().message().to_owned()
    }

    #[test]
    fn whatever_is_not_a_component_is_named() {
        for (bytes, what) in [
            (&b""[..], "empty file"),
            (b"\x7fELF\x02", "ELF"),
            (b"\x89PNG\r\n", "PNG"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"(module", "text"),
            (b"\xff\xfe\x00", "not WebAssembly"),
            (b"\0asm", "cut short"),
            (b"\0asm\x01\0\0\0", "core WebAssembly module"),
            (b"\0asm\x0d\0\x01\0", "only a component's header"),
            (b"\0asm\x09\0\x07\0", "unknown version"),
        ] {
            assert!(refusal(bytes).contains(what), "{bytes:?}: {}", refusal(bytes));
        }
    }

    #[test]
    fn a_panic_while_reading_is_a_refusal() {
        let error = contained::<()>(|| panic!("the validator's own")).unwrap_err();
        assert_eq!((error.code(), error.details()[0].kind()), (PlatformErrorCode::InvalidArgument, "compiler.panic"));
    }

    #[test]
    fn a_component_over_the_size_cap_is_refused_by_name() {
        let settings = EngineSettings { component_bytes_max: 10, ..EngineSettings::default() };
        let error = inspect(&[0; 11], &settings).unwrap_err();
        assert!(error.message().contains("11 bytes") && error.message().contains("component_bytes_max"));
    }

    #[test]
    fn a_declared_minimum_above_the_cap_names_size_cap_and_setting() {
        let settings = EngineSettings::default();
        let error = inspect(&latent_guests::generated::declared_minimum(2048), &settings).unwrap_err();
        let wanted = "the component declares a memory of 134217728 bytes, at most 67108864 are allowed (setting memory_bytes_max)";
        assert_eq!(error.message(), wanted);
    }
}
