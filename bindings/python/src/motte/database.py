"""The Database: everything that can be asked of an open database.

Each part of it has a module of its own: `_core.py` rows and values, `storing.py` changes, `delivery.py` waiting and
dispatching, `handover.py` what other threads may ask for, `exchange.py` JSON and CSV, `maintenance.py` whole files.
"""
from __future__ import annotations

import math
import operator
import sys
import uuid
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Optional, TypeVar, Union, overload

from . import (
    _callbacks, _frozen, _objects, _showing, changes, errors, exchange, fields, handover, importing, maintenance,
    predicates, query, realmfiles, schema, storing,
)
from ._config import Progress
from ._core import Core
from ._queue import Queue
from ._realm import Realm
from ._waiting import SLICE_MS, checked_timeout, deadline_of, left_ms
from .backlinks import Backlinks
from .changes import ChangeBatch, ChangeConsumer
from .exchange import ImportCounts
from .handover import Reference
from .maintenance import Compaction, OnlineCompaction, Path, Reader, Report, Space
from .maps import Map
from .model import Model
from .notifications import ChangeStream, DatabaseChange, Observation, database_changes, observe_database
from .objectid import ObjectId
from .prepared import PreparedQuery
from .projections import Projection
from .realmfiles import Conversion
from .results import Collection, Results
from .write import Write

if TYPE_CHECKING:
    from concurrent.futures import Future

M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Projection[Any])
T = TypeVar("T")

#: Primary keys: of these types, or of one with a converter.
PrimaryKey = Union[int, str, uuid.UUID, ObjectId, None, Any]


class Database(Core):
    """An open database; made by `motte.open()`.

    It belongs to the thread that opened it, and so does everything that comes from it: elsewhere, using it is a
    `WrongThreadError`. What other threads may use is what freeze() gives, `motte.Reference`, queue_write() and
    Observation.stop(). Every call may raise `ClosedError` after close()."""

    def __init__(self, realm: Realm, queue: Optional[Queue], classes: Optional[Sequence[type[Model]]],
                 frozen: Optional[_frozen.Origin] = None) -> None:
        self._live = None if frozen is None else frozen.live
        #: Whether it is of all that is frozen by itself, and closed by nobody.
        self._is_shared = frozen is not None and frozen.is_shared
        self._query_timeout = None if frozen is None else frozen.query_timeout
        super().__init__(realm, queue, classes, frozen is not None, None if frozen is None else frozen.class_ids)

    # -------------------------------------------------------------------------------------------- about it

    @property
    def path(self) -> str:
        """The file, or the name of a database in memory."""
        return self._path

    @property
    def is_frozen(self) -> bool:
        """Whether it is what freeze() gave, which never changes and may be used on every thread."""
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
    def file_size(self) -> int:
        """Bytes; 0 in memory."""
        return self._realm.info().file_size

    @property
    def warning(self) -> Optional[str]:
        """What was wrong with the file when it was opened, such as a newer version that is incomplete; open() logs it
        too."""
        return self._realm.info().warning

    @property
    def schema(self) -> str:
        """What is stored, as schema text."""
        return self._realm.schema_text()

    @property
    def models(self) -> list[type[Model]]:
        """The classes it was opened with, or made from what is stored."""
        return list(self._class_ids)

    def counters(self) -> dict[str, int]:
        """What the engine did since the file was opened in this process."""
        return self._realm.counters()

    def __repr__(self) -> str:
        state = "closed " if self._closed else "frozen " if self.is_frozen else ""
        try:
            counts = [] if self._closed else self._counts()
        except errors.Error:
            # On another thread, for one, where it cannot be asked.
            counts = []
        more = [f"... {len(counts)} classes in all"] if len(counts) > 2 * _showing.FEW else []
        shown = [f"{count:,} {name}" for name, count in counts[:2 * _showing.FEW]] + more
        return f"<{state}Database {self._path}{': ' if shown else ''}{', '.join(shown)}>"

    def _counts(self) -> list[tuple[str, int]]:
        return [(model.__name__, self._realm.class_count(class_id)) for model, class_id in [*self._class_ids.items()]]

    def _repr_html_(self) -> str:
        """Its classes, their properties and how many objects there are, as a table, for notebooks."""
        counts = dict(self._counts())
        rows = [(model.__name__, f"{counts[model.__name__]:,}", ", ".join(
                 f"{name}: {_showing.type_name(declared)}" for name, declared in model._declared().items()))
                for model in self.models]
        return _showing.table([("class", ""), ("objects", ""), ("properties", "")], rows, repr(self))

    def __reduce__(self) -> Any:
        raise TypeError("a Database cannot be pickled or copied: open it by its path where it is wanted, and hand over "
                        "objects by motte.Reference to threads, by to_dict() or their keys to processes")

    # -------------------------------------------------------------------------------------------- closing, versions

    def close(self) -> None:
        """Ends it; an open write is cancelled. Closing twice is fine.

        Of frozen ones it ends what came from this one, nothing else that is frozen. That of objects and collections
        that were frozen by themselves goes with the last of these; closing it does nothing."""
        if self._closed or self._is_shared:
            return
        self._realm.close()
        self._closed = True
        if self._live is not None:
            # Threads that have read from it keep its version until all of it has gone, which this is a part of.
            self._realm = _frozen.Ended()  # type: ignore[assignment]
        if self._write is not None:
            self._write._end(cancelled=True)
        self._delivery.close(errors.ClosedError("the database has been closed"))
        # They lead back here; without them everything goes with the last who holds it.
        self._rows.clear()
        self._layouts.clear()
        self._class_ids.clear()

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
        return _callbacks.delivering(self._realm.refresh)

    def wait_for_change(self, timeout: Optional[float] = None) -> bool:
        """Sleeps until somebody else has committed; False after `timeout` seconds."""
        deadline = deadline_of(timeout)
        while True:
            left = left_ms(deadline)
            if self._realm.wait_for_change(min(left, SLICE_MS)):
                return True
            if deadline is not None and left <= SLICE_MS:
                return False

    # -------------------------------------------------------------------------------------------- ending queries

    def interrupt(self) -> None:
        """Ends the queries of this database that are running: they raise `QueryInterruptedError`, and the database,
        also in a write, is as it was before them. Later ones are not concerned. Every thread may call it."""
        self._realm.interrupt()

    @property
    def query_timeout(self) -> Optional[float]:
        """How many seconds a query may take; what takes longer raises `QueryInterruptedError`. None: no limit, as it is
        unless set. Frozen databases have the limit of the one that they come from, as it was then."""
        return self._query_timeout

    @query_timeout.setter
    def query_timeout(self, seconds: Optional[float]) -> None:
        if seconds is not None and not seconds >= 0:
            raise errors.InvalidArgumentError("a query takes a number of seconds from 0 on, or None for no limit")
        self._realm.set_query_timeout(-1 if seconds is None else math.ceil(min(seconds * 1000, 2.0 ** 60)))
        self._query_timeout = seconds

    def freeze(self) -> Database:
        """The database as it is now, for ever and for every thread; within a write as it was before that. Its version
        stays on disk as long as it lives.

        Each call gives one of its own, also on a frozen one; `with db.freeze() as frozen:` closes it at the end of the
        block. Threads that read from it meanwhile do so to the end of their call. One that has read from it keeps the
        version, and the file open, until its next call, or its end, or nothing of it is held any more."""
        return self._frozen_in(self._realm.freeze(), _frozen.origin(self))

    def _frozen_in(self, realm: Realm, origin: _frozen.Origin) -> Database:
        return Database(realm, None, None, origin)

    def _shared_frozen(self) -> Database:
        return _frozen.shared(self)

    def thaw(self) -> Database:
        """Of a frozen one, the database it was frozen in, for the thread of that one; this one if it is not frozen."""
        return self if self._live is None else self._live

    # -------------------------------------------------------------------------------------------- writing

    def write(self, timeout: Optional[float] = None, *, skipping: Iterable[Observation] = ()) -> Write:
        """`with db.write():` waits for the write lock (at most `timeout` seconds), commits at the end of the block,
        and cancels when it raises. The observations in `skipping` are not notified of the commit."""
        return Write(self, timeout, skipping)

    def add(self, instance: M, *, update: bool = False) -> M:
        """Stores a new object, and the new objects it links to; gives it back, stored.

        With `update`, an object whose primary key exists takes over that one and assigns its values, as upsert() does
        with the policy "all"; without, that is a `DuplicatePrimaryKeyError`."""
        if not update and _objects.add(self, instance):
            return instance
        return storing.add(self, instance, update)

    def add_all(self, instances: Iterable[M], *, update: bool = False) -> list[M]:
        """add() for many, all or none; fast where they are new, of one class, and without lists."""
        return storing.add_all(self, instances, update)

    def upsert(self, instance: M, *, policy: str = "modified") -> M:
        """Stores an object, or takes over the one with its primary key; so for the new objects it links to.

        Policies: "all" assigns every value; "modified" only those that differ, and only those are reported to
        observers; "error" is add()."""
        return storing.upsert(self, instance, policy)

    def upsert_all(self, instances: Iterable[M], *, policy: str = "modified") -> list[M]:
        """upsert() for many, all or none."""
        return storing.upsert_all(self, instances, policy)

    def create_or_update(self, model: type[M], /, *, policy: str = "modified", **values: Any) -> M:
        """The object with the primary key among `values`, new or not, with these values; others stay as they are. For
        classes that have a property `policy` there is upsert()."""
        storing.check_names(self, model)
        return storing.create_or_update(self, model, policy, values)

    def update(self, instance: M, /, **values: Any) -> M:
        """Assigns several properties at once, all or none; gives the object back. Lists are assigned by themselves."""
        return storing.update(self, instance, values)

    def insert_columns(self, model: type[Model], columns: Mapping[str, Any], *, policy: str = "error") -> array[int]:
        """Many new objects of one class from one sequence per property: lists, arrays, NumPy arrays. All or none.

        Links are given as objects or as their keys. Gives the keys of the objects, in order. With a policy of
        upsert(), rows whose primary key exists are assigned to those objects. The error of a value that does not fit
        has its `row_index`."""
        return storing.insert_columns(self, model, columns, policy)

    def insert_rows(self, model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]], *,
                    policy: str = "error") -> array[int]:
        """insert_columns() from rows of values."""
        return storing.insert_rows(self, model, names, rows, policy)

    def import_data(self, model: type[Model], data: Any, *, policy: str = "error",
                    ignore_unknown: bool = False) -> ImportCounts:
        """Objects of a class from the rows of a table, in the open write or in one of its own; all or none.

        `data` is anything that hands out Arrow data (tables, batches and readers of pyarrow, DuckDB's relations,
        results of another database), a frame of pandas or polars, a dict of columns, or rows: dicts, dataclasses,
        pydantic models, named tuples. Columns are properties by name, embedded objects structs or dicts, links object
        keys. `ignore_unknown` passes over columns that the class does not have; policies are those of upsert(). Errors
        name column and row."""
        return importing.import_data(self, model, data, policy, ignore_unknown)

    def _update_all(self, what: Collection[Any], values: Mapping[str, Any]) -> int:
        return storing.update_all(self, what, values)

    def delete(self, what: Union[Model, Collection[Any], Iterable[Model]]) -> int:
        """Deletes an object, all objects of a collection, or several objects; tells how many there were."""
        return storing.delete(self, what)

    def delete_all(self) -> int:
        """Deletes every object of every class, in the open write; tells how many there were."""
        return self._realm.delete_all()

    # -------------------------------------------------------------------------------------------- reading

    @overload
    def objects(self, model: type[M]) -> Results[M]: ...
    @overload
    def objects(self, model: type[P]) -> Results[P]: ...
    @overload
    def objects(self, model: str) -> Results[Any]: ...
    def objects(self, model: Union[type[Model], type[Projection[Any]], str]) -> Results[Any]:
        """All objects of a class, live, or all that a projection can show."""
        if isinstance(model, type) and issubclass(model, Projection):
            return model._results_of(self.objects(model._model))
        row = self._row_of(model)
        return Results(self, self._realm.class_all(row.class_id))

    def count(self, model: Union[type[Model], str]) -> int:
        """How many objects of a class there are."""
        return self._realm.class_count(self._row_of(model).class_id)

    @overload
    def get(self, model: type[M], primary_key: PrimaryKey) -> Optional[M]: ...
    @overload
    def get(self, model: str, primary_key: PrimaryKey) -> Any: ...
    def get(self, model: Union[type[Model], str], primary_key: PrimaryKey) -> Any:
        """The object with a primary key, or None. WrongTypeError for a value that no primary key can be."""
        found: Any = _objects.find(self, model, primary_key)
        if found is not NotImplemented:
            return found
        row = self._row_of(model)
        if row.primary_key is not None and (converter := row.properties[row.primary_key].converter) is not None:
            primary_key = converter.for_query(primary_key)
        try:
            key = self._realm.row_find(row.class_id, primary_key)
            if key is None and primary_key is not None and row.primary_key is not None:
                # A value that could not be one is a mistake: "1" where keys are ints.
                declared = row.properties[row.primary_key].declared
                if declared.converter is None:
                    fields.check_value(declared, primary_key)
        except errors.NOWHERE:
            return None
        return None if key is None else self._object(row.class_id, key)

    @overload
    def one(self, model: type[M], primary_key: PrimaryKey) -> M: ...
    @overload
    def one(self, model: str, primary_key: PrimaryKey) -> Any: ...
    def one(self, model: Union[type[Model], str], primary_key: PrimaryKey) -> Any:
        """The object with a primary key, or ObjectNotFoundError."""
        found = self.get(model, primary_key)
        if found is None:
            name = self._row_of(model).model.__name__
            raise errors.ObjectNotFoundError(f"there is no {name} {primary_key!r}", class_name=name)
        return found

    @overload
    def at(self, model: type[M], object_key: int) -> M: ...
    @overload
    def at(self, model: str, object_key: int) -> Any: ...
    def at(self, model: Union[type[Model], str], object_key: int) -> Any:
        """The object with a row number, as `object_key`, `keys()` and batch inserts give it."""
        row = self._row_of(model)
        if abs(operator.index(object_key)) > sys.maxsize or not self._realm.row_exists(row.class_id, object_key):
            name = row.model.__name__
            raise errors.ObjectNotFoundError(f"there is no {name} with key {object_key}", class_name=name)
        return self._object(row.class_id, object_key)

    def query(self, model: type[M], condition: query.Condition = "", /, *arguments: Any,
              **named: Any) -> PreparedQuery[M]:
        """Compiles a query, to run it often or to explain it; takes what where() takes, and SORT and LIMIT in text."""
        row = self._row_of(model)
        compiled = query.condition(row.model, condition, arguments, named)
        native = self._realm.query(row.class_id, compiled.text, self._arguments(compiled.arguments))
        bound: dict[Union[int, str], Any] = dict(enumerate(compiled.values))
        bound.update(compiled.named)
        return PreparedQuery(self, native, model, compiled.text,
                             {place: self._arguments([value]) for place, value in bound.items()}, compiled.stores)

    def backlinks(self, instance: Model, origin: Any) -> Backlinks[Any]:
        """The objects that link to this one through a property of theirs, declared as inverse or not:
        `db.backlinks(ada, Dog.owner)`."""
        if not isinstance(origin, predicates.Path) or len(origin._names) != 1:
            raise TypeError(f"a linking property is wanted, as in db.backlinks(ada, Dog.owner), not {origin!r:.60}")
        bound = self._row_of(origin._model).bound(origin._names[0])
        link = self._link(instance)
        return Backlinks(self, self._realm.row_backlinks(link.class_id, link.key, bound.info.id))

    # -------------------------------------------------------------------------------------------- notifications

    def observe(self, callback: Callable[[DatabaseChange], None]) -> Observation:
        """Calls back when another version is shown, for as long as the result is kept."""
        return observe_database(self, callback)

    def changes(self, timeout: Optional[float] = None) -> ChangeStream[DatabaseChange]:
        """The versions shown, one after the other: `for change in db.changes(timeout=5)`, or `async for`. Ends when
        `timeout` seconds pass without one."""
        return database_changes(self, timeout)

    def fileno(self) -> int:
        """A descriptor that is readable while dispatch() has work, for select, poll and event loops:
        `loop.add_reader(db, db.dispatch)`."""
        return self._delivery.fileno()

    def dispatch(self, timeout: Optional[float] = 0) -> int:
        """Shows the newest version and calls what observes it; tells how many deliveries there were. Waits for the
        first up to `timeout` seconds, None without limit, which is an error in a write: nothing is delivered there."""
        if self._closed:
            # Nothing will come any more.
            raise errors.ClosedError("the database has been closed")
        return _callbacks.delivering(lambda: self._delivery.dispatch(timeout))

    # -------------------------------------------------------------------------------------------- other threads

    def resolve(self, reference: Reference[T]) -> Optional[T]:
        """What a reference stands for, in this database; None where it has been deleted, belongs to another file, or
        was made in a write, or in a block of one, that is not committed. A database that shows an older version
        refreshes."""
        return reference._resolved(self)

    def queue_write(self, function: Callable[[Database], T]) -> Future[T]:
        """Queues a write and returns at once, on any thread. The database's own thread runs `function(db)` in a write
        when it dispatches and nobody else is writing; raising undoes it. The future has what it returned.

        Whoever waits for the future on the database's own thread has to dispatch, `db.dispatch(None)`; under asyncio
        use write_async(). Objects that it returns belong to the database's thread."""
        return handover.queue_write(self, function)[0]

    async def write_async(self, function: Callable[[Database], T]) -> T:
        """Runs `function(db)` in a write when it is its turn, without holding up the event loop meanwhile, and gives
        what it returned when that is committed; raising undoes it. For the loop of the database's own thread."""
        return await handover.write_async(self, function)

    # -------------------------------------------------------------------------------------------- the file as a whole

    @property
    def schema_version(self) -> int:
        """The number that open() gave the schema."""
        return self._realm.info().schema_version

    def copy_to(self, path: Path, *, progress: Optional[Progress] = None,
                encryption_key: Union[bytes, Literal["same"], None] = "same") -> None:
        """Writes what is shown to a new file without free pages, in a write with its changes so far; others go on.

        Its key is that of this file unless another `encryption_key` is given; with None it is not encrypted."""
        maintenance.copy(self._realm, path, progress, encryption_key)

    def compact(self, *, progress: Optional[Progress] = None) -> Compaction:
        """Rewrites the file without free pages. BusyError if anybody else has it open, frozen things included.

        The file is let go of meanwhile. Where the database cannot come back to it, because another program has migrated
        it or it is gone, that is the error, and the database is closed.
        """
        try:
            return Compaction(*self._realm.compact(progress))
        finally:
            # It has opened the file again, or has been closed.
            try:
                self._identity = (self._realm.info().database_number, self._identity[1])
            except errors.ClosedError:
                self.close()

    def compact_online(
        self, *, max_bytes: Optional[int] = None, progress: Optional[Progress] = None
    ) -> OnlineCompaction:
        """Gives back space while others read and write, in commits of up to 4 MB in which no object changes.

        `max_bytes` bounds what one call moves. What older versions need that somebody shows is `bytes_held`; a later
        call gives it back. The database continues at the newest version."""
        return maintenance.compact_online(self._realm, max_bytes, progress)

    def verify(self, *, progress: Optional[Progress] = None) -> Report:
        """Looks at everything in the version shown and compares it with everything else."""
        return Report._read(self._realm.verify(progress))

    def space(self, *, progress: Optional[Progress] = None) -> Space:
        """Where the bytes of the file are, in all and by class."""
        return maintenance.space_of(self._realm, progress)

    def readers(self) -> list[Reader]:
        """Every version that some process shows, the oldest first."""
        return maintenance.readers_of(self._realm)

    # -------------------------------------------------------------------------------------------- change batches

    @property
    def origin(self) -> uuid.UUID:
        """By which change batches name this file. A copy has another one."""
        return changes.origin(self._realm)

    def changes_since(self, version: Union[int, Database]) -> ChangeBatch:
        """What changed after a version, up to the newest one, as a batch that another file can apply; from version 0,
        everything. HistoryUnavailableError where the change log does not reach back so far: see keep_changes().

        With the database as it was before, which freeze() gave, the batch says what was there before, and has an
        inverse(); SchemaMismatchError if the schema was changed in between."""
        if isinstance(version, Database):
            return changes.between(self._realm, version._realm)
        return changes.read(self._realm, version)

    def changes_to(self, other: Database) -> ChangeBatch:
        """What leads from what this database shows to what another one shows, most often of another file: applied to
        this one, or to a file that has the same objects with the same values where they differ, it gives what `other`
        has. Objects are the same if they have the same primary key, or, without one, the same key. It has an inverse(),
        unless it adds to the schema; SchemaMismatchError if the schema of `other` is not this one's with additions."""
        if not isinstance(other, Database):
            raise errors.WrongTypeError(f"changes lead to a Database, not to {type(other).__name__}")
        return changes.difference(self._realm, other._realm)

    def on_commit(self, function: Optional[Callable[[ChangeBatch], None]], *, reversible: bool = False) -> None:
        """Has `function` called before each commit of this database that changes something, with the changes, before
        anything is durable: it may store them elsewhere first. What it raises cancels the write, and leaves the call
        that commits. It cannot use this database meanwhile (ReentrantError). With `reversible`, batches have an
        inverse(), unless the schema changes. One function a database; None: none."""
        changes.on_commit(self._realm, function, reversible)

    def apply(self, batch: Union[ChangeBatch, bytes, bytearray, memoryview], *,
              timeout: Optional[float] = None) -> bool:
        """Applies a batch as one write, of which observers are notified as of any other. False if the file has these
        changes already. OutOfSequenceError, HistoryForkedError or SchemaMismatchError if the batch is not what comes
        next; then nothing is changed."""
        limit = checked_timeout(timeout)
        return changes.apply(self._realm, batch, -1 if limit is None else int(limit * 1000))

    def applied_version(self, origin: uuid.UUID) -> Optional[int]:
        """Up to which version the batches of an origin have been applied to this file; None: none."""
        return changes.applied_version(self._realm, origin)

    def keep_changes(self, since: Optional[int], consumer: Optional[str] = None) -> bool:
        """From now on the change log keeps all changes after that version; with None, only what observers need. Its
        own write.

        A named `consumer` has a position of its own, that no other moves; the log is kept from the oldest on, for 64
        names at most. With None nothing is kept for it any more; False if there was none of that name."""
        return changes.keep(self._realm, since, consumer)

    def change_consumers(self) -> list[ChangeConsumer]:
        """Whoever the change log is kept for, by name; what keep_changes() said without a name first."""
        return changes.consumers(self._realm)

    # -------------------------------------------------------------------------------------------- JSON and CSV

    def export_json(
        self, path: Optional[Path] = None, what: Union[None, type[Model], Model, Collection[Any], Map[Any]] = None, *,
        lines: bool = False, document: bool = False, columns: Optional[Sequence[Any]] = None,
        nested_links: bool = False, depth: Optional[int] = None, progress: Optional[Progress] = None,
    ) -> Optional[str]:
        """Writes a class, a collection or an object to a file, or gives its text without a path. Without either,
        everything: JSON Lines with the schema first, or one JSON `document`, which import_json() makes a database of
        again.

        An array, or with `lines` an object a line. `columns` are properties, also behind links (`"friend.name"`).
        Links are references; with `nested_links`, the objects themselves down to a `depth`."""
        return exchange.export_json(
            self, path, what, lines=lines, document=document, columns=columns, nested_links=nested_links, depth=depth,
            progress=progress)

    def export_csv(
        self, path: Optional[Path], what: Union[type[Model], Collection[Any], Map[Any]], *,
        columns: Optional[Sequence[Any]] = None, delimiter: str = ",", null: str = "NA",
        progress: Optional[Progress] = None,
    ) -> Optional[str]:
        """Writes a class or a collection of objects to a CSV file, or gives the text for the path None."""
        return exchange.export_csv(
            self, path, what, columns=columns, delimiter=delimiter, null=null, progress=progress)

    def export_sqlite(self, path: Path, *, progress: Optional[Progress] = None) -> None:
        """Everything as a new SQLite file: tables, foreign keys, join tables, and the schema, of which import_sqlite()
        makes the same database again. An existing file is an error."""
        exchange.export_sqlite(self, path, progress=progress)

    def import_sqlite(
        self, path: Path, *, policy: str = "error", batch_rows: int = 0, commit_every: int = 0,
        progress: Optional[Progress] = None,
    ) -> ImportCounts:
        """All objects of a SQLite file, in the open write or in one of its own; the database has the classes of
        sqlite_schema(). What is not kept is in sqlite_notes(). See import_json() for the options."""
        return exchange.imported(
            self, None, path, None, format_=exchange.SQLITE, policy=policy, batch_rows=batch_rows,
            commit_every=commit_every, progress=progress)

    def import_json(
        self, model: Optional[type[Model]] = None, path: Optional[Path] = None, *,
        text: Union[str, bytes, None] = None, policy: str = "error", ignore_unknown: bool = False,
        batch_rows: int = 0, commit_every: int = 0, progress: Optional[Progress] = None,
    ) -> ImportCounts:
        """Objects of a class from an array, from JSON Lines or from one object; without a class from a dump, or from
        lines that name the class of each.

        In the open write, or in one of its own. Policies are those of upsert(). `ignore_unknown` passes over names
        that the class does not have; `commit_every` commits on the way, after that many rows, which a block within a
        write rules out (InvalidArgumentError)."""
        return exchange.imported(
            self, model, path, text, format_=exchange.JSON, policy=policy, ignore_unknown=ignore_unknown,
            batch_rows=batch_rows, commit_every=commit_every, progress=progress)

    def import_realm_file(
        self, path: Path, *, source_key: Optional[bytes] = None, policy: str = "error", commit_every: int = 0,
        resume: bool = False, strict: bool = False, progress: Optional[Progress] = None,
    ) -> Conversion:
        """All objects of a Realm file, in the open write, or in one of its own. The database has the classes of the
        file: open it with those of realm_file_schema(), or with models that say the same.

        Policies are those of upsert(), for objects with primary keys; all others are new. `commit_every` commits on the
        way, after that many objects, and `resume` goes on behind what such an import has committed. With `strict`, what
        would be in the `notes` of the result is an error. See convert() for a database of its own."""
        return realmfiles.imported(
            self, path, source_key=source_key, policy=policy, commit_every=commit_every, resume=resume, strict=strict,
            progress=progress)

    def import_csv(
        self, model: type[Model], path: Optional[Path] = None, *, text: Union[str, bytes, None] = None,
        policy: str = "error", delimiter: str = ",", null: str = "NA", batch_rows: int = 0, commit_every: int = 0,
        progress: Optional[Progress] = None,
    ) -> ImportCounts:
        """Objects of a class from a CSV file whose first line names properties. See import_json(), and csv_schema()
        for a class that is not there yet. `null` is a text that stands for None, beside the empty field."""
        return exchange.imported(
            self, model, path, text, format_=exchange.CSV, policy=policy, delimiter=delimiter, null=null,
            batch_rows=batch_rows, commit_every=commit_every, progress=progress)


schema.lent_database = lambda realm, classes: Database(realm, None, classes)
