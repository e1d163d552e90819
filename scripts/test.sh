#!/usr/bin/env bash
# Everything that must be true before a change is done, in stages, two at a time where they do not need each other.
#
#   scripts/test.sh test            what users have: the optimised build, its tests, C, Python, the demo (make test)
#   scripts/test.sh verify          the rest: sanitizers, valgrind, consumers, machines, real size (make verify)
#   scripts/test.sh tidy c python   some stages of either
#
# A stage that fails does not stop the others. Each keeps its output in build/test-logs/<stage>.log; what failed is
# printed when it fails and named again at the end. The last line is "N passed, N failed" and decides the exit code.
#
#   MOTTE_TEST_SCALE=20    property, crash and fuzz tests that many times as long (default 1)
#   MOTTE_TEST_SEED=...    repeat a random test; with CI=true each commit has a seed of its own, otherwise each run
#   MOTTE_LANES=1          one stage after the other (default: two beside each other)
#   V=1                    show all output while it runs, each line behind the name of its stage
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD

# Stage, minutes it may take beside another one on two cores, the stages it comes after, what it is. Stages of which
# much runs on one core (whole modules are compiled one after the other) stand beside each other.
test_plan=(
    "library:5::self-contained libmotte.so and the motte command, optimised, layers checked by the compiler"
    "style:2::formatters, linters, types of the Python package"
    "package:1:library:pip install of the Python package, its wheel in each Python there is"
    "python:6:library,package:Python tests, conformance in Python"
    "build:5:library:the tests of the Swift API, of the same objects"
    "tool:5:library,package:the motte command, the file format read by another program, documents, scripts"
    "c:2:library:header gates, C tests, C example, conformance in C (CTest)"
    "unit:1:build:tests of the Swift API, conformance in Swift, of the optimised build"
    "crash:2:library:kill -9 with two processes, order of writes and flushes, with and without a WAL"
    "demo:1:library,package:the flights, every printed number recomputed without Motte"
    "tidy:1:c,build:layers, names, exports, error numbers, documents, promises"
)
verify_plan=(
    "addresses:9::engine tests, optimised, with assertions, under the address sanitizer"
    "threads:9::engine tests with threads, under the thread sanitizer"
    "fuzz:7:addresses:300,000 operations beside a model, 30,000 runs with power cuts, flipped bytes, fuzz targets"
    "consumers:6:library,package:CMake, pkg-config, a Swift package and a wheel, each from outside"
    "memory:3:library,package,c:C and Python tests under valgrind: what the library lends and what it borrows"
    "size:4:library,package,demo:every operation on the whole file of the demo"
    "machines:4:library,package:a server, a file and an application on each of three machines, and what can go wrong"
    "interfaces:1::the C interface and the Swift products beside what was released"
)
plan=("${test_plan[@]}" "${verify_plan[@]}")

export MOTTE_TEST_SCALE=${MOTTE_TEST_SCALE:-1}
if [ "${CI:-}" = true ]; then
    # The same commit gives the same answer twice; new seeds come with new commits, `make soak` and every other run.
    export MOTTE_TEST_SEED=${MOTTE_TEST_SEED:-$((0x$(git rev-parse HEAD | cut -c1-7)))}
fi
jobs=${MOTTE_JOBS:-$(nproc)}
logs=build/test-logs
python=.venv/bin/python
mapfile -t optimised < <(scripts/build.sh flags)
engine_tests='^(Values|Pages|Columns|SchemaModel|RealmFile|Storage|QueryEngine|LiveObjects|Notifications|Exchange|'
engine_tests+='Replication)Tests\.'
# The engine's own are optimised in `addresses`; without the sanitizer and assertions they are in `make soak`.
optimised_tests="MotteTests CExportsTests ConformanceTests"

# ------------------------------------------------------------------------------------------------ stages

stage_build() {
    # The benchmarks too, where there are the engines that they compare with.
    if pkg-config --exists lmdb sqlite3; then
        export MOTTE_BENCHMARKS=1
    else
        echo "not covered: the benchmarks do not compile here without 'scripts/setup.sh benchmarks'"
    fi
    MOTTE_TEST_TARGETS=$optimised_tests scripts/build.sh tests | tee "$logs/build-output.txt"
    local outputs=("$logs/build-output.txt")
    # Without that stage it is of an earlier run.
    ! is_wanted library || outputs+=("$logs/library-output.txt")
    no_warnings "${outputs[@]}"
}

# A build that had nothing to compile shows no warnings, so this bites on a clean clone.
no_warnings() {
    local status=0
    grep -E '((Sources|Tests|Benchmarks)/.*|^macro expansion .*): warning:' "$@" || status=$?
    # 1: nothing was found; 2: there was nothing to look into.
    [ "$status" -eq 1 ]
}

stage_style() {
    scripts/style.sh
}

stage_interfaces() {
    Tests/Interfaces/check.sh
}

stage_library() {
    { scripts/build.sh library && scripts/build.sh tool; } | tee "$logs/library-output.txt"
    build/tool/motte --help > /dev/null
}

stage_unit() {
    export MOTTE_TEST_TARGETS=$optimised_tests
    is_wanted build || scripts/build.sh tests
    swift test --disable-xctest --skip-build "${optimised[@]}"
}

stage_tidy() {
    # What C tests noted is held against the library.
    needs_library
    python3 scripts/tidy.py
}

stage_c() {
    needs_library
    cmake -S . -B build/ctest -DCMAKE_BUILD_TYPE=Debug -DMOTTE_PREBUILT="$root/build/library" -DMOTTE_BUILD_TOOL=OFF
    cmake --build build/ctest -j "$jobs"
    # What tests noted that are gone by now is not part of what tidy reads.
    rm -f build/function-statuses/*.txt build/conformance-functions.txt
    (cd build/ctest && ctest --output-on-failure)
}

stage_package() {
    needs_library
    scripts/install-python.sh
    Tests/Consumers/check-pythons.sh
}

stage_python() {
    needs_package
    "$python" -m pytest -q bindings/python/tests
}

stage_tool() {
    needs_package
    # What the package's own tests share holds here, too: nothing is skipped, and no handle is left.
    PYTHONPATH=bindings/python/tests "$python" -m pytest -q -p conftest -c bindings/python/pyproject.toml \
        Tests/Tool Tests/FileFormat Tests/Documents Tests/Scripts
}

# The release library in one piece: use of memory that was given up, by tests that hand back what was lent.
stage_memory() {
    needs_package
    cmake -S . -B build/ctest -DCMAKE_BUILD_TYPE=Debug -DMOTTE_PREBUILT="$root/build/library" -DMOTTE_BUILD_TOOL=OFF
    cmake --build build/ctest -j "$jobs"
    local test
    for test in own_views callbacks; do
        valgrind --quiet --error-exitcode=9 --num-callers=16 \
            "$(find build/ctest -name "motte_$test" -type f -perm -u+x)"
    done
    # From Python, tests of nearly all functions that take or give pointers; memory.txt lists them.
    export PYTHONMALLOC=malloc
    local checked=(valgrind --quiet --error-exitcode=9 --num-callers=30
        "--suppressions=$root/bindings/python/tests/valgrind.suppressions" "$python")
    "${checked[@]}" -m pytest -q -p no:faulthandler -p no:cacheprovider @bindings/python/tests/memory.txt
    # And the check itself: a program that gives a text up before the library reads it has to be found.
    local status=0
    "${checked[@]}" bindings/python/tests/freed_owner.py > "$logs/freed-owner.txt" 2>&1 || status=$?
    [ "$status" -eq 9 ] && grep -A 12 "Invalid read" "$logs/freed-owner.txt" | grep -c "_cffi_f_motte_row_set_many"
}

# Library, tool and Python package of the sources as they are, where no stage of this run makes them. Whichever stage
# comes first makes them, and the others wait for it: where nothing was changed that takes seconds.
needs_library() { is_wanted library || once library make_library; }
needs_package() {
    needs_library
    is_wanted package || once package scripts/install-python.sh --if-changed
}
make_library() { scripts/build.sh library && scripts/build.sh tool; }

# Whether a stage is one of this run. Those that ask come after it in the plan.
is_wanted() { [[ " ${stages[*]} " == *" $1 "* ]]; }

# once NAME COMMAND ...: in this run, however many stages ask beside each other.
once() {
    local made=$logs/$1.made
    (
        flock 9
        [ -e "$made" ] || { "${@:2}" 9>&- && touch "$made"; }
    ) 9> "$logs/$1.lock"
}

stage_crash() {
    needs_library
    "$python" Tests/Crash/run.py
}

# Two minutes, in which the machine does next to nothing.
stage_machines() {
    needs_package
    "$python" Tests/Machines/run.py
}

stage_demo() {
    needs_package
    scripts/demo.sh
    "$python" Tests/Demo/check.py
}

stage_size() {
    needs_package
    # The file of this library, not of an earlier one.
    [ build/demo/flights.motte -nt build/library/libmotte.so.1 ] || scripts/demo.sh
    "$python" Tests/RealSize/run.py
}

stage_consumers() {
    needs_package
    Tests/Consumers/check.sh
}

# The engine below the language bindings; what the C and Python tests drive is the release library.
stage_threads() {
    export TSAN_OPTIONS="halt_on_error=1"
    # For tests of what a sanitizer does not allow, such as little address space.
    export MOTTE_TEST_SANITIZER=thread MOTTE_ENGINE_ONLY=1
    # Those that begin threads, or use what does: what has one thread has no races.
    local names=(PagesTests QueryEngineTests LiveObjectsTests NotificationsTests ExchangeTests)
    if grep -lE 'ThreadRun|inThread|pthread_create|concurrentPerform|Task( \{|\.detached)' \
        Tests/{Values,Columns,SchemaModel,Storage}Tests/*.swift; then
        echo "these tests have threads: their targets belong among the names above"
        return 1
    fi
    export MOTTE_TEST_TARGETS="${names[*]}"
    scripts/build.sh threads
    # Long tests of one thread, which are in `addresses` and `fuzz`.
    local alone='^(Pages|LiveObjects)Tests\.(Cut|Space|Copy|PageModel|Threshold|Damage|WALDamage|Encryption|PageSize'
    alone+='|LargeFile|Salvage|SalvagedIndex|SchemaHistory|SmallRowGroup|IncompleteWrite|MemoryOfWrites|GivenKeys'
    alone+='|Refill|DeleteAll|OnlineCompaction|FailAndGoOn)Tests/'
    # Of queries only scans have threads: ParallelScanTests.
    alone+='|^QueryEngineTests\.([A-OQ-Z]|Pars|Plan|Pred)'
    # Random tests have one thread; those with more do not depend on the scale.
    MOTTE_TEST_SCALE=$(scaled 0.1) \
        swift test --disable-xctest --skip-build -c release --sanitize thread --scratch-path .build-thread \
        --filter "$engine_tests" --skip "$alone"
}

# A multiple of the usual scale.
scaled() { awk "BEGIN { print $MOTTE_TEST_SCALE * $1 }"; }

# Tests in the build of scripts/build.sh addresses: a multiple of the usual scale, a filter.
with_addresses() {
    # Leaks are counted by the tests themselves; the runtime's own caches would only drown them here.
    MOTTE_ENGINE_ONLY=1 MOTTE_TEST_SANITIZER=address MOTTE_TEST_SCALE=$(scaled "$1") \
        ASAN_OPTIONS=detect_leaks=0:malloc_context_size=${3:-20} \
        swift test --disable-xctest --skip-build -c release --sanitize address --scratch-path .build-address \
        --filter "$2"
}

stage_addresses() {
    scripts/build.sh addresses | tee "$logs/addresses-output.txt"
    no_warnings "$logs/addresses-output.txt"
    # Random tests are what takes long here; those of pages and of storage are longer in `fuzz`, all in `make soak`. The
    # conformance cases run over row groups of three objects here, over those that users have in `unit`.
    with_addresses 0.2 \
        '^(Values|Pages|Columns|SchemaModel|RealmFile|Exchange|Replication)Tests\.|ConformanceTests/behavesOverTiny'
    # What uses rows has little memory here, and what was given up of it must not be touched any more.
    MOTTE_MEMORY=64K MOTTE_TEST_POISON=1 \
        with_addresses 0.15 '^(Storage|QueryEngine|LiveObjects|Notifications)Tests\.'
}

stage_fuzz() {
    scripts/build.sh addresses
    # Other seeds with each commit; lengths that need an hour are those of `make soak`.
    with_addresses 9 '^StorageTests\.EverythingTests' 0
    with_addresses 50 '^PagesTests\.CutTests/(random|withWAL)Runs' 0
    with_addresses 10 '^PagesTests\.DamageTests/everyFlipped' 0
    Fuzz/run.sh
}

# ------------------------------------------------------------------------------------------------ running them

# shellcheck source=scripts/lanes.sh
. scripts/lanes.sh
stages=()
for argument in "${@:-test}"; do
    case $argument in
        test) mapfile -t -O ${#stages[@]} stages < <(printf '%s\n' "${test_plan[@]}" | cut -d: -f1) ;;
        verify) mapfile -t -O ${#stages[@]} stages < <(printf '%s\n' "${verify_plan[@]}" | cut -d: -f1) ;;
        *) stages+=("$argument") ;;
    esac
done
[ -x "$python" ] || scripts/setup.sh || exit 1
rm -f "$logs"/*.made
run_stages "${stages[@]}"
