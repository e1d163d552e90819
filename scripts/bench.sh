#!/usr/bin/env bash
# Benchmarks, release build, beside SQLite and raw LMDB. Arguments go to the program: see Benchmarks/MotteBench.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${MOTTE_JOBS:-$(nproc)}
swift build -c release --product MotteBench --scratch-path .build-bench -j "$jobs"
exec .build-bench/release/MotteBench "$@"
