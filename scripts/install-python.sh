#!/usr/bin/env bash
# Installs the Python package into .venv from this tree, with the library that was built here; the wheel stays in
# build/wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/library/libmotte.so.1 ] || scripts/build.sh library
rm -rf build/wheel
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir build/wheel ./bindings/python
.venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps --no-index \
    build/wheel/motte-*.whl
echo "installed $(.venv/bin/python -c 'import motte; print("motte", motte.__version__, "from", motte.__file__)')"
