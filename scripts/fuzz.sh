#!/usr/bin/env bash
# Runs the fuzz targets of Fuzz/ under libFuzzer and the address sanitizer.
#
#   scripts/fuzz.sh                     all targets, pages 60 s together, the others 5 s each
#   scripts/fuzz.sh 600 queryText       one of them (or some) for 600 s each
#
# Begins with seeds made by the targets, the inputs of Fuzz/kept and what earlier runs on this machine found
# interesting (build/fuzz/corpus). A finding leaves its input in build/fuzz/found; mend it, and keep the input in
# Fuzz/kept/<target>. The last line is "N passed, N failed".
#
#   MOTTE_TEST_SCALE=20    that many times as long          MOTTE_TEST_SEED=...    the fuzzer's seed
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
# A crash is told by its stack, not by minutes of symbols.
export SWIFT_BACKTRACE=enable=no

scripts/build-addresses.sh

# The objects of the engine and the targets, with libFuzzer's main program.
mkdir -p "$folder/found"
mapfile -t objects < <(find "$scratch"/release/{CMotteShim,Motte*}.build -name '*.o' | sort)
swiftc -sanitize=fuzzer,address "${objects[@]}" -llmdb -o "$folder/motte-fuzz"

# Target and seconds.
plan=(pageFile:40 pageNode:20)
for name in columnChunk indexBlock changeRecord catalog nestedDocument schemaText queryText json csv storeContent; do
    plan+=("$name:5")
done
if [ $# -gt 0 ]; then
    plan=()
    for name in "$@"; do plan+=("$name:$seconds"); done
elif [ -n "$seconds" ]; then
    plan=("${plan[@]/%:*/:$seconds}")
fi

run() {
    local name=$1 limit
    limit=$(awk "BEGIN { t = $2 * $scale; print t < 1 ? 1 : int(t) }")
    local corpus=$folder/corpus/$name seeds=$folder/seeds/$name kept=Fuzz/kept/$name log=$folder/$name.log
    rm -rf "$seeds"
    mkdir -p "$corpus" "$seeds"
    export MOTTE_FUZZ_TARGET=$name
    MOTTE_FUZZ_SEEDS=$seeds "$folder/motte-fuzz"
    local folders=("$corpus" "$seeds")
    [ ! -d "$kept" ] || folders+=("$kept")
    if "$folder/motte-fuzz" -max_total_time="$limit" -seed="$seed" -timeout=25 -rss_limit_mb=2048 -max_len=8192 \
        -detect_leaks=0 -artifact_prefix="$folder/found/$name-" "${folders[@]}" > "$log" 2>&1; then
        echo "note: $name: $(sed -n 's/^Done \([0-9]*\) runs in.*/\1/p' "$log") inputs in $limit s, $(
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

passed=1 failed=0 running=()
finish() {
    if wait "${running[0]}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    running=("${running[@]:1}")
}
for entry in "${plan[@]}"; do
    [ ${#running[@]} -lt "$jobs" ] || finish
    run "${entry%%:*}" "${entry##*:}" &
    running+=($!)
done
while [ ${#running[@]} -gt 0 ]; do finish; done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
