#!/usr/bin/env bash
# Whether programs that were built or written against what was released go on: the C interface beside a baseline that
# is committed, the Swift products beside the last tag.
#
#   Tests/Interfaces/check.sh              both (make test STAGES=interfaces)
#   Tests/Interfaces/check.sh v0.1.0       the Swift products beside that commit
#   Tests/Interfaces/check.sh --renew      write the baseline of the C interface again, see docs/testing.md
#
# The C interface is read out of the header: its functions, their types and its constants. That the library exports just
# these functions is what scripts/build.sh library checks, and what structs look like in memory MOTTE_ABI_LAYOUT.
# Without abidiff its part is skipped, and with CI=true a failure. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."

# A test gives another header.
export MOTTE_HEADER_FOLDER=${MOTTE_HEADER_FOLDER:-include}
header=$MOTTE_HEADER_FOLDER
baseline=Tests/Interfaces/abi/libmotte.abi
constants=Tests/Interfaces/abi/constants.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

renew=
if [ "${1:-}" = --renew ]; then renew=1; shift; fi
# A release is compared with the one before it, what was changed since then with that release.
since=HEAD
if [ -n "$(git tag --points-at HEAD 2> /dev/null)" ] && [ -z "$(git status --porcelain)" ]; then since=HEAD^; fi
reference=${1:-$(git describe --tags --abbrev=0 "$since" 2> /dev/null || true)}

ok() { echo "ok: $*"; passed=$((passed + 1)); }
bad() { echo "error: $*"; failed=$((failed + 1)); }

# ------------------------------------------------------------------------------------------------ C
python3 Tests/Interfaces/abi/stubs.py functions > "$work/functions.c"
python3 Tests/Interfaces/abi/stubs.py constants > "$work/constants.c"
gcc -g -O0 -shared -fPIC -I"$header" "$work/functions.c" -o "$work/libmotte.so.1" -Wl,-soname,libmotte.so.1
gcc -I"$header" "$work/constants.c" -o "$work/constants"
"$work/constants" > "$work/constants.txt"

if ! command -v abidiff > /dev/null; then
    lack="abidiff is not installed; 'make setup' installs it, Debian's package abigail-tools"
    if [ -n "$renew" ]; then
        echo "error: nothing was renewed ($lack)"
        exit 1
    elif [ "${CI:-}" = true ]; then
        bad "functions and types of the C interface were not looked at ($lack)"
    else
        echo "skipped: functions and types of the C interface ($lack)"
    fi
else
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$work/libmotte.abi" "$work/libmotte.so.1"
    # Where that was compiled is nobody's business.
    sed -i "s|path='[^']*/functions.c'|path='functions.c'|" "$work/libmotte.abi"
    [ -z "$renew" ] || cp "$work/libmotte.abi" "$baseline"
    if abidiff --no-added-syms --no-show-locs "$baseline" "$work/libmotte.abi" > "$work/abidiff.txt"; then
        ok "functions and types of the C interface"
    else
        cat "$work/abidiff.txt"
        bad "programs built against the C interface as it was may break; if that is meant, renew the baseline"
    fi
fi
[ -z "$renew" ] || cp "$work/constants.txt" "$constants"
# New constants break nobody.
if [ ! -f "$constants" ]; then
    bad "there is no $constants to compare with; --renew writes it"
elif gone=$(grep -vxF -f "$work/constants.txt" "$constants"); then
    echo "$gone"
    bad "constants of the C interface that are gone or have other numbers; if that is meant, renew the baseline"
else
    ok "constants of the C interface"
fi

# ------------------------------------------------------------------------------------------------ Swift
if [ -n "$renew" ]; then
    echo "renewed: $baseline, $constants"
elif [ "${MOTTE_SWIFT_INTERFACES:-}" = no ]; then
    echo "skipped: the Swift products (MOTTE_SWIFT_INTERFACES=no)"
elif [ -z "$reference" ]; then
    echo "skipped: the Swift products (there is no tag to compare with; name a commit to compare with that)"
else
    # Builds both for debugging; what the checker says of a baseline is kept beside them.
    if swift package --scratch-path .build-interfaces diagnose-api-breaking-changes "$reference" \
        --products Motte --products RealmSwift --baseline-dir build/interfaces \
        --breakage-allowlist-path Tests/Interfaces/abi/swift-allowed.txt > "$work/swift.txt" 2>&1; then
        ok "the Swift products, beside $reference"
    else
        grep -vE '^\[|Compiling|Emitting' "$work/swift.txt" | tail -n 60
        bad "programs written against $reference may not compile;" \
            "list what is meant in Tests/Interfaces/abi/swift-allowed.txt"
    fi
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
