//! Components that are small to send and large to read: a compiler that believes them loses its stack, its memory or its time.
//! All of them are well-formed, so that only a limit can refuse them. And what is no component at all.

use std::fmt::Write as _;

use crate::encoding::assemble;
use crate::generated::CONTRACT;

/// The header of a component.
const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";
/// The section that has types.
const TYPES: u8 = 7;

/// What is no component, and the words by which a refusal says what it is.
pub const NO_COMPONENTS: [(&[u8], &str); 9] = [
    (b"\0asm\x01\0\0\0", "a core WebAssembly module"),
    (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", "an ELF file"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip data"),
    (b"(component (core modul))", "text"),
    (b"", "an empty file"),
    (b"\0asm\x0d\0\x01\0", "only a component's header"),
    (b"\0asm", "cut short"),
    (b"PK\x03\x04\x14\0", "a zip archive"),
];

/// Instance types, each declared in the one before, `depth` of them; three bytes each.
#[must_use]
pub fn nested_types(depth: usize) -> Vec<u8> {
    let mut types = number(1);
    types.extend([0x42, 1, 1].repeat(depth));
    types.extend([0x70, 0x7d]);
    of_sections(&[(TYPES, types)])
}

/// Components, `levels` of them, each of which instantiates the one before `fan` times.
#[must_use]
pub fn nested_instances(levels: usize, fan: usize) -> Vec<u8> {
    let mut text = "(component (component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..=levels {
        let _ = writeln!(text, "(component $c{level} (alias outer 1 {} (component $x))", level - 1);
        text.push_str(&"(instance (instantiate $x))".repeat(fan));
        text.push(')');
    }
    let _ = writeln!(text, "(instance (instantiate $c{levels})))");
    built(&text)
}

/// A component that takes long to compile: so many functions of so many operations, none of which a compiler can leave out,
/// and beside them `nop` of [`CONTRACT`].
#[must_use]
pub fn laborious(functions: usize, operations: usize) -> Vec<u8> {
    let mut text = String::from("(component (core module $guest\n(memory 1)\n(func (export \"nop\"))\n");
    for function in 0..functions {
        let _ = writeln!(text, "(func (param i32) (result i32) (local i32)");
        for operation in 0..operations {
            let _ = writeln!(
                text,
                "(local.set 1 (i32.add (i32.load (i32.mul (local.get 0) (i32.const {}))) (local.get 1)))",
                function * operations + operation + 3
            );
        }
        let _ = writeln!(text, "(local.get 1))");
    }
    let _ = write!(
        text,
        ")
         (core instance $guest (instantiate $guest))
         (alias core export $guest \"nop\" (core func $nop))
         (func $lifted (canon lift (core func $nop)))
         (instance $contract (export \"nop\" (func $lifted)))
         (export \"{CONTRACT}\" (instance $contract)))"
    );
    built(&text)
}

/// A component of these sections, each with its id.
#[must_use]
pub fn of_sections(sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    for (id, section) in sections {
        bytes.push(*id);
        bytes.extend(number(section.len()));
        bytes.extend(section);
    }
    bytes
}

/// A number as WebAssembly writes it.
#[must_use]
pub fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(0x80 | u8::try_from(value & 0x7f).expect("seven bits"));
        value >>= 7;
    }
    bytes.push(u8::try_from(value).expect("seven bits"));
    bytes
}

fn built(text: &str) -> Vec<u8> {
    assemble(text).expect("generated text differs only in numbers, with which it parses")
}

#[cfg(test)]
mod tests {
    use super::{laborious, nested_instances, nested_types};

    #[test]
    fn small_bombs_are_valid_components() {
        for bytes in [nested_types(3), nested_types(60), nested_instances(2, 3), laborious(2, 3)] {
            wasmparser::validate(&bytes).expect("only their size is hostile");
        }
        assert!(nested_types(560).len() < 1750 && nested_instances(8, 10).len() < 1000);
    }
}
