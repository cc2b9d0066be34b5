;; A post-return that traps: the result is there, and the call still fails.
(module
  (memory (export "memory") 1)
  (data (i32.const 64) "lifted")

  (func (export "fixture:trap-post-return/run@0.1.0#run") (result i32)
    (i32.store (i32.const 16) (i32.const 64))
    (i32.store (i32.const 20) (i32.const 6))
    (i32.const 16))

  (func (export "cabi_post_fixture:trap-post-return/run@0.1.0#run") (param i32)
    (unreachable)))
