"""Change batches in Python: what they say, how they are applied, what is refused."""
from __future__ import annotations

import datetime
import pathlib
import pickle
import threading
import uuid
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import Model, errors, field


class Person(Model):
    id: int = field(primary_key=True)
    name: str


@pytest.fixture
def origin(tmp_path: pathlib.Path) -> Any:
    with motte.open(tmp_path / "origin.motte", schema=[Person]) as db:
        db.keep_changes(db.version)
        with db.write():
            db.add(Person(id=1, name="Ada"))
        yield db


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> Any:
    with motte.open(tmp_path / "copy.motte", schema=[Person]) as db:
        yield db


def names(db: motte.Database) -> list[str]:
    return [person.name for person in db.objects(Person).sorted("id")]


def test_a_batch_says_what_it_is(origin: motte.Database) -> None:
    batch = origin.changes_since(0)
    assert batch.is_whole and not batch.is_empty
    assert (batch.from_version, batch.to_version) == (0, origin.version)
    assert batch.origin == origin.origin and isinstance(batch.origin, uuid.UUID)
    now = datetime.datetime.now(datetime.timezone.utc)
    assert batch.committed_at is not None and abs(now - batch.committed_at) < datetime.timedelta(minutes=5)
    assert motte.ChangeBatch(bytes(batch)) == batch == pickle.loads(pickle.dumps(batch))
    assert len(batch) == len(bytes(batch)) and hash(batch) == hash(motte.ChangeBatch(batch.data))
    assert "everything" in repr(batch) and str(batch.origin) in repr(batch)
    nothing = origin.changes_since(origin.version)
    assert nothing.is_empty and not nothing.is_whole and nothing != batch
    assert "changes after" in repr(nothing)


def test_changes_are_applied_once_and_observed(origin: motte.Database, copy: motte.Database) -> None:
    seen: list[motte.Changes] = []
    token = copy.objects(Person).observe(seen.append)
    copy.dispatch()
    everything = origin.changes_since(0)
    assert copy.applied_version(origin.origin) is None
    assert copy.apply(everything) is True
    assert copy.apply(bytes(everything)) is False
    with origin.write():
        origin.one(Person, 1).name = "Eve"
        origin.add(Person(id=2, name="Bo"))
    with origin.write():
        origin.add(Person(id=3, name="Cy"))
    later = origin.changes_since(everything.to_version)
    assert copy.apply(later, timeout=5) is True
    assert names(copy) == names(origin) == ["Eve", "Bo", "Cy"]
    assert copy.applied_version(origin.origin) == later.to_version
    copy.dispatch()
    last = seen[-1]
    assert list(last.insertions) == [1, 2] and list(last.modifications) == [0] and not list(last.deletions)
    token.stop()


def test_what_does_not_follow_is_refused(origin: motte.Database, copy: motte.Database) -> None:
    everything = origin.changes_since(0)
    with origin.write():
        origin.add(Person(id=2, name="Bo"))
    middle = origin.version
    with origin.write():
        origin.add(Person(id=3, name="Cy"))
    before = copy.version
    with pytest.raises(errors.OutOfSequenceError, match="version 0"):
        copy.apply(origin.changes_since(middle))
    with pytest.raises(errors.InvalidArgumentError, match="this very file"):
        origin.apply(everything)
    with pytest.raises(errors.InvalidArgumentError, match="MOTTECHG"):
        copy.apply(b"something else")
    damaged = bytearray(bytes(everything))
    damaged[-1] ^= 1
    with pytest.raises(errors.CorruptedError, match="checksum"):
        copy.apply(damaged)
    with pytest.raises(errors.HistoryUnavailableError):
        origin.changes_since(10_000)
    for wrong in (-1, 2**64 - 1):
        with pytest.raises(errors.InvalidArgumentError):
            origin.changes_since(wrong)
    with copy.write(), pytest.raises(errors.AlreadyInWriteError):
        copy.apply(everything)
    assert copy.version == before
    copy.apply(everything)
    with copy.write():
        copy.delete(copy.one(Person, 1))
    with origin.write():
        origin.one(Person, 1).name = "Eve"
    with pytest.raises(errors.HistoryForkedError):
        copy.apply(origin.changes_since(everything.to_version))
    assert names(copy) == []


def test_another_schema_is_refused(origin: motte.Database, tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "other.motte", schema="Person { id: string key, name: string }") as other:
        with pytest.raises(errors.SchemaMismatchError):
            other.apply(origin.changes_since(0))
        assert other.count(other.model("Person")) == 0


def test_changes_are_kept_as_long_as_asked_for(origin: motte.Database) -> None:
    start = origin.version
    for number in range(140):
        with origin.write():
            origin.add(Person(id=number + 10, name="someone"))
    assert not origin.changes_since(start).is_empty
    origin.keep_changes(None)
    for number in range(140):
        with origin.write():
            origin.add(Person(id=number + 1_000, name="someone"))
    with pytest.raises(errors.HistoryUnavailableError, match="read everything"):
        origin.changes_since(start)


def test_each_consumer_of_changes_has_a_position(origin: motte.Database) -> None:
    start = origin.version
    assert [consumer.name for consumer in origin.change_consumers()] == [None]
    assert origin.keep_changes(start, "feed")
    with origin.write():
        origin.add(Person(id=2, name="Bo"))
    origin.keep_changes(None)
    assert origin.change_consumers() == [motte.ChangeConsumer("feed", start, 1, True)]
    for number in range(200):
        with origin.write():
            origin.delete(origin.objects(Person).where("id >= 100"))
            origin.add(Person(id=100 + number, name="more"))
    assert origin.change_consumers() == [motte.ChangeConsumer("feed", start, 201, True)]
    assert origin.changes_since(start).from_version == start
    assert origin.keep_changes(None, "feed") and not origin.keep_changes(None, "feed")
    assert origin.change_consumers() == []
    for name in ("", "a\0b", "x" * 1025):
        with pytest.raises(errors.InvalidArgumentError):
            origin.keep_changes(start, name)


def test_frozen_things_give_changes_up_to_what_they_show(origin: motte.Database, copy: motte.Database) -> None:
    frozen = origin.freeze()
    with origin.write():
        origin.add(Person(id=2, name="Bo"))
    found: list[motte.ChangeBatch] = []
    thread = threading.Thread(target=lambda: found.append(frozen.changes_since(0)))
    thread.start()
    thread.join()
    assert found[0].to_version == frozen.version < origin.version
    copy.apply(found[0])
    assert names(copy) == ["Ada"]
    with pytest.raises(errors.FrozenError):
        frozen.apply(found[0])


def test_what_is_no_batch_no_version_and_no_origin(origin: motte.Database) -> None:
    wrong: Any
    for wrong in (5, "text", None, [1], 1.5):
        with pytest.raises(errors.WrongTypeError, match="a batch is"):
            motte.ChangeBatch(wrong)
        with pytest.raises(errors.WrongTypeError, match="a batch is"):
            origin.apply(wrong)
    for wrong in ("1", 1.0, None, True):
        with pytest.raises(errors.WrongTypeError, match="a version is"):
            origin.changes_since(wrong)
    with pytest.raises(errors.InvalidArgumentError, match="count from 0"):
        origin.changes_since(-1)
    for wrong in (str(origin.origin), 1, None):
        with pytest.raises(errors.WrongTypeError, match="an origin is"):
            origin.applied_version(wrong)


# ------------------------------------------------------------------------------------------------ inverses, commits


def test_a_write_is_undone_and_redone(origin: motte.Database, copy: motte.Database) -> None:
    copy.apply(origin.changes_since(0))
    before = origin.freeze()
    with origin.write():
        origin.one(Person, 1).name = "Eve"
        origin.add(Person(id=2, name="Bo"))
    done = origin.changes_since(before)
    assert done.is_reversible and not done.is_patch
    undo = done.inverse()
    assert undo.is_reversible and undo.is_patch
    assert (undo.from_version, undo.to_version) == (done.to_version, done.from_version)
    assert origin.apply(undo) and names(origin) == ["Ada"]
    assert origin.apply(undo.inverse()) and names(origin) == ["Eve", "Bo"]
    with pytest.raises(errors.OutOfSequenceError):
        copy.apply(undo)
    assert copy.apply(done) and names(copy) == ["Eve", "Bo"]
    assert copy.apply(undo) and names(copy) == ["Ada"]
    assert copy.applied_version(origin.origin) == done.from_version
    assert copy.apply(done) and names(copy) == ["Eve", "Bo"]


def test_what_has_no_inverse(origin: motte.Database, copy: motte.Database) -> None:
    plain = origin.changes_since(origin.version - 1)
    assert not plain.is_reversible
    for batch in (plain, origin.changes_since(0)):
        with pytest.raises(errors.InvalidArgumentError, match="no inverse"):
            batch.inverse()
    with pytest.raises(errors.InvalidArgumentError, match="another file"):
        origin.changes_since(copy.freeze())


def test_an_inverse_that_no_longer_fits(origin: motte.Database) -> None:
    before = origin.freeze()
    with origin.write():
        origin.one(Person, 1).name = "Eve"
    undo = origin.changes_since(before).inverse()
    with origin.write():
        origin.delete(origin.one(Person, 1))
    with pytest.raises(errors.HistoryForkedError, match="no longer fits"):
        origin.apply(undo)


def test_a_function_is_asked_before_commits(origin: motte.Database, copy: motte.Database) -> None:
    copy.apply(origin.changes_since(0))
    asked: list[motte.ChangeBatch] = []

    def ask(batch: motte.ChangeBatch) -> None:
        with pytest.raises(errors.ReentrantError):
            origin.refresh()
        copy.apply(batch)
        asked.append(batch)

    origin.on_commit(ask, reversible=True)
    with origin.write():
        origin.add(Person(id=2, name="Bo"))
    assert names(copy) == ["Ada", "Bo"]
    assert asked[0].is_reversible and asked[0].to_version == origin.version
    assert bytes(origin.changes_since(asked[0].from_version))[:48] == bytes(asked[0])[:12] + bytes(
        origin.changes_since(asked[0].from_version))[12:24] + bytes(asked[0])[24:48]
    with origin.write():
        pass
    assert len(asked) == 1
    origin.on_commit(None)
    with origin.write():
        origin.add(Person(id=3, name="Cy"))
    assert len(asked) == 1


def test_what_a_function_raises_cancels_the_write(origin: motte.Database) -> None:
    def refuse(batch: motte.ChangeBatch) -> None:
        raise LookupError("not today")

    version = origin.version
    origin.on_commit(refuse)
    with pytest.raises(LookupError, match="not today"), origin.write():
        origin.add(Person(id=2, name="Bo"))
    assert names(origin) == ["Ada"] and origin.version == version
    with pytest.raises(LookupError):
        origin.keep_changes(None)
    future = origin.queue_write(lambda db: db.add(Person(id=2, name="Bo")))
    while not future.done():
        origin.dispatch()
    with pytest.raises(LookupError, match="not today"):
        future.result()
    origin.on_commit(None)
    with origin.write():
        origin.add(Person(id=2, name="Bo"))
    assert names(origin) == ["Ada", "Bo"]


def test_when_one_may_ask_to_be_asked(origin: motte.Database) -> None:
    with origin.write(), pytest.raises(errors.AlreadyInWriteError):
        origin.on_commit(lambda batch: None)
    with pytest.raises(errors.FrozenError):
        origin.freeze().on_commit(lambda batch: None)


def test_a_difference_leads_to_another_file(origin: motte.Database, tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "other.motte", schema=[Person]) as other:
        with other.write():
            other.add(Person(id=9, name="Ivy"))
        patch = origin.changes_to(other)
        assert patch.is_difference and patch.is_reversible and not patch.is_patch
        before = names(origin)
        assert origin.apply(patch) and names(origin) == ["Ivy"]
        with pytest.raises(errors.HistoryForkedError, match="primary key"):
            origin.apply(patch)
        assert origin.apply(patch.inverse()) and names(origin) == before
        assert not other.apply(other.changes_to(other))
        with pytest.raises(errors.WrongTypeError, match="Database"):
            origin.changes_to("other.motte")  # type: ignore[arg-type]


class Nameless(motte.Model):
    number: int = 0
    friend: Optional[Nameless] = None


@pytest.mark.parametrize("lost", [0, 1, 2, 3, 500, 3000])
def test_differences_fit_a_file_that_lost_keys(lost: int) -> None:
    """Keys that a cancelled write had are not given again; those of a difference begin before them."""
    def numbers(db: motte.Database) -> list[Any]:
        return [(each.number, each.friend and each.friend.number) for each in db.objects(Nameless).sorted("number")]

    with motte.open(in_memory="lost-keys", schema=[Nameless]) as db:
        with db.write():
            db.add_all([Nameless(number=number) for number in range(3)])
        for step in range(1, 5):
            with pytest.raises(ZeroDivisionError), db.write():
                db.add_all([Nameless(number=-1) for _ in range(lost)])
                raise ZeroDivisionError
            with motte.open(in_memory=f"other-{step}", schema=[Nameless]) as other:
                other.apply(db.changes_since(0))
                with other.write():
                    last = other.objects(Nameless).sorted("number").last()
                    for number in range(3):
                        last = other.add(Nameless(number=10 * step + number, friend=last))
                    if step > 2:
                        other.delete(other.objects(Nameless).where(number=10 * step - 9).first())
                before, after = numbers(db), numbers(other)
                difference = db.changes_to(other)
                for _ in range(2):
                    db.apply(difference)
                    assert numbers(db) == after
                    db.apply(difference.inverse())
                    assert numbers(db) == before
                db.apply(difference)
                assert numbers(db) == after and db.verify().is_sound


def test_the_inverse_of_a_write_that_changed_nothing() -> None:
    class Item(Model):
        name: str

    with motte.open(in_memory="no changes", schema=[Item]) as db:
        steps = []

        def step(name: str) -> None:
            with db.freeze() as before:
                with db.write():
                    if name:
                        db.add(Item(name=name))
                steps.append(db.changes_since(before))
        for name in ("a", "", "b", "", ""):
            step(name)
        assert [db.apply(each.inverse()) for each in reversed(steps)] == [False, False, True, False, True]
        assert len(db.objects(Item)) == 0


def test_a_migration_within_a_batch_is_refused_there(tmp_path: pathlib.Path) -> None:
    """What it added and migrated looks like an addition to a file that has neither."""
    leader, copy = tmp_path / "leader.motte", tmp_path / "copy.motte"
    first = "P { id: int key, name: string }"
    with motte.open(leader, schema=first) as db:
        db.keep_changes(db.version)
        with db.write():
            db.add(db.model("P")(id=1, name="a"))
        whole = db.changes_since(0)
    with motte.open(copy, schema=first) as db:
        db.apply(whole)
    motte.open(leader, schema="P { id: int key, name: string, b: int, s: string }").close()
    with motte.open(leader, schema="P { id: int key, name: string, b: int?, s: string? }", schema_version=1,
                    migration=lambda _: None) as db:
        later = db.changes_since(whole.to_version)
    with motte.open(copy) as db:
        with pytest.raises(errors.SchemaMismatchError, match="a migration is among the changes"):
            db.apply(later)
        assert [name for name in ("b", "s") if f" {name}:" in db.schema] == []


def test_primary_keys_that_a_migration_set_are_carried_by_no_batch(tmp_path: pathlib.Path) -> None:
    leader, copy = tmp_path / "leader.motte", tmp_path / "copy.motte"
    schema = "P { id: int key, name: string }"
    with motte.open(leader, schema=schema) as db:
        db.keep_changes(db.version)
        with db.write():
            for number in (1, 2):
                db.add(db.model("P")(id=number, name="a"))
        whole = db.changes_since(0)

    def step(migration: motte.Migration) -> None:
        for each in migration.new.objects("P"):
            each.id += 10

    with motte.open(leader, schema=schema, schema_version=1, migration=step) as db:
        later = db.changes_since(whole.to_version)
        newest = db.changes_since(0)
    with motte.open(copy, schema=schema) as db:
        db.apply(whole)
        with pytest.raises(errors.SchemaMismatchError):
            db.apply(later)
        assert [each.id for each in db.objects("P")] == [1, 2]
    with motte.open(tmp_path / "new.motte", schema=schema) as db:
        db.apply(newest)
        assert [each.id for each in db.objects("P")] == [11, 12]


@pytest.mark.parametrize(("kind", "before", "after"), [
    ("double", 0.0, -0.0), ("mixed", 1, 1.0), ("decimal", Decimal("1.0"), Decimal("1.00"))])
def test_sets_have_the_very_elements(tmp_path: pathlib.Path, kind: str, before: Any, after: Any) -> None:
    """Those that are equal and not the same are replaced, and put back."""
    schema = f"M {{ id: int key, s: set<{kind}> }}"

    def shown(db: motte.Database) -> list[str]:
        return [repr(value) for value in db.objects("M")[0].s]

    with motte.open(tmp_path / "one", schema=schema) as one, motte.open(tmp_path / "two", schema=schema) as two:
        one.keep_changes(one.version)
        with one.write():
            it = one.add(one.model("M")(id=1, s={before}))
        two.apply(one.changes_since(0))
        frozen = one.freeze()
        with one.write():
            it.s.discard(before)
            it.s.add(after)
        changes = one.changes_since(frozen)
        two.apply(changes)
        assert shown(one) == shown(two) == [repr(after)]
        one.apply(changes.inverse())
        assert shown(one) == [repr(before)]
