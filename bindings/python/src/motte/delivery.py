"""Dispatching what the queue of a database holds: at once, after waiting, or from an event loop."""
from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Optional

from . import errors
from ._queue import Queue
from ._waiting import deadline_of

if TYPE_CHECKING:
    import asyncio

#: What the system takes as the time of one call.
_LONGEST_MS = 86_400_000


class Delivery:
    """The queue of one database, and who waits for it. A frozen database has none: nothing there ever changes."""

    __slots__ = ("_queue", "_waiters", "_retry")

    def __init__(self, queue: Optional[Queue]) -> None:
        self._queue = queue
        self._waiters: set[asyncio.Future[None]] = set()
        self._retry: Optional[asyncio.TimerHandle] = None

    def _own_queue(self) -> Queue:
        if self._queue is None:
            raise errors.FrozenError("a frozen database never changes")
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
        return self._own_queue().dispatch()

    def sleep(self, deadline: Optional[float]) -> bool:
        """Until there is something to dispatch, which includes what a stream fetches; False when the time is up."""
        queue = self._own_queue()
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

    async def dispatched(self) -> None:
        """Until the event loop has dispatched. All waiters share one reader."""
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._waiters:
            self._listen(loop)
        self._waiters.add(future)
        try:
            await future
        finally:
            if future in self._waiters:
                self._waiters.discard(future)
                if not self._waiters:
                    self._stop_listening(loop)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        queue = self._own_queue()
        loop.add_reader(queue.fd(), self._readable)
        # A queued write that somebody else's write holds up.
        pause = queue.timeout_ms()
        if pause >= 0:
            self._retry = loop.call_later(pause / 1000, self._readable)

    def _stop_listening(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self.fileno())
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _readable(self) -> None:
        failure: Optional[Exception] = None
        try:
            self.dispatch(0)
        except Exception as error:
            failure = error
        self.wake(failure)

    def wake(self, failure: Optional[Exception]) -> None:
        """All waiters, with what they raise; who goes on waiting listens again."""
        waiters, self._waiters = self._waiters, set()
        for future in waiters:
            if not future.done():
                if failure is None:
                    future.set_result(None)
                else:
                    future.set_exception(failure)
        if waiters:
            self._stop_listening(next(iter(waiters)).get_loop())
