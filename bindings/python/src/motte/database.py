"""A database: read at one version, written in blocks. `opening.py` opens one.

A Database belongs to the thread that opened it. It shows one version until it is refreshed or writes. A block `with
db.write():` commits at its end and cancels when it raises; under asyncio the block belongs to its task, and other tasks
that change the database meanwhile get an error instead of joining in. freeze() gives what any thread may read;
`handover.py` has what other threads may ask of it.
"""
from __future__ import annotations

import asyncio
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union, overload

from . import errors, loose, query
from ._coll import MAP, Coll
from ._convert import MIXED, Link, Values
from ._handles import give_up
from ._realm import Queue, Realm
from .backlinks import Backlinks
from .delivery import Delivery
from .exchange import Exchange
from .handover import Handover
from .lists import List
from .maintenance import Maintenance
from .maps import Map
from .model import Model, is_loose_embedded, maker, stored
from .objectid import ObjectId
from .query import PreparedQuery
from .results import Collection, Results
from .schema import Row, made_class, rows_of
from .storing import Storing
from .write import SLICE_MS, Write, current_task

if TYPE_CHECKING:
    from .notifications import Observation

M = TypeVar("M", bound=Model)

#: Primary keys.
PrimaryKey = Union[int, str, uuid.UUID, ObjectId, None]


class Database(Storing, Delivery, Handover, Maintenance, Exchange):
    """An open database; made by `motte.open()`."""

    def __init__(self, realm: Realm, queue: Optional[Queue], classes: Optional[Sequence[type[Model]]],
                 live: Optional[Database] = None) -> None:
        self._realm, self._queue = realm, queue
        self._live = live
        self._closed = False
        self._write: Optional[Write] = None
        #: Objects that the call under way has stored, and the values they had; see _atomic.py.
        self._stored: Optional[list[tuple[Model, dict[str, Any]]]] = None
        self._frozen: Optional[weakref.ref[Database]] = None
        self._waiters: set[asyncio.Future[None]] = set()
        self._retry: Optional[asyncio.TimerHandle] = None
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
    def warning(self) -> Optional[str]:
        """What the file was opened in spite of, such as a newer version that is not whole; open() logs it too."""
        return self._realm.info().warning

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
        self._wake(errors.ClosedError("the database has been closed"))
        # They lead back here; without them everything goes with the last who holds it.
        self._rows.clear()
        self._by_model.clear()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        try:
            self.close()
        except errors.Error as failure:
            if error is None:
                raise
            # What left the block is what matters.
            if hasattr(error, "add_note"):
                error.add_note(f"The database could not be closed here: {failure}")

    def refresh(self) -> bool:
        """Shows the newest version and delivers changes; tells whether there was one."""
        return self._realm.refresh()

    def wait_for_change(self, timeout: Optional[float] = None) -> bool:
        """Sleeps until somebody else has committed; False after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
            if self._realm.wait_for_change(min(left, SLICE_MS)):
                return True
            if deadline is not None and left <= SLICE_MS:
                return False

    def freeze(self) -> Database:
        """The database as it is now, for ever and for every thread; within a write as it was before that. Its version
        stays on disk as long as it lives."""
        if self._live is not None:
            return self
        frozen = None if self._frozen is None else self._frozen()
        if frozen is None or frozen.closed or frozen._identity[1] != self.version:
            frozen = Database(self._realm.freeze(), None, self.models, self)
            self._frozen = weakref.ref(frozen)
        return frozen

    # -------------------------------------------------------------------------------------------- writing

    def write(self, timeout: Optional[float] = None, *, skipping: Iterable[Observation] = ()) -> Write:
        """`with db.write():` waits for the writer's place (at most `timeout` seconds), commits at the end of the block,
        and cancels when it raises. The commit is not told to the observations in `skipping`."""
        return Write(self, timeout, skipping)

    # -------------------------------------------------------------------------------------------- reading

    @overload
    def objects(self, model: type[M]) -> Results[M]: ...
    @overload
    def objects(self, model: str) -> Results[Any]: ...
    def objects(self, model: Union[type[Model], str]) -> Results[Any]:
        """All objects of a class, live."""
        row = self._row_of(model)
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
        return PreparedQuery(self, self._realm.query(row.class_id, text, self._arguments(values)), model)

    def backlinks(self, instance: Model, origin: Any) -> Backlinks[Any]:
        """The objects that link to this one through a property of theirs, declared as inverse or not:
        `db.backlinks(ada, Dog.owner)`."""
        if not isinstance(origin, query.Path) or len(origin._names) != 1:
            raise TypeError(f"a linking property is wanted, as in db.backlinks(ada, Dog.owner), not {origin!r:.60}")
        bound = self._row_of(origin._model).bound(origin._names[0])
        link = self._link(instance)
        return Backlinks(self, self._realm.row_backlinks(link.class_id, link.key, bound.info.id))

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

    def _row_of(self, model: Union[type[Model], str]) -> Row:
        if isinstance(model, str):
            model = self.model(model)
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
        if is_loose_embedded(instance):
            raise errors.InvalidArgumentError(
                f"{type(instance).__name__} is embedded: properties, lists and dicts declared for it hold it, mixed "
                "values do not", class_name=type(instance).__name__)
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
            self._encode(encoded, value, types[index] if types is not None else None)
        return encoded

    def _arguments(self, values: Sequence[Any]) -> Values:
        """The arguments of a query: several values are a list, for IN and BETWEEN, and a shape is its text."""
        given = [query.argument(value) for value in values]
        for instance in loose.models_in(given):
            # Asking about an object does not store it.
            self._link(instance)
        return self._encoded(given)

    def _encode(self, encoded: Values, value: Any, type_: Optional[int]) -> None:
        for each in loose.models_in(value):
            if each._row is None:
                self._add_loose([each])
        encoded.add(self._plain(value), type_)

    def _nested(self, coll: Coll) -> Any:
        """A list or map inside a mixed value, in place."""
        return Map(self, coll) if coll.info().kind == MAP else List(self, coll, MIXED)

    def _check_task(self) -> None:
        """A write belongs to the task that opened it."""
        write = self._write
        if write is not None and write._task is not current_task():
            raise errors.AlreadyInWriteError(
                "another task has a write open on this database; do not await inside `with db.write():`")

