"""A realm and its rows, as Python calls: ids and values in, ids and values out, exceptions instead of statuses.

Rows are (class id, key); no handle is made for them. Whoever calls knows the ids (see schema.py).
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._coll import Coll, Query, object_link
from ._columns import Column, columns_pointer
from ._config import Config, Progress
from ._convert import DECODERS, Arguments, Cells, Content, Values, one, utf8
from ._ffi import NULL, ffi, lib, sized, text
from ._guard import Guard, Guarded
from ._handles import out, own, take_text
from ._schema import Schema
from ._tokens import OK, Token


class ClassInfo(NamedTuple):
    id: int
    name: str
    object_count: int
    primary_key: int
    embedded: bool


class PropertyInfo(NamedTuple):
    """A property as it is stored."""

    id: int
    name: str
    type: int
    collection: int
    flags: int
    target: int
    target_name: Optional[str]
    origin_name: Optional[str]


class RealmInfo(NamedTuple):
    flags: int
    path: str
    version: int
    latest_version: int
    file_size: int
    schema_version: int
    warning: Optional[str]
    database_number: int


def _numbers(struct: Any) -> tuple[int, ...]:
    """The fields of a struct of numbers, but for what is reserved. A struct in an array lives as long as the array."""
    return tuple(int(getattr(struct, name)) for name, _ in ffi.typeof(struct).fields if name != "reserved")


def reference(handle: Any) -> Any:
    """A motte_reference to what a handle is of."""
    place = out("motte_reference")
    errors.check(lib.motte_reference_new(handle, place))
    return own(place)


def prop_array(ids: Sequence[int]) -> Any:
    """Property ids as the calls below take them; made once where they are used again."""
    return ffi.new("motte_prop[]", list(ids))


class Realm(Guarded):
    """An open realm, or a frozen one."""

    __slots__ = ("address", "_scratch")

    def __init__(self, handle: Any) -> None:
        super().__init__(handle, Guard())
        #: The handle as a number.
        self.address = int(ffi.cast("uintptr_t", handle))
        # Reused places for single values. A list, because pop and append are atomic and frozen realms know no owner.
        self._scratch: list[Cells] = []

    @staticmethod
    def open(config: Config) -> Realm:
        realm = out("motte_realm")
        _callbacks.check_calling(lib.motte_realm_open(config.handle, realm))
        return Realm(own(realm))

    def close(self) -> None:
        errors.check(lib.motte_realm_close(self.raw))

    def freeze(self) -> Realm:
        place = out("motte_realm")
        errors.check(lib.motte_freeze(self.raw, ffi.cast("void **", place)))
        return Realm(own(place))

    def freeze_shared(self) -> Realm:
        place = out("motte_realm")
        errors.check(lib.motte_realm_freeze_shared(self.raw, place))
        return Realm(own(place))

    def is_same(self, other: Realm) -> bool:
        return bool(lib.motte_equal(self.raw, other.raw))

    def info(self) -> RealmInfo:
        details = sized("motte_realm_details")
        errors.check(lib.motte_realm_info(self.raw, details))
        return RealmInfo(int(details.flags), text(details.path), int(details.version), int(details.latest_version),
                         int(details.file_size), int(details.schema_version),
                         text(details.warning) if details.warning else None, int(details.database_number))

    def version(self) -> tuple[int, int]:
        current, latest = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        errors.check(lib.motte_realm_version(self.raw, current, latest))
        return int(current[0]), int(latest[0])

    def view_epoch(self) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_realm_view_epoch(self.handle, place))
        return int(place[0])

    def counters(self) -> dict[str, int]:
        counters = sized("motte_counters")
        errors.check(lib.motte_realm_counters(self.raw, counters))
        return {name: int(getattr(counters, name))
                for name, _ in ffi.typeof("motte_counters").fields if name not in ("struct_size", "reserved")}

    def begin_write(self, timeout_ms: int) -> None:
        _callbacks.check_calling(lib.motte_realm_begin_write(self.raw, timeout_ms))

    def commit(self, skipping: Sequence[Token] = ()) -> int:
        place = ffi.new("uint64_t *")
        if skipping:
            tokens = ffi.new("motte_token *[]", [token.handle for token in skipping])
            _callbacks.check_calling(
                lib.motte_realm_commit_skipping(self.raw, tokens, len(skipping), 0, place))
        else:
            _callbacks.check_calling(lib.motte_realm_commit(self.raw, 0, place))
        return int(place[0])

    def cancel(self) -> None:
        errors.check(lib.motte_realm_cancel(self.raw))

    def savepoint(self) -> int:
        place = ffi.new("uint64_t *")
        try:
            errors.check(lib.motte_realm_savepoint(self.raw, place))
            return int(place[0])
        except BaseException:
            # An interrupt that comes here leaves none that nobody knows.
            if place[0]:
                lib.motte_realm_release_savepoint(self.raw, place[0])
            raise

    def release_savepoint(self, savepoint: int) -> None:
        errors.check(lib.motte_realm_release_savepoint(self.raw, savepoint))

    def roll_back(self, savepoint: int) -> None:
        errors.check(lib.motte_realm_roll_back(self.raw, savepoint))

    def queue_write(self, run: Callable[[Optional[int], int], None]) -> int:
        """From any thread: `run(None, 0)` is called in the write, `run(status, version)` after it; gives a ticket."""
        ticket = ffi.new("uint64_t *")
        errors.check(lib.motte_realm_queue_write(
            self.raw, lib.motte_python_work, lib.motte_python_done, _callbacks.passed(run), lib.motte_python_free,
            ticket))
        return int(ticket[0])

    def cancel_queued(self, ticket: int) -> bool:
        return errors.check(lib.motte_realm_cancel_queued(self.raw, ticket)) == OK

    def resolve(self, reference: Any) -> Optional[Any]:
        """The handle that a motte_reference stands for here."""
        place = ffi.new("void **")
        # A realm that shows an older version refreshes first, and so calls observers.
        if _callbacks.check_calling(lib.motte_reference_resolve(reference, self.handle, place)) != OK:
            return None
        return own(place)

    def thaw(self, thing: Any) -> Optional[Any]:
        """The handle of the same in this realm, None if it is gone here."""
        place = ffi.new("void **")
        return own(place) if _callbacks.check_calling(lib.motte_thaw(thing, self.handle, place)) == OK else None

    def in_write(self) -> bool:
        return bool(lib.motte_realm_in_write(self.raw))

    def refresh(self) -> bool:
        advanced = ffi.new("bool *")
        _callbacks.check_calling(lib.motte_realm_refresh(self.handle, advanced))
        return bool(advanced[0])

    def wait_for_change(self, timeout_ms: int) -> bool:
        return errors.check(lib.motte_realm_wait_for_change(self.handle, timeout_ms)) == OK

    def interrupt(self) -> None:
        errors.check(lib.motte_realm_interrupt(self.raw))

    def set_query_timeout(self, timeout_ms: int) -> None:
        errors.check(lib.motte_realm_set_query_timeout(self.raw, timeout_ms))

    def let_signals_in(self) -> None:
        """Long queries end with what a handler of a signal raises, such as KeyboardInterrupt."""
        errors.check(lib.motte_realm_on_query_progress(self.raw, lib.motte_python_query_progress, NULL, NULL))

    def check(self) -> None:
        """Raises what the next use of the realm would raise."""
        errors.check(lib.motte_handle_check(self.raw))

    # -------------------------------------------------------------------------------------------- maintenance

    def delete_all(self) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_realm_delete_all(self.handle, place))
        return int(place[0])

    def copy(self, path: bytes, progress: Optional[Progress]) -> None:
        _callbacks.check_calling(
            lib.motte_realm_copy(self.handle, path, len(path), *_callbacks.progress(progress)))

    def copy_with_key(self, path: bytes, key: Optional[bytes], progress: Optional[Progress]) -> None:
        """None: not encrypted."""
        if key is not None and not key:
            raise errors.InvalidArgumentError("an encryption key has 64 bytes, this one 0")
        _callbacks.check_calling(lib.motte_realm_copy_with_key(
            self.handle, path, len(path), NULL if key is None else bytes(key), len(key or b""),
            *_callbacks.progress(progress)))

    def compact(self, progress: Optional[Progress]) -> tuple[int, int]:
        before, after = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        _callbacks.check_calling(
            lib.motte_realm_compact(self.handle, *_callbacks.progress(progress), before, after))
        return int(before[0]), int(after[0])

    def compact_online(self, max_bytes: int, progress: Optional[Progress]) -> tuple[int, ...]:
        """The numbers of motte_compaction_details."""
        details = sized("motte_compaction_details")
        _callbacks.check_calling(lib.motte_realm_compact_online(
            self.handle, max_bytes, *_callbacks.progress(progress), details))
        return _numbers(details[0])[1:]

    def verify(self, progress: Optional[Progress]) -> Any:
        """A motte_report."""
        report = out("motte_report")
        _callbacks.check_calling(lib.motte_realm_verify(self.handle, *_callbacks.progress(progress), report))
        return own(report)

    def space(self, progress: Optional[Progress]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """The numbers of motte_space_details, and of a motte_class_space for each class."""
        details, count = sized("motte_space_details"), ffi.new("size_t *")
        room = len(self.classes())
        spaces = ffi.new("motte_class_space[]", room)
        _callbacks.check_calling(lib.motte_realm_space(
            self.handle, *_callbacks.progress(progress), details, spaces, room, count))
        return _numbers(details[0])[1:], [_numbers(spaces[index]) for index in range(count[0])]

    def readers(self) -> list[tuple[int, ...]]:
        """The numbers of a motte_reader for each version that is shown."""
        count = ffi.new("size_t *")
        readers = ffi.new("motte_reader[]", 64)
        while errors.check(lib.motte_realm_readers(self.raw, readers, len(readers), count)) != OK:
            readers = ffi.new("motte_reader[]", 2 * count[0])
        return [_numbers(readers[index]) for index in range(count[0])]

    def observe(self, callback: Any) -> Token:
        return Token.started(lib.motte_observe_realm, self.handle, self.guard, callback)

    # -------------------------------------------------------------------------------------------- schema

    def schema_text(self) -> str:
        place = out("motte_schema")
        errors.check(lib.motte_realm_schema(self.raw, place))
        return Schema(own(place)).text()

    def classes(self) -> list[int]:
        count = ffi.new("size_t *")
        errors.check(lib.motte_class_list(self.raw, NULL, 0, count))
        ids = ffi.new("motte_class[]", count[0])
        errors.check(lib.motte_class_list(self.raw, ids, count[0], count))
        return list(ids)

    def class_find(self, name: str) -> Optional[int]:
        place, content = ffi.new("motte_class *"), utf8(name)
        status = errors.check(lib.motte_class_find(self.raw, content, len(content), place))
        return int(place[0]) if status == OK else None

    def class_info(self, class_id: int) -> ClassInfo:
        details = sized("motte_class_details")
        errors.check(lib.motte_class_info(self.raw, class_id, details))
        return ClassInfo(int(details.id), text(details.name), int(details.object_count), int(details.primary_key),
                         bool(details.flags & lib.MOTTE_CLASS_EMBEDDED))

    def class_count(self, class_id: int) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_class_count(self.handle, class_id, place))
        return int(place[0])

    def class_all(self, class_id: int) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_class_all(self.handle, class_id, place))
        return Coll(own(place), self.guard)

    def last_key(self, class_id: int) -> int:
        """The highest of all objects that there are now, -1 without any."""
        place, count, key = out("motte_coll"), ffi.new("size_t *"), ffi.new("motte_key *", -1)
        errors.check(lib.motte_class_all(self.raw, class_id, place))
        objects = own(place)
        errors.check(lib.motte_coll_count(objects, count))
        if count[0]:
            errors.check(lib.motte_read_keys(objects, count[0] - 1, 1, key, ffi.new("size_t *")))
        return int(key[0])

    def indexes(self, class_id: int) -> list[tuple[str, bool]]:
        """Those that no property says by itself: the text of each, and whether it is unique."""
        buffer, flags = ffi.new("motte_buf *"), ffi.new("uint32_t *")
        found: list[tuple[str, bool]] = []
        while errors.check(lib.motte_class_index(self.raw, class_id, len(found), buffer, flags)) == OK:
            found.append((take_text(buffer), bool(flags[0] & lib.MOTTE_INDEX_UNIQUE)))
        return found

    def properties(self, class_id: int) -> list[PropertyInfo]:
        count = ffi.new("size_t *")
        errors.check(lib.motte_prop_list(self.raw, class_id, NULL, 0, count))
        ids = ffi.new("motte_prop[]", count[0])
        errors.check(lib.motte_prop_list(self.raw, class_id, ids, count[0], count))
        return [self._property(id_) for id_ in ids]

    def _property(self, id_: int) -> PropertyInfo:
        details = sized("motte_prop_details")
        errors.check(lib.motte_prop_info(self.raw, id_, details))
        return PropertyInfo(
            int(details.id), text(details.name), int(details.type), int(details.collection), int(details.flags),
            int(details.target),
            text(details.target_name) or None, text(details.origin_name) or None)

    # -------------------------------------------------------------------------------------------- rows

    def row_find(self, class_id: int, primary_key: Any) -> Optional[int]:
        return self.row_with(class_id, one(primary_key))

    def row_with(self, class_id: int, primary_key: Values) -> Optional[int]:
        place = ffi.new("motte_key *")
        status = errors.check(lib.motte_row_find(self.handle, class_id, primary_key.pointer(), place))
        return int(place[0]) if status == OK else None

    def row_exists(self, class_id: int, key: int) -> bool:
        return errors.check(lib.motte_row_exists(self.handle, class_id, key)) == OK

    def row_create(self, class_id: int, props: Any, values: Values, flags: int) -> tuple[int, bool]:
        """(key, whether it is new). `props` is a prop_array(), `flags` is one of MOTTE_CREATE_*."""
        place, created = ffi.new("motte_key *"), ffi.new("bool *")
        status = lib.motte_row_create(
            self.handle, class_id, props, values.pointer(), len(props), flags, place, created)
        if status < 0:
            errors.fail(status)
        return int(place[0]), bool(created[0])

    def row_reader(self, class_id: int, prop: Any, make_object: Any,
                   decoders: dict[int, Any] = DECODERS) -> Callable[[int], Any]:
        """A function from key to value of the one property of a prop_array(). Attributes are read with it, so it does
        little else."""
        handle, scratch = self.handle, self._scratch

        def read(key: int) -> Any:
            try:
                cells = scratch.pop()
            except IndexError:
                cells = Cells(1)
            status = cells.read("motte_row_get_many", handle, class_id, key, prop, 1, cells.values)
            if status < 0:
                errors.fail(status)
            value = cells.first(make_object, decoders)
            scratch.append(cells)
            return value
        return read

    def row_values(self, class_id: int, key: int, props: Sequence[int], make_object: Any) -> list[Any]:
        cells = Cells(len(props))
        errors.check(cells.read(
            "motte_row_get_many", self.handle, class_id, key, prop_array(props), len(props), cells.values))
        return cells.all(make_object)

    def row_contents(self, class_id: int, key: int, props: Sequence[int]) -> list[Content]:
        """The same, as Values.contents() has them."""
        cells = Cells(len(props))
        errors.check(cells.read(
            "motte_row_get_many", self.handle, class_id, key, prop_array(props), len(props), cells.values))
        return cells.contents()

    def row_set(self, class_id: int, key: int, props: Any, values: Values) -> None:
        """`props` is a prop_array()."""
        status = lib.motte_row_set_many(self.handle, class_id, key, props, values.pointer(), len(props))
        if status < 0:
            errors.fail(status)

    def rows_set(self, class_id: int, keys: array[int], props: Any, values: Values) -> None:
        """The same values for all of these objects, in their order up to the first that is refused."""
        errors.check(lib.motte_python_rows_set(
            self.handle, class_id, ffi.from_buffer("motte_key[]", keys), len(keys), props, values.pointer(),
            len(props)))

    def row_coll(self, class_id: int, key: int, prop: int) -> Coll:
        place = out("motte_coll")
        errors.check(lib.motte_row_get_coll(self.handle, class_id, key, prop, place))
        return Coll(own(place), self.guard)

    def row_delete(self, class_id: int, keys: Sequence[int]) -> int:
        place = ffi.new("uint64_t *")
        errors.check(lib.motte_row_delete(
            self.handle, class_id, ffi.new("motte_key[]", list(keys)), len(keys), place))
        return int(place[0])

    def row_observe(self, class_id: int, key: int, callback: Any, paths: Optional[Sequence[str]] = None) -> Token:
        if paths is None:
            return Token.started(lib.motte_observe_object, self.object(class_id, key), self.guard, callback)
        return Token.started(lib.motte_observe_object_paths, self.object(class_id, key), self.guard, callback, paths)

    def object(self, class_id: int, key: int) -> Any:
        """The handle of an object."""
        place = out("motte_object")
        if errors.check(lib.motte_object_at(self.handle, class_id, key, place)) != OK:
            raise errors.ObjectDeletedError("the object has been deleted")
        return own(place)

    def row_embed(self, class_id: int, key: int, prop: int) -> tuple[int, int]:
        """(class id, key) of a new embedded object in a link property."""
        place = out("motte_object")
        errors.check(lib.motte_embedded_create(self.object(class_id, key), prop, place))
        return object_link(own(place))

    def row_parent(self, class_id: int, key: int) -> Optional[tuple[int, int]]:
        """(class id, key) of the owner of an embedded object."""
        place = out("motte_object")
        if errors.check(lib.motte_object_parent(self.object(class_id, key), place, NULL)) != OK:
            return None
        return object_link(own(place))

    def row_backlinks(self, class_id: int, key: int, origin: int) -> Coll:
        coll = out("motte_coll")
        errors.check(lib.motte_object_backlinks(self.object(class_id, key), origin, coll))
        return Coll(own(coll), self.guard)

    # -------------------------------------------------------------------------------------------- batches, queries

    def insert_columns(self, class_id: int, props: Sequence[int], columns: Sequence[Column], count: int,
                       flags: int) -> array[int]:
        """The keys of the objects."""
        place = out("motte_insert")
        errors.check(lib.motte_insert_new(
            self.handle, class_id, prop_array(props), len(props), flags, place))
        insert = own(place)
        cells, kept = columns_pointer(columns)
        keys = array("q", bytes(8 * count))
        errors.check(lib.motte_insert_columns(insert, cells, count, ffi.from_buffer("motte_key[]", keys)))
        del kept
        return keys

    def query(self, class_id: int, source: str, arguments: Arguments) -> Query:
        place, content = out("motte_query"), utf8(source)
        errors.check(lib.motte_query_parse(
            self.handle, class_id, content, len(content), arguments.pointer(), len(arguments), place))
        return Query(own(place), self.guard, arguments.held)
