#!/usr/bin/env bash
# Columns out of and into Python libraries, beside DuckDB. Arguments go to Benchmarks/Frames/frames.py.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d .venv ] || scripts/setup.sh
.venv/bin/python -c 'import motte' 2> /dev/null || scripts/install-python.sh
exec .venv/bin/python Benchmarks/Frames/frames.py "$@"
