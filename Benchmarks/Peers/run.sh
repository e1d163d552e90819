#!/usr/bin/env bash
# Single objects through the C interface beside LMDB and ObjectBox, whose library goes to a folder of its own.
#   Benchmarks/Peers/run.sh [--rows 300000] [--rounds 5] [--clock wall|cpu]
set -euo pipefail
cd "$(dirname "$0")/../.."
pkg-config --exists lmdb || scripts/setup.sh benchmarks
[ -x .venv/bin/python ] || scripts/setup.sh
[ -f build/library/libmotte.so ] || scripts/build.sh library
peers=build/bench/objects
if [ ! -d "$peers" ]; then
    # Without it LMDB alone is the peer.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --target "$peers" \
        -r Benchmarks/Objects/requirements.txt || rm -rf "$peers"
fi
objectbox=$(find "$peers" -name libobjectbox.so -path "*$(uname -m)*" 2> /dev/null | head -n 1)
gcc -std=gnu11 -Wall -Wextra -Werror -O2 -Iinclude -Ibindings/c Benchmarks/Peers/*.c -o build/bench/peers \
    build/library/libmotte.so -llmdb -ldl -Wl,-rpath,"$PWD/build/library"
exec build/bench/peers ${objectbox:+--objectbox "$PWD/$objectbox"} "$@"
