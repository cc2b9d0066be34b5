;; The first core instance is made with memory and table; the second fails.
(component
  (core module $sound
    (memory 4)
    (table 16 funcref)
    (data (i32.const 0) "made before the failure"))
  (core module $guest
    (memory 4)
    (func $start (unreachable))
    (start $start)
    (func (export "run")))
  (core instance $first (instantiate $sound))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-second-instance/run@0.1.0" (instance $contract)))
