#!/usr/bin/env bash
# Compiles what is wanted and checks it. Library, tool, tests and benchmarks come from the same objects, in .build: the
# engine is compiled once, and once more for each sanitizer.
#
#   scripts/build.sh                   library and tool
#   scripts/build.sh library           build/library: libmotte.so, which C, Python and every other language load
#   scripts/build.sh tool              build/tool: the motte command with its man pages and completion
#   scripts/build.sh tests             the Swift tests of what is above the engine; MOTTE_TEST_TARGETS names others
#   scripts/build.sh addresses         engine, its tests and the fuzz targets, with the address sanitizer and what
#                                      libFuzzer counts: optimised, with assertions (.build-address);
#                                      MOTTE_COMPARISONS=1: it sees what is compared, too, which takes twice as long
#   scripts/build.sh bench             the benchmarks
#   scripts/build.sh flags             the arguments of the one build, a line each, for `swift test --skip-build`
#   scripts/build.sh threads           engine and its tests, not optimised, with the thread sanitizer (.build-thread)
#
#   MOTTE_GLIBC=2.28       library and tool for systems with that C library or a later one (old-glibc.sh)
#   MOTTE_JOBS=2           processes at once (as many as there are processors)
set -euo pipefail
# What is called within $(...) ends at its first mistake, too.
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

jobs=${MOTTE_JOBS:-$(nproc)}
scratch=.build
# Cross-module optimisation is for `public` declarations, and between modules of the engine everything is `package`;
# what is worth inlining across modules says @inlinable. It only takes time. No exception passes through Swift's code:
# how to unwind it is information for debuggers, kept apart with the rest of it, instead of a tenth of the library.
common=(-Xswiftc -disable-cmo -Xswiftc -Xllvm -Xswiftc -force-attribute=nounwind -Xcc -fstack-protector-strong)
# A section for each function: the linker leaves out those that nobody calls, and keeps one of those that are the same.
optimised=(-c release --scratch-path "$scratch" "${common[@]}" -Xswiftc -Xfrontend -Xswiftc -function-sections)
# Relocations that old C libraries cannot read in little space take a twentieth more.
largest_bytes=$((12 * 1000 * 1000))

fail() { echo "build: $*" >&2; exit 1; }

# Swift keeps compiled modules in the user's cache and compiles nothing where it cannot: those who build packages may
# have no home.
cache=${HOME:-/nonexistent}/.cache
[ -e "$cache" ] || cache=${HOME:-/nonexistent}
if [ -z "${XDG_CACHE_HOME:-}" ] && [ ! -w "$cache" ]; then export XDG_CACHE_HOME=$PWD/build/cache; fi

compile() { python3 scripts/compile.py --jobs "$jobs" "$@"; }

# Two builds in one folder would be in each other's way: the second one waits until the first has ended.
alone_in() {
    mkdir -p "$1"
    exec 9> "$1/building.lock"
    flock --nonblock 9 || { echo "build: waiting for another build in $1" >&2; flock 9; }
}

# Links a product of the build again, with the Swift runtime inside; the arguments are for swiftc. The few functions of
# libstdc++ that the runtime calls are inside, too: loading that library takes longer than loading Motte.
link_static() {
    local product=$1 folder=$scratch/static options=() list runtime
    list=$scratch/release/$product.product/Objects.LinkFileList
    shift
    mkdir -p "$folder"
    ln -sf "$(gcc -print-file-name=libstdc++.a)" "$folder/libstdc++.a"
    if [ -n "${MOTTE_GLIBC:-}" ]; then
        # The same objects with the stubs of an older C library.
        folder=$(scripts/old-glibc.sh "$MOTTE_GLIBC")
        options=(-Xclang-linker "-B$folder")
    fi
    if reads_small_relocations; then options+=(-Xlinker -z -Xlinker pack-relative-relocs); fi
    # In an assignment of its own, whose failure ends the script: that of a command within an argument does not.
    runtime=$(static_runtime)
    options+=(-resource-dir "$runtime" -L "$folder" "$PWD/$scratch/static/swift/nameless.o")
    swiftc "${options[@]}" -static-stdlib "@$list" -use-ld=lld -Xclang-linker -static-libgcc \
        -Xlinker --gc-sections -Xlinker --build-id "$@"
}

# The toolchain's folder for static linking, its standard library without unwind tables, because no exception passes
# through that either, and without the names of Unicode's characters, which nobody asks for: each is a twentieth of the
# library. Beside it is noted which toolchain it is of: files of another one may be older.
static_runtime() {
    local source folder=$PWD/$scratch/static/swift core=linux/libswiftCore.a file toolchain
    toolchain=$(swiftc -print-target-info | grep -E '"(compilerVersion|runtimeResourcePath)"')
    source=$(sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p' <<< "$toolchain")_static
    if [ "$toolchain" != "$(cat "$folder.of" 2> /dev/null)" ] || [ ! "$folder/$core" -nt "$source/$core" ] ||
        [ ! "$folder/$core" -nt scripts/build.sh ]; then
        rm -rf "$folder" "$folder.of"
        mkdir -p "$folder/linux"
        for file in "$source"/* "$source"/linux/*; do
            [ "$file" = "$source/linux" ] || [ "$file" = "$source/$core" ] || ln -s "$file" "$folder/${file#"$source/"}"
        done
        objcopy --remove-section .eh_frame --remove-section .rela.eh_frame \
            --weaken-symbol _swift_stdlib_getScalarName "$source/$core" "$folder/$core.new"
        # A character's name is empty then.
        echo 'unsigned short _swift_stdlib_getScalarName(void) { return 0; }' \
            | cc -O -fPIC -x c -c -o "$folder/nameless.o" -
        mv "$folder/$core.new" "$folder/$core"
        echo "$toolchain" > "$folder.of"
    fi
    echo "$folder"
}

# Whether the C library reads relocations in little space, as those from 2.36 on do.
reads_small_relocations() {
    local version=${MOTTE_GLIBC:-$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)}
    [ "$(printf '%s\n' 2.36 "$version" | sort -V | head -n 1)" = 2.36 ]
}

# split FROM TO: what runs into one file, and information for debuggers into build/debug. Not beside it: valgrind 3.19
# would read it, and cannot.
split() {
    local debug
    debug=build/debug/$(basename "${2%.new}").debug
    mkdir -p build/debug
    strip --strip-unneeded -o "$2" "$1"
    objcopy --only-keep-debug --compress-debug-sections "$1" "$debug"
    objcopy --add-gnu-debuglink="$debug" "$2"
}

# Self-contained means: the Swift runtime is inside, only the C library of the system is needed, and nothing is exported
# but what motte.h declares. All of that is checked here, so a library that exists is right.
build_library() {
    local output=build/library
    mkdir -p "$output" "$scratch"
    [ -e "$scratch/libmotte.so" ] || echo "build: compiling the engine takes about 5 minutes on two cores"
    compile --objects motte -- "${optimised[@]}"
    python3 bindings/c/header.py exports > "$scratch/motte.map"
    python3 bindings/c/header.py functions | sort > "$output/libmotte.exports"
    # -Bsymbolic and -z nodelete: the Swift runtime inside must not meet another one in the process, and its threads and
    # thread-local destructors outlive any dlclose. --icf=all: functions with the same code are there once; nothing in
    # Swift goes by their addresses.
    local library=$output/libmotte.so.1.new
    link_static motte -emit-library -module-name motte -o "$scratch/libmotte.so" \
        -Xlinker "--version-script=$scratch/motte.map" -Xlinker --icf=all \
        -Xlinker -soname -Xlinker libmotte.so.1 -Xlinker -z -Xlinker nodelete \
        -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -Bsymbolic -Xlinker --no-undefined
    split "$scratch/libmotte.so" "$library"

    local size needed soname
    size=$(stat -c %s "$library")
    reads_small_relocations || largest_bytes=$((largest_bytes + largest_bytes / 20))
    [ "$size" -lt "$largest_bytes" ] || fail "$size bytes stripped, more than $largest_bytes"
    needed=$(scripts/check-needed.sh "$library")
    soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
    [ "$soname" = libmotte.so.1 ] || fail "soname is '$soname'"
    nm -D --defined-only --extern-only "$library" |
        awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$scratch/exported"
    if ! diff "$output/libmotte.exports" "$scratch/exported" > "$scratch/difference"; then
        cat "$scratch/difference" >&2
        fail "exports differ from motte.h ('<' declared, '>' exported)"
    fi
    # One with the same bytes stays, with its time: what was made of it is up to date.
    if cmp -s "$library" "$output/libmotte.so.1"; then rm "$library"; else mv "$library" "$output/libmotte.so.1"; fi
    ln -sf libmotte.so.1 "$output/libmotte.so"
    echo "built $output/libmotte.so.1: $size bytes, $(wc -l < "$output/libmotte.exports") functions," \
        "needs ${needed//$'\n'/ }"
}

# Runs where Swift is not installed. Objects name what they link; what static Foundation consists of they do not.
build_tool() {
    local output=build/tool needed
    mkdir -p "$output"
    compile --objects motte-tool -- "${optimised[@]}"
    link_static motte-tool -emit-executable -o "$scratch/motte" -Xlinker --defsym=main=MotteTool_main \
        -Xlinker --allow-shlib-undefined -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now \
        -lFoundation -lFoundationInternationalization -l_FoundationICU -l_FoundationCShims -l_FoundationCollections \
        -lCoreFoundation
    split "$scratch/motte" "$output/motte.new"
    needed=$(scripts/check-needed.sh "$output/motte.new")
    mv "$output/motte.new" "$output/motte"
    python3 scripts/manual.py "$output/motte" "$output/share"
    echo "built $output/motte: $(stat -c %s "$output/motte") bytes, needs ${needed//$'\n'/ }"
}

build_tests() {
    MOTTE_TEST_TARGETS=${MOTTE_TEST_TARGETS-MotteTests CExportsTests ConformanceTests} \
        compile tests motte-tool --plain MotteTests -- "${optimised[@]}"
}

build_addresses() {
    # Of the tests, models and oracles of pages and rows work hard.
    local plain=(ColumnsTests SchemaModelTests QueryEngineTests LiveObjectsTests NotificationsTests RealmFileTests
        ReplicationTests ExchangeTests ConformanceTests FuzzTests)
    MOTTE_ENGINE_ONLY=1 compile tests "${plain[@]/#/--plain=}" -- -c release --sanitize address \
        --scratch-path .build-address "${common[@]}" -Xswiftc -assert-config -Xswiftc Debug \
        -Xswiftc "-sanitize-coverage=edge,inline-8bit-counters,pc-table${MOTTE_COMPARISONS:+,trace-cmp}"
}

# Not optimised: that compiles in less than half of the time.
build_threads() {
    MOTTE_ENGINE_ONLY=1 compile tests --plain '' -- -c release --sanitize thread --scratch-path .build-thread \
        "${common[@]}" -Xswiftc -DDEBUG
}

# Package.swift has the benchmarks and the engines they compare with only where this is set.
build_bench() { MOTTE_BENCHMARKS=1 compile MotteBench -- "${optimised[@]}"; }

if [ "${1:-}" != flags ] && ! command -v swift > /dev/null; then
    fail "swift is not on PATH; install Swift 6.3 from https://www.swift.org/install/linux/"
fi
case ${1:-} in
    "" | library | tool | tests | bench) alone_in "$scratch" ;;
    addresses) alone_in .build-address ;;
    threads) alone_in .build-thread ;;
esac
case ${1:-} in
    "") build_library; build_tool ;;
    library | tool | tests | addresses | threads | bench) "build_$1" ;;
    flags) printf '%s\n' "${optimised[@]}" ;;
    *) fail "no '$1'; there are library, tool, tests, addresses, threads and bench" ;;
esac
