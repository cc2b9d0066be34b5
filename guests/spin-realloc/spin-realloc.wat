;; An allocator that spins: the call never reaches the function, because its argument is never lowered.
(module
  (memory (export "memory") 1)

  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (loop $again (br $again))
    (unreachable))

  (func (export "fixture:spin-realloc/run@0.1.0#run") (param $at i32) (param $len i32) (result i32)
    (local.get $len)))
