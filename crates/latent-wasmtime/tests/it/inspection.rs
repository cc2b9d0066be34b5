//! What is said of a component before anything is compiled: the same as afterwards, or why not.

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ComponentInspection, ComponentInspector as _, ExecutionBackend as _};
use latent_guests::generated;
use latent_wasmtime::{EngineSettings, WasmtimeInspector};

use crate::support::{Bench, bench};

fn inspector() -> WasmtimeInspector {
    WasmtimeInspector::new(&EngineSettings::for_cells(4)).expect("this machine runs the engine")
}

fn inspected(bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
    inspector().inspect(bytes)
}

fn of_text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// What preparation finds in the same bytes, by compiling them.
async fn prepared(bench: &Bench, bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
    let prepared = bench.backend.prepare_for_use(ComponentArtifact::new(bytes.to_vec())).await?;
    let code = prepared.prepared_use().code();
    Ok(ComponentInspection {
        surface: code.surface().clone(),
        imports: code.imports().to_vec(),
        declared_memory_bytes: code.declared_memory_bytes(),
    })
}

#[tokio::test]
async fn every_fixture_is_inspected_as_it_is_prepared() {
    let (bench, inspector) = (bench(), inspector());
    let mut taken = 0;
    for name in latent_guests::names() {
        let bytes = latent_guests::component(name);
        let inspected = inspector.inspect(bytes);
        taken += u32::from(inspected.is_ok());
        assert_eq!(inspected, prepared(&bench, bytes).await, "{name}");
    }
    assert!(taken > 20, "only {taken} fixtures are taken");
}

#[tokio::test]
async fn what_is_generated_and_what_a_toolchain_builds_is_inspected_as_it_is_prepared() {
    let bench = bench();
    let example = include_bytes!("../../../../examples/text-stats/rust/text-stats.wasm");
    for (name, bytes) in [
        ("the example in Rust", example.to_vec()),
        ("memories", generated::memories(3, 2)),
        ("composed", generated::composed(3, 2)),
        ("tables", generated::tables(2, 10)),
    ] {
        let inspected = inspected(&bytes);
        assert!(inspected.as_ref().is_ok_and(|found| !found.surface.functions.is_empty()), "{name}: {inspected:?}");
        assert_eq!(inspected, prepared(&bench, &bytes).await, "{name}");
    }
}

#[tokio::test]
async fn functions_of_the_world_and_functions_that_cannot_be_called_are_told_apart() {
    let bytes = of_text(
        r#"(component
          (core module $guest
            (memory (export "memory") 3)
            (func (export "plain") (param i32) (result i32) (local.get 0))
            (func (export "handle") (param i32)))
          (core instance $guest (instantiate $guest))
          (type $local (resource (rep i32)))
          (export $thing "thing" (type $local))
          (alias core export $guest "plain" (core func $plain))
          (alias core export $guest "handle" (core func $handle))
          (func $lifted_plain (param "by-much" s32) (result s32) (canon lift (core func $plain)))
          (func $lifted_handle (param "it" (own $thing)) (canon lift (core func $handle)))
          (export "plain" (func $lifted_plain))
          (export "handle" (func $lifted_handle)))"#,
    );
    let found = inspected(&bytes).unwrap();
    let functions: Vec<_> = found.surface.functions.iter().map(|(target, of)| format!("{target} {of}")).collect();
    assert_eq!(functions, ["plain func(by-much: s32) -> s32"]);
    let refused: Vec<_> = found.surface.refused.iter().map(|(target, why)| format!("{target}: {why}")).collect();
    let why = "`params.it` is an owned resource, which cannot cross the activation boundary: only plain values can";
    assert_eq!(refused, [format!("handle: {why}")]);
    assert_eq!(found.declared_memory_bytes, 3 * 65_536);
    assert_eq!(found, prepared(&bench(), &bytes).await.unwrap());
}

/// A component that imports `instance` as `name`, with a function whose body is no code at all.
fn broken_but_for(name: &str, instance: &str) -> Vec<u8> {
    of_text(&format!(
        r#"(component
          (import "{name}" (instance {instance}))
          (core module (func (result i32) i64.const 1 f32.add)))"#
    ))
}

#[test]
fn imports_are_checked_before_any_code_is() {
    let clock = "wasi:clocks/monotonic-clock";
    let offered = "wasi:clocks/monotonic-clock@0.2.12";
    let now = r#"(export "now" (func (result u64)))"#;
    for (import, instance, wanted, nearest) in [
        ("acme:missing/thing@1.2.3".to_owned(), "", "1.2.3", "none"),
        ("acme:missing/thing".to_owned(), "", "none", "none"),
        (format!("{clock}@0.3.0"), now, "0.3.0", offered),
        (format!("{clock}@0.2.0"), r#"(export "now" (func (result string)))"#, "0.2.0", offered),
        (format!("{clock}@0.2.0"), r#"(export "then" (func (result u64)))"#, "0.2.0", offered),
    ] {
        let error = inspected(&broken_but_for(&import, instance)).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract, "{error:?}");
        let detail = &error.details()[0];
        let fields = ["import", "wanted", "nearest"].map(|field| detail.field(field));
        assert_eq!((detail.kind(), fields), ("component.import", [Some(&*import), Some(wanted), Some(nearest)]));
        for part in [&*import, wanted, nearest] {
            assert!(error.message().contains(part), "{error:?}");
        }
    }
    for patch in ["0.2.0", "0.2.12", "0.2.99"] {
        let found = inspected(&broken_but_for(&format!("{clock}@{patch}"), now)).unwrap();
        assert_eq!(found.imports.len(), 1, "{patch} links, and the body is not looked at");
    }
}

#[test]
fn an_import_of_another_type_is_named_with_the_function() {
    let error = inspected(latent_guests::component("wrong-shape")).unwrap_err();
    assert_eq!(
        error.message(),
        "the component imports wasi:clocks/monotonic-clock@0.2.0 with other types than \
         wasi:clocks/monotonic-clock@0.2.12 offers: instance export `now` has the wrong type: type mismatch with \
         results: expected `u64` found `string`"
    );
}

#[tokio::test]
async fn types_of_imports_behind_a_module_are_checked_when_it_is_compiled() {
    let bytes = of_text(
        r#"(component
          (core module (func (export "nop")))
          (import "wasi:clocks/monotonic-clock@0.2.0" (instance (export "now" (func (result string))))))"#,
    );
    assert_eq!(inspected(&bytes).unwrap().imports.len(), 1);
    let error = prepared(&bench(), &bytes).await.unwrap_err();
    assert_eq!(error.details()[0].kind(), "component.import");
    assert!(error.message().contains("with other types"), "{error:?}");
}

#[test]
fn imported_types_are_listed_and_nobody_has_to_offer_them() {
    let found = inspected(&of_text(r#"(component (type $t (record (field "a" u8))) (import "a" (type (eq $t))))"#));
    assert_eq!(found.unwrap().imports.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn whatever_is_no_component_is_named() {
    for (bytes, what) in latent_guests::bombs::NO_COMPONENTS {
        let error = inspected(bytes).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{what}");
        assert_eq!(error.details()[0].kind(), "component.malformed", "{what}");
        assert!(error.message().contains(what), "{what}: {}", error.message());
    }
}

/// Inspects on a thread with the stack of an ordinary one. A refusal has to be typed.
fn refused_or_taken(inspector: &WasmtimeInspector, bytes: &[u8]) -> Option<ComponentInspection> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, || inspector.inspect(bytes));
        let answer = thread.expect("there is a thread").join().expect("it ends");
        let typed = [PlatformErrorCode::InvalidArgument, PlatformErrorCode::IncompatibleContract];
        answer.map_err(|error| assert!(typed.contains(&error.code()), "{error:?}")).ok()
    })
}

const CHANGED: [&str; 3] = ["containment-capsule", "echo-rust", "host-calls"];

#[test]
fn a_component_cut_anywhere_is_refused_or_has_lost_its_exports() {
    let inspector = inspector();
    for name in CHANGED {
        let whole = latent_guests::component(name);
        for part in 0..64 {
            if let Some(cut) = refused_or_taken(&inspector, &whole[..whole.len() * part / 64]) {
                assert!(cut.surface.functions.is_empty(), "{name} cut at {part}/64: {cut:?}");
            }
        }
        assert!(refused_or_taken(&inspector, whole).is_some_and(|whole| !whole.surface.functions.is_empty()), "{name}");
    }
}

#[test]
fn a_component_with_a_changed_byte_is_refused_or_taken() {
    let inspector = inspector();
    for name in CHANGED {
        let mut taken = 0;
        for at in 0..256 {
            for change in [0xff, 0x01, 0x80] {
                let mut changed = latent_guests::component(name).to_vec();
                changed[at] ^= change;
                taken += u32::from(refused_or_taken(&inspector, &changed).is_some());
            }
        }
        println!("{name}: {taken} of 768 changed components are taken");
    }
}
