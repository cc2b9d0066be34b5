#!/usr/bin/env bash
# Builds the component with the Rust toolchain's own component target. Installs nothing.
#   build.sh OUT.wasm
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 OUT.wasm" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

target=wasm32-wasip2
if ! command -v cargo >/dev/null || ! command -v rustup >/dev/null; then
  echo "cargo and rustup are not on the PATH: install Rust with rustup, then run 'rustup target add $target'" >&2
  exit 1
fi
if ! rustup target list --installed | grep -qx "$target"; then
  echo "the Rust toolchain has no target $target: install it with 'rustup target add $target'" >&2
  exit 1
fi
cargo build --release --target "$target" --target-dir target
cp -- "target/$target/release/service.wasm" "$out"
