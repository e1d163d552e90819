"""Arguments at their limits: numbers that fit nowhere, times and values without end, one where many are meant."""
from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from conftest import CLASSES, Dog, Person
from motte import errors

_numbers = itertools.count()
HUGE, LONE = 2**70, "\ud800"


class Home(motte.EmbeddedModel):
    city: str = ""


class Owner(motte.Model):
    id: int = motte.field(primary_key=True)
    mixed: Any = None
    home: Optional[Home] = None
    homes: list[Home] = motte.field(default_factory=list)
    by_name: dict[str, Optional[Home]] = motte.field(default_factory=dict)
    nums: list[int] = motte.field(default_factory=list)
    texts: list[str] = motte.field(default_factory=list)
    some: set[int] = motte.field(default_factory=set)
    words: set[str] = motte.field(default_factory=set)
    anything: list[Any] = motte.field(default_factory=list)
    counts: dict[str, int] = motte.field(default_factory=dict)
    friends: list["Owner"] = motte.field(default_factory=list)


class Pet(motte.Model):
    owner: Optional[Owner] = None


@pytest.fixture
def own() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"arguments {next(_numbers)}", schema=[Owner, Home, Pet]) as database:
        with database.write():
            database.add(Owner(id=1, nums=[1, 2, 3], texts=["a"], some={1}, words={"a"}, counts={"a": 1, "b": 2},
                               home=Home(city="Bath"), homes=[Home(city="Rome"), Home(city="Oslo")],
                               by_name={"work": Home(city="York")}))
        yield database


# ------------------------------------------------------------------------------------------------ what is nowhere


def test_values_that_cannot_be_stored_are_in_nothing(own: motte.Database) -> None:
    owner = own.one(Owner, 1)
    for value in (HUGE, -HUGE):
        for numbers in (owner.nums, owner.some, owner.anything, owner.nums.results(), owner.nums.freeze()):
            assert value not in numbers
            with pytest.raises(ValueError, match="is not in it"):
                numbers.index(value)  # type: ignore[attr-defined]
            assert numbers.count(value) == 0  # type: ignore[attr-defined]
        assert own.objects(Owner).sectioned("id").find(value) is None
    assert own.get(Owner, HUGE) is None
    with pytest.raises(errors.ObjectNotFoundError, match=f"there is no Owner {HUGE}"):
        own.one(Owner, HUGE)
    for texts in (owner.texts, owner.words, owner.anything, owner.counts):
        assert LONE not in texts
    assert owner.counts.get(LONE) is None
    with pytest.raises(KeyError):
        owner.counts[LONE]
    with own.write():
        owner.some.discard(HUGE)
        owner.words.discard(LONE)
        for remove in (lambda: owner.some.remove(HUGE), lambda: owner.words.remove(LONE),
                       lambda: owner.counts.pop(LONE)):
            with pytest.raises(KeyError):
                remove()


def test_positions_that_nothing_can_have(own: motte.Database) -> None:
    owner = own.one(Owner, 1)
    sections = own.objects(Owner).sectioned("id")
    with own.write():
        for index in (HUGE, -HUGE):
            for read in (lambda: owner.nums[index], lambda: own.objects(Owner)[index], lambda: sections[index],
                         lambda: sections.place(index), lambda: owner.nums.move(index, 0),
                         lambda: owner.nums.pop(index)):
                with pytest.raises(errors.OutOfBoundsError):
                    read()
            with pytest.raises(errors.ObjectNotFoundError, match="there is no Owner with key"):
                own.at(Owner, index)
            with pytest.raises(errors.NumberOverflowError) as caught:
                own.insert_columns(Pet, {"owner": [-1, index]})
            assert caught.value.row_index == 1 and caught.value.property_name == "owner"
            with pytest.raises(errors.NumberOverflowError):
                owner.friends.extend_keys([owner.object_key, index])
            assert len(owner.friends) == 0
        no_number: Any
        for no_number in (1.5, None, "x", b"x"):
            for read in (lambda: owner.nums[no_number], lambda: sections[no_number], lambda: own.at(Owner, no_number)):
                with pytest.raises(TypeError):
                    read()
        owner.nums.insert(HUGE, 4)
        assert owner.nums.limit(HUGE) == owner.nums[:HUGE] == [1, 2, 3, 4] and owner.nums[HUGE:] == []


# ------------------------------------------------------------------------------------------------ times


WAITS: list[Callable[[motte.Database, Any], Any]] = [
    lambda db, timeout: db.write(timeout).__enter__(), lambda db, timeout: db.dispatch(timeout),
    lambda db, timeout: db.wait_for_change(timeout), lambda db, timeout: next(iter(db.changes(timeout))),
    lambda db, timeout: next(iter(db.objects(Dog).changes(timeout))),
    lambda db, timeout: motte.open(in_memory="times", schema=CLASSES, timeout=timeout).close(),
]


@pytest.mark.parametrize("call", WAITS, ids=["write", "dispatch", "wait", "changes", "results", "open"])
def test_times_that_are_none(db: motte.Database, call: Callable[[motte.Database, Any], Any]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="nan is none"):
        call(db, float("nan"))
    if call is not WAITS[-1]:  # where a negative one is documented
        for wrong in (-1, -0.001, float("-inf")):
            with pytest.raises(errors.InvalidArgumentError, match="a timeout is not negative"):
                call(db, wrong)
    for wrong in ("5", b"", [], object()):
        with pytest.raises(errors.WrongTypeError, match="a timeout is a number of seconds"):
            call(db, wrong)
    assert not db.in_write


@pytest.mark.parametrize(
    "timeout", [float("inf"), 1e300, 10**400, 1e9, None], ids=["inf", "real", "int", "long", "none"])
def test_times_without_end(path: Path, timeout: Any) -> None:
    def writing() -> None:
        with motte.open(path, schema=CLASSES, timeout=timeout) as other:
            for number in range(4):
                turn.acquire()
                with other.write(timeout):
                    other.add(Dog(name=f"{number}"))

    turn = threading.Semaphore(0)
    with motte.open(path, schema=CLASSES, timeout=timeout) as db:
        seen: list[Any] = []
        thread = threading.Thread(target=writing, daemon=True)
        thread.start()
        with db.objects(Dog).observe(seen.append):
            assert db.dispatch(timeout) == 1
            turn.release()
            assert db.dispatch(timeout) >= 1
            turn.release()
            assert db.wait_for_change(timeout) and db.refresh()
            stream = iter(db.changes(timeout))
            turn.release()
            assert isinstance(next(stream), motte.DatabaseChange)
            del stream

            async def changed() -> Any:
                async for change in db.changes(timeout):
                    return change
            turn.release()
            assert isinstance(asyncio.run(changed()), motte.DatabaseChange)
        thread.join()
        db.refresh()
        assert db.count(Dog) == 4


# ------------------------------------------------------------------------------------------------ values without end


def circular() -> list[Any]:
    inner: list[Any] = [1]
    inner.append({"again": [inner, inner], "x": (2, inner)})
    simple: list[Any] = []
    simple += [simple, simple]
    table: dict[str, Any] = {}
    table["self"] = table
    return [inner, simple, table]


@pytest.mark.parametrize("value", circular(), ids=["both", "list", "dict"])
def test_values_that_hold_themselves(own: motte.Database, value: Any) -> None:
    owner = own.one(Owner, 1)

    def assign(name: str) -> None:
        setattr(owner, name, value)
    new = Owner(id=3, mixed=value)
    calls: list[Callable[[], Any]] = [
        lambda: assign("mixed"), lambda: owner.anything.append(value), lambda: own.add(Owner(id=2, mixed=value)),
        lambda: own.add(Owner(id=2, anything=[value], nums=[1])), lambda: own.upsert(Owner(id=1, mixed=value)),
        lambda: own.add_all([Owner(id=2), Owner(id=3, mixed=value)]), lambda: own.update(owner, mixed=value),
        lambda: own.create_or_update(Owner, id=1, mixed=value), lambda: own.add(Owner(id=4, friends=[new])),
        lambda: own.insert_columns(Owner, {"id": [2, 3], "mixed": [1, value]}),
        lambda: own.objects(Owner).where("mixed == $0", value).first(),
        lambda: owner.anything.assign([value], only_differences=True), lambda: assign("anything"),
    ]
    with own.write():
        for number, call in enumerate(calls):
            if call is calls[-1] and isinstance(value, dict):
                continue
            with pytest.raises(errors.InvalidArgumentError, match="nest to 100 levels at most"):
                call()
            assert own.count(Owner) == 1 and owner.mixed is None and not owner.anything, number
    assert value not in owner.anything


def test_a_hundred_levels_are_fine(own: motte.Database) -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]
    friend = Owner(id=5)
    with own.write():
        owner = own.add(Owner(id=2, mixed=value, anything=[value, friend], friends=[friend]))
    assert owner.mixed.to_plain() == value and value in owner.anything
    with own.write(), pytest.raises(errors.InvalidArgumentError, match="nest to 100 levels"):
        owner.mixed = [value]


# ------------------------------------------------------------------------------------------------ one for many


def test_one_where_many_are_meant(db: motte.Database, path: Path) -> None:
    for call in (lambda: db.export_json(None, Dog, columns="name"), lambda: db.export_csv(None, Dog, columns="name"),
                 lambda: motte.open(path, schema=CLASSES, schema_version=1, delete_classes="Dog"),
                 lambda: motte.plan(path, CLASSES, schema_version=1, delete_classes="Dog"),
                 lambda: db.insert_rows(Dog, "ab", [(1, 2)]),
                 lambda: db.objects(Dog).observe(print, paths="name")):
        with pytest.raises(errors.InvalidArgumentError, match="around the one"):
            call()
    with pytest.raises(errors.WrongTypeError, match="renames are a dict"):
        motte.open(path, schema=CLASSES, schema_version=1, renames="Dog.name")  # type: ignore[arg-type]
    with pytest.raises(errors.SchemaInvalidError, match=r"write schema=\[Dog\]"):
        motte.open(path, schema=Dog)  # type: ignore[arg-type]
    assert not path.exists()


@pytest.mark.parametrize("number", [-1, 2**80])
def test_numbers_of_rows(db: motte.Database, number: int) -> None:
    with db.write():
        for call in (lambda: db.import_json(Dog, text="[]", batch_rows=number),
                     lambda: db.import_json(Dog, text="[]", commit_every=number),
                     lambda: db.import_csv(Dog, text="name\n", batch_rows=number),
                     lambda: db.export_json(None, Dog, depth=number)):
            with pytest.raises(errors.InvalidArgumentError, match=f"is a number from 0 up, not {number}"):
                call()


def test_what_is_exported(own: motte.Database) -> None:
    owner = own.one(Owner, 1)
    for wrong in (5, [owner], {"a": 1}, own):
        with pytest.raises(errors.WrongTypeError, match="what to export is a class, a collection or an object"):
            own.export_json(None, wrong)  # type: ignore[arg-type]
    for collection in (owner.nums, owner.counts):
        with pytest.raises(errors.WrongTypeError):
            own.export_csv(None, collection)
    text = own.export_json(None, owner.by_name)
    assert text is not None and "York" in text
    assert own.export_json(None, owner.counts) == own.export_json(None, owner.nums.limit(2))


def test_sections_by_a_class_attribute(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", age=36))
        db.add_all([Dog(name="Rex", age=3, owner=ada), Dog(name="Fido", age=3), Dog(name="Bello", age=4)])
    dogs = db.objects(Dog).sorted(Dog.age)
    assert dogs.sectioned(Dog.age).keys == dogs.sectioned("age").keys == [3, 4]
    path: Any = Dog.owner
    assert dogs.sectioned(path.name).keys == dogs.sectioned("owner.name").keys
    assert db.objects(Dog).sorted("name").sectioned(Dog.name, first_letter=True).keys == ["B", "F", "R"]
    for wrong in (5, None, -Dog.age, ["age"]):
        with pytest.raises(TypeError, match="a property is wanted"):
            dogs.sectioned(wrong)


# ------------------------------------------------------------------------------------------------ itself


def test_assigning_something_to_itself_changes_nothing(own: motte.Database) -> None:
    owner = own.one(Owner, 1)
    before = owner.to_dict()
    kept = [owner.home, *owner.homes, owner.by_name["work"]]
    changes: list[Any] = []

    def assign() -> None:
        for name in ("home", "homes", "by_name", "nums", "texts", "some", "words", "counts"):
            setattr(owner, name, getattr(owner, name))
        owner.homes[:] = owner.homes
        owner.homes[1] = owner.homes[1]
        assert own.update(owner, home=owner.home) is owner
        owner.by_name["work"] = owner.by_name["work"]
        owner.homes.assign(owner.homes, only_differences=True)
        owner.by_name.assign(owner.by_name, only_differences=True)
    for name in ("home", "homes", "by_name"):
        with pytest.raises(errors.NotInWriteError):
            setattr(owner, name, getattr(owner, name))
    with owner.observe(changes.append), own.write():
        assign()
        assert owner.to_dict() == before
        assert kept == [owner.home, *owner.homes, owner.by_name["work"]] and all(each.is_valid for each in kept)
    with own.write():
        owner.homes += [Home(city="Lima")]
        owner.nums += [4]
        assert own.update(owner, home=owner.home, mixed=5).mixed == 5
        assert [home.city for home in owner.homes] == ["Rome", "Oslo", "Lima"] and owner.nums == [1, 2, 3, 4]
        other = own.add(Owner(id=2))
        # Those of another place are refused still: they belong there.
        for take in (lambda: setattr(other, "homes", owner.homes), lambda: setattr(other, "home", owner.home),
                     lambda: owner.homes.append(owner.homes[0]), lambda: setattr(owner, "home", owner.homes[0]),
                     lambda: own.update(other, home=owner.home), lambda: owner.by_name.update(other=owner.home)):
            with pytest.raises(errors.Error):
                take()
        assert len(owner.homes) == 3 and len(other.homes) == 0
    assert changes == []  # nothing was observed any more when more was changed


# ------------------------------------------------------------------------------------------------ bind


def test_arguments_are_bound_together_or_not(db: motte.Database) -> None:
    with db.write():
        db.add_all([Dog(name="Rex", age=3), Dog(name="Fido", age=4)])
    query = db.query(Dog, "name == $0 AND age == $1 AND age IN $2", "Rex", 3, [3, 4])
    shown = str(query)
    for wrong in (("Fido", "x"), ("Fido", 4, 5), ("Fido", 4, [4], 5), ("Fido", HUGE), (LONE, 4), (5,),
                  ("Fido", Decimal("1.5"), object())):
        with pytest.raises(errors.Error):
            query.bind(*wrong)
        assert str(query) == shown and query.count() == 1
    assert query.bind("Fido", 4).count() == 1 and query.bind("Rex").count() == 0
    shown = str(query)
    with pytest.raises(errors.Error):
        query.bind("Fido", "x")
    assert str(query) == shown and query.count() == 0
