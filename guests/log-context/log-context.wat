;; Speaks through the platform's log and repeats what its context tells it.
(module
  (import "latent:log/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32 i32)))
  (import "latent:context/context@0.1.0" "activation-id" (func $activation_id (param i32)))
  (import "latent:context/context@0.1.0" "tenant" (func $tenant (param i32)))
  (import "latent:context/context@0.1.0" "subject" (func $subject (param i32)))
  (import "latent:context/context@0.1.0" "remaining-fuel" (func $remaining_fuel (result i64)))
  (import "latent:context/context@0.1.0" "deadline-millis" (func $deadline_millis (param i32)))
  (import "latent:context/context@0.1.0" "metadata" (func $metadata (param i32 i32 i32)))
  (import "latent:context/context@0.1.0" "trace-parent" (func $trace_parent (param i32)))
  (memory $memory (export "memory") 2)
  (data (i32.const 64) "budget-exhausted")
  (data (i32.const 80) "refused")
  (data (i32.const 96) "reserved-field")
  (data (i32.const 112) "one of many")
  (data (i32.const 128) "kind")
  (data (i32.const 136) "bulk")
  (data (i32.const 144) "latent.x")
  ;; Two lists of one field: addresses and lengths of its name and value.
  (data (i32.const 160) "\80\00\00\00\04\00\00\00\88\00\00\00\04\00\00\00")
  (data (i32.const 176) "\90\00\00\00\08\00\00\00\88\00\00\00\04\00\00\00")
  ;; include bump-allocator

  ;; Logs at level info. The answer, at 16, is whether it failed and, in the next byte, why.
  (func $record (param $at i32) (param $len i32) (param $fields i32) (param $fields_len i32) (result i32)
    (call $log
      (i32.const 2)
      (local.get $at) (local.get $len)
      (local.get $fields) (local.get $fields_len)
      (i32.const 16))
    (i32.load8_u (i32.const 16)))

  ;; Without fields; the error is the case's name.
  (func (export "fixture:log-context/speak@0.1.0#say") (param $at i32) (param $len i32) (result i32)
    (local $failed i32) (local $reason i32)
    (local.set $failed (call $record (local.get $at) (local.get $len) (i32.const 0) (i32.const 0)))
    (local.set $reason (i32.load8_u (i32.const 17)))
    (i32.store (i32.const 32) (local.get $failed))
    (i32.store (i32.const 36) (i32.add (i32.const 64) (i32.shl (local.get $reason) (i32.const 4))))
    (i32.store (i32.const 40)
      (select
        (i32.const 16)
        (select (i32.const 7) (i32.const 14) (i32.eq (local.get $reason) (i32.const 1)))
        (i32.eqz (local.get $reason))))
    (i32.const 32))

  ;; Logs so many records, with the field kind=bulk, and returns how many were accepted.
  (func (export "fixture:log-context/speak@0.1.0#say-many") (param $count i32) (result i32)
    (local $accepted i32)
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $accepted
          (i32.add
            (local.get $accepted)
            (i32.eqz (call $record (i32.const 112) (i32.const 11) (i32.const 160) (i32.const 1)))))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $again)))
    (local.get $accepted))

  ;; Whether the field latent.x was refused for its name.
  (func (export "fixture:log-context/speak@0.1.0#say-reserved") (result i32)
    (i32.and
      (call $record (i32.const 112) (i32.const 11) (i32.const 176) (i32.const 1))
      (i32.eq (i32.load8_u (i32.const 17)) (i32.const 2))))

  (func (export "fixture:log-context/speak@0.1.0#whoami") (result i32)
    (call $activation_id (i32.const 16))
    (i32.const 16))

  (func (export "fixture:log-context/speak@0.1.0#tenant") (result i32)
    (call $tenant (i32.const 16))
    (i32.const 16))

  (func (export "fixture:log-context/speak@0.1.0#subject") (result i32)
    (call $subject (i32.const 16))
    (i32.const 16))

  (func (export "fixture:log-context/speak@0.1.0#remaining-fuel") (result i64)
    (call $remaining_fuel))

  (func (export "fixture:log-context/speak@0.1.0#deadline-millis") (result i32)
    (call $deadline_millis (i32.const 16))
    (i32.const 16))

  (func (export "fixture:log-context/speak@0.1.0#metadata") (param $at i32) (param $len i32) (result i32)
    (call $metadata (local.get $at) (local.get $len) (i32.const 16))
    (i32.const 16))

  (func (export "fixture:log-context/speak@0.1.0#trace-parent") (result i32)
    (call $trace_parent (i32.const 16))
    (i32.const 16)))
