"""observing changes: callbacks, loops, asyncio, other threads and processes; and what a callback raises."""
from __future__ import annotations

import asyncio
import gc
import os
import pathlib
import select
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Dog, Person

import motte
from motte import errors

Opener = Callable[..., motte.Database]


def test_callbacks_receive_of_each_write(db: motte.Database) -> None:
    received: list[motte.Changes] = []
    adults = db.objects(Person).where("age >= 18")
    observation = adults.observe(received.append)
    db.dispatch()
    assert [change.is_initial for change in received] == [True]

    with db.write():
        ada, bob, eve = db.add_all([Person(name="Ada", age=36), Person(name="Bob", age=5), Person(name="Eve", age=20)])
    with db.write():
        bob.age = 18
        ada.name = "Ada L."
        db.delete(eve)
    assert [(change.deletions, change.insertions, change.modifications_old, change.modifications)
            for change in received[1:]] == [([], [0, 1], [], []), ([1], [1], [0], [0])]
    assert received[2].from_version < received[2].to_version == db.version
    assert repr(received[2]) == "<Changes deletions [1], insertions [1], modifications [0]>"

    observation.stop()
    observation.stop()
    with db.write():
        db.add(Person(name="Mia", age=50))
    assert len(received) == 3


def test_an_observation_ends_when_it_is_dropped(db: motte.Database) -> None:
    received: list[Any] = []
    with db.objects(Person).observe(received.append):
        with db.write():
            db.add(Person(name="Ada"))
    received_inside = len(received)
    observation = db.objects(Person).observe(received.append)
    del observation
    gc.collect()
    with db.write():
        db.add(Person(name="Bob"))

    assert received_inside > 0 and len(received) == received_inside


def test_loops_over_changes(db: motte.Database) -> None:
    people = db.objects(Person)
    changes = iter(people.changes(timeout=0.05))
    assert next(changes).is_initial
    with db.write():
        db.add(Person(name="Ada"))
    with db.write():
        db.add(Person(name="Bob"))

    assert [change.insertions for change in changes] in ([[0], [1]], [[0, 1]])


def test_objects_are_observed(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", age=36))
    received: list[motte.ObjectChange] = []
    observation = ada.observe(received.append)
    with db.write():
        ada.age, ada.height = 37, 1.7
    with db.write():
        db.add(Person(name="Bob"))
    with db.write():
        db.delete(ada)

    assert [(each.name, each.old, each.new) for each in received[0].properties] == [
        ("age", 36, 37), ("height", None, 1.7)]
    assert len(received) == 2 and received[1].is_deleted and "deleted" in repr(received[1])
    assert "age" in repr(received[0])
    del observation


def test_lists_are_observed(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["a", "b"]))
    received: list[motte.Changes] = []
    observation = ada.tags.observe(received.append)
    db.dispatch()
    with db.write():
        ada.tags.insert(1, "x")
        del ada.tags[0]
    with db.write():
        db.delete(ada)

    assert received[0].is_initial and (received[1].deletions, received[1].insertions) == ([0], [0])
    assert received[-1].is_deleted
    del observation


def test_moves_are_deletions_that_are_insertions(db: motte.Database) -> None:
    with db.write():
        people = db.add_all([Person(name=name, age=age) for name, age in (("Ada", 1), ("Bob", 2), ("Eve", 3))])
    received: list[motte.Changes] = []
    listed: list[motte.Changes] = []
    by_age = db.objects(Person).sorted("age")
    with by_age.observe(received.append), people[0].dogs.observe(listed.append):
        with db.write():
            people[0].dogs.extend([Dog(name="Rex"), Dog(name="Tom"), Dog(name="Ben")])
        with db.write():
            people[0].age = 9
            db.add(Person(name="Mia", age=0))
            people[0].dogs.move(0, 2)
    assert [each.name for each in by_age] == ["Mia", "Bob", "Eve", "Ada"]
    assert (received[-1].deletions, received[-1].insertions, received[-1].moves) == ([0], [0, 3], [(0, 3)])
    assert received[0].moves == []
    assert listed[-1].moves == [(0, 2)]
    # Without moves.
    with by_age.observe(received.append):
        db.dispatch()
        with db.write():
            db.delete(people[1])
            db.add(Person(name="Zoe", age=99))
    assert (received[-1].deletions, received[-1].insertions, received[-1].moves) == ([1], [3], [])


def test_the_database_is_observed(db: motte.Database) -> None:
    received: list[motte.DatabaseChange] = []
    observation = db.observe(received.append)
    with db.write():
        db.add(Person(name="Ada"))

    assert received and received[-1].to_version == db.version and "version" in repr(received[-1])
    del observation


class Own(Exception):
    pass


def test_another_schema_is_a_change_of_the_database() -> None:
    received: list[motte.DatabaseChange] = []
    with motte.open(in_memory="schemas", schema=[Person, Dog]) as db, db.observe(received.append):
        with motte.open(in_memory="schemas", schema="Cat { name: string }"):
            db.refresh()
        assert [each.has_new_schema for each in received] == [True]
        assert repr(received[0]).endswith(" with another schema>")
        with db.write():
            db.add(Dog(name="Rex"))
        assert [each.has_new_schema for each in received] == [True, False]


def test_what_a_callback_raises_comes_out_of_what_delivers(
    db: motte.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(change: motte.Changes) -> None:
        raise Own("from the callback")

    observation = db.objects(Person).observe(fail)
    with pytest.raises(Own, match="from the callback"):
        db.dispatch()
    reported: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: reported.append(str(unraised.exc_value)))
    # The write was committed, which is not to be taken for a failure and done again.
    with db.write():
        db.add(Person(name="Ada"))
    assert not db.in_write and len(db.objects(Person)) == 1 and reported == ["from the callback"]
    observation.stop()
    with db.write():
        db.add(Person(name="Bob"))


def test_callbacks_may_stop_themselves_and_read(db: motte.Database) -> None:
    seen: list[int] = []
    people = db.objects(Person)

    def once(change: motte.Changes) -> None:
        seen.append(len(people))
        observation.stop()

    observation = people.observe(once)
    db.dispatch()
    with db.write():
        db.add(Person(name="Ada"))
    assert seen == [0]


def test_callbacks_may_write_and_observe(db: motte.Database) -> None:
    people, dogs = db.objects(Person), db.objects(Dog)
    received: list[tuple[str, list[int]]] = []
    more: list[motte.Observation] = []

    def note_dog(change: motte.Changes) -> None:
        received.append(("dogs", change.insertions))

    def adopt(change: motte.Changes) -> None:
        received.append(("people", change.insertions))
        if not change.insertions or more:
            return
        # Not called in this round: it begins with the state after it.
        more.append(dogs.observe(note_dog))
        with db.write():
            db.add(Dog(name="Rex"))
        assert len(dogs) == 1

    observation = people.observe(adopt)
    db.dispatch()
    with db.write():
        db.add(Person(name="Ada"))
    db.dispatch()
    with db.write():
        db.add(Dog(name="Bel"))
    assert received == [("people", []), ("people", [0]), ("dogs", []), ("dogs", [1])]
    for each in [observation, *more]:
        each.stop()


def test_dispatch_inside_a_callback_is_refused(db: motte.Database) -> None:
    raised: list[BaseException] = []

    def nested(change: motte.Changes) -> None:
        for call in (db.dispatch, db.refresh):
            try:
                call()
            except errors.Error as error:
                raised.append(error)

    observation = db.objects(Person).observe(nested)
    db.dispatch()
    assert [type(error) for error in raised] == [errors.ReentrantError] * 2
    observation.stop()


def test_observing_inside_a_write_is_refused(db: motte.Database) -> None:
    with db.write(), pytest.raises(errors.AlreadyInWriteError):
        db.objects(Person).observe(print)


def test_other_threads_are_received(opened: Opener) -> None:
    db = opened()
    received: list[motte.Changes] = []
    observation = db.objects(Person).observe(received.append)
    db.dispatch()

    def write() -> None:
        with opened() as own, own.write():
            own.add(Person(name="Ada"))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    readable, _, _ = select.select([db], [], [], 5)
    assert readable == [db] and db.dispatch() > 0
    assert received[-1].insertions == [0] and select.select([db], [], [], 0)[0] == []
    observation.stop()


def test_any_thread_stops_an_observation(opened: Opener) -> None:
    db = opened()
    received: list[motte.Changes] = []
    observation = db.objects(Person).observe(received.append)
    db.dispatch()
    failures: list[BaseException] = []

    def stop() -> None:
        try:
            observation.stop()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=stop)
    thread.start()
    thread.join()
    count = len(received)
    with db.write():
        db.add(Person(name="Ada"))
    db.dispatch()
    assert failures == [] and len(received) == count == 1


WRITER = """
    import sys, motte
    class Person(motte.Model):
        name: str
        age: int
    with motte.open(sys.argv[1], schema=[Person]) as db:
        with db.write():
            db.add(Person(name="from elsewhere", age=50))
"""


def test_other_processes_are_received(opened: Opener) -> None:
    db = opened()
    with db.write():
        db.add_all([Person(name=f"person {number}", age=number % 90) for number in range(5000)])
    old = db.objects(Person).where("age >= 40")
    changes = iter(old.changes(timeout=30))
    before = next(changes)
    counted, count = db.counters(), len(old)
    writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), db.path])
    change = next(changes)
    assert writer.wait(30) == 0

    assert before.is_initial and change.insertions == [count] and old[count].name == "from elsewhere"
    # Patched, not run again.
    assert db.counters()["full_reruns"] == counted["full_reruns"]


def test_asyncio(opened: Opener) -> None:
    db = opened()

    def write(name: str) -> None:
        with opened() as own, own.write():
            own.add(Person(name=name))

    async def watch(results: motte.Results[Any]) -> list[list[int]]:
        insertions = []
        async for change in results.changes(timeout=10):
            insertions.append(change.insertions)
            if len(results) == 2:
                break
        return insertions

    async def main() -> tuple[Any, Any]:
        loop = asyncio.get_running_loop()
        watching = asyncio.gather(watch(db.objects(Person)), watch(db.objects(Person).where("name != 'x'")))
        for name in ("Ada", "Bob"):
            await asyncio.sleep(0.1)
            await loop.run_in_executor(None, write, name)
        return await watching  # type: ignore[return-value]

    one, other = asyncio.run(main())
    assert sum(one, []) == [0, 1] == sum(other, [])


def test_asyncio_needs_no_thread_for_each_observer(opened: Opener) -> None:
    db = opened()

    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    async def first(results: motte.Results[Any]) -> None:
        async for change in results.changes(timeout=20):
            if change.insertions:
                return

    async def main(count: int) -> int:
        watching = [asyncio.ensure_future(first(db.objects(Person).where(f"age > {age}"))) for age in range(count)]
        await asyncio.sleep(0.05)
        most = threads()
        with opened() as own, own.write():
            own.add(Person(name="Ada", age=1000))
        await asyncio.gather(*watching)
        return max(most, threads())

    one = asyncio.run(main(1))
    assert asyncio.run(main(60)) == one


def test_async_streams_end(db: motte.Database) -> None:
    async def count() -> int:
        return len([change async for change in db.objects(Person).changes(timeout=0.05)])

    began = time.monotonic()
    assert asyncio.run(count()) == 1 and time.monotonic() - began < 5


@pytest.mark.parametrize("is_filtered", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_streams_end_although_other_things_change(opened: Opener, is_async: bool, is_filtered: bool) -> None:
    db = opened()
    with db.write():
        people = db.add_all([Person(name="Ada"), Person(name="Bob")])
    is_over = threading.Event()

    def change_others() -> None:
        with opened() as own:
            for age in range(1000):
                with own.write():
                    own.objects(Person)[1].age = age
                if is_over.wait(0.01):
                    return
    noise = threading.Thread(target=change_others)
    noise.start()
    stream: Any = people[0].changes(timeout=0.3)
    if is_filtered:
        # Changes that nobody wants are none.
        stream = db.objects(Person).changes(timeout=0.3).relabelled(lambda: lambda change: change.is_initial)

    async def count() -> int:
        return len([change async for change in stream])
    try:
        began = time.monotonic()
        assert (asyncio.run(count()) if is_async else len([*stream])) == (1 if is_filtered else 0)
        assert time.monotonic() - began < 5
    finally:
        is_over.set()
        noise.join()


def test_streams_end_with_their_source(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["x"]))
    changes = iter(ada.tags.changes(timeout=1))
    next(changes)
    with db.write():
        db.delete(ada)

    assert [change.is_deleted for change in changes] == [True]


def test_links_in_object_changes_are_objects(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada"))
        rex = db.add(Dog(name="Rex"))
    changes = iter(rex.changes(timeout=1))
    with db.write():
        rex.owner = ada

    change = next(changes).properties[0]
    assert (change.name, change.old, change.new) == ("owner", None, ada)


def test_key_paths_narrow_what_is_received(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", age=36))
        bob = db.add(Person(name="Bob", age=5))
    names: list[motte.Changes] = []
    members: list[motte.Changes] = []
    own: list[motte.ObjectChange] = []
    people = db.objects(Person)
    tokens = [people.observe(names.append, paths=["name"]), people.observe(members.append, paths=[]),
              ada.observe(own.append, paths=["age"])]
    db.dispatch()
    with db.write():
        bob.age = 6
    with db.write():
        ada.name, ada.age = "Adele", 37
    with db.write():
        db.add(Person(name="Eve"))

    assert [(change.insertions, change.modifications) for change in names[1:]] == [([], [0]), ([2], [])]
    assert [(change.insertions, change.modifications) for change in members[1:]] == [([2], [])]
    assert [[each.name for each in change.properties] for change in own] == [["age"]]
    stream = iter(people.changes(timeout=0.05, paths=["age"]))
    assert next(stream).is_initial
    with db.write():
        bob.name = "Bert"
        ada.age = 38
    assert [change.modifications for change in stream] == [[0]]
    with pytest.raises(errors.UnknownPropertyError, match="did you mean 'name'"):
        people.observe(names.append, paths=["nmae"])
    with pytest.raises(errors.InvalidArgumentError, match="is a list of key paths"):
        people.observe(names.append, paths="name")
    for token in tokens:
        token.stop()


def test_what_observers_raise_is_reported_by_the_interpreter(tmp_path: pathlib.Path) -> None:
    """Its own hook takes nothing but its own struct; and hooks that fail are nobody's affair."""
    program = """
import subprocess
import sys
import motte

class Item(motte.Model):
    n: int = 0

def fail(changes):
    if not changes.is_initial:
        raise ValueError("from the callback")

def hook(unraised):
    raise RuntimeError("from the hook")

with motte.open(sys.argv[1], schema=[Item]) as db:
    called = []
    with db.objects(Item).observe(fail), db.objects(Item).observe(called.append):
        db.dispatch()
        with db.write():
            db.add(Item())
        sys.unraisablehook = hook
        with db.write():
            db.add(Item())
        sys.unraisablehook = None
        with db.write():
            db.add(Item())
    print(len(db.objects(Item)), len(called), db.in_write)
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "file.motte")], capture_output=True,
                           text=True, timeout=60)
    assert ended.returncode == 0 and ended.stdout == "3 4 False\n", ended.stderr
    assert "ValueError: from the callback" in ended.stderr and "a callback of a motte database" in ended.stderr
    assert "RuntimeError: from the hook" in ended.stderr and "TypeError" not in ended.stderr


def test_what_a_callback_that_fails_changed_is_not_committed_with_a_write(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callbacks run in a write that begins, and one that raises half-way leaves none of it there."""
    reported: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: reported.append(str(unraised.exc_value)))
    made: list[Person] = []
    with motte.open(path, schema=[Person, Dog]) as db, motte.open(path, schema=[Person, Dog]) as other:
        def fail(changes: motte.Changes) -> None:
            if db.in_write and not made:
                made.append(Person(name="half"))
                db.add(made[0])
                raise Own("half-way")

        def whole(changes: motte.Changes) -> None:
            if db.in_write and not len(db.objects(Person).where("name == 'whole'")):
                db.add(Person(name="whole"))

        with db.objects(Dog).observe(fail), db.objects(Dog).observe(whole):
            db.dispatch()
            with other.write():
                other.add(Dog(name="Rex"))
            with db.write():
                db.add(Person(name="own"))
        assert reported == ["half-way"] and made[0].name == "half" and not made[0].is_stored
        assert sorted(each.name for each in db.objects(Person)) == ["own", "whole"]


@pytest.mark.parametrize("fails", [False, True])
def test_calls_of_a_callback_in_a_write_are_all_or_nothing(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """A callback may catch what a call raises that is several calls of the library."""
    reported: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: reported.append(str(unraised.exc_value)))
    refused = Person(name="refused", dogs=[Dog(name="Fido"), Dog(name="Rex")])
    kept = Person(name="kept", dogs=[Dog(name="Bello")])
    with motte.open(path, schema=[Person, Dog]) as db, motte.open(path, schema=[Person, Dog]) as other:
        def change(changes: motte.Changes) -> None:
            if db.in_write:
                with pytest.raises(errors.DuplicatePrimaryKeyError):
                    db.add(refused)
                db.add(kept)
                with pytest.raises(errors.DuplicatePrimaryKeyError):
                    db.add_all([Dog(name="Ada"), Dog(name="Rex")])
                if fails:
                    raise Own("after all")
        with db.objects(Dog).observe(change):
            db.dispatch()
            with other.write():
                other.add(Dog(name="Rex"))
            with db.write():
                pass
        assert db._stored is None and reported == ["after all"] * fails
        assert db.objects(Person).column("name") == ["kept"] * (not fails)
        assert sorted(db.objects(Dog).column("name")) == ["Bello"] * (not fails) + ["Rex"]
        assert not refused.is_stored and [dog.is_stored for dog in refused.dogs] == [False, False]
        assert kept.is_stored is not fails and kept.dogs[0].is_stored is not fails and kept.dogs[0].name == "Bello"
