"""Frozen databases: who has one, and what they share.

Each call of `Database.freeze()` gives a database of its own, which closes by itself: nobody knows who else looks at the
same version. Of a live database each has a realm of its own, which costs little. Of a frozen one the library gives the
same realm again, so such databases share it, and the last of them closes it; those that were closed before refuse
everything by themselves.

Objects and collections that are frozen by themselves, a loop of ten thousand, are all of one database, which only they
have. It goes with the last of them.
"""
from __future__ import annotations

import threading
import weakref
from typing import Any, NoReturn, Optional, Protocol, TypeVar

from . import errors
from ._protocols import AnyWrite
from ._realm import Realm


class AnyDatabase(Protocol):
    """What is needed here of a database."""

    _realm: Realm
    _write: Optional[AnyWrite]
    _identity: tuple[int, Optional[int]]
    _class_ids: dict[Any, int]
    _holders: Holders
    _is_common: bool
    #: Gives the one of what is frozen by itself while there is one.
    _frozen: Optional[weakref.ref[Any]]

    @property
    def closed(self) -> bool: ...
    @property
    def is_frozen(self) -> bool: ...
    @property
    def query_timeout(self) -> Optional[float]: ...
    def thaw(self) -> Any: ...
    def _frozen_again(self, is_common: bool = False) -> Any: ...


D = TypeVar("D", bound=AnyDatabase)


class Holders:
    """The databases that have one realm, those that are neither closed nor gone. A live one is always alone."""

    __slots__ = ("query_timeout", "_databases", "_lock", "_is_over")

    def __init__(self, query_timeout: Optional[float]) -> None:
        #: That of the realm, in seconds.
        self.query_timeout = query_timeout
        #: By their ids, which are those of others when they are gone. References without a function that is called
        #: then: an interrupt that came in it would be lost.
        self._databases: dict[int, weakref.ref[Any]] = {}
        # Entered again where the collector of cycles ends something that closes another one.
        self._lock = threading.RLock()
        self._is_over = False

    def join(self, database: Any) -> None:
        with self._lock:
            if self._is_over:
                # The last one, which this one was made of, has been closed meanwhile on another thread.
                raise _closed()
            self._databases[id(database)] = weakref.ref(database)

    def leave(self, database: Any) -> bool:
        """Whether nobody else has the realm, so that it has to be closed."""
        with self._lock:
            self._databases.pop(id(database), None)
            while self._databases:
                held, other = next(iter(self._databases.items()))
                if other() is not None:
                    return False
                self._databases.pop(held, None)
            self._is_over = True
            return True


class Origin:
    """What a frozen database is made of."""

    __slots__ = ("live", "holders", "class_ids", "is_common")

    def __init__(self, live: Any, holders: Optional[Holders] = None,
                 class_ids: Optional[dict[Any, int]] = None, is_common: bool = False) -> None:
        self.live, self.class_ids, self.is_common = live, class_ids, is_common
        self.holders = Holders(live.query_timeout) if holders is None else holders


def origin(database: AnyDatabase, is_common: bool) -> Origin:
    class_ids = {**database._class_ids}
    if database.closed:
        # On another thread, which takes the classes away after it has said so.
        raise _closed()
    return Origin(database.thaw(), database._holders if database.is_frozen else None, class_ids, is_common)


def in_common(database: D) -> D:
    """The frozen database of what is frozen by itself, at the version that this one shows, and with its limit."""
    if database._is_common:
        return database
    identity = database._identity[0], database._realm.version()[0]
    known: Optional[D] = None if database._frozen is None else database._frozen()
    if known is None or known._identity != identity or known.query_timeout != database.query_timeout:
        made: D = database._frozen_again(is_common=True)
        database._frozen = weakref.ref(made)
        return made
    return known


def end(database: AnyDatabase) -> None:
    """Closes one of several databases that have the same realm."""
    # What came from it asks for the open write before it does anything; see _guard.py.
    database._write = _EndedWrite()
    database._realm = _EndedRealm()  # type: ignore[assignment]


class _EndedWrite:
    """In the place of the open write of what is closed: nobody's, and never over."""

    is_open = False
    _task = object()

    def _ends_if_lost(self) -> bool:
        raise _closed()

    def _end(self, cancelled: bool) -> None:
        pass


class _EndedRealm:
    """In the place of the realm of a database that is closed, while others have it."""

    def in_write(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise _closed()


def _closed() -> errors.ClosedError:
    return errors.ClosedError("this database has been closed; freeze another one")
