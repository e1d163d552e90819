#!/usr/bin/env bash
# What can be said here of machines that are not here: the C sources compile for aarch64, where `char` has no sign, and
# answer there (under qemu-user) as they do on this machine; the engine works where the system's pages are 16 and 64 KB.
# Swift's standard library for aarch64 is not part of the toolchain for x86-64, so the rest is not compiled.
#
# Takes clang of the toolchain, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user (scripts/setup.sh
# portability).
set -euo pipefail
cd "$(dirname "$0")/../.."
work=build/portability
passed=0
say() { passed=$((passed + 1)); echo "ok: $*"; }
fail() { echo "portability: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"

folders=(Sources/CMotteShim Sources/CMotteNats Sources/CMottePostgres)
flags=(-std=gnu11 -O2 -Wall -Wextra -Wconversion -Werror)
for folder in "${folders[@]}"; do flags+=("-I$folder/include"); done

# build TARGET NAME FLAG ...: all C sources, and a program of those it needs
build() {
    local target=$1 name=$2 source
    shift 2
    for folder in "${folders[@]}"; do
        for source in "$folder"/*.c; do
            clang "--target=$target" "${flags[@]}" "$@" -c "$source" -o "$work/$(basename "$source" .c)-$name.o" ||
                fail "$source does not compile for $name"
        done
    done
    clang "--target=$target" "${flags[@]}" "$@" -fuse-ld=lld -static Tests/Portability/shim.c \
        "$work"/{shim,scan,xxh3,memory,holds,fork,descriptors,mappings}-"$name".o -o "$work/shim-$name" -lpthread
}
build x86_64-linux-gnu here
"$work/shim-here" > "$work/here.txt"
build x86_64-linux-gnu unsigned -funsigned-char
"$work/shim-unsigned" | diff "$work/here.txt" - || fail "what the shims answer depends on the sign of char"
say "$(wc -l < "$work/here.txt") answers where char has no sign"
build aarch64-linux-gnu aarch64
qemu-aarch64 "$work/shim-aarch64" | diff "$work/here.txt" - || fail "aarch64 answers otherwise"
say "the same answers on aarch64"

gcc -O2 -Wall -Wextra -Werror -shared -fPIC Tests/Portability/page_size.c -o "$work/page_size.so" -ldl
for size in 16384 65536; do
    LD_PRELOAD=$PWD/$work/page_size.so MOTTE_PAGE_SIZE=$size .venv/bin/python Tests/Portability/pages.py \
        "$work/pages-$size.motte" "$size" || fail "the engine fails where pages have $size bytes"
    say "the engine with pages of $size bytes"
done
echo "$passed passed, 0 failed"
