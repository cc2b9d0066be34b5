//! Small components that would cost an engine its stack or its memory: refused at once, on a small stack, and without
//! allocating for what they claim.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ComponentInspector as _};
use latent_guests::bombs::{nested_instances, nested_types};
use latent_wasmtime::{EngineSettings, WasmtimeInspector, inspect_component};
use proptest::prelude::*;

use crate::allocations;
use crate::hostile_types::KINDS;
use crate::support::{bench, request_of};

/// A component with `count` exports of 5,000 bytes of name, instantiated as often as is allowed.
fn long_names(count: usize) -> Vec<u8> {
    let name = "a".repeat(5_000);
    let mut exports = String::new();
    for export in 0..count {
        let _ = write!(exports, "(export \"{name}-b{export}\" (core module $m))");
    }
    let instances = "(instance (instantiate $c))".repeat(256);
    wat::parse_str(format!("(component (component $c (core module $m) {exports}) {instances})"))
        .expect("the text is well-formed")
}

/// A function of a type that is twice the one before it, `levels` times over.
fn doubled(levels: usize) -> Vec<u8> {
    let mut text = "(component (type $t0 (tuple bool bool))".to_owned();
    for level in 1..levels {
        let _ = writeln!(text, "(type $t{level} (tuple $t{0} $t{0}))", level - 1);
    }
    let _ = writeln!(text, "(import \"f\" (func (param \"a\" $t{}))))", levels - 1);
    wat::parse_str(text).expect("the text is well-formed")
}

fn bombs() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    vec![
        ("types 560 deep", nested_types(560), "prescan.type_depth_max"),
        ("types 100,000 deep", nested_types(100_000), "prescan.type_depth_max"),
        ("10 instances, 7 levels", nested_instances(7, 10), "prescan.instances_max"),
        ("10 instances, 8 levels", nested_instances(8, 10), "prescan.instances_max"),
        ("2 instances, 20 levels", nested_instances(20, 2), "prescan.instances_max"),
        ("names of 5,000 bytes in 256 instances", long_names(370), "prescan.type_weight_max"),
        ("100,000 instances, 1 level", nested_instances(1, 100_000), "prescan.definitions_max"),
        ("a type that doubles 40 times", doubled(40), "prescan.type_weight_max"),
    ]
}

fn assert_refused(name: &str, error: &PlatformError, setting: &str) {
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract, "{name}: {error:?}");
    let detail = &error.details()[0];
    assert_eq!((detail.kind(), detail.field("setting")), ("component.limit", Some(setting)), "{name}");
    let count = |field| detail.field(field).and_then(|count| count.parse::<u64>().ok()).expect("it is a number");
    assert!(count("declared") > count("allowed"), "{name}: {error:?}");
    assert!(error.message().contains(setting), "{name}: {}", error.message());
}

/// What `work` answers, run on a thread with the stack of an ordinary one, with the bytes it asked for and its time.
#[expect(clippy::disallowed_methods, reason = "the time a refusal takes is what is tested")]
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> (T, u64, Duration) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, || {
            let (asked, begun) = (allocations::asked(), Instant::now());
            let answer = work();
            (answer, allocations::asked() - asked, begun.elapsed())
        });
        thread.expect("there is a thread").join().expect("it ends")
    })
}

#[test]
fn bombs_are_refused_at_once_on_a_small_stack_with_little_memory() {
    let settings = EngineSettings::default();
    for (name, bytes, setting) in bombs() {
        let (answer, asked, took) = on_a_small_stack(|| inspect_component(&bytes, &settings));
        assert_refused(name, &answer.expect_err(name), setting);
        assert!(took < Duration::from_millis(100), "{name}: {took:?}");
        assert!(asked < 1 << 20, "{name}: {asked} bytes");
        println!("{name}: {} bytes refused in {took:?}, asking for {asked} bytes", bytes.len());
    }
}

#[test]
fn inspectors_refuse_bombs_as_fast() {
    let inspector = WasmtimeInspector::new(&EngineSettings::default()).expect("this machine runs the engine");
    for (name, bytes, setting) in bombs() {
        let (answer, asked, took) = on_a_small_stack(|| inspector.inspect(&bytes));
        assert_refused(name, &answer.expect_err(name), setting);
        assert!(took < Duration::from_millis(100), "{name}: {took:?}");
        assert!(asked < 1 << 20, "{name}: {asked} bytes");
    }
}

/// The most that an inspection may hold at once.
const HELD_BYTES_MAX: u64 = 100 << 20;

#[test]
fn types_up_to_their_limits_are_read_on_a_small_stack_in_a_hundred_mebibytes() {
    let settings = EngineSettings::default();
    let inspector = WasmtimeInspector::new(&settings).expect("this machine runs the engine");
    for (name, near, make) in KINDS {
        let bytes = make(*near);
        inspect_component(&bytes, &settings).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let ((_, held), _, took) = on_a_small_stack(|| allocations::peak(|| inspector.inspect(&bytes).map(|_| ())));
        assert!(held < HELD_BYTES_MAX, "{name}: {held} bytes");
        println!("{name}: {near}, {} bytes read in {took:?}, holding {held} bytes", bytes.len());
        let error = inspect_component(&make(near + near / 8 + 1), &settings).expect_err(name);
        assert_eq!(error.details()[0].kind(), "component.limit", "{name}: {error:?}");
    }
}

#[test]
fn names_of_exported_functions_are_bounded_with_their_interface() {
    let name = "a".repeat(90_000);
    let exports = (0..12).fold(String::new(), |all, n| all + &format!("(export \"f{n}\" (func $f))"));
    let text = format!(
        "(component (core module $m (func (export \"f\"))) (core instance $m (instantiate $m))
           (alias core export $m \"f\" (core func $f)) (func $f (canon lift (core func $f)))
           (instance $i {exports}) (export \"{name}\" (instance $i)))"
    );
    let bytes = wat::parse_str(text).expect("the text is well-formed");
    let inspector = WasmtimeInspector::new(&EngineSettings::default()).expect("this machine runs the engine");
    assert_refused("12 functions", &inspector.inspect(&bytes).unwrap_err(), "prescan.exported_name_bytes_max");
    let mut settings = EngineSettings::default();
    settings.prescan.exported_name_bytes_max *= 2;
    let inspector = WasmtimeInspector::new(&settings).expect("this machine runs the engine");
    assert_eq!(inspector.inspect(&bytes).unwrap().surface.functions.len(), 12);
}

#[test]
fn what_passes_costs_little_more_memory_than_its_size() {
    let settings = EngineSettings::default();
    for (name, bytes) in [
        ("instances up to the limit", nested_instances(1, 255)),
        ("definitions near the limit", latent_guests::generated::composed(8, 1)),
        ("the largest fixture", latent_guests::component("containment-capsule").to_vec()),
    ] {
        let (_, asked, took) = on_a_small_stack(|| inspect_component(&bytes, &settings).map(|_| ()));
        let allowed = bytes.len() as u64 * 64 + (512 << 10);
        assert!(asked < allowed, "{name}: {asked} bytes for {} of input", bytes.len());
        assert!(took < Duration::from_millis(100), "{name}: {took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn changed_components_cost_no_more_memory_than_whole_ones(
        fixture in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let names: Vec<_> = latent_guests::names().collect();
        let mut changed = latent_guests::component(names[fixture.index(names.len())]).to_vec();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        let settings = EngineSettings::default();
        let before = allocations::asked();
        let _any = inspect_component(&changed, &settings);
        let asked = allocations::asked() - before;
        prop_assert!(asked < changed.len() as u64 * 64 + (512 << 10), "{asked} bytes for {}", changed.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn changed_components_are_inspected_without_panic_and_in_bounded_memory(
        fixture in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let inspector = WasmtimeInspector::new(&EngineSettings::default()).expect("this machine runs the engine");
        let names: Vec<_> = latent_guests::names().collect();
        let mut changed = latent_guests::component(names[fixture.index(names.len())]).to_vec();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        let (answer, held) = allocations::peak(|| inspector.inspect(&changed));
        prop_assert!(held < changed.len() as u64 * 64 + (2 << 20), "{held} bytes for {}", changed.len());
        if let Err(error) = answer {
            let kind = error.details()[0].kind();
            prop_assert!(["component.malformed", "component.limit", "component.import"].contains(&kind), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_node_that_is_given_bombs_goes_on() {
    let bench = bench();
    for (name, bytes, setting) in bombs() {
        let error = bench.refusal(request_of(&ComponentArtifact::new(bytes), "a:b/c@0.1.0#d", "[]")).await;
        assert_refused(name, &error, setting);
    }
    bench.assert_healthy().await;
}
