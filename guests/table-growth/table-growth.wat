;; Grows a table, 1,000 elements at a time, until it is denied.
(module
  (table $table 1 funcref)

  (func $grow
    (loop $again
      (br_if $again (i32.ne (table.grow $table (ref.null func) (i32.const 1000)) (i32.const -1)))))

  ;; Takes the denial badly.
  (func (export "fixture:table-growth/tables@0.1.0#grow-table") (result i32)
    (call $grow)
    (unreachable))

  ;; Goes on with the elements that it has.
  (func (export "fixture:table-growth/tables@0.1.0#grow-table-politely") (result i32)
    (call $grow)
    (table.size $table)))
