"""Classes that were declared again: a cell of a notebook that has run again has made its classes anew, and what was
declared with the former ones still means these. Where the two say the same, one is as good as the other."""
from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any, Optional


#: Whether two model classes ask the same of a file and of new objects; schema.py says how.
is_declared_alike: Any = None


def is_named_alike(one: type, other: type) -> bool:
    """Whether they are two that the same text may have made."""
    return one is not other and one.__qualname__ == other.__qualname__ and one.__module__ == other.__module__


def are_same_types(one: Optional[type], other: Optional[type]) -> bool:
    """Of the values of two properties; None where these are what is stored."""
    return one is other or one is not None and other is not None and is_named_alike(one, other)


def note(value: Any, wanted: type) -> str:
    """Behind the message for a value that is not of the class that it seems to be of."""
    if not is_named_alike(type(value), wanted):
        return ""
    name = wanted.__name__
    if isinstance(value, enum.Enum) or hasattr(type(value), "_declared"):
        return f"; {name} was declared again, in another way, and this is the other one"
    # Of other classes nobody can tell whether they are alike.
    return f"; {name} was declared again, and this is of the other one: declare the classes that name it again, too"


class Alike:
    """Whether classes that are named alike are declared alike, asked once for each two."""

    def __init__(self, ask: Callable[[Any, Any], bool]) -> None:
        self._ask = ask
        self._known: weakref.WeakKeyDictionary[type, weakref.WeakKeyDictionary[type, bool]] = (
            weakref.WeakKeyDictionary())

    def __call__(self, one: type, other: type) -> bool:
        if not is_named_alike(one, other):
            return False
        known = self._known.setdefault(one, weakref.WeakKeyDictionary())
        found = known.get(other)
        if found is None:
            found = known[other] = self._ask(one, other)
        return found


def _have_same_members(one: type[Any], other: type[Any]) -> bool:
    if not (issubclass(one, enum.Enum) and issubclass(other, enum.Enum)):
        return False
    return [(name, type(member.value), member.value) for name, member in one.__members__.items()] == [
        (name, type(member.value), member.value) for name, member in other.__members__.items()]


are_same_enums = Alike(_have_same_members)
