;; Asks for so many random bytes in one call and returns how many came.
(module
  (import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
  (memory $memory (export "memory") 2)
  ;; include bump-allocator

  (func (export "fixture:random/bytes@0.1.0#get") (param $len i64) (result i64)
    (call $random (local.get $len) (i32.const 16))
    (i64.load32_u (i32.const 20))))
