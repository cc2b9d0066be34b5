;; An element segment beyond its table: instantiation fails once memory and table exist.
(component
  (core module $guest
    (memory 1)
    (table 2 funcref)
    (func $entry)
    (elem (i32.const 1) $entry $entry)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-element-segment/run@0.1.0" (instance $contract)))
