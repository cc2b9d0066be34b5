;; Leaves a pattern all over its memory and traps, or counts what a former owner left in the same pages.
(module
  (memory 1)

  ;; Grows so that memory holds so many bytes; they are all the guest's to use, as it keeps no data or stack.
  (func $hold (param $bytes i32)
    (local $pages i32)
    (local.set $pages
      (i32.add (i32.shr_u (i32.sub (local.get $bytes) (i32.const 1)) (i32.const 16)) (i32.const 1)))
    (if (i32.eqz (local.get $bytes)) (then (return)))
    (if (i32.le_u (local.get $pages) (memory.size)) (then (return)))
    (if (i32.eq (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const -1))
      (then (unreachable))))

  (func (export "fixture:memory-pattern/pattern@0.1.0#fill-and-trap") (param $bytes i32)
    (call $hold (local.get $bytes))
    (memory.fill (i32.const 0) (i32.const 0xa5) (local.get $bytes))
    (unreachable))

  ;; The bytes that are not zero among the 64 from an address.
  (func $count (param $at i32) (result i64)
    (local $end i32) (local $found i64)
    (local.set $end (i32.add (local.get $at) (i32.const 64)))
    (loop $again
      (if (i32.load8_u (local.get $at))
        (then (local.set $found (i64.add (local.get $found) (i64.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $at) (local.get $end))))
    (local.get $found))

  ;; Looks at all of memory, in strides of 64 bytes so that 64 MiB stay within ordinary fuel.
  (func $scan (export "fixture:memory-pattern/pattern@0.1.0#scan") (param $bytes i32) (result i64)
    (local $at i32) (local $end i32) (local $found i64)
    (call $hold (local.get $bytes))
    (local.set $end (i32.shl (memory.size) (i32.const 16)))
    (loop $again
      (if (i64.ne
            (i64.or
              (i64.or
                (i64.or (i64.load (local.get $at)) (i64.load offset=8 (local.get $at)))
                (i64.or (i64.load offset=16 (local.get $at)) (i64.load offset=24 (local.get $at))))
              (i64.or
                (i64.or (i64.load offset=32 (local.get $at)) (i64.load offset=40 (local.get $at)))
                (i64.or (i64.load offset=48 (local.get $at)) (i64.load offset=56 (local.get $at)))))
            (i64.const 0))
        (then (local.set $found (i64.add (local.get $found) (call $count (local.get $at))))))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br_if $again (i32.lt_u (local.get $at) (local.get $end))))
    (local.get $found))

  ;; Finds its own pattern, so that a scan that finds nothing means something.
  (func (export "fixture:memory-pattern/pattern@0.1.0#fill-and-scan") (param $bytes i32) (result i64)
    (call $hold (local.get $bytes))
    (memory.fill (i32.const 0) (i32.const 0xa5) (local.get $bytes))
    (call $scan (local.get $bytes))))
