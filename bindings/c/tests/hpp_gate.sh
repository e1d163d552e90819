#!/bin/sh
# motte.hpp compiles without a warning with every compiler that is here, as C++17 and C++20, and its test runs under
# the address sanitizer.   hpp_gate.sh LIBRARY_FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
library=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings="-Wall -Wextra -Wpedantic -Werror -I$root/include -I$root/bindings/c"
ran=0
for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    for standard in c++17 c++20; do
        # Both headers at once: motte.hpp includes the other's declarations.
        # shellcheck disable=SC2086  # the flags are words
        printf '#include "motte_inline.h"\n#include "motte.hpp"\n' |
            "$compiler" -std="$standard" $warnings -fsyntax-only -x c++ -
    done
    # shellcheck disable=SC2086
    "$compiler" -std=c++17 $warnings -g -fsanitize=address -fno-omit-frame-pointer "$here/hpp.cpp" \
        -o "$work/hpp" "$library/libmotte.so.1" -Wl,-rpath,"$library" -pthread
    # The library keeps a few blocks for as long as its threads live; handles are counted by the test itself.
    ASAN_OPTIONS=detect_leaks=0 "$work/hpp"
    ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || { echo "hpp_gate: no C++ compiler"; exit 1; }
echo "hpp_gate: ok, $ran compilers"
