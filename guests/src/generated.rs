//! Components whose size is a parameter: so many memories, tables or instances of such a size.
//! Each exports `nop` under [`CONTRACT`], so that a successful call proves that the instance was admitted.

use std::fmt::Write as _;

use crate::encoding::assemble;

/// The contract of every generated component.
pub const CONTRACT: &str = "fixture:generated/run@0.1.0";

/// One core module with `count` memories of `pages` pages each.
///
/// Beside `nop` it exports `grow-all: func(step-pages: u32) -> u32`, which grows each memory in turn until it is
/// denied and returns the pages of all of them together.
#[must_use]
pub fn memories(count: usize, pages: u32) -> Vec<u8> {
    let mut module = String::new();
    let mut grown = String::new();
    for index in 0..count {
        let _ = writeln!(module, "(memory $m{index} {pages})");
        let _ = writeln!(
            grown,
            "(loop $again (br_if $again (i32.ne (memory.grow $m{index} (local.get $step)) (i32.const -1))))
             (local.set $total (i32.add (local.get $total) (memory.size $m{index})))"
        );
    }
    built(&format!(
        r#"(component
          (core module $guest
            {module}
            (func (export "nop"))
            (func (export "grow-all") (param $step i32) (result i32)
              (local $total i32)
              {grown}
              (local.get $total)))
          (core instance $guest (instantiate $guest))
          (alias core export $guest "nop" (core func $nop))
          (alias core export $guest "grow-all" (core func $grow))
          (func $lifted_nop (canon lift (core func $nop)))
          (func $lifted_grow (param "step-pages" u32) (result u32) (canon lift (core func $grow)))
          (instance $contract
            (export "nop" (func $lifted_nop))
            (export "grow-all" (func $lifted_grow)))
          (export "{CONTRACT}" (instance $contract)))"#
    ))
}

/// `count` instances, at least one, of one inner component, each with its own memory of `pages` pages.
#[must_use]
pub fn composed(count: usize, pages: u32) -> Vec<u8> {
    let instances = (0..count.max(1)).fold(String::new(), |mut text, index| {
        let _ = writeln!(text, "(instance $part{index} (instantiate $part))");
        text
    });
    built(&format!(
        r#"(component
          (component $part
            (core module $guest (memory {pages}) (func (export "nop")))
            (core instance $guest (instantiate $guest))
            (alias core export $guest "nop" (core func $nop))
            (func $lifted (canon lift (core func $nop)))
            (export "nop" (func $lifted)))
          {instances}
          (alias export $part0 "nop" (func $nop))
          (instance $contract (export "nop" (func $nop)))
          (export "{CONTRACT}" (instance $contract)))"#
    ))
}

/// One core module whose only memory declares a minimum of `pages` pages.
#[must_use]
pub fn declared_minimum(pages: u32) -> Vec<u8> {
    plain(&format!("(memory {pages})"))
}

/// One core module with `count` tables of `elements` elements each.
#[must_use]
pub fn tables(count: usize, elements: u32) -> Vec<u8> {
    plain(&format!("(table {elements} funcref)\n").repeat(count))
}

/// A component around one core module that declares `declarations` and does nothing.
fn plain(declarations: &str) -> Vec<u8> {
    built(&format!(
        r#"(component
          (core module $guest {declarations} (func (export "nop")))
          (core instance $guest (instantiate $guest))
          (alias core export $guest "nop" (core func $nop))
          (func $lifted (canon lift (core func $nop)))
          (instance $contract (export "nop" (func $lifted)))
          (export "{CONTRACT}" (instance $contract)))"#
    ))
}

fn built(text: &str) -> Vec<u8> {
    assemble(text).expect("generated text differs only in numbers, with which it parses")
}

#[cfg(test)]
mod tests {
    use super::{composed, declared_minimum, memories, tables};

    #[test]
    fn every_generated_component_is_valid() {
        for bytes in [memories(1, 1), memories(100, 1023), composed(1, 1), composed(100, 1023)] {
            wasmparser::validate(&bytes).expect("memories make a valid component");
        }
        for bytes in [declared_minimum(0), declared_minimum(65_536), tables(1, 0), tables(100, 20_000)] {
            wasmparser::validate(&bytes).expect("declarations make a valid component");
        }
    }
}
