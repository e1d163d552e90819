#!/usr/bin/env bash
# Benchmarks of the Swift API beside GRDB, release build. Arguments go to the program: see Benchmarks/SwiftBench, a
# package of its own, so that nothing else depends on GRDB.
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs=${MOTTE_JOBS:-$(nproc)}
swift build -c release --package-path Benchmarks/SwiftBench --scratch-path .build-swift-bench -j "$jobs"
exec .build-swift-bench/release/SwiftBench "$@"
