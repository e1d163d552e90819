"""Model classes to a schema, and the rows of a class in one database.

A Layout is what a class is in one open database: the ids of class and properties. A Row is that with the database: it
reads and writes single properties of an object, and keeps the database for as long as there are objects. Databases
opened without classes get classes made from what is stored.
"""
from __future__ import annotations

import enum
import types
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _again, _objects, _rules, errors
from ._atomic import atomically, needs_others
from ._convert import (
    DATA, BOOL, DECIMAL, DECODERS, DOUBLE, EPOCH, FLOAT, IN_PLACE, INT, INVERSE, LINK, MIXED, OBJECT_ID,
    HOLDING, PLACE_DECODERS, STRING, TIMESTAMP, UUID, Link, Maker, Values,
)
from ._protocols import AnyDatabase
from ._realm import PropertyInfo, Realm, prop_array
from ._sameness import is_same, is_same_object
from ._schema import (
    INDEX_UNIQUE, INDEXED, NOTHING, NULLABLE, PRIMARY_KEY, UNIQUE, WIDTHS, ClassSpec, PropertySpec, Rule, Schema,
)
from .backlinks import Backlinks
from .converters import Converter, EnumConverter
from .fields import INTS, LIST, MAP, MISSING, SET, SINGLE, Declared, Field, Float32, Index, named, written_index
from .lists import List
from .maps import Map
from .model import EmbeddedModel, Model, is_stored_embedded
from .objectid import ObjectId
from .sets import Set


#: Makes a database of a realm that the library lends; database.py says how.
lent_database: Any = None


def declared_schema(
    schema: Union[str, Sequence[type[Model]], None],
) -> tuple[Optional[list[type[Model]]], Optional[Schema]]:
    """The classes, if some are given, and the schema as the library takes it; from what open() takes."""
    if isinstance(schema, str):
        return None, Schema.parsed(schema)
    if schema is None:
        return None, None
    if isinstance(schema, type):
        raise errors.SchemaInvalidError(f"a schema is a list of classes; write schema=[{schema.__name__}]")
    classes = list(schema)
    return classes, Schema.declared(specification(classes))


def specification(classes: list[type[Model]]) -> list[ClassSpec]:
    """The classes as the library wants them declared."""
    specs = []
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, Model)) or cls is Model:
            raise errors.SchemaInvalidError(f"a schema is a list of subclasses of motte.Model, not of {cls!r:.60}")
        specs.append(ClassSpec(cls._stored_name,
                               [_property(cls, declared, classes) for declared in cls._declared().values()],
                               issubclass(cls, EmbeddedModel), [_index(cls, index) for index in cls._indexes]))
    return specs


def is_declared_alike(one: type[Model], other: type[Model]) -> bool:
    """Whether two classes ask the same of a file and of new objects. The types and functions of a cell that has run
    again are others, with the same text: values count as they are stored, functions by what they do."""
    mine, others = specification([one])[0], specification([other])[0]
    if [each._replace(rule=None) for each in mine.properties] != [each._replace(rule=None) for each in
                                                                   others.properties]:
        return False
    if mine._replace(properties=[]) != others._replace(properties=[]) or one._declared().keys() != (
            other._declared().keys()):
        return False
    if not all(map(_is_rule_alike, mine.properties, others.properties)):
        return False
    if not all(map(_again.are_same_types, map(_converted_type, one._declared().values()),
                   map(_converted_type, other._declared().values()))):
        return False
    starts = [[(_plain(each.field.default_factory), _default(each, spec.rule))
               for each, spec in zip(cls._declared().values(), specs.properties)]
              for cls, specs in ((one, mine), (other, others))]
    try:
        return is_same(*starts)
    except Exception:
        # Whatever functions refer to need not be comparable: an array of NumPy is not.
        return False


_again.is_declared_alike = is_declared_alike


def _converted_type(declared: Declared) -> Optional[type]:
    return None if declared.converter is None else declared.converter.type


def _is_rule_alike(one: PropertySpec, other: PropertySpec) -> bool:
    mine, others = one.rule or Rule(), other.rule or Rule()
    return (mine.required, mine.allowed, mine.range, mine.is_midnight) == (
        others.required, others.allowed, others.range, others.is_midnight) and (
        mine.make is None) == (others.make is None) and (mine.fill is None) == (others.fill is None)


def _default(declared: Declared, rule: Optional[Rule]) -> Any:
    """What can be compared of a default: what is stored, where that is known."""
    if rule is not None and rule.default is not NOTHING:
        return [_plain(rule.default)]
    return _plain(declared.field.default, declared.converter)


#: Functions may refer to themselves.
_DEEPEST_PLAIN = 20


def _plain(value: Any, converter: Optional[Converter[Any]] = None, depth: int = 0) -> Any:
    """What can be compared of a value or a function, whose types and functions others stand in for when its text runs
    again."""
    if depth > _DEEPEST_PLAIN:
        return None
    within = partial(_plain, converter=converter, depth=depth + 1)
    if converter is not None and converter.accepts(value):
        return converter.stored(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Model):
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        return [within(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(within, value), key=repr)
    if isinstance(value, dict):
        return {key: within(each) for key, each in value.items()}
    if isinstance(value, types.FunctionType):
        return within([value.__code__, value.__defaults__, value.__kwdefaults__, value.__closure__])
    if isinstance(value, types.CodeType):
        # Not where it is written, which `==` compares too.
        return within([value.co_code, value.co_consts, value.co_names])
    if isinstance(value, types.CellType):
        try:
            return within([value.cell_contents])
        except ValueError:
            return []
    if isinstance(value, partial):
        return within([value.func, value.args, value.keywords])
    if isinstance(value, types.MethodType):
        return [within(value.__func__), _plain_state(value.__self__, within)]
    if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, (types.ModuleType, type(None))):
        return within([value.__qualname__, value.__self__])
    if not callable(value):
        return value
    if hasattr(value, "__qualname__"):
        return [getattr(value, "__module__", None), value.__qualname__]
    return [within(type(value).__call__), _plain_state(value, within)]


def _plain_state(value: Any, within: Callable[[Any], Any]) -> Any:
    """That of an object whose method makes values; where it has no dict, `==` says what is like it."""
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return within(value) if isinstance(value, type) else value
    return [type(value).__module__, type(value).__qualname__, within(vars(value))]


def public_names(classes: Sequence[type[Model]]) -> list[tuple[str, str, str]]:
    """Of properties that have another name in the file: class and property there, and the name in Python."""
    return [(cls._stored_name, declared.stored_name, declared.name) for cls in classes
            for declared in cls._declared().values() if declared.stored_name != declared.name]


def _index(cls: type[Model], index: Index) -> tuple[str, int]:
    """With the names that the file has."""
    known, texts = cls._declared(), []
    for name, descends, folding in index.parts:
        declared = known.get(name)
        if declared is None:
            raise errors.SchemaInvalidError(
                f"an index of {cls.__name__} names '{name}', and the class has no such property",
                class_name=cls.__name__, property_name=name)
        quoted = declared.stored_name.replace("\\", "\\\\").replace("`", "\\`")
        texts.append(f"`{quoted}`" + f" [{folding}]" * bool(folding) + " desc" * descends)
    return ", ".join(texts), INDEX_UNIQUE * index.unique


def _property(cls: type[Model], declared: Declared, classes: list[type[Model]]) -> PropertySpec:
    target, origin = declared.target, declared.field.origin
    model = cls._path_target((declared.name,))
    if model is not None:
        target = model._stored_name
        origin = origin if origin is None else model._stored_step(origin)[0]
    flags = (NULLABLE * declared.nullable | PRIMARY_KEY * declared.field.primary_key
             | INDEXED * declared.field.indexed | UNIQUE * declared.field.unique | WIDTHS[declared.bits])
    return PropertySpec(
        declared.stored_name, declared.type, declared.collection, flags, target, origin,
        _rule(cls, declared, classes))


def _rule(cls: type[Model], declared: Declared, classes: list[type[Model]]) -> Optional[Rule]:
    if cls._is_made:
        return None
    make = cls._starts().get(declared.name)
    if make is None:
        return _rules.rule(cls, declared)
    return (_rules.rule(cls, declared) or Rule())._replace(fill=_filler(cls, declared.name, make, classes))


def _filler(cls: type[Model], name: str, make: Callable[[], Any],
            classes: list[type[Model]]) -> Callable[[Any, int, list[int]], None]:
    """Gives objects the value that the constructor would: those of an import, which does not name the property, and
    those that are older than it."""
    def fill(handle: Any, class_id: int, keys: list[int]) -> None:
        database = lent_database(Realm(handle), classes)
        row = database._row_of(cls)
        for key in keys:
            row.set(database._object(class_id, key), name, make())
    return fill


_ANNOTATIONS: dict[int, Any] = {BOOL: bool, INT: int, FLOAT: Float32, DOUBLE: float, STRING: str, DATA: bytes,
                                TIMESTAMP: datetime, DECIMAL: Decimal, OBJECT_ID: ObjectId, UUID: uuid.UUID, MIXED: Any}
_ZEROS: dict[int, Any] = {BOOL: False, INT: 0, FLOAT: 0.0, DOUBLE: 0.0, STRING: "", DATA: b"", TIMESTAMP: EPOCH,
                          DECIMAL: Decimal(0), OBJECT_ID: ObjectId(bytes(12)), UUID: uuid.UUID(int=0)}
# Flags of slots and rows, as in native/objects.h.
PLAIN, READS, WRITES, SHOWS = 1, 2, 4, 8
ADDS, ALL_SHOWN, KEY_TYPE = 1, 2, 8
_EVERY_WIDTH = sum(WIDTHS.values())
# Annotations that are made, not written.
_OPTIONAL: Any = Optional
_COLLECTIONS: dict[int, Any] = {LIST: list, SET: set, MAP: dict}
_BACKLINKS: Any = Backlinks


def made_class(
    name: str, properties: Iterable[PropertyInfo], embedded: bool = False, indexes: Iterable[Index] = (),
) -> type[Model]:
    """A model class for what a file holds."""
    namespace: dict[str, Any] = {"__module__": __name__, "__doc__": f"{name}, as it is stored."}
    annotations: dict[str, Any] = {}
    for info in properties:
        if info.type == INVERSE:
            annotations[info.name] = _BACKLINKS[named(info.target_name)]
            namespace[info.name] = Field(origin=info.origin_name)
            continue
        annotation = named(info.target_name) if info.type == LINK else _ANNOTATIONS[info.type]
        if info.type == INT:
            annotation = next(INTS[bits] for bits, flag in WIDTHS.items() if info.flags & _EVERY_WIDTH == flag)
        nullable = bool(info.flags & NULLABLE)
        if info.collection != SINGLE:
            element = _OPTIONAL[annotation] if nullable and info.type != MIXED else annotation
            kind = _COLLECTIONS[info.collection]
            annotations[info.name] = kind[str, element] if info.collection == MAP else kind[element]
            namespace[info.name] = Field(default_factory=kind)
            continue
        nullable = nullable or info.type == LINK
        annotations[info.name] = _OPTIONAL[annotation] if nullable and info.type != MIXED else annotation
        is_key = bool(info.flags & PRIMARY_KEY)
        # Defaults are not stored; what a property of this type starts with stands in.
        default = None if nullable else MISSING if is_key else _ZEROS[info.type]
        namespace[info.name] = Field(default, primary_key=is_key, indexed=bool(info.flags & INDEXED),
                                     unique=bool(info.flags & UNIQUE))
    namespace["__annotations__"] = annotations
    namespace["_is_made"] = True
    return type(name, (EmbeddedModel if embedded else Model,), namespace, indexes=indexes)


def _check_linked(declared: Declared, value: Any) -> None:
    """What is assigned to a link."""
    target = declared.target_class
    if value is None or type(value) is Link or isinstance(value, Model) and (
            target is None or target._stands_for(type(value))):
        return
    name = declared.target
    found = f"; db.get({name}, key) finds one by its primary key"
    if isinstance(value, Model):
        found = "" if target is None else _again.note(value, target)
    raise errors.WrongTypeError(
        f"{value!r:.60} is {type(value).__name__} where an object of {name}, or None, is wanted{found}")


class Bound:
    """A property in one database."""

    __slots__ = ("info", "declared", "type", "converter", "props", "is_plain", "may_hold", "read")

    def __init__(self, info: PropertyInfo, declared: Declared, class_id: int, realm: Realm, make: Maker) -> None:
        self.info, self.declared = info, declared
        #: This one property, as the library takes several.
        self.props = prop_array([info.id])
        self.type, self.converter, self.is_plain = declared.type, declared.converter, declared.is_plain
        #: Whether its values are or hold objects.
        self.may_hold = declared.type in HOLDING
        #: From key to value; None for a collection.
        self.read: Optional[Callable[[int], Any]] = None
        if self.is_plain:
            decoders = PLACE_DECODERS if declared.type == MIXED else DECODERS
            self.read = realm.row_reader(class_id, self.props, make, decoders)


def is_empty(value: Any) -> bool:
    """Whether this is a collection that a new object need not be given. Whatever else there may be, arrays of NumPy for
    one, is looked at where it is assigned."""
    return value is None or type(value) in (list, set, dict, tuple) and not value


class NewRow:
    """What an object that is stored by one call of the library consists of."""

    __slots__ = ("names", "bounds", "props", "holding", "collections")

    def __init__(self, properties: dict[str, Bound]) -> None:
        plain = [(name, bound) for name, bound in properties.items() if bound.is_plain]
        self.names = [name for name, _ in plain]
        self.bounds = [bound for _, bound in plain]
        self.props = prop_array([bound.info.id for bound in self.bounds])
        #: Positions in `names` of the properties whose values are or hold objects.
        self.holding = [position for position, bound in enumerate(self.bounds) if bound.may_hold]
        self.collections = [
            name for name, bound in properties.items() if bound.declared.is_stored and not bound.is_plain]

    def values(self, instance: Model) -> Optional[list[Any]]:
        """One for each of `names`; None if storing the object takes more than one call."""
        kept = instance._values
        for name in self.collections:
            if not is_empty(kept.get(name)):
                return None
        values = [kept.get(name) for name in self.names]
        for position in self.holding:
            if needs_others(values[position]):
                return None
        return values

    def columns(self, instances: Sequence[Model]) -> Optional[dict[str, list[Any]]]:
        """The values of several objects by property; None if storing one takes more than one call."""
        try:
            for name in self.collections:
                if not all(is_empty(instance._values[name]) for instance in instances):
                    return None
            columns = {name: [instance._values[name] for instance in instances] for name in self.names}
        except KeyError:
            # Another thread has just stored one of them: the longer way says so.
            return None
        for position in self.holding:
            if needs_others(columns[self.names[position]]):
                return None
        return columns


class Layout:
    """What a class is in one database."""

    __slots__ = ("realm", "model", "class_id", "properties", "primary_key", "_new", "_bindings")

    def __init__(self, realm: Realm, model: type[Model], class_id: int, infos: Sequence[PropertyInfo],
                 make: Maker) -> None:
        self.realm, self.model, self.class_id = realm, model, class_id
        self.properties: dict[str, Bound] = {}
        self.primary_key: Optional[str] = None
        by_name = {info.name: info for info in infos}
        for name, declared in model._declared().items():
            info = by_name.get(declared.stored_name)
            if info is not None:
                self.properties[name] = Bound(info, declared, class_id, realm, make)
                if declared.field.primary_key:
                    self.primary_key = name
        self._new: Optional[NewRow] = None
        self._bindings: Optional[tuple[int, tuple[_objects.Slot, ...]]] = None

    def bindings(self) -> tuple[int, tuple[_objects.Slot, ...]]:
        """What the base of Row goes by: its flags, and its slots."""
        if self._bindings is None:
            embedded = {info.id for info in map(self.realm.class_info, self._linked()) if info.embedded}
            planned = {name: place for place, name in enumerate(self.model._properties)}
            self._bindings = _row_flags(self), tuple(
                _slot(name, bound, planned[name], embedded) for name, bound in self.properties.items())
        return self._bindings

    def _linked(self) -> set[int]:
        return {bound.info.target for bound in self.properties.values() if bound.type == LINK and bound.is_plain}

    def new(self) -> NewRow:
        if self._new is None:
            self._new = NewRow(self.properties)
        return self._new


def _slot(name: str, bound: Bound, planned: int, embedded: set[int]) -> _objects.Slot:
    """A property for the base of Row, and which of its work is done there."""
    flags = 0
    converter = bound.converter
    members: Any = converter.type if isinstance(converter, EnumConverter) else None
    if bound.is_plain and converter is not None and members is None:
        # Its functions are called from Python.
        flags = PLAIN
    elif bound.is_plain:
        is_embedded = bound.type == LINK and bound.info.target in embedded
        flags = PLAIN | READS | (0 if is_embedded else WRITES | SHOWS)
    return (name, bound.info.id, bound.type, flags, bound.info.target if bound.type == LINK else 0, planned, members,
            None if members is None else dict(members._value2member_map_))


def _row_flags(layout: Layout) -> int:
    model = layout.model
    stored = [name for name, declared in model._declared().items() if declared.is_stored]
    # A class may have a property of Python's own where a class that it derives from has one that is stored.
    shows = all(name in layout.properties and isinstance(_static(model, name), _objects.Property)
                for name in stored)
    key = None if layout.primary_key is None else layout.properties[layout.primary_key]
    key_type = 0 if key is None or key.converter is not None else key.type
    return (0 if issubclass(model, EmbeddedModel) else ADDS) | (ALL_SHOWN if shows else 0) | key_type << KEY_TYPE


def _static(model: type[Model], name: str) -> Any:
    """What an attribute of a class is, which is asked for nothing."""
    return next((vars(base)[name] for base in model.__mro__ if name in vars(base)), None)


class Row(_objects.Row):
    """The rows of one class in one database."""

    __slots__ = ("realm", "properties", "primary_key", "new", "__weakref__")

    if TYPE_CHECKING:
        database: AnyDatabase
        model: type[Model]

    def __init__(self, database: AnyDatabase, layout: Layout) -> None:
        self._bind(database, layout.realm.address, layout.class_id, layout.model, *layout.bindings())
        self.realm = layout.realm
        self.properties, self.primary_key, self.new = layout.properties, layout.primary_key, layout.new

    @property
    def identity(self) -> tuple[tuple[int, Optional[int]], int]:
        """Of which class of which open file its objects are, and of which version, if they are frozen."""
        return self.database._identity, self.class_id

    def bound(self, name: str) -> Bound:
        try:
            return self.properties[name]
        except KeyError:
            known = ", ".join(self.properties)
            raise errors.UnknownPropertyError(
                f"{self.model.__name__} has no property '{name}'; it has {known}",
                class_name=self.model.__name__, property_name=name) from None

    def name_in(self, error: errors.Error, name: str) -> None:
        """The error of a value says which property the value was for."""
        if error.property_name is None:
            error.class_name, error.property_name = self.model.__name__, name
            error.message = f"{self.model.__name__}.{name}: {error.message}"

    def encoded(self, bounds: Sequence[Bound], values: Sequence[Any]) -> Values:
        """One value for each of these properties."""
        encoded, encode = Values(), self.database._encode
        for bound, value in zip(bounds, values):
            try:
                if bound.converter is not None:
                    value = bound.converter.stored(value)
                if bound.type == LINK:
                    _check_linked(bound.declared, value)
                if bound.may_hold:
                    encode(encoded, value, bound.type)
                else:
                    encoded.add(value, bound.type)
            except errors.Error as error:
                self.name_in(error, bound.declared.name)
                raise
        return encoded

    def get(self, instance: Model, name: str) -> Any:
        bound = self.properties.get(name) or self.bound(name)
        database = self.database
        if database._write is not None:
            database._check_task()
        key = instance._key if instance._write is None else instance._live_key()
        try:
            if bound.read is not None:
                value = bound.read(key)
                if value is IN_PLACE:
                    return database._nested(self.realm.row_coll(self.class_id, key, bound.info.id))
                converter = bound.converter
                return value if converter is None else converter.loaded(value, bound.declared.nullable)
            coll = self.realm.row_coll(self.class_id, key, bound.info.id)
        except errors.ObjectDeletedError:
            raise self._deleted() from None
        return collection(database, coll, bound.declared)

    def set(self, instance: Model, name: str, value: Any) -> None:
        bound = self.properties.get(name) or self.bound(name)
        database = self.database
        database._check_task()
        key = instance._live_key()
        if bound.is_plain:
            if bound.may_hold and is_stored_embedded(value) and self.realm.in_write() and is_same_object(
                    self.get(instance, name), value):
                # Itself; it could not be made a second time.
                return
            if not bound.may_hold or not needs_others(value):
                self.realm.row_set(self.class_id, key, bound.props, self.encoded((bound,), (value,)))
            elif isinstance(value, EmbeddedModel) and value._row is None:
                database._embed(value, lambda: self.realm.row_embed(self.class_id, key, bound.info.id))
            else:
                with atomically(database):
                    self.realm.row_set(self.class_id, key, bound.props, self.encoded((bound,), (value,)))
            return
        if bound.declared.type == INVERSE:
            raise AttributeError(f"{self.model.__name__}.{name} is computed and cannot be assigned")
        place(database, self.realm.row_coll(self.class_id, key, bound.info.id), bound.declared).assign(
            assigned(bound.declared, value))

    def _deleted(self) -> errors.Error:
        return errors.ObjectDeletedError(
            f"this {self.model.__name__} has been deleted", class_name=self.model.__name__)


def collection(database: AnyDatabase, coll: Any, declared: Declared) -> Any:
    """The value of a collection property."""
    if declared.type == INVERSE:
        return Backlinks(database, coll)
    found = place(database, coll, declared)
    return found if declared.shape is None else declared.shape.loaded(found[:])


def place(database: AnyDatabase, coll: Any, declared: Declared) -> Any:
    """What stands for a collection that can be changed; of a tuple, the list that it is stored as."""
    kind: Any = {LIST: List, SET: Set, MAP: Map}[declared.collection]
    return kind(database, coll, declared.type, declared.converter)


def assigned(declared: Declared, value: Any) -> Any:
    """What is assigned to the place of a collection."""
    return value if declared.shape is None else declared.shape.stored(value, declared.name)


def layouts_of(realm: Realm, classes: Optional[Sequence[type[Model]]], make: Maker) -> dict[int, Layout]:
    """By class id, for the classes given or, without, for all that are stored. `make` makes the objects that links lead
    to."""
    layouts: dict[int, Layout] = {}
    if classes is None:
        return {class_id: stored_layout(realm, class_id, make) for class_id in realm.classes()}
    for cls in classes:
        class_id = realm.class_find(cls._stored_name)
        if class_id is None:
            raise errors.UnknownClassError(f"the database has no class {cls.__name__}", class_name=cls.__name__)
        layouts[class_id] = Layout(realm, cls, class_id, realm.properties(class_id), make)
    return layouts


def stored_layout(realm: Realm, class_id: int, make: Maker) -> Layout:
    """With a model class that is made from what is stored."""
    infos, about = realm.properties(class_id), realm.class_info(class_id)
    indexes = [written_index(text, unique) for text, unique in realm.indexes(class_id)]
    return Layout(realm, made_class(about.name, infos, about.embedded, indexes), class_id, infos, make)
