#!/usr/bin/env bash
# Benchmarks, release build, beside SQLite and raw LMDB. Arguments go to the program: see Benchmarks/MotteBench.
set -euo pipefail
cd "$(dirname "$0")/.."
pkg-config --exists lmdb sqlite3 || scripts/setup.sh benchmarks
# Package.swift has the benchmarks and the engines they compare with only where this is set.
export MOTTE_BENCHMARKS=1
mapfile -t optimised < <(scripts/build.sh flags)
swift build "${optimised[@]}" --product MotteBench
exec .build/release/MotteBench "$@"
