  ;; The shared allocator. It owns memory from 1024 up and grows it only when an allocation does not fit.
  (global $next (mut i32) (i32.const 1024))

  (func $reset (global.set $next (i32.const 1024)))

  (func $realloc (export "cabi_realloc")
    (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32) (local $end i32) (local $held i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.lt_u (local.get $end) (local.get $at)) (then (unreachable)))
    (local.set $held (i32.shl (memory.size $memory) (i32.const 16)))
    (if (i32.gt_u (local.get $end) (local.get $held))
      (then
        (if (i32.eq
              (memory.grow $memory
                (i32.add
                  (i32.shr_u (i32.sub (i32.sub (local.get $end) (local.get $held)) (i32.const 1)) (i32.const 16))
                  (i32.const 1)))
              (i32.const -1))
          (then (unreachable)))))
    (if (local.get $old_size)
      (then
        (memory.copy $memory $memory
          (local.get $at)
          (local.get $old)
          (select (local.get $old_size) (local.get $size) (i32.lt_u (local.get $old_size) (local.get $size))))))
    (global.set $next (local.get $end))
    (local.get $at))
