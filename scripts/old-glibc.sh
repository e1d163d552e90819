#!/usr/bin/env bash
# Makes a folder to link with, so that what is linked runs on older C libraries than this system's, and prints its name:
#
#   MOTTE_GLIBC=2.28 scripts/build.sh library      links through it, and so do the tool and release.sh
#   scripts/old-glibc.sh 2.28                      build/glibc-2.28
#
# The folder has stubs of the libraries of glibc of that version, with the versions of their symbols, and the functions
# that later ones only have themselves (stat and its kin). Both are made by Zig, which knows them for all versions
# (package ziglang of PyPI, scripts/requirements/release.txt). libstdc++ is inside what is linked, as always.
#
# What was found without it: of the symbols that libmotte takes, hypotf is of glibc 2.35; dlopen, dlsym, pthread_create
# and others moved between the libraries in 2.34; stat, fstat and lstat are functions since 2.33; pthread_sigmask moved
# in 2.32. None of them is new as a function. With glibc 2.28 only statx is newer than 2.27. libstdc++.a of GCC 12 asks
# for one name that older ones lack, __libc_single_threaded: it is given here, as "there may be several threads".
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?which version of glibc, as 2.28}
fail() { echo "old-glibc: $*" >&2; exit 1; }
[[ $version =~ ^2\.[0-9]+$ ]] || fail "'$version' is no version of glibc"
[ "$(uname -m)" = x86_64 ] || fail "only for x86-64"
folder=$PWD/build/glibc-$version
# It has the names of files in it, which are others where the folder was moved.
if grep -qsF "\"$folder/libc.so.6\"" "$folder/libc.so"; then echo "$folder"; exit 0; fi

.venv/bin/python -c 'import ziglang' 2> /dev/null || scripts/setup.sh release >&2
.venv/bin/python -c 'import ziglang' || fail "ziglang is not installed in .venv"
new=$folder.new
rm -rf "$new"
mkdir -p "$new"
export ZIG_GLOBAL_CACHE_DIR=$new/cache ZIG_LOCAL_CACHE_DIR=$new/cache
echo 'int main(void) { return 0; }' > "$new/nothing.c"
.venv/bin/python -m ziglang cc -target "x86_64-linux-gnu.$version" -fPIE -pie -o "$new/nothing" "$new/nothing.c" \
    > "$new/zig.log" 2>&1 || { cat "$new/zig.log" >&2; fail "zig cannot link for glibc $version"; }
stubs=$(dirname "$(find "$new/cache" -name libc.so.6 | head -1)")
cp "$stubs"/lib*.so.* "$new/"
cp "$(find "$new/cache" -name libc_nonshared.a | head -1)" "$new/"
# What programs begin with. That of a C library since 2.34 leaves their constructors to the library, and older ones do
# not run them then.
cp "$(find "$new/cache" -name Scrt1.o | head -1)" "$new/"
for name in m pthread dl rt util resolv; do
    stub=$(find "$new" -maxdepth 1 -name "lib$name.so.*" -printf '%f')
    [ -z "$stub" ] || ln -s "$stub" "$new/lib$name.so"
done
echo '__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;' > "$new/later.c"
gcc -O2 -fPIC -c "$new/later.c" -o "$new/later.o"
ar rcs "$new/liblater.a" "$new/later.o"
# In quotes: the name of a folder may have spaces.
printf 'GROUP ( "%s" "%s" "%s" AS_NEEDED ( "%s" ) )\n' "$folder"/{libc.so.6,liblater.a,libc_nonshared.a,libld.so.2} \
    > "$new/libc.so"
ln -s "$(gcc -print-file-name=libstdc++.a)" "$new/libstdc++.a"
rm -rf "$new/cache" "$new"/nothing* "$new"/later.* "$new/zig.log" "$folder"
mv "$new" "$folder"
echo "$folder"
