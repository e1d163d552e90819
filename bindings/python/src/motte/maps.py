"""A map property, or a map inside a mixed value, as a mutable mapping."""
from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Callable, NoReturn, Optional, TypeVar

from . import _showing, errors, query
from ._atomic import atomic, atomic_objects, atomically
from ._coll import Coll
from ._convert import DECODERS, IN_PLACE, LINK, MIXED, PLACE_DECODERS, Link, Values
from ._protocols import AnyDatabase
from ._sameness import is_same_object
from .converters import Converter
from .model import is_stored_embedded, is_unmanaged_embedded
from .notifications import Changes, ChangeStream, Observation
from .results import Results, plain, released

V = TypeVar("V")


class Map(MutableMapping[str, V]):
    """The values or objects under the keys of one dict property, live, in the order of the keys. Changes need a write.

    Keys have no "." and do not begin with "$". When an object in a map is deleted, its key stays with None. Lists and
    dicts inside a map of mixed values are live too. Each call changes the map as a whole or raises and changes nothing.
    It belongs to the thread of its database."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, database: AnyDatabase, coll: Coll, element_type: int = MIXED,
                 converter: Optional[Converter[Any]] = None) -> None:
        self._database, self._coll, self._type, self._converter = database, coll, element_type, converter

    # -------------------------------------------------------------------------------------------- mapping

    def __len__(self) -> int:
        return self._coll.count()

    def __iter__(self) -> Iterator[str]:
        return iter(self._coll.map_keys())

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and self._coll.map_has(key)
        except errors.InvalidUTF8Error:
            return False

    def __getitem__(self, key: str) -> V:
        is_there, value = self._look_up(key)
        if not is_there:
            raise KeyError(key)
        element: V = value
        return element

    def _look_up(self, key: str) -> tuple[bool, Any]:
        """Whether the key is there, and its value. A KeyError is one that a converter has raised."""
        decoders = PLACE_DECODERS if self._type == MIXED else DECODERS
        try:
            found, value = self._coll.map_get(key, self._database._object, decoders)
        except errors.InvalidUTF8Error:
            return False, None
        if not found:
            return False, None
        if value is IN_PLACE:
            value = self._database._nested(self._coll.map_get_coll(key))
        return True, value if self._converter is None else self._converter.loaded(value)

    @atomic_objects
    def __setitem__(self, key: str, value: V) -> None:
        if self._type == LINK and is_unmanaged_embedded(value):
            self._database._embed(value, lambda: self._coll.embedded_put(key))
        elif is_stored_embedded(value) and is_same_object(self.get(key), value):
            self._unchanged()
        else:
            self._coll.map_put(key, self._encode([value]))

    def __delitem__(self, key: str) -> None:
        self._database._check_task()
        if not self._coll.map_remove(key):
            raise KeyError(key)

    def clear(self) -> None:
        """Removes all keys; objects stay in the database, unless they are embedded."""
        self._database._check_task()
        self._coll.clear()

    @atomic_objects
    def update(self, *others: Any, **more: Any) -> None:
        """Sets the values of several keys, all or none."""
        entries = dict(*others, **more)
        if any(is_unmanaged_embedded(value) for value in entries.values()):
            for key, value in entries.items():
                self[key] = value
        elif entries:
            self._coll.map_put_many(list(entries), self._encode(entries.values()))

    @atomic
    def assign(self, values: Mapping[str, Any], *, only_differences: bool = False) -> None:
        """Replaces the whole content; keys that are in both keep their place and get the new value."""
        if not isinstance(values, Mapping):
            raise errors.WrongTypeError(f"a map is assigned from a mapping, not from {values!r:.60}")
        if isinstance(values, Map) and self._coll.same(values._coll):
            self._unchanged()
            return
        new = dict(values.items())
        self._database._check_task()
        if any(map(is_unmanaged_embedded, new.values())) or any(map(is_stored_embedded, new.values())):
            self._remove_others(new)
            for key, value in new.items():
                is_there, known = self._coll.map_get(key, Link, DECODERS) if only_differences else (False, None)
                if known is not None and is_unmanaged_embedded(value):
                    self._database._update_embedded(value, known)
                elif not is_there or value is not known:
                    self[key] = value
            return
        # Mixed values may be lists and dicts that are here now: all are read before, and converters run.
        encoded, keys = self._encode(new.values()), list(new)
        self._remove_others(new)
        if only_differences:
            differing = [position for position, (key, after) in enumerate(zip(keys, encoded.contents()))
                         if self._coll.map_content(key) != after]
            encoded, keys = encoded.part(differing), [keys[position] for position in differing]
        if keys:
            self._coll.map_put_many(keys, encoded)

    def _remove_others(self, kept: Mapping[str, Any]) -> None:
        for key in self._coll.map_keys():
            if key not in kept:
                self._coll.map_remove(key)

    def _unchanged(self) -> None:
        """Assigning something to itself changes nothing, in a write as all assigning."""
        self._database._check_task()
        self._coll.map_put_many([], Values())

    def _encode(self, values: Iterable[Any]) -> Values:
        self._database._check_task()
        converter = self._converter
        values = list(values) if converter is None else [converter.stored(value) for value in values]
        if self._type == LINK:
            self._database._add_unmanaged(values)
        return self._database._encoded(values, self._type)

    def __repr__(self) -> str:
        try:
            return _showing.collection_text("Map", self._element_name(), self, "{}")
        except errors.Error as error:
            return f"<Map that cannot be used: {error}>"

    def _repr_html_(self) -> str:
        """Keys and values as a table, for notebooks."""
        shown = min(len(self), _showing.ROWS)
        caption = _showing.range_caption(0, shown, len(self), "keys")
        return _showing.map_table(self._element_name(), self, caption)

    def _element_name(self) -> str:
        return self.results()._element_name()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Map cannot be pickled or copied; to_plain() gives its content")

    def to_plain(self) -> dict[str, Any]:
        """A copy, with lists and dicts in place of what is live."""
        copied: dict[str, Any] = plain(self)
        return copied

    @property
    def is_valid(self) -> bool:
        """Whether it can be used: the database is open, and its owner exists."""
        return self._coll.is_valid()

    # -------------------------------------------------------------------------------------------- as a dict

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, `default` if there is none."""
        is_there, value = self._look_up(key)
        return value if is_there else default

    def items(self) -> ItemsView[str, V]:
        """Keys with their values."""
        return _Items(self)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which gets this one if there is none; lists and dicts of mixed values are live then."""
        if key in self:
            return self[key]
        with atomically(self._database):
            self[key] = default
            return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """Removes a key and gives its value: of a list or dict within, what it held. An embedded object is gone then.
        A key that is not there gives the default, or is a KeyError without one."""
        if len(default) > 1:
            raise TypeError(f"pop() takes a key and a default, not {1 + len(default)} arguments")
        is_there, value = self._look_up(key)
        if not is_there:
            if default:
                return default[0]
            raise KeyError(key)
        value = released(value)
        del self[key]
        return value

    def popitem(self) -> tuple[str, V]:
        """Removes the highest key, and gives it with its value."""
        key = next(reversed(self), None)
        if key is None:
            raise KeyError("the map is empty")
        return key, self.pop(key)

    def copy(self) -> dict[str, V]:
        """The keys and values, as a Python dict."""
        return dict(self.items())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._coll.map_keys())

    def __or__(self, other: Any) -> dict[str, Any]:
        return self.copy() | dict(other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Any) -> dict[str, Any]:
        return dict(other) | self.copy() if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> Map[V]:
        self.update(other)
        return self

    # -------------------------------------------------------------------------------------------- results

    def results(self) -> Results[V]:
        """The values, as live results."""
        return Results(self._database, self._coll.to_results(), self._type, self._converter)

    def where(self, condition: query.Condition = "", /, *arguments: Any, **named: Any) -> Results[V]:
        """The values that match, live; see Collection.where()."""
        return self.results().where(condition, *arguments, **named)

    def thaw(self) -> Optional[Map[V]]:
        """Of a frozen one, the same as the database shows it; see Collection.thaw()."""
        live = self._database.thaw()
        if live is self._database:
            return self
        handle = live._realm.thaw(self._coll.handle)
        return None if handle is None else Map(
            live, self._coll.like(handle, live._realm.guard), self._type, self._converter)

    def freeze(self) -> Map[V]:
        """As it is now, for ever and for every thread; within a write as it was before that."""
        return Map(self._database._shared_frozen(), self._coll.freeze(), self._type, self._converter)

    # -------------------------------------------------------------------------------------------- observing

    def observe(
        self, callback: Callable[[Changes], None], *, paths: Optional[Sequence[Any]] = None
    ) -> Observation:
        """Calls back with each change, first with the initial state, for as long as the result is kept."""
        return self.results()._observe(self._coll, callback, paths)

    def changes(
        self, timeout: Optional[float] = None, *, paths: Optional[Sequence[Any]] = None
    ) -> ChangeStream[Changes]:
        """The changes one after the other, the initial state first; see Collection.changes()."""
        return self.results()._changes(self._coll, timeout, paths)


class _Items(ItemsView[str, V]):
    """Looks a key up by itself: what a converter raises is not that there is none."""

    _mapping: Map[V]

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], str):
            return False
        is_there, value = self._mapping._look_up(item[0])
        return is_there and (value is item[1] or bool(value == item[1]))
