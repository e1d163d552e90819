"""One write of a database: a block that commits at its end and cancels when it raises. A block inside another one is a
part of it that is undone alone."""
from __future__ import annotations

import errno
import sys
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

from . import _objects, errors
from ._protocols import AnyDatabase
from ._waiting import SLICE_MS, checked_timeout, deadline_of, left_ms, left_seconds
from .notifications import Observation

if TYPE_CHECKING:
    import asyncio


class Write(_objects.Write):
    """One write: `with db.write():`, or `async with db.write():`, which waits for its turn without holding up the event
    loop. The block is committed at its end, or cancelled when it raises.

    A block inside the block of the same task is a part of that: what it did is undone alone when it raises, and
    committed or cancelled with the outer block otherwise."""

    def __init__(self, database: AnyDatabase, timeout: Optional[float], skipping: Iterable[Observation] = ()) -> None:
        self._database, self._timeout = database, checked_timeout(timeout)
        self._skipping = [observation._token for observation in skipping]
        #: Whether what it did may still be lost: the outermost block is open.
        self.is_open = False
        self.was_cancelled = False
        #: What the commit made, None before.
        self.version: Optional[int] = None
        self._task: Any = None
        self._first_new: dict[int, int] = {}
        self._outer: Optional[Write] = None
        #: Inner blocks that have ended well.
        self._kept: list[Write] = []
        self._savepoint: Optional[int] = None
        self._turn: Optional[asyncio.Lock] = None

    # -------------------------------------------------------------------------------------------- beginning

    def __enter__(self) -> Write:
        if self._begins_inside():
            return self
        deadline = deadline_of(self._timeout)
        while True:
            left = left_ms(deadline)
            try:
                self._begin(min(left, SLICE_MS))
                return self
            except errors.WriteTimeoutError as error:
                if error.system_error == errno.EDEADLK:
                    # Another database of this thread is in a write, which cannot end meanwhile.
                    if deadline is None:
                        raise errors.ReentrantError(error.message) from None
                    raise
                if deadline is not None and left <= SLICE_MS:
                    raise
            except BaseException:
                self._give_up()
                raise

    def _begin(self, timeout_ms: int) -> None:
        """Waits for the lock. Callbacks that are called meanwhile find a write that is not open yet."""
        database = self._database
        self._task, database._write = current_task(), self
        try:
            database._realm.begin_write(timeout_ms)
        except BaseException:
            database._write = None
            raise
        self._begun()

    def _begun(self) -> None:
        self._task = current_task()
        self.is_open = True
        self._database._write = self
        _open.add(self)

    def _begins_inside(self) -> bool:
        """Whether it is a block inside another one, and began. The library's write is open without a block of ours in a
        migration, in `first_open` and in a queued write."""
        database = self._database
        outer: Any = database._write
        if outer is None and not database._realm.in_write():
            return False
        database._check_task()
        if outer is not None and not outer.is_open:
            raise errors.AlreadyInWriteError("a write is just beginning; a callback of it cannot begin another one")
        if self.is_open:
            raise errors.AlreadyInWriteError("this block is open already; write db.write() for another one inside it")
        self._savepoint = database._realm.savepoint()
        self._outer = outer
        self._begun()
        return True

    async def __aenter__(self) -> Write:
        import asyncio

        database = self._database
        task, deadline = current_task(), deadline_of(self._timeout)
        if database._write is not None and database._write._task is task or (
                database._write is None and database._realm.in_write()):
            self._begins_inside()
            return self
        turn = _turn_of(database, asyncio.get_running_loop())
        try:
            # wait_for() with no time left gives up what it could have at once.
            await (asyncio.wait_for(turn.acquire(), left_seconds(deadline)) if turn.locked() else turn.acquire())
        except asyncio.TimeoutError:
            raise _timed_out() from None
        try:
            pause = 0.001
            while database._write is not None or not self._has_begun():
                left = left_seconds(deadline)
                if left is not None and left <= 0:
                    raise _timed_out()
                await asyncio.sleep(pause if left is None else min(pause, left))
                pause = min(2 * pause, 0.02)
        except BaseException:
            turn.release()
            raise
        self._turn = turn
        return self

    def _has_begun(self) -> bool:
        """Tries it once."""
        try:
            self._begin(0)
        except errors.WriteTimeoutError as error:
            if error.system_error == errno.EDEADLK and any(
                    write.is_open and write._task is current_task() for write in _open):
                raise errors.ReentrantError(error.message) from None
            return False
        except BaseException:
            self._give_up()
            raise
        return True

    def _give_up(self) -> None:
        """A callback failed while changes were delivered, or an interrupt came: the write itself may have begun."""
        database = self._database
        if database._write is self:
            self._end(cancelled=True)
        if database._realm.in_write():
            database._realm.cancel()

    # -------------------------------------------------------------------------------------------- ending

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if not self._is_current():
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

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        turn, self._turn = self._turn, None
        try:
            self.__exit__(kind, error, traceback)
        finally:
            if turn is not None:
                turn.release()

    def _is_current(self) -> bool:
        """Whether the block has not ended, nor been cancelled."""
        write: Any = self._database._write
        while write is not None and write is not self:
            write = write._outer
        return self.is_open and write is self

    def _commit(self) -> None:
        realm = self._database._realm
        self._check_thread()
        if self._savepoint is not None:
            realm.release_savepoint(self._savepoint)
            outer = self._leave(kept=True)
            if outer is not None:
                outer._keep(self)
            else:
                self._finish(cancelled=False)
            return
        try:
            # Callbacks run in here and may look at the database, which is no longer in this write.
            self._end(cancelled=False)
            self.version = realm.commit(self._skipping)
        except BaseException:
            if realm.in_write():
                self._was_lost()
                realm.cancel()
            raise

    def cancel(self) -> None:
        """Drops the changes of the block, whose end then does nothing. Blocks inside it end too."""
        if not self._is_current():
            return
        self._check_thread()
        if self._savepoint is None:
            self._end(cancelled=True)
            if not self._database.closed:
                self._database._realm.cancel()
        elif not self._database.closed:
            self._database._realm.roll_back(self._savepoint)
            self._leave(kept=False)
            self._finish(cancelled=True)

    def _check_thread(self) -> None:
        """On another thread than its own, the write stays open: that one can still commit or cancel it."""
        try:
            self._database._realm.check()
        except errors.WrongThreadError:
            raise
        except errors.Error:
            # Whatever else there is, ending it says or mends.
            pass

    def _keep(self, inner: Write) -> None:
        self._kept.append(inner)
        self._skipping += inner._skipping
        for class_id, key in inner._first_new.items():
            self._made(class_id, key)

    def _leave(self, kept: bool) -> Optional[Write]:
        """The block around it goes on, which this gives; those inside it that are open end with it."""
        write: Any = self._database._write
        while write is not self:
            if kept:
                self._keep(write)
            else:
                write._finish(cancelled=True)
            write = write._left()
        outer: Optional[Write] = self._left()
        self._database._write = outer
        return outer

    def _left(self) -> Optional[Write]:
        """The block around it, which it no longer knows: the two would keep each other, and the database."""
        outer: Optional[Write] = self._outer
        self._outer = None
        return outer

    def _end(self, cancelled: bool) -> None:
        """With all blocks around it and inside it."""
        write: Any = self._database._write
        while write is not None:
            write._finish(cancelled)
            write = write._left()
        self._finish(cancelled)
        self._database._write = None

    def _finish(self, cancelled: bool) -> None:
        self.is_open, self.was_cancelled = False, cancelled
        _open.discard(self)
        for inner in self._kept:
            inner._finish(cancelled)

    def _was_lost(self) -> None:
        self.was_cancelled = True
        for inner in self._kept:
            inner._was_lost()

    # -------------------------------------------------------------------------------------------- what it made

    def first_new(self, class_id: int) -> int:
        """The lowest key this write gave to an object of a class."""
        return self._first_new.get(class_id, sys.maxsize)

    def _made(self, class_id: int, key: int) -> None:
        if key < self.first_new(class_id):
            self._first_new[class_id] = key

    def __reduce__(self) -> Any:
        raise TypeError("a Write belongs to its database and thread and cannot be pickled or copied")


#: Blocks that are open, of every database.
_open: weakref.WeakSet[Write] = weakref.WeakSet()
#: Who waits in an event loop for the block of another task on the same database.
_turns: weakref.WeakKeyDictionary[Any, tuple[Any, asyncio.Lock]] = weakref.WeakKeyDictionary()


def _turn_of(database: AnyDatabase, loop: Any) -> asyncio.Lock:
    import asyncio

    known = _turns.get(database)
    if known is not None and known[0]() is loop:
        return known[1]
    turn = asyncio.Lock()
    _turns[database] = weakref.ref(loop), turn
    return turn


def _timed_out() -> errors.Error:
    return errors.WriteTimeoutError("another one was writing all the time that a write may wait")


def current_task() -> Any:
    """The task that runs, None outside of event loops; there, asyncio.current_task() would raise, which costs more than
    what asks. As long as nobody has imported asyncio, no task runs."""
    global _running_loop
    if _running_loop is None:
        _running_loop = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
        if _running_loop is None:
            return None
    loop = _running_loop()
    return None if loop is None else sys.modules["asyncio"].current_task(loop)


_running_loop: Any = None
