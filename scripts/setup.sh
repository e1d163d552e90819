#!/usr/bin/env bash
# Makes a machine ready to build and test: distribution packages that are missing, and a Python environment in .venv.
# Safe to run again; does nothing when everything is there. Works as root or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "setup: $*" >&2; exit 1; }

command -v swift > /dev/null || fail "swift is not on PATH; install Swift 6.3 from https://www.swift.org/install/linux/"

# ------------------------------------------------------------------------------------------------ packages
packages=(
    git make gcc g++ binutils cmake pkg-config liblmdb-dev libsqlite3-dev libssl-dev libffi-dev python3-dev valgrind
    python3-venv)
if command -v dpkg-query > /dev/null && command -v apt-get > /dev/null; then
    missing=()
    for package in "${packages[@]}"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$status" = installed ] || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: installing ${missing[*]}"
        as_root=()
        if [ "$(id -u)" != 0 ]; then
            command -v sudo > /dev/null || fail "run as root, or install: ${missing[*]}"
            as_root=(sudo)
        fi
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "${missing[@]}"
    fi
else
    echo "setup: not a Debian system; make sure these exist: ${packages[*]}" >&2
fi

# ------------------------------------------------------------------------------------------------ Python
python=${PYTHON:-python3}
wanted="cffi>=1.16 setuptools>=70.1 wheel build pytest numpy auditwheel mypy"
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import sys' 2> /dev/null; then
    echo "setup: making .venv"
    rm -rf .venv
    "$python" -m venv .venv
fi
if [ "$(cat .venv/motte-setup 2> /dev/null || true)" != "$wanted" ]; then
    echo "setup: installing Python packages into .venv"
    # shellcheck disable=SC2086
    .venv/bin/python -m pip install --quiet --disable-pip-version-check $wanted
    echo "$wanted" > .venv/motte-setup
fi
