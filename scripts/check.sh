#!/usr/bin/env bash
# The quick loop: what says in minutes whether the change at hand holds. `make test` says that it is done.
#
#   scripts/check.sh                what the change can have an effect on
#   scripts/check.sh style unit     some stages of it
#
# Compares the tree with where its branch began and runs the tests of the changed modules and of those above them, in a
# debug build with assertions that is brought up to date, and the conformance cases in Swift, C and Python over that
# build's libmotte.so. The last line is "N passed, N failed"; each stage keeps its output in build/check-logs.
#
#   SINCE=v0.1.0           compare with that commit; SINCE=all: run everything
#   MOTTE_TEST_SCALE=...   length of random tests (default 0.1)
#   MOTTE_TEST_SEED=...    repeat a random test
#   MOTTE_LANES=1  V=1     one stage after the other; show all output
set -uo pipefail
cd "$(dirname "$0")/.." || exit
root=$PWD

# Stage, minutes it may take beside another one on two cores, the stages it comes after, what it is.
plan=(
    "build:8::Swift sources and the tests at hand, for debugging"
    "style:2::formatters, linters, types of the Python package"
    "tidy:1::layers, names, error numbers, documents, promises"
    "unit:5:build:Swift tests of what was changed, conformance in Swift"
    "c:2:build:the header under strict compilers, conformance in C"
    "python:2:build:conformance in Python, and the package's tests if it was changed"
)
export MOTTE_TEST_SCALE=${MOTTE_TEST_SCALE:-0.1}
jobs=${MOTTE_JOBS:-$(nproc)}
logs=build/check-logs
python=.venv/bin/python
work=$root/build/check

# What changed, said once.
affected=$(python3 scripts/affected.py "${SINCE:-}") || exit 2
value() { sed -n "s/^$1: *//p" <<< "$affected"; }
tests=$(value tests)
conformance=$(value conformance)

stage_build() {
    if [ -z "$tests" ] && [ "$conformance" = no ]; then
        echo "skipped: the build (no Swift module, header or case was changed)"
        return
    fi
    swift build --build-tests -j "$jobs"
    # For C and Python: the library of this build, which the release build's name stands for.
    mkdir -p "$work/library"
    cmp -s .build/debug/libmotte.so "$work/library/libmotte.so.1" ||
        cp .build/debug/libmotte.so "$work/library/libmotte.so.1"
    ln -sf libmotte.so.1 "$work/library/libmotte.so"
}

stage_style() { scripts/style.sh; }
stage_tidy() { python3 scripts/tidy.py; }

stage_unit() {
    local filter=$tests
    [ "$conformance" = no ] || filter="$filter ConformanceTests"
    # shellcheck disable=SC2086  # each name once
    filter=$(printf '%s\n' $filter | sort -u | paste -sd '|')
    if [ -z "$filter" ]; then
        echo "skipped: Swift tests (no module was changed)"
        return
    fi
    swift test --disable-xctest --skip-build --filter "^($filter)\."
}

stage_c() {
    if [ "$conformance" = no ]; then
        echo "skipped: conformance in C (no source, header or case was changed)"
        return
    fi
    # What the functions return is noted elsewhere: some of the tests are not all that tidy asks for.
    cmake -S . -B "$work/c" -DCMAKE_BUILD_TYPE=Debug -DMOTTE_PREBUILT="$work/library" -DMOTTE_BUILD_TOOL=OFF \
        -DMOTTE_TRACES="$work/traces"
    cmake --build "$work/c" -j "$jobs" --target motte_conformance
    rm -f "$work"/traces/function-statuses/*.txt "$work/traces/conformance-functions.txt"
    (cd "$work/c" && ctest --output-on-failure -R '^(conformance-c|c-header)')
}

stage_python() {
    if [ "$conformance" = no ]; then
        echo "skipped: conformance in Python (no source, binding or case was changed)"
        return
    fi
    # A copy of its own: the package in .venv has the release library, which other stages use.
    rm -rf "$work/python"
    MOTTE_LIBRARY=$work/library "$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation \
        --no-deps --target "$work/python" ./bindings/python
    # A build for debugging gives the library another name.
    ln -sf libmotte.so.1 "$work/python/motte/libmotte.so"
    local tests=bindings/python/tests/test_conformance.py
    [ "$(value package)" = no ] || tests=bindings/python/tests
    PYTHONPATH=$work/python "$python" -m pytest -q "$tests"
}

# shellcheck source=scripts/lanes.sh
. scripts/lanes.sh
stages=("$@")
[ ${#stages[@]} -gt 0 ] || mapfile -t stages < <(known)
# A stage tests the sources as they are: what builds them goes first, whichever were asked for.
case " ${stages[*]} " in
    *" build "*) ;;
    *" unit "* | *" c "* | *" python "*) stages=(build "${stages[@]}") ;;
esac
echo "check: $(value changed) since $(value since); tests of: ${tests:-no Swift module}"
run_stages "${stages[@]}"
