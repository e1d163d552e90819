"""Between threads: references, and writes that are queued from anywhere."""
from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest
from conftest import Dog, Person

import motte
from motte import errors

SCHEMA: list[type[motte.Model]] = [Person, Dog]


def opened() -> motte.Database:
    return motte.open(in_memory="handover", schema=SCHEMA)


def elsewhere(function: Callable[[], Any]) -> Any:
    """What a function gives or raises on a thread of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return future.result()


def test_references_are_resolved_on_another_thread() -> None:
    with opened() as db:
        with db.write():
            rex = db.add(Dog(name="Rex", age=3))
            ada = db.add(Person(name="Ada", tags=["a", "b"], dogs=[rex]))
            db.add(Person(name="Bo"))
        young = db.query(Dog, "age < $0", 9)
        references: list[motte.Reference[Any]] = [
            motte.Reference(thing) for thing in (
                ada, ada.tags, ada.dogs, db.objects(Person).where("name BEGINSWITH 'B'"),
                db.backlinks(rex, Person.dogs), young)]
        names = db.objects(Person).sectioned("name", first_letter=True)
        section = motte.Reference(names[1])
        with db.write():
            ada.name = "Ada Lovelace"

        def resolve() -> list[Any]:
            with opened() as other:
                person, tags, dogs, found, lovers, query = [other.resolve(each) for each in references]
                part = other.resolve(section)
                assert type(tags) is motte.List and type(dogs) is motte.List and part is not None and part.key == "B"
                with pytest.raises(errors.InvalidArgumentError, match="has been resolved"):
                    other.resolve(references[0])
                return [person.name, list(tags), dogs[0].name, [each.name for each in found],
                        [each.name for each in lovers], query.count(), [each.name for each in part]]
        assert elsewhere(resolve) == [
            "Ada Lovelace", ["a", "b"], "Rex", ["Bo"], ["Ada Lovelace"], 1, ["Bo"]]


def test_what_is_gone_resolves_to_nothing() -> None:
    with opened() as db:
        with db.write() as write:
            ada = db.add(Person(name="Ada"))
            reference = motte.Reference(ada)
            assert elsewhere(lambda: resolved(reference)) is None
        assert elsewhere(lambda: resolved(reference)) == "Ada" and write.version is not None
        reference = motte.Reference(ada)
        with db.write():
            db.delete(ada)
        assert elsewhere(lambda: resolved(reference)) is None
        with pytest.raises(errors.ObjectDeletedError):
            motte.Reference(ada)
        with pytest.raises(errors.WrongTypeError):
            motte.Reference(db)
        with pytest.raises(errors.InvalidArgumentError):
            motte.Reference(Person(name="Bo"))


def resolved(reference: motte.Reference[Person]) -> object:
    with opened() as db:
        person = db.resolve(reference)
        return None if person is None else person.name


def test_writes_are_queued_from_other_threads() -> None:
    with opened() as db:
        here = threading.current_thread()

        def add(name: str) -> Callable[[motte.Database], str]:
            def work(db: motte.Database) -> str:
                assert threading.current_thread() is here and db.in_write
                return db.add(Person(name=name)).name
            return work

        def fail(db: motte.Database) -> None:
            db.add(Person(name="never"))
            raise KeyError("no")

        futures = elsewhere(lambda: [db.queue_write(add("Ada")), db.queue_write(fail), db.queue_write(add("Bo"))])
        cancelled = db.queue_write(add("never"))
        assert cancelled.cancel() and not futures[0].done()
        assert db.dispatch() == 4
        assert futures[0].result(0) == "Ada" and futures[2].result(0) == "Bo"
        with pytest.raises(KeyError, match="no"):
            futures[1].result(0)
        with pytest.raises(CancelledError):
            cancelled.result(0)
        assert sorted(person.name for person in db.objects(Person)) == ["Ada", "Bo"]

        unfinished = db.queue_write(lambda db: db.write().__enter__())
        db.dispatch()
        assert not unfinished.result(0).is_open and not db.in_write
        new: list[Person] = []
        unmade = db.queue_write(lambda db: new.append(db.add(Person(name="gone"))) or fail(db))
        db.dispatch()
        assert isinstance(unmade.exception(0), KeyError)
        with pytest.raises(errors.ObjectDeletedError):
            print(new[0].name)
        late = db.queue_write(add("late"))
        frozen = db.freeze()
        with pytest.raises(errors.FrozenError):
            frozen.queue_write(add("never"))
    with pytest.raises(errors.ClosedError):
        late.result(0)
    with pytest.raises(errors.ClosedError):
        db.queue_write(add("never"))


def test_a_queued_write_waits_for_its_turn() -> None:
    with opened() as db, opened() as other:
        with other.write():
            future = db.queue_write(lambda db: db.add(Dog(name="Rex")).name)
            assert db.dispatch() == 0 and not future.done()
        assert db.dispatch(10) == 1
        assert future.result(0) == "Rex"


def test_waiting_in_a_write_ends() -> None:
    """Nothing is delivered in it, and a write that waits for its turn is no reason to look again and again."""
    with opened() as db:
        endless, short = iter(db.changes()), iter(db.changes(timeout=0.1))
        with db.write():
            future = db.queue_write(lambda db: db.add(Dog(name="Rex")).name)
            with pytest.raises(errors.AlreadyInWriteError, match="would never end"):
                db.dispatch(None)
            with pytest.raises(errors.AlreadyInWriteError, match="would never end"):
                next(endless)
            before = time.process_time()
            assert db.dispatch(0.3) == 0 and list(short) == []
            assert time.process_time() - before < 0.2
        assert not future.done() and db.dispatch(10) == 1 and future.result(0) == "Rex"


def test_writes_under_asyncio() -> None:
    async def add(db: motte.Database, name: str) -> str:
        return await db.write_async(lambda db: db.add(Dog(name=name)).name)

    async def run() -> None:
        with opened() as db, opened() as other:
            assert await asyncio.gather(*(add(db, f"dog {number}") for number in range(20))) == [
                f"dog {number}" for number in range(20)]
            with pytest.raises(errors.DuplicatePrimaryKeyError):
                await add(db, "dog 3")
            assert db.count(Dog) == 20

            # The loop goes on while somebody else writes, and what is given up never happens.
            with other.write():
                waiting = asyncio.create_task(add(db, "Rex"))
                given_up = asyncio.create_task(add(db, "never"))
                for _ in range(5):
                    await asyncio.sleep(0)
                assert not waiting.done()
                given_up.cancel()
            assert await waiting == "Rex"
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert db.count(Dog) == 21

            with other.write():
                waiting = asyncio.create_task(add(db, "never"))
                await asyncio.sleep(0)
                db.close()
                with pytest.raises(errors.ClosedError):
                    await waiting
    asyncio.run(run())


def test_a_frozen_database_that_was_closed_says_so(db: motte.Database) -> None:
    with db.write():
        db.add(Dog(name="Rex", owner=Person(name="Ada")))
    frozen = db.freeze()
    dogs, again = frozen.objects(Dog), db.objects(Dog).freeze()
    dog, loop = dogs[0], iter(dogs)
    elsewhere(frozen.close)
    for use in (lambda: dog.name, lambda: dog.owner, dog.to_dict, lambda: next(loop).name, lambda: len(dogs),
                lambda: dogs[0], lambda: list(dogs), lambda: dogs.where(age=1),
                lambda: frozen.get(Dog, "Rex"), lambda: frozen.objects(Dog), lambda: frozen.version):
        with pytest.raises(errors.ClosedError):
            use()
    frozen.close()
    assert not dog.is_valid and "gone" in repr(dog) and db.freeze().get(Dog, "Rex") is not None
    # It was frozen by itself.
    assert again[0].name == "Rex"


def test_what_on_commit_raises_reaches_whoever_awaits(db: motte.Database) -> None:
    class Refused(Exception):
        pass

    told: list[Any] = []

    def refuse(batch: Any) -> None:
        raise Refused(f"no {len(told)}")

    async def write() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        for _ in range(2):
            with pytest.raises(Refused):
                await db.write_async(lambda database: database.add(Dog(name="Rex")))
    db.on_commit(refuse)
    try:
        asyncio.run(write())
        assert told == []
        several = [db.queue_write(lambda database: database.add(Dog(name="Rex"))) for _ in range(3)]
        db.dispatch()
        assert [type(each.exception()) for each in several] == [Refused] * 3
    finally:
        db.on_commit(None)
    future = db.queue_write(lambda database: database.add(Dog(name="Rex")).name)
    db.dispatch()
    assert future.result() == "Rex" and db.count(Dog) == 1
    several.clear()


def test_each_queued_write_is_told_its_own_refusal(db: motte.Database) -> None:
    class Refused(Exception):
        pass

    calls: list[int] = []

    def refuse(batch: Any) -> None:
        calls.append(len(calls))
        if calls[-1] != 1:
            raise Refused(f"commit {calls[-1]}")

    def write(changes: motte.Changes) -> None:
        # Called between the commits of the queued writes and what they are told.
        if changes.insertions:
            with db.write():
                db.add(Dog(name="of the observer"))
    with db.objects(Dog).observe(write):
        db.dispatch()
        db.on_commit(refuse)
        try:
            futures = [db.queue_write(lambda database, name=name: database.add(Dog(name=name)).name) for name in "abc"]
            futures.append(db.queue_write(lambda database: database.count(Dog)))
            with pytest.raises(Refused, match="commit 3"):
                db.dispatch()
        finally:
            db.on_commit(None)
    assert [str(futures[0].exception(0)), futures[1].result(0), str(futures[2].exception(0))] == [
        "commit 0", "b", "commit 2"]
    assert futures[3].result(0) == 1 and db.objects(Dog).column("name") == ["b"]
    assert getattr(errors.raised, "error", None) is None and errors.raised.queued is None
    futures.clear()
