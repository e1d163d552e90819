"""Columns of values on their way in, for batches: lists, arrays and NumPy arrays as buffers that the library reads."""
from __future__ import annotations

import enum
import operator
import uuid
from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple, Optional, Union

from . import _decimals, errors
from ._convert import (
    DATA, BOOL, DECIMAL, DOUBLE, FLOAT, INT, LINK, MIXED, OBJECT_ID, PAIR, SIGN, STRING, TIMESTAMP, TYPE_NAMES, UUID,
    LEAST, MOST, WANTED, WIDTHS, Values, is_a_time, is_no_value, member_value, real, seconds_of, wrong_type,
)
from ._ffi import ffi, lib
from .objectid import ObjectId
from .timestamps import nanoseconds_behind


class Column(NamedTuple):
    """One column of a batch, as the library wants it; the buffers live in here."""

    type: int
    unit: int
    values: Any
    validity: Optional[bytes]
    offsets: Optional[array[int]]
    length: int


def bitmap(present: Sequence[Any]) -> bytes:
    """1 bit for each element, lowest first."""
    if not present:
        return b""
    digits = bytes(49 if each else 48 for each in present)
    return int(digits[::-1], 2).to_bytes((len(present) + 7) // 8, "little")


def unpacked(validity: Union[bytes, bytearray], count: int) -> list[bool]:
    """The bits of a bitmap."""
    if not count:
        return []
    digits = format(int.from_bytes(validity, "little") & ((1 << count) - 1), f"0{count}b")
    return [digit == "1" for digit in reversed(digits)]


def column(values: Any, type_: int, link_key: Callable[[Any], int]) -> Column:
    """A column of Python values, or of an array with the buffer protocol such as NumPy's, for a property's type.

    `link_key` gives the key for an object or key."""
    if not isinstance(values, (list, tuple)):
        kind = kind_of(values)
        if kind == "m" or kind == "M" and type_ != TIMESTAMP:
            raise errors.WrongTypeError(f"an array of {values.dtype} where {WANTED[type_]} is wanted")
        ready = _from_buffer(values, type_)
        if ready is not None:
            return ready
        # Of NumPy, Python's values of it.
        values = values.tolist() if hasattr(values, "dtype") and hasattr(values, "tolist") else list(values)
    kinds = set(map(type, values))
    if any(map(is_no_value, kinds)):
        values = [None if is_no_value(type(value)) else value for value in values]
        kinds = set(map(type, values))
    if any(issubclass(kind, enum.Enum) for kind in kinds):
        values = list(_member_values(values, type_))
        kinds = set(map(type, values))
    validity = None
    if type(None) in kinds:
        validity = bitmap([value is not None for value in values])
        kinds.discard(type(None))
    build = _COLUMN_BUILDERS.get(type_)
    if build is None:
        raise errors.WrongTypeError(f"a batch cannot hold a column of type {TYPE_NAMES[type_]}")
    return build(values, kinds, validity, link_key)


def _member_values(values: Sequence[Any], type_: int) -> Iterator[Any]:
    for row, value in enumerate(values):
        try:
            yield member_value(value, type_) if isinstance(value, enum.Enum) else value
        except errors.Error as error:
            error.row_index = row
            raise


def _kinds_must_be(kinds: set[type], allowed: tuple[type, ...], values: Sequence[Any], type_: int) -> None:
    if all(issubclass(kind, allowed) for kind in kinds):
        return
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, allowed):
            error = wrong_type(value, type_)
            error.row_index = row
            raise error


def _filled(values: Sequence[Any], validity: Optional[bytes], filler: Any) -> Sequence[Any]:
    return values if validity is None else [filler if value is None else value for value in values]


def _int_column(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
    if not kinds <= {int}:
        values = [None if value is None else _as_int(value, row) for row, value in enumerate(values)]
    try:
        return Column(INT, 0, array("q", _filled(values, validity, 0)), validity, None, len(values))
    except OverflowError:
        row = next(row for row, value in enumerate(values) if value is not None and not -SIGN <= value < SIGN)
        raise errors.NumberOverflowError(f"{values[row]} does not fit in 64 bits", row_index=row) from None


def _as_int(value: Any, row: int) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    error = wrong_type(value, INT)
    error.row_index = row
    raise error


def _as_float(value: Any, row: int, type_: int) -> float:
    if not isinstance(value, (bool, str, bytes)) and (hasattr(value, "__float__") or hasattr(value, "__index__")):
        try:
            return real(value, type_)
        except errors.Error as refused:
            refused.row_index = row
            raise
    error = wrong_type(value, type_)
    error.row_index = row
    raise error


def _real_column(type_: int, code: str) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        if not kinds <= {float}:
            values = [None if value is None else _as_float(value, row, type_) for row, value in enumerate(values)]
        made = array(code, _filled(values, validity, 0.0))
        if type_ == FLOAT and float("inf") in map(abs, made):
            for row, value in enumerate(values):
                if value is not None and abs(made[row]) == float("inf") != abs(value):
                    raise errors.NumberOverflowError(f"{value!r} is too large for a float of 32 bits", row_index=row)
        return Column(type_, 0, made, validity, None, len(values))
    return build


def _bool_column(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
    if not kinds <= {bool}:
        # NumPy's are another type.
        values = [bool(value) if type(value).__name__ in ("bool", "bool_") else value for value in values]
        _kinds_must_be(set(map(type, values)) - {type(None)}, (bool,), values, BOOL)
    return Column(BOOL, 0, bytes(_filled(values, validity, False)), validity, None, len(values))


def _text_column(type_: int, allowed: tuple[type, ...]) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        _kinds_must_be(kinds, allowed, values, type_)
        pieces: Sequence[bytes]
        if type_ == STRING:
            try:
                pieces = [b"" if value is None else str.encode(value) for value in values]
            except UnicodeEncodeError:
                row = next(row for row, value in enumerate(values) if value is not None and not _is_utf8(value))
                raise errors.InvalidUTF8Error(f"{values[row]!r:.60} is not valid Unicode", row_index=row) from None
        else:
            pieces = [value if type(value) is bytes else b"" if value is None else memoryview(value).tobytes()
                      for value in values]
        offsets = array("q", accumulate(map(len, pieces), initial=0))
        return Column(type_, 0, b"".join(pieces), validity, offsets, len(values))
    return build


def _is_utf8(value: str) -> bool:
    try:
        str.encode(value)
        return True
    except UnicodeEncodeError:
        return False


def _timestamp_column(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
    known: dict[datetime, int] = {}
    microseconds = array("q", bytes(8 * len(values)))
    for row, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, datetime):
            error = wrong_type(value, TIMESTAMP)
            error.row_index = row
            raise error
        if type(value) is not datetime and is_a_time(value) and nanoseconds_behind(value):
            # Of a day far from today no number of nanoseconds fits; a value each does.
            exact = Values()
            for place, each in enumerate(values):
                try:
                    exact.add(each, TIMESTAMP)
                except errors.Error as refused:
                    refused.row_index = place
                    raise
            content = bytes(ffi.buffer(exact.pointer(), 24 * len(exact)))
            return Column(MIXED, 0, content, None, None, len(values))
        # The second of two times that clocks show twice equals the first, which it is not.
        number: Optional[int] = None if value.fold else known.get(value)
        if number is None:
            try:
                seconds, nanoseconds = seconds_of(value)
            except errors.Error as refused:
                refused.row_index = row
                raise
            number = seconds * 1_000_000 + nanoseconds // 1_000
            if not value.fold:
                known[value] = number
        microseconds[row] = number
    return Column(TIMESTAMP, lib.MOTTE_UNIT_MICROSECONDS, microseconds, validity, None, len(values))


def _link_column(
    values: Sequence[Any], kinds: set[type], validity: Optional[bytes], link_key: Callable[[Any], int]
) -> Column:
    found = _filled(values, validity, -1) if kinds <= {int} else [
        -1 if value is None else link_key(value) for value in values]
    try:
        keys = array("q", found)
    except OverflowError:
        row = next(row for row, key in enumerate(found) if not -SIGN <= key < SIGN)
        raise errors.NumberOverflowError(f"the key {found[row]} does not fit in 64 bits", row_index=row) from None
    return Column(LINK, 0, keys, None, None, len(values))


def _fixed_column(type_: int, kind: type, content: Callable[[Any], bytes]) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        pieces, absent = [], bytes(WIDTHS[type_])
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, kind):
                if type_ != DECIMAL or isinstance(value, (bool, str, bytes)):
                    error = wrong_type(value, type_)
                    error.row_index = row
                    raise error
                value = Decimal(_as_int(value, row)) if isinstance(value, int) else Decimal(
                    repr(_as_float(value, row, type_)))
            try:
                pieces.append(absent if value is None else content(value))
            except errors.Error as error:
                error.row_index = row
                raise
        return Column(type_, 0, b"".join(pieces), validity, None, len(pieces))
    return build


_COLUMN_BUILDERS: dict[int, Callable[..., Column]] = {
    BOOL: _bool_column,
    INT: _int_column,
    FLOAT: _real_column(FLOAT, "f"),
    DOUBLE: _real_column(DOUBLE, "d"),
    STRING: _text_column(STRING, (str,)),
    DATA: _text_column(DATA, (bytes, bytearray, memoryview)),
    TIMESTAMP: _timestamp_column,
    LINK: _link_column,
    DECIMAL: _fixed_column(DECIMAL, Decimal, lambda value: PAIR.pack(*_decimals.words(value))),
    UUID: _fixed_column(UUID, uuid.UUID, lambda value: bytes(value.bytes)),
    OBJECT_ID: _fixed_column(OBJECT_ID, ObjectId, bytes),
}


def mixed_column(values: Values) -> Column:
    """A column of values of any types, which live as long as `values`."""
    return Column(MIXED, 0, ffi.buffer(values.pointer(), 24 * len(values)), None, None, len(values))


def fixed(type_: int, content: bytes) -> list[Any]:
    """The values of a run of decimals, UUIDs or object ids."""
    width = WIDTHS[type_]
    pieces = [content[start:start + width] for start in range(0, len(content), width)]
    if type_ == UUID:
        return [uuid.UUID(bytes=piece) for piece in pieces]
    if type_ == OBJECT_ID:
        return [ObjectId(piece) for piece in pieces]
    return [_decimals.decimal(*PAIR.unpack(piece)) for piece in pieces]


_READY_FORMATS = {INT: "q", LINK: "q", DOUBLE: "d", FLOAT: "f", BOOL: "?"}
#: What a second has of a unit, and the seconds since 1970 of the years 1 to 9999; of nanoseconds all fit.
_PARTS = {"s": 1, "ms": 1_000, "us": 1_000_000}
_LEAST_SECOND, _MOST_SECOND = (each.days * 86_400 + each.seconds for each in (LEAST, MOST))
_UNITS = {"s": "MOTTE_UNIT_SECONDS", "ms": "MOTTE_UNIT_MILLISECONDS", "us": "MOTTE_UNIT_MICROSECONDS",
          "ns": "MOTTE_UNIT_NANOSECONDS"}


def _from_buffer(values: Any, type_: int) -> Optional[Column]:
    """A contiguous array of the very element type is taken as it is, masked arrays and datetime64 of NumPy too."""
    validity = None
    mask = getattr(values, "mask", None)
    dtype = getattr(values, "dtype", None)
    if kind_of(values) == "M" and type_ == TIMESTAMP:
        return _from_datetime64(times_of(values, "M"))
    if mask is not None and dtype is not None:
        if getattr(mask, "shape", ()):
            validity = bitmap([not hidden for hidden in mask.tolist()])
        elif mask:
            return None
        values = values.data
    try:
        view = memoryview(values)
    except (TypeError, ValueError):
        # Arrays of dates and of objects have no buffer.
        return None
    formats = {_READY_FORMATS.get(type_)} | ({"l"} if type_ in (INT, LINK) else set())
    if view.ndim != 1 or not view.c_contiguous or view.format not in formats:
        return None
    return Column(type_, 0, view, validity, None, len(view))


def is_buffer(values: Any) -> bool:
    """Whether these are an array of what is stored, not of Python's values."""
    return kind_of(values) not in ("", "O") or isinstance(values, (array, memoryview))


def kind_of(values: Any) -> str:
    """The letter of NumPy for the elements of an array; "" for what has none."""
    return getattr(getattr(values, "dtype", None), "kind", "")


def times_of(values: Any, kind: str) -> Any:
    """An array of datetime64 ("M") or timedelta64 ("m") as a masked one of NumPy; times with a zone in UTC."""
    import numpy

    dtype = values.dtype
    if not isinstance(dtype, numpy.dtype):
        unit = getattr(getattr(dtype, "pyarrow_dtype", dtype), "unit", "ns")
        values = values.to_numpy(dtype=f"{kind}8[{unit}]")
    if values.ndim != 1:
        raise errors.WrongTypeError(f"an array of {values.ndim} dimensions where one is wanted")
    return numpy.ma.asarray(values)


def _from_datetime64(times: Any) -> Column:
    import numpy

    values, mask = times.data, numpy.ma.getmaskarray(times)
    unit = numpy.datetime_data(values.dtype)
    if unit[0] not in _UNITS or unit[1] != 1:
        finer = unit[0] in ("ps", "fs", "as")
        exact, values = values, values.astype("datetime64[ns]" if finer else "datetime64[us]")
        unit = ("ns" if finer else "us", 1)
        changed = numpy.flatnonzero((values.astype(exact.dtype) != exact) & ~numpy.isnat(exact))
        if len(changed):
            raise errors.NumberOverflowError(f"{exact[changed[0]]!r} has no timestamp of whole nanoseconds",
                                             row_index=int(changed[0]))
    # As this machine has them: the library reads the bytes.
    plain = numpy.ascontiguousarray(numpy.asarray(values), dtype=values.dtype.newbyteorder("="))
    absent = numpy.isnat(plain) | mask
    validity = bitmap([not hidden for hidden in absent.tolist()]) if absent.any() else None
    numbers: Any = numpy.where(absent, 0, plain.view("int64"))
    if unit[0] != "ns":
        parts = _PARTS[unit[0]]
        far = numpy.flatnonzero((numbers < _LEAST_SECOND * parts) | (numbers >= (_MOST_SECOND + 1) * parts))
        if len(far):
            raise errors.NumberOverflowError(
                f"{plain[far[0]]!r} lies outside the years 1 to 9999, which is how it would be read",
                row_index=int(far[0]))
    return Column(TIMESTAMP, getattr(lib, _UNITS[unit[0]]), memoryview(numbers), validity, None, len(numbers))


def columns_pointer(columns: Sequence[Column]) -> tuple[Any, list[Any]]:
    """An array of motte_column, and what has to live as long as it."""
    cells = ffi.new("motte_column[]", len(columns))
    kept: list[Any] = [columns]
    for cell, source in zip(cells, columns):
        cell.type, cell.unit = source.type, source.unit
        for name, buffer in (("values", source.values), ("validity", source.validity), ("offsets", source.offsets)):
            if buffer is not None:
                view = ffi.from_buffer(buffer)
                kept.append(view)
                setattr(cell, name, ffi.cast("void *", view) if name == "values" else ffi.cast(
                    "uint8_t *" if name == "validity" else "int64_t *", view))
    return cells, kept
