#!/usr/bin/env bash
# The demo: the flights of New York in 2013 through the Python package, then the same file from the motte command and
# from C. Builds only what is missing (`make demo` brings everything up to date first); the file it leaves is
# build/demo/flights.motte, the numbers build/demo/report.json.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x .venv/bin/python ] || scripts/setup.sh
[ -f build/library/libmotte.so.1 ] || scripts/build.sh library
[ -x build/tool/motte ] || scripts/build.sh tool
.venv/bin/python -c 'import motte' 2> /dev/null || scripts/install-python.sh

mkdir -p build/demo
gcc -std=c11 -Wall -Wextra -O2 -Iinclude examples/demo/flights.c -o build/demo/flights_c \
    -Lbuild/library -lmotte -Wl,-rpath,"$PWD/build/library"

.venv/bin/python examples/demo/flights.py --file build/demo/flights.motte --report build/demo/report.json \
    --tool build/tool/motte --c-program build/demo/flights_c "$@"
