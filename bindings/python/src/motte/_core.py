"""The part of a Database that lists, maps, results and objects depend on: rows by class, and values on their way in and
out. `_protocols.py` says what it is to them.
"""
from __future__ import annotations

import abc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from . import _callbacks, _objects, errors, unmanaged, query
from ._atomic import SINGLE, atomically
from ._coll import MAP, SELF, Coll
from ._convert import HOLDING, LINK, MIXED, Arguments, Link, Maker, Values, check_depth
from ._guard import current_task
from ._held import AnySeen, Held
from ._protocols import AnyModel, AnyWrite
from ._queue import Queue
from ._realm import Realm
from ._seen import Seen
from .delivery import Delivery
from .lists import List
from .maps import Map
from .model import Model, is_unmanaged_embedded, maker, stored
from .results import Collection
from .schema import Layout, Row, is_declared_alike, layouts_of, stored_layout


class Core(abc.ABC, _objects.Core):
    """An open database."""

    def __init__(self, realm: Realm, queue: Optional[Queue], classes: Optional[Sequence[type[Model]]],
                 is_frozen: bool, class_ids: Optional[Mapping[Any, int]] = None) -> None:
        """With class ids, those of its classes are known."""
        self._realm, self._delivery = realm, Delivery(queue, _never if is_frozen else realm.in_write, is_frozen)
        self._guarded_by(realm.guard)
        realm.guard.home = weakref.ref(self)
        self._closed = False
        self._write: Optional[AnyWrite] = None
        #: Whether an observer is called by a commit that an import within the open block has made.
        self._is_between_commits = False
        #: What objects are seen in now, None outside of writes; see _seen.py.
        self._seen: Optional[AnySeen] = None
        #: Objects that the call under way has stored, and the values they had; see _atomic.py.
        self._stored: Optional[list[tuple[Any, dict[str, Any]]]] = None
        #: The objects that are on their way in, and those they hold; see unmanaged.py.
        self._unmanaged: Optional[unmanaged.Unmanaged] = None
        self._frozen: Optional[weakref.ref[Any]] = None
        info = realm.info()
        self._path = info.path
        self._identity = (info.database_number, info.version if is_frozen else None)
        self._rows: Union[dict[int, Row], _PassingRows] = _PassingRows() if is_frozen else {}
        #: By class id; where those are known, as they are needed: what is frozen may be asked one thing.
        self._layouts = layouts_of(realm, classes, self._link_maker()) if class_ids is None else {}
        self._class_ids: dict[Any, int] = {
            layout.model: layout.class_id for layout in self._layouts.values()} if class_ids is None else {**class_ids}

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    @property
    def in_write(self) -> bool:
        """Whether a write is open here."""
        return self._realm.in_write()

    @abc.abstractmethod
    def freeze(self) -> Core:
        """The database as it is now."""

    @abc.abstractmethod
    def thaw(self) -> Core:
        """Of a frozen one, the database it was frozen in."""

    @abc.abstractmethod
    def _shared_frozen(self) -> Core:
        """The frozen database of what is frozen by itself now."""

    @abc.abstractmethod
    def _update_all(self, what: Any, values: Mapping[str, Any]) -> int:
        """Assigns properties of all objects of a collection."""

    # -------------------------------------------------------------------------------------------- classes

    def _row(self, class_id: int) -> Row:
        """The row of a class, also of one that was not given to open()."""
        row = self._rows.get(class_id)
        if row is None:
            layout = self._layouts.get(class_id)
            if layout is None:
                layout = self._layouts[class_id] = self._new_layout(class_id)
            row = self._rows[class_id] = Row(self, layout)
        return row

    def _new_layout(self, class_id: int) -> Layout:
        realm = self._realm
        for model, known in [*self._class_ids.items()]:
            if known == class_id:
                return Layout(realm, model, class_id, realm.properties(class_id), self._link_maker())
        layout = stored_layout(realm, class_id, self._link_maker())
        self._class_ids[layout.model] = class_id
        return layout

    def _row_of(self, model: Union[type[AnyModel], str]) -> Row:
        if isinstance(model, str):
            model = self.model(model)
        class_id = self._class_ids.get(model)
        if class_id is None:
            self._realm.check()
            row = self._declared_again(model)
            if row is not None:
                return row
            name = getattr(model, "__name__", repr(model))
            raise errors.UnknownClassError(
                f"{name} is not among the classes this database was opened with: {', '.join(self._names())}",
                class_name=name)
        return self._row(class_id)

    def _declared_again(self, model: Any) -> Optional[Row]:
        """The row of a class that stands in for one of the same name, as when a cell of a notebook ran again."""
        if not (isinstance(model, type) and issubclass(model, Model)):
            return None
        known = next((each for each in [*self._class_ids] if each._stored_name == model._stored_name), None)
        if known is None or known._is_made:
            return None
        class_id = self._class_ids[known]
        if not is_declared_alike(known, model):
            raise errors.UnknownClassError(
                f"{model.__name__} was declared again, in another way, since this database was opened; open it again",
                class_name=model.__name__)
        self._layouts[class_id] = Layout(
            self._realm, model, class_id, self._realm.properties(class_id), self._link_maker())
        row = self._rows[class_id] = Row(self, self._layouts[class_id])
        del self._class_ids[known]
        self._class_ids[model] = class_id
        # It has the class as it was declared before.
        self._frozen = None
        return row

    def _names(self) -> list[str]:
        return [model.__name__ for model in [*self._class_ids]]

    def model(self, name: str) -> type[Model]:
        """The model class of a name: the one passed to open(), or one made from what is stored."""
        for model in [*self._class_ids]:
            if name in (model.__name__, model._stored_name):
                found: type[Model] = model
                return found
        class_id = self._realm.class_find(name)
        if class_id is None:
            raise errors.UnknownClassError(f"the database has no class {name}", class_name=name)
        return self._row(class_id).model

    # -------------------------------------------------------------------------------------------- objects

    def _object(self, class_id: int, key: int) -> Any:
        row = self._rows.get(class_id)
        if row is None:
            row = self._row(class_id)
        return stored(row.model, row, key, self._seen)

    def _maker(self, class_id: int, seen: Optional[AnySeen] = None) -> Callable[[int], Any]:
        """_object() for many of one class, now, or as those that were `seen` then."""
        return maker(self._row(class_id), self._seen if seen is None else seen)

    def _link_maker(self) -> Maker:
        """_object() for what layouts keep."""
        return self._object if self._identity[1] is None else _weak_maker(self)

    def _nested(self, coll: Coll) -> Any:
        """A list or map inside a mixed value, in place."""
        return Map(self, coll) if coll.info().kind == MAP else List(self, coll, MIXED)

    def _link(self, instance: Any) -> Link:
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"an object of a model class is wanted, not {instance!r:.60}")
        row = instance._row
        if is_unmanaged_embedded(instance):
            raise errors.InvalidArgumentError(
                f"{type(instance).__name__} is embedded: properties, lists and dicts declared for it hold it, mixed "
                "values do not", class_name=type(instance).__name__)
        if row is None:
            raise errors.InvalidArgumentError(
                f"this {type(instance).__name__} is in no database yet; add it first",
                class_name=type(instance).__name__)
        if row.database is not self and row.identity[0][0] != self._identity[0]:
            raise errors.InvalidArgumentError(
                f"this {type(instance).__name__} belongs to {row.database!r}", class_name=type(instance).__name__)
        return Link(row.class_id, instance._live_key())

    def _key_of(self, value: Any, target: int) -> int:
        """The key of an object of a class, or one that is given."""
        if isinstance(value, Model):
            class_id, key = self._link(value)
            if class_id != target:
                raise errors.WrongTypeError(
                    f"an object of {self._row(target).model.__name__} is wanted, not {value!r:.60}")
            return key
        try:
            return int(value.__index__())
        except AttributeError:
            raise errors.WrongTypeError(f"an object or its key is wanted, not {value!r:.60}") from None

    # -------------------------------------------------------------------------------------------- values

    def _plain(self, value: Any, depth: int = 0) -> Any:
        """A value as _convert takes it: objects are links, also in lists and dicts of mixed values."""
        if isinstance(value, Model):
            return self._link(value)
        if isinstance(value, (list, tuple, Collection)) and not isinstance(value, Link):
            check_depth(depth)
            return [self._plain(each, depth + 1) for each in value]
        if isinstance(value, Mapping):
            check_depth(depth)
            return {key: self._plain(each, depth + 1) for key, each in value.items()}
        return value

    def _encoded(self, values: Sequence[Any], type_: Optional[int] = None) -> Values:
        """`type_` is that of the property or the elements, None in queries."""
        encoded = Values()
        try:
            if type_ is None or type_ in HOLDING:
                for value in values:
                    self._encode(encoded, value, type_)
            else:
                for value in values:
                    encoded.add(value, type_)
        except errors.Error as error:
            error.row_index = len(encoded)
            raise
        return encoded

    def _encode(self, encoded: Values, value: Any, type_: Optional[int]) -> None:
        """Adds a value that may be or hold objects, which are stored if they are not."""
        if type(value) not in SINGLE:
            for each in unmanaged.models_in(value):
                if each._row is None:
                    self._add_unmanaged([each])
            value = self._plain(value)
        encoded.add(value, type_)

    def _arguments(self, values: Sequence[Any]) -> Arguments:
        """The arguments of a query: several values are a list, for IN and BETWEEN, and a shape is its text."""
        given = [query.argument(value) for value in map(_listed, values)]
        # Asking about an object does not store it.
        held = self._held(given)
        return Arguments(self._encoded(given), held)

    def _held(self, values: Any) -> Optional[Held]:
        """The objects that values are or hold, where these may be lost."""
        last: dict[tuple[AnySeen, int], int] = {}
        for instance in unmanaged.models_in(values):
            class_id, key = self._link(instance)
            if instance._write is not None:
                place = instance._write, class_id
                last[place] = max(key, last.get(place, key))
        return Held((seen, class_id, key) for (seen, class_id), key in last.items()) if last else None

    def _snapshot(self, coll: Coll) -> Coll:
        """The elements that a collection has now, of which those that are made in the open write may be lost."""
        made = coll.snapshot()
        seen, info = self._seen, made.info()
        if seen is None or made.seen is not None or info.type not in HOLDING:
            return made
        last: dict[int, int] = {}

        def note(class_id: int, key: int) -> None:
            last[class_id] = max(key, last.get(class_id, key))

        if info.type == LINK:
            for key in made.keys(0, made.count()):
                note(info.target, key)
        else:
            made.values([SELF], 0, made.count(), note)
        for class_id in last:
            # What is lost is known of the classes that were used.
            self._row(class_id)
        if last:
            made.held = Held((seen, class_id, key) for class_id, key in last.items())
            made.seen = seen if info.type == LINK else None
        return made

    # -------------------------------------------------------------------------------------------- changes

    def _check_task(self) -> None:
        """A write belongs to the task that opened it."""
        self._realm.guard.check()

    def _observed(self, callback: Callable[[], None]) -> None:
        """Calls an observer. While a write begins, what it changed before it raised is not committed with that."""
        if self._closed or not self._realm.in_write():
            write, seen = self._write, self._seen
            if write is None or not write.is_open:
                callback()
                return
            # Between two commits of an import that commits on the way: the block around it goes on afterwards.
            self._write, self._seen, self._is_between_commits = None, None, True
            try:
                callback()
            finally:
                self._write, self._seen, self._is_between_commits = write, seen, False
            return
        if self._seen is None:
            # A write of the library's own begins: a queued one, or that of a batch of changes.
            self._seen = Seen(None)
            _callbacks.when_called(self._write_of_library_may_have_ended)
        with atomically(self):
            callback()

    def _write_of_library_may_have_ended(self) -> bool:
        """Whether it has. What observers saw in it is lost or kept; a queued write has taken that over."""
        if not self._closed and self._realm.in_write():
            return False
        seen = self._seen
        if seen is not None and self._write is None:
            # Kept, it has no higher key than all objects that there are.
            seen.end(self, True)
            self._seen = None
        return True

    def _add_unmanaged(self, instances: Iterable[Any], policy: str = "error") -> None:
        unmanaged.add_unmanaged(self, instances, policy)

    def _is_elsewhere(self, value: Any) -> bool:
        """Whether a value is or holds an object that is in no database."""
        return type(value) not in SINGLE and any(each._row is None for each in unmanaged.models_in(value))

    def _embed(self, instance: Any, place: Callable[[], tuple[int, int]]) -> None:
        unmanaged.embed(self, instance, place)

    def _update_embedded(self, instance: Any, known: Link) -> None:
        unmanaged.update_embedded(self, instance, known)


def _listed(value: Any) -> Any:
    """An argument, or those that have names, with the objects of a collection in its place."""
    if isinstance(value, dict):
        return {name: each[:] if isinstance(each, Collection) else each for name, each in value.items()}
    return value[:] if isinstance(value, Collection) else value


def _never() -> bool:
    return False


class _PassingRows:
    """The rows of a frozen database that somebody else keeps.

    An object keeps its row, and that the database. A frozen database, which nobody closes, does not keep its rows:
    without such a cycle it goes with its last object, and with it the version that it shows."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, weakref.ref[Row]] = {}

    def get(self, class_id: int) -> Optional[Row]:
        row = self._rows.get(class_id)
        return None if row is None else row()

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __setitem__(self, class_id: int, row: Row) -> None:
        self._rows[class_id] = weakref.ref(row)

    def clear(self) -> None:
        self._rows.clear()


def _weak_maker(database: Core) -> Maker:
    """Makes objects of a database without keeping it: whoever reads a link has an object, which does."""
    home = weakref.ref(database)

    def make(class_id: int, key: int) -> Any:
        there = home()
        assert there is not None
        return there._object(class_id, key)
    return make


_objects.configure(current_task=current_task)
