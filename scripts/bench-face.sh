#!/usr/bin/env bash
# Benchmarks of the Swift face beside GRDB, release build. Arguments go to the program: see Benchmarks/FaceBench, a
# package of its own, so that nothing else depends on GRDB.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${MOTTE_JOBS:-$(nproc)}
swift build -c release --package-path Benchmarks/FaceBench --scratch-path .build-face -j "$jobs"
exec .build-face/release/FaceBench "$@"
