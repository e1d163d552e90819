#!/usr/bin/env bash
# One static site of all documents, in build/docs: the guides and the Python reference (Sphinx), the C reference
# (Doxygen) and the Swift reference (DocC). No link in it is broken, which is checked; a page of each kind is looked at
# in a headless browser, with a screenshot in build/docs-screens.
#
#   scripts/docs.sh            build, check, look (make docs)
#
# A generator that a machine does not have is named and left out, and its page says so; `scripts/setup.sh docs` installs
# all of them. To read the site: python3 -m http.server --directory build/docs. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
site=$root/build/docs
work=$root/build/docs-work
screens=$root/build/docs-screens
jobs=${MOTTE_JOBS:-$(nproc)}
python=.venv/bin/python
# The Python reference is that of the package as it is installed.
scripts/install-python.sh --if-changed
version=$("$python" -c 'import motte; print(motte.__version__)')
passed=0

say() { passed=$((passed + 1)); echo "ok: $*"; }
fail() { echo "docs: $*" >&2; exit 1; }
rm -rf "$site" "$work" "$screens"
mkdir -p "$site" "$work/source" "$screens"

# ------------------------------------------------------------------------------------------------ Swift
swift_page="This build has no Swift reference: the toolchain has no DocC."
if command -v docc > /dev/null && command -v swift-symbolgraph-extract > /dev/null; then
    swift build --product Motte -j "$jobs" > "$work/swift.log" 2>&1 || { tail -n 40 "$work/swift.log"; exit 1; }
    maps=()
    for map in .build/debug/*.build/module.modulemap Sources/C*/shared/module.modulemap; do
        [ ! -f "$map" ] || maps+=(-Xcc "-fmodule-map-file=$root/$map")
    done
    triple=$(swiftc -print-target-info | sed -n 's/^ *"triple": "\(.*\)",$/\1/p' | head -n 1)
    mkdir -p "$work/symbols"
    swift symbolgraph-extract -module-name Motte -target "$triple" -I .build/debug/Modules "${maps[@]}" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$work/symbols"
    docc convert Sources/Motte/Motte.docc --fallback-display-name Motte --fallback-bundle-identifier motte \
        --fallback-bundle-version "$version" \
        --additional-symbol-graph-dir "$work/symbols" --output-path "$site/swift" \
        --transform-for-static-hosting --hosting-base-path swift > "$work/docc.log" 2>&1 ||
        { tail -n 40 "$work/docc.log"; exit 1; }
    swift_page='The classes, types and functions of <a href="swift/documentation/motte/">Motte</a>, which the
module RealmSwift exports under the names of its peer.'
    say "Swift reference"
else
    echo "skipped: the Swift reference (this toolchain has no DocC)"
fi

# ------------------------------------------------------------------------------------------------ C
c_page="This build has no C reference: Doxygen was not installed."
if command -v doxygen > /dev/null; then
    { cat scripts/docs/Doxyfile; echo "OUTPUT_DIRECTORY = $site"; echo "PROJECT_NUMBER = $version"; } > "$work/Doxyfile"
    doxygen "$work/Doxyfile" > "$work/doxygen.log" 2>&1
    if grep -E 'warning:|error:' "$work/doxygen.log"; then fail "Doxygen finds fault with the header"; fi
    c_page='The functions, types and constants of <a href="c/motte_8h.html">motte.h</a>, and helpers in
<a href="c/motte__inline_8h.html">motte_inline.h</a>.'
    say "C reference"
else
    echo "skipped: the C reference (doxygen is not installed; 'scripts/setup.sh docs' installs it)"
fi

# ------------------------------------------------------------------------------------------------ guides, Python
if ! "$python" -c 'import sphinx, myst_parser, furo' 2> /dev/null; then
    echo "skipped: the guides and the Python reference (Sphinx is not installed; 'scripts/setup.sh docs' installs it)"
    echo "$passed passed, 0 failed"
    exit 0
fi
# Documents lie as they do in the repository, so that their links lead to the same places.
git ls-files --cached --others --exclude-standard -- '*.md' include/motte.h LICENSE 'examples/c/*' |
    grep -vE '^(\.github|scripts|Sources)/' | while read -r file; do
        mkdir -p "$work/source/$(dirname "$file")"
        cp "$file" "$work/source/$file"
    done
cp scripts/docs/conf.py "$work/source/"
# Guides that the table of contents does not name follow those that it does.
more=$(cd "$work/source" && find docs bindings ./*.md -name '*.md' | sed 's#^\./##; s#\.md$##' | sort |
    while read -r page; do grep -qx "$page" "$root/scripts/docs/index.md.in" || echo "$page"; done)
awk -v more="$more" '$0 == "@MORE@" { if (more != "") print more; next } { print }' scripts/docs/index.md.in \
    > "$work/source/index.md"
printf '# Swift\n\n%s\n' "$swift_page" > "$work/source/swift-reference.md"
printf '# C\n\n%s\n' "$c_page" > "$work/source/c-reference.md"
"$python" scripts/docs/python_reference.py > "$work/source/python-reference.rst"
"$python" -m sphinx -q -W --keep-going -j "$jobs" -b html "$work/source" "$work/html" > "$work/sphinx.log" 2>&1 ||
    { tail -n 60 "$work/sphinx.log"; fail "Sphinx finds fault with a document"; }
cp -r "$work/html/." "$site/"
touch "$site/.nojekyll"
say "guides and Python reference"

# ------------------------------------------------------------------------------------------------ checks
"$python" scripts/docs/check_site.py "$site"
say "no broken links"
"$python" scripts/docs/look.py "$site" "$screens"
echo "$((passed + 1)) passed, 0 failed"
