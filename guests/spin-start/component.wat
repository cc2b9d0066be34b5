;; A core start function that spins: instantiation never ends.
(component
  (core module $guest
    (func $start (loop $again (br $again)))
    (start $start)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:spin-start/run@0.1.0" (instance $contract)))
