#!/usr/bin/env bash
# The wheel in every Python that it is for and that this machine has: bindings/python/tests/smoke.py in each, and
# reentrant_program.py, as each collects garbage in its own places.
#
#   Tests/Consumers/check-pythons.sh         the wheel that scripts/install-python.sh has made
#
# One wheel is for all of them (abi3). Interpreters are found on PATH, under pyenv and in .venv; cffi comes from the
# pinned requirements, into an environment of each that stays in build/pythons: only the first run takes the network.
# One alone is said, and none is a failure. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$PWD/build/pythons
mkdir -p "$work"
[ -d build/wheel ] || scripts/install-python.sh
wheel=$(ls build/wheel/motte-*.whl)
# The pip of .venv for all of them: making an environment with one of its own takes longer than all else.
pip() { .venv/bin/python -m pip --python "$1" install --quiet --disable-pip-version-check "${@:2}"; }

interpreters() {
    local version found own
    own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' || true)
    for version in $(printf '%s\n' 3.10 3.11 3.12 3.13 3.14 "$own" | sort -uV); do
        found=$(command -v "python$version" || true)
        # A shim of pyenv that stands for no version fails.
        if [ -z "$found" ] || ! "$found" -c '' 2> /dev/null; then
            # The last of those that match, or the pattern itself.
            for found in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/"$version".*/bin/python; do :; done
        fi
        if [ ! -x "$found" ] && [ "$version" = "$own" ]; then found=$PWD/.venv/bin/python; fi
        [ ! -x "$found" ] || echo "$version $found"
    done
}

# The environment of a version, with what the package takes, unless it is there and of that interpreter.
environment() {
    local folder=$work/$1 list=scripts/requirements/runtime.txt
    ! cmp -s <(echo "$2"; cat "$list") "$folder/made-of" || ! "$folder/bin/python" -c 'import cffi' || return 0
    rm -rf "$folder"
    "$2" -m venv --without-pip "$folder" &&
        pip "$folder/bin/python" --require-hashes -r "$list" &&
        { echo "$2"; cat "$list"; } > "$folder/made-of"
}

passed=0 failed=0
while read -r version python; do
    log=$work/$version.log
    own=$work/$version/bin/python
    if environment "$version" "$python" > "$log" 2>&1 &&
        pip "$own" --force-reinstall --no-deps --no-index "$wheel" >> "$log" 2>&1 &&
        PYTHONMALLOC=debug "$own" -X dev -W ignore bindings/python/tests/reentrant_program.py >> "$log" 2>&1 &&
        "$own" bindings/python/tests/smoke.py >> "$log" 2>&1; then
        tail -1 "$log"
        passed=$((passed + 1))
    else
        tail -20 "$log"
        echo "Python $version: FAILED"
        failed=$((failed + 1))
    fi
done < <(interpreters)
case $passed in
    0) echo "error: the wheel worked in no Python" ;;
    1) echo "not covered: this machine has one Python that the package is for" ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
