;; The fastest honest guest: gives back what it got, in place, without imports and without growing for small input.
(module
  (memory $memory (export "memory") 2)
  ;; include bump-allocator

  ;; The result's pointer and length stand at 16; the bytes stay where the caller had them written.
  (func $echo
    (export "fixture:echo/echo@0.1.0#echo-string")
    (export "fixture:echo/echo@0.1.0#echo-bytes")
    (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $len))
    (i32.const 16))

  (func
    (export "cabi_post_fixture:echo/echo@0.1.0#echo-string")
    (export "cabi_post_fixture:echo/echo@0.1.0#echo-bytes")
    (param i32)
    (call $reset))

  (func (export "fixture:echo/echo@0.1.0#nop")))
