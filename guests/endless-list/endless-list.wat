;; Results that fit four megabytes of the guest and, lifted, would keep the host busy without end.
(module
  (memory (export "memory") 64)

  ;; Points every pair of words in the upper two megabytes at the same address and length.
  (func $alias (param $at i32) (param $len i32) (result i32)
    (local $entry i32)
    (local.set $entry (i32.const 2097152))
    (loop $again
      (i32.store (local.get $entry) (local.get $at))
      (i32.store offset=4 (local.get $entry) (local.get $len))
      (local.set $entry (i32.add (local.get $entry) (i32.const 8)))
      (br_if $again (i32.lt_u (local.get $entry) (i32.const 4194304))))
    (i32.store (i32.const 16) (i32.const 2097152))
    (i32.store (i32.const 20) (i32.const 262144))
    (i32.const 16))

  ;; 262,144 strings, each the same one of almost two megabytes of NUL: half a terabyte.
  (func (export "fixture:endless-list/run@0.1.0#strings") (result i32)
    (call $alias (i32.const 1024) (i32.const 2000000)))

  ;; 262,144 lists, each the same one of 250,000 empty strings.
  (func (export "fixture:endless-list/run@0.1.0#lists") (result i32)
    (call $alias (i32.const 1024) (i32.const 250000))))
