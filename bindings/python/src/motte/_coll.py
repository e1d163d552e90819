"""Collections and queries, as Python calls."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _callbacks, errors
from ._columns import unpacked
from ._convert import Arguments, Cells, Content, Maker, Values, map_key, map_keys, read_texts, texts, utf8
from ._ffi import ffi, lib, sized
from ._guard import FREE, Guard, Guarded
from ._handles import out, own, take_text
from ._held import AnySeen, Held
from ._tokens import OK, Token

LIST, RESULTS, BACKLINKS = lib.MOTTE_COLLECTION_LIST, lib.MOTTE_COLLECTION_RESULTS, lib.MOTTE_COLLECTION_BACKLINKS
SET, MAP = lib.MOTTE_COLLECTION_SET, lib.MOTTE_COLLECTION_MAP
UNION, INTERSECT = lib.MOTTE_SET_UNION, lib.MOTTE_SET_INTERSECT
SUBTRACT, DIFFER = lib.MOTTE_SET_SUBTRACT, lib.MOTTE_SET_SYMMETRIC_DIFFERENCE
SUBSET, SUPERSET, INTERSECTS = lib.MOTTE_SET_SUBSET, lib.MOTTE_SET_SUPERSET, lib.MOTTE_SET_INTERSECTS
COUNT, MIN, MAX = lib.MOTTE_AGGREGATE_COUNT, lib.MOTTE_AGGREGATE_MIN, lib.MOTTE_AGGREGATE_MAX
SUM, AVERAGE = lib.MOTTE_AGGREGATE_SUM, lib.MOTTE_AGGREGATE_AVG
SELF = lib.MOTTE_PROP_SELF
MICROSECONDS, NANOSECONDS = lib.MOTTE_UNIT_MICROSECONDS, lib.MOTTE_UNIT_NANOSECONDS

#: Statuses for values that no collection of the kind can hold.
_NOWHERE = (lib.MOTTE_E_WRONG_TYPE, lib.MOTTE_E_INVALID_ARGUMENT, lib.MOTTE_E_OVERFLOW, lib.MOTTE_E_INVALID_UTF8)


def _has_function(kept: Any, of_frozen: bool) -> bool:
    if isinstance(kept, tuple):
        return any(_has_function(each, of_frozen) for each in kept)
    return kept is not None and (not of_frozen or kept.is_of_frozen)


class CollInfo(NamedTuple):
    kind: int
    type: int
    nullable: bool
    target: int


def object_link(handle: Any) -> tuple[int, int]:
    """(class id, key)"""
    class_id, key = ffi.new("motte_class *"), ffi.new("motte_key *")
    errors.check(lib.motte_object_row(handle, class_id, key))
    return int(class_id[0]), int(key[0])


def is_frozen(handle: Any) -> bool:
    return bool(lib.motte_handle_is_frozen(handle))


class Coll(Guarded):
    """A list, set, map, results or backlinks."""

    __slots__ = ("kept", "_address", "seen")

    def __init__(self, handle: Any, guard: Guard, kept: Any = None, held: Optional[Held] = None,
                 seen: Optional[AnySeen] = None) -> None:
        super().__init__(handle, guard, held)
        #: In what the elements of a snapshot were seen, where some may be lost. These are as deleted ones are: what
        #: reads elements one by one gives them as gone, whatever else has no handle then.
        self.seen = seen
        #: What the library calls for it, and does not keep: the key function of sections. So has all that is made of
        #: it.
        self.kept = kept
        self._address: Optional[int] = None

    def _made(self, place: Any, *held: Optional[Held]) -> Coll:
        return Coll(own(place), self.guard, self.kept, Held.of(self.held, *held))

    @property
    def _listing(self) -> Any:
        """The handle for what asks a snapshot for its elements by themselves."""
        if self.seen is None:
            return self.handle
        self.guard.check()
        return self.raw

    def calls_function(self, *, of_frozen: bool = False) -> bool:
        """Whether a function of the program says what its elements are: the key function of sections. `of_frozen`: of
        sections that were made of something frozen."""
        return _has_function(self.kept, of_frozen)

    def lost(self) -> Optional[AnySeen]:
        """In what the elements of a snapshot were seen, if some of them are lost."""
        return self.seen if self.seen is not None and self.held is not None and self.held.has_lost() else None

    @property
    def address(self) -> int:
        """The handle as a number, for native code, which asks whose it is."""
        if self.held is not None:
            self.held.check()
        if self._address is None:
            self._address = int(ffi.cast("uintptr_t", self.raw))
        return self._address

    def count(self) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_coll_count(self._listing, place))
        return int(place[0])

    def info(self) -> CollInfo:
        details = sized("motte_coll_details")
        errors.check(lib.motte_coll_info(self._listing, details))
        return CollInfo(int(details.kind), int(details.type), bool(details.flags & lib.MOTTE_COLL_NULLABLE),
                        int(details.target))

    def is_valid(self) -> bool:
        try:
            errors.check(lib.motte_handle_check(self._listing))
            return True
        except errors.ENDED:
            return False

    def get(self, index: int, make: Maker, decoders: Optional[dict[int, Any]] = None) -> Any:
        cells = Cells(1)
        errors.check(cells.read("motte_coll_get", self.handle, index, cells.values))
        return cells.first(make, decoders)

    def get_coll(self, index: int) -> Coll:
        """The list or map nested in an element."""
        place = out("motte_coll")
        errors.check(lib.motte_coll_get_coll(self.handle, index, place))
        return self._made(place)

    def find(self, wanted: Values) -> Optional[int]:
        place = ffi.new("size_t *")
        status = lib.motte_coll_find(self.handle, wanted.pointer(), place)
        if status in _NOWHERE:
            return None
        return int(place[0]) if _callbacks.check_calling(status) == lib.MOTTE_OK else None

    def clear(self) -> None:
        errors.check(lib.motte_coll_clear(self.handle))

    def assign(self, values: Values) -> None:
        errors.check(lib.motte_coll_assign(self.handle, values.pointer(), len(values)))

    def delete_objects(self) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_coll_delete_objects(self.handle, place))
        return int(place[0])

    def snapshot(self) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_coll_snapshot(self._listing, place))
        return Coll(own(place), self.guard, self.kept, None if self.seen is None else self.held, self.seen)

    def freeze(self) -> Coll:
        place = out("motte_coll")
        if self.seen is None and self.held is not None:
            self.held.check()
        _callbacks.check_calling(lib.motte_freeze(self.raw, ffi.cast("void **", place)))
        return self.like(own(place), FREE)

    def like(self, handle: Any, guard: Guard) -> Coll:
        """The same in another version or database."""
        return Coll(handle, guard, self.kept, self.held, self.seen)

    def to_results(self) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_coll_to_results(self._listing, place))
        return self.like(own(place), self.guard)

    def explain(self, flags: int) -> str:
        return explained(lib.motte_coll_explain, self.handle, flags)

    def filter(self, text: str, arguments: Arguments) -> Coll:
        place, content = out("motte_coll"), utf8(text)
        errors.check(lib.motte_coll_filter(
            self.handle, content, len(content), arguments.pointer(), len(arguments), place))
        return self._made(place, arguments.held)

    def sort(self, keys: Sequence[tuple[str, bool]]) -> Coll:
        """Keys are (path, whether descending)."""
        place = out("motte_coll")
        cells, _kept = self._sort_keys(keys)
        errors.check(lib.motte_coll_sort(self.handle, cells, len(keys), place))
        return self._made(place)

    def distinct(self, paths: Sequence[str]) -> Coll:
        place = out("motte_coll")
        cells, _kept = self._sort_keys([(path, False) for path in paths])
        errors.check(lib.motte_coll_distinct(self.handle, cells, len(paths), place))
        return self._made(place)

    @staticmethod
    def _sort_keys(keys: Sequence[tuple[str, bool]]) -> tuple[Any, list[Any]]:
        """The keys for C, and what has to live as long as they do."""
        cells, kept = ffi.new("motte_sort_key[]", len(keys)), []
        for cell, (path, descending) in zip(cells, keys):
            view = ffi.from_buffer(utf8(path))
            kept.append(view)
            cell.path, cell.path_size = ffi.cast("char *", view), len(view)
            cell.flags = lib.MOTTE_SORT_DESCENDING if descending else lib.MOTTE_SORT_ASCENDING
        return cells, kept

    def limit(self, count: int) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_coll_limit(self.handle, count, place))
        return self._made(place)

    def aggregate(self, operation: int, prop: int, make: Maker) -> Any:
        cells = Cells(1)
        errors.check(cells.read("motte_coll_aggregate", self.handle, operation, prop, cells.values))
        return cells.first(make)

    def observe(self, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]] = None) -> Token:
        if paths is None:
            return Token.started(lib.motte_observe_coll, self.handle, self.guard, callback, kept=self.kept)
        return Token.started(
            lib.motte_observe_coll_paths, self.handle, self.guard, callback, paths, kept=self.kept)

    def same(self, other: Coll) -> bool:
        return bool(lib.motte_equal(self._listing, other._listing))

    # -------------------------------------------------------------------------------------------- reading in bulk

    def keys(self, first: int, count: int) -> array[int]:
        keys, read = array("q", bytes(8 * count)), ffi.new("size_t *")
        errors.check(lib.motte_read_keys(self._listing, first, count, ffi.from_buffer("motte_key[]", keys), read))
        del keys[read[0]:]
        return keys

    def numbers(self, kind: str, prop: int, first: int, count: int, into: Any) -> tuple[bytearray, int]:
        """Fills `into` and tells which are present (a bitmap) and how many there are.

        `kind` is ints, doubles, bools, timestamps (microseconds), nanoseconds or links; `into` a writable buffer of
        their size."""
        function, element = {
            "ints": (lib.motte_read_ints, "int64_t[]"),
            "doubles": (lib.motte_read_doubles, "double[]"),
            "bools": (lib.motte_read_bools, "uint8_t[]"),
            "timestamps": (lib.motte_read_timestamps, "int64_t[]"),
            "nanoseconds": (lib.motte_read_timestamps, "int64_t[]"),
            "links": (lib.motte_read_links, "motte_key[]"),
        }[kind]
        validity, read = bytearray((count + 7) // 8), ffi.new("size_t *")
        unit = {"timestamps": (MICROSECONDS,), "nanoseconds": (NANOSECONDS,)}.get(kind, ())
        errors.check(function(
            self.handle, prop, *unit, first, count, ffi.from_buffer(element, into),
            ffi.from_buffer("uint8_t[]", validity), read))
        return validity, int(read[0])

    def texts(self, prop: int, first: int, count: int) -> list[Optional[bytes]]:
        """A string or data column, as bytes."""
        offsets, validity = ffi.new("int64_t[]", count + 1), bytearray((count + 7) // 8)
        buffer, read = ffi.new("motte_buf *"), ffi.new("size_t *")
        errors.check(lib.motte_read_strings_packed(
            self.handle, prop, first, count, offsets, ffi.from_buffer("uint8_t[]", validity), buffer, read))
        try:
            content = bytes(ffi.buffer(buffer.data, buffer.size)) if buffer.size else b""
        finally:
            lib.motte_buf_dispose(buffer)
        total = int(read[0])
        ends = ffi.unpack(offsets, total + 1)
        return [content[start:end] if present else None
                for start, end, present in zip(ends, ends[1:], unpacked(validity, total))]

    def fixed(self, prop: int, width: int, first: int, count: int) -> tuple[bytes, bytearray]:
        """A column of decimals, UUIDs or object ids, and which are present (a bitmap)."""
        content, read = bytearray(width * count), ffi.new("size_t *")
        validity = bytearray((count + 7) // 8)
        errors.check(lib.motte_read_fixed(
            self.handle, prop, width, first, count, ffi.from_buffer(content),
            ffi.from_buffer("uint8_t[]", validity), read))
        return bytes(content[:width * read[0]]), validity

    def values(self, props: Sequence[int], first: int, count: int, make: Maker,
               decoders: Optional[dict[int, Any]] = None) -> list[Any]:
        """Values of any types, row after row."""
        cells, read = Cells(count * len(props)), ffi.new("size_t *")
        wanted = ffi.new("motte_prop[]", list(props))
        errors.check(cells.read(
            "motte_read_values", self.handle, wanted, len(props), first, count, lib.MOTTE_LAYOUT_ROWS, cells.values,
            read))
        return cells.all(make, read[0] * len(props), decoders)

    def contents(self, first: int, count: int) -> list[Content]:
        """The elements, as Values.contents() has them."""
        cells, read = Cells(count), ffi.new("size_t *")
        wanted = ffi.new("motte_prop[]", [SELF])
        errors.check(cells.read(
            "motte_read_values", self.handle, wanted, 1, first, count, lib.MOTTE_LAYOUT_ROWS, cells.values, read))
        return cells.contents()[:read[0]]

    # -------------------------------------------------------------------------------------------- changing a list

    def list_set(self, index: int, value: Values) -> None:
        errors.check(lib.motte_list_set(self.handle, index, value.pointer()))

    def list_insert(self, index: int, value: Values) -> None:
        errors.check(lib.motte_list_insert(self.handle, index, value.pointer()))

    def list_append(self, values: Values) -> None:
        errors.check(lib.motte_list_append(self.handle, values.pointer(), len(values)))

    def list_remove(self, index: int) -> None:
        errors.check(lib.motte_list_remove(self.handle, index))

    def list_move(self, from_: int, to: int) -> None:
        errors.check(lib.motte_list_move(self.handle, from_, to))

    def list_swap(self, index: int, other: int) -> None:
        errors.check(lib.motte_list_swap(self.handle, index, other))

    def list_splice(self, index: int, remove: int, values: Values) -> None:
        errors.check(lib.motte_list_splice(self.handle, index, remove, values.pointer(), len(values)))

    def embedded_insert(self, index: int) -> tuple[int, int]:
        """(class id, key) of a new embedded object."""
        place = out("motte_object")
        errors.check(lib.motte_embedded_insert(self.handle, index, place))
        return object_link(own(place))

    def embedded_set(self, index: int) -> tuple[int, int]:
        place = out("motte_object")
        errors.check(lib.motte_embedded_set(self.handle, index, place))
        return object_link(own(place))

    # -------------------------------------------------------------------------------------------- sets

    def set_insert(self, value: Values) -> bool:
        return errors.check(lib.motte_set_insert(self.handle, value.pointer())) == OK

    def set_insert_many(self, values: Values) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_set_insert_many(self.handle, values.pointer(), len(values), place))
        return int(place[0])

    def set_remove(self, value: Values) -> bool:
        return errors.check(lib.motte_set_remove(self.handle, value.pointer())) == OK

    def set_combine(self, other: Coll, operation: int) -> None:
        errors.check(lib.motte_set_combine(self.handle, other.handle, operation))

    def set_relate(self, other: Coll) -> int:
        place = ffi.new("uint32_t *")
        errors.check(lib.motte_set_relate(self.handle, other.handle, place))
        return int(place[0])

    # -------------------------------------------------------------------------------------------- maps

    def map_get(self, key: str, make: Maker, decoders: dict[int, Any]) -> tuple[bool, Any]:
        """(whether there is the key, its value)"""
        cells, content = Cells(1), map_key(key)
        status = errors.check(cells.read(
            "motte_map_get", self.handle, ffi.from_buffer(content), len(content), cells.values))
        return (False, None) if status == lib.MOTTE_NOT_FOUND else (True, cells.first(make, decoders))

    def map_content(self, key: str) -> Optional[Content]:
        """The value under a key, as Values.contents() has it; None if there is no such key."""
        cells, content = Cells(1), map_key(key)
        status = errors.check(cells.read(
            "motte_map_get", self.handle, ffi.from_buffer(content), len(content), cells.values))
        return None if status == lib.MOTTE_NOT_FOUND else cells.contents()[0]

    def map_get_coll(self, key: str) -> Coll:
        place, content = out("motte_coll"), map_key(key)
        errors.check(lib.motte_map_get_coll(self.handle, content, len(content), place))
        return self._made(place)

    def map_has(self, key: str) -> bool:
        content = map_key(key)
        return errors.check(lib.motte_map_has(self.handle, content, len(content))) == OK

    def map_put(self, key: str, value: Values) -> bool:
        """Whether the key is new."""
        content, place = map_key(key), ffi.new("bool *")
        errors.check(lib.motte_map_put(self.handle, content, len(content), value.pointer(), place))
        return bool(place[0])

    def map_put_many(self, keys: Sequence[str], values: Values) -> None:
        cells, kept = texts(map_keys(keys))
        errors.check(lib.motte_map_put_many(self.handle, cells, values.pointer(), len(keys)))
        del kept

    def map_remove(self, key: str) -> bool:
        content = map_key(key)
        return errors.check(lib.motte_map_remove(self.handle, content, len(content))) == OK

    def map_keys(self) -> list[str]:
        count, read = self.count(), ffi.new("size_t *")
        status, keys = read_texts("motte_map_keys", count, self.handle, 0, count, ..., read)
        errors.check(status)
        return keys[:read[0]]

    def embedded_put(self, key: str) -> tuple[int, int]:
        place, content = out("motte_object"), map_key(key)
        errors.check(lib.motte_embedded_put(self.handle, content, len(content), place))
        return object_link(own(place))


# ------------------------------------------------------------------------------------------------ query


def explained(function: Any, handle: Any, flags: int) -> str:
    buffer = ffi.new("motte_buf *")
    errors.check(function(handle, flags, buffer))
    return take_text(buffer)


class Query(Guarded):
    """Compiled query text."""

    __slots__ = ()

    def bind(self, place: Union[int, str], value: Values) -> None:
        """By number or by name. What is replaced may be lost."""
        self.guard.check()
        if isinstance(place, str):
            name = utf8(place)
            errors.check(lib.motte_query_bind_named(self.raw, name, len(name), value.pointer()))
        else:
            errors.check(lib.motte_query_bind(self.raw, place, value.pointer()))

    def argument_count(self) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_query_arg_count(self.handle, place))
        return int(place[0])

    def count(self) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_query_count(self.handle, place))
        return int(place[0])

    def first(self) -> Optional[tuple[int, int]]:
        """(class id, key)"""
        place = out("motte_object")
        if errors.check(lib.motte_query_first(self.handle, place)) == lib.MOTTE_NOT_FOUND:
            return None
        return object_link(own(place))

    def run(self) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_query_run(self.handle, place))
        return Coll(own(place), self.guard, held=self.held)

    def describe(self) -> str:
        return self._text(lib.motte_query_describe)

    def explain(self) -> str:
        return self._text(lib.motte_query_explain)

    def _text(self, function: Any) -> str:
        buffer = ffi.new("motte_buf *")
        errors.check(function(self.handle, buffer))
        return take_text(buffer)
