;; Leaves with a status of its own through a function that the interface still calls unstable.
(module
  (import "wasi:cli/exit@0.2.0" "exit-with-code" (func $exit (param i32)))

  (func (export "fixture:exit-with-code/leave@0.1.0#exit") (param $status i32)
    (call $exit (local.get $status))
    (unreachable)))
