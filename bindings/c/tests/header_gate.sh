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

# motte_release() takes handles, constant ones and untyped ones; the address of a variable must not compile.
cat > "$work/releases.c" <<'C'
#include "motte.h"
#include <stddef.h>
void releases(motte_realm *realm, const motte_coll *coll, void *any);
void releases(motte_realm *realm, const motte_coll *coll, void *any) {
    (void)motte_release(realm);
    (void)motte_release(coll);
    (void)motte_release(any);
    (void)motte_release(NULL);
#ifdef WRONG
    (void)motte_release(&WRONG);
#endif
}
C
releases_gate() {
    # shellcheck disable=SC2086
    "$@" $warnings "$work/releases.c"
    for wrong in realm coll any; do
        # shellcheck disable=SC2086
        if "$@" $warnings -DWRONG=$wrong "$work/releases.c" 2> /dev/null; then
            echo "motte.h: error: $*: motte_release(&$wrong) compiles"
            exit 1
        fi
    done
}
for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    for standard in c11 c17 c2x; do releases_gate "$compiler" -std="$standard"; done
done
for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    for standard in c++11 c++17 c++20; do releases_gate "$compiler" -std="$standard" -x c++; done
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
