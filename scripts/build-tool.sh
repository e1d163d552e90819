#!/usr/bin/env bash
# Builds the `motte` command for release: build/tool/motte. The same objects as libmotte.so, LMDB and the Swift runtime
# inside, so that it runs where Swift is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-build/tool}
scratch=${MOTTE_LIBRARY_SCRATCH:-.build-library}
jobs=${MOTTE_JOBS:-$(nproc)}

[ -f "$scratch/liblmdb-pic.a" ] || scripts/build-library.sh
work=$(cd "$scratch" && pwd)
mkdir -p "$output"

MOTTE_LMDB_BY_PATH=1 swift build -c release --product motte-tool --scratch-path "$scratch" -j "$jobs" \
    -Xswiftc -static-stdlib \
    -Xlinker "$work/liblmdb-pic.a" \
    -Xlinker --gc-sections

strip -o "$output/motte.new" "$scratch/release/motte-tool"
mv "$output/motte.new" "$output/motte"
echo "built $output/motte: $(stat -c %s "$output/motte") bytes"
