"""Model classes and their objects.

An object is unmanaged (made by its constructor, values in `_values`) or managed: then it is the row
(class, key) of a database and keeps nothing; each attribute is read and written there. `Database.add` makes an
unmanaged object a managed one. Objects stored by a write that was cancelled are gone for good, also when another
process gives their key to an object of its own: `_live_key` sees to that.
"""
from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Optional

from . import _again, _objects, _rules, _showing, errors, fields
from ._attributes import Property, Signature, check_name, is_class_variable, is_special, start
from ._convert import INVERSE, LINK, TIMESTAMP
from ._durations import POINT, Unit
from ._held import AnySeen, is_lost, still_open
from ._protocols import AnyRow
from ._sameness import is_same_object
from .converters import Converter, is_own
from .fields import MISSING, Declared, Field, Index
from .notifications import ChangeStream, ObjectChange, Observation, object_changes, observe_object
from .query import path_names
from .sequenced import is_sequence

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:
    def dataclass_transform(**options: Any) -> Callable[[Any], Any]:
        return lambda cls: cls

#: Model classes by name, the newest of each, for annotations that name a class as text.
_models: weakref.WeakValueDictionary[str, type[Model]] = weakref.WeakValueDictionary()


@dataclass_transform(kw_only_default=True, field_specifiers=(fields.field, fields.backlinks))
class Model(_objects.Object):
    """Base of the classes whose objects are stored.

    Annotations are the schema; the constructor takes the properties by name. An object that is in no database belongs
    to nobody; a stored one to the thread of its database, which freeze() and `motte.Reference` lead out of. Using one
    that is gone raises `ObjectDeletedError`, assigning outside of a write `NotInWriteError`."""

    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:
        _row: Optional[AnyRow]
        #: What it was seen in; see _seen.py.
        _write: Optional[AnySeen]
        _values: dict[str, Any]

    _properties: ClassVar[dict[str, Property]] = {}
    __signature__: ClassVar[Any] = Signature()
    _declarations: ClassVar[Optional[dict[str, Declared]]] = None
    #: What the constructor goes by, for each property; see start().
    _plan: ClassVar[_objects.Plan] = _objects.Plan(())
    #: By property, types of which every value is taken without a closer look; made with the declarations.
    _taken: ClassVar[Optional[dict[str, frozenset[type]]]] = None
    #: What _starts() gives.
    _own_starts: ClassVar[Optional[dict[str, Callable[[], Any]]]] = None
    #: Those of index(), inherited ones first.
    _indexes: ClassVar[tuple[Index, ...]] = ()
    #: What the file calls the class.
    _stored_name: ClassVar[str] = ""
    #: Whether names of the class, or of one that it leads to, are others in the file; None before it is known.
    _mapping: ClassVar[Optional[bool]] = None
    #: Whether some property that paths lead to has a converter of its own.
    _converts: ClassVar[Optional[bool]] = None
    #: Made from what a file holds; annotations elsewhere never mean it.
    _is_made: ClassVar[bool] = False
    #: What every object of a database has is in here, under names that no property takes.
    _is_base: ClassVar[bool] = True

    def __init_subclass__(
        cls, *, stored_name: Optional[str] = None, indexes: Iterable[Index] = (), **options: Any,
    ) -> None:
        super().__init_subclass__(**options)
        cls._indexes = tuple(dict.fromkeys((*cls._indexes, *indexes)))
        found: dict[str, Property] = {}
        for base in reversed(cls.__mro__):
            if base is not cls and issubclass(base, Model):
                found.update(base.__dict__.get("_properties", {}))
        for name, annotation in fields.own_annotations(cls).items():
            default = cls.__dict__.get(name, MISSING)
            if is_class_variable(annotation) or is_special(name) and not isinstance(default, Field):
                continue
            check_name(cls, name, Model)
            field = default if isinstance(default, Field) else Field(default)
            found[name] = Property(name, cls, field, annotation)
            setattr(cls, name, found[name])
        for name, value in list(cls.__dict__.items()):
            if isinstance(value, Field):
                raise errors.SchemaInvalidError(
                    f"{cls.__name__}.{name} has no annotation; write {name}: <type> = motte.field(...)",
                    class_name=cls.__name__, property_name=name)
        cls._properties = found
        cls._declarations = cls._taken = cls._mapping = cls._converts = cls._own_starts = None
        cls._plan = _objects.Plan(tuple((name, *start(property_.field)) for name, property_ in found.items()))
        cls._stored_name = cls.__name__ if stored_name is None else stored_name
        if not cls._is_made:
            _models[cls.__name__] = cls

    @classmethod
    def _missing(cls, name: str) -> Any:
        """What the constructor takes for a property without a value and without a default."""
        declared = cls._declared()[name]
        if not declared.has_start:
            raise TypeError(f"{cls.__name__}() needs a value for '{name}'")
        return None if declared.is_plain else declared.empty()

    # -------------------------------------------------------------------------------------------- declarations

    @classmethod
    def _declared(cls) -> dict[str, Declared]:
        """Its properties, inherited ones first; annotations are evaluated when this is first asked for."""
        if cls._declarations is None:
            declarations = {}
            # Not dict(_models): a class that is collected between its key and its value would be a KeyError.
            known = dict(_models.items())
            for name, property_ in cls._properties.items():
                declared = fields.declared(property_.owner, name, property_.annotation, property_.field, known, Model)
                fields.check_link(cls, declared)
                declarations[name] = declared
            cls._declarations = declarations
        return cls._declarations

    @classmethod
    def _annotation(cls, name: str) -> Any:
        """That of a property, evaluated as far as it can be."""
        property_ = cls._properties[name]
        return fields.evaluated(property_.owner, name, property_.annotation, dict(_models.items()), Model)

    @classmethod
    def _taken_types(cls) -> dict[str, frozenset[type]]:
        """For the constructor, which asks when there is no `_taken` yet."""
        if cls._taken is None:
            cls._taken = {name: fields.taken_types(declared) for name, declared in cls._declared().items()}
        return cls._taken

    @classmethod
    def _starts(cls) -> dict[str, Callable[[], Any]]:
        """Of properties that the library cannot start; see _rules.py."""
        if cls._own_starts is None:
            cls._own_starts = _rules.starts(cls)
        return cls._own_starts

    @classmethod
    def _check_given(cls, name: str, value: Any) -> None:
        """A value of a type that needs a closer look."""
        fields.check(cls._declared()[name], value, cls.__name__)

    @classmethod
    def _stands_for(cls, other: type[Any]) -> bool:
        """Whether objects of another class are taken where those of this one are wanted."""
        return issubclass(other, cls) or _are_alike(cls, other)

    @classmethod
    def _path_target(cls, names: tuple[str, ...]) -> Optional[type[Model]]:
        """The class whose properties may follow a path, or None if that is not known."""
        current: Optional[type[Model]] = cls
        for name in names:
            if current is None or current._is_made or name.startswith("@"):
                return None
            declared = current._declared().get(name)
            if declared is None or declared.type not in (LINK, INVERSE):
                return None
            current = declared.target_class or _models.get(declared.target or "")
        return current

    @classmethod
    def _path_unit(cls, names: tuple[str, ...]) -> Unit:
        """What the values of a path count, if that are durations or points in time."""
        if "@count" in names or "@size" in names:
            return None
        # Totals count what their elements do.
        plain = tuple(name for name in names if not name.startswith("@"))
        owner = cls._path_target(plain[:-1]) if plain else None
        declared = None if owner is None else owner._declared().get(plain[-1])
        if declared is None:
            return None
        return POINT if declared.type == TIMESTAMP else None if declared.converter is None else declared.converter.unit

    @classmethod
    def _path_converter(cls, names: tuple[str, ...]) -> tuple[Optional[Converter[Any]], bool]:
        """That of the values of a path, and whether there are any: totals are what they are."""
        owner = cls._path_target(names[:-1]) if names else None
        declared = None if owner is None else owner._declared().get(names[-1])
        return (None, False) if declared is None else (declared.converter, True)

    @classmethod
    def _reachable(cls) -> set[type[Model]]:
        """The classes that paths lead to, this one among them."""
        seen: set[type[Model]] = set()
        waiting: list[Optional[type[Model]]] = [cls]
        while waiting:
            model = waiting.pop()
            if model is not None and model not in seen:
                seen.add(model)
                waiting += [model._path_target((name,)) for name in model._declared()]
        return seen

    @classmethod
    def _has_own_converters(cls) -> bool:
        """Whether some property has another converter than its type has."""
        if cls._converts is None:
            cls._converts = any(is_own(declared.converter) for model in cls._reachable()
                                for declared in model._declared().values())
        return cls._converts

    @classmethod
    def _own_converters_of(cls, value: Any) -> list[Converter[Any]]:
        return [declared.converter for model in cls._reachable() for declared in model._declared().values()
                if declared.converter is not None and is_own(declared.converter) and declared.converter.accepts(value)]

    @classmethod
    def _stored_step(cls, name: str) -> tuple[str, Optional[type[Model]]]:
        """What the file calls a property, and the class it leads to; as it is if there is none."""
        declared = cls._declared().get(name)
        return (name, None) if declared is None else (declared.stored_name, cls._path_target((name,)))

    @classmethod
    def _maps_names(cls) -> bool:
        if cls._mapping is None:
            cls._mapping = any(declared.stored_name != declared.name
                               for model in cls._reachable() for declared in model._declared().values())
        return cls._mapping

    @classmethod
    def _path_is_list_of_values(cls, names: tuple[str, ...]) -> bool:
        owner = cls._path_target(names[:-1])
        declared = owner._declared().get(names[-1]) if owner is not None else None
        return declared is not None and not declared.is_plain and declared.type not in (LINK, INVERSE)

    # -------------------------------------------------------------------------------------------- values

    def _unmanaged_value(self, property_: Property) -> Any:
        if property_.field.origin is not None:
            return []
        return self._values[property_.name]

    def _live_key(self) -> int:
        """The key, if the object was not lost with a cancelled write."""
        if self._write is not None and not self._write.is_open:
            if _is_lost(self):
                raise errors.ObjectDeletedError(
                    f"this {type(self).__name__} was added in a write that was cancelled",
                    class_name=type(self).__name__)
            _set_seen(self, still_open(self._write))
        return self._key

    def _stored_row(self, wanted: str) -> AnyRow:
        if self._row is None:
            raise errors.InvalidArgumentError(
                f"this {type(self).__name__} is in no database; {wanted} needs one, see db.add()",
                class_name=type(self).__name__)
        return self._row

    # -------------------------------------------------------------------------------------------- what an object can do

    @property
    def is_stored(self) -> bool:
        """Whether the object was added to a database."""
        return self._row is not None

    @property
    def is_valid(self) -> bool:
        """Whether the object can be used: not deleted, and its database is open. On another thread than the database's
        that is not known: WrongThreadError."""
        return _can_be_used(self)

    @property
    def database(self) -> Any:
        """The `motte.Database` it is stored in, None before."""
        return None if self._row is None else self._row.database

    @property
    def object_key(self) -> int:
        """The number of the row; counts up from 0 in each class and is never used again: not after the object is
        deleted, and not by this process after its write was cancelled or refused."""
        self._stored_row("object_key")
        return self._live_key()

    def observe(
        self, callback: Callable[[ObjectChange], None], *, paths: Optional[Sequence[Any]] = None
    ) -> Observation:
        """Calls back when a property changes and when the object is deleted, for as long as the result is kept. With
        key paths, `paths=["owner.name"]`, when something changes that they name."""
        row = self._stored_row("observing")
        return observe_object(row, self._live_key, callback, path_names(paths))

    def changes(
        self, timeout: Optional[float] = None, *, paths: Optional[Sequence[Any]] = None
    ) -> ChangeStream[ObjectChange]:
        """The changes of this object, one after the other; ends when `timeout` seconds pass without one."""
        row = self._stored_row("observing")
        return object_changes(row, self._live_key, timeout, path_names(paths))

    def freeze(self) -> Self:
        """The object as it is now, for ever and for every thread; within a write as it was before that."""
        row = self._stored_row("freeze")
        frozen: Self = row.database._shared_frozen()._object(row.class_id, self._live_key())
        if row.database.in_write and not _can_be_used(frozen):
            raise errors.InvalidArgumentError("cannot freeze an object within the write that made it")
        return frozen

    def thaw(self) -> Optional[Self]:
        """Of a frozen object, the same in the database that it was frozen in, as that shows it; None if it is gone
        there. What is not frozen is given back. For the thread of the database."""
        row = self._stored_row("thaw")
        live = row.database.thaw()
        if live is row.database:
            return self
        key = self._live_key()
        thawed: Self = live._object(row.class_id, key)
        return thawed if live._realm.row_exists(row.class_id, key) else None

    def to_dict(self) -> dict[str, Any]:
        """All stored properties by name; collections are copied, objects stay objects, embedded ones become dicts."""
        shown: Any = _objects.shown(self)
        if shown is not NotImplemented:
            values: dict[str, Any] = shown
            return values
        return {name: _copied(getattr(self, name)) for name, declared in self._declared().items() if declared.is_stored}

    # -------------------------------------------------------------------------------------------- protocols

    def __eq__(self, other: object) -> bool:
        return is_same_object(self, other) if isinstance(other, Model) else NotImplemented

    def __hash__(self) -> int:
        if self._row is None:
            raise TypeError(f"a {type(self).__name__} that is in no database has no hash, because adding it changes it")
        # The same for as long as it lives: a database has another number after it was compacted.
        return hash((self._key, self._row.class_id))

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            if not _can_be_used(self):
                return f"<{name} that is gone>"
        except errors.Error as error:
            return f"<{name} that cannot be used: {error}>"
        return _showing.object_text(self)

    def _repr_html_(self) -> str:
        """Its properties as a table, for notebooks."""
        return _showing.object_table(self) if _can_be_used(self) else f"<em>{type(self).__name__} that is gone</em>"

    def __reduce__(self) -> Any:
        if self._row is not None:
            raise TypeError(f"a stored {type(self).__name__} cannot be pickled or copied; to_dict() gives its values")
        # As state, which may lead back here.
        return _without_values, (type(self),), self._values

    def __setstate__(self, values: dict[str, Any]) -> None:
        Model.__init__(self, **values)


class EmbeddedModel(Model):
    """Base of the classes whose objects belong to one property of one parent.

    An object is made by assigning it: `person.home = Address(city="London")`, `person.places.append(Address(...))`,
    `person.by_name["work"] = Address(...)`. It is deleted with its parent, and when its place gets another value."""

    _is_base = True

    @property
    def parent(self) -> Optional[Model]:
        """The object it belongs to."""
        row = self._row
        if row is None:
            return None
        found = row.realm.row_parent(row.class_id, self._live_key())
        parent: Optional[Model] = None if found is None else row.database._object(*found)
        return parent


_models.pop("EmbeddedModel", None)


def is_unmanaged_embedded(value: Any) -> bool:
    """Whether it is a new embedded object, which is made by being assigned."""
    return isinstance(value, EmbeddedModel) and value._row is None


def is_stored_embedded(value: Any) -> bool:
    """Whether it is an embedded object in its place, which is assigned to no other one."""
    return isinstance(value, EmbeddedModel) and value._row is not None


# A class may have a property of the name of a method; what is needed in here goes past those.


def _can_be_used(instance: Model) -> bool:
    row = instance._row
    if row is None:
        return True
    try:
        return row.realm.row_exists(row.class_id, instance._live_key())
    except errors.ENDED:
        return False


def _is_lost(instance: Model) -> bool:
    row = instance._row
    return row is not None and is_lost(instance._write, row.class_id, instance._key)


def _copied(value: Any) -> Any:
    if isinstance(value, EmbeddedModel):
        return Model.to_dict(value)
    if isinstance(value, (Model, str, bytes, tuple)):
        return value
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, AbstractSet):
        return {_copied(each) for each in value} if not is_sequence(value) else [_copied(each) for each in value]
    return [_copied(each) for each in value] if is_sequence(value) else value


def _declare_the_same(one: type[Any], other: type[Any]) -> bool:
    return issubclass(one, Model) and issubclass(other, Model) and one._stored_name == other._stored_name and (
        _again.is_declared_alike(one, other))


_are_alike = _again.Alike(_declare_the_same)

# What an object keeps, past __setattr__.
_set_row: Callable[[Model, Optional[AnyRow]], None] = _objects.Object.__dict__["_row"].__set__
_set_key: Callable[[Model, int], None] = _objects.Object.__dict__["_key"].__set__
_set_seen: Callable[[Model, Optional[AnySeen]], None] = _objects.Object.__dict__["_write"].__set__
_set_values: Callable[[Model, dict[str, Any]], None] = _objects.Object.__dict__["_values"].__set__


def stored(cls: type[Model], row: AnyRow, key: int, seen: Optional[AnySeen]) -> Any:
    """An object for a row."""
    instance = cls.__new__(cls)
    _set_row(instance, row)
    _set_key(instance, key)
    _set_seen(instance, seen)
    return instance


def maker(row: AnyRow, seen: Optional[AnySeen]) -> Callable[[int], Any]:
    """stored() for many rows of a class."""
    cls: Any = row.model
    new, set_row, set_key, set_seen = cls.__new__, _set_row, _set_key, _set_seen

    def make(key: int) -> Any:
        instance = new(cls)
        set_row(instance, row)
        set_key(instance, key)
        set_seen(instance, seen)
        return instance
    return make


def store(instance: Model, row: AnyRow, key: int, seen: Optional[AnySeen]) -> None:
    """Makes an unmanaged object a managed one."""
    if not _objects.claim(instance, row, key, seen):
        raise _stored_meanwhile(instance)


def check_unstored(instance: Model) -> None:
    """As store() does, before anything is stored."""
    if instance._row is not None:
        raise _stored_meanwhile(instance)


def _stored_meanwhile(instance: Model) -> errors.Error:
    return errors.InvalidArgumentError(
        f"this {type(instance).__name__} was stored in a database meanwhile, by another thread or by a converter",
        class_name=type(instance).__name__)


def unstore(instance: Model, values: dict[str, Any]) -> None:
    """Makes it unmanaged again, if storing it was undone."""
    _set_row(instance, None)
    _set_seen(instance, None)
    _set_values(instance, values)


def _without_values(cls: type[Model]) -> Model:
    return cls.__new__(cls)


def _unknown(cls: type[Model], name: str) -> str:
    stored_names = [key for key, property_ in cls._properties.items() if property_.field.origin is None]
    import difflib

    near = difflib.get_close_matches(name, stored_names, 1)
    if name in cls._properties:
        return f"{cls.__name__}.{name} is computed and cannot be assigned"
    return f"{cls.__name__} has no property '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


_objects.configure(unknown=_unknown, copied=_copied)
