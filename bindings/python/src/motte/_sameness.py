"""Whether a value that is stored and one that is given are the same, for assigning only those that differ.

Python's `==` does not say that: 1, 1.0 and True are equal and stored as three different values, 0.0 and -0.0 too.
"""
from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ._convert import Link


def is_same(before: Any, after: Any) -> bool:
    """`before` is as deep as what can be stored, so this ends."""
    if isinstance(after, enum.Enum) and not isinstance(before, enum.Enum):
        after = after.value
    if isinstance(before, Mapping):
        return isinstance(after, Mapping) and before.keys() == after.keys() and all(
            is_same(value, after[key]) for key, value in before.items())
    if _is_list(before):
        return _is_list(after) and len(before) == len(after) and all(map(is_same, before, after))
    if type(before) is not type(after):
        return False
    if isinstance(before, float):
        if math.isnan(before):
            return math.isnan(after)
        return bool(before == after) and math.copysign(1, before) == math.copysign(1, after)
    if isinstance(before, Decimal):
        return bool(before.as_tuple() == after.as_tuple())
    return bool(before == after)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not isinstance(value, Link)
