;; Needs a function of a known interface with another type.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (param i32)))
  (memory $memory (export "memory") 2)
  ;; include bump-allocator

  (func (export "fixture:wrong-shape/run@0.1.0#run") (result i64)
    (call $now (i32.const 16))
    (i64.load32_u (i32.const 20))))
