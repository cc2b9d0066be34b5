;; Writes to the standard streams: many short lines, one that never ends, bytes that are no text.
(module
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $flush (param i32 i32 i32 i32)))
  (memory $memory (export "memory") 2)
  (data (i32.const 64) "sixty-four bytes of output, of which the last one ends the line\0a")
  (data (i32.const 128)
    "nul \00 inside\0a"
    "\1b[31mred\1b[0m\1b]0;title\07\0a"
    "cut \ff\fe\c3\0a"
    "return\0dover\0a"
    "tail without end")
  ;; include bump-allocator

  ;; Writes in pieces that one flush accepts; 1 when the stream refused one.
  (func $write (param $stream i32) (param $at i32) (param $len i32) (result i32)
    (local $piece i32)
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $len)))
        (local.set $piece
          (select (local.get $len) (i32.const 4096) (i32.lt_u (local.get $len) (i32.const 4096))))
        (call $flush (local.get $stream) (local.get $at) (local.get $piece) (i32.const 16))
        (if (i32.load8_u (i32.const 16)) (then (return (i32.const 1))))
        (local.set $at (i32.add (local.get $at) (local.get $piece)))
        (local.set $len (i32.sub (local.get $len) (local.get $piece)))
        (br $again)))
    (i32.const 0))

  (func (export "fixture:stdout/output@0.1.0#lines") (param $count i32)
    (local $stream i32)
    (local.set $stream (call $stdout))
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $count)))
        (br_if $done (call $write (local.get $stream) (i32.const 64) (i32.const 64)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $again))))

  ;; The line is written in pieces of 4 KiB from 65,536.
  (func (export "fixture:stdout/output@0.1.0#one-line") (param $bytes i64)
    (local $stream i32) (local $piece i64)
    (local.set $stream (call $stdout))
    (memory.fill (i32.const 65536) (i32.const 0x78) (i32.const 4096))
    (block $done
      (loop $again
        (br_if $done (i64.eqz (local.get $bytes)))
        (local.set $piece
          (select (local.get $bytes) (i64.const 4096) (i64.lt_u (local.get $bytes) (i64.const 4096))))
        (br_if $done (call $write (local.get $stream) (i32.const 65536) (i32.wrap_i64 (local.get $piece))))
        (local.set $bytes (i64.sub (local.get $bytes) (local.get $piece)))
        (br $again))))

  (func (export "fixture:stdout/output@0.1.0#weird")
    (drop (call $write (call $stdout) (i32.const 128) (i32.const 72))))

  (func (export "fixture:stdout/output@0.1.0#stderr") (param $at i32) (param $len i32)
    (drop (call $write (call $stderr) (local.get $at) (local.get $len)))
    (call $reset)))
