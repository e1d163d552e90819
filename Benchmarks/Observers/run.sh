#!/usr/bin/env bash
# What live costs: delivery to observers, memory, latency between processes (over the release library), writes that
# share a flush and growth of the file (over the release engine). Without arguments everything, for a quiet machine.
#   Benchmarks/Observers/run.sh [delivery|bulk|many|handed|memory|latency [number] | groups|growth [number]]
set -euo pipefail
cd "$(dirname "$0")/../.."

observers() {
    [ -f build/library/libmotte.so ] || scripts/build.sh library
    mkdir -p build/bench
    gcc -std=gnu11 -Wall -Wextra -Werror -O2 -pthread -Iinclude -Ibindings/c Benchmarks/Observers/observers.c \
        -o build/bench/observers build/library/libmotte.so -Wl,-rpath,"$PWD/build/library"
    build/bench/observers "$@"
}

case "${1:-all}" in
    groups) Benchmarks/run.sh --groups "${2:-2000}" ;;
    growth) Benchmarks/run.sh --growth "${2:-1000000}" ;;
    all)
        for part in delivery bulk many handed memory latency; do observers "$part"; done
        Benchmarks/run.sh --groups 2000
        Benchmarks/run.sh --growth 1000000
        ;;
    *) observers "$@" ;;
esac
