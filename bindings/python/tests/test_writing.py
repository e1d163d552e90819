"""Writing: blocks, adding, values of every type, finding and deleting."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import motte
from conftest import CLASSES, Dog, Everything, Person
from motte import errors

UTC = timezone.utc
Opener = Callable[..., motte.Database]


# ------------------------------------------------------------------------------------------------ writing


def test_a_block_is_committed(db: motte.Database) -> None:
    before = db.version
    with db.write() as write:
        assert db.in_write and write.is_open
        db.add(Person(name="Ada"))

    assert not db.in_write and write.version == db.version > before and len(db.objects(Person)) == 1


def test_a_block_that_raises_is_cancelled(db: motte.Database) -> None:
    class Own(Exception):
        pass

    with db.write():
        kept = db.add(Person(name="Kept", age=1))
    with pytest.raises(Own), db.write():
        kept.age = 2
        lost = db.add(Person(name="Lost"))
        raise Own

    assert kept.age == 1 and len(db.objects(Person)) == 1 and not db.in_write
    with db.write():
        db.add(Person(name="Another"))
    # Another process may give its key to an object of its own; the object stays lost.
    assert not lost.is_valid
    with pytest.raises(errors.ObjectDeletedError, match="cancelled"):
        lost.name


def test_a_block_can_be_cancelled(db: motte.Database) -> None:
    with db.write() as write:
        db.add(Person(name="Ada"))
        write.cancel()

    assert len(db.objects(Person)) == 0 and write.version is None


def test_changes_need_a_write(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["x"]))
    changes: list[Callable[[], Any]] = [
        lambda: db.add(Person(name="Bob")), lambda: db.delete(ada), lambda: setattr(ada, "name", "Eve"),
        lambda: ada.tags.append("y"), lambda: ada.tags.clear(), lambda: db.delete(db.objects(Person)),
        lambda: db.insert_columns(Person, {"name": ["Bob"]}), lambda: db.add_all([Person(name="a"), Person(name="b")])]
    for change in changes:
        with pytest.raises(errors.NotInWriteError):
            change()
    assert ada.name == "Ada" and list(ada.tags) == ["x"]


def test_waiting_for_another_writer_ends(opened: Opener) -> None:
    one, other = opened(), opened()
    with one.write():
        with pytest.raises(TimeoutError), other.write(timeout=0.05):
            pass
    with other.write(timeout=1):
        pass


def test_closing_inside_a_write_cancels(opened: Opener) -> None:
    db = opened()
    with db.write():
        db.add(Person(name="Ada"))
        db.close()

    assert len(opened().objects(Person)) == 0


def test_another_task_cannot_join_a_write(db: motte.Database) -> None:
    async def intruder() -> None:
        with pytest.raises(errors.AlreadyInWriteError, match="another task"):
            db.add(Person(name="Intruder"))
        with pytest.raises(errors.AlreadyInWriteError, match="another task"), db.write():
            pass

    async def writer() -> None:
        with db.write():
            db.add(Person(name="Ada"))
            await asyncio.create_task(intruder())

    asyncio.run(writer())
    assert [person.name for person in db.objects(Person)] == ["Ada"]


# ------------------------------------------------------------------------------------------------ adding


def test_adding_gives_the_same_object_back(db: motte.Database) -> None:
    ada = Person(name="Ada")
    with db.write():
        assert db.add(ada) is ada
        assert db.add(ada) is ada

    assert ada.is_stored and ada.database is db and ada == db.objects(Person)[0] and hash(ada) == hash(
        db.objects(Person)[0])
    assert ada.object_key == db.objects(Person).object_keys()[0] and db.at(Person, ada.object_key) == ada
    assert len(db.objects(Person)) == 1


def test_what_is_linked_is_added_too(db: motte.Database) -> None:
    ada, bob = Person(name="Ada"), Person(name="Bob")
    ada.friend, bob.friend = bob, ada
    ada.dogs = [Dog(name="Rex", owner=bob), Dog(name="Fido", owner=ada)]
    with db.write():
        db.add(ada)

    assert len(db.objects(Person)) == 2 and len(db.objects(Dog)) == 2
    assert ada.friend == bob and bob.friend == ada and [dog.name for dog in ada.dogs] == ["Rex", "Fido"]
    assert [dog.name for dog in bob.owned] == ["Rex"] and list(ada.listed_by) == [bob]


def test_a_chain_of_ten_thousand_links_is_added(db: motte.Database) -> None:
    first = last = Person(name="0")
    for number in range(1, 10_000):
        last.friend = Person(name=str(number))
        last = last.friend
    with db.write():
        db.add(first)

    assert len(db.objects(Person)) == 10_000 and last.is_stored


def test_adding_fails_as_a_whole(db: motte.Database) -> None:
    with db.write():
        db.add(Dog(name="Rex"))
        ada = Person(name="Ada", dogs=[Dog(name="Fido"), Dog(name="Rex")])
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add(ada)
        assert not ada.is_stored and len(db.objects(Person)) == 0 and len(db.objects(Dog)) == 1


@pytest.mark.parametrize("call", ["add_all", "upsert_all"])
@pytest.mark.parametrize("update", [False, True])
def test_what_cannot_be_added_is_refused_among_many(db: motte.Database, call: str, update: bool) -> None:
    class Home(motte.EmbeddedModel):
        city: str = ""

    def stored(many: Any) -> Any:
        return db.upsert_all(many) if call == "upsert_all" else db.add_all(many, update=update)
    with db.write():
        rex = db.add(Dog(name="Rex"))
        for wrong in (5, None, Dog, "abc", b"x", [Dog(name="inner")], {"a": Dog(name="inner")}, motte.Model):
            new = Dog(name="new")
            for many in ([new, wrong], [wrong], iter([rex, new, wrong]), (new, Dog(name="new 2"), wrong)):
                with pytest.raises(errors.WrongTypeError, match="takes an object of a model class, not"):
                    stored(many)
            assert not new.is_stored and db.count(Dog) == 1
        with pytest.raises(errors.Error):
            stored([Dog(name="new"), Home()])
        for wrong in ("abc", {"a": Dog(name="a")}, 5, None, Dog(name="one"), b"xy"):
            with pytest.raises(errors.WrongTypeError):
                stored(wrong)
        assert db.count(Dog) == 1
        with pytest.raises(ZeroDivisionError):
            stored(Dog(name=f"{1 / number}") for number in (1, 0))
        assert db.count(Dog) == 1 and stored([]) == []


def test_updating_by_primary_key(db: motte.Database) -> None:
    with db.write():
        rex = db.add(Dog(name="Rex", age=1))
        again = db.add(Dog(name="Rex", age=2), update=True)

    assert again == rex and rex.age == 2 and len(db.objects(Dog)) == 1


def test_many_at_once(db: motte.Database) -> None:
    with db.write():
        owner = db.add(Person(name="Ada"))
        dogs = db.add_all([Dog(name=f"dog {number}", age=number, owner=owner) for number in range(1000)])
        people = db.add_all([Person(name="Bob", tags=["x"]), Person(name="Eve")])

    assert len(db.objects(Dog)) == 1000 and dogs[7] == db.one(Dog, "dog 7") and len(owner.owned) == 1000
    assert people[0].tags == ["x"] and people[1].is_stored
    with pytest.raises(errors.DuplicatePrimaryKeyError) as caught, db.write():
        db.add_all([Dog(name="new"), Dog(name="dog 3"), Dog(name="newer")])
    assert caught.value.row_index == 1 and len(db.objects(Dog)) == 1000


def test_columns_and_rows(db: motte.Database) -> None:
    with db.write():
        keys = db.insert_columns(Person, {"name": ["Ada", "Bob"], "height": [1.7, None]})
        dogs = db.insert_rows(Dog, ["name", "owner"], [("Rex", keys[0]), ("Fido", db.at(Person, keys[1])), ("X", None)])
        assert len(db.insert_columns(Person, {"name": []})) == 0

    assert [(person.name, person.height) for person in db.objects(Person)] == [("Ada", 1.7), ("Bob", None)]
    assert [dog.owner and dog.owner.name for dog in db.objects(Dog)] == ["Ada", "Bob", None]
    assert list(dogs) == list(db.objects(Dog).object_keys())


def test_bad_batches(db: motte.Database) -> None:
    with db.write():
        with pytest.raises(errors.InvalidArgumentError, match="different lengths"):
            db.insert_columns(Person, {"name": ["a", "b"], "age": [1]})
        with pytest.raises(errors.UnknownPropertyError, match="nmae"):
            db.insert_columns(Person, {"nmae": ["a"]})
        with pytest.raises(errors.WrongTypeError, match="collection"):
            db.insert_columns(Person, {"name": ["a"], "tags": [["x"]]})
        with pytest.raises(errors.WrongTypeError, match=r"Person.age.*'1'") as wrong:
            db.insert_columns(Person, {"name": ["a", "b"], "age": [1, "1"]})
        with pytest.raises(errors.NullNotAllowedError) as null:
            db.insert_columns(Person, {"name": ["a", "b", None]})
        with pytest.raises(errors.InvalidArgumentError, match="row 1 has 1 values"):
            db.insert_rows(Person, ["name", "age"], [("a", 1), ("b",)])
        assert len(db.objects(Person)) == 0
    assert wrong.value.row_index == 1 and wrong.value.property_name == "age" and null.value.row_index == 2


# ------------------------------------------------------------------------------------------------ values

SAMPLES: dict[str, list[Any]] = {
    "flag": [True, False],
    "whole": [0, -1, 127, 128, -32769, 2**31, 2**63 - 1, -2**63],
    "single": [0.0, 0.5, -1.25, float("inf")],
    "real": [0.0, 0.1, -1e300, float("-inf"), 5e-324],
    "text": ["", "x", "Zürich 🛫", "nul\0inside", "x" * 100_000],
    "data": [b"", b"\0\xff", bytes(range(256)) * 100],
    "moment": [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
               datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in SAMPLES.items() for value in values],
                         ids=lambda value: repr(value)[:40])
def test_values_come_back(db: motte.Database, name: str, value: Any) -> None:
    maybe = "maybe_" + name
    values = {name: value, **({maybe: value} if maybe in Everything._properties else {})}
    with db.write():
        one = db.add(Everything(id=1, **values))
        two = db.add(Everything(id=2))
        for key in values:
            setattr(two, key, value)

    for thing in (one, two):
        for key in values:
            read = getattr(thing, key)
            assert read == value and type(read) is type(value)
    with db.write():
        if maybe in values:
            setattr(one, maybe, None)
            assert getattr(one, maybe) is None


def test_several_values_at_once(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", age=36))
        rex = Dog(name="Rex")
        assert db.update(ada, age=37, height=1.7, friend=ada) is ada
        db.update(db.add(rex), age=3, owner=Person(name="new"))
        for values in ({"age": 1, "name": None}, {"age": 1, "name": 5}, {"age": 1, "nmae": "x"}, {"tags": []}):
            with pytest.raises(motte.Error):
                db.update(ada, **values)
    assert (ada.name, ada.age, ada.height, ada.friend) == ("Ada", 37, 1.7, ada)
    assert rex.owner is not None and rex.owner.name == "new"
    with pytest.raises(errors.NotInWriteError):
        db.update(ada, age=1)
    with pytest.raises(errors.InvalidArgumentError):
        db.update(Person(name="unmanaged"), age=1)


def test_values_that_do_not_fit(db: motte.Database) -> None:
    with db.write():
        thing = db.add(Everything(id=1, whole=5))
        wrong: list[tuple[str, Any, type[Exception]]] = [
            ("whole", "5", errors.WrongTypeError), ("whole", 5.0, errors.WrongTypeError),
            ("whole", True, errors.WrongTypeError), ("whole", None, errors.NullNotAllowedError),
            ("whole", 2**63, errors.NumberOverflowError), ("text", b"x", errors.WrongTypeError),
            ("text", "\ud800", errors.InvalidUTF8Error), ("flag", 1, errors.WrongTypeError),
            ("moment", datetime(2013, 1, 1), errors.WrongTypeError), ("real", "x", errors.WrongTypeError),
            ("id", 2, errors.PrimaryKeyIsFixedError), ("maybe_whole", [], errors.WrongTypeError),
            ("text", Dog(name="Rex"), errors.WrongTypeError)]
        for name, value, kind in wrong:
            with pytest.raises(kind):
                setattr(thing, name, value)
        assert thing.whole == 5 and thing.id == 1
        thing.real = 3  # an int fits
        assert thing.real == 3.0 and type(thing.real) is float


def test_numbers_of_numpy(db: motte.Database) -> None:
    numpy = pytest.importorskip("numpy")

    with db.write():
        thing = db.add(Everything(id=1, whole=numpy.int16(5), real=numpy.float32(0.5), flag=numpy.bool_(True)))
    assert (thing.whole, thing.real, thing.flag) == (5, 0.5, True)


def test_other_time_zones(db: motte.Database) -> None:
    noon = datetime(2013, 1, 1, 12, tzinfo=timezone(timedelta(hours=-5)))
    with db.write():
        thing = db.add(Everything(id=1, moment=noon))

    assert thing.moment == noon and thing.moment.tzinfo is UTC


# ------------------------------------------------------------------------------------------------ finding and deleting


def test_finding_by_primary_key(db: motte.Database) -> None:
    with db.write():
        db.add_all([Dog(name="Rex", age=1), Dog(name="Fido", age=2)])
        db.add(Everything(id=-5))

    rex = db.get(Dog, "Rex")
    assert rex is not None and rex.age == 1 and db.get(Dog, "Nobody") is None
    assert db.one(Everything, -5).id == -5 and db.count(Dog) == 2
    with pytest.raises(LookupError, match="no Dog 'Nobody'"):
        db.one(Dog, "Nobody")
    with pytest.raises(errors.NoPrimaryKeyError):
        db.get(Person, "Ada")
    with pytest.raises(errors.WrongTypeError, match="5 is int where str is wanted"):
        db.get(Dog, 5)
    with pytest.raises(LookupError):
        db.at(Dog, 12345)


def test_deleting(db: motte.Database) -> None:
    with db.write():
        rex, fido, max_ = db.add_all([Dog(name="Rex"), Dog(name="Fido"), Dog(name="Max")])
        ada = db.add(Person(name="Ada", dogs=[rex, fido, max_]))
        rex.owner = ada
        assert db.delete(ada.dogs[1]) == 1
        assert list(ada.dogs) == [rex, max_] and not fido.is_valid
        assert db.delete([rex, max_]) == 2 and len(ada.dogs) == 0
        for use in (lambda: rex.name, lambda: setattr(rex, "age", 1), lambda: rex.owner, lambda: db.delete(rex)):
            with pytest.raises(errors.ObjectDeletedError):
                use()
        assert "gone" in repr(rex)
        db.add_all([Dog(name="A", owner=ada), Dog(name="B", owner=ada)])
        assert db.delete(db.objects(Dog).where("name == 'A'")) == 1
        db.delete(ada)
    assert [(dog.name, dog.owner) for dog in db.objects(Dog)] == [("B", None)]
    with db.write():
        assert db.delete(db.objects(Dog)) == 1
        with pytest.raises(errors.InvalidArgumentError, match="in no database"):
            db.delete(Dog(name="unmanaged"))


def test_objects_of_another_database_are_refused(db: motte.Database) -> None:
    with motte.open(in_memory="other", schema=CLASSES) as other:
        with other.write():
            rex = other.add(Dog(name="Rex"))
        with db.write():
            ada = db.add(Person(name="Ada"))
            for use in (lambda: ada.dogs.append(rex), lambda: db.add(Person(name="Bob", dogs=[rex])),
                        lambda: db.delete(rex), lambda: db.add(rex)):
                with pytest.raises(errors.InvalidArgumentError, match="belongs to"):
                    use()
