;; A core start function that parks for an hour in a clock poll: instantiation waits inside the host.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))

  (func $start (call $block (call $subscribe (i64.const 3600000000000))))
  (start $start)

  (func (export "fixture:park-start/run@0.1.0#run")))
