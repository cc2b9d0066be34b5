;; A core start function that traps: instantiation fails at its last step.
(component
  (core module $guest
    (func $start (unreachable))
    (start $start)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:trap-start/run@0.1.0" (instance $contract)))
