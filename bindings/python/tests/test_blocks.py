"""Blocks of writes in places where none can begin or end: in another block, in callbacks, on other threads."""
from __future__ import annotations

import asyncio
import gc
import re
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import motte
from conftest import CLASSES, Dog, Person
from motte import errors
from test_refusals import on_thread

Opener = Callable[..., motte.Database]
BEGINNING = "^a write is just beginning"


def block(db: motte.Database, name: str = "inner") -> None:
    with db.write():
        db.add(Dog(name=name))


def failing_block(db: motte.Database) -> None:
    with pytest.raises(KeyError), db.write():
        db.add(Dog(name="lost"))
        raise KeyError("no")


def test_blocks_in_a_first_open(path: Path) -> None:
    def fill(db: motte.Database) -> None:
        block(db)
        failing_block(db)
        db.add(Dog(name="Rex"))
    with motte.open(path, schema=CLASSES, first_open=fill) as db:
        assert sorted(db.objects(Dog).column("name")) == ["Rex", "inner"]


def test_blocks_in_a_migration(path: Path) -> None:
    with motte.open(path, schema="Dog { name: string key }") as db, db.write():
        db.add(db.model("Dog")(name="Rex"))

    def migrate(migration: motte.Migration) -> None:
        block(migration.new)
        failing_block(migration.new)
        migration.new.add(Dog(name="Fido"))
    with motte.open(path, schema=[Dog, Person], schema_version=1, migration=migrate) as db:
        assert db.objects(Dog).sorted("name").column("name") == ["Fido", "Rex", "inner"]


def test_no_block_begins_while_one_does(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    db, other = opened(), opened()
    raised: list[BaseException] = []

    def look(changes: motte.Changes) -> None:
        if changes.insertions:
            try:
                block(db)
            except errors.Error as error:
                raised.append(error)
                raise
    reported: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: reported.append(unraised.exc_value))
    with db.objects(Dog).observe(look):
        db.dispatch()
        with other.write():
            other.add(Dog(name="Rex"))
        # What others have written is delivered as a write begins, which an observer that fails does not keep from it.
        block(db)
        assert reported == raised and re.search(BEGINNING, str(raised[0])) and not db.in_write
    with db.write():
        db.add(Dog(name="Fido"))
    assert names(db) == ["Fido", "Rex", "inner"]
    # Their tracebacks hold the databases.
    raised.clear()
    reported.clear()


@pytest.mark.parametrize("how", ["exit", "raise", "cancel"])
def test_a_block_ends_on_its_own_thread(db: motte.Database, how: str) -> None:
    write = db.write()
    write.__enter__()
    rex = db.add(Dog(name="Rex"))

    def end() -> Any:
        if how == "cancel":
            write.cancel()
        else:
            failure = None if how == "exit" else RuntimeError("its own")
            write.__exit__(failure and type(failure), failure, None)
            return failure
    ended = on_thread(end)
    assert isinstance(ended, RuntimeError if how == "raise" else errors.WrongThreadError)
    # It is still open here.
    assert write.is_open and db.in_write and not write.was_cancelled
    block(db)
    rex.age = 3
    write.__exit__(None, None, None)
    assert not db.in_write and db.one(Dog, "Rex").age == 3 and write.version == db.version


def test_a_closed_database_has_nothing_to_dispatch(db: motte.Database) -> None:
    frozen = db.freeze()
    db.close()
    frozen.close()
    for timeout in (None, 0, 1000):
        with pytest.raises(errors.ClosedError):
            db.dispatch(timeout)
        with pytest.raises(errors.FrozenError):
            frozen._delivery.dispatch(timeout)
        with pytest.raises(errors.ClosedError):
            db.wait_for_change(timeout)
    with pytest.raises(errors.ClosedError):
        next(iter(db.changes()))


def test_a_write_does_not_wait_for_the_block_around_it(db: motte.Database) -> None:
    async def run() -> None:
        with db.write():
            db.add(Dog(name="Rex"))
            with pytest.raises(errors.AlreadyInWriteError, match="this task has a write open"):
                await db.write_async(lambda db: db.add(Dog(name="never")))
            # Another task waits for its turn.
            other = asyncio.create_task(db.write_async(lambda db: db.count(Dog)))
            await asyncio.sleep(0.02)
            assert not other.done()
            db.add(Dog(name="Fido"))
        assert await other == 2
    asyncio.run(run())
    assert db.count(Dog) == 2


# ------------------------------------------------------------------------------------------------ blocks inside blocks


def names(db: motte.Database) -> list[str]:
    return sorted(db.objects(Dog).column("name"))


def test_a_block_inside_another_is_undone_alone(db: motte.Database) -> None:
    with db.write() as outer:
        rex = db.add(Dog(name="Rex"))
        with pytest.raises(KeyError), db.write() as inner:
            rex.age = 9
            lost = db.add(Dog(name="lost"))
            raise KeyError("no")
        assert db.in_write and outer.is_open and not inner.is_open and inner.was_cancelled
        assert rex.age == 0 and names(db) == ["Rex"]
        with pytest.raises(errors.ObjectDeletedError, match="cancelled"):
            print(lost.name)
        # What is made later is something else.
        again = db.add(Dog(name="again"))
        assert not lost.is_valid and again.is_valid
        with db.write() as kept:
            inside = db.add(Dog(name="kept"))
        assert inside.age == 0 and kept.version is None
    assert names(db) == ["Rex", "again", "kept"] and inside.name == "kept" and not lost.is_valid
    assert outer.version == db.version and not kept.is_open and not kept.was_cancelled


def test_what_an_inner_block_kept_goes_with_the_outer_one(db: motte.Database) -> None:
    made = []
    with pytest.raises(KeyError), db.write():
        with db.write() as inner:
            made.append(db.add(Dog(name="Rex")))
            with db.write():
                made.append(db.add(Dog(name="Fido")))
        assert [dog.name for dog in made] == ["Rex", "Fido"]
        raise KeyError("no")
    assert inner.was_cancelled and names(db) == []
    with db.write():
        db.add_all([Dog(name="other"), Dog(name="another")])
    for dog in made:
        assert not dog.is_valid
        with pytest.raises(errors.ObjectDeletedError, match="cancelled"):
            print(dog.name)


@pytest.mark.parametrize("depth", [2, 5])
def test_blocks_to_any_depth(db: motte.Database, depth: int) -> None:
    def nest(level: int) -> None:
        with db.write():
            db.add(Dog(name=f"{level}"))
            if level < depth:
                try:
                    nest(level + 1)
                except KeyError:
                    pass
                db.add(Dog(name=f"{level} after"))
            if level % 2:
                raise KeyError(level)
    nest(0)
    assert names(db) == ["0", "0 after"]


def test_cancelling_an_inner_or_an_outer_block(db: motte.Database) -> None:
    with db.write():
        db.add(Dog(name="Rex"))
        with db.write() as inner:
            db.add(Dog(name="lost"))
            inner.cancel()
            db.add(Dog(name="stays"))
        inner.cancel()
    assert names(db) == ["Rex", "stays"]
    with db.write() as outer:
        db.add(Dog(name="never"))
        with db.write() as inner:
            outer.cancel()
            assert not db.in_write and inner.was_cancelled
    assert names(db) == ["Rex", "stays"]
    with db.write() as outer, pytest.raises(errors.InvalidArgumentError, match="a Write is one block"):
        outer.__enter__()


def test_inner_blocks_pass_on_whom_to_skip(db: motte.Database) -> None:
    seen: list[list[int]] = []
    with db.objects(Dog).observe(lambda changes: seen.append(changes.insertions)) as skipped:
        db.dispatch()
        with db.write(), db.write(skipping=[skipped]):
            db.add(Dog(name="Rex"))
        db.dispatch()
        assert seen == [[]]


@pytest.mark.parametrize("fails", [False, True])
def test_blocks_keep_no_database(fails: bool) -> None:
    """Without the collector of garbage, which comes when it likes."""
    gc.disable()
    try:
        db = motte.open(in_memory="blocks", schema=CLASSES)
        home = weakref.ref(db)
        try:
            with db.write():
                block(db)
                with db.write(), db.write():
                    db.add(Dog(name="Rex"))
                failing_block(db)
                if fails:
                    raise KeyError
        except KeyError:
            pass
        db.close()
        del db
        assert home() is None
    finally:
        gc.enable()


def test_closing_inside_an_inner_block(db: motte.Database) -> None:
    with db.write() as outer:
        rex = db.add(Dog(name="Rex"))
        with db.write() as inner:
            db.close()
    assert outer.was_cancelled and inner.was_cancelled and not rex.is_valid


def test_queued_writes_have_inner_blocks(db: motte.Database) -> None:
    def work(db: motte.Database) -> Dog:
        failing_block(db)
        with db.write():
            return db.add(Dog(name="Rex"))
    future = db.queue_write(work)
    db.dispatch(1)
    assert future.result(0).name == "Rex" and names(db) == ["Rex"]


# ------------------------------------------------------------------------------------------------ async with


def test_async_blocks_take_turns(db: motte.Database) -> None:
    order: list[str] = []

    async def add(name: str, fails: bool = False) -> None:
        async with db.write():
            order.append(f"{name} begins")
            db.add(Dog(name=name))
            await asyncio.sleep(0.005)
            async with db.write():
                db.add(Dog(name=f"{name}'s"))
            order.append(f"{name} ends")
            if fails:
                raise KeyError(name)

    async def run() -> list[Any]:
        return await asyncio.gather(add("a"), add("b", fails=True), add("c"), return_exceptions=True)
    results = asyncio.run(run())
    assert [type(each) for each in results] == [type(None), KeyError, type(None)]
    assert order == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]
    assert names(db) == ["a", "a's", "c", "c's"] and not db.in_write
    # Another loop, another turn.
    assert asyncio.run(run())[0] is not None


def test_an_async_block_waits_for_other_databases(opened: Opener) -> None:
    db, other = opened(), opened()
    ticks: list[int] = []

    async def tick() -> None:
        for number in range(3):
            await asyncio.sleep(0.005)
            ticks.append(number)
        writing.__exit__(None, None, None)

    async def run() -> None:
        ticking = asyncio.create_task(tick())
        with pytest.raises(errors.WriteTimeoutError):
            async with db.write(timeout=0):
                raise AssertionError("it began")
        async with db.write(timeout=10):
            assert ticks == [0, 1, 2]
            db.add(Dog(name="Rex"))
        await ticking
    writing = other.write()
    writing.__enter__()
    asyncio.run(run())
    other.refresh()
    assert names(other) == ["Rex"]


def test_an_async_block_that_is_cancelled_while_it_waits(db: motte.Database) -> None:
    async def wait() -> None:
        async with db.write():
            raise AssertionError("it began")

    async def run() -> None:
        async with db.write():
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0.005)
            with pytest.raises(errors.WriteTimeoutError):
                await asyncio.create_task(timed())
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            db.add(Dog(name="Rex"))
        async with db.write():
            db.add(Dog(name="Fido"))

    async def timed() -> None:
        async with db.write(timeout=0.005):
            raise AssertionError("it began")
    asyncio.run(run())
    assert names(db) == ["Fido", "Rex"]


def test_an_async_block_does_not_wait_for_its_own_task(opened: Opener) -> None:
    db, other = opened(), opened()

    async def run() -> None:
        async with db.write():
            with pytest.raises(errors.ReentrantError):
                async with other.write():
                    raise AssertionError("it began")
    asyncio.run(run())


@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("waits", [False, True], ids=["at once", "async"])
def test_an_interrupt_while_a_block_begins_leaves_no_write(
    db: motte.Database, monkeypatch: pytest.MonkeyPatch, waits: bool, calls: int
) -> None:
    class Interrupt(BaseException):
        pass

    def interrupted() -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupt
        return real()

    async def later() -> None:
        async with db.write():
            pass

    real, left = motte.write.current_task, calls + waits
    monkeypatch.setattr(motte.write, "current_task", interrupted)
    with pytest.raises(Interrupt):
        if waits:
            asyncio.run(later())
        else:
            db.write().__enter__()
    monkeypatch.undo()
    assert not db.in_write
    with db.write():
        db.add(Dog(name="Rex"))
    assert db.count(Dog) == 1


def test_a_database_that_is_being_opened_delivers_nothing() -> None:
    said: list[str] = []

    def fill(database: motte.Database) -> None:
        asked: list[Callable[[], object]] = [lambda: database.dispatch(timeout=0), database.fileno]
        for ask in asked:
            with pytest.raises(errors.ReentrantError) as caught:
                ask()
            said.append(caught.value.message)
    with motte.open(in_memory="being opened", schema=[Dog, Person], first_open=fill) as db:
        assert len(said) == 2 and all("just being opened" in each for each in said)
        with pytest.raises(errors.FrozenError):
            db.freeze().dispatch()


def test_places_of_those_who_gave_up_are_not_kept(tmp_path: Path) -> None:
    from motte import write

    path, has_begun, may_end = tmp_path / "places.motte", threading.Event(), threading.Event()

    def hold() -> None:
        with motte.open(path, schema=CLASSES) as other, other.write():
            has_begun.set()
            may_end.wait()

    async def waiting(db: motte.Database) -> None:
        async with db.write():
            db.add(Dog(name="in turn"))

    async def impatient(db: motte.Database) -> None:
        with pytest.raises(errors.WriteTimeoutError):
            async with db.write(0.01):
                pass

    async def run() -> None:
        with motte.open(path, schema=CLASSES) as db:
            first = asyncio.create_task(waiting(db))
            await asyncio.sleep(0)
            cancelled = [asyncio.create_task(waiting(db)) for _ in range(10)]
            await asyncio.gather(*(impatient(db) for _ in range(50)))
            for task in cancelled:
                task.cancel()
            await asyncio.gather(*cancelled, return_exceptions=True)
            assert not write._turns[db]._places
            may_end.set()
            await first
            assert db.count(Dog) == 1

    holder = threading.Thread(target=hold)
    holder.start()
    has_begun.wait()
    try:
        asyncio.run(run())
    finally:
        may_end.set()
        holder.join()
