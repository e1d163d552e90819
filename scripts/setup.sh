#!/usr/bin/env bash
# Makes a machine ready to build and test: distribution packages that are missing, and a Python environment in .venv
# with the pinned packages of scripts/requirements. Safe to run again; does nothing when everything is there. Works as
# root or with sudo.
#
#   scripts/setup.sh            what builds and tests need
#   scripts/setup.sh demo       what `make demo` needs, which is less
#   scripts/setup.sh docs       what `make docs` needs beside it
#   scripts/setup.sh release    what `make release` needs beside it
#   scripts/setup.sh benchmarks   the engines that benchmarks compare with
#   scripts/setup.sh portability  what Tests/Portability/check.sh needs
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "setup: $*" >&2; exit 1; }

command -v swift > /dev/null || fail "swift is not on PATH; install Swift 6.3 from https://www.swift.org/install/linux/"

# ------------------------------------------------------------------------------------------------ packages
packages=(
    git make gcc g++ binutils cmake pkg-config libssl-dev libffi-dev python3-dev valgrind
    python3-venv libsqlite3-0 zlib1g libpcre2-8-0 tzdata ca-certificates)
# Checks that need one of these say so and are skipped without it; with CI=true that is a failure.
tools=(shellcheck abigail-tools zstd libzstd1 libedit2 libglib2.0-dev man-db nats-server libnats3.4 iproute2
    postgresql libpq5 openssl)
case ${1:-} in
    "") ;;
    demo) packages=(git make gcc g++ binutils python3-dev python3-venv libpcre2-8-0 tzdata ca-certificates)
        tools=() ;;
    benchmarks) packages+=(liblmdb-dev libsqlite3-dev) ;;
    docs) tools+=(doxygen graphviz chromium) ;;
    release) tools+=(dpkg-dev lintian debootstrap) ;;
    portability) packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user) ;;
    *) fail "no '$1'; there are demo, benchmarks, docs, release and portability" ;;
esac

# Those of the arguments that are not installed.
absent() {
    local package status
    for package; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$status" = installed ] || echo "$package"
    done
}
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }

if command -v dpkg-query > /dev/null && command -v apt-get > /dev/null; then
    mapfile -t missing < <(absent "${packages[@]}")
    mapfile -t wished < <(absent "${tools[@]}")
    if [ $((${#missing[@]} + ${#wished[@]})) -gt 0 ]; then
        echo "setup: installing ${missing[*]} ${wished[*]}"
        as_root=()
        if [ "$(id -u)" != 0 ]; then
            command -v sudo > /dev/null || fail "run as root, or install: ${missing[*]} ${wished[*]}"
            as_root=(sudo)
        fi
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
            echo "setup: the lists of packages could not be renewed" >&2
        # Tests make servers of their own; installing PostgreSQL is not to start one for the whole machine.
        if [[ " ${wished[*]} " == *" postgresql "* ]] && install postgresql-common; then
            echo "create_main_cluster = false" |
                "${as_root[@]}" tee /etc/postgresql-common/createcluster.d/no-main-cluster.conf > /dev/null
        fi
        [ ${#missing[@]} -eq 0 ] || install "${missing[@]}" || fail "${missing[*]} could not be installed"
        if [ ${#wished[@]} -gt 0 ] && ! install "${wished[@]}"; then
            [ "${CI:-}" != true ] || fail "${wished[*]} could not be installed, and in CI no check is skipped"
            echo "setup: ${wished[*]} could not be installed; what needs them is skipped" >&2
        fi
    fi
else
    echo "setup: not a Debian system; make sure these exist: ${packages[*]}, and if possible ${tools[*]}" >&2
fi

# ------------------------------------------------------------------------------------------------ Python
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "development takes Python 3.11 or newer, $python is $("$python" --version); set PYTHON to one"
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import pip' 2> /dev/null; then
    echo "setup: making .venv"
    rm -rf .venv
    "$python" -m venv .venv
fi

# Installs the packages of a list, each file by its hash, unless that very list is installed already.
require() {
    local list=scripts/requirements/$1.txt installed=.venv/installed-$1.txt
    ! cmp -s "$list" "$installed" || return 0
    echo "setup: installing the Python packages of $list into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$list"
    cp "$list" "$installed"
}
if [ "${1:-}" = demo ]; then
    # What is here for development does as well.
    [ -e .venv/installed-development.txt ] || require demo
    exit
fi
require development
[ "${1:-}" != docs ] || require documents
[ "${1:-}" != release ] || require release
