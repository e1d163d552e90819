#!/bin/sh
# The header is C and C++ under the strictest flags, cffi reads its declaration region as it is, and the layout checksum
# is right. Needs gcc; clang and cffi are used when they are there. Run from anywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$root/include -I$root/bindings/c"
# shellcheck disable=SC2086  # the flags are words
for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    for standard in c99 c11 c17 c2x; do
        "$compiler" -std="$standard" -Wstrict-prototypes -Wc++-compat $warnings "$here/header_only.c"
        "$compiler" -std="$standard" -Wstrict-prototypes -Wc++-compat $warnings "$here/inline_only.c"
    done
done
# shellcheck disable=SC2086
for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    for standard in c++11 c++14 c++17 c++20; do
        "$compiler" -std="$standard" $warnings -x c++ "$here/header_only.c"
        "$compiler" -std="$standard" $warnings -x c++ "$here/inline_only.c"
    done
done

python3 "$root/bindings/c/header.py" layout > "$work/layout.c"
gcc -std=c11 -I"$root/include" "$work/layout.c" -o "$work/layout"
"$work/layout" > "$work/checksum" || {
    echo "motte.h: error: MOTTE_ABI_LAYOUT must be $(cat "$work/checksum")"
    exit 1
}

if python3 -c 'import cffi' 2> /dev/null; then
    python3 - "$root" <<'PYTHON'
import sys, cffi
sys.path.insert(0, sys.argv[1] + "/bindings/c")
import header
ffi = cffi.FFI()
ffi.cdef(header.region())
parsed = {key.split()[1] for key in ffi._parser._declarations if key.startswith("function ")}
declared = {function.name for function in header.functions()}
assert parsed == declared, parsed ^ declared
PYTHON
else
    echo "header_gate: cffi is not installed, its part was skipped"
fi
echo "header_gate: ok"
