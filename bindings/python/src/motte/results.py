"""Collections of a database, results and their sections among them; lists and backlinks build on it.

They are live: each look shows what the database shows then. Nothing is computed before the first look.
"""
from __future__ import annotations

import operator
import sys
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NoReturn, Optional, TypeVar, Union, overload

from . import _callbacks, _reading, _showing, errors, query
from ._coll import Coll
from ._convert import IN_PLACE, LINK, MIXED, PLACE_DECODERS, Values, one
from ._held import Held
from ._protocols import AnyDatabase
from ._sections import NativeSections
from ._tokens import NativeChanges
from .converters import Converter
from .elements import Elements
from .frames import Frames
from .groups import GroupBy, Groups
from .explain import QueryPlan
from .notifications import (
    Changes, ChangeStream, Observation, SectionChanges, collection_changes, observe_collection,
)
from .query import Condition
from .sequenced import position_of
from .totals import Totals

T = TypeVar("T")
C = TypeVar("C")
S = TypeVar("S", bound="Collection[Any]")
#: A projection, which knows how to make results of itself.
P = TypeVar("P", bound=Any)

#: A key path, as text or as a class attribute, or a function of an element that gives its key. Type checkers see the
#: attribute as the value that it has on an object, so anything.
SectionKey = Union[str, Callable[[Any], Any], Any]


class Collection(Elements[T], Totals, Frames, Generic[T]):
    """What results, lists, sets and backlinks have in common.

    It belongs to the thread of its database, which freeze() and `motte.Reference` lead out of. Using it raises
    `ClosedError` once the database is closed, and `ObjectDeletedError` where the object that it belongs to is gone."""

    # -------------------------------------------------------------------------------------------- deriving results

    def where(self, condition: Condition = "", /, *arguments: Any, **named: Any) -> Results[T]:
        """The elements that match, live.

        Names of properties with their values, `where(name="Ada", age=36)`; text with arguments, `where("age >= $0 AND
        name BEGINSWITH $start", 18, start="A")`; predicates, `where(Person.age >= 18, Person.name.startswith("A"))`; or
        a function of the class, `where(lambda p: p.age >= 18)`."""
        compiled = query.condition(self._model(), condition, arguments, named)
        return self._results(self._coll.filter(compiled.text, self._database._arguments(compiled.arguments)))

    def any(self, condition: Condition = "", /, *arguments: Any, **named: Any) -> bool:
        """Whether an element matches; without a condition, whether there is one. Of a class's attribute it is a
        predicate: `where(Person.dogs.any(Dog.name == "Rex"))`."""
        return len(self.where(condition, *arguments, **named).limit(1)) > 0

    def all(self, condition: Condition, /, *arguments: Any, **named: Any) -> bool:
        """Whether all elements match. Of a class's attribute it is a predicate."""
        return len(self.where(condition, *arguments, **named)) == len(self)

    def none(self, condition: Condition = "", /, *arguments: Any, **named: Any) -> bool:
        """Whether no element matches. Of a class's attribute it is a predicate."""
        return not self.any(condition, *arguments, **named)

    def sorted(self, *keys: Any, descending: bool = False) -> Results[T]:
        """In the order of properties: `sorted("name", "-age")`, `sorted(Person.name, -Person.age)`. Paths through links
        are fine. Without keys, values by themselves."""
        sort_keys = query.sort_keys(keys or ("self",))
        if descending:
            sort_keys = [(path, not reverse) for path, reverse in sort_keys]
        return self._results(self._coll.sort(sort_keys))

    def distinct(self, *keys: Any) -> Results[T]:
        """The first of those that agree in properties, live: `distinct("name")`, `distinct(Person.name, Person.age)`.
        Paths through links are fine; nulls agree. Without keys, equal values and the same object are one."""
        sort_keys = query.sort_keys(keys)
        if any(reverse for _, reverse in sort_keys):
            raise TypeError("sort before distinct")
        return self._results(self._coll.distinct([path for path, _ in sort_keys]))

    def limit(self, count: int) -> Results[T]:
        """The first `count` elements, live. (A slice is a list, as it is now.)"""
        if count < 0:
            raise errors.InvalidArgumentError("a limit is not negative")
        return self._results(self._coll.limit(min(count, sys.maxsize)))

    def offset(self, count: int) -> Results[T]:
        """What comes behind the first `count` elements, live: `people.sorted("name").offset(20).limit(10)`."""
        if count < 0:
            raise errors.InvalidArgumentError("an offset is not negative")
        return self._results(self._coll.filter("OFFSET($0)", self._database._arguments([min(count, sys.maxsize)])))

    def results(self) -> Results[T]:
        """The same elements as results."""
        return self._results(self._coll.to_results())

    def snapshot(self) -> Results[T]:
        """The elements there are now; who belongs to it no longer changes, their values do."""
        return self._results(self._database._snapshot(self._coll))

    def project(self, projection: type[P]) -> Results[P]:
        """Its objects, seen through a `motte.Projection`, live."""
        found: Results[P] = projection._results_of(self)
        return found

    def thaw(self: S) -> Optional[S]:
        """Of a frozen one, the same as the database shows it; None if it belongs to an object that is gone there. What
        is not frozen is given back. For the thread of the database."""
        live = self._database.thaw()
        if live is self._database:
            return self
        if self._coll.calls_function(of_frozen=True):
            raise errors.InvalidArgumentError(
                "a section by a function that was made of something frozen has its keys from there; thaw the sections, "
                "or the collection that they are made of")
        handle = live._realm.thaw(self._coll.handle)
        return None if handle is None else remake(self)(
            live, _coll=self._coll.like(handle, live._realm.guard))

    def freeze(self) -> Results[T]:
        """As it is now, for ever and for every thread; within a write as it was before that."""
        return Results(self._database._shared_frozen(), self._coll.freeze(), self._type, self._converter)

    def _results(self, coll: Coll) -> Results[T]:
        return Results(self._database, coll, self._type, self._converter)

    def _section(self, coll: Coll) -> Section[T]:
        return Section(self._database, coll, self._type, self._converter)

    # -------------------------------------------------------------------------------------------- columns

    def object_keys(self) -> array[int]:
        """The object keys of the elements, in their order."""
        return self._coll.keys(0, len(self))

    def column(self, property: Any = None) -> list[Any]:
        """One property of all elements, as a list of the values that the attribute has."""
        id_, type_, nullable, target = self._property_id(property)
        values = _reading.column(self._coll, id_, type_, target, self._database._object)
        converter = self._converter_of(property)
        return values if converter is None else [converter.loaded(value, nullable) for value in values]

    def sectioned(self, by: SectionKey, *, first_letter: bool = False) -> Sections[T]:
        """The elements in sections, by a key path, `"owner.city"`, `Dog.age`, by the first letter of its texts, or by a
        function of an element, which can only read: it cannot change or refresh anything. Sections are in the order of
        their first element, so sort by the key first."""
        return Sections(self, by, first_letter)

    def query(self, text: str, /, *arguments: Any, **named: Any) -> Groups:
        """Groups by query text: `query("age > $0 GROUP(city) COUNT, AVG(age) SORT(COUNT DESC)", 18)`. See
        docs/groups.md; `where()` takes text that asks for objects."""
        compiled = query.condition(self._model(), text, arguments, named)
        return Groups(self, compiled.text, self._database._arguments(compiled.arguments))

    def group_by(self, *keys: Any, **named: Any) -> GroupBy:
        """The objects put together by keys: `group_by("city").count()`, `group_by("origin.name",
        month=motte.by("time", "month")).agg(delay=motte.avg("arr_delay"))`. Without keys all are one group."""
        return GroupBy(self, keys, named)

    def explain(self, *, analyze: bool = False) -> QueryPlan:
        """How the elements would be found now: a tree of steps with the rows that are expected behind each. With
        `analyze` the query is run, to see how many there are and how long each step takes. See docs/explain.md."""
        return QueryPlan(self._coll.explain, analyze)

    # -------------------------------------------------------------------------------------------- observing

    def observe(
        self, callback: Callable[[Changes], None], *, paths: Optional[Sequence[Any]] = None
    ) -> Observation:
        """Calls back with each change, first with the initial state, for as long as the result is kept.

        Delivered by db.refresh(), db.dispatch(), and the writes of this database, on its thread. Key paths limit what
        is reported besides insertions and deletions, `paths=["name", "toys.brand.name"]`; [] is nothing else."""
        return self._observe(self._coll, callback, paths)

    def changes(
        self, timeout: Optional[float] = None, *, paths: Optional[Sequence[Any]] = None
    ) -> ChangeStream[Changes]:
        """The changes one after the other, the initial state first: `for change in results.changes(timeout=5)`, or
        `async for change in results.changes()`. Ends when `timeout` seconds pass without one."""
        return self._changes(self._coll, timeout, paths)

    def _observe(self, coll: Coll, callback: Callable[[Changes], None], paths: Optional[Sequence[Any]]) -> Observation:
        return observe_collection(coll, callback, self._paths(paths))

    def _changes(self, coll: Coll, timeout: Optional[float], paths: Optional[Sequence[Any]]) -> ChangeStream[Changes]:
        return collection_changes(self._database, coll, timeout, self._paths(paths))

    def _paths(self, paths: Optional[Sequence[Any]]) -> Optional[list[str]]:
        return query.path_names(paths)


class InPlace(Collection[T]):
    """What lists and sets have in common: a place in an object, and elements that may be lists and dicts in place."""

    def _class_id(self) -> int:
        return self._coll.info().target

    def _decoders(self) -> Optional[dict[int, Any]]:
        return PLACE_DECODERS if self._type == MIXED else None

    def _element(self, position: int, value: Any) -> T:
        if value is IN_PLACE:
            element: T = self._database._nested(self._coll.get_coll(position))
            return element
        return super()._element(position, value)

    def _encode(self, values: Iterable[Any]) -> Values:
        self._database._check_task()
        converter = self._converter
        values = list(values) if converter is None else [converter.stored(value) for value in values]
        if self._type == LINK:
            self._database._add_unmanaged(values)
        return self._database._encoded(values, self._type)


def released(element: Any) -> Any:
    """An element that leaves its place: of a list or dict within, what it held."""
    is_live = isinstance(element, Collection) or isinstance(element, Mapping) and hasattr(element, "_coll")
    return plain(element) if is_live else element


def plain(value: Any) -> Any:
    """A value without anything live but objects: lists, sets and dicts are copied, at every depth."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) or isinstance(value, Collection):
        return [plain(each) for each in value]
    return value


class Results(Collection[T]):
    """Objects selected and ordered by a query, or all of a class."""

    def __init__(self, database: AnyDatabase, coll: Coll, element_type: int = LINK,
                 converter: Optional[Converter[Any]] = None) -> None:
        super().__init__(database, coll, element_type, converter)
        self._known_class: Optional[int] = None

    def _class_id(self) -> int:
        if self._known_class is None:
            self._known_class = self._coll.info().target
        return self._known_class

    def update(self, /, **values: Union[Callable[[T], Any], object]) -> int:
        """Assigns properties of all of its objects, all or none, in the open write: `results.update(age=5)`. A function
        gets each object and gives its value: `update(age=lambda person: person.age + 1)`. Tells how many there were,
        which are those there are when it begins."""
        return self._database._update_all(self, values)


def remake(thing: C) -> Callable[..., C]:
    """Makes what is like a collection or a query, of a database that is given then: `remake(tags)(db, _coll=...)`. It
    holds neither the database nor what is native."""
    kind, kept = type(thing), {name: value for name, value in vars(thing).items()
                               if name not in ("_database", "_coll", "_native", "_arrow_stream")}

    def make(database: AnyDatabase, **native: Any) -> C:
        made = kind.__new__(kind)
        vars(made).update(kept, _database=database, **native)
        return made
    return make


# ------------------------------------------------------------------------------------------------ sections


class Section(Results[T]):
    """The elements with one key, live: empty while there are none, and there again when there are."""

    #: What its elements have in common.
    key: Any


class Sections(Sequence[Section[T]], Generic[T]):
    """The sections of a collection, live. Made by `sectioned()`."""

    def __init__(self, collection: Collection[T], by: SectionKey, first_letter: bool,
                 native: Optional[NativeSections] = None) -> None:
        self._collection, self._by, self._first_letter = collection, by, first_letter
        if native is not None:
            self._native = native
        elif callable(by):
            _callbacks.checked(by, "a section key")
            if first_letter:
                raise errors.InvalidArgumentError("a function gives the whole key; first_letter is for key paths")
            self._native = NativeSections.by_function(collection._coll, _key_function(collection, by))
        else:
            path = query.path_name(by)
            self._native = NativeSections.by_path(collection._coll, path, first_letter)

    def __len__(self) -> int:
        return self._native.count()

    @overload
    def __getitem__(self, index: int) -> Section[T]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Section[T]]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Section[T], list[Section[T]]]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = operator.index(index)
        if position < 0:
            position += len(self)
        if not 0 <= position <= sys.maxsize:
            raise errors.OutOfBoundsError(f"section {index} is out of range")
        base = self._collection
        section = base._section(self._native.get(position))
        section.key = key = self._key(position)
        section._coll.held = Held.of(section._coll.held, base._database._held(key))
        return section

    def __iter__(self) -> Iterator[Section[T]]:
        return iter([self[position] for position in range(len(self))])

    def index(self, value: Any, start: int = 0, stop: Optional[int] = None) -> int:
        """The first position of a section; ValueError if it is not one of them."""
        return position_of(self, value, start, stop)

    def _key(self, position: int) -> Any:
        return self._native.key(position, self._collection._database._object)

    @property
    def keys(self) -> list[Any]:
        """In the order of the sections."""
        return [self._key(position) for position in range(len(self))]

    def find(self, key: Any) -> Optional[Section[T]]:
        """The section with that key, None if there is none."""
        try:
            wanted = one(key)
        except errors.NOWHERE:
            return None
        position = self._native.find(wanted)
        return None if position is None else self[position]

    def place(self, position: int) -> tuple[int, int]:
        """Where the element of the collection at a position is: its section, and its index in that."""
        if abs(position) > sys.maxsize:
            raise errors.OutOfBoundsError(f"index {position} is out of range for {len(self._collection)} elements")
        return self._native.locate(position)

    def __repr__(self) -> str:
        try:
            keys = [_showing.value_text(key, 30) for key in self.keys[:2 * _showing.FEW]]
            more = ", ..." if len(self) > len(keys) else ""
            return f"<Sections: {len(self):,} [{', '.join(keys)}{more}]>"
        except errors.Error as error:
            return f"<Sections that cannot be used: {error}>"

    def _repr_html_(self) -> str:
        """The keys and how many elements each has, as a table, for notebooks."""
        rows = [(_showing.value_text(section.key), f"{len(section):,}") for section in self[:_showing.ROWS]]
        caption = _showing.range_caption(0, len(rows), len(self), "sections")
        return _showing.table([("key", ""), ("elements", "")], rows, caption)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Sections cannot be pickled or copied; {section.key: list(section) for section in ...} can")

    def thaw(self) -> Optional[Sections[T]]:
        """Of frozen ones, the same as the database shows them; see Collection.thaw()."""
        collection = self._collection.thaw()
        return None if collection is None else Sections(collection, self._by, self._first_letter)

    def freeze(self) -> Sections[T]:
        """As they are now, for ever and for every thread; within a write as they were before that."""
        collection = self._collection.freeze()
        # The library does it: with the keys that a function has given, which may give others by now.
        return Sections(collection, self._by, self._first_letter, self._native.freeze(collection._coll))

    # -------------------------------------------------------------------------------------------- observing

    def observe(
        self, callback: Callable[[SectionChanges], None], *, key: Any = ..., paths: Optional[Sequence[Any]] = None
    ) -> Observation:
        """Calls back with each change, first with the initial state, for as long as the result is kept. With `key`,
        of the section with that key alone, whether or not there is one now."""
        _callbacks.checked(callback, "an observer")
        checked = self._collection._paths(paths)
        return Observation(self._token(lambda native: callback(SectionChanges(native)), key, checked))

    def changes(
        self, timeout: Optional[float] = None, *, key: Any = ..., paths: Optional[Sequence[Any]] = None
    ) -> ChangeStream[SectionChanges]:
        """The changes one after the other, the initial state first; see Collection.changes()."""
        checked = self._collection._paths(paths)
        return ChangeStream(
            self._collection._database, lambda: self._token(None, key, checked), SectionChanges, timeout)

    def _token(self, callback: Optional[Callable[[NativeChanges], None]], key: Any, paths: Optional[list[str]]) -> Any:
        if key is ...:
            return self._native.observe(callback, paths)
        return self._native.observe_one(key, callback, paths)


def _key_function(collection: Collection[T], by: Callable[[T], Any]) -> Callable[[Coll, bool, int], Any]:
    """Gives the key of the element at a position of a collection that the library lends: the one that the sections were
    made of, or the same frozen, as it was before a write for one. It keeps no database: whoever asks for keys has
    one."""
    home, there = weakref.ref(collection._database), remake(collection)
    is_live = collection._database.thaw() is collection._database

    def key(lent: Coll, is_frozen: bool, index: int) -> Any:
        database = home()
        if database is None:
            raise errors.ClosedError("the database of these sections is gone")
        if is_frozen and is_live:
            database = database._shared_frozen()
        return by(there(database, _coll=lent)[index])
    return key
