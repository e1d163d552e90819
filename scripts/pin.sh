#!/usr/bin/env bash
# Writes scripts/requirements/*.txt again: the newest versions of what the .in files name and of what these need, with
# the hashes of their files (make pins). setup.sh installs nothing else, so that each machine gets the same.
set -euo pipefail
cd "$(dirname "$0")/requirements"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pip-tools
for name in development demo documents release runtime; do
    "$work/venv/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-annotate \
        --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
        --output-file "$work/$name.txt" "$name.in"
    { echo "# Written by scripts/pin.sh from $name.in."; cat "$work/$name.txt"; } > "$name.txt"
done
# Peers of benchmarks, for environments of their own.
cd ../../Benchmarks/Objects
"$work/venv/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-annotate \
    --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
    --output-file "$work/objects.txt" requirements.in
{ echo "# Written by scripts/pin.sh from requirements.in."; cat "$work/objects.txt"; } > requirements.txt
cd ../..
git diff --stat -- scripts/requirements Benchmarks
