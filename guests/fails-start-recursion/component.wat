;; A core start function that recurses to the end of the stack.
(component
  (core module $guest
    (func $start (call $start))
    (start $start)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-start-recursion/run@0.1.0" (instance $contract)))
