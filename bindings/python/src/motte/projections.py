"""Projections: objects seen through some of their properties, under names of their own.

    class PersonCard(motte.Projection[Person]):
        name: str
        city: Optional[str] = motte.projected("home.city")
        friends_names: list[str] = motte.projected("friends.name")

A projection is its object seen differently: it lives, changes, is observed, frozen and compared as that is. Queries
name the properties of the object.
"""
from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Optional, TypeVar, Union, overload

from . import _callbacks, _showing, errors, fields
from ._coll import Coll
from ._protocols import AnyDatabase
from ._sameness import is_same
from .maps import Map
from .model import Model, _copied
from .notifications import (
    Changes, ChangeStream, ObjectChange, Observation, PropertyChange, object_changes, observe_object,
)
from .predicates import Path
from .query import path_name, property_name
from .sequenced import position_of
from .results import Collection, Results, Section, plain

R = TypeVar("R", bound=Model)
T = TypeVar("T")
P = TypeVar("P", bound="Projection[Any]")


def projected(path: Any) -> Any:
    """A property of a projection that shows another one than that of its name: a path by text, `"home.city"`, by a
    class attribute, or by a function of the class. Through a collection of objects it is a collection of values."""
    return _Projected(path)


class _Projected:
    """What a projected property shows."""

    __slots__ = ("given", "label")

    def __init__(self, given: Any) -> None:
        self.given, self.label = given, ""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.label = name

    def __get__(self, instance: Optional[Projection[Any]], owner: type[Any]) -> Any:
        if instance is None:
            return owner._field(self.label).path
        return owner._field(self.label).value(instance.root)

    def __set__(self, instance: Projection[Any], value: Any) -> None:
        type(instance)._field(self.label).set(instance.root, value)


class _Field(NamedTuple):
    """A projected property, when its path is known to exist."""

    label: str
    path: Path
    names: tuple[str, ...]
    #: How many names lead to the first collection of objects, if there is one before the end.
    through: Optional[int]
    type_name: str

    @property
    def text(self) -> str:
        return ".".join(self.names)

    def value(self, root: Any) -> Any:
        if self.through is None:
            return _followed(root, self.names)
        source = _followed(root, self.names[:self.through])
        rest = self.names[self.through:]
        if isinstance(source, Map):
            source = source.results()
        if isinstance(source, Collection):
            return ProjectedCollection(source, rest)
        # Of an object that is in no database.
        return [] if source is None else [
            _followed(each, rest) for each in (source.values() if isinstance(source, Mapping) else source)]

    def set(self, root: Any, value: Any) -> None:
        if self.through is not None:
            raise AttributeError(f"{self.label} collects {self.text} and cannot be assigned")
        owner = _followed(root, self.names[:-1])
        if owner is None:
            raise errors.InvalidArgumentError(
                f"{self.label} cannot be assigned: {'.'.join(self.names[:-1])} is None", property_name=self.label)
        setattr(owner, self.names[-1], value)


def _followed(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        if value is None:
            return None
        value = getattr(value, name)
    return value


class Projection(Generic[R]):
    """Base of classes that show some properties of an object under names of their own.

    `class Card(Projection[Person])`: annotations are the names; `motte.projected()` shows what lies elsewhere.
    `Card(person)` is one object seen so, `db.objects(Card)` and `results.project(Card)` are all; queries and sorting
    name properties of the object itself. It belongs to the thread of its object."""

    __slots__ = ("root", "__weakref__")

    _model: ClassVar[type[Model]] = Model
    _labels: ClassVar[dict[str, _Projected]] = {}
    _found: ClassVar[Optional[dict[str, _Field]]] = None

    def __init__(self, root: R) -> None:
        if not self._model._stands_for(type(root)) or self._model is Model:
            raise errors.WrongTypeError(f"a {type(self).__name__} shows a {self._model.__name__}, not {root!r:.60}")
        #: The object that is shown.
        self.root = root

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__dict__.get("__orig_bases__", ()):
            arguments = typing.get_args(base)
            if isinstance(typing.get_origin(base), type) and arguments and isinstance(arguments[0], type):
                cls._model = arguments[0]
        labels = dict(cls._labels)
        own = {name: annotation for name, annotation in fields.own_annotations(cls).items()
               if not name.startswith("_") and "ClassVar" not in str(annotation)}
        for name in [*own, *(name for name, value in cls.__dict__.items() if isinstance(value, _Projected))]:
            if hasattr(Projection, name) or name in ("root", "_model"):
                raise errors.SchemaInvalidError(
                    f"{cls.__name__}.{name}: every projection has {name} already; give what it shows another name, "
                    f"{name}_ = motte.projected('{name}')", class_name=cls.__name__, property_name=name)
            given = cls.__dict__.get(name)
            if not isinstance(given, _Projected):
                if name in cls.__dict__:
                    raise errors.SchemaInvalidError(
                        f"{cls.__name__}.{name}: what a projection shows has no default; write motte.projected(path)",
                        class_name=cls.__name__, property_name=name)
                given = _Projected(name)
                given.label = name
                setattr(cls, name, given)
            labels[name] = given
        cls._labels, cls._found = labels, None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._labels and name != "root" and not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} shows no '{name}'; it shows {', '.join(self._labels)}")
        object.__setattr__(self, name, value)

    # -------------------------------------------------------------------------------------------- what it shows

    @classmethod
    def _fields(cls) -> dict[str, _Field]:
        """Its properties by label; paths are looked at when they are first needed."""
        if cls.__dict__.get("_found") is None:
            if cls._model is Model:
                raise errors.SchemaInvalidError(
                    f"{cls.__name__} says not of what class: write class {cls.__name__}(motte.Projection[Person])",
                    class_name=cls.__name__)
            cls._found = {label: cls._resolved(label, projected) for label, projected in cls._labels.items()}
        return cls._found or {}

    @classmethod
    def _field(cls, label: str) -> _Field:
        return cls._fields()[label]

    @classmethod
    def _resolved(cls, label: str, given: _Projected) -> _Field:
        wanted = given.given
        if callable(wanted) and not isinstance(wanted, Path):
            wanted = wanted(cls._model)
        names = tuple(property_name(wanted).split("."))
        model: Optional[type[Model]] = cls._model
        through: Optional[int] = None
        declared: Any = None
        for number, name in enumerate(names):
            declared = None if model is None else model._declared().get(name)
            if declared is None:
                known = "no class" if model is None else f"{model.__name__}, which has {', '.join(model._declared())}"
                raise errors.SchemaInvalidError(
                    f"{cls.__name__}.{label}: {'.'.join(names)} is no path of {cls._model.__name__}: {name} is looked "
                    f"for in {known}", class_name=cls.__name__, property_name=label)
            model = model._path_target((name,)) if model is not None else None
            if not declared.is_plain and number + 1 < len(names):
                if through is not None:
                    raise errors.SchemaInvalidError(
                        f"{cls.__name__}.{label}: {'.'.join(names)} goes through two collections, a projection through "
                        "one", class_name=cls.__name__, property_name=label)
                through = number + 1
        kind = _showing.type_name(declared)
        path = Path(cls._model, names)
        return _Field(label, path, names, through, kind if through is None else f"list[{kind}]")

    @classmethod
    def _results_of(cls, collection: Collection[Any]) -> Results[Any]:
        """The objects of a collection, seen through this."""
        model = collection._row().model
        if not cls._model._stands_for(model):
            raise errors.WrongTypeError(f"{cls.__name__} shows {cls._model.__name__}, and these are {model.__name__}")
        cls._fields()
        return _ProjectedResults(collection._database, collection._coll.to_results(), cls)

    @classmethod
    def _columns(cls) -> list[tuple[str, str]]:
        return [(field.label, field.type_name) for field in cls._fields().values()]

    @classmethod
    def _paths(cls, given: Optional[Sequence[Any]]) -> list[str]:
        """Labels, and paths of the object on which something is shown, as paths of the object."""
        found = cls._fields()
        if given is None:
            return list(dict.fromkeys(field.text for field in found.values()))
        if isinstance(given, (str, Path)):
            raise errors.InvalidArgumentError("paths is a list of key paths; write paths=[...] around the one")
        names = [property_name(each) for each in given]
        return [found[name].text if name in found else cls._shown(name) for name in names]

    @classmethod
    def _shown(cls, path: str) -> str:
        """A path of the object, on the way to something that is shown, or further on."""
        if not any(f"{field.text}.".startswith(f"{path}.") or path.startswith(f"{field.text}.")
                   for field in cls._fields().values()):
            raise errors.InvalidArgumentError(
                f"{cls.__name__} does not show '{path}', so that nothing is reported of it; it shows "
                f"{', '.join(cls._fields())}", property_name=path)
        return path

    # -------------------------------------------------------------------------------------------- as its object

    @property
    def is_valid(self) -> bool:
        """Whether its object can be used."""
        return Model.is_valid.__get__(self.root)  # type: ignore[no-any-return]

    @property
    def database(self) -> Any:
        """The `motte.Database` of its object, None for one that is in none."""
        return None if self.root._row is None else self.root._row.database

    def freeze(self: P) -> P:
        """As it is now, for ever and for every thread."""
        return type(self)(Model.freeze(self.root))

    def thaw(self: P) -> Optional[P]:
        """Of a frozen one, as the database shows it; None if the object is gone there."""
        root = Model.thaw(self.root)
        return None if root is None else type(self)(root)

    def to_dict(self) -> dict[str, Any]:
        """What it shows, by name; collections are copied."""
        found = {label: field.value(self.root) for label, field in self._fields().items()}
        return {label: value[:] if isinstance(value, ProjectedCollection) else _copied(value)
                for label, value in found.items()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Projection) and bool(self.root == other.root)

    def __hash__(self) -> int:
        return hash((type(self), self.root))

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            if not self.is_valid:
                return f"<{name} that is gone>"
            shown = [f"{label}={_showing.value_text(field.value(self.root))}"
                     for label, field in self._fields().items()]
        except errors.Error as error:
            return f"<{name} that cannot be used: {error}>"
        return f"{name}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """What it shows as a table, for notebooks."""
        rows = [(label, field.type_name, _showing.value_text(field.value(self.root)))
                for label, field in self._fields().items()]
        return _showing.table([("property", ""), ("type", ""), ("value", "")], rows, type(self).__name__)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied; to_dict() gives what it shows")

    # -------------------------------------------------------------------------------------------- observing

    def observe(self, callback: Callable[[ObjectChange], None], *,
                paths: Optional[Sequence[Any]] = None) -> Observation:
        """Calls back when something changes that it shows, with the names that it has here; and when the object is
        deleted. Values behind links are those before and after; of collections there are none."""
        row = Model._stored_row(self.root, "observing")
        _callbacks.checked(callback, "an observer")
        read = self._reader()

        def received(change: ObjectChange) -> None:
            if read(change):
                callback(change)
        return observe_object(row, lambda: Model._live_key(self.root), received, self._stored_paths(paths))

    def _stored_paths(self, paths: Optional[Sequence[Any]]) -> list[str]:
        return [path_name(path) for path in self._paths(paths)]

    def changes(self, timeout: Optional[float] = None, *,
                paths: Optional[Sequence[Any]] = None) -> ChangeStream[ObjectChange]:
        """The changes one after the other; see observe(). Ends when `timeout` seconds pass without one."""
        row = Model._stored_row(self.root, "observing")
        stream = object_changes(row, lambda: Model._live_key(self.root), timeout, self._stored_paths(paths))
        return stream.relabelled(self._reader)

    def _reader(self) -> Callable[[ObjectChange], bool]:
        """Gives a change the names of the projection; whether it is one of them."""
        root, found = self.root, self._fields()
        deep = [field for field in found.values() if len(field.names) > 1 and field.through is None]
        # Collections as they were: those that were read change, and end with what they belong to.
        before = {field.label: plain(field.value(root)) for field in deep}

        def relabel(change: ObjectChange) -> bool:
            if change.is_deleted or change.error is not None:
                return True
            changed = {each.name: each for each in change.properties}
            now = {field.label: plain(field.value(root)) for field in deep if field.names[0] in changed}
            made = []
            for label, field in found.items():
                first = changed.get(field.names[0])
                if first is None:
                    continue
                if field in deep:
                    old, new = before[label], now[label]
                    before[label] = new
                    if not is_same(old, new):
                        made.append(PropertyChange(label, _unless_several(old), _unless_several(new)))
                else:
                    is_own = len(field.names) == 1
                    made.append(PropertyChange(label, first.old if is_own else None, first.new if is_own else None))
            change.properties = made
            return bool(made)
        return relabel


def _unless_several(value: Any) -> Any:
    return None if isinstance(value, (list, dict)) else value


# ------------------------------------------------------------------------------------------------ collections


class ProjectedCollection(Sequence[T], Generic[T]):
    """One property of all objects of a collection, live: `card.friends_names`. It belongs to the thread of its
    database."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, source: Collection[Any], names: tuple[str, ...]) -> None:
        self._source, self._names = source, names

    def __len__(self) -> int:
        return len(self._source)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[T, list[T]]:
        if isinstance(index, slice):
            return [_followed(each, self._names) for each in self._source[index]]
        value: T = _followed(self._source[index], self._names)
        return value

    def __iter__(self) -> Iterator[T]:
        return (_followed(each, self._names) for each in self._source)

    def index(self, value: Any, start: int = 0, stop: Optional[int] = None) -> int:
        """The first position of a value; ValueError if it is not in it."""
        return position_of(self, value, start, stop)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple, ProjectedCollection, Collection)):
            return list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        try:
            return _showing.collection_text("ProjectedCollection", ".".join(self._names), self, "[]")
        except errors.Error as error:
            return f"<ProjectedCollection that cannot be used: {error}>"

    def __reduce__(self) -> Any:
        raise TypeError("a ProjectedCollection cannot be pickled or copied; list(...) gives its values")

    @property
    def source(self) -> Collection[Any]:
        """The collection whose objects have the property."""
        return self._source

    def observe(self, callback: Callable[[Changes], None]) -> Observation:
        """Calls back with each change of the objects there are and of this property, first with the initial state."""
        return self._source.observe(callback, paths=[".".join(self._names)])

    def freeze(self) -> ProjectedCollection[T]:
        """As it is now, for ever and for every thread."""
        return ProjectedCollection(self._source.freeze(), self._names)


class _ProjectedResults(Results[P]):
    """Results whose objects are seen through a projection."""

    _called = "Results"

    def __init__(self, database: AnyDatabase, coll: Coll, projection: type[P]) -> None:
        super().__init__(database, coll)
        self._projection = projection

    def __iter__(self) -> Iterator[P]:
        return (self._projection(each) for each in super().__iter__())

    def _read(self, first: int, count: int) -> list[P]:
        return [self._projection(each) for each in super()._read(first, count)]

    def __getitem__(self, index: Any) -> Any:
        found: Any = super().__getitem__(index)
        return found if found is None or isinstance(index, slice) else self._projection(found)

    def _find(self, value: Any) -> Optional[int]:
        return super()._find(value.root) if isinstance(value, self._projection) else None

    def _results(self, coll: Coll) -> Results[P]:
        return _ProjectedResults(self._database, coll, self._projection)

    def _section(self, coll: Coll) -> Section[P]:
        return _ProjectedSection(self._database, coll, self._projection)

    def freeze(self) -> Results[P]:
        return _ProjectedResults(self._database._shared_frozen(), self._coll.freeze(), self._projection)

    def _paths(self, paths: Optional[Sequence[Any]]) -> Optional[list[str]]:
        return super()._paths(self._projection._paths(paths))

    def _element_name(self) -> str:
        return self._projection.__name__

    def _columns(self) -> Optional[list[tuple[str, str]]]:
        return self._projection._columns()


class _ProjectedSection(_ProjectedResults[P], Section[P]):
    """A section of such results."""

    _called = "Section"
