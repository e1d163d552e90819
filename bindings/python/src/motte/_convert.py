"""Python values to motte_value and back, one at a time and by columns.

A motte_value is 24 bytes: type and aux (32 bits each), then two words. Here it is read and written as three 64-bit
words, which needs no field access of cffi:

    words[3 i]      type | aux << 32         aux: nanoseconds of a timestamp, class of a link
    words[3 i + 1]  the number, the bits of a float or double, the seconds, the key, the address of a text
    words[3 i + 2]  the size of a text; decimals, UUIDs and object ids take both words

    Python       bool   int   float           str      bytes   datetime (aware)   Link (objects)   None
    Motte        bool   int   double, float   string   data    timestamp          link             null

    Python       Decimal   uuid.UUID   ObjectId   list    dict    Enum
    Motte        decimal   uuid        objectId   list    map     its value
"""
from __future__ import annotations

import enum
import operator
import struct
import uuid
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple, Optional, Union

from . import _decimals, errors
from ._ffi import ffi, lib
from .objectid import ObjectId

NULL, BOOL, INT, FLOAT, DOUBLE, STRING, BINARY, TIMESTAMP, LINK, INVERSE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 100
DECIMAL, OBJECT_ID, UUID, LIST, MAP, MIXED = 9, 10, 11, 12, 13, 14

#: Names of the types in messages and schema texts.
TYPE_NAMES = {NULL: "null", BOOL: "bool", INT: "int", FLOAT: "float", DOUBLE: "double", STRING: "string",
              BINARY: "data", TIMESTAMP: "timestamp", LINK: "link", DECIMAL: "decimal", OBJECT_ID: "objectId",
              UUID: "uuid", LIST: "list", MAP: "map", MIXED: "mixed", INVERSE: "inverse"}
#: Bytes of the types that are arrays of bytes.
WIDTHS = {DECIMAL: 16, UUID: 16, OBJECT_ID: 12}
#: Levels of lists and maps inside a mixed value.
DEEPEST = 100
_PAIR = struct.Struct("<QQ")

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LOW, _WORD = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_SIGN = 1 << 63


class Link(NamedTuple):
    """An object as the library sees it."""

    class_id: int
    key: int


# ------------------------------------------------------------------------------------------------ one value


def _wrong(value: Any, type_: Optional[int]) -> errors.Error:
    wanted = f" where {TYPE_NAMES[type_]} is wanted" if type_ is not None else ""
    return errors.WrongTypeError(f"{value!r:.60} is {type(value).__name__}{wanted}")


def utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise errors.InvalidUTF8Error(f"{text!r:.60} is not valid Unicode: {error.reason}") from None


def _integer(value: int, type_: Optional[int]) -> int:
    if not -_SIGN <= value < _SIGN:
        raise errors.NumberOverflowError(f"{value} does not fit in 64 bits")
    return value


def _float_bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        # As the library rounds it.
        return int(struct.unpack("<I", struct.pack("<f", float("inf") if value > 0 else float("-inf")))[0])


def _double_bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def seconds_of(value: datetime) -> tuple[int, int]:
    """Seconds since 1970 and 0 to 999,999,999 nanoseconds after them."""
    if value.tzinfo is None:
        raise errors.WrongTypeError(
            f"{value!r} has no time zone; Motte keeps points in time: datetime(..., tzinfo=timezone.utc)")
    difference = value - EPOCH
    return difference.days * 86_400 + difference.seconds, difference.microseconds * 1_000


class Values:
    """An array of motte_value being filled; what it points to lives as long as it does."""

    __slots__ = ("words", "_kept", "_depth")

    def __init__(self, depth: int = 0) -> None:
        self.words: list[int] = []
        self._kept: list[Any] = []
        self._depth = depth

    def __len__(self) -> int:
        return len(self.words) // 3

    def add(self, value: Any, type_: Optional[int] = None) -> None:
        """Adds a value. `type_` is the type of the property it is for, which only decides between float and double."""
        kind = type(value)
        words = self.words
        if value is None:
            words += (NULL, 0, 0)
        elif kind is int:
            words += (INT, _integer(value, type_), 0)
        elif kind is str:
            self._bytes(STRING, utf8(value))
        elif kind is float:
            words += (FLOAT, _float_bits(value), 0) if type_ == FLOAT else (DOUBLE, _double_bits(value), 0)
        elif kind is bool:
            words += (BOOL, int(value), 0)
        elif kind is Link:
            words += (LINK | value.class_id << 32, value.key, 0)
        elif isinstance(value, datetime):
            seconds, nanoseconds = seconds_of(value)
            words += (TIMESTAMP | nanoseconds << 32, seconds, 0)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self._bytes(BINARY, bytes(value))
        elif isinstance(value, Decimal) and type_ not in (FLOAT, DOUBLE):
            words += (DECIMAL, *_decimals.words(value))
        elif isinstance(value, uuid.UUID):
            words += (UUID, *_PAIR.unpack(value.bytes))
        elif isinstance(value, ObjectId):
            words += (OBJECT_ID, *_PAIR.unpack(bytes(value) + bytes(4)))
        elif isinstance(value, (list, tuple)) and type_ in (None, MIXED):
            self._list(value)
        elif isinstance(value, Mapping) and type_ in (None, MIXED):
            self._map(value)
        else:
            self._other(value, type_)

    def _inner(self) -> Values:
        if self._depth >= DEEPEST:
            raise errors.InvalidArgumentError(f"lists and dicts nest to {DEEPEST} levels at most")
        return Values(self._depth + 1)

    def _list(self, elements: Iterable[Any]) -> None:
        inner = self._inner()
        for element in elements:
            inner.add(element)
        self._document(LIST, lib.motte_nested_list, inner.pointer(), len(inner))

    def _map(self, entries: Mapping[Any, Any]) -> None:
        inner = self._inner()
        keys, kept = texts(list(entries))
        for value in entries.values():
            inner.add(value)
        self._document(MAP, lib.motte_nested_map, keys, inner.pointer(), len(inner))
        del kept

    def _document(self, kind: int, function: Callable[..., int], *arguments: Any) -> None:
        buffer = ffi.new("motte_buf *")
        errors.check(function(*arguments, buffer))
        try:
            content = bytes(ffi.buffer(buffer.data, buffer.size))
        finally:
            lib.motte_buf_dispose(buffer)
        self._bytes(kind, content)

    def _other(self, value: Any, type_: Optional[int]) -> None:
        """Subclasses of the built-in types, enums, and what counts as a number (NumPy's scalars)."""
        if isinstance(value, enum.Enum):
            return self.add(value.value, type_)
        if isinstance(value, str):
            return self.add(str(value), type_)
        if isinstance(value, float):
            return self.add(float(value), type_)
        if type(value).__name__ in ("bool", "bool_"):
            return self.add(bool(value), type_)
        try:
            number = operator.index(value)
        except TypeError:
            try:
                real = float(value) if hasattr(value, "__float__") else None
            except (TypeError, ValueError):
                real = None
            if real is None:
                raise _wrong(value, type_) from None
            return self.add(real, type_)
        self.add(int(number), type_)

    def _bytes(self, kind: int, content: bytes) -> None:
        view = ffi.from_buffer(content)
        self._kept.append(view)
        self.words += (kind, int(ffi.cast("intptr_t", view)), len(content))

    def pointer(self) -> Any:
        """The array, valid as long as this object and the result live."""
        cells = ffi.new("int64_t[]", [word if word < _SIGN else word - (1 << 64) for word in self.words])
        self._kept.append(cells)
        return ffi.cast("motte_value *", cells)


def texts(keys: Sequence[Any]) -> tuple[Any, list[Any]]:
    """An array of motte_str for keys of maps, and what has to live as long as it."""
    cells, kept = ffi.new("motte_str[]", len(keys)), []
    for cell, key in zip(cells, keys):
        view = ffi.from_buffer(map_key(key))
        kept.append(view)
        cell.data, cell.size = ffi.cast("char *", view), len(view)
    return cells, kept


def map_key(key: Any) -> bytes:
    if not isinstance(key, str):
        raise errors.WrongTypeError(f"keys of maps are texts, not {key!r:.60}")
    return utf8(key)


def one(value: Any, type_: Optional[int] = None) -> Values:
    values = Values()
    values.add(value, type_)
    return values


class Cells:
    """Room for `count` motte_value that the library fills."""

    __slots__ = ("count", "values", "words")

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = ffi.new("int64_t[]", 3 * count)
        self.values = ffi.cast("motte_value *", self.words)

    def first(self, make_object: Callable[[int, int], Any], decoders: Optional[dict[int, Any]] = None) -> Any:
        """The first value, of any type; objects are made by `make_object(class id, key)`."""
        head, low, high = self.words
        return (DECODERS if decoders is None else decoders)[head & _LOW]((head >> 32) & _LOW, low, high, make_object)

    def all(self, make_object: Callable[[int, int], Any], count: Optional[int] = None,
            decoders: Optional[dict[int, Any]] = None) -> list[Any]:
        count = self.count if count is None else count
        words = ffi.unpack(self.words, 3 * count) if count else []
        decode = DECODERS if decoders is None else decoders
        return [decode[head & _LOW]((head >> 32) & _LOW, low, high, make_object)
                for head, low, high in zip(words[0::3], words[1::3], words[2::3])]


_CHARS = ffi.typeof("char *")


def copy_bytes(address: int, size: int) -> bytes:
    # bytes() is for type checkers; what unpack() gives is bytes already, and bytes() of bytes copies nothing.
    return bytes(ffi.unpack(ffi.cast(_CHARS, address), size)) if size else b""


def moment(seconds: int, nanoseconds: int) -> datetime:
    try:
        return EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1_000)
    except OverflowError:
        raise errors.NumberOverflowError(
            f"the timestamp {seconds} s lies outside the years 1 to 9999 that a datetime can hold") from None


DECODERS: dict[int, Callable[[int, int, int, Callable[[int, int], Any]], Any]] = {
    NULL: lambda aux, low, high, make: None,
    BOOL: lambda aux, low, high, make: low != 0,
    INT: lambda aux, low, high, make: low,
    FLOAT: lambda aux, low, high, make: struct.unpack("<f", struct.pack("<I", low & _LOW))[0],
    DOUBLE: lambda aux, low, high, make: struct.unpack("<d", struct.pack("<q", low))[0],
    STRING: lambda aux, low, high, make: copy_bytes(low, high).decode("utf-8"),
    BINARY: lambda aux, low, high, make: copy_bytes(low, high),
    TIMESTAMP: lambda aux, low, high, make: moment(low, aux),
    LINK: lambda aux, low, high, make: make(aux, low),
    DECIMAL: lambda aux, low, high, make: _decimals.decimal(low, high),
    UUID: lambda aux, low, high, make: uuid.UUID(bytes=_PAIR.pack(low & _WORD, high & _WORD)),
    OBJECT_ID: lambda aux, low, high, make: ObjectId(_PAIR.pack(low & _WORD, high & _WORD)[:12]),
    LIST: lambda aux, low, high, make: _nested(LIST, low, high, make),
    MAP: lambda aux, low, high, make: _nested(MAP, low, high, make),
}


class _InPlace:
    """Stands for a list or map that is not read as a whole but opened where it is."""


IN_PLACE: Any = _InPlace()

#: For mixed properties and elements, whose lists and maps are live.
PLACE_DECODERS = {**DECODERS, LIST: lambda aux, low, high, make: IN_PLACE, MAP: lambda aux, low, high, make: IN_PLACE}


def _nested(kind: int, address: int, size: int, make_object: Callable[[int, int], Any]) -> Any:
    """A nested list or map, copied."""
    place, total = Cells(1), ffi.new("size_t *")
    place.words[0], place.words[1], place.words[2] = kind, address, size
    errors.check(lib.motte_nested_count(place.values, total))
    count = int(total[0])
    cells = Cells(count)
    keys = ffi.new("motte_str[]", count) if kind == MAP else ffi.NULL
    errors.check(lib.motte_nested_read(place.values, 0, count, keys, cells.values, total))
    values = cells.all(make_object, count)
    return values if kind == LIST else dict(zip(read_texts(keys, count), values))


def read_texts(cells: Any, count: int) -> list[str]:
    """The texts of an array of motte_str."""
    return [bytes(ffi.buffer(cells[index].data, cells[index].size)).decode("utf-8") for index in range(count)]


# ------------------------------------------------------------------------------------------------ columns in


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
    digits = bytes(49 if one else 48 for one in present)
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
        ready = _from_buffer(values, type_)
        if ready is not None:
            return ready
        values = list(values)
    kinds = set(map(type, values))
    if any(issubclass(kind, enum.Enum) for kind in kinds):
        values = [value.value if isinstance(value, enum.Enum) else value for value in values]
        kinds = set(map(type, values))
    validity = None
    if type(None) in kinds:
        validity = bitmap([value is not None for value in values])
        kinds.discard(type(None))
    build = _COLUMN_BUILDERS.get(type_)
    if build is None:
        raise errors.WrongTypeError(f"a batch cannot hold a column of type {TYPE_NAMES[type_]}")
    return build(values, kinds, validity, link_key)


def _kinds_must_be(kinds: set[type], allowed: tuple[type, ...], values: Sequence[Any], type_: int) -> None:
    if kinds <= set(allowed):
        return
    for row, value in enumerate(values):
        if value is not None and type(value) not in allowed:
            error = _wrong(value, type_)
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
        row = next(row for row, value in enumerate(values) if value is not None and not -_SIGN <= value < _SIGN)
        raise errors.NumberOverflowError(f"{values[row]} does not fit in 64 bits", row_index=row) from None


def _as_int(value: Any, row: int) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    error = _wrong(value, INT)
    error.row_index = row
    raise error


def _as_float(value: Any, row: int, type_: int) -> float:
    if not isinstance(value, (bool, str, bytes)) and (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return float(value)
    error = _wrong(value, type_)
    error.row_index = row
    raise error


def _real_column(type_: int, code: str) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        if not kinds <= {int, float}:
            values = [None if value is None else _as_float(value, row, type_) for row, value in enumerate(values)]
        return Column(type_, 0, array(code, _filled(values, validity, 0.0)), validity, None, len(values))
    return build


def _bool_column(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
    _kinds_must_be(kinds, (bool,), values, BOOL)
    return Column(BOOL, 0, bytes(_filled(values, validity, False)), validity, None, len(values))


def _text_column(type_: int, allowed: tuple[type, ...]) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        _kinds_must_be(kinds, allowed, values, type_)
        pieces: Sequence[bytes]
        if type_ == STRING:
            try:
                pieces = [b"" if value is None else value.encode() for value in values]
            except UnicodeEncodeError:
                row = next(row for row, value in enumerate(values) if value is not None and not _is_utf8(value))
                raise errors.InvalidUTF8Error(f"{values[row]!r:.60} is not valid Unicode", row_index=row) from None
        else:
            pieces = [b"" if value is None else bytes(value) for value in values]
        offsets = array("q", accumulate(map(len, pieces), initial=0))
        return Column(type_, 0, b"".join(pieces), validity, offsets, len(values))
    return build


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
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
            error = _wrong(value, TIMESTAMP)
            error.row_index = row
            raise error
        number = known.get(value)
        if number is None:
            seconds, nanoseconds = seconds_of(value)
            number = known[value] = seconds * 1_000_000 + nanoseconds // 1_000
        microseconds[row] = number
    return Column(TIMESTAMP, lib.MOTTE_UNIT_MICROSECONDS, microseconds, validity, None, len(values))


def _link_column(
    values: Sequence[Any], kinds: set[type], validity: Optional[bytes], link_key: Callable[[Any], int]
) -> Column:
    if kinds <= {int}:
        keys = array("q", _filled(values, validity, -1))
    else:
        keys = array("q", (-1 if value is None else link_key(value) for value in values))
    return Column(LINK, 0, keys, None, None, len(values))


def _fixed_column(type_: int, kind: type, content: Callable[[Any], bytes]) -> Callable[..., Column]:
    def build(values: Sequence[Any], kinds: set[type], validity: Optional[bytes], _: Any) -> Column:
        pieces, absent = [], bytes(WIDTHS[type_])
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, kind):
                if type_ != DECIMAL or isinstance(value, (bool, str, bytes)):
                    error = _wrong(value, type_)
                    error.row_index = row
                    raise error
                value = Decimal(_as_int(value, row)) if isinstance(value, int) else Decimal(
                    repr(_as_float(value, row, type_)))
            pieces.append(absent if value is None else content(value))
        return Column(type_, 0, b"".join(pieces), validity, None, len(pieces))
    return build


_COLUMN_BUILDERS: dict[int, Callable[..., Column]] = {
    BOOL: _bool_column,
    INT: _int_column,
    FLOAT: _real_column(FLOAT, "f"),
    DOUBLE: _real_column(DOUBLE, "d"),
    STRING: _text_column(STRING, (str,)),
    BINARY: _text_column(BINARY, (bytes, bytearray, memoryview)),
    TIMESTAMP: _timestamp_column,
    LINK: _link_column,
    DECIMAL: _fixed_column(DECIMAL, Decimal, lambda value: _PAIR.pack(*_decimals.words(value))),
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
    return [_decimals.decimal(*_PAIR.unpack(piece)) for piece in pieces]


_READY_FORMATS = {INT: "q", LINK: "q", DOUBLE: "d", FLOAT: "f", BOOL: "?"}
_UNITS = {"s": "MOTTE_UNIT_SECONDS", "ms": "MOTTE_UNIT_MILLISECONDS", "us": "MOTTE_UNIT_MICROSECONDS",
          "ns": "MOTTE_UNIT_NANOSECONDS"}


def _from_buffer(values: Any, type_: int) -> Optional[Column]:
    """A contiguous array of the very element type is taken as it is, masked arrays and datetime64 of NumPy too."""
    validity = None
    mask = getattr(values, "mask", None)
    dtype = getattr(values, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "") == "M" and type_ == TIMESTAMP:
        return _from_datetime64(values, mask)
    if mask is not None and dtype is not None:
        if getattr(mask, "shape", ()):
            validity = bitmap([not hidden for hidden in mask.tolist()])
        elif mask:
            return None
        values = values.data
    try:
        view = memoryview(values)
    except TypeError:
        return None
    formats = {_READY_FORMATS.get(type_)} | ({"l"} if type_ in (INT, LINK) else set())
    if view.ndim != 1 or not view.c_contiguous or view.format not in formats:
        return None
    return Column(type_, 0, view, validity, None, len(view))


def _from_datetime64(values: Any, mask: Any) -> Optional[Column]:
    import numpy

    unit = numpy.datetime_data(values.dtype)
    if unit[0] not in _UNITS or unit[1] != 1 or values.ndim != 1:
        values, unit = values.astype("datetime64[us]"), ("us", 1)
    plain = numpy.ascontiguousarray(numpy.asarray(values))
    absent = numpy.isnat(plain)
    if mask is not None:
        absent = absent | numpy.ma.getmaskarray(values)
    validity = bitmap([not hidden for hidden in absent.tolist()]) if absent.any() else None
    numbers: Any = numpy.where(absent, 0, plain.view("int64"))
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

