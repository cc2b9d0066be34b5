;; An HTTP handler that sets its response twice: the place for it is gone with the first.
(module
  (import "wasi:http/types@0.2.0" "[static]response-outparam.set"
    (func $set (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  ;; The error `loop-detected`, which needs nothing else.
  (func $answer (param $out i32)
    (call $set (local.get $out)
      (i32.const 1) (i32.const 36) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func (export "wasi:http/incoming-handler@0.2.0#handle") (param $request i32) (param $out i32)
    (call $answer (local.get $out))
    (call $answer (local.get $out))))
