#!/usr/bin/env bash
# What observers cost, over the release library: delivery, memory, latency between processes, growth of the file.
#   scripts/bench-observers.sh [delivery|memory|latency|growth [number]]
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/library/libmotte.so ] || scripts/build-library.sh
mkdir -p build/bench
gcc -std=gnu11 -Wall -Wextra -Werror -O2 -Iinclude -Ibindings/c Benchmarks/Observers/observers.c \
    -o build/bench/observers build/library/libmotte.so -Wl,-rpath,"$PWD/build/library"
if [ $# -gt 0 ]; then exec build/bench/observers "$@"; fi
for part in delivery memory latency growth; do build/bench/observers "$part"; done
