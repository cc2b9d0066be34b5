#!/usr/bin/env bash
# Generates the client from the node's proto file and runs it. Needs a Python with requirements.txt, and a node that listens.
#   run.sh --invoke HOST:PORT --control HOST:PORT --token-file FILE --endless SERVICE#FUNCTION
set -euo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
proto="$here/../../crates/latent-wire/proto"
generated="$(mktemp -d)"
trap 'rm -rf "$generated"' EXIT
python3 -m grpc_tools.protoc -I "$proto/latent/v1" --python_out="$generated" --grpc_python_out="$generated" latent.proto
PYTHONPATH="$generated" python3 "$here/client.py" "$@"
