#!/usr/bin/env bash
# All that docs/BENCHMARKS.md compares with other engines, one after the other: workloads, small commits that are
# flushed and not, single objects beside ObjectBox as well, memory by budget.
#   Benchmarks/all.sh [--rows 1000000] [--rounds 3]     of the workloads; the others have sizes of their own
set -euo pipefail
cd "$(dirname "$0")/.."
title() { printf '\n=== %s\n' "$1"; }
title "workloads, beside SQLite and LMDB"
Benchmarks/run.sh --all "$@"
title "small commits that are not flushed, in turns with SQLite"
Benchmarks/run.sh --rows 200000 --rounds 1 --pairs 1000 --relaxed
title "small commits that are flushed, in turns with SQLite"
Benchmarks/run.sh --rows 200000 --rounds 1 --pairs 600
title "single objects through C, beside LMDB and ObjectBox"
Benchmarks/Peers/run.sh --clock cpu
title "memory and time by budget, beside SQLite"
scripts/build.sh tool > /dev/null
scripts/install-python.sh > /dev/null
.venv/bin/python Benchmarks/Memory/memory.py --size 100 1000 4000 --clock cpu
