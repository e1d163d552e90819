#!/usr/bin/env bash
# Makes the file of one format that every later release must read, with the sources of a release that wrote it.
#
#   scripts/make-compatibility-file.sh 1.0 3952488
#
# writes Tests/Compatibility/1.0/store.motte and store.txt, which are kept in the repository: this is run once for each
# format, and again only if more is to be in the file. A page file of our own is kept as own.motte; a writer that makes
# both gets both, with the same text. The writer is Tests/Compatibility/<format>/FileWriter.swift.
set -euo pipefail
cd "$(dirname "$0")/.."
format=${1:?format number}
commit=${2:?a commit that writes this format}
here=$PWD/Tests/Compatibility
sources=$(mktemp -d)
trap 'git worktree remove --force "$sources/tree" 2> /dev/null || true; rm -rf "$sources"' EXIT

git worktree add --detach "$sources/tree" "$commit"
cp "$here/$format/FileWriter.swift" Tests/TestSupport/CompatibilityText.swift "$sources/tree/Tests/LiveObjectsTests/"
cd "$sources/tree"
export MOTTE_ENGINE_ONLY=1
swift build --build-tests --scratch-path "$sources/build" -j "${MOTTE_JOBS:-2}"
export MOTTE_COMPATIBILITY_FILE=$sources/store.motte
swift test --skip-build --scratch-path "$sources/build" --filter FileWriter
cp "$sources/store.motte.txt" "$here/$format/store.txt"
# A page file of our own begins with its name.
if [ "$(head -c 7 "$sources/store.motte")" = MOTTEDB ]; then
    cp "$sources/store.motte" "$here/$format/own.motte"
else
    cp "$sources/store.motte" "$here/$format/store.motte"
fi
if [ -e "$sources/store.motte.own" ]; then
    cmp "$sources/store.motte.txt" "$sources/store.motte.own.txt"
    cp "$sources/store.motte.own" "$here/$format/own.motte"
fi
ls -l "$here/$format"
