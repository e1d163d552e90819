"""Blocks of writes in places where none can begin or end: in another block, in callbacks, on other threads."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import motte
from conftest import CLASSES, Dog, Person
from motte import errors
from test_refusals import on_thread

Opener = Callable[..., motte.Database]
OPEN_ALREADY = "^a write is open already; writes cannot be nested"


def block(db: motte.Database) -> None:
    with db.write():
        raise AssertionError("it began")


def test_no_block_begins_in_a_first_open(path: Path) -> None:
    with pytest.raises(errors.AlreadyInWriteError, match=OPEN_ALREADY):
        motte.open(path, schema=CLASSES, first_open=block)

    def fill(db: motte.Database) -> None:
        with pytest.raises(errors.AlreadyInWriteError):
            block(db)
        db.add(Dog(name="Rex"))
    with motte.open(path, schema=CLASSES, first_open=fill) as db:
        assert db.count(Dog) == 1


def test_no_block_begins_in_a_migration(path: Path) -> None:
    with motte.open(path, schema="Dog { name: string key }") as db, db.write():
        db.add(db.model("Dog")(name="Rex"))
    with pytest.raises(errors.AlreadyInWriteError, match=OPEN_ALREADY):
        motte.open(path, schema=[Dog, Person], schema_version=1, migration=lambda migration: block(migration.new))
    assert motte.schema_version(path) == 0

    def migrate(migration: motte.Migration) -> None:
        with pytest.raises(errors.AlreadyInWriteError):
            block(migration.new)
        migration.new.add(Dog(name="Fido"))
    with motte.open(path, schema=[Dog, Person], schema_version=1, migration=migrate) as db:
        assert db.objects(Dog).sorted("name").column("name") == ["Fido", "Rex"]


def test_no_block_begins_while_one_does(opened: Opener) -> None:
    db, other = opened(), opened()
    raised: list[BaseException] = []

    def look(changes: motte.Changes) -> None:
        if changes.insertions:
            try:
                block(db)
            except errors.Error as error:
                raised.append(error)
                raise
    with db.objects(Dog).observe(look):
        db.dispatch()
        with other.write():
            other.add(Dog(name="Rex"))
        # What others have written is delivered as a write begins; that one ends with what the callback raises.
        with pytest.raises(errors.AlreadyInWriteError, match=OPEN_ALREADY):
            block(db)
        assert len(raised) == 1 and not db.in_write
    with db.write():
        db.add(Dog(name="Fido"))
    assert db.count(Dog) == 2


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
    with pytest.raises(errors.AlreadyInWriteError, match=OPEN_ALREADY):
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
            # Nor for the block of a task that waits for it.
            with pytest.raises(errors.AlreadyInWriteError, match="do not await inside"):
                await asyncio.create_task(db.write_async(lambda db: db.add(Dog(name="never"))))
            db.add(Dog(name="Fido"))
        assert await db.write_async(lambda db: db.count(Dog)) == 2
    asyncio.run(run())
    assert db.count(Dog) == 2
