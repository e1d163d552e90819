#!/usr/bin/env bash
# What live costs: delivery to observers, memory, latency between processes (over the release library), writes that
# share a flush and growth of the file (over the release engine). Without arguments everything, for a quiet machine.
#   scripts/bench-observers.sh [delivery|bulk|many|handed|memory|latency [number] | groups|growth [number]]
set -euo pipefail
cd "$(dirname "$0")/.."

observers() {
    [ -f build/library/libmotte.so ] || scripts/build.sh library
    mkdir -p build/bench
    gcc -std=gnu11 -Wall -Wextra -Werror -O2 -pthread -Iinclude -Ibindings/c Benchmarks/Observers/observers.c \
        -o build/bench/observers build/library/libmotte.so -Wl,-rpath,"$PWD/build/library"
    build/bench/observers "$@"
}

case "${1:-all}" in
    groups) scripts/bench.sh --groups "${2:-2000}" ;;
    growth) scripts/bench.sh --growth "${2:-1000000}" ;;
    all)
        for part in delivery bulk many handed memory latency; do observers "$part"; done
        scripts/bench.sh --groups 2000
        scripts/bench.sh --growth 1000000
        ;;
    *) observers "$@" ;;
esac
