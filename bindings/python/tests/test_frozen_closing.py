"""What closing a frozen database ends: what came from it, and nothing that somebody else has frozen."""
from __future__ import annotations

import concurrent.futures
import gc
import pathlib
import threading
import time
from collections.abc import Callable
from typing import Any, Optional

import pytest

import motte
from motte import _handles, errors


class Person(motte.Model):
    name: str
    age: int = 0
    tags: list[str] = motte.field(default_factory=list)
    scores: dict[str, int] = motte.field(default_factory=dict)
    dogs: list[Dog] = motte.field(default_factory=list)


class Dog(motte.Model):
    name: str = motte.field(primary_key=True)
    owner: Optional[Person] = None


@pytest.fixture
def db(tmp_path: pathlib.Path) -> Any:
    with motte.open(tmp_path / "holders.motte", schema=[Person, Dog]) as opened:
        with opened.write():
            ada = opened.add(Person(name="Ada", age=36, tags=["x"], scores={"a": 1}))
            ada.dogs = [opened.add(Dog(name="Rex", owner=ada))]
        yield opened


def count_in_a_block(database: motte.Database) -> int:
    """A helper with a frozen database of its own."""
    with database.freeze() as own:
        return len(own.objects(Person))


def test_others_keep_what_they_froze_at_the_same_version(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    frozen, alone, rows, tags = db.freeze(), ada.freeze(), db.objects(Person).freeze(), ada.tags.freeze()
    people, scores, sections = frozen.objects(Person), ada.scores.freeze(), db.objects(Dog).sectioned("name").freeze()
    groups = db.objects(Person).group_by("name").count().freeze()
    assert [count_in_a_block(each) for each in (db, frozen, alone.database, db)] == [1] * 4
    seen: list[Any] = []

    def look() -> None:
        seen.extend([alone.age, alone.dogs[0].owner.name, rows[0].name, [*tags], people[0].age, len(people), {**scores},
                     sections[0].key, groups[0][1], sections[0][0].owner.age, frozen.version > 0])
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [36, "Ada", "Ada", ["x"], 36, 1, {"a": 1}, "Rex", 1, 36, True]


def test_each_has_its_limit_and_interruption(db: motte.Database) -> None:
    one, two = db.freeze(), db.freeze()
    one.query_timeout = 0.5
    assert two.query_timeout is None and db.query_timeout is None
    one.interrupt()
    assert len(two.objects(Person)) == 1


def test_objects_of_one_version_are_equal_whoever_froze_them(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    one, two = db.freeze(), db.freeze()
    assert one is not two and one.freeze() is not one
    frozen = [one.objects(Person)[0], two.objects(Person)[0], one.freeze().objects(Person)[0], ada.freeze(),
              ada.freeze().freeze(), db.objects(Person).freeze()[0]]
    assert len({*frozen}) == 1 and all(each == frozen[0] != ada for each in frozen)
    assert one.objects(Person) == two.objects(Person)
    with db.write():
        ada.age = 37
    assert ada.freeze() != frozen[0] and all(each.age == 36 and each.thaw() == ada for each in frozen)


@pytest.mark.parametrize("others", ["are open", "are gone", "were closed"])
def test_one_of_several_of_a_version_ends_alone(db: motte.Database, others: str) -> None:
    frozen = db.freeze()
    other = frozen.freeze()
    theirs = other.objects(Person)
    people, ada = frozen.objects(Person), frozen.objects(Person)[0]
    dogs, tags, loop, query = ada.dogs, ada.tags, iter(people), frozen.query(Person, "age > 1")
    groups, sections = people.group_by("name").count(), people.sectioned(lambda person: person.age)
    # Also what was frozen of it stands by itself.
    kept, rows = ada.freeze(), people.freeze()
    if others == "were closed":
        other.close()
        del kept, rows
    elif others == "are gone":
        del other, theirs, kept, rows
    frozen.close()
    frozen.close()
    uses: list[Callable[[], Any]] = [
        lambda: ada.name, lambda: ada.dogs, ada.to_dict, ada.freeze, lambda: len(people), lambda: people[0],
        lambda: [*people], lambda: people.where(age=1), people.freeze, lambda: people.column("age"),
        lambda: people.to_numpy("age"), lambda: next(loop).name, lambda: dogs[0], lambda: len(tags), tags.freeze,
        query.count, query.first, query.run, lambda: groups[0], groups.freeze, lambda: groups.limit(1),
        lambda: len(sections), lambda: frozen.objects(Person), lambda: frozen.get(Dog, "Rex"), lambda: frozen.version,
        lambda: frozen.latest_version, lambda: frozen.schema, frozen.freeze, frozen.counters, frozen.verify,
        lambda: db.changes_since(frozen), lambda: frozen.write().__enter__(),
        lambda: setattr(frozen, "query_timeout", 1), lambda: motte.Reference(ada), lambda: frozen.model("Cat"),
        lambda: frozen.export_json(), lambda: frozen.dispatch(), lambda: people.max("age")]
    for place, use in enumerate(uses):
        with pytest.raises(errors.ClosedError):
            print(place, use())
    assert frozen.closed and not frozen.in_write and repr(frozen).startswith("<closed Database ")
    assert not ada.is_valid and "gone" in repr(ada)
    if others == "are open":
        assert len(theirs) == 1 and theirs[0].name == kept.name == rows[0].dogs[0].owner.name == "Ada"
        assert kept == theirs[0]


def test_the_database_of_single_things_is_closed_by_nobody(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    frozen, other = ada.freeze(), ada.freeze()
    with frozen.database as common:
        assert common is other.database and common.is_frozen
    assert other.age == frozen.age == 36 and not common.closed and len(common.objects(Dog)) == 1


def test_many_single_things_cost_one_database(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    before = _handles.live_handles()
    objects = [ada.freeze() for _ in range(1000)]
    assert _handles.live_handles() == before + 1 and len({id(each.database) for each in objects}) == 1


def test_a_version_is_kept_until_the_last_has_gone(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    gc.disable()
    try:
        shown = len(db.readers())
        frozen = db.freeze()
        again, single = frozen.freeze(), frozen.objects(Person)[0].freeze()
        with db.write():
            ada.age = 37
        assert len(db.readers()) == shown + 1
        frozen.close()
        del single
        assert len(db.readers()) == shown + 1
        people = again.objects(Person)
        # The last closes it, whoever still has something of it.
        again.close()
        assert len(db.readers()) == shown and people is not None
    finally:
        gc.enable()


def test_the_limit_is_that_of_the_moment(db: motte.Database) -> None:
    ada = db.objects(Person)[0]
    db.query_timeout = 10
    first, single = db.freeze(), ada.freeze()
    db.query_timeout = None
    assert [first.query_timeout, db.freeze().query_timeout, ada.freeze().database.query_timeout] == [10, None, None]
    assert single.database.query_timeout == 10 and single == ada.freeze()
    db.query_timeout = 20
    assert [first.freeze().query_timeout, db.freeze().query_timeout, ada.freeze().database.query_timeout] == [
        10, 20, 20]


def test_threads_freeze_and_close_at_once(db: motte.Database) -> None:
    """Each has what it froze until it closes that, whatever the others do with the same version."""
    root = db.freeze()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(100):
                with root.freeze() as own:
                    with own.freeze() as inner:
                        person = inner.objects(Person)[0]
                        single = person.freeze()
                    assert own.objects(Person)[0].name == single.name == "Ada"
                    with pytest.raises(errors.ClosedError):
                        person.name
                if number == 0 and turn == 50:
                    root.close()
        except errors.ClosedError as error:
            if not root.closed:
                failures.append(error)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and root.closed


def test_closing_while_threads_read(db: motte.Database) -> None:
    with db.write():
        db.add_all([Person(name="x" * 200, age=index, tags=["y" * 100]) for index in range(1, 20)])
    failures: list[BaseException] = []

    def read(frozen: motte.Database, people: list[Person], begun: threading.Semaphore) -> None:
        begun.release()
        try:
            while True:
                for person in people[1:]:
                    assert (person.name, [*person.tags]) == ("x" * 200, ["y" * 100])
                    assert person.to_dict()["name"] == "x" * 200
                found = frozen.objects(Person).where("age > 3 AND name CONTAINS 'x'").sorted("age")
                assert found[0].age == 4 or found[0].name == "Ada"
                assert frozen.objects(Person).group_by("name").count()[1][1] == 19
                assert frozen.objects(Person).column("name")[3] == "x" * 200
        except errors.ClosedError:
            pass
        except BaseException as error:
            failures.append(error)

    for turn in range(60):
        begun = threading.Semaphore(0)
        with db.freeze() as frozen:
            threads = [threading.Thread(target=read, args=(frozen, frozen.objects(Person)[:], begun)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for _ in threads:
                begun.acquire()
            time.sleep(turn % 6 * 0.0005)
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_closed_version_goes_with_the_threads_that_read_it(db: motte.Database) -> None:
    shown = len(db.readers())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with db.freeze() as frozen:
            people = frozen.objects(Person)
            assert pool.submit(lambda: people[0].name).result() == "Ada"
        with db.write():
            db.objects(Person)[0].age = 40
        assert len(db.readers()) == shown + 1
        # The same thread calls again.
        with db.freeze() as frozen:
            others = [frozen.objects(Person)]
            assert pool.submit(lambda: others[0][0].age).result() == 40
            assert len(db.readers()) == shown
        with db.write():
            db.objects(Person)[0].age = 41
        assert len(db.readers()) == shown + 1
        # Nothing of it is left.
        others.clear()
        assert len(db.readers()) == shown
    with pytest.raises(errors.ClosedError):
        people[0]


def test_what_is_frozen_has_the_limit_of_its_database(db: motte.Database) -> None:
    rows, person = db.objects(Person).freeze(), db.objects(Person)[0].freeze()
    assert rows[0].database is person.database
    rows[0].database.query_timeout = 0
    for found in (rows.where("name CONTAINS 'd'"), person.database.objects(Person).where("name CONTAINS 'd'")):
        with pytest.raises(errors.QueryInterruptedError):
            len(found)
    # The live one has no limit, so what is frozen now has none either.
    assert len(db.objects(Person).freeze().where("name CONTAINS 'd'")) == 1
    assert db.objects(Person).freeze()[0].database.query_timeout is None


def test_a_key_function_cannot_close_what_it_reads(db: motte.Database) -> None:
    frozen = db.freeze()

    def key(person: Person) -> str:
        frozen.close()
        return person.name
    with pytest.raises(errors.ReentrantError):
        len(frozen.objects(Person).sectioned(key))
    assert not frozen.closed and frozen.count(Person) == frozen.freeze().count(Person) == 1
    frozen.close()
    assert frozen.closed


def test_a_closed_one_keeps_no_file_open(tmp_path: pathlib.Path) -> None:
    """Although a thread that has read from it does nothing any more."""
    path = tmp_path / "idle.motte"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with motte.open(path, schema=[Person, Dog]) as db:
            with db.write():
                db.add(Person(name="Ada"))
            with db.freeze() as frozen:
                assert pool.submit(lambda: frozen.objects(Person)[0].name).result() == "Ada"
            assert db.compact().bytes_after > 0 and frozen.closed
        motte.compact(path)
        motte.delete(path)
    with pytest.raises(errors.ClosedError):
        frozen.count(Person)
