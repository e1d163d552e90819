"""What a handler of a signal raises, wherever it comes, leaves no block open.

The interpreter runs handlers where Python functions begin and where functions in C return, and each of these places of
the package has its turn here."""
from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import motte
from conftest import Dog, Person
from motte import errors

PACKAGE = os.path.dirname(motte.__file__)


class Alarm(BaseException):
    pass


class Interrupting:
    """Raises at the place of that number, once."""

    def __init__(self, number: int) -> None:
        self._left, self.has_raised = number, False

    def __enter__(self) -> Interrupting:
        sys.setprofile(self._at)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(None)

    def _at(self, frame: Any, event: str, argument: Any) -> None:
        # Destructors are no place: what is raised there comes out nowhere.
        if event not in ("call", "c_return") or not frame.f_code.co_filename.startswith(PACKAGE) or (
                frame.f_code.co_name in ("__del__", "<genexpr>", "motte_python_free")):
            return
        self._left -= 1
        if self._left < 0 and not self.has_raised:
            self.has_raised = True
            raise Alarm


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="interrupted blocks", schema=[Dog, Person]) as database:
        yield database


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Instead of that of all tests: a handle is lost where the interrupt comes before anything has it."""


class Own(Exception):
    pass


def plain(db: motte.Database) -> None:
    with db.write():
        db.add(Dog(name="Rex"))


def raising(db: motte.Database) -> None:
    with pytest.raises(Own), db.write():
        db.add(Dog(name="Rex"))
        raise Own


def nested(db: motte.Database) -> None:
    with db.write():
        db.add(Dog(name="Rex"))
        with db.write():
            db.add(Dog(name="Fido"))
        with pytest.raises(Own), db.write():
            db.add(Dog(name="Lost"))
            raise Own


def cancelled(db: motte.Database) -> None:
    with db.write() as write:
        db.add(Dog(name="Rex"))
        write.cancel()


def related(db: motte.Database) -> None:
    """Several calls of the library in one."""
    with db.write():
        db.add(Person(name="Ada", dogs=[Dog(name="Rex", owner=Person(name="Bob"))]))


def awaited(db: motte.Database) -> None:
    async def write() -> None:
        async with db.write():
            db.add(Dog(name="Rex"))
            async with db.write():
                db.add(Dog(name="Fido"))
    # Without an event loop around it, which catches what is raised in its own functions.
    steps = write()
    loop = asyncio.new_event_loop()
    asyncio._set_running_loop(loop)
    try:
        steps.send(None)
    except StopIteration:
        pass
    finally:
        steps.close()
        asyncio._set_running_loop(None)
        loop.close()


def contents(db: motte.Database) -> tuple[list[str], list[str]]:
    return sorted(dog.name for dog in db.objects(Dog)), sorted(each.name for each in db.objects(Person))


@pytest.mark.parametrize("work", [plain, raising, nested, cancelled, related, awaited])
def test_an_interrupted_block_has_ended(db: motte.Database, work: Callable[[motte.Database], None]) -> None:
    work(db)
    whole = contents(db)
    with db.write():
        db.delete_all()
    kept = lost = number = 0
    while True:
        with Interrupting(number) as interrupting:
            try:
                work(db)
            except Alarm:
                pass
        if not interrupting.has_raised:
            break
        number += 1
        assert not db.in_write and db._write is None and db._stored is None, number
        assert getattr(errors.raised, "error", None) is None, number
        found = contents(db)
        assert found in (whole, ([], [])), number
        kept, lost = kept + (found == whole), lost + (found != whole)
        # Later blocks are not concerned, nor are blocks in them.
        with db.write():
            db.add(Dog(name="later"))
            with db.write():
                db.delete_all()
        assert contents(db) == ([], [])
    assert number > 5 and lost + (whole == ([], [])) and kept


def savepoint(db: motte.Database) -> int:
    """The number of the next one."""
    number = db._realm.savepoint()
    db._realm.release_savepoint(number)
    return number


def test_an_interrupted_block_inside_is_undone_alone(db: motte.Database) -> None:
    number = 0
    while True:
        with db.write():
            db.add(Dog(name="outer"))
            is_whole, before = False, savepoint(db)
            with Interrupting(number) as interrupting:
                try:
                    with db.write():
                        inner = db.add(Dog(name="inner"))
                        db.add(Dog(name="second", owner=Person(name="Ada")))
                    is_whole = True
                except Alarm:
                    pass
            found = contents(db)
            assert found in ((["outer"], []), (["inner", "outer", "second"], ["Ada"])), number
            assert db._stored is None and db._write is not None and db._write._outer is None, number
            # Those of the library have ended with the blocks.
            for each in range(before + 1, savepoint(db)):
                with pytest.raises(errors.InvalidArgumentError):
                    db._realm.release_savepoint(each)
            db.add(Dog(name="after"))
        assert contents(db)[0] == sorted([*found[0], "after"]), number
        if is_whole:
            assert inner.name == "inner"
        with db.write():
            db.delete_all()
        if not interrupting.has_raised:
            break
        number += 1
    assert number > 10


def test_an_interrupt_leaves_a_block_that_fails(db: motte.Database) -> None:
    """Also where it comes while what the failed commit left is undone."""
    def refuse(batch: object) -> None:
        raise Own
    number = 0
    db.on_commit(refuse)
    while True:
        with Interrupting(number) as interrupting:
            try:
                plain(db)
            except Own:
                assert not interrupting.has_raised, number
            except Alarm:
                pass
        assert not db.in_write and db._write is None, number
        if not interrupting.has_raised:
            break
        number += 1
        errors.raised.error = None
    db.on_commit(None)
    assert number > 10 and contents(db) == ([], [])


def test_a_queued_write_that_is_interrupted_has_ended(db: motte.Database) -> None:
    number = 0
    while True:
        future = db.queue_write(lambda database: database.add(Dog(name="Rex")).name)
        with Interrupting(number) as interrupting:
            try:
                db.dispatch(timeout=0)
            except Alarm:
                pass
        db.dispatch(timeout=0)
        assert not db.in_write and db._write is None and db._stored is None, number
        if future.done() and future.exception() is None:
            assert contents(db)[0] == ["Rex"], number
        elif contents(db)[0]:
            # It had its turn, and does not say that the database was closed before.
            assert type(future.exception(0)) is errors.OutcomeUnknownError, number
        with db.write():
            db.delete_all()
        if not interrupting.has_raised:
            break
        number += 1
        errors.raised.error = None
    assert number > 10


def test_an_interrupted_bind_binds_all_or_nothing(db: motte.Database) -> None:
    with db.write():
        db.add_all([Person(name=name, age=age) for name in "ab" for age in (1, 2)])
    query = db.query(Person, "name == $0 AND age >= $1", "a", 2)
    number = 0
    while True:
        is_bound = False
        with Interrupting(number) as interrupting:
            try:
                query.bind("b", 1)
                is_bound = True
            except Alarm:
                pass
        found = [(person.name, person.age) for person in query.run()]
        assert sorted(found) in ([("a", 2)], [("b", 1), ("b", 2)]), number
        # What is undone of the next that is refused is that, too.
        with pytest.raises(motte.Error):
            query.bind("c", object())
        assert [(person.name, person.age) for person in query.run()] == found, number
        assert not is_bound or len(found) == 2
        query.bind("a", 2)
        if not interrupting.has_raised:
            break
        number += 1
        errors.raised.error = None
    assert number > 10
