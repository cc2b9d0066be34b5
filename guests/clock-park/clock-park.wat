;; Parks in a clock poll, once or many times.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop_pollable (param i32)))
  (memory (export "memory") 1)

  ;; The nanoseconds saturate.
  (func $park (export "fixture:clock-park/park@0.1.0#park") (param $millis i64)
    (local $pollable i32)
    (if (i64.gt_u (local.get $millis) (i64.const 18446744073709))
      (then (local.set $millis (i64.const 18446744073709))))
    (local.set $pollable (call $subscribe (i64.mul (local.get $millis) (i64.const 1000000))))
    (call $block (local.get $pollable))
    (call $drop_pollable (local.get $pollable)))

  (func (export "fixture:clock-park/park@0.1.0#park-often") (param $times i32) (param $millis i64)
    (if (i32.eqz (local.get $times)) (then (return)))
    (loop $again
      (call $park (local.get $millis))
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $again (local.get $times)))))
