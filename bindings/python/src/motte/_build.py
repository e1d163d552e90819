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
extern "Python" motte_status motte_python_compact(void *userdata, uint64_t total_bytes, uint64_t used_bytes,
                                                  int32_t *out_compact);
extern "Python" motte_status motte_python_realm(void *userdata, motte_realm *realm);
extern "Python" motte_status motte_python_migrate(void *userdata, const motte_migration *migration,
                                                  const motte_realm *old_realm, motte_realm *new_realm);
extern "Python" motte_status motte_python_pair(void *userdata, const motte_object *old_object,
                                               motte_object *new_object);
extern "Python" motte_status motte_python_section_key(void *userdata, const motte_coll *coll, size_t index,
                                                      motte_value *out_key);
extern "Python" motte_status motte_python_work(void *userdata, motte_realm *realm);
extern "Python" motte_status motte_python_done(void *userdata, motte_status status, uint64_t version);
extern "Python" void motte_python_free(void *userdata);
"""


def header() -> pathlib.Path:
    given = os.environ.get("MOTTE_HEADER")
    return pathlib.Path(given) if given else HERE.parents[3] / "include" / "motte.h"


def declarations(text: str) -> str:
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


builder = cffi.FFI()
builder.cdef(declarations(header().read_text(encoding="utf-8")) + CALLBACKS)
builder.set_source(
    "motte._native",
    '#include "motte.h"',
    include_dirs=[str(header().parent)],
    libraries=["motte"],
    extra_compile_args=["-g0"],
    extra_link_args=["-Wl,-rpath,$ORIGIN", "-Wl,-z,relro,-z,now"],
)
