"""Values of the conformance cases, as Python has them, and their texts."""
from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import motte
from case_text import Single


def plain(value: Any) -> Any:
    """A literal as Python has it: floats of 32 bits are floats."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return float(value) if isinstance(value, Single) else value


def argument(value: Any) -> Any:
    """The same as an argument of a query: a `float` is a double, so that one of 32 bits has the value of its bits."""
    return struct.unpack("f", struct.pack("f", value))[0] if isinstance(value, Single) else plain(value)


def same(expected: Any, actual: Any) -> bool:
    """Equal in type and value; NaN equal to NaN."""
    if isinstance(expected, list):
        if isinstance(actual, (str, bytes)) or not isinstance(actual, Sequence):
            return False
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, dict):
        return isinstance(actual, Mapping) and list(expected) == list(actual) and all(
            same(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, Decimal) and expected.is_nan():
        return isinstance(actual, Decimal) and actual.is_nan()
    if isinstance(expected, Single):
        return type(actual) is float and (struct.pack("f", expected) == struct.pack("f", actual) or expected == actual)
    if isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected):
        return math.isnan(actual)
    if isinstance(expected, motte.Model):
        return bool(expected == actual)
    return type(expected) is type(actual) and bool(expected == actual)


def contents(value: Any) -> Any:
    """A collection as Python has one, without live parts."""
    return value.to_plain() if hasattr(value, "to_plain") else list(value) if isinstance(
        value, motte.Collection) else value


def value_text(value: Any) -> str:
    """As change sets are written in cases."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return f'dec"{value}"'
    if isinstance(value, (motte.ObjectId, uuid.UUID)):
        return f'{"uuid" if isinstance(value, uuid.UUID) else "objectId"}"{value}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


def changes_text(change: Any) -> str:
    """The canonical text of a change set."""
    words = ["{"]
    if isinstance(change, motte.DatabaseChange):
        return "{ advanced }"
    if getattr(change, "is_initial", False):
        words.append("initial")
    if change.is_deleted:
        words.append("deleted")
    if isinstance(change, motte.SectionChanges):
        for label, items in (("sections-deleted", change.deleted_sections),
                             ("sections-inserted", change.inserted_sections)):
            words += [label, *map(str, items)] if items else []
        for label, places in (("deletions", change.deletions), ("insertions", change.insertions),
                              ("modifications", change.modifications)):
            words += [label, *(f"{section}.{index}" for section, index in places)] if places else []
        return " ".join(words + ["}"])
    if isinstance(change, motte.ObjectChange):
        if change.properties:
            words.append("properties")
        for each in change.properties:
            words.append(each.name)
            # Inverse properties have no values.
            if each.old is None and each.new is None:
                continue
            if not isinstance(each.old, motte.Model) and not isinstance(each.new, motte.Model):
                words.append(f"{value_text(each.old)}>{value_text(each.new)}")
        return " ".join(words + ["}"])
    keys = [("deletions", change.deleted_keys), ("insertions", change.inserted_keys),
            ("modifications", change.modified_keys)]
    if any(names for _, names in keys):
        return " ".join(words + [" ".join([label, *(f'"{name}"' for name in names)]) for label, names in keys if names]
                        + ["}"])
    for name, positions in (("deletions", change.deletions), ("insertions", change.insertions)):
        if positions:
            words += [name, *map(str, positions)]
    if change.modifications:
        words.append("modifications")
        words += [f"{old}:{new}" for old, new in zip(change.modifications_old, change.modifications)]
    return " ".join(words + ["}"])
