;; A core start function that grows its memory to the end and then traps.
(component
  (core module $guest
    (memory 1)
    (func $start
      (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
      (unreachable))
    (start $start)
    (func (export "run")))
  (core instance $guest (instantiate $guest))
  (alias core export $guest "run" (core func $run))
  (func $lifted (canon lift (core func $run)))
  (instance $contract (export "run" (func $lifted)))
  (export "fixture:fails-start-growth/run@0.1.0" (instance $contract)))
