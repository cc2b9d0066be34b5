#!/usr/bin/env bash
# Makes deps/ from the WIT of the crate wasmtime-wasi-http that this repository is built with: without comments, without
# what is unstable, without the worlds that wasi:http does not use, and in the version that componentize-js has.
#   generate.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

version=0.2.10
manifest=$(cargo metadata --format-version 1 --locked | grep -o '"manifest_path":"[^"]*/wasmtime-wasi-http-[^"/]*/Cargo.toml"')
manifest=${manifest#*:\"}
source=$(dirname -- "${manifest%\"}")/wit/deps
mkdir -p deps
for package in cli clocks http io random; do
  # Comments and attributes have lines of their own; whatever is dropped ends with the bracket that it opened, or a semicolon.
  awk -v version="$version" -v package="$package" '
    # How many brackets stay open behind this line.
    function opened(line) { return gsub(/[{(]/, "&", line) - gsub(/[})]/, "&", line) }
    { sub(/[ \t]*\/\/.*/, ""); gsub(/@0\.2\.[0-9]+/, "@" version) }
    !dropping && (/^ *@unstable/ || (/^world / && package != "http")) { dropping = 1; depth = 0 }
    /^ *@/ { next }
    dropping {
      depth += opened($0)
      if (depth == 0 && /[;}]$/) dropping = 0
      next
    }
    /^$/ { next }
    /^(interface|world) / { print "" }
    { print }
  ' "$source/$package.wit" >"deps/$package.wit"
done
