"""Calls that are all or nothing: what is made of several calls of the library is undone as a whole when one is refused.

Objects that were stored on the way are loose again, with the values they had.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._convert import LINK, MIXED
from .model import Model, unstore

if TYPE_CHECKING:
    from .database import Database

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def atomically(database: Database) -> Iterator[None]:
    """Within another such block, a part of that."""
    if database._stored is not None:
        yield
        return
    stored: list[tuple[Model, dict[str, Any]]] = []
    database._stored = stored
    try:
        with database._realm.atomically():
            yield
    except BaseException:
        for instance, values in reversed(stored):
            unstore(instance, values)
        raise
    finally:
        database._stored = None


#: Types of elements that are changed by one call of the library, which is all or nothing by itself.
_PLAIN = frozenset(range(15)) - {LINK, MIXED}


def atomic_objects(method: F) -> F:
    """atomic(), where elements may be objects that have to be stored first."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if self._type in _PLAIN:
            return method(self, *arguments, **options)
        with atomically(self._database):
            return method(self, *arguments, **options)
    return cast(F, call)


def atomic(method: F) -> F:
    """For methods of a database, and of what has one."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with atomically(getattr(self, "_database", self)):
            return method(self, *arguments, **options)
    return cast(F, call)
