"""Properties of model classes: how they are declared, and what their annotations mean.

    class Flight(motte.Model):
        id: int = motte.field(primary_key=True)
        origin: Airport | None = None
        stops: list[str] = motte.field(default_factory=list)

Annotations are looked at when they are needed, so a class may name classes that come later.
"""
from __future__ import annotations

import builtins
import sys
import types
import typing
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Callable, NamedTuple, Optional, Union, overload

from . import errors
from ._convert import BINARY, BOOL, DOUBLE, FLOAT, INT, INVERSE, LINK, STRING, TIMESTAMP
from .backlinks import Backlinks

if TYPE_CHECKING:
    from typing import Literal

    from .model import Model

    ModelClass = type[Model]

#: An annotation: a number kept in 32 bits. Reading gives a Python float.
Float32 = Annotated[float, "motte.Float32"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


class Field:
    """What field() and backlinks() say about a property, before its class is made."""

    __slots__ = ("default", "default_factory", "primary_key", "indexed", "origin")

    def __init__(self, default: Any = MISSING, default_factory: Any = MISSING, primary_key: bool = False,
                 indexed: bool = False, origin: Optional[str] = None) -> None:
        self.default, self.default_factory = default, default_factory
        self.primary_key, self.indexed, self.origin = primary_key, indexed, origin


@overload
def field(*, primary_key: bool = False, indexed: bool = False) -> Any: ...
@overload
def field(*, default: Any, primary_key: bool = False, indexed: bool = False) -> Any: ...
@overload
def field(*, default_factory: Callable[[], Any], primary_key: bool = False, indexed: bool = False) -> Any: ...
def field(*, default: Any = MISSING, default_factory: Any = MISSING, primary_key: bool = False,
          indexed: bool = False) -> Any:
    """Says more about a property than its annotation can."""
    if default is not MISSING and default_factory is not MISSING:
        raise TypeError("give a default or a default_factory, not both")
    return Field(default, default_factory, primary_key, indexed)


def backlinks(origin: str, *, init: Literal[False] = False) -> Any:
    """The objects whose property `origin` links here: `flights: motte.Backlinks["Flight"] = motte.backlinks("origin")`.

    Computed, never assigned."""
    if init:
        raise TypeError("backlinks are computed and cannot be given to the constructor")
    return Field(origin=origin)


# ------------------------------------------------------------------------------------------------ annotations


class Declared(NamedTuple):
    """A property as its class declares it."""

    name: str
    type: int
    is_list: bool
    nullable: bool
    target: Optional[str]
    target_class: Optional[ModelClass]
    field: Field

    @property
    def is_stored(self) -> bool:
        return self.type != INVERSE

    @property
    def is_plain(self) -> bool:
        """One value, not a collection."""
        return not self.is_list and self.type != INVERSE


_TYPES: dict[Any, int] = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, bytes: BINARY, datetime: TIMESTAMP}
_TYPES_TEXT = "bool, int, float, motte.Float32, str, bytes, datetime, a model class, or list[...] of these"


class _Later:
    """Stands for a class that is named in an annotation and not known (yet)."""


class _Names(dict[str, Any]):
    """Names in annotations: model classes first, then the module, then the built-in ones; others come later."""

    def __init__(self, module: dict[str, Any], models: dict[str, Any]) -> None:
        super().__init__()
        self._places = (models, module, vars(builtins), {"Backlinks": Backlinks})

    def __missing__(self, name: str) -> Any:
        for place in self._places:
            if name in place:
                return place[name]
        return named(name)


def named(name: Optional[str]) -> Any:
    """An annotation for a class of which only the name is known."""
    return type(name or "", (_Later,), {})


def own_annotations(cls: type) -> dict[str, Any]:
    """The annotations written in this class, unevaluated where Python allows."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return dict(annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF))
    return dict(cls.__dict__.get("__annotations__", {}))


def declared(cls: type[Model], name: str, annotation: Any, declaration: Field, models: dict[str, Any]) -> Declared:
    """What a property is, by its annotation."""
    module = sys.modules.get(cls.__module__)
    reader = _Reader(f"{cls.__name__}.{name}", _Names(vars(module) if module else {}, models))
    read = reader.read(annotation)
    if read.is_backlinks != (declaration.origin is not None):
        raise errors.SchemaInvalidError(
            f"{cls.__name__}.{name}: an inverse is written "
            f'{name}: motte.Backlinks["Other"] = motte.backlinks("property of Other that links here")',
            class_name=cls.__name__, property_name=name)
    return Declared(name, INVERSE if read.is_backlinks else read.type, read.is_list, read.nullable, read.target,
                    read.target_class, declaration)


class _Read(NamedTuple):
    type: int
    nullable: bool = False
    is_list: bool = False
    is_backlinks: bool = False
    target: Optional[str] = None
    target_class: Optional[ModelClass] = None


class _Reader:
    def __init__(self, where: str, names: _Names) -> None:
        self.where, self.names = where, names

    def refuse(self, annotation: Any, why: str = "") -> errors.Error:
        shown = getattr(annotation, "__name__", None) if isinstance(annotation, type) else annotation
        class_name, _, property_name = self.where.partition(".")
        return errors.SchemaInvalidError(
            f"{self.where}: {why or f'the annotation {shown} means nothing here; use ' + _TYPES_TEXT}",
            class_name=class_name, property_name=property_name)

    def evaluated(self, annotation: Any) -> Any:
        while isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
            source = annotation if isinstance(annotation, str) else annotation.__forward_arg__
            try:
                annotation = eval(source, {"__builtins__": {}}, self.names)
            except Exception as error:
                why = f"the annotation {source!r} cannot be evaluated from its module: {error}"
                raise self.refuse(source, why) from None
        return annotation

    def read(self, annotation: Any) -> _Read:
        annotation = self.evaluated(annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Union or origin is getattr(types, "UnionType", Union):
            return self._optional(annotation, arguments)
        if origin is list:
            element = self.read(arguments[0])
            if element.is_list or element.is_backlinks:
                raise self.refuse(annotation, "a list cannot hold lists")
            if element.type == LINK and element.nullable:
                raise self.refuse(annotation, f"a list of objects holds no None: list[{element.target}]")
            return element._replace(is_list=True)
        if origin is Backlinks:
            element = self.read(arguments[0])
            if element.type != LINK or element.is_list:
                raise self.refuse(annotation, "Backlinks are of a model class")
            return _Read(INVERSE, is_backlinks=True, target=element.target, target_class=element.target_class)
        if origin is Annotated:
            if arguments[1:] == ("motte.Float32",):
                return _Read(FLOAT)
            return self.read(arguments[0])
        if origin is None and isinstance(annotation, type):
            return self._class(annotation)
        raise self.refuse(annotation)

    def _optional(self, annotation: Any, arguments: tuple[Any, ...]) -> _Read:
        others = [argument for argument in arguments if argument is not type(None)]
        if len(others) != 1 or len(others) == len(arguments):
            raise self.refuse(annotation, "a property has one type, or that and None")
        inner = self.read(others[0])
        if inner.is_list or inner.is_backlinks:
            raise self.refuse(annotation, "a list is never None, only empty")
        return inner._replace(nullable=True)

    def _class(self, annotation: type) -> _Read:
        from .model import Model

        if annotation in _TYPES:
            return _Read(_TYPES[annotation])
        if issubclass(annotation, Model) and annotation is not Model:
            return _Read(LINK, target=annotation.__name__, target_class=annotation)
        if issubclass(annotation, _Later):
            return _Read(LINK, target=annotation.__name__)
        raise self.refuse(annotation)


def check_link(cls: type[Model], property_: Declared) -> None:
    if property_.type == LINK and not property_.is_list and not property_.nullable:
        raise errors.SchemaInvalidError(
            f"{cls.__name__}.{property_.name}: a link becomes None when its target is deleted: "
            f"write {property_.target} | None", class_name=cls.__name__, property_name=property_.name)
