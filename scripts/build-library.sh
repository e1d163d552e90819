#!/usr/bin/env bash
# Builds the self-contained libmotte.so that C, Python and every other language load.
#
#   scripts/build-library.sh [output folder]        default: build/library
#   MOTTE_GLIBC=2.28 scripts/build-library.sh       for systems with that C library or a later one (old-glibc.sh)
#
# Output:  libmotte.so.1 (stripped), libmotte.so -> libmotte.so.1, libmotte.exports
#
# Self-contained means: the Swift runtime is inside, only the C and C++ runtimes of the system are needed, and nothing
# is exported but what motte.h declares. All of that is checked here, so a library that exists is right.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-build/library}
scratch=${MOTTE_LIBRARY_SCRATCH:-.build-library}
jobs=${MOTTE_JOBS:-$(nproc)}
largest_bytes=$((15 * 1000 * 1000 + 300 * 1000))

fail() { echo "build-library: $*" >&2; exit 1; }

mkdir -p "$scratch" "$output"
work=$(cd "$scratch" && pwd)

python3 bindings/c/header.py exports > "$work/motte.map"
python3 bindings/c/header.py functions | sort > "$output/libmotte.exports"

# -Bsymbolic and -z nodelete: the Swift runtime inside must not meet another one in the process, and its threads and
# thread-local destructors outlive any dlclose. --icf=safe: functions with the same code, whose address nobody asks for,
# are there once, which is 160 KB less.
link=(
    -Xlinker "--version-script=$work/motte.map"
    -Xlinker --gc-sections
    -Xlinker --icf=safe
    -Xlinker -soname -Xlinker libmotte.so.1
    -Xlinker -z -Xlinker nodelete
    -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
    -Xlinker -Bsymbolic)
swift build -c release --product motte --scratch-path "$scratch" -j "$jobs" -Xswiftc -static-stdlib "${link[@]}"

built=$scratch/release/libmotte.so
if [ -n "${MOTTE_GLIBC:-}" ]; then
    # The same objects with the stubs of an older C library.
    stubs=$(scripts/old-glibc.sh "$MOTTE_GLIBC")
    built=$scratch/libmotte-glibc-$MOTTE_GLIBC.so
    swiftc -L "$stubs" -emit-library -module-name motte -static-stdlib -o "$built" \
        "@$scratch/release/motte.product/Objects.LinkFileList" "${link[@]}" -Xlinker --no-undefined
fi
[ -f "$built" ] || fail "the build made no $built"
strip --strip-unneeded -o "$output/libmotte.so.1.new" "$built"

# Checks.
library=$output/libmotte.so.1.new
size=$(stat -c %s "$library")
[ "$size" -lt "$largest_bytes" ] || fail "$size bytes stripped, more than $largest_bytes"
needed=$(scripts/check-needed.sh "$library")
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libmotte.so.1 ] || fail "soname is '$soname'"
nm -D --defined-only --extern-only "$library" |
    awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$work/exported"
if ! diff "$output/libmotte.exports" "$work/exported" > "$work/difference"; then
    cat "$work/difference" >&2
    fail "exports differ from motte.h ('<' declared, '>' exported)"
fi

mv "$library" "$output/libmotte.so.1"
ln -sf libmotte.so.1 "$output/libmotte.so"
echo "built $output/libmotte.so.1: $size bytes, $(wc -l < "$output/libmotte.exports") functions," \
    "needs ${needed//$'\n'/ }"
