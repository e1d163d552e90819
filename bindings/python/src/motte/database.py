"""A database: opened, read at one version, written in blocks.

A Database belongs to the thread that opened it. It shows one version until it is refreshed or writes. A block `with
db.write():` commits at its end and cancels when it raises; under asyncio the block belongs to its task, and other tasks
that change the database meanwhile get an error instead of joining in. freeze() gives what any thread may read.
"""
from __future__ import annotations

import asyncio
import os
import select
import sys
import time
import uuid
import weakref
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, overload

from . import errors, query
from ._convert import LINK, MIXED, Column, Link, Values, column, mixed_column
from ._ffi import lib
from ._handles import give_up
from ._coll import MAP, Coll
from ._realm import NO_CREATE, READ_ONLY, Queue, Realm, Schema
from .backlinks import Backlinks
from .lists import List
from .maps import Map
from .model import EmbeddedModel, Model, maker, store, stored
from .objectid import ObjectId
from .query import PreparedQuery
from .results import Collection, Results
from .schema import Row, collection, made_class, rows_of, specification

if TYPE_CHECKING:
    from .notifications import ChangeStream, DatabaseChange, Observation

M = TypeVar("M", bound=Model)

#: What upsert() does with an object that has the primary key already.
_POLICIES = {"error": lib.MOTTE_CREATE_NEW, "all": lib.MOTTE_CREATE_EXISTING, "modified": lib.MOTTE_CREATE_MODIFIED}
#: Primary keys.
PrimaryKey = Union[int, str, uuid.UUID, ObjectId, None]

#: How long one call into the library may wait, so that Ctrl-C is heard in between.
_SLICE_MS = 500


def open(
    path: Optional[Union[str, os.PathLike[str]]] = None,
    *,
    schema: Optional[Union[str, Sequence[type[Model]]]] = None,
    in_memory: Optional[str] = None,
    read_only: bool = False,
    create: bool = True,
    durability: Optional[str] = None,
    map_size: Optional[int] = None,
    rows_per_cluster: Optional[int] = None,
) -> Database:
    """Opens or creates a database.

    `schema` is a list of model classes; what the file lacks of them is added. Without a schema, or with one as text,
    classes are made from what is stored: see `Database.model()`. `in_memory` names a store without a file, shared in
    this process. `create=False` refuses to make a new file. `durability="none"` is for scratch data; `map_size` is the
    most bytes the file can grow to; `rows_per_cluster` is for experiments with new files."""
    if (path is None) == (in_memory is None):
        raise TypeError("open() takes either a path or in_memory='name'")
    classes: Optional[list[type[Model]]] = None
    native: Optional[Schema] = None
    if isinstance(schema, str):
        native = Schema.parsed(schema)
    elif schema is not None:
        classes = list(schema)
        native = Schema.declared(specification(classes))
    settings = {"durability": durability, "map_size": map_size, "rows_per_cluster": rows_per_cluster}
    options = {name: value for name, value in settings.items() if value is not None}
    queue = Queue()
    realm = Realm.open(
        None if path is None else os.fsencode(path), in_memory,
        READ_ONLY * read_only | NO_CREATE * (not create), native, queue, options)
    try:
        return Database(realm, queue, classes)
    except BaseException:
        realm.close()
        raise


class Write:
    """One write: `with db.write():`. The block is committed at its end, or cancelled when it raises."""

    def __init__(self, database: Database, timeout: Optional[float]) -> None:
        self._database, self._timeout = database, timeout
        self.is_open = False
        self.was_cancelled = False
        #: What the commit made, None before.
        self.version: Optional[int] = None
        self._task: Any = None
        self._first_new: dict[int, int] = {}

    def __enter__(self) -> Write:
        database = self._database
        if database._write is not None:
            database._check_task()
            raise errors.AlreadyInWriteError("a write is open already; writes cannot be nested")
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            left = _SLICE_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
            try:
                database._realm.begin_write(min(left, _SLICE_MS))
                break
            except errors.WriteTimeoutError:
                if deadline is not None and left <= _SLICE_MS:
                    raise
            except BaseException:
                # A callback failed while changes were delivered: the write itself may have begun.
                if database._realm.in_write():
                    database._realm.cancel()
                raise
        self._task = _current_task()
        self.is_open = True
        database._write = self
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if not self.is_open:
            return
        if kind is not None:
            self.cancel()
        else:
            self._commit()

    def _commit(self) -> None:
        realm = self._database._realm
        try:
            # Callbacks run in here and may look at the database, which is no longer in this write.
            self._end(cancelled=False)
            self.version = realm.commit()
        except BaseException:
            if realm.in_write():
                self.was_cancelled = True
                realm.cancel()
            raise

    def cancel(self) -> None:
        """Drops the changes of the block, whose end then does nothing."""
        if self.is_open:
            self._end(cancelled=True)
            if not self._database.closed:
                self._database._realm.cancel()

    def _end(self, cancelled: bool) -> None:
        self.is_open, self.was_cancelled = False, cancelled
        self._database._write = None

    def first_new(self, class_id: int) -> int:
        """The lowest key this write gave to an object of a class."""
        return self._first_new.get(class_id, sys.maxsize)

    def _made(self, class_id: int, key: int) -> None:
        if key < self.first_new(class_id):
            self._first_new[class_id] = key


def _policy(name: str) -> int:
    try:
        return int(_POLICIES[name])
    except KeyError:
        raise errors.InvalidArgumentError(f"a policy is one of {', '.join(_POLICIES)}, not {name!r}") from None


def _models_in(value: Any) -> list[Model]:
    """The objects that a value is or holds."""
    if isinstance(value, Model):
        return [value]
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, Link):
        return [each for element in value for each in _models_in(element)]
    if isinstance(value, dict):
        return [each for element in value.values() for each in _models_in(element)]
    return []


class _Loose:
    """Loose objects on their way into the database, and the keys they have been given."""

    def __init__(self, objects: Mapping[int, Model], policy: str) -> None:
        self.objects, self.policy = objects, policy
        self.keys: dict[int, int] = {}

    def linked(self, database: Database, value: Any) -> Any:
        """The value, with links in place of these objects."""
        if isinstance(value, Model):
            key = self.keys.get(id(value))
            return value if key is None else Link(database._row_of(type(value)).class_id, key)
        if isinstance(value, (list, tuple)) and not isinstance(value, Link):
            return [self.linked(database, each) for each in value]
        if isinstance(value, dict):
            return {key: self.linked(database, each) for key, each in value.items()}
        return value


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Database:
    """An open database; made by `motte.open()`."""

    def __init__(self, realm: Realm, queue: Optional[Queue], classes: Optional[Sequence[type[Model]]],
                 live: Optional[Database] = None) -> None:
        self._realm, self._queue = realm, queue
        self._live = live
        self._closed = False
        self._write: Optional[Write] = None
        self._frozen: Optional[weakref.ref[Database]] = None
        self._waiters: set[asyncio.Future[None]] = set()
        info = realm.info()
        self._path = info.path
        self._identity = (info.path, info.version if live is not None else None)
        self._rows = rows_of(self, realm, classes)
        self._by_model = {row.model: row for row in self._rows.values()}

    # -------------------------------------------------------------------------------------------- about it

    @property
    def path(self) -> str:
        """The file, or the name of a store in memory."""
        return self._path

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def is_frozen(self) -> bool:
        return self._live is not None

    @property
    def version(self) -> int:
        """The version it shows."""
        return self._realm.version()[0]

    @property
    def latest_version(self) -> int:
        """The newest version anybody has committed."""
        return self._realm.version()[1]

    @property
    def in_write(self) -> bool:
        return self._realm.in_write()

    @property
    def file_size(self) -> int:
        """Bytes; 0 in memory."""
        return self._realm.info().file_size

    @property
    def schema(self) -> str:
        """What is stored, as schema text."""
        return self._realm.schema_text()

    @property
    def models(self) -> list[type[Model]]:
        return list(self._by_model)

    def model(self, name: str) -> type[Model]:
        """The model class of a name: the one passed to open(), or one made from what is stored."""
        for row in self._rows.values():
            if row.model.__name__ == name:
                return row.model
        class_id = self._realm.class_find(name)
        if class_id is None:
            raise errors.UnknownClassError(f"the database has no class {name}", class_name=name)
        return self._row(class_id).model

    def counters(self) -> dict[str, int]:
        """What the engine did since the file was opened in this process."""
        return self._realm.counters()

    def __repr__(self) -> str:
        state = "closed " if self._closed else "frozen " if self.is_frozen else ""
        return f"<{state}Database {self._path}>"

    # -------------------------------------------------------------------------------------------- closing, versions

    def close(self) -> None:
        """Ends it; an open write is cancelled. Closing twice is fine."""
        if self._closed:
            return
        if self._live is None:
            self._realm.close()
        else:
            give_up(self._realm.handle)
        self._closed = True
        if self._write is not None:
            self._write._end(cancelled=True)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def refresh(self) -> bool:
        """Shows the newest version and delivers changes; tells whether there was one."""
        return self._realm.refresh()

    def wait_for_change(self, timeout: Optional[float] = None) -> bool:
        """Sleeps until somebody else has committed; False after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
            if self._realm.wait_for_change(min(left, _SLICE_MS)):
                return True
            if deadline is not None and left <= _SLICE_MS:
                return False

    def freeze(self) -> Database:
        """The database as it is now, for ever and for every thread. Its version stays on disk as long as it lives."""
        if self._live is not None:
            return self
        frozen = None if self._frozen is None else self._frozen()
        if frozen is None or frozen.closed or frozen._identity[1] != self.version:
            frozen = Database(self._realm.freeze(), None, self.models, self)
            self._frozen = weakref.ref(frozen)
        return frozen

    # -------------------------------------------------------------------------------------------- writing

    def write(self, timeout: Optional[float] = None) -> Write:
        """`with db.write():` waits for the writer's place (at most `timeout` seconds), commits at the end of the block,
        and cancels when it raises."""
        return Write(self, timeout)

    def add(self, instance: M, *, update: bool = False) -> M:
        """Stores a new object, and the new objects it links to; gives it back, stored.

        With `update`, an object whose primary key exists takes over that one and assigns its values, as upsert() does
        with the policy "all"."""
        self._check_task()
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"add() takes an object of a model class, not {instance!r:.60}")
        if isinstance(instance, EmbeddedModel):
            raise errors.InvalidArgumentError(
                f"a {type(instance).__name__} is embedded: assign it to a property of its parent",
                class_name=type(instance).__name__)
        self._add_loose([instance], "all" if update else "error")
        return instance

    def upsert(self, instance: M, *, policy: str = "modified") -> M:
        """Stores an object, or takes over the one with its primary key; so for the new objects it links to.

        Policies: "all" assigns every value; "modified" only those that differ, and only those are reported to
        observers; "error" is add()."""
        self._check_task()
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"upsert() takes an object of a model class, not {instance!r:.60}")
        if not any(declared.field.primary_key for declared in instance._declared().values()):
            raise errors.NoPrimaryKeyError(
                f"{type(instance).__name__} has no primary key to be found by", class_name=type(instance).__name__)
        _policy(policy)
        self._add_loose([instance], policy)
        return instance

    def upsert_all(self, instances: Iterable[M], *, policy: str = "modified") -> list[M]:
        """upsert() for many."""
        return [self.upsert(instance, policy=policy) for instance in instances]

    def create_or_update(self, model: type[M], *, policy: str = "modified", **values: Any) -> M:
        """The object with the primary key among `values`, new or not, with these values; others stay as they are."""
        self._check_task()
        row = self._row_of(model)
        plain = {name: value for name, value in values.items() if row.bound(name).declared.is_plain}
        bounds = [row.bound(name) for name in plain]
        encoded = self._encoded(list(plain.values()), [bound.declared.type for bound in bounds])
        key, is_new = self._realm.row_create(
            row.class_id, [bound.info.id for bound in bounds], encoded, _policy(policy))
        if is_new and self._write is not None:
            self._write._made(row.class_id, key)
        for name, value in values.items():
            if name not in plain:
                bound = row.bound(name)
                place = collection(self, self._realm.row_coll(row.class_id, key, bound.info.id), bound.declared)
                place.assign(value, only_differences=policy == "modified")
        made: M = self._object(row.class_id, key)
        return made

    def add_all(self, instances: Iterable[M], *, update: bool = False) -> list[M]:
        """add() for many, fast where they are new, of one class, and without lists."""
        self._check_task()
        made = list(instances)
        if not update and self._add_as_batch(made):
            return made
        self._add_loose(made, "all" if update else "error")
        return made

    def _add_as_batch(self, made: Sequence[Model]) -> bool:
        if len(made) < 2 or len({type(instance) for instance in made}) != 1 or len(set(map(id, made))) != len(made):
            return False
        row = self._row_of(type(made[0]))
        names = [name for name, bound in row.properties.items() if bound.declared.is_plain]
        collections = [name for name, bound in row.properties.items() if not bound.declared.is_plain
                       and bound.declared.is_stored]
        links = [name for name in names if row.properties[name].declared.type in (LINK, MIXED)]
        for instance in made:
            if instance._row is not None:
                return False
            values = instance._values
            if any(values[name] for name in collections):
                return False
            if any(each._row is None for name in links for each in _models_in(values[name])):
                return False
        keys = self.insert_columns(type(made[0]), {
            name: [instance._values[name] for instance in made] for name in names})
        for instance, key in zip(made, keys):
            store(instance, row, key, self._write)
        return True

    def _add_loose(self, instances: Iterable[Any], policy: str = "error") -> None:
        """Stores the loose objects among these and all loose objects reachable from them; all or none.

        Embedded ones are left to what holds them, which makes them in their places."""
        found: dict[int, Model] = {}
        seen: set[int] = set()
        waiting = [each for instance in reversed(list(instances)) for each in _models_in(instance)]
        while waiting:
            instance = waiting.pop()
            if instance._row is not None:
                self._link(instance)
            elif id(instance) not in seen:
                seen.add(id(instance))
                if not isinstance(instance, EmbeddedModel):
                    found[id(instance)] = instance
                row = self._row_of(type(instance))
                for name, bound in row.properties.items():
                    if bound.declared.type in (LINK, MIXED):
                        waiting += _models_in(instance._values.get(name))
        if not found:
            return
        loose = _Loose(found, policy)
        created: list[tuple[Row, int]] = []
        try:
            for identity, instance in found.items():
                loose.keys[identity] = self._create(instance, loose, created)
            for identity, instance in found.items():
                self._connect(instance, loose.keys[identity], loose)
        except BaseException:
            for row, key in created:
                self._realm.row_delete(row.class_id, [key])
            raise
        for identity, instance in found.items():
            store(instance, self._row_of(type(instance)), loose.keys[identity], self._write)

    def _create(self, instance: Model, loose: _Loose, created: list[tuple[Row, int]]) -> int:
        row = self._row_of(type(instance))
        props, values = self._plain_values(row, instance, loose)
        flags = _policy(loose.policy) if row.primary_key is not None else _policy("error")
        key, is_new = self._realm.row_create(row.class_id, props, values, flags)
        if is_new:
            created.append((row, key))
            if self._write is not None:
                self._write._made(row.class_id, key)
        return key

    def _plain_values(self, row: Row, instance: Model, loose: _Loose) -> tuple[list[int], Values]:
        """Properties of one value that need no object which has no key yet."""
        props, types, values = [], [], []
        for name, bound in row.properties.items():
            if bound.declared.is_plain:
                value = instance._values.get(name)
                if not any(each._row is None for each in _models_in(value)):
                    props.append(bound.info.id)
                    types.append(bound.declared.type)
                    values.append(value)
        return props, self._encoded(values, types)

    def _connect(self, instance: Model, key: int, loose: _Loose) -> None:
        """Links to objects that had no key before, collections, and embedded objects."""
        row = self._row_of(type(instance))
        for name, bound in row.properties.items():
            value = loose.linked(self, instance._values.get(name))
            declared, prop = bound.declared, bound.info.id
            if not declared.is_stored:
                continue
            if not declared.is_plain:
                place = collection(self, self._realm.row_coll(row.class_id, key, prop), declared)
                if len(place) or value:
                    place.assign(value or declared.empty(), only_differences=loose.policy == "modified")
            elif self._is_loose_embedded(value):
                known = self._realm.row_values(row.class_id, key, [prop], Link)[0]
                if known is not None and loose.policy == "modified":
                    self._update_embedded(value, known, loose)
                else:
                    self._embed(value, lambda: self._realm.row_embed(row.class_id, key, prop), loose)
            elif any(each._row is None for each in _models_in(instance._values.get(name))):
                self._realm.row_set(row.class_id, key, [prop], self._encoded([value], [declared.type]))

    # -------------------------------------------------------------------------------------------- embedded objects

    @staticmethod
    def _is_loose_embedded(value: Any) -> bool:
        return isinstance(value, EmbeddedModel) and value._row is None

    def _embed(self, instance: Any, place: Callable[[], int], loose: Optional[_Loose] = None) -> None:
        """Makes a loose embedded object a stored one in the place that `place` makes, which gives its key."""
        self._check_task()
        if not self._is_loose_embedded(instance):
            raise errors.WrongTypeError(f"a new object of an embedded class is wanted, not {instance!r:.60}")
        row = self._row_of(type(instance))
        if loose is None:
            self._add_loose([instance])
            loose = _Loose({}, "error")
        # Values that do not fit are found before anything is deleted.
        props, values = self._plain_values(row, instance, loose)
        key = place()
        self._realm.row_set(row.class_id, key, props, values)
        self._connect(instance, key, loose)
        store(instance, row, key, self._write)

    def _update_embedded(self, instance: Any, known: Link, loose: _Loose) -> None:
        """Gives the values of a loose embedded object to one that is in its place already, where they differ."""
        row = self._row_of(type(instance))
        for name, bound in row.properties.items():
            value = instance._values.get(name)
            if not bound.declared.is_plain or any(each._row is None for each in _models_in(value)):
                continue
            before = self._realm.row_values(row.class_id, known.key, [bound.info.id], Link)[0]
            after = self._plain(value)
            if type(before) is not type(after) or before != after:
                self._realm.row_set(row.class_id, known.key, [bound.info.id],
                                    self._encoded([value], [bound.declared.type]))
        self._connect(instance, known.key, loose)
        store(instance, row, known.key, self._write)

    def update(self, instance: M, **values: Any) -> M:
        """Assigns several properties at once, all or none; gives the object back. Lists are assigned by themselves."""
        self._check_task()
        row = instance._stored_row("update")
        bounds = [row.bound(name) for name in values]
        for bound in bounds:
            if not bound.declared.is_plain:
                raise errors.WrongTypeError(f"{row.model.__name__}.{bound.info.name} is a collection; assign it by "
                                            "itself", property_name=bound.info.name)
        encoded = self._encoded(list(values.values()), [bound.declared.type for bound in bounds])
        self._realm.row_set(row.class_id, self._link(instance).key, [bound.info.id for bound in bounds], encoded)
        return instance

    def insert_columns(self, model: type[Model], columns: Mapping[str, Any], *, policy: str = "error") -> array[int]:
        """Many new objects of one class from one sequence per property: lists, arrays, NumPy arrays. All or none.

        Links are given as objects or as their keys. Gives the keys of the objects, in order. With a policy of
        upsert(), rows whose primary key exists are assigned to those objects."""
        self._check_task()
        row = self._row_of(model)
        props, made = [], []
        kept: list[Values] = []
        for name, values in columns.items():
            bound = row.bound(name)
            if not bound.declared.is_plain:
                raise errors.WrongTypeError(f"{model.__name__}.{name} is a collection, which a batch cannot hold",
                                            property_name=name)
            try:
                if bound.declared.type == MIXED:
                    kept.append(self._encoded(list(values), [MIXED] * len(values)))
                    made.append(mixed_column(kept[-1]))
                else:
                    made.append(column(values, bound.declared.type, self._key_of))
            except errors.Error as error:
                error.class_name, error.property_name = model.__name__, name
                error.message = f"{model.__name__}.{name}: {error.message}"
                raise
            props.append(bound.info.id)
        return self._insert(row, props, made, _policy(policy))

    def _insert(self, row: Row, props: Sequence[int], columns: Sequence[Column], flags: int) -> array[int]:
        counts = {each.length for each in columns}
        if len(counts) > 1:
            raise errors.InvalidArgumentError(f"the columns have different lengths: {sorted(counts)}")
        count = counts.pop() if counts else 0
        keys: array[int] = array("q")
        if count:
            new = self._first_unused(row.class_id) if flags else 0
            keys = self._realm.insert_columns(row.class_id, props, columns, count, flags)
            made = [key for key in keys if key >= new] if flags else keys
            if self._write is not None and made:
                self._write._made(row.class_id, min(made))
        return keys

    def _first_unused(self, class_id: int) -> int:
        """A key that is above those of all objects there are; new ones get it or higher ones."""
        objects = self._realm.class_all(class_id)
        count = objects.count()
        return objects.keys(count - 1, 1)[0] + 1 if count else 0

    def insert_rows(self, model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]], *,
                    policy: str = "error") -> array[int]:
        """insert_columns() from rows of values."""
        made = list(rows)
        for number, row in enumerate(made):
            if len(row) != len(names):
                raise errors.InvalidArgumentError(
                    f"row {number} has {len(row)} values for {len(names)} properties", row_index=number)
        columns: Iterable[Sequence[Any]] = zip(*made) if made else ((),) * len(names)
        return self.insert_columns(model, dict(zip(names, columns)), policy=policy)

    def delete(self, what: Union[Model, Collection[Any], Iterable[Model]]) -> int:
        """Deletes an object, all objects of a collection, or several objects; tells how many there were."""
        self._check_task()
        if isinstance(what, Model):
            row = what._stored_row("delete")
            self._link(what)
            deleted = self._realm.row_delete(row.class_id, [what._live_key()])
            if not deleted:
                raise row._deleted()
            return deleted
        if isinstance(what, (Collection, Map)):
            return what._coll.delete_objects()
        by_class: dict[int, list[int]] = {}
        for instance in what:
            link = self._link(instance)
            by_class.setdefault(link.class_id, []).append(link.key)
        return sum(self._realm.row_delete(class_id, keys) for class_id, keys in by_class.items())

    # -------------------------------------------------------------------------------------------- reading

    @overload
    def objects(self, model: type[M]) -> Results[M]: ...
    @overload
    def objects(self, model: str) -> Results[Any]: ...
    def objects(self, model: Union[type[Model], str]) -> Results[Any]:
        """All objects of a class, live."""
        row = self._row_of(self.model(model) if isinstance(model, str) else model)
        return Results(self, self._realm.class_all(row.class_id))

    def count(self, model: type[Model]) -> int:
        """How many objects of a class there are."""
        return self._realm.class_count(self._row_of(model).class_id)

    def get(self, model: type[M], primary_key: PrimaryKey) -> Optional[M]:
        """The object with a primary key, or None."""
        row = self._row_of(model)
        key = self._realm.row_find(row.class_id, primary_key)
        return None if key is None else self._object(row.class_id, key)

    def one(self, model: type[M], primary_key: PrimaryKey) -> M:
        """The object with a primary key, or ObjectNotFoundError."""
        found = self.get(model, primary_key)
        if found is None:
            raise errors.ObjectNotFoundError(f"there is no {model.__name__} {primary_key!r}",
                                             class_name=model.__name__)
        return found

    def at(self, model: type[M], object_key: int) -> M:
        """The object with a row number, as `object_key`, `keys()` and batch inserts give it."""
        row = self._row_of(model)
        if not self._realm.row_exists(row.class_id, object_key):
            raise errors.ObjectNotFoundError(f"there is no {model.__name__} with key {object_key}",
                                             class_name=model.__name__)
        instance: M = self._object(row.class_id, object_key)
        return instance

    def query(self, model: type[M], condition: query.Condition = "", *arguments: Any) -> PreparedQuery[M]:
        """Compiles a query, to run it often or to explain it; takes what where() takes, and SORT and LIMIT in text."""
        row = self._row_of(model)
        text, values = query.condition(row.model, condition, arguments)
        return PreparedQuery(self, self._realm.query(row.class_id, text, self._encoded(values)), model)

    def backlinks(self, instance: Model, origin: Any) -> Backlinks[Any]:
        """The objects that link to this one through a property of theirs, declared as inverse or not:
        `db.backlinks(ada, Dog.owner)`."""
        if not isinstance(origin, query.Path) or len(origin._names) != 1:
            raise TypeError(f"a linking property is wanted, as in db.backlinks(ada, Dog.owner), not {origin!r:.60}")
        bound = self._row_of(origin._model).bound(origin._names[0])
        link = self._link(instance)
        return Backlinks(self, self._realm.row_backlinks(link.class_id, link.key, bound.info.id))

    # -------------------------------------------------------------------------------------------- changes

    def observe(self, callback: Callable[[DatabaseChange], None]) -> Observation:
        """Calls back when another version is shown, for as long as the result is kept."""
        from .notifications import observe_database

        return observe_database(self, callback)

    def changes(self, timeout: Optional[float] = None) -> ChangeStream[DatabaseChange]:
        from .notifications import database_changes

        return database_changes(self, timeout)

    def fileno(self) -> int:
        """A descriptor that is readable while dispatch() has work, for select, poll and event loops:
        `loop.add_reader(db, db.dispatch)`."""
        if self._queue is None:
            raise errors.FrozenError("a frozen database never changes")
        return self._queue.fd()

    def dispatch(self, timeout: Optional[float] = 0) -> int:
        """Shows the newest version and calls what observes it; tells how many deliveries there were. Waits for the
        first up to `timeout` seconds, None without limit."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            delivered = self._dispatch_once()
            if delivered or not self._sleep(deadline):
                return delivered

    def _dispatch_once(self) -> int:
        if self._queue is None:
            raise errors.FrozenError("a frozen database never changes")
        return self._queue.dispatch()

    def _sleep(self, deadline: Optional[float]) -> bool:
        """Until there is something to dispatch, which includes what a stream fetches; False when the time is up."""
        assert self._queue is not None
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            own = self._queue.timeout_ms()
            limits = ([] if left is None else [left * 1000]) + ([own] if own >= 0 else [])
            poll = select.poll()
            poll.register(self._queue.fd(), select.POLLIN)
            if poll.poll(min(limits) if limits else None) or own >= 0 and own == min(limits):
                return True

    async def _dispatched(self) -> None:
        """Until the event loop has dispatched. All waiters share one reader."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._waiters:
            loop.add_reader(self.fileno(), self._readable)
        self._waiters.add(future)
        try:
            await future
        finally:
            self._waiters.discard(future)
            if not self._waiters:
                loop.remove_reader(self.fileno())

    def _readable(self) -> None:
        failure: Optional[Exception] = None
        try:
            self.dispatch()
        except Exception as error:
            failure = error
        for future in self._waiters:
            if not future.done():
                if failure is None:
                    future.set_result(None)
                else:
                    future.set_exception(failure)

    # -------------------------------------------------------------------------------------------- objects and values

    def _object(self, class_id: int, key: int) -> Any:
        row = self._rows.get(class_id)
        if row is None:
            row = self._row(class_id)
        return stored(row.model, row, key, self._write)

    def _maker(self, class_id: int) -> Callable[[int], Any]:
        """_object() for many of one class, now."""
        return maker(self._row(class_id), self._write)

    def _row(self, class_id: int) -> Row:
        """The row of a class, also of one that open() was not told of."""
        row = self._rows.get(class_id)
        if row is None:
            infos = self._realm.properties(class_id)
            about = self._realm.class_info(class_id)
            row = Row(self, made_class(about.name, infos, about.embedded), class_id, infos)
            self._rows[class_id] = self._by_model[row.model] = row
        return row

    def _row_of(self, model: type[Model]) -> Row:
        row = self._by_model.get(model)
        if row is None:
            self._realm.check()
            name = getattr(model, "__name__", repr(model))
            raise errors.UnknownClassError(
                f"{name} is not among the classes this database was opened with: {', '.join(self._names())}",
                class_name=name)
        return row

    def _names(self) -> list[str]:
        return [row.model.__name__ for row in self._rows.values()]

    def _link(self, instance: Any) -> Link:
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"an object of a model class is wanted, not {instance!r:.60}")
        row = instance._row
        if row is None:
            raise errors.InvalidArgumentError(
                f"this {type(instance).__name__} is in no database yet; add it first",
                class_name=type(instance).__name__)
        if row.database is not self and row.identity[0][0] != self._path:
            raise errors.InvalidArgumentError(
                f"this {type(instance).__name__} belongs to {row.database!r}", class_name=type(instance).__name__)
        return Link(row.class_id, instance._live_key())

    def _key_of(self, value: Any) -> int:
        if isinstance(value, Model):
            return self._link(value).key
        try:
            return int(value.__index__())
        except AttributeError:
            raise errors.WrongTypeError(f"an object or its key is wanted, not {value!r:.60}") from None

    def _plain(self, value: Any) -> Any:
        """A value as _convert takes it: objects are links, also in lists and dicts of mixed values."""
        if isinstance(value, Model):
            return self._link(value)
        if isinstance(value, (list, tuple, Collection)) and not isinstance(value, Link):
            return [self._plain(each) for each in value]
        if isinstance(value, Mapping):
            return {key: self._plain(each) for key, each in value.items()}
        return value

    def _encoded(self, values: Sequence[Any], types: Optional[Sequence[int]] = None) -> Values:
        encoded = Values()
        for index, value in enumerate(values):
            for each in _models_in(value):
                if each._row is None:
                    self._add_loose([each])
            encoded.add(self._plain(value), types[index] if types is not None else None)
        return encoded

    def _nested(self, coll: Coll) -> Any:
        """A list or map inside a mixed value, in place."""
        return Map(self, coll) if coll.info().kind == MAP else List(self, coll, MIXED)

    def _check_task(self) -> None:
        """A write belongs to the task that opened it."""
        write = self._write
        if write is not None and write._task is not _current_task():
            raise errors.AlreadyInWriteError(
                "another task has a write open on this database; do not await inside `with db.write():`")

