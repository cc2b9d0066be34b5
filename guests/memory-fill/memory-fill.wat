;; Fills its whole 16 MiB over and over: bulk operations between which alone it can be stopped.
(module
  (memory 256)

  (func (export "fixture:memory-fill/run@0.1.0#run")
    (loop $again
      (memory.fill (i32.const 0) (i32.const 0xa5) (i32.const 16777216))
      (br $again))))
