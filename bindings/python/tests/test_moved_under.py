"""What moves under a session, or under a call that reads: all is of one version, or an error says why it is not."""
from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import motte
from motte import errors


class Known(motte.Model, stored_name="Item"):
    id: int = motte.field(primary_key=True)
    a: int = 0
    b: int = 0


class Renamed(motte.Model, stored_name="Item"):
    id: int = motte.field(primary_key=True)
    x: int = 0
    b: int = 0


class Turned(motte.Model, stored_name="Item"):
    id: int = motte.field(primary_key=True)
    x: int = 0
    a: int = 0


class Missing(motte.Model):
    id: int = motte.field(primary_key=True)


class Another(motte.Model):
    id: int = motte.field(primary_key=True)


@pytest.mark.parametrize("writes", [False, True])
def test_a_session_knows_what_it_relies_on_after_a_group(tmp_path: pathlib.Path, writes: bool) -> None:
    """An observer that writes while it is told of one of several queued writes leaves the session between two."""
    path = tmp_path / "items.motte"
    calls: list[int] = []

    async def run() -> None:
        with motte.open(path, schema=[Known]) as db:
            def told(*_: Any) -> None:
                calls.append(1)
                if writes and len(calls) == 2:
                    with db.write():
                        db.add(Known(id=100, a=1, b=2))

            with db.objects(Known).observe(told):
                await asyncio.sleep(0.01)
                await asyncio.gather(*(
                    db.write_async(lambda it, number=number: it.add(Known(id=number, a=1, b=2)) and None)
                    for number in range(3)))
                await asyncio.sleep(0.01)
            count = db.count(Known)
            # Under the old name is another property by then.
            motte.open(path, schema=[Renamed], schema_version=2, renames={"Item.a": "x"}).close()
            motte.open(path, schema=[Turned], schema_version=3, renames={"Item.b": "a"}).close()
            with pytest.raises(errors.SchemaChangedError):
                db.refresh()
            assert {(it.a, it.b) for it in db.objects(Known)} == {(1, 2)}
            assert len(db.objects(Known).where("a == 1")) == count == (4 if writes else 3)
            with pytest.raises(errors.SchemaChangedError), db.write():
                pass

    asyncio.run(run())
    assert len(calls) > 2


def test_a_reader_of_a_class_that_the_file_lacks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "items.motte"
    motte.open(path, schema=[Known]).close()
    with motte.open(path, schema=[Known, Missing], read_only=True) as reader:
        missing = reader.objects(Missing)
        assert len(missing) == 0
        with motte.open(path, schema=[Known, Another]) as db, db.write():
            db.add_all([Another(id=1), Known(id=1)])
        assert reader.refresh() and reader.count(Known) == 1 and len(missing) == 0
        with motte.open(path, schema=[Missing]) as db, db.write():
            db.add(Missing(id=1))
        with pytest.raises(errors.SchemaChangedError, match="has class Missing now"):
            reader.refresh()
        assert reader.count(Known) == 1 and len(missing) == 0
    with motte.open(path, schema=[Known, Missing], read_only=True) as reader:
        assert reader.count(Missing) == 1


EXPORTS: dict[str, Callable[[motte.Database, pathlib.Path, Any], Any]] = {
    "dump": lambda db, path, progress: db.export_json(path, progress=progress),
    "objects": lambda db, path, progress: db.export_json(path, db.objects(Known).sorted("a"), progress=progress),
    "rows": lambda db, path, progress: db.export_csv(path, db.objects(Known).sorted("a"), progress=progress),
    "tables": lambda db, path, progress: db.export_sqlite(path, progress=progress),
}


@pytest.mark.parametrize("export", sorted(EXPORTS))
@pytest.mark.parametrize("moves", ["refresh", "write", "nothing"])
def test_an_export_is_of_one_version(tmp_path: pathlib.Path, export: str, moves: str) -> None:
    path, made = tmp_path / "items.motte", tmp_path / "made"
    with motte.open(path, schema=[Known]) as db, motte.open(path, schema=[Known]) as other:
        with db.write():
            db.insert_columns(Known, {"id": range(10_000), "a": range(10_000)})

        def progress(*_: Any) -> None:
            if moves == "nothing":
                return
            writer = other if moves == "refresh" else db
            with writer.write():
                writer.add(Known(id=-1 - writer.count(Known), a=-1))
            db.refresh()

        if moves == "nothing":
            EXPORTS[export](db, made, progress)
            assert made.stat().st_size > 100_000
        else:
            with pytest.raises(errors.ReentrantError, match="in a progress function"):
                EXPORTS[export](db, made, progress)
            assert db.count(Known) == 10_000 and not db.in_write
        assert db.verify().is_sound


class Person(motte.Model):
    name: str = motte.field(primary_key=True)
    dogs: motte.Backlinks[Dog] = motte.backlinks("owner")


class Dog(motte.Model):
    name: str = motte.field(primary_key=True)
    owner: Person | None = None


def others_commit(db: motte.Database, change: Callable[[], None]) -> motte.NotificationToken:
    """While `compact()` refreshes, before it lets go of the file: another session commits once more."""
    seen: list[int] = []

    def told(changes: motte.Changes) -> None:
        if changes.is_initial or seen:
            return
        seen.append(1)
        change()

    token = db.objects(Dog).observe(told)
    db.dispatch()
    return token


def test_a_refused_compaction_forgets_what_linked_where(tmp_path: pathlib.Path) -> None:
    """The session was without the file, and moved: what is observed over inverse properties starts over."""
    path = tmp_path / "people.motte"
    with motte.open(path, schema=[Person, Dog]) as db, motte.open(path, schema=[Person, Dog]) as other:
        with db.write():
            people = [db.add(Person(name=f"p{number}")) for number in range(5)]
            for number, person in enumerate(people):
                db.add(Dog(name=f"d{number}", owner=person))
        other.refresh()
        ways = [db.objects(Person).where("dogs.@count > 0"), db.objects(Person).where("dogs.@count > 0").sorted("name"),
                db.objects(Person).where("ANY dogs.name BEGINSWITH 'd'")]
        told: dict[str, int] = {}

        def tell(name: str) -> Callable[[Any], None]:
            return lambda changes: told.__setitem__(name, told.get(name, 0) + 1)

        tokens = [way.observe(tell(f"way {number}")) for number, way in enumerate(ways)]
        tokens += [db.objects(Person).observe(tell("paths"), paths=["dogs"]), people[1].dogs.observe(tell("backlinks"))]
        db.dispatch()

        def unlink() -> None:
            with other.write():
                other.one(Dog, "d1").owner = None
                other.delete(other.one(Dog, "d3"))

        tokens.append(others_commit(db, unlink))
        with other.write():
            other.add(Dog(name="x"))
        before = dict(told)
        with pytest.raises(errors.BusyError):
            db.compact()
        db.dispatch()
        assert len(told) == 5 and all(told[name] > before[name] for name in told), told
        for _ in range(2):
            for way in ways:
                assert {each.name for each in way} == {"p0", "p2", "p4"}
            for each in (db, other):
                assert {found.name for found in each.objects(Person).where("dogs.@count > 0")} == {"p0", "p2", "p4"}
            with other.write():
                other.add(Person(name=f"new {other.count(Person)}"))
            db.refresh()
        for token in tokens:
            token.stop()


def test_a_session_that_cannot_come_back_is_closed_whole(tmp_path: pathlib.Path) -> None:
    """Another program migrates while the file is let go of: what waits ends, and says so."""
    path = tmp_path / "people.motte"
    db = motte.open(path, schema=[Person, Dog])
    kept: list[motte.Database] = []

    def migrate() -> None:
        kept.append(motte.open(path, schema=[Another], schema_version=2, delete_classes=["Dog", "Person"]))

    token = others_commit(db, migrate)
    with motte.open(path, schema=[Person, Dog]) as other, other.write():
        other.add(Dog(name="x"))
    queued = db.queue_write(lambda it: 1)
    with pytest.raises(errors.SchemaChangedError, match="closed; open a new"):
        db.compact()
    assert isinstance(queued.exception(timeout=5), errors.ClosedError)
    for use in (lambda: len(db.objects(Person)), lambda: db.queue_write(lambda it: 1)):
        with pytest.raises(errors.ClosedError):
            use()
    assert db.closed
    db.close()
    del token
    kept[0].close()
