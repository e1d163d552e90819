"""Frozen databases: what they are made of, and the one that is shared.

Each call of `Database.freeze()` gives a database of its own, which closes by itself: nobody knows who else looks at the
same version. Objects and collections that are frozen by themselves, a loop of ten thousand, are all of one database,
which only they have and nobody closes. It goes with the last of them.
"""
from __future__ import annotations

import weakref
from typing import Any, NoReturn, Optional, Protocol, TypeVar

from . import errors
from ._realm import Realm


class AnyDatabase(Protocol):
    """What is needed here of a database."""

    _realm: Realm
    _class_ids: dict[Any, int]
    _is_shared: bool
    #: Gives the one of what is frozen by itself while there is one.
    _frozen: Optional[weakref.ref[Any]]

    @property
    def closed(self) -> bool: ...
    @property
    def query_timeout(self) -> Optional[float]: ...
    def thaw(self) -> Any: ...
    def _frozen_in(self, realm: Realm, origin: Origin) -> Any: ...


D = TypeVar("D", bound=AnyDatabase)


class Origin:
    """What a frozen database is made of."""

    __slots__ = ("live", "query_timeout", "class_ids", "is_shared")

    def __init__(self, live: Any, query_timeout: Optional[float], class_ids: Optional[dict[Any, int]] = None,
                 is_shared: bool = False) -> None:
        self.live, self.query_timeout, self.class_ids, self.is_shared = live, query_timeout, class_ids, is_shared


def origin(database: AnyDatabase, is_shared: bool = False) -> Origin:
    class_ids = {**database._class_ids}
    if database.closed:
        # On another thread, which takes the classes away after it has said so.
        raise errors.ClosedError("this database has been closed; freeze another one")
    return Origin(database.thaw(), database.query_timeout, class_ids, is_shared)


def shared(database: D) -> D:
    """The frozen database of what is frozen by itself, at the version that this one shows, and with its limits."""
    if database._is_shared:
        return database
    realm = database._realm.freeze_shared()
    known: Optional[D] = None if database._frozen is None else database._frozen()
    if known is not None and known._realm.is_same(realm):
        return known
    made: D = database._frozen_in(realm, origin(database, is_shared=True))
    database._frozen = weakref.ref(made)
    return made


class Ended:
    """In the place of the realm of a frozen database that is closed."""

    def in_write(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise errors.ClosedError("this database has been closed; freeze another one")
