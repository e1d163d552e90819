#!/usr/bin/env bash
# Fails when a program or library needs anything at run time but the C and C++ runtimes of the system, or what the
# patterns name besides; prints what it needs.
#
#   scripts/check-needed.sh <file> [pattern ...]        scripts/check-needed.sh build/consumer 'libswift*.so'
set -euo pipefail

file=$1
shift
# The four last are part of newer C libraries.
allowed=('libc.so.*' 'libm.so.*' 'libstdc++.so.*' 'libgcc_s.so.*' 'ld-linux*.so.*'
         'libpthread.so.*' 'libdl.so.*' 'librt.so.*' 'libutil.so.*' "$@")
needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
[ -n "$needed" ] || { echo "check-needed: $file names nothing that it needs; is it a program or library?" >&2; exit 1; }
for dependency in $needed; do
    known=
    for pattern in "${allowed[@]}"; do
        # shellcheck disable=SC2053
        if [[ $dependency == $pattern ]]; then known=yes; break; fi
    done
    [ -n "$known" ] || { echo "check-needed: $file needs $dependency at run time" >&2; exit 1; }
done
# shellcheck disable=SC2086
echo $needed
