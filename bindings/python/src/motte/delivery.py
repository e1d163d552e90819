"""How a Database hears of changes: observing it, dispatching what its queue holds, and event loops."""
from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Optional, cast

from . import errors

if TYPE_CHECKING:
    from .database import Database
    from .notifications import ChangeStream, DatabaseChange, Observation


class Delivery:
    def observe(self, callback: Callable[[DatabaseChange], None]) -> Observation:
        """Calls back when another version is shown, for as long as the result is kept."""
        db = cast("Database", self)
        from .notifications import observe_database

        return observe_database(db, callback)

    def changes(self, timeout: Optional[float] = None) -> ChangeStream[DatabaseChange]:
        db = cast("Database", self)
        from .notifications import database_changes

        return database_changes(db, timeout)

    def fileno(self) -> int:
        """A descriptor that is readable while dispatch() has work, for select, poll and event loops:
        `loop.add_reader(db, db.dispatch)`."""
        db = cast("Database", self)
        if db._queue is None:
            raise errors.FrozenError("a frozen database never changes")
        return db._queue.fd()

    def dispatch(self, timeout: Optional[float] = 0) -> int:
        """Shows the newest version and calls what observes it; tells how many deliveries there were. Waits for the
        first up to `timeout` seconds, None without limit."""
        db = cast("Database", self)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            delivered = db._dispatch_once()
            if delivered or not db._sleep(deadline):
                return delivered

    def _dispatch_once(self) -> int:
        db = cast("Database", self)
        if db._queue is None:
            raise errors.FrozenError("a frozen database never changes")
        return db._queue.dispatch()

    def _sleep(self, deadline: Optional[float]) -> bool:
        """Until there is something to dispatch, which includes what a stream fetches; False when the time is up."""
        db = cast("Database", self)
        assert db._queue is not None
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            own = db._queue.timeout_ms()
            limits = ([] if left is None else [left * 1000]) + ([own] if own >= 0 else [])
            poll = select.poll()
            poll.register(db._queue.fd(), select.POLLIN)
            if poll.poll(min(limits) if limits else None) or own >= 0 and own == min(limits):
                return True

    async def _dispatched(self) -> None:
        """Until the event loop has dispatched. All waiters share one reader."""
        db = cast("Database", self)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not db._waiters:
            self._listen(loop)
        db._waiters.add(future)
        try:
            await future
        finally:
            if future in db._waiters:
                db._waiters.discard(future)
                if not db._waiters:
                    self._stop_listening(loop)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        db = cast("Database", self)
        loop.add_reader(db.fileno(), self._readable)
        assert db._queue is not None
        # A queued write that somebody else's write holds up.
        pause = db._queue.timeout_ms()
        if pause >= 0:
            db._retry = loop.call_later(pause / 1000, self._readable)

    def _stop_listening(self, loop: asyncio.AbstractEventLoop) -> None:
        db = cast("Database", self)
        loop.remove_reader(db.fileno())
        if db._retry is not None:
            db._retry.cancel()
            db._retry = None

    def _readable(self) -> None:
        failure: Optional[Exception] = None
        try:
            self.dispatch()
        except Exception as error:
            failure = error
        self._wake(failure)

    def _wake(self, failure: Optional[Exception]) -> None:
        """All waiters; who goes on waiting listens again."""
        db = cast("Database", self)
        waiters, db._waiters = db._waiters, set()
        for future in waiters:
            if not future.done():
                if failure is None:
                    future.set_result(None)
                else:
                    future.set_exception(failure)
        if waiters:
            self._stop_listening(next(iter(waiters)).get_loop())
