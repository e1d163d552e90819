#!/usr/bin/env bash
# Builds the Swift modules as a release library, for programs that are built for debugging: linked instead of the
# sources, it is compiled once and runs at full speed.
#
#   scripts/build-swift-library.sh [output folder]        default: build/swift
#
# Output:  libRealmSwift.so (Motte, RealmSwift and what they consist of), modules/, and flags, a response file:
#
#   swiftc @build/swift/flags main.swift                  or  swift build -Xswiftc @$PWD/build/swift/flags
#
# Modules are read by the compiler that wrote them, and by no other version.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-build/swift}
scratch=${MOTTE_SWIFT_SCRATCH:-.build-swift}
jobs=${MOTTE_JOBS:-$(nproc)}

fail() { echo "build-swift-library: $*" >&2; exit 1; }

swift build -c release --target RealmSwift --scratch-path "$scratch" -j "$jobs"
built=$scratch/release
mkdir -p "$output/modules"
output=$(cd "$output" && pwd)

# What RealmSwift consists of: everything of this build but the tests' and the tools' parts, which it has none of. Its
# plan does not name objects of sources that are gone.
mapfile -t objects < <(grep -oE '"[^"]+\.build/[^"]+\.o"' "$scratch/release.yaml" | tr -d '"' | sort -u |
    while read -r object; do [ ! -e "$object" ] || echo "$object"; done)
[ ${#objects[@]} -gt 0 ] || fail "the build made no objects"
swiftc -emit-library -o "$output/libRealmSwift.so.new" "${objects[@]}" -lstdc++ \
    -Xlinker -soname -Xlinker libRealmSwift.so -Xlinker -z -Xlinker nodelete
mv "$output/libRealmSwift.so.new" "$output/libRealmSwift.so"

cp "$built"/Modules/*.swiftmodule "$output/modules/"
{
    printf -- '-I %s\n' "$output/modules"
    # C modules that the Swift ones import: a map and its headers each.
    for map in "$built"/*.build/module.modulemap; do
        name=$(sed -n 's/^module \([A-Za-z0-9_]*\).*/\1/p' "$map" | head -n 1)
        folder=$output/modules/$name
        rm -rf "$folder"
        mkdir -p "$folder"
        headers=$(sed -n 's/.*umbrella.* "\(.*\)".*/\1/p' "$map")
        if [ -d "$headers" ]; then
            cp -r "$headers/." "$folder/"
            sed "s#\"$headers\"#\".\"#" "$map" > "$folder/module.modulemap"
        elif [ -n "$headers" ]; then
            cp -r "$(dirname "$headers")/." "$folder/"
            sed "s#\"$headers\"#\"$(basename "$headers")\"#" "$map" > "$folder/module.modulemap"
        else
            cp -r "$(dirname "$map")/." "$folder/"
        fi
        printf -- '-Xcc -fmodule-map-file=%s\n' "$folder/module.modulemap"
    done
    printf -- '-L %s -lRealmSwift -Xlinker -rpath -Xlinker %s\n' "$output" "$output"
} > "$output/flags"

# A program that is built with it: what exists is right.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/main.swift" <<'PROGRAM'
import RealmSwift
class Dog: Object { @Persisted var name = "" }
let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "check"))
try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
print(realm.objects(Dog.self).where { $0.name == "Rex" }.count)
PROGRAM
swiftc @"$output/flags" "$work/main.swift" -o "$work/check"
[ "$("$work/check")" = 1 ] || fail "a program that is linked with it does not work"
echo "built $output/libRealmSwift.so: $(stat -c %s "$output/libRealmSwift.so") bytes"
