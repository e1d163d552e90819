#!/usr/bin/env bash
# Formatters and linters of all languages, and the types of the Python package.
#
#   scripts/style.sh           says what is wrong (make lint; part of make check and make test)
#   scripts/style.sh --fix     formats Swift and C in place and mends what ruff can mend (make format)
#
# Configuration: .swift-format, .clang-format, ruff.toml, mypy in bindings/python/pyproject.toml. A tool
# that is missing is said and skipped, and with CI=true a failure; `make setup` installs all of them in the versions of
# scripts/requirements. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.." || exit

fix=
case ${1:-} in
    "") ;;
    --fix) fix=1 ;;
    *) echo "style: no option '$1'; there is --fix" >&2; exit 2 ;;
esac
if ! git rev-parse --git-dir > /dev/null 2>&1; then
    echo "style: this is no git checkout, and nothing else says which files are those of the repository" >&2
    exit 2
fi
tools=$PWD/.venv/bin
passed=0 failed=0

# Files of the repository, the new ones too. Programs that stand for those of others are formatted as others do, and
# what wrote a file of an earlier form stays what it was.
files() {
    git ls-files --cached --others --exclude-standard -- "$@" |
        grep -vE '^Tests/(Compatibility|Consumers)/.*\.swift$' | while read -r file; do
            [ ! -f "$file" ] || echo "$file"
        done
}

# Its name, then the command.
check() {
    local name=$1
    shift
    echo "--- $name"
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "$name: FAILED${fix:+ (what cannot be mended by itself)}"
        failed=$((failed + 1))
    fi
}

# Its name, what is not there, and what installs that.
missing() {
    if [ "${CI:-}" = true ]; then
        echo "$1: FAILED ($2; $3)"
        failed=$((failed + 1))
    else
        echo "skipped: $1 ($2; $3)"
    fi
}
pinned() { missing "$1" "$2 is not installed" "'make setup' installs it, from scripts/requirements"; }

swift_format() {
    mapfile -t sources < <(files '*.swift')
    if [ -n "$fix" ]; then
        swift format --in-place --parallel "${sources[@]}"
    else
        swift format lint --strict --parallel "${sources[@]}"
    fi
}

clang_format() {
    mapfile -t sources < <(files '*.c' '*.h' '*.cpp')
    if [ -n "$fix" ]; then
        "$tools/clang-format" -i "${sources[@]}"
    else
        "$tools/clang-format" --dry-run --Werror "${sources[@]}"
    fi
}

ruff_check() {
    "$tools/ruff" check --quiet ${fix:+--fix} .
}

shell_check() {
    mapfile -t sources < <(files '*.sh' .ci/run)
    shellcheck --external-sources "${sources[@]}"
}

types() { (cd bindings/python && "$tools/python" -m mypy --strict); }

if swift format --version > /dev/null 2>&1; then check swift-format swift_format
else missing swift-format "this toolchain has none" "Swift 6.0 and newer do"; fi
if [ -x "$tools/clang-format" ]; then check clang-format clang_format; else pinned clang-format clang-format; fi
if [ -x "$tools/ruff" ]; then check ruff ruff_check; else pinned ruff ruff; fi
if [ -n "$fix" ]; then
    git diff --stat
else
    if command -v shellcheck > /dev/null; then check shellcheck shell_check
    else missing shellcheck "shellcheck is not installed" "'make setup' installs it, Debian's package shellcheck"; fi
    if [ -x "$tools/mypy" ]; then check mypy types; else pinned "mypy --strict" mypy; fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
