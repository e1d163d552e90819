"""One write of a database: a block that commits at its end and cancels when it raises."""
from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Optional

from . import _objects, errors
from ._protocols import AnyDatabase
from ._waiting import SLICE_MS, checked_timeout, deadline_of, left_ms
from .notifications import Observation


class Write(_objects.Write):
    """One write: `with db.write():`. The block is committed at its end, or cancelled when it raises."""

    def __init__(self, database: AnyDatabase, timeout: Optional[float], skipping: Iterable[Observation] = ()) -> None:
        self._database, self._timeout = database, checked_timeout(timeout)
        self._skipping = [observation._token for observation in skipping]
        self.is_open = False
        self.was_cancelled = False
        #: What the commit made, None before.
        self.version: Optional[int] = None
        self._task: Any = None
        self._first_new: dict[int, int] = {}

    def __enter__(self) -> Write:
        database = self._database
        # The library's is open without ours in a migration, in `first_open` and in callbacks while a write begins.
        if database._write is not None or database._realm.in_write():
            database._check_task()
            raise errors.AlreadyInWriteError("a write is open already; writes cannot be nested")
        deadline = deadline_of(self._timeout)
        while True:
            left = left_ms(deadline)
            try:
                database._realm.begin_write(min(left, SLICE_MS))
                break
            except errors.WriteTimeoutError as error:
                if error.system_error == errno.EDEADLK:
                    # Another database of this thread is in a write, which cannot end meanwhile.
                    if deadline is None:
                        raise errors.ReentrantError(error.message) from None
                    raise
                if deadline is not None and left <= SLICE_MS:
                    raise
            except BaseException:
                # A callback failed while changes were delivered: the write itself may have begun.
                if database._realm.in_write():
                    database._realm.cancel()
                raise
        self._begun()
        return self

    def _begun(self) -> None:
        self._task = current_task()
        self.is_open = True
        self._database._write = self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if not self.is_open:
            return
        if error is None:
            self._commit()
            return
        try:
            self.cancel()
        except errors.Error as failure:
            # What left the block is what matters, wherever that happened: after fork(), on another thread.
            if hasattr(error, "add_note"):
                error.add_note(f"The write could not be cancelled here: {failure}")

    def _commit(self) -> None:
        realm = self._database._realm
        self._check_thread()
        try:
            # Callbacks run in here and may look at the database, which is no longer in this write.
            self._end(cancelled=False)
            self.version = realm.commit(self._skipping)
        except BaseException:
            if realm.in_write():
                self.was_cancelled = True
                realm.cancel()
            raise

    def cancel(self) -> None:
        """Drops the changes of the block, whose end then does nothing."""
        if self.is_open:
            self._check_thread()
            self._end(cancelled=True)
            if not self._database.closed:
                self._database._realm.cancel()

    def _check_thread(self) -> None:
        """On another thread than its own, the write stays open: that one can still commit or cancel it."""
        try:
            self._database._realm.check()
        except errors.WrongThreadError:
            raise
        except errors.Error:
            # Whatever else there is, ending it says or mends.
            pass

    def _end(self, cancelled: bool) -> None:
        self.is_open, self.was_cancelled = False, cancelled
        self._database._write = None

    def first_new(self, class_id: int) -> int:
        """The lowest key this write gave to an object of a class."""
        return self._first_new.get(class_id, sys.maxsize)

    def _made(self, class_id: int, key: int) -> None:
        if key < self.first_new(class_id):
            self._first_new[class_id] = key


def current_task() -> Any:
    """The task that runs, None outside of event loops; there, asyncio.current_task() would raise, which costs more than
    what asks."""
    loop = _running_loop()
    return None if loop is None else asyncio.current_task(loop)


_running_loop = asyncio._get_running_loop
