"""Columns behind links as NumPy arrays, from the buffers of Arrow batches."""
from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import _arrow, errors
from ._coll import Coll
from ._convert import (
    BOOL, DATA, DECIMAL, DOUBLE, FLOAT, INT, LINK, MIXED, OBJECT_ID, STRING, TIMESTAMP, TYPE_NAMES, UUID, WIDTHS,
)
from ._ffi import NULL, ffi
from ._protocols import AnyDatabase
from ._schema import WIDTHS as INT_WIDTHS
from .objectid import ObjectId

if TYPE_CHECKING:
    import numpy

_EVERY_WIDTH = sum(INT_WIDTHS.values())
_NUMBERS = {FLOAT: "float32", DOUBLE: "float64", TIMESTAMP: "int64", LINK: "int64"}


def path(database: AnyDatabase, coll: Coll, name: str, stored: str, null: Any) -> numpy.ndarray[Any, Any]:
    """Of a path, which the file calls `stored`. Masked, as links on the way may be None, unless `null` says what to put
    in its place; of links, keys."""
    import numpy

    info = _property(database, coll.info().target, name)
    type_ = info.type
    if type_ == MIXED:
        raise errors.UnsupportedError(
            f"'{name}' holds mixed values, of which NumPy arrays cannot be made behind links; see to_arrow()",
            property_name=name)
    values, present = [numpy.empty(0, dtype=object)], [numpy.empty(0, dtype=bool)]
    for batch in _arrow.batches(coll, _arrow.Options([stored])):
        column, count = batch.children[0], int(batch.length)
        present.append(_bits(column.buffers[0], count) if column.buffers[0] != NULL else numpy.ones(count, dtype=bool))
        values.append(_values(column, count, type_, info.flags, present[-1]))
    made = numpy.concatenate(values[1:] or values)
    absent = ~numpy.concatenate(present)
    if type_ == LINK:
        return made
    if null is not None:
        if absent.any():
            made = made.astype(numpy.result_type(made.dtype, type(null))) if type_ != TIMESTAMP else made
            made[absent] = null
        return made
    masked: numpy.ndarray[Any, Any] = numpy.ma.masked_array(made, mask=absent)
    return masked


def _property(database: AnyDatabase, class_id: int, name: str) -> Any:
    """The property that a path leads to."""
    *links, last = name.split(".")
    for link in links:
        bound = database._row(class_id).bound(link)
        if bound.declared.type != LINK or not bound.declared.is_plain:
            raise errors.WrongTypeError(f"'{link}' in '{name}' is no single link", property_name=link)
        class_id = bound.info.target
    bound = database._row(class_id).bound(last)
    if not bound.declared.is_plain:
        raise errors.WrongTypeError(f"'{name}' is a collection, which is no column of NumPy; see to_arrow()",
                                    property_name=last)
    return bound.info


def _bits(buffer: Any, count: int) -> numpy.ndarray[Any, Any]:
    import numpy

    content = numpy.frombuffer(ffi.buffer(ffi.cast("uint8_t *", buffer), (count + 7) // 8), dtype="uint8")
    bits: numpy.ndarray[Any, Any] = numpy.unpackbits(content, count=count, bitorder="little") != 0
    return bits


def _values(column: Any, count: int, type_: int, flags: int, present: Any) -> numpy.ndarray[Any, Any]:
    import numpy

    def numbers(kind: str, buffer: Any = None, length: int = count) -> Any:
        width = numpy.dtype(kind).itemsize
        memory = ffi.buffer(ffi.cast("uint8_t *", column.buffers[1] if buffer is None else buffer), width * length)
        return numpy.frombuffer(memory, dtype=kind).copy()

    if type_ == BOOL:
        return _bits(column.buffers[1], count)
    if type_ == INT:
        bits = next(bits for bits, flag in INT_WIDTHS.items() if flags & _EVERY_WIDTH == flag)
        whole: numpy.ndarray[Any, Any] = numbers(f"int{bits}").astype("int64", copy=False)
        return whole
    if type_ in _NUMBERS:
        made: numpy.ndarray[Any, Any] = numbers(_NUMBERS[type_])
        if type_ == LINK:
            made[~present] = -1
        if type_ == TIMESTAMP:
            return made.view("datetime64[us]")
        return made.astype("float64", copy=False) if type_ == FLOAT else made
    objects = numpy.empty(count, dtype=object)
    objects[:] = _objects(column, count, type_, numbers)
    objects[~present] = None
    return objects


def _objects(column: Any, count: int, type_: int, numbers: Callable[..., Any]) -> list[Any]:
    if type_ in (UUID, OBJECT_ID):
        width = WIDTHS[type_]
        content = bytes(ffi.buffer(ffi.cast("uint8_t *", column.buffers[1]), width * count))
        pieces = [content[start:start + width] for start in range(0, len(content), width)]
        return [uuid.UUID(bytes=piece) for piece in pieces] if type_ == UUID else [ObjectId(piece) for piece in pieces]
    if type_ not in (STRING, DATA, DECIMAL):
        raise errors.UnsupportedError(f"{TYPE_NAMES[type_]} is no type of a NumPy column")
    ends = numbers("int32", length=count + 1).tolist()
    heap = bytes(ffi.buffer(ffi.cast("uint8_t *", column.buffers[2]), ends[-1])) if ends[-1] else b""
    if type_ == DATA:
        return [heap[start:end] for start, end in zip(ends, ends[1:])]
    if heap.isascii():
        text = heap.decode("ascii")
        texts = [text[start:end] for start, end in zip(ends, ends[1:])]
    else:
        texts = [heap[start:end].decode() for start, end in zip(ends, ends[1:])]
    return texts if type_ == STRING else [Decimal(each) if each else None for each in texts]
