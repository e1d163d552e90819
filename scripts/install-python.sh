#!/usr/bin/env bash
# Installs the Python package into .venv from this tree, with the library that was built here.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/library/libmotte.so.1 ] || scripts/build-library.sh
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps \
    ./bindings/python
echo "installed $(.venv/bin/python -c 'import motte; print("motte", motte.__version__, "from", motte.__file__)')"
