#!/usr/bin/env bash
# Builds the Python component with componentize-py from the PATH. Installs nothing.
#   build.sh OUT.wasm
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 OUT.wasm" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if ! command -v componentize-py >/dev/null; then
  echo "componentize-py is not on the PATH: in a virtual environment run" \
    "'pip install -r examples/text-stats/python/requirements.txt'" >&2
  exit 1
fi
componentize-py --wit-path ../wit --world text-stats componentize app --output "$out"
