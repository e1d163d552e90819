#!/usr/bin/env bash
# Installs the Python package into .venv from this tree, with the library that was built here; the wheel stays in
# build/wheel.
#
#   scripts/install-python.sh                 always
#   scripts/install-python.sh --if-changed    unless what is installed has this library, and no source is newer;
#                                             of a folder, too, from which one went, or where one got another name
set -euo pipefail
cd "$(dirname "$0")/.."

# Whether that is so.
is_installed() {
    local wheel folder newer
    wheel=$(find build/wheel -name 'motte-*.whl' 2> /dev/null) && [ -n "$wheel" ] || return 1
    folder=$(.venv/bin/python -c 'import motte, os; print(os.path.dirname(motte.__file__))' 2> /dev/null) || return 1
    cmp -s build/library/libmotte.so.1 "$folder/libmotte.so.1" || return 1
    newer=$(find bindings/python/{src,native,setup.py,pyproject.toml,README.md} include LICENSE THIRD-PARTY-NOTICES.md \
        \( -name __pycache__ -o -name '*.egg-info' \) -prune -o -newer "$wheel" -print) || return 1
    [ -z "$newer" ]
}

case ${1:-} in
    "") ;;
    --if-changed) ! is_installed || exit 0 ;;
    *) echo "install-python: no option '$1'; there is --if-changed" >&2; exit 2 ;;
esac
[ -f build/library/libmotte.so.1 ] || scripts/build.sh library
rm -rf build/wheel
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir build/wheel ./bindings/python
.venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps --no-index \
    build/wheel/motte-*.whl
echo "installed $(.venv/bin/python -c 'import motte; print("motte", motte.__version__, "from", motte.__file__)')"
