//! The pre-scan on components of a few lines, on the fixtures, and on bytes that are nothing at all.

use proptest::prelude::*;

use super::{Declared, Excess, Refusal, scan};
use crate::settings::{EngineSettings, PrescanLimits};

const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

fn bytes(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn scanned(text: &str) -> Result<Declared, Refusal> {
    scan(&bytes(text), &EngineSettings::default())
}

#[track_caller]
fn excess(result: Result<Declared, Refusal>) -> Excess {
    match result {
        Err(Refusal::Excess(excess)) => excess,
        other => panic!("no limit was exceeded: {other:?}"),
    }
}

type SumField = fn(&mut EngineSettings) -> &mut u32;
type Field = fn(&mut PrescanLimits) -> &mut u32;

/// Types that build on one another in every way in which they can: string, list, record, function, instance, alias of
/// a type of it, function, instance of a component, component.
const CHAIN_OF_SEVEN: &str = r#"(component
  (type $list (list string))
  (import "list" (type $named (eq $list)))
  (type $record (record (field "a" $named)))
  (import "record" (type $field (eq $record)))
  (type $function (func (param "a" $field)))
  (type $instance (instance (alias outer 1 $function (type $f)) (export "f" (func (type $f)))))
  (import "i" (instance $i (type $instance)))
  (component $inner (import "i" (instance (type $instance))))
  (instance $made (instantiate $inner (with "i" (instance $i))))
  (instance $bundle (export "made" (instance $made)))
  (type $outer (component (export "i" (instance (type $instance)))))
  (type $last (instance (export "c" (component (type $outer))))))"#;

/// A setting, a component, and how much of the setting's kind that component declares.
const EXACT: &[(&str, Field, &str, u32)] = &[
    ("section_depth_max", |l| &mut l.section_depth_max, "(component (component (component)))", 3),
    ("section_depth_max", |l| &mut l.section_depth_max, "(component (core module))", 2),
    ("type_depth_max", |l| &mut l.type_depth_max, "(component (type (instance (type (component (type (func)))))))", 2),
    ("type_depth_max", |l| &mut l.type_depth_max, "(component (type (component (core type (module)))))", 2),
    ("type_depth_max", |l| &mut l.type_depth_max, "(component (core type (module)))", 1),
    ("type_chain_max", |l| &mut l.type_chain_max, CHAIN_OF_SEVEN, 7),
    ("parts_max", |l| &mut l.parts_max, "(component (core module) (component))", 3),
    ("sections_max", |l| &mut l.sections_max, "(component (core module (memory 1)) (component))", 3),
    (
        "instances_max",
        |l| &mut l.instances_max,
        "(component (component $a)
           (component $b (alias outer 1 $a (component $x)) (instance (instantiate $x)) (instance (instantiate $x)))
           (instance (instantiate $b)) (instance (instantiate $b)))",
        6,
    ),
    (
        "instances_max",
        |l| &mut l.instances_max,
        r#"(component (component $leaf)
           (component $twice (import "c" (component $c)) (instance (instantiate $c)) (instance (instantiate $c)))
           (instance (instantiate $twice (with "c" (component $leaf)))))"#,
        3,
    ),
    (
        "definitions_max",
        |l| &mut l.definitions_max,
        "(component (component $c (core type (func))) (instance (instantiate $c)) (instance (instantiate $c)))",
        5,
    ),
    (
        "definitions_max",
        |l| &mut l.definitions_max,
        r#"(component (component $c (core module $m)
             (export "a-name-of-seventy-bytes-which-a-translator-would-copy-to-every-instance" (core module $m)))
           (instance (instantiate $c)) (instance (instantiate $c)))"#,
        9,
    ),
    (
        "types_max",
        |l| &mut l.types_max,
        "(component (type (instance (type (func)) (type (func)))) (core module (type (func))))",
        4,
    ),
    ("type_weight_max", |l| &mut l.type_weight_max, r#"(component (type (record (field "a" u8) (field "b" u8))))"#, 3),
    ("type_weight_max", |l| &mut l.type_weight_max, "(component (type (tuple u8 u8 u8)))", 4),
    ("type_weight_max", |l| &mut l.type_weight_max, r#"(component (import "a" (func)) (import "b" (func)))"#, 6),
    (
        "type_weight_max",
        |l| &mut l.type_weight_max,
        "(component (type $pair (tuple u8 u8)) (type $pairs (tuple $pair $pair)) (component (alias outer 1 $pairs (type))))",
        13,
    ),
    (
        "type_weight_max",
        |l| &mut l.type_weight_max,
        r#"(component (core module $m (import "a" "b" (func)) (func (export "c"))) (core instance $a)
             (core instance (instantiate $m (with "a" (instance $a)))))"#,
        9,
    ),
    ("functions_max", |l| &mut l.functions_max, "(component (core module (func)) (core module (func) (func)))", 3),
    ("body_bytes_max", |l| &mut l.body_bytes_max, "(component (core module (func nop nop nop)))", 5),
    (
        "globals_max",
        |l| &mut l.globals_max,
        "(component (core module (global i32 (i32.const 0)) (global i32 (i32.const 0))))",
        2,
    ),
    (
        "imports_max",
        |l| &mut l.imports_max,
        r#"(component (import "a" (func)) (core module (import "a" "b" (func))))"#,
        2,
    ),
    (
        "exports_max",
        |l| &mut l.exports_max,
        r#"(component (core module $m (func (export "a"))) (export "m" (core module $m)))"#,
        2,
    ),
    ("data_segments_max", |l| &mut l.data_segments_max, r#"(component (core module (data "a") (data "b")))"#, 2),
    (
        "element_segments_max",
        |l| &mut l.element_segments_max,
        "(component (core module (func) (elem func 0) (elem func 0)))",
        2,
    ),
];

#[test]
fn each_limit_is_met_exactly_and_exceeded_by_one() {
    for (name, field, text, declares) in EXACT {
        let mut settings = EngineSettings::default();
        *field(&mut settings.prescan) = *declares;
        assert!(scan(&bytes(text), &settings).is_ok(), "{name}: {:?}", scan(&bytes(text), &settings));
        *field(&mut settings.prescan) = declares - 1;
        let excess = excess(scan(&bytes(text), &settings));
        let declares = u64::from(*declares);
        let found = (excess.setting, excess.declared, excess.allowed);
        assert_eq!(found, (format!("prescan.{name}").as_str(), declares, declares - 1), "{text}");
    }
}

#[test]
fn chains_of_flat_types_are_refused_before_the_engine_counts_them() {
    let link = |before: usize| {
        format!("(type (instance (alias outer 1 {before} (type $x)) (export \"a\" (instance (type $x)))))")
    };
    let chain = |length: usize| {
        let links: String = (1..length).map(|next| link(next - 1)).collect();
        format!("(component (type (instance)) {links})")
    };
    assert!(scanned(&chain(100)).is_ok());
    for length in [101, 128, 2_000] {
        assert_eq!(excess(scanned(&chain(length))).setting, "prescan.type_chain_max", "{length}");
    }
}

#[test]
fn nesting_is_allowed_to_the_default_depth_and_no_further() {
    let sections = |depth: usize| format!("{}{}", "(component ".repeat(depth), ")".repeat(depth));
    assert!(scanned(&sections(16)).is_ok());
    assert_eq!(excess(scanned(&sections(17))).setting, "prescan.section_depth_max");
    let types = |depth: usize| format!("(component {}{})", "(type (instance ".repeat(depth), "))".repeat(depth));
    assert!(scanned(&types(16)).is_ok());
    assert_eq!(excess(scanned(&types(17))).setting, "prescan.type_depth_max");
}

const MODULES_ON_EVERY_WAY: &str = r#"(component
  (core module $m (memory 1) (memory 1) (table 1 funcref))
  (component $wrap
    (import "m" (core module $x))
    (core instance (instantiate $x))
    (alias outer 1 $m (core module $y))
    (core instance (instantiate $y))
    (export "again" (core module $x)))
  (instance $w (instantiate $wrap (with "m" (core module $m))))
  (alias export $w "again" (core module $z))
  (core instance (instantiate $z)))"#;

#[test]
fn instances_of_modules_are_summed_through_arguments_aliases_and_exports() {
    let declared = scanned(MODULES_ON_EVERY_WAY).unwrap();
    assert_eq!((declared.core_instances, declared.memories, declared.tables), (3, 6, 3));
    let fields: [(&str, SumField, u32); 3] = [
        ("core_instances_max", |s| &mut s.core_instances_max, 3),
        ("memories_max", |s| &mut s.memories_max, 6),
        ("tables_max", |s| &mut s.tables_max, 3),
    ];
    for (name, field, most) in fields {
        let mut settings = EngineSettings::default();
        *field(&mut settings) = most;
        assert!(scan(&bytes(MODULES_ON_EVERY_WAY), &settings).is_ok());
        *field(&mut settings) = most - 1;
        assert_eq!(excess(scan(&bytes(MODULES_ON_EVERY_WAY), &settings)).setting, name);
    }
}

#[test]
fn a_component_that_only_an_import_could_give_is_not_instantiated() {
    let refusal = scanned(r#"(component (import "c" (component $c)) (instance (instantiate $c)))"#);
    assert!(matches!(refusal, Err(Refusal::Unresolved { .. })), "{refusal:?}");
    let unused = scanned(r#"(component (import "c" (component $c)))"#);
    assert!(unused.is_ok(), "what is never instantiated costs nothing: {unused:?}");
}

/// A section of a component.
fn section(id: u8, contents: &[u8]) -> Vec<u8> {
    let size = u8::try_from(contents.len()).ok().filter(|size| *size < 0x80).expect("tests use short sections");
    [&[id, size], contents].concat()
}

#[test]
fn malformed_bytes_are_refused_with_where_they_are() {
    let cases: [(&str, Vec<u8>, usize); 6] = [
        ("a component in a module's section", section(1, b"\0asm\x0d\0\x01\0"), 10),
        ("more bytes than types", section(7, &[1, 0x40, 0, 1, 0, 0xaa]), 15),
        ("a declaration of no kind", section(7, &[1, 0x42, 1, 9]), 14),
        ("a recursion group", section(3, &[1, 0x4e, 0]), 11),
        ("an instance of nothing", section(5, &[1, 0, 7, 0]), 11),
        ("a section that ends early", vec![7, 9, 1], 10),
    ];
    for (what, tail, wanted) in cases {
        match scan(&[HEADER, &tail].concat(), &EngineSettings::default()) {
            Err(Refusal::Malformed { offset, message }) => assert_eq!(offset, wanted, "{what}: {message}"),
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn every_valid_fixture_passes() {
    let settings = EngineSettings::default();
    for name in latent_guests::names() {
        assert!(scan(latent_guests::component(name), &settings).is_ok(), "{name}");
    }
    let example = include_bytes!("../../../../examples/text-stats/rust/text-stats.wasm");
    assert_eq!(scan(example, &settings).map(|declared| declared.core_instances), Ok(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_after_a_header_never_panic(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        let _any = scan(&[HEADER, &tail].concat(), &EngineSettings::default());
    }

    #[test]
    fn arbitrary_sections_never_panic(
        sections in prop::collection::vec((0u8..14, prop::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..40)), 0..12),
    ) {
        let sections: Vec<u8> = sections.iter().flat_map(|(id, contents)| section(*id, contents)).collect();
        let _any = scan(&[HEADER, &sections].concat(), &EngineSettings::default());
    }

    #[test]
    fn changed_components_never_panic(
        fixture in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let names: Vec<_> = latent_guests::names().collect();
        let mut changed = latent_guests::component(names[fixture.index(names.len())]).to_vec();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        let _any = scan(&changed, &EngineSettings::default());
        changed.truncate(cut.index(changed.len()));
        let _any = scan(&changed, &EngineSettings::default());
    }
}
