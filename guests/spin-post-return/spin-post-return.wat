;; A post-return that spins: the result is there, and the call never ends.
(module
  (memory (export "memory") 1)
  (data (i32.const 64) "lifted")

  (func (export "fixture:spin-post-return/run@0.1.0#run") (result i32)
    (i32.store (i32.const 16) (i32.const 64))
    (i32.store (i32.const 20) (i32.const 6))
    (i32.const 16))

  (func (export "cabi_post_fixture:spin-post-return/run@0.1.0#run") (param i32)
    (loop $again (br $again))))
