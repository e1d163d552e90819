#!/usr/bin/env bash
# Builds the engine, its tests and the fuzz targets in .build-address: optimised, so that there can be many random
# operations, but with assertions, the address sanitizer and what libFuzzer counts. See scripts/fuzz.sh and
# scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

MOTTE_ENGINE_ONLY=1 swift build --build-tests -c release --sanitize address \
    --scratch-path .build-address -j "${MOTTE_JOBS:-$(nproc)}" \
    --explicit-target-dependency-import-check error \
    -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug \
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp
