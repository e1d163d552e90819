"""Schemas being declared, as Python calls."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import errors
from ._convert import utf8
from ._ffi import NULL, ffi, lib, sized
from ._handles import out, own, take_text

NULLABLE, PRIMARY_KEY, INDEXED = lib.MOTTE_PROP_NULLABLE, lib.MOTTE_PROP_PRIMARY_KEY, lib.MOTTE_PROP_INDEXED
UNIQUE, INDEX_UNIQUE = lib.MOTTE_PROP_UNIQUE, lib.MOTTE_INDEX_UNIQUE
#: Flags of ints by their bits.
WIDTHS: dict[int, int] = {64: 0, 8: lib.MOTTE_PROP_INT8, 16: lib.MOTTE_PROP_INT16, 32: lib.MOTTE_PROP_INT32}


class PropertySpec(NamedTuple):
    """A property to declare."""

    name: str
    type: int
    collection: int = 0
    flags: int = 0
    target: Optional[str] = None
    origin: Optional[str] = None


class ClassSpec(NamedTuple):
    name: str
    properties: Sequence[PropertySpec]
    embedded: bool = False
    #: The properties of each as text, and its flags.
    indexes: Sequence[tuple[str, int]] = ()


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
            for property_ in declared.properties:
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
