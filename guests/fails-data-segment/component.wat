;; A data segment beyond its memory: instantiation fails once the memory exists.
(component
  (core module $guest
    (memory 1)
    (data (i32.const 65530) "beyond the end")
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-data-segment/run@0.1.0" (instance $contract)))
