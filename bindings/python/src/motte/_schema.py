"""Schemas being declared, as Python calls."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._convert import Values, one, utf8
from ._ffi import NULL, ffi, lib, sized
from ._handles import out, own, take_text

NULLABLE, PRIMARY_KEY, INDEXED = lib.MOTTE_PROP_NULLABLE, lib.MOTTE_PROP_PRIMARY_KEY, lib.MOTTE_PROP_INDEXED
UNIQUE, INDEX_UNIQUE = lib.MOTTE_PROP_UNIQUE, lib.MOTTE_INDEX_UNIQUE
#: Flags of ints by their bits.
WIDTHS: dict[int, int] = {64: 0, 8: lib.MOTTE_PROP_INT8, 16: lib.MOTTE_PROP_INT16, 32: lib.MOTTE_PROP_INT32}


#: Stands for a default that there is none of.
NOTHING: Any = object()


class Rule(NamedTuple):
    """The rule of one property, as the library takes it."""

    required: bool = False
    #: What is stored; NOTHING: none.
    default: Any = NOTHING
    #: Writes values for so many objects.
    make: Optional[Callable[[int, Any], None]] = None
    allowed: Optional[list[Any]] = None
    #: The least and the greatest value.
    range: Optional[tuple[Any, Any]] = None
    #: Midnights in UTC only.
    is_midnight: bool = False
    #: Fills objects that are there: (realm, class, keys).
    fill: Optional[Callable[[Any, int, list[int]], None]] = None


class PropertySpec(NamedTuple):
    """A property to declare."""

    name: str
    type: int
    collection: int = 0
    flags: int = 0
    target: Optional[str] = None
    origin: Optional[str] = None
    rule: Optional[Rule] = None


class ClassSpec(NamedTuple):
    name: str
    properties: Sequence[PropertySpec]
    embedded: bool = False
    #: The properties of each as text, and its flags.
    indexes: Sequence[tuple[str, int]] = ()


def _set_rule(schema: Any, class_index: int, index: int, spec: PropertySpec) -> None:
    rule, given = spec.rule, sized("motte_prop_rule")
    assert rule is not None
    kept: list[Any] = []
    given.flags = lib.MOTTE_RULE_REQUIRED * rule.required
    if rule.default is not NOTHING:
        given.flags |= lib.MOTTE_RULE_DEFAULT
        kept.append(one(rule.default, spec.type))
        given.value = kept[-1].pointer()[0]
    if rule.allowed is not None:
        values = Values()
        for value in rule.allowed:
            values.add(value, spec.type)
        kept.append(values)
        given.allowed, given.allowed_count = values.pointer(), len(values)
    if rule.range is not None:
        given.flags |= lib.MOTTE_RULE_RANGE
        for name, value in zip(("least", "most"), rule.range):
            kept.append(one(value, spec.type))
            setattr(given, name, kept[-1].pointer()[0])
    given.flags |= lib.MOTTE_RULE_MIDNIGHT * rule.is_midnight
    function = rule.make or rule.fill
    if function is not None:
        given.userdata, given.free_userdata = _callbacks.passed(function), lib.motte_python_free
        if rule.make is not None:
            given.make = lib.motte_python_default
        else:
            given.fill = lib.motte_python_fill
    errors.check(lib.motte_schema_set_rule(schema, class_index, index, given))
    del kept


class Schema:
    """A schema being declared."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @staticmethod
    def declared(classes: Sequence[ClassSpec]) -> Schema:
        place = out("motte_schema")
        errors.check(lib.motte_schema_new(place))
        handle = own(place)
        index, spec = ffi.new("size_t *"), sized("motte_prop_spec")
        for declared in classes:
            name = utf8(declared.name)
            flags = lib.MOTTE_CLASS_EMBEDDED if declared.embedded else 0
            errors.check(lib.motte_schema_add_class(handle, name, len(name), flags, index))
            for number, property_ in enumerate(declared.properties):
                spec.type, spec.flags = property_.type, property_.flags
                spec.collection = property_.collection
                kept = []
                for field in ("name", "target", "origin"):
                    value = getattr(property_, field)
                    content = utf8(value) if value is not None else b""
                    view = ffi.from_buffer(content) if value is not None else NULL
                    kept.append(view)
                    setattr(spec, field, ffi.cast("char *", view))
                    setattr(spec, field + "_size", len(content))
                errors.check(lib.motte_schema_add_prop(handle, index[0], spec, NULL))
                del kept
                if property_.rule is not None:
                    _set_rule(handle, index[0], number, property_)
            for parts, unique in declared.indexes:
                content = utf8(parts)
                errors.check(lib.motte_schema_add_index(handle, index[0], content, len(content), unique))
        errors.check(lib.motte_schema_validate(handle))
        return Schema(handle)

    @staticmethod
    def parsed(source: str) -> Schema:
        place, content = out("motte_schema"), utf8(source)
        errors.check(lib.motte_schema_parse(content, len(content), place))
        return Schema(own(place))

    def text(self) -> str:
        buffer = ffi.new("motte_buf *")
        errors.check(lib.motte_schema_text(self.handle, buffer))
        return take_text(buffer)
