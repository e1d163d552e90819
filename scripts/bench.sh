#!/usr/bin/env bash
# Benchmarks, release build, beside SQLite and raw LMDB. Arguments go to the program: see Benchmarks/MotteBench.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${MOTTE_JOBS:-$(nproc)}
pkg-config --exists lmdb sqlite3 || scripts/setup.sh benchmarks
# Package.swift has the benchmarks and the engines they compare with only where this is set.
export MOTTE_BENCHMARKS=1
swift build -c release --product MotteBench --scratch-path .build-bench -j "$jobs"
exec .build-bench/release/MotteBench "$@"
