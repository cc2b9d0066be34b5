//! Components whose types are small to write and large to read, each as large as its number says.

use std::fmt::Write as _;

use latent_guests::bombs::{number, of_sections};

fn of_text(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {body})")).unwrap_or_else(|error| panic!("{error}"))
}

/// `count` lines from one, each made from its number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).fold(String::new(), |all, one| all + &one + "\n")
}

/// A type that holds two of the one before it, `levels` times.
fn doubling(levels: usize) -> String {
    let mut text = "(type $t0 (tuple bool bool))".to_owned();
    for level in 1..levels {
        let _ = writeln!(text, "(type $t{level} (tuple $t{0} $t{0}))", level - 1);
    }
    text
}

/// A kind of component: how often it may repeat something, or little less, and the component that repeats it so often.
pub type Kind = (&'static str, usize, fn(usize) -> Vec<u8>);

/// Every kind.
pub const KINDS: &[Kind] = &[
    ("imports of one function type", 98_000, |count| {
        of_text(&format!("(type $f (func)) {}", lines(count, |n| format!("(import \"f{n}\" (func (type $f)))"))))
    }),
    ("imports of types", 32_500, |count| {
        of_text(&lines(count, |n| format!("(import \"t{n}\" (type (sub resource)))")))
    }),
    ("imports of a type that doubles 14 times", 6, |count| {
        let imports = lines(count, |n| format!("(import \"f{n}\" (func (type $f)))"));
        of_text(&format!("{} (type $f (func (param \"a\" $t13))) {imports}", doubling(14)))
    }),
    ("liftings of a type that doubles 14 times", 6, |count| {
        let lifts = lines(count, |_| {
            "(func (type $f) (canon lift (core func $nop) (memory $m) (realloc (core func $r))))".to_owned()
        });
        let module = "(core module $g (memory (export \"m\") 1) (func (export \"n\") (param i32)) (func (export \"r\") (param i32 i32 i32 i32) (result i32) unreachable))
            (core instance $g (instantiate $g)) (alias core export $g \"n\" (core func $nop)) (alias core export $g \"r\" (core func $r)) (alias core export $g \"m\" (core memory $m))";
        of_text(&format!("{module} {} (type $f (func (param \"a\" $t13))) {lifts}", doubling(14)))
    }),
    ("aliases of a type that doubles 14 times", 6, |count| {
        let aliases = lines(count, |_| "(alias outer 1 $t13 (type))".to_owned());
        of_text(&format!("{} (component {aliases})", doubling(14)))
    }),
    ("imports of an instance type with a resource and 500 functions", 42, |count| {
        let functions = lines(500, |n| format!("(export \"f{n}\" (func (param \"r\" (own $r))))"));
        let imports = lines(count, |n| format!("(import \"i{n}\" (instance (type $i)))"));
        of_text(&format!("(type $i (instance (export \"r\" (type $r (sub resource))) {functions})) {imports}"))
    }),
    ("patches of an offered interface, each with a resource and 500 functions", 42, |count| {
        let functions = lines(500, |n| format!("(export \"f{n}\" (func (param \"r\" (own $r))))"));
        let imports = lines(count, |n| format!("(import \"wasi:clocks/wall-clock@0.2.{n}\" (instance (type $i)))"));
        of_text(&format!("(type $i (instance (export \"r\" (type $r (sub resource))) {functions})) {imports}"))
    }),
    ("patches of an offered interface, each with a type that doubles 14 times", 4, |count| {
        let imports = lines(count, |n| format!("(import \"wasi:clocks/wall-clock@0.2.{n}\" (instance (type $i)))"));
        let function = "(export \"now\" (func (param \"a\" $x)))";
        of_text(&format!("{} (type $i (instance (alias outer 1 $t13 (type $x)) {function})) {imports}", doubling(14)))
    }),
    ("declared exports of an instance type with 500 resources", 52, |count| {
        let resources = lines(500, |n| format!("(export \"r{n}\" (type (sub resource)))"));
        let exports = lines(count, |n| format!("(export \"i{n}\" (instance (type $x)))"));
        of_text(&format!("(type $i (instance {resources})) (type (instance (alias outer 1 $i (type $x)) {exports}))"))
    }),
    ("instances of a module with 1,000 imports, never made", 192, |count| {
        let imports = lines(1_000, |n| format!("(import \"a\" \"f{n}\" (func))"));
        let exports = lines(1_000, |n| format!("(export \"f{n}\" (func $f))"));
        let made = lines(count, |_| "(core instance (instantiate $m (with \"a\" (instance $a))))".to_owned());
        of_text(&format!(
            "(component (core module $n (func (export \"f\"))) (core instance $n (instantiate $n))
               (alias core export $n \"f\" (core func $f)) (core module $m {imports}) (core instance $a {exports}) {made})"
        ))
    }),
    ("instances of a component with 500 exports, never made", 56, |count| {
        let exports = lines(500, |n| format!("(export \"r{n}\" (type $r))"));
        let made = lines(count, |_| "(instance (instantiate $c))".to_owned());
        of_text(&format!("(component (component $c (type $r (resource (rep i32))) {exports}) {made})"))
    }),
    ("records of 100 fields", 1920, |count| {
        let fields = lines(100, |n| format!("(field \"f{n}\" bool)"));
        of_text(&lines(count, |_| format!("(type (record {fields}))")))
    }),
    ("enums of 100 cases", 1920, |count| {
        let cases = lines(100, |n| format!("\"c{n}\""));
        of_text(&lines(count, |_| format!("(type (enum {cases}))")))
    }),
    ("tuples of 100", 1920, |count| {
        let types = "u8 ".repeat(100);
        of_text(&lines(count, |_| format!("(type (tuple {types}))")))
    }),
    ("core types of 900 parameters", 3450, |count| {
        let mut types = number(count);
        for n in 0..count {
            types.push(0x60);
            types.extend(number(900));
            // Each differs from the others, so that none is shared.
            types.extend((0..900).map(|at| if n >> (at % 16) & 1 == 1 { 0x7f } else { 0x7e }));
            types.push(0);
        }
        let module = [&b"\0asm\x01\0\0\0\x01"[..], &number(types.len()), &types].concat();
        of_sections(&[(1, module)])
    }),
    ("imports and exports of a module", 65_500, |count| {
        let imports = lines(count, |n| format!("(import \"m\" \"f{n}\" (func))"));
        let exports = lines(count, |n| format!("(export \"e{n}\" (func 0))"));
        of_text(&format!("(core module {imports} {exports})"))
    }),
    ("imports with names of 90,000 bytes", 68, |count| {
        let name = "a".repeat(90_000);
        of_text(&lines(count, |n| format!("(import \"{name}{n}\" (func))")))
    }),
    ("functions of an interface whose name has 90,000 bytes", 49_000, |count| {
        let name = "a".repeat(90_000);
        let imports = "(import \"f\" (func $f))";
        let exports = lines(count, |n| format!("(export \"f{n}\" (func $f))"));
        of_text(&format!("{imports} (instance $i {exports}) (export \"{name}\" (instance $i))"))
    }),
    ("exports of a function with 16,000 types", 5, |count| {
        let exports = lines(count, |n| format!("(export \"f{n}\" (func $f))"));
        of_text(&format!(
            "{} (import \"f\" (func $f (param \"a\" $t12))) (instance $i {exports}) (export \"e\" (instance $i))",
            doubling(13)
        ))
    }),
    ("instance types around one another, 90 deep, with as many resources", 7, |count| {
        let resources = lines(count, |n| format!("(export \"r{n}\" (type (sub resource)))"));
        let mut text = format!("(type $i0 (instance {resources}))");
        for level in 1..90 {
            let _ = writeln!(
                text,
                "(type $i{level} (instance (alias outer 1 $i{} (type $x)) (export \"i\" (instance (type $x)))))",
                level - 1
            );
        }
        of_text(&text)
    }),
    ("instantiations with a component whose type doubles 7 times", 118, |count| {
        let doubled = |name: &str| {
            let mut text = format!("(type ${name}0 (component (export \"r\" (type (sub resource)))))");
            for level in 1..7 {
                let below = format!("(alias outer 1 ${name}{} (type $x))", level - 1);
                let _ = writeln!(
                    text,
                    "(type ${name}{level} (component {below} (import \"a\" (component (type $x))) (export \"b\" (component (type $x)))))"
                );
            }
            text
        };
        let made = lines(count, |_| "(instance (instantiate $taker (with \"c\" (component $given))))".to_owned());
        of_text(&format!(
            "(component {} {} (import \"given\" (component $given (type $g6)))
               (component $taker (alias outer 1 $t6 (type $x)) (import \"c\" (component (type $x)))) {made})",
            doubled("g"),
            doubled("t")
        ))
    }),
    ("instantiations with an instance of 300 resources and functions", 34, |count| {
        let items = lines(300, |n| {
            format!("(export \"r{n}\" (type $r{n} (sub resource))) (export \"f{n}\" (func (param \"a\" (own $r{n}))))")
        });
        let made = lines(count, |_| "(instance (instantiate $taker (with \"i\" (instance $given))))".to_owned());
        of_text(&format!(
            "(component (type $g (instance {items})) (import \"given\" (instance $given (type $g)))
               (component $taker (import \"i\" (instance {items}))) {made})"
        ))
    }),
    ("exports of a record ascribed to another", 96, |count| {
        let fields = lines(500, |n| format!("(field \"f{n}\" u8)"));
        let exports = lines(count, |n| format!("(export \"t{n}\" (type $a) (type (eq $b)))"));
        of_text(&format!("(component (type $a (record {fields})) (type $b (record {fields})) {exports})"))
    }),
    ("imports of a module that has 500 imports", 192, |count| {
        let imports = lines(500, |n| format!("(import \"m\" \"f{n}\" (func))"));
        let uses = lines(count, |n| format!("(import \"m{n}\" (core module (type $m)))"));
        of_text(&format!("(component (core type $m (module {imports})) {uses})"))
    }),
    ("patches of an offered interface, each with five chains of 90 types", 400, |count| {
        let chain = lines(90, |n| format!("(type $t{} (list $t{n}))", n + 1));
        let imports = lines(count, |n| format!("(import \"wasi:clocks/wall-clock@0.2.{n}\" (instance (type $i)))"));
        let params = lines(5, |n| format!("(param \"p{n}\" $x)"));
        let function = format!("(export \"now\" (func {params}))");
        let first = "(type $t0 (list u8))";
        of_text(&format!("{first} {chain} (type $i (instance (alias outer 1 $t90 (type $x)) {function})) {imports}"))
    }),
    ("patches of an offered interface, each 90 instances deep", 170, |count| {
        let chain = lines(90, |n| {
            format!("(type $i{} (instance (alias outer 1 $i{n} (type $x)) (export \"i\" (instance (type $x)))))", n + 1)
        });
        let imports = lines(count, |n| format!("(import \"wasi:clocks/wall-clock@0.2.{n}\" (instance (type $i90)))"));
        of_text(&format!("(type $i0 (instance (export \"r\" (type (sub resource))))) {chain} {imports}"))
    }),
    ("globals", 950_000, |count| {
        of_text(&format!("(core module {})", lines(count, |_| "(global i32 (i32.const 0))".to_owned())))
    }),
    ("functions", 196_000, |count| of_text(&format!("(core module {})", lines(count, |_| "(func)".to_owned())))),
    ("modules with 100 imports", 240, |count| {
        let imports = lines(100, |n| format!("(import \"m\" \"f{n}\" (func))"));
        of_text(&lines(count, |_| format!("(core module {imports})")))
    }),
];
