"""What a class declares of new objects beyond what the file holds: defaults, what has to be given, which values there
are. The library knows it from open() on, so that imports and batches make the objects that the constructor would, and
objects that are older than a property get its default.

Collections, and what holds objects, are started here: the library calls back with the new objects.
"""
from __future__ import annotations

import copy
import enum
import threading
import typing
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Optional

from . import errors, fields
from ._convert import LINK, MIXED, Values
from ._ffi import ffi
from ._schema import Rule
from .converters import EnumConverter, LiteralConverter
from .fields import MISSING, Declared


class _Maker:
    """Calls a factory. What it has made lasts until the thread's next call: the library copies it when this has
    returned."""

    def __init__(self, cls: type[Any], declared: Declared) -> None:
        self._class, self._declared = cls, declared
        self._kept = threading.local()

    def __call__(self, count: int, out_values: Any) -> None:
        declared, values = self._declared, Values()
        for _ in range(count):
            made = declared.field.default_factory()
            fields.check(declared, made, self._class.__name__)
            try:
                values.add(made if declared.converter is None else declared.converter.stored(made), declared.type)
            except errors.Error as error:
                error.class_name, error.property_name = self._class.__name__, declared.name
                error.message = f"{self._class.__name__}.{declared.name}: {error.message}"
                raise
        self._kept.values, self._kept.pointer = values, values.pointer()
        ffi.memmove(out_values, self._kept.pointer, 24 * count)


def rule(cls: type[Any], declared: Declared) -> Optional[Rule]:
    """That of a property; None where there is nothing to say. A default that cannot be one is an error."""
    if not declared.is_stored:
        return None
    made = _start(cls, declared)
    converter = declared.converter
    if converter is None:
        return made
    allowed, range_, is_midnight = _allowed(declared), converter.stored_range, converter.stores_midnights
    if allowed is None and range_ is None and not is_midnight:
        return made
    return (made or Rule())._replace(allowed=allowed, range=range_, is_midnight=is_midnight)


def _start(cls: type[Any], declared: Declared) -> Optional[Rule]:
    field = declared.field
    if field.default is not MISSING:
        _check_default(cls, declared)
    if not declared.is_plain or declared.type == LINK or _holds_objects(field.default):
        return None
    if isinstance(field.default, (list, dict, set, bytearray)):
        return Rule(default=copy.deepcopy(field.default))
    if field.default is not MISSING:
        stored = field.default if declared.converter is None else declared.converter.stored(field.default)
        return None if stored is None else Rule(default=stored)
    if field.default_factory is not MISSING:
        return Rule(make=_Maker(cls, declared))
    return Rule(required=True) if not declared.has_start else None


def _holds_objects(value: Any) -> bool:
    if isinstance(value, (list, tuple, set)):
        return any(map(_holds_objects, value))
    if isinstance(value, dict):
        return any(map(_holds_objects, value.values()))
    return hasattr(value, "_row")


def _check_default(cls: type[Any], declared: Declared) -> None:
    try:
        fields.check(declared, declared.field.default, cls.__name__)
    except errors.Error as error:
        raise errors.SchemaInvalidError(
            f"the default of {error.message}", class_name=cls.__name__, property_name=declared.name) from None


def _allowed(declared: Declared) -> Optional[list[Any]]:
    converter = declared.converter
    if isinstance(converter, EnumConverter):
        # Of flags there are more values than members.
        return None if issubclass(converter.type, enum.Flag) else [member.value for member in converter.type]
    return list(converter.values) if isinstance(converter, LiteralConverter) else None


# ------------------------------------------------------------------------------------------------ what is started here


def starts(cls: type[Any]) -> dict[str, Callable[[], Any]]:
    """What makes the first value of properties that the library leaves empty or null: collections, and what holds
    objects."""
    found: dict[str, Callable[[], Any]] = {}
    for name, declared in cls._declared().items():
        field = declared.field
        if not declared.is_stored or declared.is_plain and declared.type not in (LINK, MIXED):
            continue
        if field.default is not MISSING:
            if declared.is_plain and not _holds_objects(field.default) or not declared.is_plain and not field.default:
                continue
            found[name] = partial(copy.deepcopy, field.default)
        elif _origin(field.default_factory) not in (MISSING, list, set, dict, tuple) and (
                not declared.is_plain or declared.type == LINK):
            found[name] = field.default_factory
        elif not declared.is_plain and not declared.has_start and field.default_factory is MISSING:
            # A tuple of so many elements.
            found[name] = partial(_refuse, cls, name)
    return found


def _origin(factory: Any) -> Any:
    """`list` of `list[str]`."""
    return typing.get_origin(factory) or factory


def _refuse(cls: type[Any], name: str) -> None:
    raise missing(cls, name)


def start(row: Any, keys: Iterable[int], given: Collection[str]) -> None:
    """Of new objects that have been given values for these properties."""
    missing = {name: make for name, make in row.model._starts().items() if name not in given}
    if not missing:
        return
    for key in keys:
        instance = row.database._object(row.class_id, key)
        for name, make in missing.items():
            row.set(instance, name, make())


def missing(cls: type[Any], name: str) -> errors.Error:
    return errors.NullNotAllowedError(
        f"{cls.__name__}.{name} needs a value: it has no default", class_name=cls.__name__, property_name=name)
