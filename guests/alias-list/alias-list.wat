;; Results that say far more than the guest holds: many entries that are one string, and a length never written.
(module
  (memory (export "memory") 18)

  ;; The string is the mebibyte from 65,536; the entries follow it.
  (func (export "fixture:alias-list/lists@0.1.0#make") (param $entries i32) (result i32)
    (local $at i32) (local $end i32)
    (if (i32.gt_u (local.get $entries) (i32.const 0x10000000)) (then (unreachable)))
    (local.set $at (i32.const 1114112))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $entries) (i32.const 3))))
    (if (i32.gt_u (local.get $end) (i32.const 1179648))
      (then
        (if (i32.eq
              (memory.grow
                (i32.shr_u (i32.sub (local.get $end) (i32.const 1114113)) (i32.const 16)))
              (i32.const -1))
          (then (unreachable)))))
    (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 1048576))
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $entries))
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (i32.store (local.get $at) (i32.const 65536))
        (i32.store offset=4 (local.get $at) (i32.const 1048576))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $again)))
    (i32.const 16))

  (func (export "fixture:alias-list/lists@0.1.0#claims-2gib") (result i32)
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 0x80000000))
    (i32.const 16)))
