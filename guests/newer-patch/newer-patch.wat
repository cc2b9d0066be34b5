;; Needs a known interface of a newer patch in the same track, and of it only what the older one has.
(module
  (import "wasi:clocks/monotonic-clock@0.2.99" "now" (func $now (result i64)))

  (func (export "fixture:newer-patch/run@0.1.0#run") (result i64)
    (call $now)))
