"""One write of a database: a block that commits at its end and cancels when it raises. A block inside another one is a
part of it that is undone alone."""
from __future__ import annotations

import errno
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

from . import _objects, errors
from ._guard import current_task
from ._held import AnySeen
from ._protocols import AnyDatabase
from ._seen import Seen
from ._waiting import SLICE_MS, checked_timeout, deadline_of, left_ms, left_seconds
from .notifications import Observation

if TYPE_CHECKING:
    import asyncio


class _Nothing:
    """What is awaited and done."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


class Write(_objects.Write):
    """One write: `with db.write():`, or `async with db.write():`, which waits for its turn without holding up the event
    loop. The block is committed at its end, or cancelled when it raises.

    A block inside the block of the same task is a part of that: what it did is undone alone when it raises, and
    committed or cancelled with the outer block otherwise."""

    def __init__(self, database: AnyDatabase, timeout: Optional[float], skipping: Iterable[Observation] = ()) -> None:
        self._database, self._timeout = database, checked_timeout(timeout)
        self._skipping = [observation._token for observation in skipping]
        self._is_open = self._was_cancelled = False
        #: What the commit made, None before.
        self.version: Optional[int] = None
        self._task: Any = None
        #: The block around it.
        self._outer: Optional[Write] = None
        #: That one, when this one has ended and is a part of it.
        self._kept_in: Optional[Write] = None
        self._savepoint: Optional[int] = None
        self._was_used = False
        self._turn: Optional[_Turn] = None
        #: Whether it is a block inside another write, and whether its savepoint is released if it is gone.
        self._is_inside = self._is_released = False
        #: Whether there is nothing of it to be ended.
        self._is_over = True
        #: What objects are seen in, and the version before it, when it commits.
        self._seen: Optional[AnySeen] = None
        self._before: Optional[int] = None

    @property
    def is_open(self) -> bool:
        """Whether what it did may still be lost: the outermost block is open."""
        return self._is_open if self._kept_in is None else self._kept_in.is_open

    @property
    def was_cancelled(self) -> bool:
        """Whether what it did is lost."""
        return self._was_cancelled if self._kept_in is None else self._kept_in.was_cancelled

    def _use(self) -> None:
        """It is good for one block, also where that never began."""
        if self._was_used:
            raise errors.InvalidArgumentError("a Write is one block; write db.write() for another one")
        self._was_used = True

    # -------------------------------------------------------------------------------------------- beginning

    def __enter__(self) -> Write:
        self._use()
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
                    if any(write._ends_if_lost() for write in _all_open()):
                        continue
                    # Another database of this thread is in a write, which cannot end meanwhile.
                    if deadline is None:
                        raise errors.ReentrantError(error.message) from None
                    raise
                if deadline is not None and left <= SLICE_MS:
                    raise

    def _begin(self, timeout_ms: int) -> None:
        """Waits for the lock. Callbacks that are called meanwhile find a write that is not open yet."""
        database = self._database
        # On another thread nothing of the database is touched.
        database._realm.check()
        try:
            self._is_over = False
            self._task, self._seen = current_task(), Seen(None)
            database._seen, database._write = self._seen, self
            try:
                database._realm.begin_write(timeout_ms)
            except errors.WriteTimeoutError:
                # Nobody was called.
                self._end(cancelled=False)
                self._is_over = True
                raise
            self._begun()
        except BaseException:
            # A callback failed while changes were delivered, or an interrupt came: the write itself may have begun.
            self._abandon_open()
            raise

    def _begun(self) -> None:
        database = self._database
        self._task = current_task()
        if self._is_inside:
            self._seen = Seen(database._seen)
        elif self._seen is None:
            # A queued write: what observers saw as it began was seen in it.
            self._seen = database._seen or Seen(None)
        database._seen = self._seen
        self._is_open, self._was_cancelled, self._is_over, database._write = True, False, False, self
        if not self._is_inside:
            _open.add(self)

    def _begins_inside(self) -> bool:
        """Whether it is a block inside another one, and began. The library's write is open without a block of ours in a
        migration, in `first_open` and in a queued write."""
        database = self._database
        if database._write is not None:
            database._check_task()
        outer: Any = database._write
        if outer is None and not database._realm.in_write():
            return False
        database._check_task()
        if outer is not None and not outer.is_open:
            raise errors.AlreadyInWriteError("a write is just beginning; a callback of it cannot begin another one")
        self._is_inside = True
        try:
            self._savepoint = database._realm.savepoint()
            self._outer = outer
            self._begun()
        except BaseException:
            # The savepoint may be there although the block is not open yet.
            self._is_over = False
            self._abandon()
            raise
        return True

    async def __aenter__(self) -> Write:
        import asyncio

        self._use()
        database = self._database
        task, deadline = current_task(), deadline_of(self._timeout)
        if database._write is not None and database._write._task is task or (
                database._write is None and database._realm.in_write()):
            self._begins_inside()
            return self
        turn = _turn_of(database, asyncio.get_running_loop())
        await turn.take(deadline)
        try:
            pause = 0.001
            while database._write is not None and not database._write._ends_if_lost() or not self._has_begun():
                left = left_seconds(deadline)
                if left is not None and left <= 0:
                    raise _timed_out()
                await asyncio.sleep(pause if left is None else min(pause, left))
                pause = min(2 * pause, 0.02)
        except BaseException:
            turn.pass_on()
            raise
        self._turn = turn
        return self

    def _has_begun(self) -> bool:
        """Tries it once."""
        try:
            self._begin(0)
        except errors.WriteTimeoutError as error:
            if error.system_error == errno.EDEADLK and any(write._ends_if_lost() for write in _all_open()):
                return False
            if error.system_error == errno.EDEADLK and any(
                    write.is_open and write._task is current_task() for write in _all_open()):
                raise errors.ReentrantError(error.message) from None
            return False
        return True

    # -------------------------------------------------------------------------------------------- ending

    #: What the end of `async with` awaits: nothing.
    _awaited = _Nothing()

    def _ended(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
               traceback: Optional[TracebackType]) -> None:
        """The end of the block; see native/block.c."""
        if not self._is_current():
            # It was cancelled. That may have been interrupted when it had all but ended.
            self._abandon_open()
        elif error is None:
            self._commit()
        else:
            self._cancel_for(error)
        self._pass_on()

    def _cancel_for(self, error: BaseException) -> None:
        try:
            self.cancel()
        except errors.Error as failure:
            # What left the block is what matters, wherever that happened: after fork(), on another thread.
            if hasattr(error, "add_note"):
                error.add_note(f"The write could not be cancelled here: {failure}")
            self._abandon_open()

    def _abandon(self) -> None:
        """Ends what is open of it when beginning or ending it was interrupted, wherever that was, here too."""
        try:
            self._abandon_open()
        finally:
            self._pass_on()

    def _abandon_open(self) -> None:
        if self._is_over:
            return
        database, realm = self._database, self._database._realm
        try:
            self._check_thread()
        except errors.WrongThreadError:
            return
        if not self._is_inside:
            # What on_commit() refuses has ended; an interrupt that comes while observers are called undoes nothing.
            self._end_all(cancelled=not self._is_newer())
            return
        is_kept = False
        if self._savepoint is not None and not database.closed and realm.in_write():
            try:
                realm.roll_back(self._savepoint)
            except errors.Error as failure:
                is_kept = self._is_released and isinstance(failure, errors.InvalidArgumentError)
        self._leave(is_kept)

    def _end_all(self, cancelled: bool) -> None:
        """The outermost block, as far as it has not ended yet."""
        if cancelled:
            try:
                self._cancel_native()
            except errors.Error:
                # What keeps the library from it ends ours all the same.
                pass
        self._end(cancelled)
        self._settle(cancelled)
        self._database._delivery.write_has_ended()

    def _ends_if_lost(self) -> bool:
        """Whether the task of the block cannot go on, as its event loop is closed: then all of it is cancelled."""
        if self._task is None or not self._task.get_loop().is_closed():
            return False
        outermost: Write = self
        while outermost._outer is not None:
            outermost = outermost._outer
        outermost._abandon_open()
        return outermost._is_over

    def _pass_on(self) -> None:
        """The turn, to the next task."""
        turn = self._turn
        if turn is not None:
            turn.pass_on()
            self._turn = None

    def _is_current(self) -> bool:
        """Whether the block has not ended, nor been cancelled."""
        write: Any = self._database._write
        while write is not None and write is not self:
            write = write._outer
        return self._is_open and write is self

    def _commit(self) -> None:
        realm = self._database._realm
        self._check_thread()
        if self._savepoint is not None:
            self._is_released = True
            try:
                realm.release_savepoint(self._savepoint)
            except errors.Error:
                self._is_released = False
                raise
            self._leave(kept=True)
            return
        # What on_commit() refuses now is this, and no queued write before it.
        errors.raised.queued = None
        # What fails from here on, _abandon() ends.
        self._before = realm.version()[0]
        # Callbacks run in here and may look at the database, which is no longer in this write.
        self._end(cancelled=False)
        self.version = realm.commit(self._skipping)
        self._settle(cancelled=False)
        self._database._delivery.write_has_ended()

    def _is_newer(self) -> bool:
        """Whether it was committed: the database shows a newer version than before."""
        try:
            return self._before is not None and self._database._realm.version()[0] > self._before
        except errors.Error:
            return False

    def cancel(self) -> None:
        """Drops the changes of the block, whose end then does nothing. Blocks inside it end too."""
        if self._is_open and self._database._write is not self and self._database._is_between_commits:
            raise errors.ReentrantError(
                "an import within this block has just committed and goes on; let it fail instead")
        if not self._is_current():
            return
        self._check_thread()
        realm = self._database._realm
        if self._savepoint is None:
            try:
                self._cancel_native()
            except errors.Error:
                # What keeps the library from it ends ours all the same.
                self._end(cancelled=True)
                raise
            self._end_all(cancelled=True)
        elif not self._database.closed:
            realm.roll_back(self._savepoint)
            self._leave(kept=False)

    def _cancel_native(self) -> None:
        """That of the library, where an interrupt has not come after it before. An observer that the commit has called
        may have one of its own open."""
        database = self._database
        if database._write is not None and _chain(database._write, self) is None:
            return
        if not database.closed and database._realm.in_write():
            database._realm.cancel()

    def _check_thread(self) -> None:
        """On another thread than its own, the write stays open: that one can still commit or cancel it."""
        try:
            self._database._realm.check()
        except errors.WrongThreadError:
            raise
        except errors.Error:
            # Whatever else there is, ending it says or mends.
            pass

    # Interrupted anywhere, each of these can be done again: what they go by changes last.

    def _leave(self, kept: bool) -> None:
        """The block around it goes on; those inside it that are open end with it."""
        database, outer = self._database, self._outer
        inside = _chain(database._write, self)
        if inside is not None:
            self._finish(inside, not kept, outer if kept else None)
            if self._seen is not None:
                self._seen.end(database, not kept)
                database._seen = self._seen.around
            database._write = outer
        self._is_over = True

    def _end(self, cancelled: bool) -> None:
        """With all blocks around it and inside it. What becomes of what was seen in it, _settle() says."""
        database = self._database
        is_around = _chain(database._write, self) is not None
        others = [write for write in _chain(database._write, None) or [] if write is not self] if is_around else []
        for write in others:
            self._skip(write)
        self._finish(others, cancelled, None)
        _open.discard(self)
        if is_around:
            database._seen = database._write = None

    def _finish(self, others: Iterable[Write], cancelled: bool, kept_in: Optional[Write]) -> None:
        """This block and others that end with it."""
        for write in (*others, self):
            if kept_in is not None:
                kept_in._skip(write)
            write._was_cancelled, write._kept_in = cancelled, kept_in
            write._is_open = False
            if write is not self:
                write._is_over = True
                if write._seen is not None:
                    # Lost or kept with what is around it.
                    write._seen.is_open = False

    def _skip(self, inner: Write) -> None:
        self._skipping += [token for token in inner._skipping if token not in self._skipping]

    def _settle(self, cancelled: bool) -> None:
        """It is known now what has become of it."""
        self._was_cancelled = cancelled
        if self._seen is not None:
            self._seen.end(self._database, cancelled)
        self._is_over = True

    def __reduce__(self) -> Any:
        raise TypeError("a Write belongs to its database and thread and cannot be pickled or copied")


#: Blocks that are open, of every database.
_open: weakref.WeakSet[Write] = weakref.WeakSet()


def _all_open() -> list[Write]:
    while True:
        try:
            return list(_open)
        except RuntimeError:
            # Another thread has begun one meanwhile.
            continue


#: Whose turn it is in an event loop, by database.
_turns: weakref.WeakKeyDictionary[Any, _Turn] = weakref.WeakKeyDictionary()


class _Turn:
    """Which task of an event loop may wait for the write lock of a database: one, the others in the order they came.

    A task that is cancelled when its turn has just come passes it on and does not write, which asyncio.wait_for() did
    not see to before Python 3.12."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = weakref.ref(loop)
        self._is_taken = False
        #: In the order they came.
        self._places: dict[asyncio.Future[bool], None] = {}

    async def take(self, deadline: Optional[float]) -> None:
        loop = self.loop()
        if not self._is_taken or loop is None:
            self._is_taken = True
            return
        place: asyncio.Future[bool] = loop.create_future()
        self._places[place] = None
        left = left_seconds(deadline)
        timer = None if left is None else loop.call_later(max(0, left), _leave, place)
        try:
            comes = await place
        except BaseException:
            if place.done() and not place.cancelled() and place.result():
                self.pass_on()
            raise
        finally:
            self._places.pop(place, None)
            if timer is not None:
                timer.cancel()
        if not comes:
            raise _timed_out()

    def pass_on(self) -> None:
        while self._places:
            place = next(iter(self._places))
            del self._places[place]
            if not place.done() and not place.get_loop().is_closed():
                place.set_result(True)
                return
        self._is_taken = False


def _chain(innermost: Any, until: Optional[Write]) -> Optional[list[Write]]:
    """Blocks from the innermost one outwards, without the one that it ends before; None where that is not around."""
    found: list[Write] = []
    while innermost is not until:
        if innermost is None:
            return None
        found.append(innermost)
        innermost = innermost._outer
    return found


def _leave(place: asyncio.Future[bool]) -> None:
    if not place.done():
        place.set_result(False)


def _turn_of(database: AnyDatabase, loop: asyncio.AbstractEventLoop) -> _Turn:
    turn = _turns.get(database)
    if turn is None or turn.loop() is not loop:
        turn = _turns[database] = _Turn(loop)
    return turn


def _timed_out() -> errors.Error:
    return errors.WriteTimeoutError("another one was writing all the time that a write may wait")
