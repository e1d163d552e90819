#!/usr/bin/env bash
# Makes Debian packages of what is built: libmotte1, libmotte-dev, motte, python3-motte, and libmotte1-dbgsym and
# motte-dbgsym with information for debuggers, in build/debian. lintian has nothing to say about them.
#
#   scripts/debian.sh                        of build/library and build/tool, which it builds if they are not there
#   scripts/debian.sh SOURCES OUTPUT         of another source tree, into another folder
#
# The packages run where libc is at least as new as where they were made; Swift is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
source=$(cd "${1:-.}" && pwd)
mkdir -p "${2:-build/debian}"
output=$(cd "${2:-build/debian}" && pwd)
work=$output/work

fail() { echo "debian: $*" >&2; exit 1; }

for tool in dpkg-deb dpkg-shlibdeps cmake pkg-config; do
    command -v "$tool" > /dev/null || fail "$tool is missing; scripts/setup.sh release installs it"
done
[ -e "$source/build/library/libmotte.so.1" ] || "$source/scripts/build.sh" library
[ -x "$source/build/tool/motte" ] || "$source/scripts/build.sh" tool

version=$(sed -n 's/^project(motte VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
revision=$version-1
architecture=$(dpkg --print-architecture)
multiarch=$(gcc -print-multiarch)
# By whom and when, as the last commit says. An unpacked archive has none.
if [ -e .git ]; then
    maintainer=${DEBFULLNAME:-$(git log -1 --format=%an)}
    maintainer="$maintainer <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
    made=$(git log -1 --format=%cD)
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
else
    if [ -z "${DEBFULLNAME:-}" ] || [ -z "${DEBEMAIL:-}" ]; then
        fail "this is no git checkout: name the maintainer of the packages with DEBFULLNAME and DEBEMAIL"
    fi
    maintainer="$DEBFULLNAME <$DEBEMAIL>"
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y CHANGELOG.md)}
    made=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
fi
export SOURCE_DATE_EPOCH
rm -rf "$work" "$output"/*.deb
mkdir -p "$work"

# ------------------------------------------------------------------------------------------------ files
all=$work/all
cmake -S "$source" -B "$work/cmake" -DMOTTE_PREBUILT="$source/build/library" -DMOTTE_BUILD_TESTS=OFF \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$multiarch" > "$work/cmake.log"
DESTDIR=$all cmake --install "$work/cmake" >> "$work/cmake.log"
mkdir -p "$all/usr/share/zsh/vendor-completions"
mv "$all/usr/share/zsh/site-functions/_motte" "$all/usr/share/zsh/vendor-completions/_motte"

# move PACKAGE PATH ...: from what was installed into a package
move() {
    local package=$1 path
    shift
    for path; do
        mkdir -p "$work/$package/$(dirname "$path")"
        mv "$all/$path" "$work/$package/$path"
    done
}
libraries=usr/lib/$multiarch
move libmotte1 "$libraries/libmotte.so.1"
move libmotte-dev usr/include "$libraries/libmotte.so" "$libraries/pkgconfig" "$libraries/cmake"
move motte usr/bin usr/share/man usr/share/bash-completion usr/share/zsh usr/share/fish
mkdir -p "$work/libmotte-dev/usr/share/doc/libmotte-dev"
for part in README.md CONTRIBUTING.md SECURITY.md docs examples bindings; do
    mv "$all/usr/share/doc/motte/$part" "$work/libmotte-dev/usr/share/doc/libmotte-dev/"
done
# The header is installed once; where documents lead to it is a link.
mkdir "$work/libmotte-dev/usr/share/doc/libmotte-dev/include"
ln -s ../../../../include/motte.h "$work/libmotte-dev/usr/share/doc/libmotte-dev/include/motte.h"
left=$(find "$all" -type f -not -path '*/share/doc/*')
[ -z "$left" ] || fail "in no package: $left"

# The Python package, with the library of this build in its place.
mkdir -p "$work/pc"
sed -e "s#^prefix=.*#prefix=$work/built#" -e "s#^libdir=.*#libdir=$work/libmotte1/$libraries#" \
    -e "s#^includedir=.*#includedir=$work/libmotte-dev/usr/include#" \
    "$work/libmotte-dev/$libraries/pkgconfig/motte.pc" > "$work/pc/motte.pc"
mkdir -p "$work/link"
ln -sf "$work/libmotte1/$libraries/libmotte.so.1" "$work/link/libmotte.so"
cp -a "$source/bindings/python" "$work/python"
rm -rf "$work/python/build"
sed -i "s#^libdir=.*#libdir=$work/link#" "$work/pc/motte.pc"
# A Python that somebody built has a path to its own library among its words for the linker, which LDSHARED replaces.
(cd "$work/python" && MOTTE_LIBRARY=system PKG_CONFIG_PATH="$work/pc" CFLAGS="-g0 -O2" LDSHARED="gcc -shared" \
    "$root/.venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir "$work/wheel" .)
modules=$work/python3-motte/usr/lib/python3/dist-packages
mkdir -p "$modules"
"$root/.venv/bin/python" -m zipfile -e "$work"/wheel/motte-*.whl "$modules"
rm -f "$modules"/motte-*.dist-info/RECORD "$modules"/motte-*.dist-info/licenses/* "$modules/motte/_build.py"
rmdir "$modules"/motte-*.dist-info/licenses 2> /dev/null || true
# As Debian's own Python packages say that they are installed by dpkg.
echo debian > "$(echo "$modules"/motte-*.dist-info)/INSTALLER"
find "$modules" -name '*.so' -exec strip --strip-unneeded {} +

# ------------------------------------------------------------------------------------------------ packages
# needs PACKAGE FILE ...: what dpkg says that they need, without packages of this source
needs() {
    local package=$1
    shift
    mkdir -p "$work/shlibs/debian"
    printf 'Source: motte\n\nPackage: %s\nArchitecture: any\n' "$package" > "$work/shlibs/debian/control"
    (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info -xlibmotte1 -l"$work/libmotte1/$libraries" "$@" \
        > "$work/shlibs.txt" 2> "$work/shlibs.log") || { cat "$work/shlibs.log" >&2; fail "dpkg-shlibdeps fails"; }
    sed 's/^shlibs:Depends=//' "$work/shlibs.txt"
}

# control PACKAGE SECTION "FIELDS" "SHORT" "LONG"
control() {
    local package=$1 section=$2 fields=$3 short=$4 long=$5 tree=$work/$1
    local documents=$tree/usr/share/doc/$package
    mkdir -p "$tree/DEBIAN" "$documents"
    {
        echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
        printf 'Upstream-Name: motte\n\nFiles: *\nCopyright: the authors of Motte\nLicense: Apache-2.0\n'
        echo " On Debian systems the text of the licence is in /usr/share/common-licenses/Apache-2.0."
        echo " What is built in has notices of its own:"
        # Each line indented, an empty one a point.
        sed -e 's/^$/./' -e 's/^/ /' THIRD-PARTY-NOTICES.md
    } > "$documents/copyright"
    printf 'motte (%s) unstable; urgency=medium\n\n  * %s\n\n -- %s  %s\n' \
        "$revision" "New version; see changelog.gz for what it brings." "$maintainer" "$made" \
        | gzip -9n > "$documents/changelog.Debian.gz"
    gzip -9nc CHANGELOG.md > "$documents/changelog.gz"
    find "$tree/usr/share/man" -name '*.1' -exec gzip -9n {} + 2> /dev/null || true
    {
        printf 'Package: %s\nSource: motte\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' \
            "$package" "$revision" "$architecture" "$maintainer"
        echo "Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)"
        printf '%s\nSection: %s\nPriority: optional\nDescription: %s\n' "$fields" "$section" "$short"
        fold -s -w 76 <<< "$long" | sed -e 's/ *$//' -e 's/^/ /'
    } > "$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
    find "$tree" -type d -exec chmod 755 {} +
    find "$tree" -type f -not -path '*/bin/*' -not -path '*/DEBIAN/p*' -exec chmod 644 {} +
    find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# override PACKAGE LINE ...: what lintian is to accept, and why
override() {
    local package=$1 line
    shift
    mkdir -p "$work/$package/usr/share/lintian/overrides"
    for line; do echo "$line"; done > "$work/$package/usr/share/lintian/overrides/$package"
}

about="Classes with properties, links and lists, objects and query results that stay up to date, change notifications \
and transactions, in one file."

override libmotte1 "# The Swift runtime is inside on purpose: Debian has none." \
    "libmotte1: embedded-library *" "libmotte1: no-symbols-control-file *" \
    "# Built with Swift, whose compiler takes no flags of GCC." "libmotte1: hardening-no-fortify-functions *"
mkdir -p "$work/libmotte1/DEBIAN"
echo "libmotte 1 libmotte1 (>= $version)" > "$work/libmotte1/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' > "$work/libmotte1/DEBIAN/triggers"
# In assignments of their own, whose failure ends the script: that of a command within an argument does not.
depends=$(needs libmotte1 "$work/libmotte1/$libraries/libmotte.so.1")
control libmotte1 libs "Multi-Arch: same
Depends: $depends
Suggests: libssl3, libsqlite3-0, libpcre2-8-0" "embedded object database (library)" \
    "$about This package has the library. Encryption takes OpenSSL's libcrypto, SQLite files libsqlite3."

control libmotte-dev libdevel "Depends: libmotte1 (= $revision)" "embedded object database (development)" \
    "$about This package has the C header, a CMake package and motte.pc."

override motte "# The Swift runtime is inside on purpose: Debian has none." "motte: embedded-library *" \
    "motte: hardening-no-fortify-functions *" "motte: hardening-no-pie *"
depends=$(needs motte "$work/motte/usr/bin/motte")
control motte database "Depends: $depends
Recommends: libedit2, less
Suggests: libssl3, libsqlite3-0, libpq5, libpcre2-8-0, zlib1g, libzstd1, tzdata" "embedded object database (command)" \
    "$about This package has the command that looks into databases, queries, changes, imports, exports and mends them, \
with a shell, man pages and completion for bash, zsh and fish."

cat > "$work/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile > /dev/null 2>&1; then
    py3compile -p python3-motte
fi
SCRIPT
cat > "$work/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if command -v py3clean > /dev/null 2>&1; then
    py3clean -p python3-motte
fi
SCRIPT
override python3-motte "# It calls Python and libmotte only." "python3-motte: library-not-linked-against-libc *"
mkdir -p "$work/python3-motte/DEBIAN"
install -m 755 "$work/postinst" "$work/prerm" "$work/python3-motte/DEBIAN"
depends=$(needs python3-motte "$modules"/motte/*.so)
control python3-motte python "Depends: libmotte1 (= $revision), python3 (>= 3.10), python3-cffi-backend, $depends
Suggests: python3-numpy" "embedded object database (Python 3)" \
    "$about This package has the module for Python 3."

# symbols PACKAGE BINARY DEBUG: information for debuggers in a package of its own, where they look for it.
symbols() {
    local package=$1-dbgsym build
    build=$(readelf -n "$2" | sed -n 's/.*Build ID: //p')
    [ -n "$build" ] || fail "$2 has no number of its build"
    mkdir -p "$work/$package/usr/lib/debug/.build-id/${build:0:2}"
    cp "$3" "$work/$package/usr/lib/debug/.build-id/${build:0:2}/${build:2}.debug"
    control "$package" debug "Depends: $1 (= $revision)
Auto-Built-Package: debug-symbols
Build-Ids: $build" "debug symbols for $1" "Functions and lines of $1, for debuggers and profilers."
    # Its documents are those of the package it is about.
    rm -rf "$work/$package/usr/share/doc/$package"
    ln -s "$1" "$work/$package/usr/share/doc/$package"
    (cd "$work/$package" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
}
symbols libmotte1 "$work/libmotte1/$libraries/libmotte.so.1" "$source/build/debug/libmotte.so.1.debug"
symbols motte "$work/motte/usr/bin/motte" "$source/build/debug/motte.debug"

for package in libmotte1 libmotte1-dbgsym libmotte-dev motte motte-dbgsym python3-motte; do
    dpkg-deb --root-owner-group --build "$work/$package" "$output/${package}_${revision}_$architecture.deb" > /dev/null
done

if command -v lintian > /dev/null; then
    # Packages that are in no archive have no bug to close; the addresses of the project are whoever publishes it.
    lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,no-homepage-field \
        "$output"/*.deb || fail "lintian finds mistakes"
else
    echo "not covered: lintian is not installed"
fi
rm -rf "$work"
ls -l "$output"/*.deb
