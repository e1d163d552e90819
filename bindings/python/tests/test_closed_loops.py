"""Event loops that are closed while somebody waits in them: the database goes on, in and without other loops."""
from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pathlib
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import motte


class P(motte.Model):
    id: int = motte.field(primary_key=True)


async def watch(db: motte.Database) -> None:
    async for _ in db.objects(P).changes():
        pass


async def queue(db: motte.Database) -> None:
    await db.write_async(lambda db: db.add(P(id=77)))


async def take_turn(db: motte.Database) -> None:
    async with db.write():
        pass


@pytest.mark.parametrize("wait", [watch, queue, take_turn])
def test_writes_go_on_when_a_loop_was_closed(
    tmp_path: pathlib.Path, wait: Callable[[motte.Database], Coroutine[Any, Any, None]]
) -> None:
    path = tmp_path / "closed.motte"
    db = motte.open(path, schema=[P])
    loop = asyncio.new_event_loop()
    holder = motte.open(path, schema=[P])
    with holder.write():
        # Nobody else's write begins.
        task = loop.create_task(wait(db))
        other = loop.create_task(wait(db))
        loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    for number in range(3):
        with db.write() as write:
            db.add(P(id=number))
        assert write.version == db.version and not write.was_cancelled
    with pytest.raises(ValueError, match="^the program's own$"), db.write():
        raise ValueError("the program's own")

    async def again() -> None:
        await db.write_async(lambda db: db.add(P(id=10)))
        async with db.write():
            db.add(P(id=11))
        stream = db.objects(P).changes(timeout=10)
        async for change in stream:
            assert change.is_initial
            break
    asyncio.run(again())
    assert {each.id for each in db.objects(P)} - {77} == {0, 1, 2, 10, 11}
    db.close()
    holder.close()
    # Nobody writes; what waits there is forgotten all the same.
    before = len(os.listdir("/proc/self/fd"))
    with motte.open(path, schema=[P], read_only=True) as reading:
        kept = []
        for _ in range(20):
            own = asyncio.new_event_loop()
            kept.append(own.create_task(watch(reading)))
            own.run_until_complete(asyncio.sleep(0))
            own.close()
            reading.dispatch(0)
        assert len(os.listdir("/proc/self/fd")) < before + 12
    # Their tasks end with nobody to be told.
    for each in (task, other, *kept):
        each._log_destroy_pending = False  # type: ignore[attr-defined]
        each.get_coro().close()
    del task, other, each, kept
    gc.collect()


@pytest.mark.parametrize("who", ["itself", "another database", "another loop"])
def test_a_write_that_its_task_cannot_end_is_cancelled(tmp_path: pathlib.Path, who: str) -> None:
    path = tmp_path / "closed.motte"
    db, other = motte.open(path, schema=[P]), motte.open(path, schema=[P])
    begun: list[motte.Write] = []

    async def hold() -> None:
        async with db.write() as write:
            begun.append(write)
            db.add(P(id=1))
            with db.write():
                db.add(P(id=2))
                await asyncio.sleep(100)

    loop = asyncio.new_event_loop()
    task = loop.create_task(hold())
    loop.run_until_complete(asyncio.sleep(0.02))
    loop.close()
    assert begun and not task.done()
    if who == "another loop":
        async def write_again() -> None:
            async with db.write(timeout=10):
                db.add(P(id=3))
        asyncio.run(write_again())
    else:
        with (db if who == "itself" else other).write(timeout=10) as write:
            (db if who == "itself" else other).add(P(id=3))
        assert not write.was_cancelled
    db.refresh()
    assert [each.id for each in db.objects(P)] == [3] and begun[0].was_cancelled
    del task
    gc.collect()
    other.close()
    db.close()


@pytest.mark.parametrize("how", ["cancelled", "unchanged", "committed"])
def test_a_program_that_polls_the_descriptor_hears_of_the_end_of_a_write(tmp_path: pathlib.Path, how: str) -> None:
    """A dispatch in a write leaves what waits, and takes the signal."""
    async def run() -> None:
        loop = asyncio.get_running_loop()
        with motte.open(tmp_path / "polled.motte", schema=[P]) as db:
            loop.add_reader(db, db.dispatch)
            try:
                with contextlib.suppress(KeyError), db.write():
                    future = db.queue_write(lambda db: db.add(P(id=2)))
                    await asyncio.sleep(0.05)
                    assert not future.done()
                    if how != "unchanged":
                        db.add(P(id=1))
                    if how == "cancelled":
                        raise KeyError
                for _ in range(500):
                    if future.done():
                        break
                    await asyncio.sleep(0.01)
                assert future.done() and db.count(P) == (2 if how == "committed" else 1)
            finally:
                loop.remove_reader(db)
    asyncio.run(run())
