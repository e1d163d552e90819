"""Queues, as Python calls: what waits to be delivered on the thread of a database."""
from __future__ import annotations

from . import _callbacks, errors
from ._ffi import ffi, lib
from ._handles import out, own
from ._tokens import OK


class Queue:
    """What an event loop polls."""

    __slots__ = ("handle",)

    def __init__(self) -> None:
        place = out("motte_queue")
        errors.check(lib.motte_queue_new(0, place))
        self.handle = own(place)

    def fd(self) -> int:
        place = ffi.new("int32_t *")
        errors.check(lib.motte_queue_fd(self.handle, place))
        return int(place[0])

    def timeout_ms(self) -> int:
        place = ffi.new("int64_t *")
        errors.check(lib.motte_queue_timeout(self.handle, place))
        return int(place[0])

    def dispatch(self, most: int = 0) -> int:
        """Runs up to that many deliveries, 0: all."""
        place = ffi.new("size_t *")
        try:
            _callbacks.check_calling(lib.motte_queue_dispatch(self.handle, most, place))
        finally:
            errors.raised.queued = None
        return int(place[0])

    def wait(self, timeout_ms: int) -> bool:
        return errors.check(lib.motte_queue_wait(self.handle, timeout_ms)) == OK
