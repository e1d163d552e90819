#!/usr/bin/env bash
# What Python does per object beside sqlite3 and ObjectBox, whose wheel goes to an environment of its own.
#   Benchmarks/Objects/run.sh [--quick] [--rows 20000] [--rounds 7] [--clock wall|cpu]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x .venv/bin/python ] || scripts/setup.sh
peers=build/bench/objects
.venv/bin/python -c 'import motte' 2> /dev/null || scripts/install-python.sh
if [ ! -d "$peers" ]; then
    # Without it, sqlite3 alone is the peer.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --target "$peers" \
        -r Benchmarks/Objects/requirements.txt || rm -rf "$peers"
fi
PYTHONPATH=$PWD/$peers exec .venv/bin/python Benchmarks/Objects/objects.py "$@"
