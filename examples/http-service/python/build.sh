#!/usr/bin/env bash
# Builds the component with componentize-py, from .venv or the PATH. Installs nothing.
#   build.sh OUT.wasm
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 OUT.wasm" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if [ -x .venv/bin/componentize-py ]; then
  PATH=$PWD/.venv/bin:$PATH
elif ! command -v componentize-py >/dev/null; then
  echo "componentize-py was not found: beside $0 run" \
    "'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'" >&2
  exit 1
fi
# The contract is beside the service, or shared by services beside each other.
wit=wit
[ -d "$wit" ] || wit=../wit
componentize-py --wit-path "$wit" --world service componentize app --output "$out"
