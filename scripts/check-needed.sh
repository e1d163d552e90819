#!/usr/bin/env bash
# Fails when a program or library needs anything at run time but the C library of the system, or what the patterns name
# besides; or, without patterns, when it looks for libraries in a folder of its own or was not linked with relro and
# now. Prints what it needs.
#
#   scripts/check-needed.sh <file> [pattern ...]        scripts/check-needed.sh build/consumer 'libswift*.so'
set -euo pipefail

file=$1
shift
asked=$#
# The four last are part of newer C libraries.
allowed=('libc.so.*' 'libm.so.*' 'ld-linux*.so.*'
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
if [ "$asked" -eq 0 ] && readelf -d "$file" | grep -E '\((RPATH|RUNPATH)\)' >&2; then
    echo "check-needed: $file looks for libraries in a folder of its own" >&2
    exit 1
fi
# Addresses of functions are all found at the start, and nobody can write over them then.
if [ "$asked" -eq 0 ] && ! { readelf -lW "$file" | grep GNU_RELRO && readelf -d "$file" | grep BIND_NOW; } > /dev/null
then
    echo "check-needed: $file is not linked with -z relro -z now" >&2
    exit 1
fi
# shellcheck disable=SC2086
echo $needed
