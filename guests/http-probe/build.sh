#!/usr/bin/env bash
# Builds the HTTP handler as a component, as it is committed: a core module, then `jco new`.
#   build.sh OUT.wasm
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 OUT.wasm" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

target=wasm32-unknown-unknown
if ! command -v cargo >/dev/null || ! command -v rustup >/dev/null; then
  echo "cargo and rustup are not on the PATH: install Rust with rustup, then run 'rustup target add $target'" >&2
  exit 1
fi
if ! rustup target list --installed | grep -qx "$target"; then
  echo "the Rust toolchain has no target $target: install it with 'rustup target add $target'" >&2
  exit 1
fi
if command -v jco >/dev/null; then
  jco=(jco)
elif command -v npx >/dev/null; then
  jco=(npx --yes --package @bytecodealliance/jco@1.24.6 jco)
else
  echo "neither jco nor npx is on the PATH: install Node.js 20 or later with npm" >&2
  exit 1
fi
# Panic messages must not name the machine that built them.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/http-probe"
cargo build --release --locked --target "$target" --target-dir target
"${jco[@]}" new "target/$target/release/http_probe.wasm" --output "$out"
