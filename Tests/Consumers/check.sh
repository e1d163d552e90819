#!/usr/bin/env bash
# Uses Motte the way others do: from an install prefix with CMake and pkg-config, as a Swift package by URL and tag, and
# as a wheel in an environment where Swift is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
jobs=${MOTTE_JOBS:-$(nproc)}
work=$root/build/consumers
passed=0
version=$(sed -n 's/^project(motte VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

say() { passed=$((passed + 1)); echo "ok: $*"; }
fail() { echo "consumers: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"
# Programs that open the default file have a place of their own for it, whatever the user's has.
export XDG_DATA_HOME=$work/data

# ------------------------------------------------------------------------------------------------ install prefix
prefix=$work/prefix
[ -x build/tool/motte ] || scripts/build.sh tool
cmake -S . -B "$work/cmake" -DMOTTE_PREBUILT="$root/build/library" -DMOTTE_BUILD_TESTS=OFF > "$work/cmake.log"
cmake --build "$work/cmake" >> "$work/cmake.log"
cmake --install "$work/cmake" --prefix "$prefix" >> "$work/cmake.log"
# Where it was built must not matter: everything is used from a moved copy.
mv "$prefix" "$work/moved"
prefix=$work/moved
for file in bin/motte include/motte.h include/motte_inline.h include/motte.hpp lib/libmotte.so lib/libmotte.so.1 \
            lib/cmake/motte/motte-config.cmake \
            lib/pkgconfig/motte.pc share/doc/motte/LICENSE share/doc/motte/THIRD-PARTY-NOTICES.md \
            share/doc/motte/docs/tutorial-c.md share/doc/motte/examples/c/example.h; do
    [ -e "$prefix/$file" ] || fail "the install has no $file"
done
[ -L "$prefix/lib/libmotte.so" ] || fail "libmotte.so is not a link"
"$prefix/bin/motte" --version > /dev/null
say "install prefix"

cmake -S Tests/Consumers/cmake -B "$work/use-cmake" -DCMAKE_PREFIX_PATH="$prefix" -DMOTTE_WANTED="$version" \
    > "$work/use-cmake.log"
cmake --build "$work/use-cmake" >> "$work/use-cmake.log"
"$work/use-cmake/consumer" "$work/cmake.motte"
"$work/use-cmake/consumer_cxx"
say "find_package"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046
gcc -Wall -Wextra -Werror Tests/Consumers/consumer.c -o "$work/use-pkg-config" $(pkg-config --cflags --libs motte) \
    -Wl,-rpath,"$(pkg-config --variable=libdir motte)"
"$work/use-pkg-config" "$work/pkg-config.motte"
[ "$(pkg-config --modversion motte)" = "$version" ] || fail "pkg-config gives version $(pkg-config --modversion motte)"
say "pkg-config"

# The example of the README, as it stands there.
examples=Tests/Consumers/readme_example.py
python3 "$examples" c > "$work/readme.c"
# shellcheck disable=SC2046
gcc -Wall -Wextra -Werror "$work/readme.c" -o "$work/readme" $(pkg-config --cflags --libs motte) \
    -Wl,-rpath,"$(pkg-config --variable=libdir motte)"
[ "$(cd "$work" && ./readme)" = "0 adults" ] || fail "the C example of the README prints something else"
say "C example of the README"

# ------------------------------------------------------------------------------------------------ Swift package
# A clone with a tag stands for the address and the release. Uncommitted changes are not part of it.
git clone --quiet --no-hardlinks . "$work/motte"
git -C "$work/motte" -c user.name=consumer -c user.email=consumer@example.com \
    tag -f -a "$version" -m "$version" > /dev/null
mkdir -p "$work/swift/Sources/Consumer"
sed -e "s#@MOTTE_URL@#file://$work/motte#" -e "s#@MOTTE_VERSION@#$version#" Tests/Consumers/swift/Package.swift.in \
    > "$work/swift/Package.swift"
{ echo "import RealmSwift"; python3 "$examples" swift; } > "$work/swift/Sources/Consumer/main.swift"
cp -r examples/swift/Sources/*/ Tests/Consumers/swift/*/ "$work/swift/Sources/"
python3 "$examples" fill docs/COMING_FROM_REALMSWIFT.md Tests/Consumers/swift/Documents/main.swift \
    > "$work/swift/Sources/Documents/main.swift"
python3 "$examples" fill docs/from-realm.md Tests/Consumers/swift/FromRealm/main.swift \
    > "$work/swift/Sources/FromRealm/main.swift"
cp Tests/RealmFiles/tiny.realm "$work/swift/app.realm"
python3 "$examples" fill docs/tutorial-swift.md Tests/Consumers/swift/Tutorial/main.swift \
    > "$work/swift/Sources/Tutorial/main.swift"
# The toolchain suffices: pkg-config finds nothing, and where a namespace allows it headers of -dev packages are hidden.
without_packages() {
    export PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$work/nothing
    if ! unshare -rm true 2> /dev/null; then
        echo "note: headers of -dev packages are not hidden here"
        "$@"
        return
    fi
    # shellcheck disable=SC2016
    unshare -rm bash -c '
        for header in /usr/include/{lmdb.h,sqlite3.h}; do
            [ ! -e "$header" ] || mount --bind /dev/null "$header"
        done
        exec "$@"' bash "$@"
}
# The scratch folder is kept between runs for its objects. Address and tag are those of the last run, for which SwiftPM
# would take the sources that it has checked out: what it knows of them goes.
rm -f "$root/.build-consumer/workspace-state.json"
(cd "$work/swift" \
    && without_packages swift build -j "$jobs" --scratch-path "$root/.build-consumer" --product Consumer \
        > "$work/swift-build.log" 2>&1 \
    && swift run -j "$jobs" --scratch-path "$root/.build-consumer" Consumer > "$work/swift.log" 2>&1) \
    || { tail -n 40 "$work/swift-build.log" "$work/swift.log"; fail "the Swift consumer does not build and run"; }
tail -n 3 "$work/swift.log"
[ "$(git -C "$root/.build-consumer/checkouts/motte" rev-parse HEAD)" = "$(git -C "$work/motte" rev-parse HEAD)" ] ||
    fail "what was built is another commit than that of this tree"
say "Swift package by URL and tag"

! grep -E 'pkg-config|\.pc|install the|-dev' "$work/swift-build.log" || fail "the build asks for packages"
swift package --package-path "$work/motte" dump-package | python3 -c '
import json, sys
targets = json.load(sys.stdin)["targets"]
asked = [target["name"] for target in targets if target.get("pkgConfig") or target.get("providers")]
sys.exit(f"these targets ask for packages of the system: {asked}" if asked else 0)'
runtime=('libswift*.so' 'libFoundation*.so' 'lib_Foundation*.so' 'libdispatch.so' 'libBlocksRuntime.so'
    'libstdc++.so.*' 'libgcc_s.so.*')
scripts/check-needed.sh "$root/.build-consumer/debug/Consumer" "${runtime[@]}"
say "a Swift package needs nothing but the toolchain, to build and to run"

(cd "$work/swift" && swift run -j "$jobs" --scratch-path "$root/.build-consumer" Kennel > "$work/kennel.log" 2>&1) \
    || { tail -n 40 "$work/kennel.log"; fail "the Swift example does not build and run"; }
grep -q "^grown: \[\"Max\", \"Rex\"\]" "$work/kennel.log" || fail "the Swift example prints something else"
say "Swift example"

(cd "$work/swift" && swift build -j "$jobs" --scratch-path "$root/.build-consumer" --product AddressBook \
    > "$work/address-book.log" 2>&1) || { tail -n 40 "$work/address-book.log"; fail "the address book does not build"; }
"$root/.build-consumer/debug/AddressBook" "$work/addresses.motte" <<'COMMANDS' > "$work/address-book.out"
add Ada Lovelace London ada@example.com
add Grace Hopper
move Lovelace Bath
delete Hopper
undo
undo
list
COMMANDS
diff "$work/address-book.out" - <<'SHOWN' || fail "the address book shows something else"
H
  Grace Hopper, somewhere, no address
L
  Ada Lovelace, London, ada@example.com
2 contacts
SHOWN
say "address book with sections, a projection and undo"

(cd "$work/swift" \
    && swift run -j "$jobs" --scratch-path "$root/.build-consumer" AsyncMain > "$work/async-main.log" 2>&1) \
    || { tail -n 40 "$work/async-main.log"; fail "the program with an asynchronous main function does not run"; }
grep -q "^seen by the main actor: 40, written" "$work/async-main.log" || fail "it prints something else"
say "realms of the main actor in a program with an asynchronous main function"

# Programs in Swift 6 mode as they are written for RealmSwift, and what each says at its end.
while read -r name expected; do
    (cd "$work/swift" && export XDG_DATA_HOME="$work/data-$name" \
        && swift run -j "$jobs" --scratch-path "$root/.build-consumer" "$name" > "$work/$name.log" 2>&1) \
        || { tail -n 40 "$work/$name.log"; fail "$name does not build and run"; }
    grep -q "$expected" "$work/$name.log" || { tail "$work/$name.log"; fail "$name prints something else"; }
done <<'PROGRAMS'
ActorToDos ^left:
ViewModel ^5 \["Ada", "Bob", "Cid", "Dee", "queue"\]
ChangeStreams ^true apple
OrderServer ^missing
ActorCounter ^3 3 3 true
FromRealm ^Rex ball 2$
Tutorial ^3 books by 2 authors$
Documents ^parks: \["Washington D%2EC%2E"\] \["Washington D.C."\]
PROGRAMS
say "programs with actors, tasks and streams in Swift 6 mode"
python3 "$examples" output docs/tutorial-swift.md > "$work/tutorial.expected"
mkdir -p "$work/tutorial"
(cd "$work/tutorial" && "$root/.build-consumer/debug/Tutorial") | diff - "$work/tutorial.expected" ||
    fail "the tutorial says something else than it prints"
say "Swift tutorial"

# ------------------------------------------------------------------------------------------------ wheel
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir "$work/wheels" ./bindings/python
wheel=$(ls "$work"/wheels/motte-*.whl)
case $(basename "$wheel") in
    motte-*-abi3-*) ;;
    *) fail "$(basename "$wheel") is not abi3" ;;
esac
.venv/bin/auditwheel show "$wheel" | tee "$work/auditwheel.log"
tag=$(basename "$wheel" .whl)
tag=${tag##*-}
grep -q "following platform tag: \"$tag\"" <(tr '\n' ' ' < "$work/auditwheel.log") ||
    fail "the wheel is tagged $tag, auditwheel says otherwise"
python3 -m zipfile -l "$wheel" > "$work/wheel-files.log"
for file in LICENSE THIRD-PARTY-NOTICES.md; do
    grep -q "$file" "$work/wheel-files.log" || fail "the wheel lacks $file"
done
say "wheel tags and notices"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
# No Swift on the path, no library path, a folder without the sources.
(cd "$work/wheels" \
    && env -i PATH=/usr/bin:/bin HOME="$work" "$work/venv/bin/python" "$root/Tests/Consumers/wheel.py" "$work")
say "wheel without Swift"

# Regular expressions where the system has no library for them: the wheel carries one.
if pcre2=$(realpath "$(/sbin/ldconfig -p | sed -n 's/.*libpcre2-8\.so\.0 .*=> //p' | head -1)" 2> /dev/null) &&
    unshare -m true 2> /dev/null; then
    # shellcheck disable=SC2016  # the inner shell's
    found=$(unshare -m sh -e -c 'mount --bind /dev/null "$1"; shift; cd "$1"; shift; exec "$@"' sh "$pcre2" "$work" \
        env -i PATH=/usr/bin:/bin "$work/venv/bin/python" -c 'import motte
with motte.open(in_memory="m", schema="P { name: string }") as db:
    with db.write():
        db.add(db.model("P")(name="Ada"))
    print(db.objects("P").where("name MATCHES \"A.a\"")[0].name)')
    [ "$found" = Ada ] || fail "regular expressions in a wheel beside no library of the system: $found"
    say "wheel without libpcre2 of the system"
else
    echo "not covered: the wheel's own libpcre2 (no mount namespaces here, or no library to hide)"
fi

python3 "$examples" python > "$work/wheels/readme.py"
[ "$(cd "$work/wheels" && env -i PATH=/usr/bin:/bin "$work/venv/bin/python" readme.py)" = Ada ] ||
    fail "the Python example of the README prints something else"
say "Python example of the README"

echo "$passed passed, 0 failed"
