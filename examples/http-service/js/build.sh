#!/usr/bin/env bash
# Builds the component with jco. Installs nothing but what npx keeps in its own cache.
#   build.sh OUT.wasm
# Takes jco from node_modules, else from the PATH, else through npx in the version that package.json names.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 OUT.wasm" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if ! command -v node >/dev/null; then
  echo "node is not on the PATH: install Node.js 20 or later with npm" >&2
  exit 1
elif [ -x node_modules/.bin/jco ]; then
  jco=(node_modules/.bin/jco)
elif command -v jco >/dev/null; then
  jco=(jco)
elif command -v npx >/dev/null; then
  wanted=$(node -p 'require("./package.json").devDependencies["@bytecodealliance/jco"]')
  jco=(npx --yes --package "@bytecodealliance/jco@$wanted" jco)
else
  echo "jco was not found: run 'npm install' beside $0, or install npm so that npx is on the PATH" >&2
  exit 1
fi
# The contract is beside the service, or shared by services beside each other.
wit=wit
[ -d "$wit" ] || wit=../wit
"${jco[@]}" componentize service.js --wit "$wit" --world-name service --enable http --enable fetch-event --out "$out"
