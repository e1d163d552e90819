#!/usr/bin/env bash
# Columns out of and into Python libraries, beside DuckDB; with --groups as the first argument, groups beside DuckDB and
# SQLite. Arguments go to Benchmarks/Frames/frames.py or groups.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d .venv ] || scripts/setup.sh
.venv/bin/python -c 'import motte' 2> /dev/null || scripts/install-python.sh
program=frames
if [ "${1:-}" = --groups ]; then
    program=groups
    shift
fi
exec .venv/bin/python Benchmarks/Frames/$program.py "$@"
