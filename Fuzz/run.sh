#!/usr/bin/env bash
# Runs the fuzz targets of Fuzz/ under libFuzzer and the address sanitizer.
#
#   Fuzz/run.sh                     all targets, a number of inputs each: pages take about 60 s, the others 5 s each
#   Fuzz/run.sh 600 queryText       one of them (or some) for 600 s each
#
# Begins with seeds made by the targets, the inputs of Fuzz/kept and what earlier runs on this machine found
# interesting (build/fuzz/corpus). A finding leaves its input in build/fuzz/found; mend it, and keep the input in
# Fuzz/kept/<target>. The last line is "N passed, N failed".
#
# The same seed gives the same inputs, where no corpus is left of earlier runs.
#
#   MOTTE_TEST_SCALE=20    that many times as many          MOTTE_TEST_SEED=...    the fuzzer's seed
#   MOTTE_JOBS=2           targets at once
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-}
[ $# -eq 0 ] || shift
scratch=.build-address
folder=build/fuzz
jobs=${MOTTE_JOBS:-$(nproc)}
seed=${MOTTE_TEST_SEED:-$RANDOM}
scale=${MOTTE_TEST_SCALE:-1}
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
# A crash is identified by its stack, not by minutes of symbols.
export SWIFT_BACKTRACE=enable=no SWIFT_DETERMINISTIC_HASHING=1

scripts/build.sh addresses

# The objects of the engine and the targets, with libFuzzer's main program.
mkdir -p "$folder/found"
# Those that the tests were linked of, which have no object of a source that is gone.
list=$scratch/release/mottePackageTests.product/Objects.LinkFileList
mapfile -t objects < <(sed "s/^'\(.*\)'\$/\1/" "$list" | grep -E '/C?Motte[A-Za-z]*\.build/' | sort)
swiftc -sanitize=fuzzer,address "${objects[@]}" -o "$folder/motte-fuzz"

# Target and inputs.
plan=(
    pageFile:14000 pageNode:120000 columnChunk:25000 indexBlock:12000 orderedBlock:4000 changeRecord:30000
    changeBatch:1500 catalog:8000
    nestedDocument:50000 schemaText:25000 queryText:10000 json:1200 csv:1200 storeContent:350
    storeFields:800 realmFile:1500
)
if [ $# -gt 0 ]; then
    plan=("$@")
elif [ -n "$seconds" ]; then
    plan=("${plan[@]%:*}")
fi

run() {
    local name=${1%:*} limit=-max_total_time=$seconds
    [ "$1" = "$name" ] || limit=-runs=$(awk "BEGIN { n = ${1#*:} * $scale; print n < 1 ? 1 : int(n) }")
    local corpus=$folder/corpus/$name seeds=$folder/seeds/$name kept=Fuzz/kept/$name log=$folder/$name.log
    rm -rf "$seeds"
    mkdir -p "$corpus" "$seeds"
    export MOTTE_FUZZ_TARGET=$name
    MOTTE_FUZZ_SEEDS=$seeds "$folder/motte-fuzz"
    # Seeds run before anything else: of very many only so many that half of the inputs are others.
    if [ "$1" != "$name" ]; then
        find "$seeds" -type f | sort | awk -v most="$(awk "BEGIN { print int(${1#*:} * $scale / 2) + 1 }")" \
            '{ files[NR] = $0 } END { step = int(NR / most) + 1
               for (i = 1; i <= NR; i++) if (i % step != 0 && NR > most) print files[i] }' | xargs -r rm -f
    fi
    local folders=("$corpus" "$seeds")
    [ ! -d "$kept" ] || folders+=("$kept")
    if "$folder/motte-fuzz" "$limit" -seed="$seed" -timeout=25 -rss_limit_mb=2048 -max_len=8192 \
        -detect_leaks=0 -artifact_prefix="$folder/found/$name-" "${folders[@]}" > "$log" 2>&1; then
        echo "note: $name: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\).*/\1 inputs in \2 s/p' "$log"), $(
            grep -o 'cov: [0-9]*' "$log" | tail -1), seed $seed"
    else
        echo "$name: FAILED"
        grep -v '^#' "$log" | tail -40
        return 1
    fi
}

# Findings must be noticed, or the rest proves nothing.
if MOTTE_FUZZ_TARGET=alwaysFails "$folder/motte-fuzz" -runs=1000 -artifact_prefix="$folder/" > "$folder/always.log" 2>&1
then
    echo "the target that always fails did not"
    exit 1
fi

passed=1 running=() names=() findings=()
finish() {
    if wait "${running[0]}"; then passed=$((passed + 1)); else findings+=("${names[0]%:*}"); fi
    running=("${running[@]:1}") names=("${names[@]:1}")
}
for entry in "${plan[@]}"; do
    [ ${#running[@]} -lt "$jobs" ] || finish
    run "$entry" &
    running+=($!) names+=("$entry")
done
while [ ${#running[@]} -gt 0 ]; do finish; done
[ ${#findings[@]} -eq 0 ] || echo "findings in $folder/found: ${findings[*]}"
echo "$passed passed, ${#findings[@]} failed"
[ ${#findings[@]} -eq 0 ]
