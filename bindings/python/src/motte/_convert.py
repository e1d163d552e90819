"""Python values to motte_value and back; `_columns.py` has those of batches.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple, Optional

from . import _decimals, _objects, errors
from ._ffi import ffi, lib
from ._held import Held
from .objectid import ObjectId
from .timestamps import Timestamp, nanoseconds_behind

NULL, BOOL, INT, FLOAT, DOUBLE, STRING, DATA, TIMESTAMP, LINK, INVERSE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 100
DECIMAL, OBJECT_ID, UUID, LIST, MAP, MIXED = 9, 10, 11, 12, 13, 14

#: Names of the types in messages and schema texts.
TYPE_NAMES = {NULL: "null", BOOL: "bool", INT: "int", FLOAT: "float", DOUBLE: "double", STRING: "string",
              DATA: "data", TIMESTAMP: "timestamp", LINK: "link", DECIMAL: "decimal", OBJECT_ID: "objectId",
              UUID: "uuid", LIST: "list", MAP: "map", MIXED: "mixed", INVERSE: "inverse"}
#: What messages ask a caller of Python for.
WANTED = {**TYPE_NAMES, FLOAT: "float", DOUBLE: "float", STRING: "str", DATA: "bytes", TIMESTAMP: "datetime",
          DECIMAL: "Decimal", OBJECT_ID: "motte.ObjectId", UUID: "uuid.UUID", LINK: "an object of a model class"}
#: Bytes of the types that are arrays of bytes.
WIDTHS = {DECIMAL: 16, UUID: 16, OBJECT_ID: 12}
#: Types whose values in an array of motte_value are an address and a size.
_BYTES = frozenset({STRING, DATA, LIST, MAP})
#: Types of values that are or may hold objects.
HOLDING = frozenset({LINK, MIXED})
#: Levels of lists and maps inside a mixed value.
DEEPEST = 100
PAIR = struct.Struct("<QQ")

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LEAST = datetime.min.replace(tzinfo=timezone.utc) - EPOCH
MOST = datetime.max.replace(tzinfo=timezone.utc) - EPOCH
_LOW, _WORD = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
SIGN = 1 << 63

#: A function that makes an object of (class id, key).
Maker = Callable[[int, int], Any]


class Link(NamedTuple):
    """An object as the library sees it."""

    class_id: int
    key: int


# ------------------------------------------------------------------------------------------------ one value


def wrong_type(value: Any, type_: Optional[int]) -> errors.Error:
    wanted = f" where {WANTED[type_]} is wanted" if type_ is not None else ""
    return errors.WrongTypeError(f"{value!r:.60} is {type(value).__name__}{wanted}")


def member_value(member: enum.Enum, type_: Optional[int]) -> Any:
    """What stands for a member of an enum where none is declared: its value, which it equals if it is to be stored.
    A query, which has no type, asks for the value."""
    if type_ is not None and not member == member.value:
        raise errors.WrongTypeError(
            f"{member!r:.60} is {type(member).__name__} where {WANTED[type_]} is wanted: it would be read as its "
            f"value; give that, or declare the property as {type(member).__name__}")
    return member.value


def utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise errors.InvalidUTF8Error(f"{text!r:.60} is not valid Unicode: {error.reason}") from None


def _integer(value: int, type_: Optional[int]) -> int:
    if not -SIGN <= value < SIGN:
        raise errors.NumberOverflowError(f"{value} does not fit in 64 bits")
    return value


def whole_key(key: Any) -> int:
    """The number of a row."""
    return _integer(int(key), None)


def whole(value: int, type_: int) -> int:
    """An int for a property of floats, which holds it exactly or not at all."""
    try:
        number = int.__float__(value)
        if number == value and (type_ == DOUBLE or _single(number) == value):
            return value
    except OverflowError:
        pass
    raise errors.NumberOverflowError(f"{value} is no float exactly; give a float, or round it before")


def real(value: Any, type_: Optional[int]) -> float:
    """A number of another type as a float; of a decimal the float that is written like it."""
    if isinstance(value, float):
        # A subclass may say otherwise by __float__().
        return float.__float__(value)
    if isinstance(value, int) and type_ in (FLOAT, DOUBLE):
        return int.__float__(whole(value, type_))
    try:
        number = float(value)
        same = Decimal(repr(number)) == value if isinstance(value, Decimal) else number == value
    except (TypeError, ValueError):
        raise wrong_type(value, type_) from None
    except OverflowError:
        same, number = False, 0.0
    if same or number != number:
        return number
    raise errors.NumberOverflowError(f"{value!r:.60} is no float exactly; round it before, with float() for instance")


def _single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _float_bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        raise errors.NumberOverflowError(f"{value!r} is too large for a float of 32 bits") from None


def _double_bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def is_a_time(value: datetime) -> bool:
    """Of pandas there is a datetime that is none, and like NaN differs from itself."""
    return bool(value == value)


def is_no_value(kind: type) -> bool:
    """Whether it is the type of what a masked array of NumPy has in a masked place; as a number that would be NaN."""
    return kind.__name__ == "MaskedConstant"


def seconds_of(value: datetime) -> tuple[int, int]:
    """Seconds since 1970 and 0 to 999,999,999 nanoseconds after them."""
    if not is_a_time(value):
        raise errors.WrongTypeError(f"{value!r} is no time; where there is none, give None")
    if value.tzinfo is None:
        raise errors.WrongTypeError(
            f"{value!r} has no time zone; Motte keeps points in time: datetime(..., tzinfo=timezone.utc)")
    difference = value - EPOCH
    if not LEAST <= difference <= MOST:
        raise errors.NumberOverflowError(
            f"{value!r} lies outside the years 1 to 9999 in UTC, which is how it would be read")
    behind = 0 if type(value) is datetime else nanoseconds_behind(value)
    return difference.days * 86_400 + difference.seconds, difference.microseconds * 1_000 + behind


#: What is stored of a value, to be compared.
Content = tuple[Any, ...]


def _content(head: int, low: int, high: int, copy: Optional[bytes]) -> Content:
    kind = head & _LOW
    if copy is not None:
        return kind, copy
    if kind == NULL:
        return kind,
    if kind in WIDTHS:
        return kind, low & _WORD, high & _WORD
    return head, low & (_LOW if kind == FLOAT else _WORD)


class Values:
    """An array of motte_value being filled; what it points to lives as long as it does."""

    __slots__ = ("words", "_kept", "_depth")

    def __init__(self, depth: int = 0) -> None:
        self.words: list[int] = []
        self._kept: list[Any] = []
        self._depth = depth

    def __len__(self) -> int:
        return len(self.words) // 3

    def contents(self) -> list[Content]:
        """Every value as what is stored of it: equal for those that are stored alike, and for no others."""
        words = self.words
        return [_content(head, low, high, ffi.buffer(ffi.cast("char *", low), high)[:] if head in _BYTES else None)
                for head, low, high in zip(words[::3], words[1::3], words[2::3])]

    def part(self, positions: Iterable[int]) -> Values:
        """Those at these positions."""
        some = Values()
        some._kept = [self._kept]
        for position in positions:
            some.words += self.words[3 * position:3 * position + 3]
        return some

    def add(self, value: Any, type_: Optional[int] = None) -> None:
        """Adds a value. `type_` is the type of the property it is for, None in queries; it decides between float and
        double, and whether members of enums are taken."""
        kind = type(value)
        words = self.words
        if value is None:
            words += (NULL, 0, 0)
        elif kind is int:
            if type_ in (FLOAT, DOUBLE):
                return self.add(float(whole(value, type_)), type_)
            if type_ == DECIMAL and -SIGN <= value < SIGN:
                return self.add(Decimal(value), type_)
            words += (INT, _integer(value, type_), 0)
        elif kind is str:
            self._bytes(STRING, utf8(value))
        elif kind is float and type_ == DECIMAL and value - value == 0:
            self.add(Decimal(repr(value)), type_)
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
            # A subclass may say otherwise by __bytes__().
            self._bytes(DATA, memoryview(value).tobytes())
        elif isinstance(value, Decimal) and type_ not in (FLOAT, DOUBLE):
            words += (DECIMAL, *_decimals.words(value))
        elif isinstance(value, uuid.UUID):
            words += (UUID, *PAIR.unpack(value.bytes))
        elif isinstance(value, ObjectId):
            words += (OBJECT_ID, *PAIR.unpack(bytes(value) + bytes(4)))
        elif isinstance(value, (list, tuple)) and type_ in (None, MIXED):
            self._list(value, type_)
        elif isinstance(value, Mapping) and type_ in (None, MIXED):
            self._map(value, type_)
        else:
            self._other(value, type_)

    def _inner(self) -> Values:
        if self._depth >= DEEPEST:
            raise _too_deep()
        return Values(self._depth + 1)

    def _list(self, elements: Iterable[Any], type_: Optional[int]) -> None:
        inner = self._inner()
        for element in elements:
            inner.add(element, type_)
        self._document(LIST, lib.motte_nested_list, inner.pointer(), len(inner))

    def _map(self, entries: Mapping[Any, Any], type_: Optional[int]) -> None:
        inner = self._inner()
        keys, kept = texts(map_keys(entries))
        for value in entries.values():
            inner.add(value, type_)
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
        """Subclasses of the built-in types, enums, and what counts as a number (NumPy's scalars). Subclasses are stored
        as what they are, whatever they show themselves as."""
        if isinstance(value, enum.Enum):
            return self.add(member_value(value, type_), type_)
        if isinstance(value, str):
            return self.add(str.__str__(value), type_)
        if isinstance(value, float):
            return self.add(float.__float__(value), type_)
        if type(value).__name__ in ("bool", "bool_"):
            return self.add(bool(value), type_)
        if is_no_value(type(value)):
            return self.add(None)
        try:
            number = operator.index(value)
        except TypeError:
            if not hasattr(value, "__float__"):
                raise wrong_type(value, type_) from None
            return self.add(real(value, type_), type_)
        self.add(int(number), type_)

    def _bytes(self, kind: int, content: bytes) -> None:
        view = ffi.from_buffer(content)
        self._kept.append(view)
        self.words += (kind, int(ffi.cast("intptr_t", view)), len(content))

    def pointer(self) -> Any:
        """The array, valid as long as this object and the result live."""
        try:
            cells = ffi.new("int64_t[]", self.words)
        except OverflowError:
            # Decimals and identifiers have words without a sign.
            cells = ffi.new("int64_t[]", [word if word < SIGN else word - (1 << 64) for word in self.words])
        self._kept.append(cells)
        return ffi.cast("motte_value *", cells)


class Arguments(Values):
    """Those of a query, and the objects among them that may be lost."""

    __slots__ = ("held",)

    def __init__(self, values: Values, held: Optional[Held] = None) -> None:
        super().__init__()
        self.words, self._kept, self.held = values.words, values._kept, held


def check_depth(depth: int) -> None:
    """For what goes through a value before it is encoded, which refuses the very levels that are too many. A list that
    holds itself has no end."""
    if depth > DEEPEST + 1:
        raise _too_deep()


def _too_deep() -> errors.Error:
    return errors.InvalidArgumentError(f"lists and dicts nest to {DEEPEST} levels at most")


def texts(given: Sequence[str]) -> tuple[Any, list[Any]]:
    """An array of motte_str, and what has to live as long as it."""
    cells = ffi.new("motte_str[]", len(given))
    kept = [cells]
    for cell, text in zip(cells, given):
        view = ffi.from_buffer(utf8(text))
        kept.append(view)
        cell.data, cell.size = ffi.cast("char *", view), len(view)
    return cells, kept


def map_key(key: Any) -> bytes:
    return utf8(*map_keys([key]))


def map_keys(keys: Iterable[Any]) -> list[str]:
    found = list(keys)
    for key in found:
        if not isinstance(key, str):
            raise errors.WrongTypeError(f"keys of maps are texts, not {key!r:.60}")
    return found


def one(value: Any, type_: Optional[int] = None) -> Values:
    values = Values()
    values.add(value, type_)
    return values


class Cells:
    """Room for `count` motte_value that the library fills, and what they point to."""

    __slots__ = ("count", "values", "words", "copies")

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = ffi.new("int64_t[]", 3 * count)
        self.values = ffi.cast("motte_value *", self.words)
        #: The texts, data and documents of the values, None for others.
        self.copies: list[Optional[bytes]] = []

    def read(self, function: str, *arguments: Any) -> int:
        """Calls a function that fills this, which is among its arguments; gives its status. What it lends is copied
        at once: the thread's next call may end it, and whatever runs in between may make one."""
        status, self.copies = _objects.lent(
            _address(function), _word(self.words), self.count, 3, *[_word(each) for each in arguments])
        return status

    def first(self, make_object: Callable[[int, int], Any], decoders: Optional[dict[int, Any]] = None) -> Any:
        """The first value, of any type; objects are made by `make_object(class id, key)`."""
        head, low, high = self.words
        copy = self.copies[0]
        return (DECODERS if decoders is None else decoders)[head & _LOW](
            (head >> 32) & _LOW, low if copy is None else copy, high, make_object)

    def all(self, make_object: Callable[[int, int], Any], count: Optional[int] = None,
            decoders: Optional[dict[int, Any]] = None) -> list[Any]:
        count = self.count if count is None else count
        words = ffi.unpack(self.words, 3 * count) if count else []
        decode = DECODERS if decoders is None else decoders
        return [decode[head & _LOW]((head >> 32) & _LOW, low if copy is None else copy, high, make_object)
                for head, low, high, copy in zip(words[0::3], words[1::3], words[2::3], self.copies)]

    def contents(self) -> list[Content]:
        words = ffi.unpack(self.words, 3 * self.count) if self.count else []
        return [_content(head, low, high, copy)
                for head, low, high, copy in zip(words[0::3], words[1::3], words[2::3], self.copies)]


_addresses: dict[str, int] = {}


def _address(function: str) -> int:
    found = _addresses.get(function)
    if found is None:
        found = _addresses[function] = _word(ffi.addressof(lib, function))
    return found


def _word(argument: Any) -> int:
    return argument if type(argument) is int else int(ffi.cast("uintptr_t", argument))


def read_texts(function: str, count: int, *arguments: Any) -> tuple[int, list[str]]:
    """Status of a function and the texts that it lends. It has the array of `count` motte_str as its argument `...`."""
    cells = ffi.new("motte_str[]", count)
    status, copies = _objects.lent(
        _address(function), _word(cells), count, 2, *[_word(cells if each is ... else each) for each in arguments])
    return status, [(copy or b"").decode("utf-8") for copy in copies]


def moment(seconds: int, nanoseconds: int) -> datetime:
    try:
        made = EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1_000)
        return Timestamp.of(made, nanoseconds % 1_000) if nanoseconds % 1_000 else made
    except OverflowError:
        raise errors.NumberOverflowError(
            f"the timestamp {seconds} s lies outside the years 1 to 9999 that a datetime can hold") from None


DECODERS: dict[int, Callable[[int, Any, int, Callable[[int, int], Any]], Any]] = {
    NULL: lambda aux, low, high, make: None,
    BOOL: lambda aux, low, high, make: low != 0,
    INT: lambda aux, low, high, make: low,
    FLOAT: lambda aux, low, high, make: struct.unpack("<f", struct.pack("<I", low & _LOW))[0],
    DOUBLE: lambda aux, low, high, make: struct.unpack("<d", struct.pack("<q", low))[0],
    # What the library lends comes as a copy.
    STRING: lambda aux, low, high, make: low.decode("utf-8"),
    DATA: lambda aux, low, high, make: low,
    TIMESTAMP: lambda aux, low, high, make: moment(low, aux),
    LINK: lambda aux, low, high, make: make(aux, low),
    DECIMAL: lambda aux, low, high, make: _decimals.decimal(low, high),
    UUID: lambda aux, low, high, make: uuid.UUID(bytes=PAIR.pack(low & _WORD, high & _WORD)),
    OBJECT_ID: lambda aux, low, high, make: ObjectId(PAIR.pack(low & _WORD, high & _WORD)[:12]),
    LIST: lambda aux, low, high, make: _nested(LIST, low, make),
    MAP: lambda aux, low, high, make: _nested(MAP, low, make),
}


def _words(value: Any, type_: int) -> tuple[int, ...]:
    """The words of a decimal or identifier, which points nowhere."""
    values = Values()
    values.add(value, type_)
    return tuple(values.words)


_objects.configure(
    decoders=DECODERS, words=_words, error=errors.Error, datetime=datetime, timedelta=timedelta, epoch=EPOCH,
    classes={DECIMAL: Decimal, UUID: uuid.UUID, OBJECT_ID: ObjectId})


class _InPlace:
    """Stands for a list or map that is not read as a whole but opened where it is."""


IN_PLACE: Any = _InPlace()

#: For mixed properties and elements, whose lists and maps are live.
PLACE_DECODERS = {**DECODERS, LIST: lambda aux, low, high, make: IN_PLACE, MAP: lambda aux, low, high, make: IN_PLACE}


def _nested(kind: int, document: bytes, make_object: Callable[[int, int], Any]) -> Any:
    """A nested list or map. What is read points into the document."""
    kept, place, total = ffi.from_buffer(document), Cells(1), ffi.new("size_t *")
    place.words[0], place.words[1], place.words[2] = kind, _word(kept), len(document)
    errors.check(lib.motte_nested_count(place.values, total))
    count = int(total[0])
    cells = Cells(count)
    keys = ffi.new("motte_str[]", count) if kind == MAP else ffi.NULL
    errors.check(cells.read("motte_nested_read", place.values, 0, count, keys, cells.values, total))
    values = cells.all(make_object, count)
    if kind == LIST:
        return values
    names = [bytes(ffi.buffer(keys[index].data, keys[index].size)).decode("utf-8") for index in range(count)]
    del kept
    return dict(zip(names, values))
