"""Properties of model classes: how they are declared, and what their annotations mean.

    class Flight(motte.Model):
        id: int = motte.field(primary_key=True)
        origin: Airport | None = None
        stops: list[str] = motte.field(default_factory=list)

Annotations are looked at when they are needed, so a class may name classes that come later.
"""
from __future__ import annotations

import builtins
import enum
import re
import sys
import types
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Callable, Literal, NamedTuple, Optional, Union, overload

from . import _again, errors
from ._convert import (
    DATA, BOOL, DECIMAL, DOUBLE, FLOAT, INT, INVERSE, LINK, MIXED, OBJECT_ID, STRING, TIMESTAMP, UUID, Values,
    wrong_type,
)
from ._ffi import lib
from .backlinks import Backlinks
from .converters import Converter, EnumConverter, LiteralConverter, of_type
from .objectid import ObjectId
from .sequenced import is_sequence

ModelClass = type[Any]

#: An annotation: a number kept in 32 bits. Reading gives a Python float.
Float32 = Annotated[float, "motte.Float32"]
#: Annotations: an int of which only so many bits may be written, else NumberOverflowError; `int` has 64.
Int8 = Annotated[int, "motte.Int8"]
Int16 = Annotated[int, "motte.Int16"]
Int32 = Annotated[int, "motte.Int32"]
INTS: dict[int, Any] = {8: Int8, 16: Int16, 32: Int32, 64: int}
#: An annotation: a value of any type, a list or a dict of such values, or None. `Any` means the same.
Mixed = Annotated[Any, "motte.Mixed"]

#: What a property holds: one value, or a collection of them.
SINGLE: int = lib.MOTTE_COLLECTION_NONE
LIST: int = lib.MOTTE_COLLECTION_LIST
SET: int = lib.MOTTE_COLLECTION_SET
MAP: int = lib.MOTTE_COLLECTION_MAP
_COLLECTION_NAMES = {LIST: "list", SET: "set", MAP: "dict"}


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


class Field:
    """What field() and backlinks() say about a property, before its class is made."""

    __slots__ = ("default", "default_factory", "primary_key", "indexed", "unique", "origin", "stored_name")

    def __init__(self, default: Any = MISSING, default_factory: Any = MISSING, primary_key: bool = False,
                 indexed: bool = False, unique: bool = False, origin: Optional[str] = None,
                 stored_name: Optional[str] = None) -> None:
        self.default, self.default_factory = default, default_factory
        self.primary_key, self.indexed, self.unique = primary_key, indexed, unique
        self.origin, self.stored_name = origin, stored_name


@overload
def field(*, primary_key: bool = False, indexed: bool = False, unique: bool = False,
          stored_name: Optional[str] = None) -> Any: ...
@overload
def field(*, default: Any, primary_key: bool = False, indexed: bool = False, unique: bool = False,
          stored_name: Optional[str] = None) -> Any: ...
@overload
def field(*, default_factory: Callable[[], Any], primary_key: bool = False, indexed: bool = False,
          unique: bool = False, stored_name: Optional[str] = None) -> Any: ...
def field(*, default: Any = MISSING, default_factory: Any = MISSING, primary_key: bool = False,
          indexed: bool = False, unique: bool = False, stored_name: Optional[str] = None) -> Any:
    """Says more about a property than its annotation can. Of a `unique` one no two objects have the same value, else
    `DuplicateValueError`; any number may have None. `stored_name` is what the file calls it, where that is
    another name: one that is taken in Python, or that programs in other languages know."""
    if default is not MISSING and default_factory is not MISSING:
        raise TypeError("give a default or a default_factory, not both")
    return Field(default, default_factory, primary_key, indexed, unique, stored_name=stored_name)


class Index(NamedTuple):
    """What index() says; see there."""

    #: Names of properties, whether their values descend, and what is overlooked of their texts: "", "c", "d" or "cd".
    parts: tuple[tuple[str, bool, str], ...]
    unique: bool = False


_INDEX_PART = re.compile(r"(?P<name>.*?)(?:\s*\[(?P<folding>\w*)\])?(?:\s+(?P<order>asc|desc))?", re.DOTALL)
_FOLDINGS = {None: "", "c": "c", "d": "d", "cd": "cd", "dc": "cd"}


def index(*properties: str, unique: bool = False) -> Index:
    """An ordered index of one property or several, for `class Person(motte.Model, indexes=[motte.index("city", "age
    desc")])`. It answers equality of its first properties, ranges and beginnings of texts behind those, and their
    order. Of a `unique` one no two objects have the same values, else `DuplicateValueError`; None is equal to
    nothing. `"city [c]"` keeps texts without their case, `[d]` without diacritics, `[cd]` without both: such an index
    answers `==[c]`, `IN[c]` and `BEGINSWITH[c]`."""
    parts = []
    for text in properties:
        found = _INDEX_PART.fullmatch(text.strip())
        if found is None or found["folding"] not in _FOLDINGS or not found["name"]:
            raise errors.SchemaInvalidError(
                f"{text!r} is no property of an index; write 'name', 'name desc' or 'name [c]', also with [d] or [cd]")
        parts.append((found["name"], found["order"] == "desc", _FOLDINGS[found["folding"]]))
    if not parts:
        raise TypeError("an index has at least one property")
    return Index(tuple(parts), unique)


_WRITTEN_PART = re.compile(r"(?:`((?:[^`\\]|\\.)*)`|([^\s`,]+))(?: \[(\w+)\])?( desc)?(?:, |$)", re.DOTALL)


def written_index(text: str, unique: bool) -> Index:
    """From the text that the library has for it."""
    parts = []
    for part in _WRITTEN_PART.finditer(text):
        name = re.sub(r"\\(.)", r"\1", part[1], flags=re.DOTALL) if part[2] is None else part[2]
        parts.append((name, part[4] is not None, part[3] or ""))
    return Index(tuple(parts), unique)


def backlinks(origin: str, *, init: Literal[False] = False) -> Any:
    """The objects whose property `origin` links here: `flights: motte.Backlinks["Flight"] = motte.backlinks("origin")`.

    Computed, never assigned."""
    if init:
        raise TypeError("backlinks are computed and cannot be given to the constructor")
    return Field(origin=origin)


# ------------------------------------------------------------------------------------------------ annotations


class TupleShape(NamedTuple):
    """What a tuple is beside the list that it is stored as."""

    #: None for any.
    length: Optional[int]
    #: What each element is, where they are not of one type.
    elements: Optional[tuple[Any, ...]]

    def stored(self, values: Any, name: str) -> list[Any]:
        """The elements of the list."""
        if not isinstance(values, (tuple, list)):
            raise errors.WrongTypeError(f"{values!r:.60} is {type(values).__name__} where a tuple is wanted",
                                        property_name=name)
        if self.length is not None and len(values) != self.length:
            raise errors.WrongTypeError(f"a tuple of {self.length} is wanted, this has {len(values)}",
                                        property_name=name)
        if self.elements is None:
            return list(values)
        for read, value in zip(self.elements, values):
            check_value(read, value)
        return [value if read.converter is None else read.converter.stored(value)
                for read, value in zip(self.elements, values)]

    def loaded(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The tuple; what others have put into the list comes as it is."""
        if self.elements is None or len(values) != len(self.elements):
            return tuple(values)
        return tuple(value if read.converter is None else read.converter.loaded(value, read.nullable)
                     for read, value in zip(self.elements, values))


class Declared(NamedTuple):
    """A property as its class declares it."""

    name: str
    type: int
    collection: int
    nullable: bool
    target: Optional[str]
    target_class: Optional[ModelClass]
    field: Field
    #: What makes its values, or its elements, of what is stored.
    converter: Optional[Converter[Any]] = None
    #: Of an int.
    bits: int = 64
    #: Of a tuple, which is stored as a list.
    shape: Optional[TupleShape] = None

    @property
    def stored_name(self) -> str:
        """What the file calls it."""
        return self.name if self.field.stored_name is None else self.field.stored_name

    @property
    def is_stored(self) -> bool:
        return self.type != INVERSE

    @property
    def is_plain(self) -> bool:
        """One value, not a collection."""
        return self.collection == SINGLE and self.type != INVERSE

    @property
    def is_list(self) -> bool:
        return self.collection == LIST

    @property
    def has_start(self) -> bool:
        """Whether a new object needs no value for it."""
        return self.nullable if self.is_plain else self.shape is None or self.shape.length is None

    def empty(self) -> Any:
        """What a collection of a new object starts as."""
        return () if self.shape is not None else {LIST: list, SET: set, MAP: dict}[self.collection]()


_TYPES: dict[Any, int] = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, bytes: DATA, datetime: TIMESTAMP,
                          Decimal: DECIMAL, uuid.UUID: UUID, ObjectId: OBJECT_ID, Any: MIXED}
_TYPES_TEXT = ("bool, int, motte.Int8 to Int32, float, motte.Float32, str, bytes, datetime, date, time, timedelta, "
               "Path, Decimal, uuid.UUID, motte.ObjectId, Literal[...], Any, an Enum, a model class, a type with a "
               "motte.converter(), or list[...], set[...], tuple[...] or dict[str, ...] of these")


class _Later:
    """Stands for a class that is named in an annotation and not known (yet)."""


class _Names(dict[str, Any]):
    """Names in annotations of a class: model classes beside it and those of its module, what else the module has, model
    classes of other modules, then the built-in ones; what is not there comes later."""

    def __init__(self, cls: type[Any], models: dict[str, Any], base: type[Any]) -> None:
        super().__init__()
        module = sys.modules.get(cls.__module__)
        self._cls, self._models, self._base = cls, models, base
        self._module: dict[str, Any] = vars(module) if module else {}
        self._places = (models, self._module, vars(builtins), {"Backlinks": Backlinks})

    def __missing__(self, name: str) -> Any:
        # Modules have models of the same name, and so have functions; the newest is not always the one that is meant.
        newest, there = self._models.get(name), self._module.get(name)
        if newest is not None and _scope(newest) == _scope(self._cls):
            return newest
        if isinstance(there, type) and issubclass(there, self._base):
            return there
        if name in self._module and (newest is None or newest.__module__ != self._cls.__module__):
            return there
        for place in self._places:
            if name in place:
                return place[name]
        return named(name)


def _scope(cls: type[Any]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__.rpartition(".")[0]


def named(name: Optional[str]) -> Any:
    """An annotation for a class of which only the name is known."""
    return type(name or "", (_Later,), {})


def own_annotations(cls: type) -> dict[str, Any]:
    """The annotations written in this class, unevaluated where Python allows."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return dict(annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF))
    return dict(cls.__dict__.get("__annotations__", {}))


def declared(
    cls: type[Any], name: str, annotation: Any, declaration: Field, models: dict[str, Any], base: type[Any],
) -> Declared:
    """What a property is, by its annotation. Model classes are the subclasses of `base`."""
    reader = _Reader(f"{cls.__name__}.{name}", _Names(cls, models, base), base)
    read = reader.read(annotation)
    if read.is_backlinks != (declaration.origin is not None):
        raise errors.SchemaInvalidError(
            f"{cls.__name__}.{name}: an inverse is written "
            f'{name}: motte.Backlinks["Other"] = motte.backlinks("property of Other that links here")',
            class_name=cls.__name__, property_name=name)
    return Declared(name, INVERSE if read.is_backlinks else read.type, read.collection, read.nullable, read.target,
                    read.target_class, declaration, read.converter, read.bits, read.shape)


def evaluated(cls: type[Any], name: str, annotation: Any, models: dict[str, Any], base: type[Any]) -> Any:
    """An annotation as an object, for people to see."""
    return _Reader(f"{cls.__name__}.{name}", _Names(cls, models, base), base).evaluated(annotation)


class _Read(NamedTuple):
    type: int
    nullable: bool = False
    collection: int = SINGLE
    is_backlinks: bool = False
    target: Optional[str] = None
    target_class: Optional[ModelClass] = None
    converter: Optional[Converter[Any]] = None
    bits: int = 64
    shape: Optional[TupleShape] = None

    @property
    def is_single(self) -> bool:
        return self.collection == SINGLE and not self.is_backlinks


class _Reader:
    def __init__(self, where: str, names: _Names, base: type[Any]) -> None:
        self.where, self.names, self.base = where, names, base

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
                # Since 3.12 evaluating one of typing's generics imports, by the built-ins that are given here.
                annotation = eval(source, {"__builtins__": vars(builtins)}, self.names)
            except Exception as error:
                why = f"the annotation {source!r} cannot be evaluated from its module: {error}"
                raise self.refuse(source, why) from None
        return annotation

    def read(self, annotation: Any) -> _Read:
        annotation = self.evaluated(annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Union or origin is types.UnionType:
            return self._optional(annotation, arguments)
        if annotation is Any:
            return _Read(MIXED, nullable=True)
        if origin is list:
            return self._collection(annotation, LIST, self.read(arguments[0]))
        if origin is set:
            return self._collection(annotation, SET, self.read(arguments[0]))
        if origin is dict:
            if self.evaluated(arguments[0]) is not str:
                raise self.refuse(annotation, "the keys of a dict are texts: dict[str, ...]")
            return self._collection(annotation, MAP, self.read(arguments[1]))
        if origin is Backlinks:
            element = self.read(arguments[0])
            if element.type != LINK or not element.is_single:
                raise self.refuse(annotation, "Backlinks are of a model class")
            return _Read(INVERSE, is_backlinks=True, target=element.target, target_class=element.target_class)
        if origin is tuple:
            return self._tuple(annotation, arguments)
        if origin is Literal:
            return self._literal(annotation, arguments)
        if origin is Annotated:
            for each in arguments[1:]:
                if isinstance(each, Converter):
                    return self._converted(annotation, each)
                if isinstance(each, type) and issubclass(each, _Later):
                    raise self.refuse(annotation, f"{each.__name__} in the annotation is no name of the module; "
                                      "a converter that is used in annotations is one")
            if arguments[1:] == ("motte.Float32",):
                return _Read(FLOAT)
            for bits in (8, 16, 32):
                if arguments[1:] == (f"motte.Int{bits}",):
                    return _Read(INT, bits=bits)
            return self.read(arguments[0])
        if origin is None and isinstance(annotation, type):
            return self._class(annotation)
        raise self.refuse(annotation)

    def _collection(self, annotation: Any, collection: int, element: _Read) -> _Read:
        name = _COLLECTION_NAMES[collection]
        if not element.is_single:
            raise self.refuse(annotation, f"a {name} cannot hold collections, unless it is a {name} of Any")
        if element.type == LINK and collection != MAP and element.nullable:
            raise self.refuse(annotation, f"a {name} of objects holds no None: {name}[{element.target}]")
        if element.type == LINK and collection == MAP and not element.nullable:
            raise self.refuse(
                annotation, "an object in a dict becomes None when it is deleted: "
                f"dict[str, {element.target} | None]")
        return element._replace(collection=collection)

    def _optional(self, annotation: Any, arguments: tuple[Any, ...]) -> _Read:
        others = [argument for argument in arguments if argument is not type(None)]
        if len(others) != 1 or len(others) == len(arguments):
            raise self.refuse(annotation, "a property has one type, or that and None")
        inner = self.read(others[0])
        if not inner.is_single:
            raise self.refuse(annotation, "a collection is never None, only empty"
                              if inner.shape is None else "a tuple is stored as a list, which is never None")
        return inner._replace(nullable=True)

    def _class(self, annotation: type) -> _Read:
        if annotation in _TYPES:
            return _Read(_TYPES[annotation])
        if issubclass(annotation, self.base) and annotation is not self.base:
            return _Read(LINK, target=annotation.__name__, target_class=annotation)
        if issubclass(annotation, _Later):
            return _Read(LINK, target=annotation.__name__)
        if issubclass(annotation, enum.Enum) and annotation is not enum.Enum:
            return self._enum(annotation)
        found = of_type(annotation)
        if found is not None:
            return self._converted(annotation, found)
        raise self.refuse(annotation)

    def _converted(self, annotation: Any, converter: Converter[Any]) -> _Read:
        inner = self.read(converter.stored_type)
        if not inner.is_single or inner.type in (LINK, MIXED) or inner.nullable or inner.converter is not None:
            raise self.refuse(annotation, f"{converter!r} stores values of no type that it could: "
                              "bool, int, float, str, bytes, datetime, Decimal, uuid.UUID or motte.ObjectId")
        return inner._replace(converter=converter)

    def _literal(self, annotation: Any, arguments: tuple[Any, ...]) -> _Read:
        values = tuple(value for value in arguments if value is not None)
        kinds = {type(value) for value in values}
        kind = next(iter(kinds), None)
        if len(kinds) != 1 or kind not in (bool, int, str, bytes):
            raise self.refuse(annotation, "the values of a Literal are of one type: bool, int, str or bytes")
        return _Read(_TYPES[kind], nullable=len(values) < len(arguments), converter=LiteralConverter(kind, values))

    def _tuple(self, annotation: Any, arguments: tuple[Any, ...]) -> _Read:
        """Elements of one type are a list of that; others one of mixed values."""
        if not arguments:
            raise self.refuse(annotation, "a tuple has elements: tuple[float, float], tuple[str, ...]")
        endless = len(arguments) == 2 and arguments[1] is Ellipsis
        reads = [self.read(argument) for argument in (arguments[:1] if endless else arguments)]
        if endless or all(read == reads[0] for read in reads):
            element = self._collection(annotation, LIST, reads[0])
            return element._replace(shape=TupleShape(None if endless else len(reads), None))
        for read in reads:
            if not read.is_single or read.type in (LINK, MIXED):
                raise self.refuse(annotation, "a tuple of several types has plain values only")
        return _Read(MIXED, nullable=True, collection=LIST, shape=TupleShape(len(reads), tuple(reads)))

    def _enum(self, annotation: type[enum.Enum]) -> _Read:
        """Stored by the values of its members, which have one type."""
        kinds = {type(member.value) for member in annotation}
        kind = next(iter(kinds), None)
        if len(kinds) != 1 or kind not in _TYPES:
            raise self.refuse(annotation, f"the members of {annotation.__name__} have no one type of value to store")
        return _Read(_TYPES[kind], converter=EnumConverter(annotation, kind))


def check_link(cls: type[Any], property_: Declared) -> None:
    if property_.type == LINK and property_.is_plain and not property_.nullable:
        raise errors.SchemaInvalidError(
            f"{cls.__name__}.{property_.name}: a link becomes None when its target is deleted: "
            f"write {property_.target} | None", class_name=cls.__name__, property_name=property_.name)


# ------------------------------------------------------------------------------------------------ values


#: What is taken for values of each type, before it is looked at more closely.
_TAKEN: dict[int, tuple[type, ...]] = {
    BOOL: (bool,), INT: (int,), FLOAT: (float, int), DOUBLE: (float, int, Decimal), STRING: (str,),
    DATA: (bytes, bytearray, memoryview), TIMESTAMP: (datetime,), DECIMAL: (Decimal, int, float), UUID: (uuid.UUID,),
    OBJECT_ID: (ObjectId,)}


def taken_types(declared: Declared) -> frozenset[type]:
    """Types of which every value is taken for a property without a closer look."""
    if not declared.is_plain or declared.converter is not None or declared.type in (
            LINK, MIXED, TIMESTAMP, DECIMAL, FLOAT) or declared.type == INT and declared.bits < 64:
        return frozenset()
    # Ints that a float has not are refused.
    kinds = (float,) if declared.type == DOUBLE else _TAKEN[declared.type]
    return frozenset(kinds + ((type(None),) if declared.nullable else ()))


def check_value(declared: Any, value: Any) -> None:
    """Refuses a value, or an element, that could not be stored for its type or for being None."""
    if value is None:
        if not declared.nullable and not (declared.type == LINK and declared.collection == MAP):
            raise errors.NullNotAllowedError("None is not allowed here; its annotation would say `| None`")
        return
    if declared.type == MIXED:
        return
    if declared.type == LINK:
        target = declared.target_class
        if not hasattr(value, "_row") or target is not None and not target._stands_for(type(value)):
            again = "" if target is None else _again.note(value, target)
            raise errors.WrongTypeError(
                f"{value!r:.60} is {type(value).__name__} where {declared.target} is wanted{again}")
        return
    if declared.converter is not None:
        value = declared.converter.stored(value)
    taken = _TAKEN[declared.type]
    if isinstance(value, bool) and declared.type != BOOL or not isinstance(value, taken) and not _is_number(
            value, declared.type):
        raise wrong_type(value, declared.type)
    if declared.type == INT and not -(1 << declared.bits - 1) <= value < 1 << declared.bits - 1:
        raise errors.NumberOverflowError(f"{value} does not fit in {declared.bits} bits")
    if declared.type in (INT, FLOAT, DOUBLE, STRING, DECIMAL, TIMESTAMP):
        # Whatever storing would refuse.
        Values().add(value, declared.type)


def _is_number(value: Any, type_: int) -> bool:
    """Whether it is one of NumPy's scalars, or another number that is no Python one."""
    if isinstance(value, (str, bytes)):
        return False
    if type_ == BOOL:
        return type(value).__name__ in ("bool", "bool_")
    return hasattr(value, "__index__" if type_ == INT else "__float__") and type_ in (INT, FLOAT, DOUBLE, DECIMAL)


def check(declared: Declared, value: Any, owner: str) -> None:
    """What the constructor and an object that is in no database take for a property; errors name it."""
    try:
        if declared.is_plain:
            check_value(declared, value)
        elif declared.shape is not None:
            declared.shape.stored(value, declared.name)
            if declared.shape.elements is None:
                _check_elements(declared, value)
        elif value is not None:
            _check_collection(declared, value)
    except errors.Error as error:
        error.class_name, error.property_name = owner, declared.name
        error.message = f"{owner}.{declared.name}: {error.message}"
        raise


def _check_collection(declared: Declared, value: Any) -> None:
    name = _COLLECTION_NAMES[declared.collection]
    if declared.collection == MAP:
        if not isinstance(value, Mapping):
            raise errors.WrongTypeError(f"{value!r:.60} is {type(value).__name__} where a {name} is wanted")
        for key in value:
            if not isinstance(key, str):
                raise errors.WrongTypeError(f"keys of maps are texts, not {key!r:.60}")
        _check_elements(declared, value.values())
        return
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise errors.WrongTypeError(f"{value!r:.60} is {type(value).__name__} where a {name} is wanted")
    if is_sequence(value) or isinstance(value, AbstractSet):
        _check_elements(declared, value)


def _check_elements(declared: Declared, values: Iterable[Any]) -> None:
    taken = _TAKEN.get(declared.type, ())
    if declared.converter is None and declared.type != TIMESTAMP and {*map(type, values)}.issubset(taken):
        return
    for value in values:
        check_value(declared, value)
