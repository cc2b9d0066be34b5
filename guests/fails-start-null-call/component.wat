;; A core start function that calls an empty table entry.
(component
  (core module $guest
    (table 1 funcref)
    (type $entry (func))
    (func $start (call_indirect (type $entry) (i32.const 0)))
    (start $start)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-start-null-call/run@0.1.0" (instance $contract)))
