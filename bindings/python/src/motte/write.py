"""One write of a database: a block that commits at its end and cancels when it raises. A block inside another one is a
part of it that is undone alone."""
from __future__ import annotations

import errno
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

from . import _objects, errors
from ._guard import current_task
from ._protocols import AnyDatabase
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
        #: Whether what it did may still be lost: the outermost block is open.
        self.is_open = False
        self.was_cancelled = False
        #: What the commit made, None before.
        self.version: Optional[int] = None
        self._task: Any = None
        #: By class the highest key of all objects that there are without what it did; None as long as that is not lost.
        self._last_kept: Optional[dict[int, int]] = None
        self._outer: Optional[Write] = None
        #: Blocks inside it that have ended, which may still be lost with it.
        self._inner: list[Write] = []
        self._savepoint: Optional[int] = None
        self._was_used = False
        self._turn: Optional[_Turn] = None
        #: Whether it is a block inside another write, whether its end has begun, and whether its savepoint is released
        #: if it is gone.
        self._is_inside = self._is_ending = self._is_released = False

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
        self._is_inside = True
        try:
            self._savepoint = database._realm.savepoint()
            self._outer = outer
            self._begun()
        except BaseException:
            # The savepoint may be there although the block is not open yet.
            self._is_ending = True
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
            while database._write is not None or not self._has_begun():
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

    #: What the end of `async with` awaits: nothing.
    _awaited = _Nothing()

    def _ended(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
               traceback: Optional[TracebackType]) -> None:
        """The end of the block; see native/block.c."""
        if self._is_current():
            self._is_ending = True
            if error is None:
                self._commit()
            else:
                self._cancel_for(error)
            self._is_ending = False
        elif _chain(self._database._write, self) is not None:
            # cancel() was interrupted when it had all but ended.
            self._is_ending = True
            self._abandon_open()
        elif self.was_cancelled and self._last_kept is None:
            self._lose()
        self._pass_on()

    def _cancel_for(self, error: BaseException) -> None:
        try:
            self.cancel()
        except errors.Error as failure:
            # What left the block is what matters, wherever that happened: after fork(), on another thread.
            if hasattr(error, "add_note"):
                error.add_note(f"The write could not be cancelled here: {failure}")
            if self.is_open:
                self._abandon_open()

    def _abandon(self) -> None:
        """Ends what is open of it when beginning or ending it was interrupted, wherever that was, here too."""
        try:
            self._abandon_open()
        finally:
            self._pass_on()

    def _abandon_open(self) -> None:
        if not self.is_open and not self._is_ending:
            return
        database, realm = self._database, self._database._realm
        try:
            self._check_thread()
        except errors.WrongThreadError:
            return
        is_there = not database.closed and realm.in_write()
        if self._is_inside:
            is_kept = False
            if is_there and self._savepoint is not None:
                try:
                    realm.roll_back(self._savepoint)
                except errors.Error as failure:
                    is_kept = self._is_released and isinstance(failure, errors.InvalidArgumentError)
            self._leave(is_kept)
        else:
            self.was_cancelled = self.was_cancelled or is_there
            self._cancel_native()
            self._end(self.was_cancelled)
            database._delivery.write_has_ended()
        if self.was_cancelled and self._last_kept is None:
            self._lose()
        self._is_ending = False

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
        return self.is_open and write is self

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
        before = None
        # What on_commit() refuses now is this, and no queued write before it.
        errors.raised.queued = None
        try:
            before = realm.version()[0]
            # Callbacks run in here and may look at the database, which is no longer in this write.
            self._end(cancelled=False)
            self.version = realm.commit(self._skipping)
        except BaseException:
            is_open = realm.in_write()
            # What on_commit() refuses has ended; an interrupt that comes while observers are called undoes nothing.
            is_lost = self.was_cancelled = is_open or not self._is_newer(before)
            if is_open:
                realm.cancel()
            self._end(cancelled=is_lost)
            if is_lost:
                self._lose()
            raise
        finally:
            self._database._delivery.write_has_ended()

    def _is_newer(self, version: Optional[int]) -> bool:
        """Whether the database shows a newer version than that one."""
        try:
            return version is not None and self._database._realm.version()[0] > version
        except errors.Error:
            return False

    def cancel(self) -> None:
        """Drops the changes of the block, whose end then does nothing. Blocks inside it end too."""
        if not self._is_current():
            return
        self._check_thread()
        realm = self._database._realm
        if self._savepoint is None:
            self._cancel_native()
            self._end(cancelled=True)
            self._lose()
            self._database._delivery.write_has_ended()
        elif not self._database.closed:
            realm.roll_back(self._savepoint)
            self._leave(kept=False)
            self._lose()

    def _cancel_native(self) -> None:
        """That of the library, where an interrupt has not come after it before; what keeps it from that ends ours."""
        database = self._database
        if database.closed or not database._realm.in_write():
            return
        try:
            database._realm.cancel()
        except errors.Error:
            self._end(cancelled=True)
            raise

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
        if not self._inner or self._inner[-1] is not inner:
            self._inner.append(inner)
            self._skipping += inner._skipping

    # Interrupted anywhere, each of these two can be done again: what they go by changes last.

    def _leave(self, kept: bool) -> None:
        """The block around it goes on; those inside it that are open end with it."""
        database, outer = self._database, self._outer
        inside = _chain(database._write, self)
        if inside is None:
            return
        for write in inside:
            self._keep(write)
            if not kept:
                write._finish(cancelled=True)
        if kept and outer is not None:
            outer._keep(self)
        else:
            self._finish(cancelled=not kept)
        database._write = outer
        _part(inside, self)

    def _end(self, cancelled: bool) -> None:
        """With all blocks around it and inside it."""
        chain = _chain(self._database._write, None) or []
        for write in chain:
            write._finish(cancelled)
            if write is not self:
                self._keep(write)
        self._finish(cancelled)
        self._database._write = None
        _part(chain)

    def _finish(self, cancelled: bool) -> None:
        self.is_open, self.was_cancelled = False, cancelled
        _open.discard(self)
        for inner in self._inner:
            inner._finish(cancelled)

    # -------------------------------------------------------------------------------------------- what is lost with it

    def _lose(self) -> None:
        """What it did is undone, at this moment. What is newer than all objects that there are now was made in it, and
        its keys are nobody's, or will be those of other objects: another process may use them."""
        database = self._database
        if database.closed:
            return
        self._set_lost({class_id: self._last_key(class_id) for class_id in list(database._rows)})

    def _set_lost(self, last_kept: dict[int, int]) -> None:
        self.was_cancelled = True
        # An inner block that was undone before knows its own.
        if self._last_kept is None:
            self._last_kept = last_kept
        for inner in self._inner:
            inner._set_lost(last_kept)

    def _last_key(self, class_id: int) -> int:
        try:
            return self._database._realm.last_key(class_id)
        except errors.Error:
            # Unreadable: nothing that was seen in this write is known to be there.
            return -1

    def _has_lost(self, class_id: int, key: int) -> bool:
        """Whether the object was made in it and is gone with it."""
        return self._last_kept is not None and key > self._last_kept.get(class_id, -1)

    def __reduce__(self) -> Any:
        raise TypeError("a Write belongs to its database and thread and cannot be pickled or copied")


#: Blocks that are open, of every database.
_open: weakref.WeakSet[Write] = weakref.WeakSet()
#: Whose turn it is in an event loop, by database.
_turns: weakref.WeakKeyDictionary[Any, _Turn] = weakref.WeakKeyDictionary()


class _Turn:
    """Which task of an event loop may wait for the write lock of a database: one, the others in the order they came.

    A task that is cancelled when its turn has just come passes it on and does not write, which asyncio.wait_for() did
    not see to before Python 3.12."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = weakref.ref(loop)
        self._is_taken = False
        self._places: deque[asyncio.Future[bool]] = deque()

    async def take(self, deadline: Optional[float]) -> None:
        loop = self.loop()
        if not self._is_taken or loop is None:
            self._is_taken = True
            return
        place: asyncio.Future[bool] = loop.create_future()
        self._places.append(place)
        left = left_seconds(deadline)
        timer = None if left is None else loop.call_later(max(0, left), _leave, place)
        try:
            comes = await place
        except BaseException:
            if place.done() and not place.cancelled() and place.result():
                self.pass_on()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if not comes:
            raise _timed_out()

    def pass_on(self) -> None:
        while self._places:
            place = self._places.popleft()
            if not place.done():
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


def _part(blocks: Iterable[Write], *more: Write) -> None:
    """They no longer know the blocks around them: the two would keep each other, and the database."""
    for write in (*blocks, *more):
        write._outer = None


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
