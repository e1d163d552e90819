"""The Arrow C interfaces, as Python hands them over: in capsules. pyarrow is not needed for any of it."""
from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Optional

from . import errors
from ._coll import Coll
from ._convert import texts
from ._ffi import NULL, ffi, lib, sized
from ._protocols import AnyDatabase

_SCHEMA, _ARRAY, _STREAM = 0, 1, 2
_KINDS = ("struct ArrowSchema *", "struct ArrowArray *", "struct ArrowArrayStream *")
#: What a second of a timestamp has of a unit.
UNITS = {"s": lib.MOTTE_UNIT_SECONDS, "ms": lib.MOTTE_UNIT_MILLISECONDS, "us": lib.MOTTE_UNIT_MICROSECONDS,
         "ns": lib.MOTTE_UNIT_NANOSECONDS}


def library(name: str, call: str, package: Optional[str] = None) -> Any:
    """A library that is only needed by whoever calls this."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = package or name
        raise ImportError(f"{call} needs {package}: pip install {package}", name=name) from None


class Options:
    """Which columns, and how, for C."""

    def __init__(self, columns: Optional[Sequence[str]] = None, *, batch_rows: Optional[int] = None, unit: str = "us",
                 views: bool = False, titles: Optional[Sequence[str]] = None) -> None:
        if unit not in UNITS:
            raise errors.InvalidArgumentError(f"a unit is one of {', '.join(UNITS)}, not {unit!r}")
        if batch_rows is not None and batch_rows < 1:
            raise errors.InvalidArgumentError(f"batch_rows is a number from 1 up, not {batch_rows}")
        self.struct = sized("motte_arrow_options")
        self.struct.flags = lib.MOTTE_ARROW_UNIT | (lib.MOTTE_ARROW_TEXT_VIEWS if views else 0)
        self.struct.unit = UNITS[unit]
        self.struct.batch_rows = min(batch_rows or 0, 1 << 40)
        if columns is not None:
            self.struct.columns, self._columns = texts(columns)
            self.struct.column_count = len(columns)
        if titles is not None:
            self.struct.titles, self._titles = texts(titles)
            self.struct.title_count = len(titles)


def _capsule(kind: int, content: Any) -> Any:
    # Not among what every program imports.
    import ctypes

    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(int(ffi.cast("uintptr_t", content)), lib.motte_python_capsule_name(kind),
                lib.motte_python_capsule_free(kind))


def _content(kind: int, capsule: Any) -> Any:
    """The struct in a capsule."""
    import ctypes

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
    try:
        return ffi.cast(_KINDS[kind], get(capsule, lib.motte_python_capsule_name(kind)))
    except (ValueError, ctypes.ArgumentError):
        raise errors.WrongTypeError(
            f"an Arrow capsule is wanted, not {capsule!r:.60}") from None


def _made(kind: int, function: Any, *arguments: Any) -> Any:
    """What a function fills in."""
    content = ffi.cast(_KINDS[kind], lib.motte_python_capsule_new(kind))
    if content == NULL:
        raise MemoryError
    try:
        errors.check(function(*arguments, content))
    except BaseException:
        lib.motte_python_capsule_drop(content)
        raise
    return content


class Stream:
    """Something to hand to a library that reads Arrow: columns of a collection, in some form.

    Some ask for the schema on the thread that has the database, and for the stream on one of their own. What that one
    shows is then what there was when the schema was asked for; its version is kept until the next question here."""

    def __init__(self, coll: Coll, options: Options, database: AnyDatabase) -> None:
        self._coll, self.options, self._database = coll, options, database
        self._elsewhere: Optional[Coll] = None

    def __arrow_c_schema__(self) -> Any:
        made = _made(_SCHEMA, lib.motte_arrow_schema, self._coll.handle, self.options.struct)
        capsule = _capsule(_SCHEMA, made)
        self._elsewhere = None if self._database.in_write else self._coll.freeze()
        return capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            made = _made(_STREAM, lib.motte_arrow_read, self._coll.handle, self.options.struct)
            self._elsewhere = None
        except errors.WrongThreadError:
            elsewhere = self._elsewhere
            if elsewhere is None:
                raise
            made = _made(_STREAM, lib.motte_arrow_read, elsewhere.handle, self.options.struct)
        return _capsule(_STREAM, made)


def column_names(coll: Coll, options: Options) -> list[str]:
    """What the columns of a stream are called."""
    schema = ffi.new("struct ArrowSchema *")
    errors.check(lib.motte_arrow_schema(coll.handle, options.struct, schema))
    try:
        return [ffi.string(schema.children[number].name).decode() for number in range(schema.n_children)]
    finally:
        schema.release(schema)


def groups_stream(handle: Any, options: Options) -> Any:
    """Groups in a capsule."""
    return _capsule(_STREAM, _made(_STREAM, lib.motte_groups_arrow, handle, options.struct))


def batches(coll: Coll, options: Options) -> Iterator[Any]:
    """The batches as structs, which are released when the next is asked for."""
    stream = ffi.new("struct ArrowArrayStream *")
    errors.check(lib.motte_arrow_read(coll.handle, options.struct, stream))
    array = ffi.new("struct ArrowArray *")
    try:
        while True:
            if stream.get_next(stream, array) != 0:
                said = stream.get_last_error(stream)
                text = ffi.string(said).decode("utf-8", "replace") if said != NULL else "the batches cannot be read"
                raise errors.NumberOverflowError(text) if "too far from 1970" in text else errors.Error(text)
            if array.release == NULL:
                return
            try:
                yield array
            finally:
                if array.release != NULL:
                    array.release(array)
    finally:
        stream.release(stream)


def insert(realm_handle: Any, class_id: int, data: Any, options: Any, counts: Any) -> None:
    """Everything that has a stream or an array of Arrow, into the open write."""
    if hasattr(data, "__arrow_c_stream__"):
        capsule = data.__arrow_c_stream__()
        stream = _content(_STREAM, capsule)
        errors.check(lib.motte_arrow_insert(realm_handle, class_id, stream, options, counts))
        return
    schema, array = data.__arrow_c_array__()
    content = _made(_STREAM, lib.motte_arrow_stream_of, _content(_SCHEMA, schema), _content(_ARRAY, array))
    try:
        errors.check(lib.motte_arrow_insert(realm_handle, class_id, content, options, counts))
    finally:
        lib.motte_python_capsule_drop(content)
