#!/usr/bin/env bash
# All figures of queries from one command, with ratios: scans, orders and groups beside SQLite and plain columns in
# memory, groups beside DuckDB with one thread, indexes beside SQLite, plans beside their alternatives.
#
#   Benchmarks/queries.sh [rounds]       default: 15
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-15}
Benchmarks/run.sh --queries "$rounds"
echo
Benchmarks/Frames/run.sh --groups --rounds "$rounds"
echo
.venv/bin/python Benchmarks/Plans/indexes.py 1000000 "$rounds"
echo
.venv/bin/python Benchmarks/Plans/plans.py "$rounds"
