;; Needs an interface that nobody offers.
(module
  (import "acme:missing/thing@1.2.3" "weigh" (func $weigh (result i64)))

  (func (export "fixture:unknown-import/run@0.1.0#run") (result i64)
    (call $weigh)))
