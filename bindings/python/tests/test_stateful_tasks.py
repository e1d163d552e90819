"""Random tasks of one event loop (hypothesis): blocks, queued writes, readers, a stream and an observer that raises,
with tasks that are cancelled at any turn. Nobody sees what is not committed, a task that was cancelled does not write
any more, and the turn is always passed on.

    MOTTE_TEST_SCALE=20    so many times as many programs
"""
from __future__ import annotations

import asyncio
import itertools
import os
from typing import Any

import pytest

import motte
from motte import errors

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCALE = float(os.environ.get("MOTTE_TEST_SCALE", "1"))
_numbers = itertools.count()


class Own(Exception):
    pass


class Row(motte.Model):
    id: int = motte.field(primary_key=True)


KINDS = ["block", "block", "with timeout", "fails", "plain", "queued", "queued", "read", "read"]
#: What a task does, and the turns of the loop that it waits within it.
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 3)), max_size=5)
#: After how many turns which task is cancelled.
CANCELLED = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=5)


class Program:
    def __init__(self, db: motte.Database) -> None:
        self.db = db
        #: Rows that are committed; whose function ran; that are in an open block.
        self.done: set[int] = set()
        self.ran: set[int] = set()
        self.open: set[int] = set()
        self.cancelled: set[int] = set()
        self.shown: list[int] = []
        self.reported: list[BaseException] = []

    async def turns(self, count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async def work(self, number: int, steps: list[tuple[str, int]]) -> None:
        for step, (kind, pause) in enumerate(steps):
            await self.turns(1)
            key = 100 * number + step
            try:
                if kind == "read":
                    self.look()
                elif kind == "queued":
                    await self.db.write_async(lambda db, key=key: self.run(db, number, key))
                    self.done.add(key)
                elif kind == "plain":
                    if self.db.in_write:
                        continue
                    with self.db.write():
                        self.db.add(Row(id=key))
                    self.done.add(key)
                else:
                    async with self.db.write(timeout=10 if kind == "with timeout" else None):
                        await self.inside(number, key, pause, kind == "fails")
                    self.done.add(key)
            except Own:
                pass
            finally:
                self.open.discard(key)

    async def inside(self, number: int, key: int, pause: int, fails: bool) -> None:
        assert number not in self.cancelled
        self.open.add(key)
        self.db.add(Row(id=key))
        await self.turns(pause)
        assert {row.id for row in self.db.objects(Row)} & self.open == {key}
        if fails:
            raise Own

    def run(self, db: motte.Database, number: int, key: int) -> None:
        assert number not in self.cancelled
        db.add(Row(id=key))
        self.ran.add(key)

    def look(self) -> None:
        try:
            seen = set(self.db.objects(Row).column("id"))
        except errors.AlreadyInWriteError:
            assert self.open
            seen = set(self.db.freeze().objects(Row).column("id"))
        assert self.done <= seen <= self.done | self.ran and not seen & self.open

    async def stream(self) -> None:
        rows = self.db.objects(Row).sorted("id")
        async for changes in rows.changes():
            for place in reversed(changes.deletions):
                del self.shown[place]
            now = rows.freeze().column("id")
            if changes.is_initial:
                self.shown = list(now)
            for place in changes.insertions:
                self.shown.insert(place, now[place])

    def fail(self, changes: motte.Changes) -> None:
        raise Own

    async def play(self, plans: list[list[tuple[str, int]]], cancelled: list[tuple[int, int]]) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self.reported.append(context["exception"]))
        stream = asyncio.create_task(self.stream())
        await self.turns(2)
        with self.db.objects(Row).observe(self.fail):
            tasks = [asyncio.create_task(self.work(number, steps)) for number, steps in enumerate(plans)]
            for pause, number in cancelled:
                await self.turns(pause)
                if number < len(tasks) and not tasks[number].done():
                    self.cancelled.add(number)
                    tasks[number].cancel()
            for outcome in await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30):
                assert outcome is None or isinstance(outcome, asyncio.CancelledError), outcome
            self.open.clear()
            async with self.db.write(timeout=5):
                self.db.add(Row(id=-1))
            self.done.add(-1)
        self.look()
        assert not self.db.in_write and all(isinstance(each, Own) for each in self.reported)
        committed = self.db.objects(Row).sorted("id").column("id")
        for _ in range(1000):
            if self.shown == committed:
                break
            await asyncio.sleep(0.002)
        assert self.shown == committed and not stream.done()
        stream.cancel()
        await asyncio.gather(stream, return_exceptions=True)
        self.reported.clear()


@settings(max_examples=max(1, int(40 * SCALE)), deadline=None, database=None, print_blob=True,
          suppress_health_check=list(HealthCheck))
@given(plans=st.lists(STEPS, min_size=1, max_size=5), cancelled=CANCELLED)
def test_tasks_take_turns(plans: list[list[tuple[str, int]]], cancelled: list[tuple[int, int]]) -> None:
    with motte.open(in_memory=f"tasks {next(_numbers)}", schema=[Row]) as db:
        program: Any = Program(db)
        asyncio.run(program.play(plans, cancelled))
        with motte.open(in_memory=db.path, schema=[Row]) as other:
            assert set(other.objects(Row).column("id")) == set(db.objects(Row).column("id"))
