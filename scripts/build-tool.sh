#!/usr/bin/env bash
# Builds the `motte` command for release: build/tool/motte, with its man pages and completion in build/tool/share. The
# same objects as libmotte.so, the Swift runtime inside, so that it runs where Swift is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-build/tool}
scratch=${MOTTE_LIBRARY_SCRATCH:-.build-library}
jobs=${MOTTE_JOBS:-$(nproc)}

mkdir -p "$output"

swift build -c release --product motte-tool --scratch-path "$scratch" -j "$jobs" \
    -Xswiftc -static-stdlib \
    -Xlinker --gc-sections

built=$scratch/release/motte-tool
if [ -n "${MOTTE_GLIBC:-}" ]; then
    # The same objects with the stubs of an older C library.
    stubs=$(scripts/old-glibc.sh "$MOTTE_GLIBC")
    built=$scratch/motte-glibc-$MOTTE_GLIBC
    swiftc -L "$stubs" -Xclang-linker "-B$stubs" -emit-executable -static-stdlib -o "$built" \
        "@$scratch/release/motte-tool.product/Objects.LinkFileList" -Xlinker --gc-sections \
        -Xlinker --allow-shlib-undefined -Xlinker --defsym=main=MotteTool_main
fi
strip -o "$output/motte.new" "$built"
needed=$(scripts/check-needed.sh "$output/motte.new")
mv "$output/motte.new" "$output/motte"
python3 scripts/manual.py "$output/motte" "$output/share"
echo "built $output/motte: $(stat -c %s "$output/motte") bytes, needs ${needed//$'\n'/ }"
