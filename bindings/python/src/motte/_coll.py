"""Collections, queries, tokens and change sets, as Python calls."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._convert import Cells, Values, map_key, one, read_texts, texts, unpacked, utf8
from ._ffi import NULL, ffi, lib
from ._handles import give_up, out, own

LIST, RESULTS, BACKLINKS = lib.MOTTE_COLL_LIST, lib.MOTTE_COLL_RESULTS, lib.MOTTE_COLL_BACKLINKS
SET, MAP = lib.MOTTE_COLL_SET, lib.MOTTE_COLL_MAP
UNION, INTERSECT = lib.MOTTE_SET_UNION, lib.MOTTE_SET_INTERSECT
SUBTRACT, DIFFER = lib.MOTTE_SET_SUBTRACT, lib.MOTTE_SET_SYMMETRIC_DIFFERENCE
DELETIONS, INSERTIONS = lib.MOTTE_CHANGES_DELETIONS, lib.MOTTE_CHANGES_INSERTIONS
MODIFICATIONS = lib.MOTTE_CHANGES_MODIFICATIONS
SUBSET, SUPERSET, INTERSECTS = lib.MOTTE_SET_SUBSET, lib.MOTTE_SET_SUPERSET, lib.MOTTE_SET_INTERSECTS
COUNT, MIN, MAX = lib.MOTTE_AGGREGATE_COUNT, lib.MOTTE_AGGREGATE_MIN, lib.MOTTE_AGGREGATE_MAX
SUM, AVERAGE = lib.MOTTE_AGGREGATE_SUM, lib.MOTTE_AGGREGATE_AVG
SELF = lib.MOTTE_PROP_SELF
MICROSECONDS = lib.MOTTE_UNIT_MICROSECONDS
OK: int = lib.MOTTE_OK

#: A function that makes an object of (class id, key).
Maker = Callable[[int, int], Any]


class CollInfo(NamedTuple):
    kind: int
    type: int
    nullable: bool
    target: int


def object_link(handle: Any) -> tuple[int, int]:
    """(class id, key)"""
    class_id, key = ffi.new("motte_class *"), ffi.new("motte_key *")
    errors.check(lib.motte_object_id(handle, class_id, key))
    return int(class_id[0]), int(key[0])


class Coll:
    """A list, set, map, results or backlinks."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def count(self) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_coll_count(self.handle, place))
        return int(place[0])

    def info(self) -> CollInfo:
        details = ffi.new("motte_coll_details *")
        details.struct_size = ffi.sizeof("motte_coll_details")
        errors.check(lib.motte_coll_info(self.handle, details))
        return CollInfo(int(details.kind), int(details.type), bool(details.flags & lib.MOTTE_COLL_NULLABLE),
                        int(details.target))

    def is_valid(self) -> bool:
        return bool(lib.motte_handle_check(self.handle) >= 0)

    def get(self, index: int, make: Maker, decoders: Optional[dict[int, Any]] = None) -> Any:
        cells = Cells(1)
        errors.check(lib.motte_coll_get(self.handle, index, cells.values))
        return cells.first(make, decoders)

    def get_coll(self, index: int) -> Coll:
        """The list or map nested in an element."""
        place = out("motte_coll")
        errors.check(lib.motte_coll_get_coll(self.handle, index, place))
        return Coll(own(place))

    def find(self, value: Any) -> Optional[int]:
        place, values = ffi.new("size_t *"), one(value)
        status = errors.check(lib.motte_coll_find(self.handle, values.pointer(), place))
        return int(place[0]) if status == lib.MOTTE_OK else None

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
        errors.check(lib.motte_coll_snapshot(self.handle, place))
        return Coll(own(place))

    def freeze(self) -> Coll:
        place = out("motte_coll")
        _callbacks.check_calling(lib.motte_freeze(self.handle, ffi.cast("void **", place)))
        return Coll(own(place))

    def to_results(self) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_coll_to_results(self.handle, place))
        return Coll(own(place))

    def filter(self, text: str, arguments: Values) -> Coll:
        place, content = out("motte_coll"), utf8(text)
        errors.check(lib.motte_coll_filter(
            self.handle, content, len(content), arguments.pointer(), len(arguments), place))
        return Coll(own(place))

    def sort(self, keys: Sequence[tuple[str, bool]]) -> Coll:
        """Keys are (path, whether descending)."""
        place = out("motte_coll")
        cells, _kept = self._sort_keys(keys)
        errors.check(lib.motte_coll_sort(self.handle, cells, len(keys), place))
        return Coll(own(place))

    def distinct(self, paths: Sequence[str]) -> Coll:
        place = out("motte_coll")
        cells, _kept = self._sort_keys([(path, False) for path in paths])
        errors.check(lib.motte_coll_distinct(self.handle, cells, len(paths), place))
        return Coll(own(place))

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
        return Coll(own(place))

    def aggregate(self, operation: int, prop: int, make: Maker) -> Any:
        cells = Cells(1)
        errors.check(lib.motte_coll_aggregate(self.handle, operation, prop, cells.values))
        return cells.first(make)

    def observe(self, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]] = None) -> Token:
        if paths is None:
            return Token.started(lib.motte_observe_coll, self.handle, callback)
        return Token.started(lib.motte_observe_coll_paths, self.handle, callback, paths)

    def same(self, other: Coll) -> bool:
        return bool(lib.motte_equal(self.handle, other.handle))

    # -------------------------------------------------------------------------------------------- reading in bulk

    def keys(self, first: int, count: int) -> array[int]:
        keys, read = array("q", bytes(8 * count)), ffi.new("size_t *")
        errors.check(lib.motte_read_keys(self.handle, first, count, ffi.from_buffer("motte_key[]", keys), read))
        del keys[read[0]:]
        return keys

    def numbers(self, kind: str, prop: int, first: int, count: int, into: Any) -> tuple[bytearray, int]:
        """Fills `into` and tells which are present (a bitmap) and how many there are.

        `kind` is ints, doubles, bools, timestamps (microseconds) or links; `into` a writable buffer of their size."""
        function, element = {
            "ints": (lib.motte_read_ints, "int64_t[]"),
            "doubles": (lib.motte_read_doubles, "double[]"),
            "bools": (lib.motte_read_bools, "uint8_t[]"),
            "timestamps": (lib.motte_read_timestamps, "int64_t[]"),
            "links": (lib.motte_read_links, "motte_key[]"),
        }[kind]
        validity, read = bytearray((count + 7) // 8), ffi.new("size_t *")
        unit = (MICROSECONDS,) if kind == "timestamps" else ()
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
        errors.check(lib.motte_read_values(
            self.handle, ffi.new("motte_prop[]", list(props)), len(props), first, count, lib.MOTTE_LAYOUT_ROWS,
            cells.values, read))
        return cells.all(make, read[0] * len(props), decoders)

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

    def embedded_insert(self, index: int) -> int:
        """The key of a new embedded object."""
        place = out("motte_object")
        errors.check(lib.motte_embedded_insert(self.handle, index, place))
        return object_link(own(place))[1]

    def embedded_set(self, index: int) -> int:
        place = out("motte_object")
        errors.check(lib.motte_embedded_set(self.handle, index, place))
        return object_link(own(place))[1]

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
        status = errors.check(lib.motte_map_get(self.handle, content, len(content), cells.values))
        return (False, None) if status == lib.MOTTE_NOT_FOUND else (True, cells.first(make, decoders))

    def map_get_coll(self, key: str) -> Coll:
        place, content = out("motte_coll"), map_key(key)
        errors.check(lib.motte_map_get_coll(self.handle, content, len(content), place))
        return Coll(own(place))

    def map_has(self, key: str) -> bool:
        content = map_key(key)
        return errors.check(lib.motte_map_has(self.handle, content, len(content))) == OK

    def map_put(self, key: str, value: Values) -> bool:
        """Whether the key is new."""
        content, place = map_key(key), ffi.new("bool *")
        errors.check(lib.motte_map_put(self.handle, content, len(content), value.pointer(), place))
        return bool(place[0])

    def map_put_many(self, keys: Sequence[str], values: Values) -> None:
        cells, kept = texts(keys)
        errors.check(lib.motte_map_put_many(self.handle, cells, values.pointer(), len(keys)))
        del kept

    def map_remove(self, key: str) -> bool:
        content = map_key(key)
        return errors.check(lib.motte_map_remove(self.handle, content, len(content))) == OK

    def map_keys(self) -> list[str]:
        count = self.count()
        cells, read = ffi.new("motte_str[]", count), ffi.new("size_t *")
        errors.check(lib.motte_map_keys(self.handle, 0, count, cells, read))
        return read_texts(cells, int(read[0]))

    def embedded_put(self, key: str) -> int:
        place, content = out("motte_object"), map_key(key)
        errors.check(lib.motte_embedded_put(self.handle, content, len(content), place))
        return object_link(own(place))[1]


# ------------------------------------------------------------------------------------------------ query


class Query:
    """Compiled query text."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def bind(self, position: int, value: Values) -> None:
        errors.check(lib.motte_query_bind(self.handle, position, value.pointer()))

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
        return Coll(own(place))

    def describe(self) -> str:
        return self._text(lib.motte_query_describe)

    def explain(self) -> str:
        return self._text(lib.motte_query_explain)

    def _text(self, function: Any) -> str:
        buffer = ffi.new("motte_buf *")
        errors.check(function(self.handle, buffer))
        try:
            return bytes(ffi.buffer(buffer.data, buffer.size)).decode("utf-8") if buffer.size else ""
        finally:
            lib.motte_buf_dispose(buffer)


# ------------------------------------------------------------------------------------------------ sections


class NativeSections:
    """A collection in sections."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @staticmethod
    def by_path(coll: Coll, path: str, first_letter: bool) -> NativeSections:
        place, name = out("motte_sections"), utf8(path)
        errors.check(lib.motte_sections_by_path(
            coll.handle, name, len(name), lib.MOTTE_SECTIONS_FIRST_LETTER if first_letter else 0, place))
        return NativeSections(own(place))

    @staticmethod
    def by_function(coll: Coll, function: Callable[[int], Any]) -> NativeSections:
        """`function` gives the key of the element at a position."""
        kept: list[Values] = []

        def key(index: int, out_key: Any) -> None:
            # The library copies it right after this returns.
            kept[:] = [one(function(index))]
            out_key[0] = kept[0].pointer()[0]

        place = out("motte_sections")
        errors.check(lib.motte_sections_by_callback(
            coll.handle, lib.motte_python_section_key, _callbacks.passed(key), lib.motte_python_free, place))
        return NativeSections(own(place))

    def count(self) -> int:
        place = ffi.new("size_t *")
        _callbacks.check_calling(lib.motte_sections_count(self.handle, place))
        return int(place[0])

    def key(self, index: int, make: Maker) -> Any:
        cell = Cells(1)
        _callbacks.check_calling(lib.motte_sections_key(self.handle, index, cell.values))
        return cell.first(make)

    def get(self, index: int) -> Coll:
        place = out("motte_coll")
        _callbacks.check_calling(lib.motte_sections_get(self.handle, index, place))
        return Coll(own(place))

    def find(self, key: Any) -> Optional[int]:
        place = ffi.new("size_t *")
        status = _callbacks.check_calling(lib.motte_sections_find(self.handle, one(key).pointer(), place))
        return int(place[0]) if status == OK else None

    def locate(self, position: int) -> tuple[int, int]:
        section, index = ffi.new("size_t *"), ffi.new("size_t *")
        _callbacks.check_calling(lib.motte_sections_locate(self.handle, position, section, index))
        return int(section[0]), int(index[0])

    def observe(self, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]]) -> Token:
        return Token.started(lib.motte_observe_sections, self.handle, callback, paths or (),
                             flags=0 if paths is None else lib.MOTTE_OBSERVE_PATHS)

    def observe_one(
        self, key: Any, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]]
    ) -> Token:
        return Token.started(lib.motte_observe_section, self.handle, callback, paths or (),
                             flags=0 if paths is None else lib.MOTTE_OBSERVE_PATHS, more=[one(key).pointer()])


# ------------------------------------------------------------------------------------------------ tokens, change sets


class Token:
    """An observation; it ends when it is stopped or dropped. It owns the callback, so that a callback that owns it is
    garbage as any other circle."""

    __slots__ = ("handle", "_heard")

    def __init__(self, handle: Any, heard: Optional[Callable[[Any], None]]) -> None:
        self.handle, self._heard = handle, heard

    @staticmethod
    def started(
        function: Any, source: Any, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]] = None,
        *, flags: int = 0, more: Sequence[Any] = ()
    ) -> Token:
        """Calls one of motte_observe_*, with key paths one of motte_observe_*_paths. Without a callback, changes wait
        for next()."""
        place = out("motte_token")
        heard: Optional[Callable[[Any], None]] = None
        arguments = [source, *more]
        if paths is not None:
            cells, _kept = texts(paths)
            arguments += [cells, len(paths)]
        if callback is None:
            errors.check(function(*arguments, flags, NULL, NULL, NULL, place))
        else:
            def heard(handle: Any) -> None:
                callback(NativeChanges(handle))
            errors.check(function(
                *arguments, flags, lib.motte_python_changes, _callbacks.passed(heard, weakly=True),
                lib.motte_python_free, place))
        return Token(own(place), heard)

    def next(self) -> Optional[NativeChanges]:
        """The next change set, None while there is none; StopIteration when there will be none."""
        place = out("motte_changes")
        status = errors.check(lib.motte_token_next(self.handle, place))
        if status == lib.MOTTE_PENDING:
            return None
        if status == lib.MOTTE_END:
            raise StopIteration
        return NativeChanges(own(place))

    def stop(self) -> bool:
        return errors.check(lib.motte_token_stop(self.handle)) == OK

    def drop(self) -> None:
        give_up(self.handle)


class ChangesInfo(NamedTuple):
    is_initial: bool
    is_deleted: bool
    from_version: int
    to_version: int
    deletion_count: int
    insertion_count: int
    modification_count: int
    prop_count: int


class NativeChanges:
    """A change set; it belongs to no thread."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def info(self) -> ChangesInfo:
        details = ffi.new("motte_changes_details *")
        details.struct_size = ffi.sizeof("motte_changes_details")
        errors.check(lib.motte_changes_info(self.handle, details))
        return ChangesInfo(
            bool(details.flags & lib.MOTTE_CHANGES_INITIAL), bool(details.flags & lib.MOTTE_CHANGES_DELETED),
            int(details.from_version), int(details.to_version), int(details.deletion_count),
            int(details.insertion_count), int(details.modification_count), int(details.prop_count))

    def deletions(self, count: int) -> list[int]:
        return self._indexes(lib.motte_changes_deletions, count)

    def insertions(self, count: int) -> list[int]:
        return self._indexes(lib.motte_changes_insertions, count)

    def sections(self, part: int) -> list[int]:
        """Sections that went (1) or came (2)."""
        total = ffi.new("size_t *")
        errors.check(lib.motte_changes_sections(self.handle, part, NULL, 0, total))
        return self._indexes(lambda *rest: lib.motte_changes_sections(rest[0], part, *rest[1:]), int(total[0]))

    def section_indexes(self, part: int, count: int) -> list[int]:
        """The sections of deletions (1), insertions (2) or modifications (3)."""
        return self._indexes(lambda *rest: lib.motte_changes_section_indexes(rest[0], part, *rest[1:]), count)

    def _indexes(self, function: Any, count: int) -> list[int]:
        if not count:
            return []
        indexes, total = ffi.new("size_t[]", count), ffi.new("size_t *")
        errors.check(function(self.handle, indexes, count, total))
        return list(ffi.unpack(indexes, count))

    def modifications(self, count: int) -> tuple[list[int], list[int]]:
        """(old positions, new positions)"""
        if not count:
            return [], []
        old, new, total = ffi.new("size_t[]", count), ffi.new("size_t[]", count), ffi.new("size_t *")
        errors.check(lib.motte_changes_modifications(self.handle, old, new, count, total))
        return list(ffi.unpack(old, count)), list(ffi.unpack(new, count))

    def keys(self, part: int, count: int) -> list[str]:
        """Keys of a map that were deleted (1), inserted (2) or modified (3)."""
        if not count:
            return []
        cells, total = ffi.new("motte_str[]", count), ffi.new("size_t *")
        errors.check(lib.motte_changes_keys(self.handle, part, cells, count, total))
        return read_texts(cells, min(count, int(total[0])))

    def props(self, count: int) -> list[int]:
        if not count:
            return []
        props, total = ffi.new("motte_prop[]", count), ffi.new("size_t *")
        errors.check(lib.motte_changes_props(self.handle, props, count, total))
        return list(ffi.unpack(props, count))

    def prop_values(self, prop: int, make: Maker) -> tuple[Any, Any]:
        """(before, after)"""
        old, new = Cells(1), Cells(1)
        errors.check(lib.motte_changes_values(self.handle, prop, old.values, new.values))
        return old.first(make), new.first(make)
