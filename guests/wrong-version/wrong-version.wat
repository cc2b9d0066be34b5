;; Needs a known interface of another version track.
(module
  (import "wasi:clocks/monotonic-clock@0.3.0" "now" (func $now (result i64)))

  (func (export "fixture:wrong-version/run@0.1.0#run") (result i64)
    (call $now)))
