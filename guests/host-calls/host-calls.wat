;; Makes so many of the cheapest host call and returns how many it made.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))

  (func (export "fixture:host-calls/calls@0.1.0#clock-reads") (param $count i32) (result i64)
    (local $made i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $made) (local.get $count)))
        (drop (call $now))
        (local.set $made (i32.add (local.get $made) (i32.const 1)))
        (br $again)))
    (i64.extend_i32_u (local.get $made))))
