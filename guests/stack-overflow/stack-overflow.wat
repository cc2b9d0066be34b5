;; Recurses to the end of the stack, alone or with a host call at every level.
(module
  (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))

  (func $descend (param $depth i64) (result i64)
    (i64.add (i64.const 1) (call $descend (i64.add (local.get $depth) (i64.const 1)))))

  (func $descend_with_host (param $depth i64) (result i64)
    (local $time i64)
    (local.set $time (call $now))
    (i64.add (local.get $time) (call $descend_with_host (i64.add (local.get $depth) (i64.const 1)))))

  (func (export "fixture:stack-overflow/recurse@0.1.0#overflow")
    (drop (call $descend (i64.const 0))))

  (func (export "fixture:stack-overflow/recurse@0.1.0#overflow-into-host")
    (drop (call $descend_with_host (i64.const 0)))))
