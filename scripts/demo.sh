#!/usr/bin/env bash
# The demo: the flights of New York in 2013 through the Python package, then the same file from the motte command and
# from C. Builds what is missing or older than its sources; the file it leaves is build/demo/flights.motte, the numbers
# build/demo/report.json.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whether $1 is missing or older than one of the others.
stale() {
    [ ! -e "$1" ] || [ -n "$(find "${@:2}" -type f -newer "$1" -print -quit)" ]
}

[ -x .venv/bin/python ] || scripts/setup.sh
sources=(Package.swift Sources include)
if stale build/library/libmotte.so.1 "${sources[@]}"; then scripts/build-library.sh; fi
if stale build/tool/motte "${sources[@]}"; then scripts/build-tool.sh; fi
stamp=.venv/motte-installed
if stale "$stamp" bindings/python/src bindings/python/setup.py include build/library; then
    scripts/install-python.sh
    touch "$stamp"
fi

mkdir -p build/demo
gcc -std=c11 -Wall -Wextra -O2 -Iinclude examples/demo/flights.c -o build/demo/flights_c \
    -Lbuild/library -lmotte -Wl,-rpath,"$PWD/build/library"

.venv/bin/python examples/demo/flights.py --file build/demo/flights.motte --report build/demo/report.json \
    --tool build/tool/motte --c-program build/demo/flights_c "$@"
