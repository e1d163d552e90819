"""One property of all elements of a collection at once, as a list or a NumPy array."""
from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._coll import Coll
from ._columns import fixed, unpacked
from .errors import NumberOverflowError
from ._convert import (
    DATA, BOOL, DOUBLE, FLOAT, INT, LINK, MIXED, NULL, STRING, TIMESTAMP, WIDTHS, Maker, moment,
)

if TYPE_CHECKING:
    import numpy

_BULK = {BOOL: ("bools", "B"), INT: ("ints", "q"), FLOAT: ("doubles", "d"), DOUBLE: ("doubles", "d"),
         TIMESTAMP: ("timestamps", "q"), LINK: ("links", "q")}
_NUMPY_TYPES = {"bools": "uint8", "ints": "int64", "doubles": "float64", "timestamps": "int64", "links": "int64"}


def column(coll: Coll, prop: int, type_: int, target: int, make_object: Maker) -> list[Any]:
    """`target` is the class of objects."""
    count = coll.count()
    if not count:
        return []
    if type_ in (STRING, DATA):
        texts = coll.texts(prop, 0, count)
        return list(texts) if type_ == DATA else [None if text is None else text.decode() for text in texts]
    if type_ == NULL:
        return [None] * count
    if type_ == MIXED:
        return coll.values([prop], 0, count, make_object)
    if type_ in WIDTHS:
        content, validity = coll.fixed(prop, WIDTHS[type_], 0, count)
        return [value if here else None for value, here in zip(fixed(type_, content), unpacked(validity, count))]
    if type_ == TIMESTAMP:
        return _timestamps(coll, prop, count, make_object)
    kind, code = _BULK[type_]
    numbers: array[Any] = array(code, bytes(array(code).itemsize * count))
    validity, read = coll.numbers(kind, prop, 0, count, numbers)
    made = _from_numbers(type_, target, make_object)
    return [made(number) if here else None for number, here in zip(numbers, unpacked(validity, read))]


def _timestamps(coll: Coll, prop: int, count: int, make_object: Maker) -> list[Any]:
    numbers = array("q", bytes(8 * count))
    try:
        validity, read = coll.numbers("nanoseconds", prop, 0, count, numbers)
    except NumberOverflowError:
        # Far from today there is no number of nanoseconds for them.
        return coll.values([prop], 0, count, make_object)
    return [moment(number // 1_000_000_000, number % 1_000_000_000) if here else None
            for number, here in zip(numbers, unpacked(validity, read))]


def _from_numbers(type_: int, target: int, make_object: Maker) -> Callable[[Any], Any]:
    if type_ == LINK:
        return lambda key: make_object(target, key)
    return bool if type_ == BOOL else lambda number: number


def to_numpy(
    coll: Coll, prop: int, type_: int, target: int, nullable: bool, null: Any, make_object: Maker
) -> numpy.ndarray[Any, Any]:
    """Masked where there may be None, unless `null` says what to put in its place."""
    try:
        import numpy
    except ImportError:
        raise ImportError("to_numpy() needs NumPy: pip install numpy") from None
    count = coll.count()
    if type_ not in _BULK:
        values = numpy.empty(count, dtype=object)
        values[:] = column(coll, prop, type_, target, make_object)
        absent = numpy.array([value is None for value in values], dtype=bool)
    else:
        kind, _ = _BULK[type_]
        values = numpy.empty(count, dtype=_NUMPY_TYPES[kind])
        validity, _ = coll.numbers(kind, prop, 0, count, values) if count else (bytearray(), 0)
        bits = numpy.frombuffer(bytes(validity), dtype="uint8")
        absent = numpy.unpackbits(bits, count=count, bitorder="little") == 0
        if type_ == BOOL:
            values = values.astype(bool)
        elif type_ == TIMESTAMP:
            values = values.view("datetime64[us]")
        elif type_ == LINK:
            return values
    if not nullable:
        return values
    if null is not None:
        if absent.any():
            # An int column filled with NaN has to become one of floats.
            values = values.astype(numpy.result_type(values.dtype, type(null))) if type_ != TIMESTAMP else values
            values[absent] = null
        return values
    masked: numpy.ndarray[Any, Any] = numpy.ma.masked_array(values, mask=absent)
    return masked
