//! From a component's own types to the tree, and what is refused by name.

use std::fmt::Write as _;

use latent_core::contract::FunctionSignature;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentFunc, ComponentItem};

use crate::values::types::TYPE_DEPTH_MAX;
use crate::values::{TypeBudget, UnsupportedType, signature, value_type};

/// The type of the function `f` that a component with these lines imports.
fn imported(lines: &str) -> ComponentFunc {
    let engine = Engine::default();
    let bytes = wat::parse_str(format!("(component {lines})")).unwrap();
    let component = Component::new(&engine, bytes).unwrap();
    let imports = component.component_type();
    let (_, item) = imports.imports(&engine).find(|(name, _)| *name == "f").unwrap();
    match item.ty {
        ComponentItem::ComponentFunc(func) => func,
        other => panic!("f is a function: {other:?}"),
    }
}

fn of(lines: &str) -> Result<FunctionSignature, UnsupportedType> {
    signature(&imported(lines))
}

#[test]
fn every_plain_type_has_its_tree() {
    let got = of(r#"
        (type $r' (record (field "by-length" bool) (field "n" u64)))
        (import "r" (type $r (eq $r')))
        (type $v' (variant (case "none") (case "circle" f32)))
        (import "v" (type $v (eq $v')))
        (type $e' (enum "low" "high")) (import "e" (type $e (eq $e')))
        (type $fl' (flags "read" "write")) (import "fl" (type $fl (eq $fl')))
        (import "f" (func
            (param "a" (tuple s8 u8 s16 u16 s32 u32 s64 f64)) (param "b" (list u8)) (param "c" (option (option char)))
            (param "d" $r) (param "e" $v) (param "g" $e) (param "h" $fl)
            (result (result string (error (list string))))))"#)
    .unwrap();
    assert_eq!(
        got.to_string(),
        "func(a: tuple<s8, u8, s16, u16, s32, u32, s64, f64>, b: list<u8>, c: option<option<char>>, \
         d: record{by-length: bool, n: u64}, e: variant{none, circle(f32)}, g: enum{low, high}, h: flags{read, write}) \
         -> result<string, list<string>>"
    );
    assert_eq!(of(r#"(import "f" (func))"#).unwrap(), FunctionSignature { params: vec![], result: None });
}

#[test]
fn one_type_converts_by_itself() {
    let func = imported(r#"(import "f" (func (param "a" (list u8))))"#);
    let (_, ty) = func.params().next().unwrap();
    assert!(value_type(&ty).unwrap().is_bytes());
}

#[test]
fn resources_are_refused_with_their_place() {
    let lines = r#"
        (import "conn" (type $conn (sub resource)))
        (type $o' (record (field "lines" (list (tuple u8 (own $conn))))))
        (import "o" (type $o (eq $o')))
        (import "f" (func (param "a" u8) (param "order" $o)))"#;
    let error = of(lines).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`params.order.lines[][1]` is an owned resource, which cannot cross the activation boundary: only plain values can"
    );
    let lines = r#"
        (import "conn" (type $conn (sub resource)))
        (import "f" (func (param "c" (borrow $conn)) (result (result (own $conn)))))"#;
    let expected = UnsupportedType::NotAValue { place: "params.c".into(), kind: "a borrowed resource" };
    assert_eq!(of(lines).unwrap_err(), expected);
    let lines = r#"
        (import "conn" (type $conn (sub resource)))
        (import "f" (func (result (result (own $conn)))))"#;
    let expected = UnsupportedType::NotAValue { place: "result.ok".into(), kind: "an owned resource" };
    assert_eq!(of(lines).unwrap_err(), expected);
}

/// A function whose parameter nests `levels` types in all.
fn nested(levels: u32) -> String {
    let mut lines = String::from("(type $t1 (list bool))");
    for level in 2..levels {
        write!(lines, "(type $t{level} (list $t{}))", level - 1).unwrap();
    }
    lines + &format!("(import \"f\" (func (param \"a\" $t{})))", levels - 1)
}

#[test]
fn types_nest_to_the_bound_and_no_deeper() {
    assert!(of(&nested(TYPE_DEPTH_MAX)).is_ok());
    let error = of(&nested(TYPE_DEPTH_MAX + 1)).unwrap_err();
    assert!(matches!(&error, UnsupportedType::TooDeep { place } if place.starts_with("params.a[]")), "{error}");
}

#[test]
fn types_that_double_at_each_level_are_refused_before_they_are_expanded() {
    let mut lines = String::from("(type $t0 (tuple bool bool))");
    for level in 1..40 {
        write!(lines, "(type $t{level} (tuple $t{0} $t{0}))", level - 1).unwrap();
    }
    lines += "(import \"f\" (func (param \"a\" $t39)))";
    // The validator has a bound of its own for the effective size; whichever comes first, nothing is expanded.
    let Ok(bytes) = wat::parse_str(format!("(component {lines})")) else { panic!("the text is well-formed") };
    if Component::new(&Engine::default(), bytes).is_ok() {
        assert!(matches!(of(&lines).unwrap_err(), UnsupportedType::TooLarge { .. }));
    }
    let mut budget = TypeBudget::new(6, 100);
    let func = imported(r#"(import "f" (func (param "a" (tuple u8 u8)) (param "b" (tuple u8 u8))))"#);
    assert!(budget.signature(&func).is_ok());
    let error = budget.signature(&func).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`params.a` exceeds the 6 types and names that types may have: make the type smaller"
    );
}

#[test]
fn names_are_bounded_by_bytes_and_by_number() {
    let func = imported(r#"(import "f" (func (param "abcd" u8)))"#);
    assert!(TypeBudget::new(100, 4).signature(&func).is_ok());
    let error = TypeBudget::new(100, 3).signature(&func).unwrap_err();
    assert!(matches!(error, UnsupportedType::TooLarge { what: "bytes of names", max: 3, .. }), "{error}");
    let mut names = String::new();
    (0..9).for_each(|at| write!(names, " \"n{at}\"").unwrap());
    let lines = format!("(type $e' (enum{names})) (import \"e\" (type $e (eq $e')))");
    let func = imported(&format!("{lines} (import \"f\" (func (param \"a\" $e)))"));
    assert!(TypeBudget::new(10, 100).signature(&func).is_ok(), "the type itself and its names");
    let error = TypeBudget::new(9, 100).signature(&func).unwrap_err();
    assert!(matches!(error, UnsupportedType::TooLarge { what: "types and names", max: 9, .. }), "{error}");
}
