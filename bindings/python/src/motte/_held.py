"""Objects that something of the library knows by their keys alone: a query those it was given, a snapshot its elements.

An object that is lost with its write (see _seen.py) says so itself. Its key, in what was made of it in that write, may
be that of an object of another process by now; so what was made of it knows in what it was seen, and asks before it is
used.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional, Protocol

from . import errors


class AnySeen(Protocol):
    """A write, or a part of one, that objects were seen in."""

    is_open: bool

    @property
    def around(self) -> Optional[AnySeen]: ...
    def has_lost(self, class_id: int, key: int) -> bool: ...
    def end(self, database: Any, is_lost: bool) -> None: ...


def is_lost(seen: Optional[AnySeen], class_id: int, key: int) -> bool:
    """Whether an object was made in what was undone: its key may be that of another object by now."""
    while seen is not None and not seen.is_open:
        if seen.has_lost(class_id, key):
            return True
        seen = seen.around
    return False


def still_open(seen: Optional[AnySeen]) -> Optional[AnySeen]:
    """What an object may still be lost with."""
    while seen is not None and not seen.is_open:
        seen = seen.around
    return seen


class Held:
    """Such objects, those that may be lost: what they were seen in, class and key. Of many of one class the highest key
    is enough."""

    __slots__ = ("_objects",)

    def __init__(self, objects: Iterable[tuple[AnySeen, int, int]]) -> None:
        self._objects = tuple(objects)

    @staticmethod
    def of(*several: Optional[Held]) -> Optional[Held]:
        """All of them together, None where none can be lost."""
        objects = [each for held in several if held is not None for each in held._objects]
        return Held(objects) if objects else None

    def has_lost(self) -> bool:
        objects = self._objects
        if not objects:
            return False
        if any(is_lost(*each) for each in objects):
            return True
        # What was committed is not asked for again.
        self._objects = tuple((left, class_id, key) for seen, class_id, key in objects
                              if (left := still_open(seen)) is not None)
        return False

    def check(self) -> None:
        if self.has_lost():
            raise errors.ObjectDeletedError("this was made with an object that was added in a write that was cancelled")
