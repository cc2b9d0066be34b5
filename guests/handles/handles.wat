;; Makes handles, the host's or its own, that nobody ever drops.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "[export]fixture:handles/leaks@0.1.0" "[resource-new]token" (func $new_token (param i32) (result i32)))

  ;; Pollables of one hour.
  (func (export "fixture:handles/leaks@0.1.0#leak-pollables") (param $count i32) (result i32)
    (local $made i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $made) (local.get $count)))
        (drop (call $subscribe (i64.const 3600000000000)))
        (local.set $made (i32.add (local.get $made) (i32.const 1)))
        (br $again)))
    (local.get $made))

  (func (export "fixture:handles/leaks@0.1.0#leak-resources") (param $count i32) (result i32)
    (local $made i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $made) (local.get $count)))
        (drop (call $new_token (local.get $made)))
        (local.set $made (i32.add (local.get $made) (i32.const 1)))
        (br $again)))
    (local.get $made)))
