"""Calls that are all or nothing: what is made of several calls of the library is undone as a whole when one is refused.

Objects that were stored on the way are unmanaged again, with the values they had. One call of the library is all or
nothing by itself and needs no savepoint; storing a value is one call unless objects have to be stored before it.
"""
from __future__ import annotations

import enum
import functools
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, Optional, TypeVar, cast

from . import _objects, errors
from ._convert import DEEPEST, HOLDING, Link
from ._protocols import AnyDatabase
from ._seen import Seen
from .model import Model, unstore
from .objectid import ObjectId

F = TypeVar("F", bound=Callable[..., Any])


#: What was stored, and the values it had.
Stored = list[tuple[Any, dict[str, Any]]]


class atomically(_objects.Block):
    """A block that changes everything in it or nothing. Within another one, too: code of the program that runs in that,
    a converter or a generator, may catch what a call raises. Outside of a write, nothing is undone, as nothing is
    changed."""

    __slots__ = ("_database", "_savepoint", "_stored", "_outer", "_seen", "_is_released")

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database
        self._savepoint: Optional[int] = None
        #: What it has stored; None while it is not open.
        self._stored: Optional[Stored] = None
        #: What the block around it has stored.
        self._outer: Optional[Stored] = None
        #: What objects are seen in meanwhile; None outside of a write.
        self._seen: Optional[Seen] = None
        #: Whether its savepoint may be released, if it is gone.
        self._is_released = False

    def __enter__(self) -> None:
        database = self._database
        self._outer = database._stored
        realm = database._realm
        stored: Stored = []
        seen = database._seen
        if realm.in_write():
            seen = self._seen = Seen(seen)
            self._savepoint = realm.savepoint()
        # Last, and without a call: what is raised before, an interrupt for one, leaves no block open.
        self._stored = database._stored = stored
        database._seen = seen

    def _ended(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
               traceback: Optional[TracebackType]) -> None:
        if self._stored is None:
            return
        if error is not None:
            self._abandon()
            return
        database, savepoint = self._database, self._savepoint
        # A write that has ended meanwhile took its savepoints along.
        if savepoint is not None and database._realm.in_write():
            self._is_released = True
            try:
                database._realm.release_savepoint(savepoint)
            except errors.Error:
                self._is_released = False
                raise
        self._leave(is_kept=True)

    def _abandon(self) -> None:
        """Undoes it, as far as that has not happened: this may have been interrupted before."""
        stored, database, savepoint = self._stored, self._database, self._savepoint
        if stored is None:
            return
        failure: Optional[errors.Error] = None
        # Outside of a write nothing was stored but by writes within, which have ended.
        is_kept = savepoint is None
        try:
            if savepoint is not None and database._realm.in_write():
                database._realm.roll_back(savepoint)
        except errors.Error as error:
            is_kept = self._is_released and isinstance(error, errors.InvalidArgumentError)
            failure = None if is_kept else error
        while stored and not is_kept:
            instance, values = stored[-1]
            unstore(instance, values)
            stored.pop()
        self._leave(is_kept)
        if failure is not None:
            raise failure

    def _leave(self, is_kept: bool) -> None:
        """What is kept is undone with the block around it, if that raises."""
        stored, outer, seen = self._stored, self._outer, self._seen
        if seen is not None:
            around = seen.around
            seen.end(self._database, not is_kept)
            if self._database._seen is seen:
                self._database._seen = around
        if is_kept and outer is not None and stored is not None:
            outer.extend(stored)
        self._stored, self._database._stored = None, outer


@contextmanager
def in_steps(database: AnyDatabase) -> Generator[None, None, None]:
    """A block around a call that commits on the way, and undoes what is behind its last commit where it fails: objects
    of that are lost, which the program's code may have seen in it."""
    seen = database._seen = Seen(database._seen)
    is_lost = True
    try:
        yield
        is_lost = False
    finally:
        seen.end(database, is_lost)
        if database._seen is seen:
            database._seen = seen.around


#: Types of values that neither are nor hold an object.
SINGLE = frozenset({type(None), bool, int, float, str, bytes, bytearray, memoryview, datetime, Decimal, uuid.UUID,
                    ObjectId, Link, slice})


def needs_others(value: Any, depth: int = 0) -> bool:
    """Whether other objects may have to be stored before this value can be: it is or holds one that is in no database
    yet, or nobody knows without going through it."""
    kind = type(value)
    if kind in SINGLE:
        return False
    if isinstance(value, Model):
        return value._row is None
    if kind is not list and kind is not tuple and kind is not dict:
        return not isinstance(value, (enum.Enum, datetime))
    if depth > DEEPEST:
        return True
    for each in value.values() if kind is dict else value:
        if type(each) not in SINGLE and needs_others(each, depth + 1):
            return True
    return False


def atomic(method: F) -> F:
    """For functions of a database, and for methods of what has one, that are several calls of the library."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with atomically(getattr(self, "_database", self)):
            return method(self, *arguments, **options)
    return cast(F, call)


def atomic_objects(method: F) -> F:
    """For methods of a collection that are one call of the library, unless objects have to be stored before it."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if self._type not in HOLDING or not options and not needs_others(arguments):
            return method(self, *arguments, **options)
        with atomically(self._database):
            return method(self, *arguments, **options)
    return cast(F, call)
