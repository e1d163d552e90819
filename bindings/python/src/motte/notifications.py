"""Observing changes: by callback, by loop, by asyncio.

A callback runs on the database's thread when that thread calls db.dispatch() or db.refresh(), or writes. A stream from
`changes()` waits for changes itself: `for` polls the database's descriptor, `async for` lets the event loop poll it.

Key paths, `paths=["name", "toys.brand.name"]`, limit what is reported besides insertions and deletions; each
observation is notified only of what its paths name. None is everything an element reaches over at most four links (of
an object, its own properties); an empty list is only what comes and goes.
"""
from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from . import _callbacks, errors
from ._coll import Coll
from ._groups import NativeGroups
from ._protocols import AnyBound, AnyDatabase, AnyRow
from ._tokens import DELETIONS, INSERTIONS, MODIFICATIONS, Ended, NativeChanges, Token
from ._waiting import checked_timeout, deadline_of, left_seconds
from .delivery import Waiter

C = TypeVar("C")


# ------------------------------------------------------------------------------------------------ change sets


class Changes:
    """What happened to a collection between two versions. Positions ascend.

    Deletions and old positions count in the collection as it was, insertions and new positions as it is."""

    def __init__(self, native: NativeChanges) -> None:
        info = native.info()
        #: What has kept the changes from being found out, in place of them; what comes next is an initial state.
        self.error: Optional[Exception] = native.failure()
        #: The state observation starts from; nothing has changed yet.
        self.is_initial = info.is_initial
        #: The owner of the list is gone; nothing follows.
        self.is_deleted = info.is_deleted
        self.from_version, self.to_version = info.from_version, info.to_version
        self.deletions: list[int] = native.deletions(info.deletion_count)
        self.insertions: list[int] = native.insertions(info.insertion_count)
        #: Elements that stayed and changed: where they were, and where they are.
        self.modifications_old: list[int]
        self.modifications: list[int]
        self.modifications_old, self.modifications = native.modifications(info.modification_count)
        #: Elements that changed their place, and are among the deletions and the insertions: where they were, and where
        #: they are. None where a write skipped the observation.
        self.moves: list[tuple[int, int]] = native.moves(min(info.deletion_count, info.insertion_count))
        #: Of a map: the keys that went away, came, or have another value.
        self.deleted_keys: list[str] = native.keys(DELETIONS, info.deletion_count)
        self.inserted_keys: list[str] = native.keys(INSERTIONS, info.insertion_count)
        self.modified_keys: list[str] = native.keys(MODIFICATIONS, info.modification_count)

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<{type(self).__name__} failed: {self.error}>"
        words = [word for word in ("initial", "deleted") if getattr(self, "is_" + word)]
        words += [f"{name} {_short(values)}" for name, values in (
            ("deletions", self.deletions), ("insertions", self.insertions), ("modifications", self.modifications))
            if values]
        return f"<Changes {', '.join(words) or 'none'}>"


class SectionChanges:
    """What happened to sections between two versions. Places are pairs of a section and an index in it, and ascend.

    Deletions, and sections that were deleted, count in the sections as they were; the rest as they are. The elements of
    deleted sections are not among the deletions, those of inserted ones are insertions."""

    def __init__(self, native: NativeChanges) -> None:
        info = native.info()
        #: What has kept the changes from being found out, in place of them; what comes next is an initial state.
        self.error: Optional[Exception] = native.failure()
        #: The state observation starts from; nothing has changed yet.
        self.is_initial = info.is_initial
        #: The owner of the collection is gone; nothing follows.
        self.is_deleted = info.is_deleted
        self.from_version, self.to_version = info.from_version, info.to_version
        self.deleted_sections: list[int] = native.sections(DELETIONS)
        self.inserted_sections: list[int] = native.sections(INSERTIONS)
        self.deletions: list[tuple[int, int]] = list(zip(
            native.section_indexes(DELETIONS, info.deletion_count), native.deletions(info.deletion_count)))
        self.insertions: list[tuple[int, int]] = list(zip(
            native.section_indexes(INSERTIONS, info.insertion_count), native.insertions(info.insertion_count)))
        #: Elements that stayed in their section and changed: where they are.
        self.modifications: list[tuple[int, int]] = list(zip(
            native.section_indexes(MODIFICATIONS, info.modification_count),
            native.modifications(info.modification_count)[1]))

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<{type(self).__name__} failed: {self.error}>"
        words = [word for word in ("initial", "deleted") if getattr(self, "is_" + word)]
        words += [f"{name.replace('_', ' ')} {values}" for name in (
            "deleted_sections", "inserted_sections", "deletions", "insertions", "modifications")
            for values in [getattr(self, name)] if values]
        return f"<SectionChanges {', '.join(words) or 'none'}>"


class PropertyChange(NamedTuple):
    """Values before and after. A collection, and an old text of more than 64 bytes, is None."""

    #: The property.
    name: str
    #: Before.
    old: Any
    #: Now.
    new: Any


class ObjectChange:
    """What happened to an object."""

    def __init__(self, native: NativeChanges, properties: Mapping[int, AnyBound], database: AnyDatabase) -> None:
        info = native.info()
        #: What has kept the changes from being found out, in place of them.
        self.error: Optional[Exception] = native.failure()
        #: The object is gone; nothing follows.
        self.is_deleted = info.is_deleted
        self.from_version, self.to_version = info.from_version, info.to_version
        self.properties: list[PropertyChange] = [
            _property_change(properties.get(prop), *native.prop_values(prop, database._object))
            for prop in native.props(info.prop_count)]

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<ObjectChange failed: {self.error}>"
        if self.is_deleted:
            return "<ObjectChange deleted>"
        return f"<ObjectChange {', '.join(change.name for change in self.properties) or 'none'}>"


def _property_change(bound: Optional[AnyBound], old: Any, new: Any) -> PropertyChange:
    if bound is None:
        return PropertyChange("?", old, new)
    declared = bound.declared
    if declared.converter is not None and declared.is_plain:
        old, new = (declared.converter.loaded(value, nullable=True) for value in (old, new))
    return PropertyChange(declared.name, old, new)


class DatabaseChange:
    """The database shows another version."""

    def __init__(self, native: NativeChanges) -> None:
        info = native.info()
        self.from_version, self.to_version = info.from_version, info.to_version
        #: Classes, properties or indexes came or went.
        self.has_new_schema = info.is_schema

    def __repr__(self) -> str:
        schema = " with another schema" if self.has_new_schema else ""
        return f"<DatabaseChange version {self.from_version} to {self.to_version}{schema}>"


def _short(values: list[int]) -> str:
    return str(values) if len(values) <= 10 else f"{str(values[:10])[:-1]}, ... {len(values)} in all]"


# ------------------------------------------------------------------------------------------------ tokens


class Observation:
    """A callback that is called, until stop(), until the `with` block ends, or until this is dropped: keep it. A write
    whose changes you show already skips it: `with db.write(skipping=[observation])`.

    It is called on the thread of its database, by refresh(), dispatch() and the writes there; stop() may be called on
    every thread. What the callback raises keeps no other one from being called. It comes out of refresh() and
    dispatch(), which are there to call it; nobody's write is concerned, so that otherwise it goes to the exception
    handler of the event loop, or without one to sys.unraisablehook."""

    def __init__(self, token: Token) -> None:
        self._token = token

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        token = getattr(self, "_token", None)
        if token is not None and not finalizing() and token.is_active() and token.stop():
            warnings.warn("an Observation was dropped, and its callback is not called any more; keep it, or stop() it",
                          ResourceWarning, source=self, stacklevel=2)

    def stop(self) -> None:
        """No call begins after this, from whatever thread it is said. Stopping twice is fine."""
        self._token.stop()

    def __reduce__(self) -> Any:
        raise TypeError("an Observation cannot be pickled or copied; observe() again where changes are wanted")

    def __enter__(self) -> Observation:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        try:
            self.stop()
        except (errors.ClosedError, errors.StaleHandleError):
            pass


def _every(change: Any) -> bool:
    return True


class ChangeStream(Generic[C]):
    """Changes one after the other, for `for` and `async for`. Each loop observes again, from its start on."""

    def __init__(self, database: AnyDatabase, start: Callable[[], Token], read: Callable[[NativeChanges], C],
                 timeout: Optional[float]) -> None:
        self._database, self._start, self._read = database, start, read
        self._timeout = checked_timeout(timeout)
        self._reader: Callable[[], Callable[[C], bool]] = lambda: _every

    def relabelled(self, reader: Callable[[], Callable[[C], bool]]) -> ChangeStream[C]:
        """The same changes after a function has seen each, without those that it does not want. Each loop has one of
        its own, made as it begins."""
        self._reader = reader
        return self

    def _begun(self) -> tuple[Token, Callable[[C], bool]]:
        token = self._start()
        try:
            return token, self._reader()
        except BaseException:
            token.drop()
            raise

    def __iter__(self) -> Iterator[C]:
        return self._changes(*self._begun())

    def _changes(self, token: Token, keep: Callable[[C], bool]) -> Iterator[C]:
        deadline = deadline_of(self._timeout)
        try:
            while True:
                native = token.next()
                while native is None:
                    self._database._delivery.dispatch_once()
                    native = token.next()
                    if native is None and not self._database._delivery.sleep(deadline):
                        return
                change = self._read(native)
                if keep(change):
                    yield change
                    deadline = deadline_of(self._timeout)
        except Ended:
            return
        finally:
            token.drop()

    def __aiter__(self) -> AsyncIterator[C]:
        import asyncio

        waiter = Waiter(asyncio.get_running_loop())
        token, keep = self._begun()
        # Change sets wait for the stream from the moment that another version is shown, whoever had that done.
        return self._async_changes(token, keep, waiter, self._database._realm.observe(lambda _: waiter.call()))

    async def _async_changes(
        self, token: Token, keep: Callable[[C], bool], waiter: Waiter, bell: Token
    ) -> AsyncIterator[C]:
        delivery = self._database._delivery
        try:
            delivery.begin(waiter)
            # What waits already, the initial state above all, needs no event.
            delivery.dispatch_once()
            deadline, has_waited = deadline_of(self._timeout), False
            while True:
                native = token.next()
                if native is not None:
                    change = self._read(native)
                    if keep(change):
                        yield change
                        deadline, has_waited = deadline_of(self._timeout), False
                    continue
                left = left_seconds(deadline)
                # The loop has a turn, however short the time is. Changes of other things wake the waiter too.
                if has_waited and left is not None and left <= 0 or not await waiter.wait(left):
                    return
                has_waited = True
        except Ended:
            return
        finally:
            delivery.end(waiter)
            bell.drop()
            token.drop()


# ------------------------------------------------------------------------------------------------ what is observed


Paths = Optional[Sequence[str]]


def observe_collection(
    coll: Union[Coll, NativeGroups], callback: Callable[[Changes], None], paths: Paths
) -> Observation:
    _callbacks.checked(callback, "an observer")
    return Observation(coll.observe(lambda native: callback(Changes(native)), paths))


def collection_changes(
    database: AnyDatabase, coll: Union[Coll, NativeGroups], timeout: Optional[float], paths: Paths
) -> ChangeStream[Changes]:
    return ChangeStream(database, lambda: coll.observe(None, paths), Changes, timeout)


def _object_token(
    row: AnyRow, key: Callable[[], int], callback: Optional[Callable[[NativeChanges], None]], paths: Paths
) -> Token:
    return row.realm.row_observe(row.class_id, key(), callback, paths)


def _object_reader(row: AnyRow) -> Callable[[NativeChanges], ObjectChange]:
    properties = {bound.info.id: bound for bound in row.properties.values()}
    home = weakref.ref(row.database)

    def read(native: NativeChanges) -> ObjectChange:
        database = home()
        # Changes are delivered by the database.
        assert database is not None
        return ObjectChange(native, properties, database)
    return read


def observe_object(
    row: AnyRow, key: Callable[[], int], callback: Callable[[ObjectChange], None], paths: Paths
) -> Observation:
    """Of the object in a row whose key `key` gives, if it is there."""
    _callbacks.checked(callback, "an observer")
    read = _object_reader(row)
    return Observation(_object_token(row, key, lambda native: callback(read(native)), paths))


def object_changes(
    row: AnyRow, key: Callable[[], int], timeout: Optional[float], paths: Paths
) -> ChangeStream[ObjectChange]:
    return ChangeStream(
        row.database, lambda: _object_token(row, key, None, paths), _object_reader(row), timeout)


def observe_database(database: AnyDatabase, callback: Callable[[DatabaseChange], None]) -> Observation:
    _callbacks.checked(callback, "an observer")
    return Observation(database._realm.observe(lambda native: callback(DatabaseChange(native))))


def database_changes(database: AnyDatabase, timeout: Optional[float]) -> ChangeStream[DatabaseChange]:
    return ChangeStream(database, lambda: database._realm.observe(None), DatabaseChange, timeout)
