"""The compile step: cffi reads the declarations of motte.h and makes the extension module `motte._native`.

There is no second copy of a declaration here. What stands between the two marks of the header is handed to cffi as it
is; only what C calls back into is added.
"""
import os
import pathlib

import cffi  # type: ignore[import-untyped,unused-ignore]

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "/* MOTTE_DECLARATIONS_BEGIN */", "/* MOTTE_DECLARATIONS_END */"

# C calls these, whatever the callback is for; `_callbacks.py` finds out by the userdata.
CALLBACKS = """
extern "Python" motte_status motte_python_changes(void *userdata, const motte_changes *changes);
extern "Python" motte_status motte_python_visit(void *userdata, const void *handle, motte_handle_type kind);
extern "Python" motte_status motte_python_progress(void *userdata, uint64_t done, uint64_t total);
extern "Python" motte_status motte_python_query_progress(void *userdata);
extern "Python" motte_status motte_python_commit(void *userdata, const uint8_t *bytes, size_t size);
extern "Python" motte_status motte_python_compact(void *userdata, uint64_t total_bytes, uint64_t used_bytes,
                                                  int32_t *out_compact);
extern "Python" motte_status motte_python_realm(void *userdata, motte_realm *realm);
extern "Python" motte_status motte_python_migrate(void *userdata, const motte_migration *migration,
                                                  const motte_realm *old_realm, motte_realm *new_realm);
extern "Python" motte_status motte_python_pair(void *userdata, const motte_object *old_object,
                                               motte_object *new_object);
extern "Python" motte_status motte_python_section_key(void *userdata, const motte_coll *coll, size_t index,
                                                      motte_value *out_key);
extern "Python" motte_status motte_python_default(void *userdata, size_t count, motte_value *out_values);
extern "Python" motte_status motte_python_fill(void *userdata, motte_realm *realm, motte_class cls, motte_prop prop,
                                               const motte_key *keys, size_t count);
extern "Python" motte_status motte_python_work(void *userdata, motte_realm *realm);
extern "Python" motte_status motte_python_done(void *userdata, motte_status status, uint64_t version);
extern "Python" void motte_python_log(void *userdata, motte_log_level level, const char *category,
                                      const char *message);
extern "Python" void motte_python_free(void *userdata);
"""

# Capsules are how Python hands the Arrow interfaces over. They give up what nobody has taken when they go, which may be
# on any thread and after all Python code: so in C.
ARROW = """
struct ArrowSchema {
    const char *format; const char *name; const char *metadata; int64_t flags; int64_t n_children;
    struct ArrowSchema **children; struct ArrowSchema *dictionary; void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length; int64_t null_count; int64_t offset; int64_t n_buffers; int64_t n_children; const void **buffers;
    struct ArrowArray **children; struct ArrowArray *dictionary; void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
"""
CAPSULES = """
uintptr_t motte_python_capsule_name(int kind);
uintptr_t motte_python_capsule_free(int kind);
void *motte_python_capsule_new(int kind);
void motte_python_capsule_drop(void *content);
"""
CAPSULE_CODE = """
#include <stdlib.h>

static const char *const motte_capsule_names[] = {"arrow_schema", "arrow_array", "arrow_array_stream"};

static void motte_capsule_free(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    void *content = name != NULL ? PyCapsule_GetPointer(capsule, name) : NULL;
    if (content == NULL) {
        PyErr_Clear();
        return;
    }
    if (name == motte_capsule_names[0]) {
        struct ArrowSchema *schema = content;
        if (schema->release != NULL) schema->release(schema);
    } else if (name == motte_capsule_names[1]) {
        struct ArrowArray *array = content;
        if (array->release != NULL) array->release(array);
    } else {
        struct ArrowArrayStream *stream = content;
        if (stream->release != NULL) stream->release(stream);
    }
    free(content);
}

static uintptr_t motte_python_capsule_name(int kind) { return (uintptr_t)motte_capsule_names[kind]; }
static uintptr_t motte_python_capsule_free(int kind) { (void)kind; return (uintptr_t)motte_capsule_free; }
static void *motte_python_capsule_new(int kind) {
    return calloc(1, kind == 0 ? sizeof(struct ArrowSchema) : kind == 1 ? sizeof(struct ArrowArray)
                                                                       : sizeof(struct ArrowArrayStream));
}
static void motte_python_capsule_drop(void *content) { free(content); }
"""

# Gives up what a call has put into a place. Nobody else has: an interrupt came before.
PLACES = """
void motte_python_release_place(void *place);
"""
PLACES_CODE = """
static void motte_python_release_place(void *place) { motte_release(*(void **)place); }
"""

# The same values for many objects, as one call.
ROWS = """
motte_status motte_python_rows_set(motte_realm *realm, motte_class cls, const motte_key *keys, size_t key_count,
                                   const motte_prop *props, const motte_value *values, size_t count);
"""
ROWS_CODE = """
static motte_status motte_python_rows_set(motte_realm *realm, motte_class cls, const motte_key *keys, size_t key_count,
                                          const motte_prop *props, const motte_value *values, size_t count) {
    motte_status status = MOTTE_OK;
    for (size_t index = 0; index < key_count && status >= 0; index++) {
        status = motte_row_set_many(realm, cls, keys[index], props, values, count);
    }
    return status;
}
"""


def header() -> pathlib.Path:
    given = os.environ.get("MOTTE_HEADER")
    # setup.py names the installed one where there is no repository around this file.
    return pathlib.Path(given) if given else HERE.parents[3] / "include" / "motte.h"


def declarations(text: str) -> str:
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


builder = cffi.FFI()
builder.cdef(ARROW + declarations(header().read_text(encoding="utf-8")) + CALLBACKS + CAPSULES + PLACES + ROWS)
builder.set_source(
    "motte._native",
    '#include "motte.h"\n' + CAPSULE_CODE + PLACES_CODE + ROWS_CODE,
    include_dirs=[str(header().parent)],
    libraries=["motte"],
    extra_compile_args=["-g0"],
    extra_link_args=["-Wl,-rpath,$ORIGIN", "-Wl,-z,relro,-z,now"],
)
