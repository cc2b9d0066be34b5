;; Gives back every kind of value, so that what a caller sends can be compared with what returns.
(module
  (memory $memory (export "memory") 2)
  ;; include bump-allocator

  ;; A value of one word is its own result; so is a record passed, and returned, by its address.
  (func
    (export "fixture:types/types@0.1.0#roundtrip-bool")
    (export "fixture:types/types@0.1.0#roundtrip-u8")
    (export "fixture:types/types@0.1.0#roundtrip-u16")
    (export "fixture:types/types@0.1.0#roundtrip-u32")
    (export "fixture:types/types@0.1.0#roundtrip-s8")
    (export "fixture:types/types@0.1.0#roundtrip-s16")
    (export "fixture:types/types@0.1.0#roundtrip-s32")
    (export "fixture:types/types@0.1.0#roundtrip-char")
    (export "fixture:types/types@0.1.0#roundtrip-enum")
    (export "fixture:types/types@0.1.0#roundtrip-flags")
    (export "fixture:types/types@0.1.0#roundtrip-result-plain")
    (export "fixture:types/types@0.1.0#roundtrip-wide")
    (param i32) (result i32)
    (local.get 0))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-u64")
    (export "fixture:types/types@0.1.0#roundtrip-s64")
    (param i64) (result i64)
    (local.get 0))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-f32")
    (param f32) (result f32)
    (local.get 0))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-f64")
    (param f64) (result f64)
    (local.get 0))

  ;; Values of several words are laid out at 16, where each field of theirs takes four bytes.
  (func
    (export "fixture:types/types@0.1.0#roundtrip-string")
    (export "fixture:types/types@0.1.0#roundtrip-bytes")
    (export "fixture:types/types@0.1.0#roundtrip-list-string")
    (export "fixture:types/types@0.1.0#roundtrip-list-u32")
    (export "fixture:types/types@0.1.0#roundtrip-list-u64")
    (export "fixture:types/types@0.1.0#roundtrip-list-f64")
    (export "fixture:types/types@0.1.0#roundtrip-list-bytes")
    (export "fixture:types/types@0.1.0#roundtrip-list-person")
    (export "fixture:types/types@0.1.0#roundtrip-list-shape")
    (export "fixture:types/types@0.1.0#roundtrip-list-option")
    (export "fixture:types/types@0.1.0#roundtrip-option")
    (param i32 i32) (result i32)
    (i32.store (i32.const 16) (local.get 0))
    (i32.store (i32.const 20) (local.get 1))
    (i32.const 16))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-option-option")
    (export "fixture:types/types@0.1.0#roundtrip-result")
    (export "fixture:types/types@0.1.0#roundtrip-tuple")
    (export "fixture:types/types@0.1.0#roundtrip-variant")
    (param i32 i32 i32) (result i32)
    (i32.store (i32.const 16) (local.get 0))
    (i32.store (i32.const 20) (local.get 1))
    (i32.store (i32.const 24) (local.get 2))
    (i32.const 16))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-many")
    (param i32 i32 i32 i32) (result i32)
    (i32.store (i32.const 16) (local.get 0))
    (i32.store (i32.const 20) (local.get 1))
    (i32.store (i32.const 24) (local.get 2))
    (i32.store (i32.const 28) (local.get 3))
    (i32.const 16))

  (func
    (export "fixture:types/types@0.1.0#roundtrip-record")
    (param i32 i32 i32 i32 i32 i32) (result i32)
    (i32.store (i32.const 16) (local.get 0))
    (i32.store (i32.const 20) (local.get 1))
    (i32.store (i32.const 24) (local.get 2))
    (i32.store (i32.const 28) (local.get 3))
    (i32.store (i32.const 32) (local.get 4))
    (i32.store (i32.const 36) (local.get 5))
    (i32.const 16))

  ;; The three cases share one eight-byte payload, as wide as the widest.
  (func
    (export "fixture:types/types@0.1.0#roundtrip-scalar")
    (param i32 i64) (result i32)
    (i32.store (i32.const 16) (local.get 0))
    (i64.store (i32.const 24) (local.get 1))
    (i32.const 16))

  (func
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-wide")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-string")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-bytes")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-string")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-u32")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-u64")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-f64")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-bytes")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-person")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-shape")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-list-option")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-option")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-option-option")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-result")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-tuple")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-variant")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-many")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-record")
    (export "cabi_post_fixture:types/types@0.1.0#roundtrip-scalar")
    (param i32)
    (call $reset)))
