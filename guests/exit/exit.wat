;; Leaves through the command-line exit, well or badly.
(module
  (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))

  (func (export "fixture:exit/leave@0.1.0#exit") (param $ok i32)
    (call $exit (i32.eqz (local.get $ok)))
    (unreachable)))
