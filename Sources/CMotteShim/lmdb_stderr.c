/* The distribution's static liblmdb was compiled without -fPIC and refers to `stderr`, which lives in libc and may not
 * be reached that way from a shared library. scripts/build-library.sh renames the reference in a copy of the archive;
 * this is what it then finds. Hidden, so that it is bound inside libmotte and never exported. */
#include <stdio.h>

extern FILE *motte_lmdb_stderr;
__attribute__((visibility("hidden"))) FILE *motte_lmdb_stderr;

__attribute__((constructor)) static void bind_lmdb_stderr(void) { motte_lmdb_stderr = stderr; }
