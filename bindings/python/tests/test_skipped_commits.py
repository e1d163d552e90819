"""Commits that observations are not notified of, as their program shows the changes already: of every kind of write."""
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import Dog, Person

import motte


def test_a_write_skips_observations(db: motte.Database) -> None:
    shown: list[motte.Changes] = []
    received: list[motte.Changes] = []
    people = db.objects(Person)
    mine, other = people.observe(shown.append), people.observe(received.append)
    db.dispatch()
    with db.write(skipping=[mine]):
        db.add(Person(name="Ada"))
    with db.write():
        db.add(Person(name="Bob"))

    assert [change.insertions for change in shown[1:]] == [[1]]
    assert [change.insertions for change in received[1:]] == [[0], [1]]
    mine.stop()
    other.stop()


@pytest.mark.parametrize("how", ["plain", "nested", "inner", "queued", "queued inner", "async", "async with"])
def test_every_kind_of_write_skips(db: motte.Database, how: str) -> None:
    told: list[motte.Changes] = []
    people = db.objects(Person)
    token = people.observe(told.append)
    db.dispatch()
    told.clear()

    def written(db: motte.Database) -> None:
        with db.write(skipping=[token]):
            db.add(Person(name="Ada"))

    def deeper(db: motte.Database) -> None:
        with db.write():
            written(db)

    async def awaited() -> None:
        if how == "async":
            await db.write_async(written)
        else:
            async with db.write(skipping=[token]):
                db.add(Person(name="Ada"))

    if how.startswith("queued"):
        future = db.queue_write(deeper if how == "queued inner" else written)
        db.dispatch()
        assert future.result() is None
    elif how.startswith("async"):
        asyncio.run(awaited())
    elif how == "nested":
        with db.write():
            written(db)
    elif how == "inner":
        deeper(db)
    else:
        written(db)
    assert told == [] and people.count() == 1
    with db.write():
        db.add(Person(name="Bob"))
    db.dispatch()
    assert [change.insertions for change in told] == [[1]]
    token.stop()


def test_a_queued_write_that_skips_and_is_refused_is_not_made(db: motte.Database) -> None:
    told: list[motte.Changes] = []
    token = db.objects(Person).observe(told.append)
    db.dispatch()

    def refuse(_: Any) -> None:
        raise ValueError("not now")

    def written(db: motte.Database) -> None:
        with db.write(skipping=[token]):
            db.add(Person(name="Ada"))

    db.on_commit(refuse)
    first, second = db.queue_write(written), db.queue_write(written)
    db.dispatch()
    with pytest.raises(ValueError, match="not now"):
        first.result()
    with pytest.raises(ValueError, match="not now"):
        second.result()
    db.on_commit(None)
    assert db.count(Person) == 0
    future = db.queue_write(written)
    db.dispatch()
    future.result()
    assert db.count(Person) == 1 and len(told) == 1
    token.stop()


@pytest.mark.parametrize("writes", [False, True])
def test_queued_writes_are_skipped_although_an_observer_writes_between_them(db: motte.Database, writes: bool) -> None:
    people = db.objects(Person)
    told: list[list[int]] = []
    token = people.observe(lambda changes: told.append(changes.insertions))

    def observer(changes: motte.Changes) -> None:
        if writes and changes.insertions and db.count(Dog) == 0:
            with db.write():
                db.add(Dog(name="Rex"))

    other = people.observe(observer)
    db.dispatch()
    told.clear()

    def written(number: int, skips: bool) -> None:
        with db.write(skipping=[token] if skips else []):
            db.add(Person(name=str(number)))

    futures = [db.queue_write(lambda _, number=number: written(number, number % 2 == 1)) for number in range(5)]
    db.dispatch()
    for future in futures:
        future.result()
    assert told == ([[0], [2, 4]] if writes else [[0], [2], [4]])
    assert people.count() == 5 and db.count(Dog) == int(writes)
    token.stop()
    other.stop()


def test_sections_start_over_where_a_skipped_commit_came_after_what_waits(db: motte.Database) -> None:
    people = db.objects(Person)
    told: list[Any] = []

    def writer(changes: motte.Changes) -> None:
        if changes.insertions and people.count() < 2:
            with db.write(skipping=[sections, results]):
                db.add(Person(name="Bob"))

    first = people.observe(writer)
    shown = people.sectioned("name")
    sections = shown.observe(told.append)
    results = people.observe(lambda changes: told.append(changes.insertions))
    db.dispatch()
    told.clear()
    with db.write():
        db.add(Person(name="Ada"))
    assert [each if isinstance(each, list) else each.is_initial for each in told] == [True, [0]]
    told.clear()
    with db.write():
        db.add(Person(name="Cid"))
    assert told[1] == [2] and not told[0].is_initial and told[0].insertions == [(2, 0)]
    for token in (first, sections, results):
        token.stop()
