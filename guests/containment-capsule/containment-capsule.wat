;; Every way in which one activation can end, each behind its own function.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop_pollable (param i32)))

  (memory $memory (export "memory") 2)
  (data (i32.const 64) "accepted")
  (data (i32.const 80) "declared failure")
  ;; include bump-allocator

  ;; Parks for so many milliseconds; the nanoseconds saturate.
  (func $wait (param $millis i64)
    (local $pollable i32)
    (if (i64.gt_u (local.get $millis) (i64.const 18446744073709))
      (then (local.set $millis (i64.const 18446744073709))))
    (local.set $pollable (call $subscribe (i64.mul (local.get $millis) (i64.const 1000000))))
    (call $block (local.get $pollable))
    (call $drop_pollable (local.get $pollable)))

  (func $echo (export "fixture:containment-capsule/modes@0.1.0#echo")
    (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $len))
    (i32.const 16))

  (func (export "fixture:containment-capsule/modes@0.1.0#delayed-echo")
    (param $at i32) (param $len i32) (param $millis i64) (result i32)
    (call $wait (local.get $millis))
    (call $echo (local.get $at) (local.get $len)))

  (func
    (export "cabi_post_fixture:containment-capsule/modes@0.1.0#echo")
    (export "cabi_post_fixture:containment-capsule/modes@0.1.0#delayed-echo")
    (param i32)
    (call $reset))

  (func (export "fixture:containment-capsule/modes@0.1.0#trap") (unreachable))

  (func (export "fixture:containment-capsule/modes@0.1.0#delayed-trap") (param $millis i64)
    (call $wait (local.get $millis))
    (unreachable))

  (func (export "fixture:containment-capsule/modes@0.1.0#spin") (loop $again (br $again)))

  ;; Grows until it is denied, and takes the denial badly.
  (func (export "fixture:containment-capsule/modes@0.1.0#grow-memory") (param $pages i32) (result i32)
    (loop $again (br_if $again (i32.ne (memory.grow (local.get $pages)) (i32.const -1))))
    (unreachable))

  ;; Grows until it is denied, and goes on with the pages that it has.
  (func (export "fixture:containment-capsule/modes@0.1.0#grow-memory-politely") (param $pages i32) (result i32)
    (loop $again (br_if $again (i32.ne (memory.grow (local.get $pages)) (i32.const -1))))
    (memory.size))

  (func (export "fixture:containment-capsule/modes@0.1.0#declared") (param $fail i32) (result i32)
    (i32.store (i32.const 16) (local.get $fail))
    (if (local.get $fail)
      (then (i32.store (i32.const 20) (i32.const 80)) (i32.store (i32.const 24) (i32.const 16)))
      (else (i32.store (i32.const 20) (i32.const 64)) (i32.store (i32.const 24) (i32.const 8))))
    (i32.const 16))

  (func (export "fixture:containment-capsule/modes@0.1.0#burn") (param $iterations i64) (result i64)
    (local $mixed i64)
    (if (i64.eqz (local.get $iterations)) (then (return (local.get $mixed))))
    (loop $again
      (local.set $mixed
        (i64.add (i64.mul (local.get $mixed) (i64.const 6364136223846793005)) (local.get $iterations)))
      (local.set $iterations (i64.sub (local.get $iterations) (i64.const 1)))
      (br_if $again (i64.ne (local.get $iterations) (i64.const 0))))
    (local.get $mixed)))
