/* See motte_shim_unpack.h. The two structs are part of the libraries' stable interfaces, so their headers are not
 * needed. */
#define _GNU_SOURCE
#include "motte_shim_unpack.h"
#include "motte_shim_library.h"
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* z_stream of zlib.h. */
typedef struct {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
} stream;

/* ZSTD_inBuffer and ZSTD_outBuffer of zstd.h. */
typedef struct {
    const void *source;
    size_t size, position;
} in_buffer;
typedef struct {
    void *target;
    size_t size, position;
} out_buffer;

enum {
    GZIP_WINDOW = 15 + 16,
    STREAM_END = 1,
    NOTHING_TO_DO = -5
};

static struct {
    int (*inflateInit2_)(stream *, int, const char *, int);
    int (*inflate)(stream *, int);
    int (*inflateReset)(stream *);
    int (*inflateEnd)(stream *);
} z;
static struct {
    void *(*createDStream)(void);
    size_t (*freeDStream)(void *);
    size_t (*decompressStream)(void *, out_buffer *, in_buffer *);
    unsigned (*isError)(size_t);
} zstd;

static const motte_shim_symbol z_functions[] = {
    {"inflateInit2_", &z.inflateInit2_},
    {"inflate", &z.inflate},
    {"inflateReset", &z.inflateReset},
    {"inflateEnd", &z.inflateEnd},
};
static const motte_shim_symbol zstd_functions[] = {
    {"ZSTD_createDStream", &zstd.createDStream},
    {"ZSTD_freeDStream", &zstd.freeDStream},
    {"ZSTD_decompressStream", &zstd.decompressStream},
    {"ZSTD_isError", &zstd.isError},
};

static pthread_once_t z_once = PTHREAD_ONCE_INIT, zstd_once = PTHREAD_ONCE_INIT;
static char z_problem[MOTTE_SHIM_PROBLEM_SIZE], zstd_problem[MOTTE_SHIM_PROBLEM_SIZE];
static int z_is_loaded, zstd_is_loaded;

static void load_z(void) {
    static const char *const names[] = {"libz.so.1", NULL};
    z_is_loaded = !motte_shim_library_load("MOTTE_LIBZ", names, z_functions, sizeof z_functions / sizeof z_functions[0],
                                           z_problem);
}

static void load_zstd(void) {
    static const char *const names[] = {"libzstd.so.1", NULL};
    zstd_is_loaded = !motte_shim_library_load("MOTTE_LIBZSTD", names, zstd_functions,
                                              sizeof zstd_functions / sizeof zstd_functions[0], zstd_problem);
}

int motte_shim_unpack_load(int format) {
    if (format == MOTTE_SHIM_GZIP) pthread_once(&z_once, load_z);
    else pthread_once(&zstd_once, load_zstd);
    return (format == MOTTE_SHIM_GZIP ? z_is_loaded : zstd_is_loaded) ? 0 : -1;
}

const char *motte_shim_unpack_problem(int format) { return format == MOTTE_SHIM_GZIP ? z_problem : zstd_problem; }

struct motte_shim_unpacker {
    int format;
    stream z;
    void *zstd;
};

motte_shim_unpacker *motte_shim_unpack_begin(int format) {
    motte_shim_unpacker *unpacker = calloc(1, sizeof *unpacker);
    if (!unpacker) return NULL;
    unpacker->format = format;
    if (format == MOTTE_SHIM_ZSTD) unpacker->zstd = zstd.createDStream();
    if (format == MOTTE_SHIM_ZSTD ? !unpacker->zstd
                                  : z.inflateInit2_(&unpacker->z, GZIP_WINDOW, "1.2.11", (int)sizeof(stream)) != 0) {
        free(unpacker);
        return NULL;
    }
    return unpacker;
}

void motte_shim_unpack_end(motte_shim_unpacker *unpacker) {
    if (!unpacker) return;
    if (unpacker->format == MOTTE_SHIM_ZSTD) zstd.freeDStream(unpacker->zstd);
    else z.inflateEnd(&unpacker->z);
    free(unpacker);
}

static int unpack_zstd(motte_shim_unpacker *unpacker, const unsigned char **in, size_t *in_size, void *out,
                       size_t out_size, size_t *out_count) {
    in_buffer source = {*in, *in_size, 0};
    out_buffer target = {out, out_size, 0};
    size_t left = zstd.decompressStream(unpacker->zstd, &target, &source);
    if (zstd.isError(left)) return -1;
    *in += source.position;
    *in_size -= source.position;
    *out_count = target.position;
    return left == 0;
}

int motte_shim_unpack(motte_shim_unpacker *unpacker, const unsigned char **in, size_t *in_size, void *out,
                      size_t out_size, size_t *out_count) {
    *out_count = 0;
    if (unpacker->format == MOTTE_SHIM_ZSTD) return unpack_zstd(unpacker, in, in_size, out, out_size, out_count);
    stream *s = &unpacker->z;
    unsigned given = *in_size > UINT_MAX ? UINT_MAX : (unsigned)*in_size;
    unsigned room = out_size > UINT_MAX ? UINT_MAX : (unsigned)out_size;
    s->next_in = *in;
    s->avail_in = given;
    s->next_out = out;
    s->avail_out = room;
    int status = z.inflate(s, 0);
    *in += given - s->avail_in;
    *in_size -= given - s->avail_in;
    *out_count = room - s->avail_out;
    if (status == STREAM_END) return z.inflateReset(s) == 0 ? 1 : -1;
    return status == 0 || status == NOTHING_TO_DO ? 0 : -1;
}
