;; Returns every environment variable that it sees.
(module
  (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
  (memory $memory (export "memory") 2)
  ;; include bump-allocator

  (func (export "fixture:environment/variables@0.1.0#all") (result i32)
    (call $environment (i32.const 16))
    (i32.const 16)))
