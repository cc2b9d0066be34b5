;; Results that cannot be lifted, one for each check that lifting makes.
(module
  (memory (export "memory") 1)
  (data (i32.const 64) "\ff\fe\c3")

  (func $pair (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $len))
    (i32.const 16))

  (func (export "fixture:bad-results/results@0.1.0#invalid-utf8") (result i32)
    (call $pair (i32.const 64) (i32.const 3)))

  (func (export "fixture:bad-results/results@0.1.0#out-of-bounds") (result i32)
    (call $pair (i32.const 65530) (i32.const 7)))

  (func (export "fixture:bad-results/results@0.1.0#misaligned") (result i32)
    (call $pair (i32.const 65) (i32.const 1)))

  (func (export "fixture:bad-results/results@0.1.0#bad-char") (result i32) (i32.const 0xd800))

  (func (export "fixture:bad-results/results@0.1.0#bad-case") (result i32) (i32.const 2)))
