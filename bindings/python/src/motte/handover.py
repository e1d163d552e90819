"""Handing over to other threads: references to what is stored, and writes that the database's own thread runs."""
from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, cast

from . import _callbacks, errors
from ._coll import Coll, Query, object_link
from ._guard import current_task
from ._held import Held
from ._protocols import AnyDatabase
from ._realm import reference
from .delivery import Waiter
from .maps import Map
from .model import Model
from .prepared import PreparedQuery
from .projections import Projection
from .results import Collection, remake
from .write import Write

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
D = TypeVar("D", bound=AnyDatabase)


class Reference(Generic[T]):
    """Stands for an object, a collection or a prepared query on its way to another thread, which resolves it, once:

        reference = motte.Reference(ada)       # where she is
        ada = db.resolve(reference)            # in a database of that thread; None if she was deleted meanwhile

    It shows what is committed: made in a write, it is None until that has been committed. It keeps the version it was
    made at on disk, until it is resolved or dropped. Sections by a function stay at home: hand over the collection."""

    def __init__(self, thing: T) -> None:
        #: None for an object.
        self._make: Optional[Callable[..., T]] = None
        #: How an object is seen.
        self._projection: Optional[Callable[[Any], Any]] = None
        instance: Any = thing
        if isinstance(thing, Projection):
            self._projection, instance = type(thing), thing.root
        if isinstance(instance, Model):
            row = Model._stored_row(instance, "handing over")
            key = Model._live_key(instance)
            self._native = reference(row.realm.object(row.class_id, key))
            self._held = None if instance._write is None else Held([(instance._write, row.class_id, key)])
            return
        if not isinstance(thing, (Collection, Map, PreparedQuery)):
            raise errors.WrongTypeError(
                f"objects, collections, projections and queries have references, not {thing!r:.60}")
        native = thing._native if isinstance(thing, PreparedQuery) else thing._coll
        if isinstance(native, Coll) and native.calls_function():
            raise errors.InvalidArgumentError(
                "a section by a function of this thread's database stays here; hand over the collection")
        self._native = reference(native.handle)
        self._make = remake(thing)
        #: Objects that it was made with, where these may be lost.
        self._held, self._seen = native.held, None if isinstance(native, Query) else native.seen
        self._is_query = isinstance(thing, PreparedQuery)

    def __reduce__(self) -> Any:
        raise TypeError("a Reference is for threads of this process; hand the primary key to another process")

    def _resolved(self, database: AnyDatabase) -> Optional[T]:
        handle = database._realm.resolve(self._native)
        if handle is None:
            return None
        if self._make is None:
            if self._held is not None and self._held.has_lost():
                return None
            made = database._object(*object_link(handle))
            return cast(T, made if self._projection is None else self._projection(made))
        if self._is_query:
            return self._make(database, _native=Query(handle, database._realm.guard, self._held))
        return self._make(database, _coll=Coll(
            handle, database._realm.guard, held=self._held, seen=self._seen))


class _Queued:
    """A write that waits for its turn, and its future. The library owns it, and lets go of it when it has run or never
    will. It holds no database: that would keep what keeps it."""

    # Also of one that an interrupt has kept from being made.
    _future: Optional[Future[Any]] = None
    _function: Optional[Callable[[Any], Any]] = None
    #: The outcome; None as long as it is unknown.
    _status: Optional[int] = None

    def __init__(self, database: D, function: Callable[[D], Any], future: Future[Any]) -> None:
        self._home: weakref.ref[Any] = weakref.ref(database)
        self._write: Optional[Write] = None
        self._result: Any = None
        self._failure: Optional[BaseException] = None
        self._function = function
        # Last: there is somebody to be told from here on.
        self._future = future

    def __call__(self, status: Optional[int], _: int) -> None:
        # First: where an interrupt comes before the future has it, the end of this object sees to that.
        self._status = status
        if status is None:
            self._work()
        else:
            self._done(status)

    def _work(self) -> None:
        errors.raised.queued = None
        database, function, future = self._home(), self._function, self._future
        assert database is not None and function is not None and future is not None  # it is what dispatches
        # Nor does the frame, which the traceback of what the function raises will hold.
        self._function = None
        write = self._write = Write(database, None)
        try:
            write._begun()
            if not future.set_running_or_notify_cancel():
                import asyncio

                self._future = None
                raise asyncio.CancelledError
            self._result = function(database)
            _refuse_coroutine(self._result)
            write._end(cancelled=False)
            if write._skipping:
                # The library's own commit would notify them.
                database._realm.commit(write._skipping)
            else:
                # Last: the library commits it next, which on_commit() may refuse.
                errors.raised.queued = self
        except BaseException as error:
            self._failure = error
            write._end(cancelled=True)
            raise
        finally:
            del future

    def _done(self, status: int) -> None:
        if self._write is not None:
            self._write._settle(cancelled=status < 0)
        future = self._future
        if future is not None and status >= 0:
            future.set_result(self._result)
        elif future is not None and (future.running() or future.set_running_or_notify_cancel()):
            future.set_exception(self._failure or errors.made(status))
        self._write = self._future = self._result = self._failure = None

    def __del__(self) -> None:
        future = self._future
        if future is None or future.done():
            return
        if self._status is not None:
            self._done(self._status)
        elif self._function is None:
            future.set_exception(errors.OutcomeUnknownError(
                "this write was interrupted as it ended; look for what it did before doing it again"))
        else:
            future.set_exception(errors.ClosedError("the database was closed before this write had its turn"))


def _refuse_coroutine(result: Any) -> None:
    if isinstance(result, types.CoroutineType):
        result.close()
        raise errors.WrongTypeError("the function of a queued write is a plain one; nobody awaits a coroutine")


def queue_write(database: D, function: Callable[[D], T]) -> tuple[Future[T], int]:
    """The future, and the ticket to cancel it by."""
    from concurrent.futures import Future

    _callbacks.checked(function, "what runs in a queued write")
    future: Future[T] = Future()
    return future, database._realm.queue_write(_Queued(database, function, future))


class _QueuedWaiter(Waiter):
    """Has the loop dispatch; the outcome is that of its future."""

    def fail(self, failure: Exception) -> bool:
        return False


async def write_async(database: D, function: Callable[[D], T]) -> T:
    import asyncio

    # In the loop of another thread nobody would run it.
    database._realm.check()
    if database._write is not None and database._write._task is current_task():
        raise errors.AlreadyInWriteError(
            "this task has a write open, which would wait for itself; await write_async() after its block")
    waiter = _QueuedWaiter(asyncio.get_running_loop())
    future, ticket = queue_write(database, function)
    outcome = asyncio.wrap_future(future)
    try:
        database._delivery.begin(waiter)
        return await outcome
    finally:
        database._delivery.end(waiter)
        if not future.done() or future.cancelled():
            future.cancel()
            if not database.closed:
                database._realm.cancel_queued(ticket)
        elif outcome.done() and not outcome.cancelled():
            # A task that was cancelled meanwhile does not ask.
            outcome.exception()
