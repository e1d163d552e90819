"""Whose an open database is at the moment.

Under asyncio a write belongs to the task that opened it: what another task asks of the database meanwhile would show
it values that may never become true, and what it changed would be committed or lost with a write that is not its own.
So everything that comes from a database has the guard of that database, and gives its handle to the owner of the open
write alone (`handle` of a Realm, a Coll, a Query, ...). What every task may do, freezing and ending things, goes past
it.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Optional

from . import _objects, errors
from ._held import Held


class Guard(_objects.Guard):
    """Knows the open write of a database. It holds the database as long as that is open, not longer."""

    __slots__ = ("home",)

    def __init__(self) -> None:
        #: Gives the database while there is one.
        self.home: Callable[[], Any] = _nothing

    def check(self) -> None:
        """Raises where the open write is that of another task."""
        write = self.write
        if write is not None and write._task is not current_task() and not write._ends_if_lost():
            raise errors.AlreadyInWriteError(
                "another task has a write open on this database; do not await inside `with db.write():`, wait for your "
                "turn with `async with db.write():`, and read what was there before it from `db.freeze()`")


def _nothing() -> None:
    pass


#: Of what nobody writes: frozen databases.
FREE = Guard()


class Guarded:
    """Something of the library, and whose it is."""

    __slots__ = ("raw", "guard", "held")

    def __init__(self, handle: Any, guard: Guard, held: Optional[Held] = None) -> None:
        #: The handle for what every task may do.
        self.raw, self.guard = handle, guard
        #: Objects that it was made with, where these may be lost.
        self.held = held

    @property
    def handle(self) -> Any:
        """The handle, for who may use it now."""
        guard = self.guard
        if guard.write is not None:
            guard.check()
        if self.held is not None:
            self.held.check()
        return self.raw


def current_task() -> Any:
    """The task that runs, None outside of event loops; there, asyncio.current_task() would raise, which costs more than
    what asks. As long as nobody has imported asyncio, no task runs."""
    loop = running_loop()
    return None if loop is None else sys.modules["asyncio"].current_task(loop)


def running_loop() -> Any:
    """The event loop that runs on this thread, if any."""
    global _running_loop
    if _running_loop is None:
        _running_loop = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
        if _running_loop is None:
            return None
    return _running_loop()


_running_loop: Any = None
