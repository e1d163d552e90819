/* Texts that were packed with gzip or zstd, through libz and libzstd, each of which is loaded when it is used first. */
#ifndef MOTTE_SHIM_UNPACK_H
#define MOTTE_SHIM_UNPACK_H

#include <stddef.h>

enum {
    MOTTE_SHIM_GZIP = 1,
    MOTTE_SHIM_ZSTD = 2
};

typedef struct motte_shim_unpacker motte_shim_unpacker;

/* Loads what a format takes, once. 0, or -1: `motte_shim_unpack_problem` says why. The environment variables
 * MOTTE_LIBZ and MOTTE_LIBZSTD name other files than libz.so.1 and libzstd.so.1. */
int motte_shim_unpack_load(int format);
const char *motte_shim_unpack_problem(int format);

/* NULL where there is no memory. Only of a format that was loaded. */
motte_shim_unpacker *motte_shim_unpack_begin(int format);
void motte_shim_unpack_end(motte_shim_unpacker *unpacker);

/* Reads from `*in`, which advances, and writes at most `out_size` bytes. 0: there is more; 1: what was packed in one
 * go ends here, and another may follow; -1: the bytes are damaged, or not of that format. */
int motte_shim_unpack(motte_shim_unpacker *unpacker, const unsigned char **in, size_t *in_size, void *out,
                      size_t out_size, size_t *out_count);

#endif
