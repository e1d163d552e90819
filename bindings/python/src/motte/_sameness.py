"""Whether two values would be stored as the same, and whether they are equal as the library compares.

Python's `==` does not say that: 1, 1.0 and True are equal and stored as three different values, 0.0 and -0.0 too.
"""
from __future__ import annotations

import enum
import math
from collections.abc import Mapping, MutableSequence
from decimal import Decimal
from typing import Any

from ._convert import Link
from ._held import is_lost
from ._objects import Object


def is_same_object(one: Any, other: Any) -> bool:
    """Whether two are one object of a database, whatever a class of the program takes for equal."""
    if one is other:
        return True
    if not isinstance(one, Object) or not isinstance(other, Object):
        return False
    mine, others = _row(one), _row(other)
    return mine is not None and others is not None and (
        one._key == other._key and mine.identity == others.identity and _is_lost(one) == _is_lost(other))


def _row(instance: Any) -> Any:
    return instance._row


def _is_lost(instance: Any) -> bool:
    return is_lost(instance._write, instance._row.class_id, instance._key)


def is_same(before: Any, after: Any) -> bool:
    """`before` is as deep as what can be stored, so this ends."""
    if isinstance(after, enum.Enum) and not isinstance(before, enum.Enum):
        after = after.value
    if isinstance(before, Mapping):
        return isinstance(after, Mapping) and before.keys() == after.keys() and all(
            is_same(value, after[key]) for key, value in before.items())
    if _is_list(before):
        return _is_list(after) and len(before) == len(after) and all(
            is_same(one, other) for one, other in zip(before, after))
    if isinstance(before, Object):
        return is_same_object(before, after)
    if type(before) is not type(after):
        return False
    if isinstance(before, float):
        if math.isnan(before):
            return math.isnan(after)
        return bool(before == after) and math.copysign(1, before) == math.copysign(1, after)
    if isinstance(before, Decimal):
        return bool(before.as_tuple() == after.as_tuple())
    return bool(before == after)


def is_equal(element: Any, value: Any) -> bool:
    """1 is 1.0 and no True, and NaN is NaN, in lists and maps as well."""
    if isinstance(element, Object):
        return is_same_object(element, value)
    if isinstance(element, bool) is not isinstance(value, bool):
        return False
    if isinstance(element, Mapping):
        return isinstance(value, Mapping) and element.keys() == value.keys() and all(
            is_equal(each, value[key]) for key, each in element.items())
    if isinstance(element, (list, tuple, MutableSequence)):
        return isinstance(value, (list, tuple, MutableSequence)) and len(element) == len(value) and all(
            is_equal(one, other) for one, other in zip(element, value))
    return bool(element is value or element == value or element != element and value != value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not isinstance(value, Link)
