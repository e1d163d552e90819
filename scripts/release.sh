#!/usr/bin/env bash
# Makes what a release consists of from the last commit, tries each part as its users will, and leaves all of it in
# build/release: see docs/RELEASING.md.
#
#   scripts/release.sh               the source archive, and what is built from it (make release)
#   scripts/release.sh --prebuilt    what is built is taken from build/library and build/tool: to try the packaging
#
#   motte-VERSION-source.tar.gz      sources
#   libmotte-VERSION-SYSTEM.tar.gz   library, header, tool, CMake package and motte.pc, to be unpacked anywhere
#   libmotte-VERSION-SYSTEM-debug.tar.gz   information for debuggers about both
#   libmotte1_..., libmotte-dev_..., motte_..., python3-motte_....deb      packages for Debian (scripts/debian.sh)
#   motte-VERSION-....whl            the Python package
#   motte-VERSION.tar.gz             its sources, for a library that is installed; pip knows them by this name
#   SHA256SUMS
#
# On x86-64 what is built runs with glibc 2.28 and later ones; MOTTE_GLIBC names another version, empty: this system's.
# The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
output=$root/build/release
work=$root/build/release-work
passed=0

say() { passed=$((passed + 1)); echo "ok: $*"; }
fail() { echo "release: $*" >&2; exit 1; }

[ "$(uname -m)" != x86_64 ] || export MOTTE_GLIBC=${MOTTE_GLIBC-2.28}
prebuilt=
case ${1:-} in
    "") ;;
    --prebuilt) prebuilt=1 ;;
    *) fail "no option '$1'; there is --prebuilt" ;;
esac
rm -rf "$output" "$work"
mkdir -p "$output" "$work"

# ------------------------------------------------------------------------------------------------ version
version=$(sed -n 's/^project(motte VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "CMakeLists.txt has no version"
while read -r file pattern; do
    grep -qF -- "${pattern//VERSION/$version}" "$file" || fail "$file does not say ${pattern//VERSION/$version}"
done <<'PLACES'
Sources/CExports/Realm/Library+C.swift StaticString("VERSION")
Sources/Tool/MotteCommand.swift version: "VERSION"
bindings/python/pyproject.toml version = "VERSION"
bindings/python/src/motte/__init__.py __version__ = "VERSION"
CHANGELOG.md ## VERSION
PLACES
if [ -n "$(git status --porcelain)" ]; then
    [ -n "$prebuilt" ] || fail "the tree has changes that are not committed, and a release is made from commits"
    echo "note: the tree has changes that are not committed; they are in no archive"
fi
# Whoever publishes goes by the tag. Without one this is a trial.
tags=$(git tag --points-at HEAD | grep -E '^v?[0-9]+\.[0-9]+\.[0-9]+$' || true)
[ -n "$tags" ] || echo "note: the last commit has no tag $version"
for tag in $tags; do
    [ "${tag#v}" = "$version" ] || fail "the last commit has the tag $tag, and its version is $version"
done
say "version $version in all places"

# ------------------------------------------------------------------------------------------------ sources
source=$work/motte-$version
git archive --format=tar --prefix="motte-$version/" HEAD | gzip -9n > "$output/motte-$version-source.tar.gz"
tar -xzf "$output/motte-$version-source.tar.gz" -C "$work"
diff <(git ls-tree -r --name-only HEAD | sort) <(cd "$source" && find . -type f -o -type l | sed 's#^\./##' | sort) ||
    fail "the source archive has other files than the commit"
if [ -n "$prebuilt" ]; then
    mkdir -p "$source/build"
    cp -a build/library build/tool build/debug "$source/build/"
else
    "$source/scripts/build.sh" library
    "$source/scripts/build.sh" tool
fi
[ "$("$source/build/tool/motte" --version)" = "$version" ] || fail "the tool has another version"
say "source archive, and a build of it"

# ------------------------------------------------------------------------------------------------ library archive
system=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
name=libmotte-$version-$system
# Archives do not depend on when and by whom they were made.
pack() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C "$work" -cf - "$1" |
        gzip -9n > "$output/$1.tar.gz"
}
install_to() {
    cmake -S "$source" -B "$work/cmake-$1" -DMOTTE_PREBUILT="$source/build/library" -DMOTTE_BUILD_TESTS=OFF \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" "${@:4}" > "$work/cmake-$1.log"
    # The tool was built already; the target would build it again.
    DESTDIR=$3 cmake --install "$work/cmake-$1" >> "$work/cmake-$1.log"
}
install_to archive "$work/$name" "" -DCMAKE_INSTALL_LIBDIR=lib
pack "$name"
mkdir "$work/$name-debug"
cp "$source/build/debug/libmotte.so.1.debug" "$source/build/debug/motte.debug" "$work/$name-debug/"
pack "$name-debug"

mkdir "$work/unpacked"
tar -xzf "$output/$name.tar.gz" -C "$work/unpacked"
prefix=$work/unpacked/$name
cmake -S Tests/Consumers/cmake -B "$work/use-cmake" -DCMAKE_PREFIX_PATH="$prefix" -DMOTTE_WANTED="$version" \
    > "$work/use-cmake.log"
cmake --build "$work/use-cmake" >> "$work/use-cmake.log"
"$work/use-cmake/consumer" "$work/cmake.motte"
"$prefix/bin/motte" info "$work/cmake.motte" > /dev/null
say "library archive, used with CMake"

# ------------------------------------------------------------------------------------------------ Debian
if ! command -v dpkg-deb > /dev/null; then
    echo "skipped: the Debian package (dpkg-deb is not installed)"
else
    scripts/debian.sh "$source" "$work/deb" > "$work/deb.txt" 2>&1 || { cat "$work/deb.txt"; fail "no packages"; }
    mv "$work/deb"/*.deb "$output/"

    # Installed into a root of its own, used, and removed without a trace; Tests/Consumers/check-debian.sh does it in a
    # Debian.
    debian=$work/debian
    mkdir -p "$debian"/var/lib/dpkg/{info,updates,triggers}
    touch "$debian/var/lib/dpkg/status"
    own=(dpkg "--root=$debian" --force-depends --force-not-root --force-bad-path "--log=$work/dpkg.log")
    "${own[@]}" --install "$output"/{libmotte1,libmotte-dev,motte}_*.deb > "$work/dpkg.txt" 2>&1 ||
        { cat "$work/dpkg.txt"; fail "it does not install"; }
    "$debian/usr/bin/motte" info "$work/cmake.motte" > /dev/null
    gcc -Wall -Wextra -Werror Tests/Consumers/consumer.c -o "$work/use-deb" -I"$debian/usr/include" \
        -L"$(dirname "$debian"/usr/lib/*/libmotte.so)" -lmotte -Wl,-rpath,"$(dirname "$debian"/usr/lib/*/libmotte.so)"
    "$work/use-deb" "$work/deb.motte"
    "${own[@]}" --purge motte libmotte-dev libmotte1 > "$work/dpkg.txt" 2>&1 ||
        { cat "$work/dpkg.txt"; fail "it cannot be removed"; }
    left=$(find "$debian" -path '*/var/*' -prune -o -type f -print)
    [ -z "$left" ] || fail "the package leaves $left"
    say "Debian packages, installed and removed"
fi

# ------------------------------------------------------------------------------------------------ wheel
MOTTE_LIBRARY=$source/build/library .venv/bin/python -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$output" "$source/bindings/python"
# Its name says what its files need. Those of build/library are linked for this system.
wheel=$(basename "$output"/motte-*.whl)
if [ -z "$prebuilt" ] && [ -n "${MOTTE_GLIBC:-}" ]; then
    [[ $wheel =~ -manylinux_([0-9]+)_([0-9]+)_ ]] || fail "$wheel does not say which systems it is for"
    needed=${BASH_REMATCH[1]}.${BASH_REMATCH[2]}
    [ "$(printf '%s\n' "$needed" "$MOTTE_GLIBC" | sort -V | tail -n 1)" = "$MOTTE_GLIBC" ] ||
        fail "$wheel is for glibc $needed and later, and not for $MOTTE_GLIBC"
fi
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$output"/motte-*.whl
(cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" "$work/venv/bin/python" "$root/Tests/Consumers/wheel.py" \
    "$(mktemp -d "$work/wheel-XXXX")")
say "wheel, installed where nothing else is"

# The sources of the package, built with the library of the archive above, which pkg-config finds.
(cd "$source/bindings/python" && "$root/.venv/bin/python" -m build --sdist --no-isolation --outdir "$output" . \
    > "$work/sdist.txt" 2>&1) || { cat "$work/sdist.txt"; fail "no source distribution"; }
PKG_CONFIG_PATH=$prefix/lib/pkgconfig .venv/bin/python -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$work/from-sources" "$output/motte-$version.tar.gz"
python3 -m venv "$work/venv-sources"
"$work/venv-sources/bin/pip" install --quiet --disable-pip-version-check "$work"/from-sources/motte-*.whl
(cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" LD_LIBRARY_PATH="$prefix/lib" \
    "$work/venv-sources/bin/python" "$root/Tests/Consumers/wheel.py" "$(mktemp -d "$work/wheel-XXXX")")
say "source distribution of the Python package, with an installed library"

# ------------------------------------------------------------------------------------------------ notices
# Where each of them is for who unpacks or installs it, and whole.
unpacked=$work/notices
mkdir -p "$unpacked"
.venv/bin/python -m zipfile -e "$output"/motte-*.whl "$unpacked/wheel"
tar -xzf "$output/motte-$version.tar.gz" -C "$unpacked"
for notices in "$prefix/share/doc/motte" "$unpacked/wheel/motte" "$unpacked/motte-$version"; do
    cmp "$notices/THIRD-PARTY-NOTICES.md" THIRD-PARTY-NOTICES.md || fail "no notices in $notices"
    cmp "$notices/LICENSE" LICENSE || fail "no licence in $notices"
done
for package in "$output"/*.deb; do
    [ -e "$package" ] || continue
    # Documents of what debuggers ask for are those of the package that it is about.
    [[ $package != *-dbgsym_* ]] || continue
    dpkg-deb --fsys-tarfile "$package" |
        tar -xO --wildcards './usr/share/doc/*/copyright' > "$unpacked/copyright"
    left=$(sed -e 's/^$/./' -e 's/^/ /' THIRD-PARTY-NOTICES.md | grep -vxF -f "$unpacked/copyright" || true)
    [ -z "$left" ] || fail "$package does not have all notices: $left"
done
say "notices in the archive, the packages, the wheel and its sources"

# Where they are published, files go by their names without folders.
twice=$(find "$output" -type f -printf '%f\n' | sort | uniq -d)
[ -z "$twice" ] || fail "several files are called $twice"
(cd "$output" && find . -type f -printf '%P\n' | sort | xargs sha256sum > "$work/sums" &&
    mv "$work/sums" SHA256SUMS && sha256sum --quiet --check SHA256SUMS)
ls -l "$output"
echo "$passed passed, 0 failed"
