//! What a component may import, and how it is told what it may not.

use latent_core::PlatformErrorCode;
use latent_executor::{ComponentArtifact, ExecutionBackend as _};

use crate::support::{artifact, bench, request, request_of};

#[tokio::test]
async fn an_import_that_is_not_offered_is_refused_with_what_is_nearest() {
    let bench = bench();
    for (fixture, import, wanted, nearest) in [
        ("unknown-import", "acme:missing/thing@1.2.3", "1.2.3", "none"),
        ("wrong-version", "wasi:clocks/monotonic-clock@0.3.0", "0.3.0", "wasi:clocks/monotonic-clock@0.2.12"),
        ("wrong-shape", "wasi:clocks/monotonic-clock@0.2.0", "0.2.0", "wasi:clocks/monotonic-clock@0.2.12"),
    ] {
        let error = bench.refusal(request(fixture, "run", "run", "[]")).await;
        assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract, "{fixture}");
        let detail = &error.details()[0];
        assert_eq!(detail.kind(), "component.import", "{fixture}");
        assert_eq!(detail.field("import"), Some(import), "{fixture}");
        assert_eq!(detail.field("wanted"), Some(wanted), "{fixture}");
        assert_eq!(detail.field("nearest"), Some(nearest), "{fixture}");
        for part in [import, wanted, nearest] {
            assert!(error.message().contains(part), "{fixture}: {}", error.message());
        }
    }
}

#[tokio::test]
async fn an_import_of_another_type_names_the_function() {
    let error = bench().refusal(request("wrong-shape", "run", "run", "[]")).await;
    assert_eq!(
        error.message(),
        "the component imports wasi:clocks/monotonic-clock@0.2.0 with other types than \
         wasi:clocks/monotonic-clock@0.2.12 offers: instance export `now` has the wrong type: type mismatch with \
         results: expected `u64` found `string`"
    );
}

#[tokio::test]
async fn a_newer_patch_of_the_same_track_links() {
    let bench = bench();
    let now = bench.json(request("newer-patch", "run", "run", "[]")).await;
    assert!(now.trim_matches('"').parse::<u64>().is_ok(), "{now}");
    bench.assert_healthy().await;
}

/// Imports one interface twice, in two patches of its track, and adds up what both say.
fn two_patches() -> ComponentArtifact {
    let text = r#"(component
        (import "wasi:clocks/monotonic-clock@0.2.0" (instance $older (export "now" (func (result u64)))))
        (import "wasi:clocks/monotonic-clock@0.2.3" (instance $newer (export "now" (func (result u64)))))
        (alias export $older "now" (func $older_now))
        (alias export $newer "now" (func $newer_now))
        (core func $older_core (canon lower (func $older_now)))
        (core func $newer_core (canon lower (func $newer_now)))
        (core module $guest
          (import "clock" "older" (func $older (result i64)))
          (import "clock" "newer" (func $newer (result i64)))
          (func (export "run") (result i64) (i64.add (call $older) (call $newer))))
        (core instance $clock (export "older" (func $older_core)) (export "newer" (func $newer_core)))
        (core instance $guest (instantiate $guest (with "clock" (instance $clock))))
        (alias core export $guest "run" (core func $run))
        (func $lifted (result u64) (canon lift (core func $run)))
        (instance $contract (export "run" (func $lifted)))
        (export "fixture:two-patches/run@0.1.0" (instance $contract)))"#;
    ComponentArtifact::new(wat::parse_str(text).expect("the text is well-formed"))
}

#[tokio::test]
async fn one_interface_imported_in_two_patches_is_bound_for_both() {
    let bench = bench();
    let sum = bench.json(request_of(&two_patches(), "fixture:two-patches/run@0.1.0#run", "[]")).await;
    assert!(sum.trim_matches('"').parse::<u64>().unwrap() > 0, "{sum}");
    let prepared = bench.backend.prepare_for_use(two_patches()).await.unwrap();
    let imports: Vec<_> = prepared.imports().iter().map(ToString::to_string).collect();
    assert_eq!(imports, ["wasi:clocks/monotonic-clock@0.2.0", "wasi:clocks/monotonic-clock@0.2.3"]);
    drop(prepared);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_component_without_imports_declares_none() {
    let bench = bench();
    let prepared = bench.backend.prepare_for_use(artifact("echo")).await.unwrap();
    assert!(prepared.imports().is_empty());
}

#[test]
fn the_page_about_components_lists_what_is_offered() {
    let page = include_str!("../../../../docs/components.md");
    for interface in latent_wasmtime::offered_interfaces() {
        let (name, version) = interface.split_once('@').expect("an interface has a version");
        let row = format!("| `{name}` | {version} |");
        assert!(page.contains(&row), "no row {row:?} in docs/components.md");
    }
}
