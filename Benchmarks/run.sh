#!/usr/bin/env bash
# Benchmarks, release build, beside SQLite and raw LMDB. Arguments go to the program: see Benchmarks/MotteBench.
set -euo pipefail
cd "$(dirname "$0")/.."
pkg-config --exists lmdb sqlite3 || scripts/setup.sh benchmarks
scripts/build.sh bench
exec .build/release/MotteBench "$@"
