#!/usr/bin/env bash
# Makes the files of one format that every later version of Motte has to read, or to refuse in words.
#
#   Tests/Compatibility/make-files.sh 0.1 [COMMIT]
#
# writes Tests/Compatibility/0.1/KIND.motte and KIND.txt, which are kept in the repository: this is run once for each
# format, and again only if more is to be in the files. What makes them are the writers beside them, in the sources of
# the commit (of what is committed here, when none is named).
set -euo pipefail
cd "$(dirname "$0")/../.."
format=${1:?format number}
commit=${2:-HEAD}
here=$PWD/Tests/Compatibility/$format
sources=$(mktemp -d)
trap 'git worktree remove --force "$sources/tree" 2> /dev/null || true; rm -rf "$sources"' EXIT

git worktree add --detach "$sources/tree" "$commit"
cp "$here"/*FileWriter.swift "$sources/tree/Tests/LiveObjectsTests/"
cd "$sources/tree"
export MOTTE_ENGINE_ONLY=1 MOTTE_TEST_TARGETS=LiveObjectsTests
swift build --build-tests --scratch-path "$sources/build" -j "${MOTTE_JOBS:-2}"
mkdir "$sources/made"
# One after the other: writers of files with a WAL ask for one through the environment.
MOTTE_COMPATIBILITY_FOLDER=$sources/made swift test --disable-xctest --skip-build \
    --no-parallel --scratch-path "$sources/build" \
    --filter FileWriter
cp "$sources"/made/*.motte "$sources"/made/*.txt "$here/"
ls -l "$here"
