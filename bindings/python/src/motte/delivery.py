"""Dispatching what the queue of a database holds: at once, after waiting, or from an event loop.

An event loop dispatches for as long as somebody waits there, a stream or a queued write. It polls a descriptor of its
own: a reader that the program has added for the database is the program's, and stays.
"""
from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional

from . import errors
from ._queue import Queue
from ._waiting import deadline_of

if TYPE_CHECKING:
    import asyncio

#: What the system takes as the time of one call.
_LONGEST_MS = 86_400_000
#: Deliveries in one turn of an event loop, at most: queued writes that run together share one flush.
_MOST = 64
#: Seconds that a turn should take; the next one has half as many deliveries, or twice as many.
_LONG, _SHORT = 0.01, 0.002
#: Seconds between two attempts where the library fails, the first and the longest.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0


class Delivery:
    """The queue of one database, and who waits for it. A frozen database has none: nothing there ever changes. Nor has
    the one that a function of open() gets, which is not open yet."""

    __slots__ = ("_queue", "_in_write", "_is_frozen", "_listeners")

    def __init__(self, queue: Optional[Queue], in_write: Callable[[], bool], is_frozen: bool) -> None:
        self._queue, self._in_write, self._is_frozen = queue, in_write, is_frozen
        self._listeners: dict[Any, _Listener] = {}

    def _own_queue(self) -> Queue:
        if self._queue is None:
            if self._is_frozen:
                raise errors.FrozenError("a frozen database never changes")
            raise errors.ReentrantError("this database is just being opened; nothing is delivered before that is done")
        return self._queue

    def fileno(self) -> int:
        """Readable while dispatch() has work."""
        return self._own_queue().fd()

    def dispatch(self, timeout: Optional[float]) -> int:
        """How many deliveries there were. Waits for the first up to `timeout` seconds, None without limit."""
        deadline = deadline_of(timeout)
        while True:
            delivered = self.dispatch_once()
            if delivered or not self.sleep(deadline):
                return delivered

    def dispatch_once(self) -> int:
        if self._listeners:
            self._forget_closed()
        return self._own_queue().dispatch()

    def sleep(self, deadline: Optional[float]) -> bool:
        """Until there is something to dispatch, which includes what a stream fetches; False when the time is up."""
        queue = self._own_queue()
        if deadline is None and self._in_write():
            raise errors.AlreadyInWriteError(
                "nothing is delivered in a write, so waiting here would never end; wait after the write, or with a "
                "timeout")
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            own = queue.timeout_ms()
            limits = ([] if left is None else [min(left * 1000, _LONGEST_MS)]) + ([own] if own >= 0 else [])
            poll = select.poll()
            poll.register(queue.fd(), select.POLLIN)
            if poll.poll(min(limits) if limits else None) or own >= 0 and own == min(limits):
                return True

    # -------------------------------------------------------------------------------------------- event loops

    def begin(self, waiter: Waiter) -> None:
        """From now on the loop of this one dispatches."""
        self._forget_closed()
        listener = self._listeners.get(waiter.loop)
        if listener is None:
            listener = self._listeners[waiter.loop] = _Listener(waiter.loop, self._own_queue(), self._in_write)
        listener.waiters.append(waiter)

    def end(self, waiter: Waiter) -> None:
        """It does not wait any more."""
        listener = self._listeners.get(waiter.loop)
        if listener is None or waiter not in listener.waiters:
            return
        listener.waiters.remove(waiter)
        if not listener.waiters:
            del self._listeners[waiter.loop]
            listener.end()

    def write_has_ended(self) -> None:
        """What waited for that has its turn."""
        self._forget_closed()
        for listener in self._listeners.values():
            listener.soon()

    def _forget_closed(self) -> None:
        """A loop that was closed has no more turns: who waited there never will go on."""
        for loop in [loop for loop in self._listeners if loop.is_closed()]:
            self._listeners.pop(loop).end()

    def close(self, failure: Exception) -> None:
        """Ends all waiting, which raises that."""
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener.end()
            for waiter in listener.waiters:
                waiter.fail(failure)


class Waiter:
    """A task that waits until it is called, or the time is up. A call while it does not wait is not lost."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._future: Optional[asyncio.Future[bool]] = None
        self._called = False
        self._failure: Optional[Exception] = None

    def call(self) -> None:
        self._called = True
        self._settle(True)

    def fail(self, failure: Exception) -> bool:
        """Whether somebody sees it."""
        self._failure = failure
        self._settle(True)
        return True

    def _settle(self, called: bool) -> None:
        if self._future is not None and not self._future.done() and not self.loop.is_closed():
            self._future.set_result(called)

    async def wait(self, timeout: Optional[float]) -> bool:
        """False when the time is up. A cancelled task gets to know that, whatever comes with it: so not by
        asyncio.wait_for()."""
        if not self._called and self._failure is None:
            future = self._future = self.loop.create_future()
            timer = None if timeout is None else self.loop.call_later(timeout, self._settle, False)
            try:
                if not await future:
                    return False
            finally:
                self._future = None
                if timer is not None:
                    timer.cancel()
        self._called = False
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return True


class _Listener:
    """An event loop that dispatches. What observers raise, it is told (`_callbacks.report`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, queue: Queue, in_write: Callable[[], bool]) -> None:
        self._loop, self._queue, self._in_write = loop, queue, in_write
        self.waiters: list[Waiter] = []
        self._descriptor = os.dup(queue.fd())
        self._most, self._pause = _MOST, _FIRST_PAUSE
        self._next: Optional[asyncio.Handle] = None
        self._reads = False
        self._read()

    def _read(self) -> None:
        self._loop.add_reader(self._descriptor, self._turn)
        self._reads = True
        self.soon()

    def _stop_reading(self) -> None:
        if self._reads and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        self._reads = False

    def end(self) -> None:
        self._stop_reading()
        os.close(self._descriptor)
        self._descriptor = -1
        self._plan(None)

    def _plan(self, handle: Optional[asyncio.Handle]) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = handle

    def soon(self) -> None:
        """Has a turn beside those that the descriptor asks for."""
        if self._descriptor >= 0 and self._reads:
            self._plan(self._loop.call_soon(self._turn))

    def _turn(self) -> None:
        if self._descriptor < 0:
            return
        self._plan(None)
        start = time.monotonic()
        try:
            self._queue.dispatch(self._most)
            # The end of a write asks for a turn.
            pause = -1 if self._in_write() else self._queue.timeout_ms()
        except Exception as error:
            return self._failed(error)
        taken = time.monotonic() - start
        if taken > _LONG:
            self._most = max(1, self._most // 2)
        elif taken < _SHORT:
            self._most = min(_MOST, self._most * 2)
        self._pause = _FIRST_PAUSE
        if pause >= 0 and self._descriptor >= 0:
            # Of a queued write that somebody else's write holds up.
            self._plan(self._loop.call_later(max(pause, 1) / 1000, self._turn))

    def _failed(self, failure: Exception) -> None:
        """The library cannot go on, for now: without a pause it would be asked again at once."""
        seen = [waiter.fail(failure) for waiter in self.waiters]
        if not any(seen):
            self._loop.call_exception_handler({"message": "A motte database cannot dispatch", "exception": failure})
        if self._descriptor >= 0:
            self._stop_reading()
            self._plan(self._loop.call_later(self._pause, self._read))
            self._pause = min(2 * self._pause, _LAST_PAUSE)
