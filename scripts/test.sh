#!/usr/bin/env bash
# Everything that must be true before a change is done, in stages.
#
#   scripts/test.sh                 all of them
#   scripts/test.sh tidy c python   some of them, in this order
#
# A stage that fails does not stop the others. Each keeps its output in build/test-logs/<stage>.log; what failed is
# printed when it fails and named again at the end. The last line is "N passed, N failed" and decides the exit code.
#
#   MOTTE_TEST_SCALE=20    property, crash and fuzz tests that many times as long (default 1)
#   MOTTE_TEST_SEED=...    repeat a random test; with CI=true each commit has a seed of its own, otherwise each run
#   V=1                    show all output while it runs
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD

# Stage, minutes it may take on two cores, what it is.
plan=(
    "build:7:Swift sources and tests, optimised, floors checked by the compiler"
    "library:4:self-contained libmotte.so and the motte command, release"
    "unit:2:Swift unit and property tests of the optimised build"
    "c:2:header gates, C tests, C example, conformance in C (CTest)"
    "python:3:pip install, Python tests, conformance in Python over both page stores"
    "memory:2:C tests under valgrind: what the library lends, handed back to it; callbacks"
    "tidy:1:floors, names, exports, error numbers, documents, promises"
    "crash:2:kill -9 with two processes, order of writes and flushes, over both page stores"
    "demo:6:the flights, every printed number recomputed without Motte; every operation on a whole file, on that one"
    "consumers:6:CMake, pkg-config, a Swift package and a wheel, each from outside"
    "threads:5:engine tests under the thread sanitizer"
    "addresses:6:engine tests under the address sanitizer"
    "fuzz:7:a million operations beside a model, 100,000 power cuts, flipped bytes, fuzz targets"
)

export MOTTE_TEST_SCALE=${MOTTE_TEST_SCALE:-1}
if [ "${CI:-}" = true ]; then
    # The same commit gives the same answer twice; new seeds come with new commits, `make soak` and every other run.
    export MOTTE_TEST_SEED=${MOTTE_TEST_SEED:-$((0x$(git rev-parse HEAD | cut -c1-7)))}
fi
jobs=${MOTTE_JOBS:-$(nproc)}
logs=build/test-logs
python=.venv/bin/python
floors=(--explicit-target-dependency-import-check error)
# What users get: messages that only a debug build prints are none.
optimised=(-c release -Xswiftc -enable-testing "${floors[@]}")
engine_tests='^(Values|Pages|Columns|SchemaModel|Storage|QueryEngine|LiveObjects|Notifications|Exchange)Tests\.'
mkdir -p "$logs"

# ------------------------------------------------------------------------------------------------ stages

stage_build() {
    swift build --build-tests -j "$jobs" "${optimised[@]}" | tee "$logs/build-output.txt"
    # A build that had nothing to compile shows no warnings, so this bites on a clean clone.
    ! grep -E '(Sources|Tests|Benchmarks)/.*: warning:' "$logs/build-output.txt"
}

stage_library() {
    scripts/build-library.sh
    scripts/build-tool.sh
    build/tool/motte --help > /dev/null
}

stage_unit() {
    swift test --skip-build "${optimised[@]}"
}

stage_tidy() {
    python3 scripts/tidy.py
}

stage_c() {
    cmake -S . -B build/ctest -DCMAKE_BUILD_TYPE=Debug -DMOTTE_PREBUILT="$root/build/library" -DMOTTE_BUILD_TOOL=OFF
    cmake --build build/ctest -j "$jobs"
    (cd build/ctest && ctest --output-on-failure)
}

stage_python() {
    scripts/install-python.sh
    "$python" -m pytest -q bindings/python/tests Tests/Tool Tests/FileFormat Tests/Documents
    # Files of the other form behave the same.
    MOTTE_PAGER=lmdb "$python" -m pytest -q bindings/python/tests/test_conformance.py
}

# The release library in one piece: use of memory that was given up, by tests that hand back what was lent.
stage_memory() {
    cmake -S . -B build/ctest -DCMAKE_BUILD_TYPE=Debug -DMOTTE_PREBUILT="$root/build/library" -DMOTTE_BUILD_TOOL=OFF
    cmake --build build/ctest -j "$jobs"
    local test
    for test in own_views callbacks; do
        valgrind --quiet --error-exitcode=9 --num-callers=16 \
            "$(find build/ctest -name "motte_$test" -type f -perm -u+x)"
    done
}

stage_crash() {
    "$python" Tests/Crash/run.py
}

stage_demo() {
    scripts/demo.sh
    "$python" Tests/Demo/check.py
    "$python" Tests/RealSize/run.py
}

stage_consumers() {
    scripts/check-consumers.sh
}

# The engine below the faces; what the C and Python tests drive is the release library.
stage_threads() {
    export TSAN_OPTIONS="halt_on_error=1 suppressions=$root/scripts/thread-sanitizer.suppressions"
    # For tests of what a sanitizer does not allow, such as little address space.
    export MOTTE_TEST_SANITIZER=thread MOTTE_ENGINE_ONLY=1
    swift build --build-tests --sanitize thread --scratch-path .build-thread -j "$jobs"
    # Random tests have one thread; those with more do not depend on the scale.
    MOTTE_TEST_SCALE=$(scaled 0.1) \
        swift test --skip-build --sanitize thread --scratch-path .build-thread --filter "$engine_tests"
}

# A multiple of the usual scale.
scaled() { awk "BEGIN { print $MOTTE_TEST_SCALE * $1 }"; }

# Tests in the build of scripts/build-addresses.sh: a multiple of the usual scale, a filter.
with_addresses() {
    # Leaks are counted by the tests themselves; the runtime's own caches would only drown them here.
    MOTTE_ENGINE_ONLY=1 MOTTE_TEST_SANITIZER=address MOTTE_TEST_SCALE=$(scaled "$1") \
        ASAN_OPTIONS=detect_leaks=0:malloc_context_size=${3:-20} \
        swift test --skip-build -c release --sanitize address --scratch-path .build-address --filter "$2"
}

stage_addresses() {
    scripts/build-addresses.sh
    # Random tests are what takes long here, and run at full length in `unit` and longer in `fuzz`.
    with_addresses 0.4 "$engine_tests|^ConformanceTests"
}

stage_fuzz() {
    scripts/build-addresses.sh
    with_addresses 29 '^StorageTests\.EverythingTests' 0
    with_addresses 167 '^PagesTests\.CutTests/(random|journaled)Runs' 0
    with_addresses 10 '^PagesTests\.DamageTests/everyFlipped' 0
    scripts/fuzz.sh
}

# ------------------------------------------------------------------------------------------------ running them

known() { printf '%s\n' "${plan[@]}" | cut -d: -f1; }

# Tests counted in a log: "passed failed". Without counts, the stage is one check.
counts() {
    "$python" - "$1" "$2" <<'PYTHON'
import re, sys
text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
succeeded = sys.argv[2] == "0"
passed = failed = 0
# Swift Testing: one line a run.
for total, outcome, rest in re.findall(r"Test run with (\d+) tests?.*? (passed|failed)(.*)", text):
    bad = len(set(re.findall(r"✘ Test (?!run with)(.+?) (?:recorded|failed)", text))) if outcome == "failed" else 0
    passed += int(total) - min(bad, int(total))
    failed += bad or (outcome == "failed")
# pytest and our own runners: "12 passed, 1 failed" or "1 failed, 12 passed".
words = "passed|failed|skipped|deselected|warnings?|errors?|xfailed"
for line in re.findall(rf"(?m)^=*\s*((?:\d+ (?:{words})(?:, )?)+).*$", text):
    for number, word in re.findall(r"(\d+) (passed|failed|errors?)", line):
        if word == "passed": passed += int(number)
        else: failed += int(number)
# CTest.
for bad, total in re.findall(r"(\d+) tests? failed out of (\d+)", text):
    passed += int(total) - int(bad)
    failed += int(bad)
if succeeded: failed = 0
if not succeeded and not failed: failed = 1
if passed + failed == 0: passed = 1
print(passed, failed)
PYTHON
}

# What a failed stage's log says of the reason, for readers who get the end of the output only.
told() {
    local reason='✘|error:|Fatal error|WARNING: ThreadSanitizer|ERROR: AddressSanitizer|SUMMARY: |signal code|FAILED'
    { grep -aE "$reason" "$1" || tail -n 8 "$1"; } | cut -c1-240 | tail -n 12
    # Who did what, of the first thing that a sanitizer found.
    local lines='^ *#[0-9]+ |  [A-Z].* (of size|by) '
    grep -aE -m 1 -A 45 "(WARNING: Thread|ERROR: Address)Sanitizer" "$1" | grep -aE "$lines" |
        cut -c1-240 | head -n 30 || true
}

stages=("$@")
[ ${#stages[@]} -gt 0 ] || mapfile -t stages < <(known)
for stage in "${stages[@]}"; do
    known | grep -qx "$stage" || { echo "test: no stage '$stage'; there are: $(known | tr '\n' ' ')" >&2; exit 2; }
done
[ -x "$python" ] || scripts/setup.sh || exit 1

total_passed=0 total_failed=0 failures=() report=() began=$SECONDS
for stage in "${stages[@]}"; do
    IFS=: read -r _ share what < <(printf '%s\n' "${plan[@]}" | grep "^$stage:")
    echo "=== $stage: $what"
    log=$logs/$stage.log
    started=$SECONDS
    if [ "${V:-}" = 1 ]; then
        (set -eo pipefail; "stage_$stage") 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
    else
        (set -eo pipefail; "stage_$stage") > "$log" 2>&1
        status=$?
    fi
    seconds=$((SECONDS - started))
    read -r passed failed < <(counts "$log" "$status")
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
    if [ "$status" -ne 0 ]; then
        failures+=("$stage")
        [ "${V:-}" = 1 ] || tail -n 120 "$log"
    elif [ "${V:-}" != 1 ]; then
        grep -E '^(skipped|not covered|note):' "$log" || true
    fi
    line=$(printf '%-10s %5.1f min of %-2s  %5d passed %4d failed' \
        "$stage" "$(awk "BEGIN { print $seconds / 60 }")" "$share" "$passed" "$failed")
    [ "$seconds" -le $((share * 60)) ] || line="$line   (over its share)"
    report+=("$line")
    echo "    $line"
done

echo
echo "=== summary"
printf '    %s\n' "${report[@]}"
printf '    %-10s %5.1f min\n' total "$(awk "BEGIN { print ($SECONDS - $began) / 60 }")"
for stage in ${failures[@]+"${failures[@]}"}; do
    echo "    FAILED: $stage (log in $logs/$stage.log)"
    told "$logs/$stage.log" | sed 's/^/        /'
done
echo "$total_passed passed, $total_failed failed"
[ ${#failures[@]} -eq 0 ]
