#!/usr/bin/env bash
# What `make test` does by samples, done as often as is promised: about three hours on two cores.
#
#   scripts/soak.sh                 everything
#   scripts/soak.sh cuts pinned     some of it
#
# Prints a line for each: what was done how often, from which seeds, minutes. Its output is in build/soak-logs. The last
# line is "N passed, N failed".
#
#   MOTTE_SIZE=200M        the file of `size` is that large instead of 2G
#   MOTTE_SIZE_FOLDER=...  where it works, with seven times that free (build/size)
#   MOTTE_TEST_SEED=...    begin with these random numbers again (the scale and the part are in the log)
set -uo pipefail
cd "$(dirname "$0")/.."

# Name, what it is.
plan=(
    "model:random operations on all types beside a model"
    "cuts:random runs on a disk that is cut, and every cut of every short one"
    "flips:every byte of a page file flipped, one by one; each 23rd of an encrypted one"
    "fields:fields of a file changed by their place in the format, with checksums that fit"
    "following:simulated leaders, followers, folders and streams, killed, full, torn, cut or late: 32,000 runs"
    "machines:a server, a file and an application on each of three machines, and all that can go wrong, for 30 minutes"
    "pinned:commits under a pinned reader, space used again"
    "size:every operation on a whole file, on one of 2 GB, compared with its source; peak memory of each in the log"
    "debug:the Swift tests with assertions, not optimised"
    "optimised:the Swift tests as users have the engine: optimised, without assertions, random ones ten times as long"
    "static:a program that has the Swift runtime in itself"
    "interfaces:the Swift products beside a tag, as after a release: a function that is gone is found"
    "portability:the C sources on aarch64, system pages of 16 and 64 KB (with the network)"
    "debian:Debian packages made, installed and used in a fresh Debian 12 (as root, with the network)"
    "kills:processes killed at random moments, two at work, without and with a WAL"
)
jobs=${MOTTE_JOBS:-$(nproc)}
logs=build/soak-logs
mkdir -p "$logs"

# Optimised, because there is much to do, with assertions, because there is much to find.
soaked="StorageTests PagesTests ReplicationTests FuzzTests"
build_tests() {
    MOTTE_ENGINE_ONLY=1 MOTTE_TEST_TARGETS=$soaked \
        python3 scripts/compile.py tests --jobs "$jobs" -- -c release --scratch-path .build-soak \
        -Xswiftc -disable-cmo -Xswiftc -assert-config -Xswiftc Debug
}

# How often its scale of 1 goes into what is wanted, and which tests.
run_tests() {
    MOTTE_TEST_SCALE=$1 MOTTE_ENGINE_ONLY=1 MOTTE_TEST_TARGETS=$soaked \
        swift test --disable-xctest --skip-build -c release --scratch-path .build-soak --filter "$2"
}

soak_model() { run_tests 40 '^StorageTests\.EverythingTests'; }
soak_cuts() { run_tests 334 '^PagesTests\.CutTests/(randomRuns|withWALRuns|everyCut)'; }
soak_flips() {
    run_tests 100 '^PagesTests\.(DamageTests|WALDamageTests)/everyFlipped'
    run_tests 10 '^PagesTests\.EncryptionTests/everyFlipped'
}
soak_fields() { run_tests 40 '^FuzzTests\.FuzzTests/filesChanged'; }
soak_following() { run_tests 40 '^ReplicationTests\.(Standby)?SimulationTests'; }
soak_machines() { MOTTE_TEST_SCALE=15 .venv/bin/python Tests/Machines/run.py; }
soak_pinned() { run_tests 200 '^PagesTests\.SpaceTests/spaceBehind'; }
soak_size() {
    .venv/bin/python Tests/RealSize/run.py --size "${MOTTE_SIZE:-2G}" --folder "${MOTTE_SIZE_FOLDER:-build/size}"
}
soak_debug() {
    swift build --build-tests -j "$jobs"
    swift test --disable-xctest --skip-build
}
soak_optimised() {
    local optimised
    mapfile -t optimised < <(scripts/build.sh flags)
    python3 scripts/compile.py tests --jobs "$jobs" -- "${optimised[@]}"
    MOTTE_TEST_SCALE=10 swift test --disable-xctest --skip-build "${optimised[@]}"
}
# Until something is released there is no tag to compare with: a copy has one, and loses a function behind it.
soak_interfaces() {
    local copy=build/soak-interfaces source=Sources/Motte/Realm/Realm.swift
    rm -rf "$copy"
    git clone --quiet . "$copy"
    (
        cd "$copy"
        git -c tag.gpgSign=false tag 0.0.0-soak
        Tests/Interfaces/check.sh 0.0.0-soak | tee same.txt
        grep -qx "ok: the Swift products, beside 0.0.0-soak" same.txt
        sed -i 's/public func invalidate()/func invalidate()/' "$source"
        ! git diff --quiet "$source" || { echo "there is no Realm.invalidate() to take away"; exit 1; }
        if Tests/Interfaces/check.sh 0.0.0-soak > gone.txt; then
            echo "a public function less, and nothing was found"
            exit 1
        fi
        grep "invalidate() has been removed" gone.txt
    )
    rm -rf "$copy"
}
soak_portability() {
    scripts/setup.sh portability
    Tests/Portability/check.sh
}
soak_debian() {
    scripts/setup.sh release
    scripts/debian.sh
    Tests/Consumers/check-debian.sh
}
soak_static() {
    local work=build/soak-static
    rm -rf "$work"
    mkdir -p "$work/Sources/StaticRuntime"
    cp Tests/Consumers/static/main.swift "$work/Sources/StaticRuntime/"
    cat > "$work/Package.swift" <<PACKAGE
// swift-tools-version: 6.1
import PackageDescription
let package = Package(
    name: "static",
    dependencies: [.package(name: "motte", path: "$PWD")],
    targets: [
        .executableTarget(name: "StaticRuntime", dependencies: [.product(name: "RealmSwift", package: "motte")])
    ],
    swiftLanguageModes: [.v5])
PACKAGE
    local build=(swift build --package-path "$work" --scratch-path .build-static --static-swift-stdlib)
    "${build[@]}" -j "$jobs"
    "$("${build[@]}" --show-bin-path)/StaticRuntime"
}
# Of 40 slow and 200 quick cycles, without and with a WAL.
soak_kills() { MOTTE_TEST_SCALE=12.5 python3 Tests/Crash/run.py; }

# What the tests noted, summed up over their parts.
counted() {
    python3 - "$1" <<'PYTHON'
import re, sys
text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
sums = {}
forms = [
    r"note: (\d+) (random operations) agree", r"note: (\d+) (random (?:with a WAL )?runs) survive",
    r"note: (\d+) (cuts) of",
    r"note: of (\d+) ((?:encrypted )?bytes) flipped", r"note: (\d+) (files) changed",
    r"note: (\d+) (commits) under", r"note: (\d+) (runs), \d+ kills", r": (\d+) (cycles), ",
    r", (\d+) (kills)[, ]", r"(\d+) (operations) of real size", r"Test run with (\d+) (tests)",
    r"(\d+) (acknowledged commits)", r"(\d+) (faults) ", r"(\d+) (takeovers), ",
]
for form in forms:
    for number, what in re.findall(form, text):
        sums[what] = sums.get(what, 0) + int(number)
seeds = list(dict.fromkeys(re.findall(r"seed (\d+)", text)))
line = ", ".join(f"{count:,} {what}" for what, count in sums.items()) or "nothing counted"
print(line + (f"; seeds {' '.join(seeds[:4])}" if seeds else ""))
PYTHON
}

known() { printf '%s\n' "${plan[@]}" | cut -d: -f1; }
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(known)
for name in "${names[@]}"; do
    known | grep -qx "$name" || { echo "soak: no '$name'; there are: $(known | tr '\n' ' ')" >&2; exit 2; }
done

began=$SECONDS passed=0 failed=0
# Whether one of the parts is among those wanted.
wants() { for wanted; do [[ " ${names[*]} " != *" $wanted "* ]] || return 0; done; return 1; }
if wants model cuts flips fields following pinned; then
    build_tests > "$logs/build.log" 2>&1 || { tail -n 60 "$logs/build.log"; echo "0 passed, 1 failed"; exit 1; }
fi
# What is tested is made of the sources as they are, whatever an earlier build left.
if wants kills size machines portability debian; then
    scripts/build.sh library > "$logs/library.log" 2>&1 \
        || { tail -n 60 "$logs/library.log"; echo "0 passed, 1 failed"; exit 1; }
fi
if wants size machines portability debian; then
    if ! scripts/build.sh tool > "$logs/tool.log" 2>&1 ||
        ! scripts/install-python.sh --if-changed >> "$logs/tool.log" 2>&1; then
        tail -n 60 "$logs/tool.log"
        echo "0 passed, 1 failed"
        exit 1
    fi
fi
for name in "${names[@]}"; do
    started=$SECONDS
    # Not as a condition, within which nothing ends at the first mistake.
    (set -e; "soak_$name") > "$logs/$name.log" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        result=passed passed=$((passed + 1))
    else
        result=FAILED failed=$((failed + 1))
        tail -n 60 "$logs/$name.log"
    fi
    what=$(printf '%s\n' "${plan[@]}" | grep "^$name:" | cut -d: -f2-)
    [ "$name" != size ] || cat "$logs/size.log"
    printf '%-7s %s, %.1f min: %s (%s)\n' "$name" "$result" \
        "$(awk "BEGIN { print ($SECONDS - $started) / 60 }")" "$(counted "$logs/$name.log")" "$what"
done
printf 'all of it, with the build, %.1f min\n' "$(awk "BEGIN { print ($SECONDS - $began) / 60 }")"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
