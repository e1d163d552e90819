"""Queries, orders, totals, columns and the sequence protocol of collections."""
from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from conftest import CLASSES, Dog, Everything, Person

import motte
from motte import errors

UTC = timezone.utc
NAMES = ["Ada", "Bob", "Eve", "Zoë", "bob", "Mia"]


@pytest.fixture
def people(db: motte.Database) -> Iterator[motte.Results[Person]]:
    with db.write():
        ada, bob, eve, zoe, small_bob, mia = db.add_all([
            Person(name=name, age=age, height=height) for name, age, height in zip(
                NAMES, [36, 41, 17, 5, 41, 29], [1.7, None, 1.6, 1.0, None, 1.8])])
        bob.friend, eve.friend, small_bob.friend = ada, ada, zoe
        rex, fido, max_ = db.add_all([Dog(name="Rex", age=3, owner=ada), Dog(name="Fido", age=12, owner=ada),
                                      Dog(name="Max", age=1, owner=bob)])
        ada.dogs.extend([rex, fido])
        bob.dogs.append(max_)
        ada.tags.extend(["red", "green"])
        mia.tags.append("green")
        ada.scores.extend([1, None, 9])
        mia.scores.extend([2, 4])
    yield db.objects(Person)


def names(results: Any) -> list[str]:
    return [person.name for person in results]


# ------------------------------------------------------------------------------------------------ queries


def test_text_with_arguments(people: motte.Results[Person]) -> None:
    assert names(people.where("age >= $0 AND name BEGINSWITH $1", 18, "A")) == ["Ada"]
    assert names(people.where("name ==[c] 'BOB'")) == ["Bob", "bob"]
    assert names(people.where("friend == $0", people[0])) == ["Bob", "Eve"]
    assert names(people.where("age > 30 SORT(age DESC, name ASC) LIMIT(2)")) == ["Bob", "bob"]


CASES: list[tuple[Any, list[str]]] = [
    (Person.age >= 18, ["Ada", "Bob", "bob", "Mia"]),
    ((Person.age > 18) & (Person.height < 1.75), ["Ada"]),
    ((Person.age < 10) | (Person.name == "Eve"), ["Eve", "Zoë"]),
    (~(Person.age < 30), ["Ada", "Bob", "bob"]),
    (Person.height.is_null(), ["Bob", "bob"]),
    (Person.height != None, ["Ada", "Eve", "Zoë", "Mia"]),  # noqa: E711
    (Person.name.contains("ZO", ignore_case=True), ["Zoë"]),
    (Person.name.endswith("ë"), ["Zoë"]),
    (Person.name.in_(["Ada", "Eve", "Nobody"]), ["Ada", "Eve"]),
    (Person.age.between(17, 36), ["Ada", "Eve", "Mia"]),
    (Person.friend.name == "Ada", ["Bob", "Eve"]),
    (Person.friend.dogs.count() == 2, ["Bob", "Eve"]),
    (Person.dogs.count() > 0, ["Ada", "Bob"]),
    (Person.owned.count() == 2, ["Ada"]),
    (Person.dogs.any(Dog.age > 10), ["Ada"]),
    (Person.dogs.any().name == "Max", ["Bob"]),
    (Person.dogs.none(Dog.age > 2) & (Person.dogs.count() > 0), ["Bob"]),
    (Person.tags.contains("green"), ["Ada", "Mia"]),
    (Person.scores.any() > 5, ["Ada"]),
    (Person.scores.sum() > 5, ["Ada", "Mia"]),
    (Person.dogs.max("age") > 10, ["Ada"]),
    (lambda person: person.age < 10, ["Zoë"]),
]


@pytest.mark.parametrize("condition, expected", CASES, ids=[
    "function" if callable(row[0]) and not isinstance(row[0], motte.Predicate) else row[0].text for row in CASES])
def test_operators(people: motte.Results[Person], condition: Any, expected: list[str]) -> None:
    assert names(people.where(condition)) == expected


def test_several_conditions_must_all_hold(people: motte.Results[Person]) -> None:
    assert names(people.where(Person.age > 18, Person.name != "Ada", lambda person: person.age < 40)) == ["Mia"]


def test_objects_in_conditions(db: motte.Database, people: motte.Results[Person]) -> None:
    ada = people[0]

    assert names(people.where(Person.friend == ada)) == ["Bob", "Eve"]
    assert names(people.where(Person.dogs.contains(db.one(Dog, "Max")))) == ["Bob"]
    assert [dog.name for dog in db.objects(Dog).where(Dog.owner == ada)] == ["Rex", "Fido"]


UNKNOWN: Any = (errors.UnknownPropertyError, errors.QueryInvalidError)
BAD: list[tuple[str, tuple[Any, ...], Any, int]] = [
    ("age >", (), errors.QuerySyntaxError, 5),
    ("nmae == 1", (), UNKNOWN, 0),
    ("age == 'x'", (), errors.QueryInvalidError, -1),
    ("age == $1", (1,), errors.QueryArgumentError, 7),
    ("friend.nothing == 1", (), UNKNOWN, 7),
    ("age > 1 AND AND", (), errors.QuerySyntaxError, 12),
]


@pytest.mark.parametrize("text, arguments, kind, offset", BAD, ids=[row[0] for row in BAD])
def test_bad_text(people: motte.Results[Person], text: str, arguments: Any, kind: Any,
                  offset: int) -> None:
    with pytest.raises(kind) as caught:
        people.where(text, *arguments)
    if offset >= 0:
        assert caught.value.query_offset == offset
        assert "^" in str(caught.value)


def test_bad_conditions(people: motte.Results[Person]) -> None:
    with pytest.raises(TypeError, match="just True"):
        people.where(True)
    with pytest.raises(TypeError, match="not 5"):
        people.where(5)  # type: ignore[arg-type]
    with pytest.raises(errors.WrongTypeError):
        people.where("age == $0", object())
    assert len(people) == 6


# ------------------------------------------------------------------------------------------------ order, limit, totals


def test_sorting(people: motte.Results[Person]) -> None:
    assert names(people.sorted("name")) == ["Ada", "Bob", "Eve", "Mia", "Zoë", "bob"]
    assert names(people.sorted(-Person.age, "name")) == ["Bob", "bob", "Ada", "Mia", "Eve", "Zoë"]
    assert names(people.sorted("age", descending=True))[:2] == ["Bob", "bob"]
    assert names(people.sorted("height"))[:2] == ["Bob", "bob"]
    assert names(people.where("friend != NULL").sorted("friend.name", "-name")) == ["Eve", "Bob", "bob"]
    with pytest.raises(errors.Error):
        people.sorted("nothing")
    with pytest.raises(TypeError, match="sort by names"):
        people.sorted(5)


def test_limits_are_live(db: motte.Database, people: motte.Results[Person]) -> None:
    oldest = people.sorted("-age").limit(2)
    assert names(oldest) == ["Bob", "bob"]
    with db.write():
        db.add(Person(name="Old", age=99))
        assert names(oldest) == ["Old", "Bob"]

    assert names(oldest) == ["Old", "Bob"] and len(people.limit(0)) == 0
    with pytest.raises(errors.InvalidArgumentError):
        people.limit(-1)


def test_distinct_keeps_the_first_of_each(db: motte.Database, people: motte.Results[Person]) -> None:
    by_age = people.sorted("name").distinct("age")
    assert names(by_age) == ["Ada", "Bob", "Eve", "Mia", "Zoë"]
    # Those without a friend have no friend's name.
    assert names(people.distinct("friend.name").sorted("-name")) == ["bob", "Bob"]
    assert names(people.distinct(Person.height, Person.friend.name)) == ["Bob", "Eve", "bob"]
    assert names(people.limit(3).sorted("name").where("age < 40")) == ["Ada", "Eve"]
    with db.write():
        db.add(Person(name="Abe", age=17))
        assert names(by_age) == ["Abe", "Ada", "Bob", "Mia", "Zoë"]
    with pytest.raises(TypeError):
        people.distinct("-age")
    with pytest.raises(errors.UnknownPropertyError):
        people.distinct("agee")


def test_conditions_on_one_element(people: motte.Results[Person]) -> None:
    assert names(people.where(Person.dogs.any((Dog.age > 3) & (Dog.name == "Fido")))) == ["Ada"]
    assert names(people.where(Person.dogs.any((Dog.age > 3) & (Dog.name == "Rex")))) == []
    young_or_fido = (Dog.age < 5) | (Dog.name == "Fido")
    assert names(people.where(Person.dogs.all(young_or_fido) & Person.dogs.any(Dog.age > 0))) == ["Ada", "Bob"]
    assert names(people.where(Person.name.equals("zoe", ignore_case=True, ignore_accents=True))) == ["Zoë"]


def test_totals(people: motte.Results[Person]) -> None:
    assert people.sum("age") == 169 and type(people.sum("age")) is int
    assert (people.min("age"), people.max(Person.age)) == (5, 41)
    assert people.average("age") == pytest.approx(169 / 6) and people.average("height") == pytest.approx(1.525)
    assert people.sum("height") == pytest.approx(6.1) and people.count_present("height") == 4
    nobody = people.where("age > 100")
    assert (nobody.sum("age"), nobody.min("age"), nobody.average("age")) == (0, None, None)
    assert people[0].scores.sum() == 10 and people[0].scores.average() == 5.0 and people[0].scores.max() == 9
    with pytest.raises(errors.WrongTypeError):
        people.sum("name")
    with pytest.raises(errors.UnknownPropertyError):
        people.sum("nothing")
    with pytest.raises(errors.WrongTypeError):
        people.sum("tags")


# ------------------------------------------------------------------------------------------------ sequences


def test_it_is_a_sequence(people: motte.Results[Person]) -> None:
    ada = people[0]

    assert len(people) == 6 and people[-1].name == "Mia" and ada in people and people.index(people[2]) == 2
    assert Person(name="unmanaged") not in people and "Ada" not in people and 5 not in people
    assert names(people[1:3]) == ["Bob", "Eve"] and names(people[::-2]) == ["Mia", "Zoë", "Bob"]
    assert names(people[10:]) == [] and names(people[-2:]) == ["bob", "Mia"] and names(reversed(people))[0] == "Mia"
    assert people == people and people == list(people) and people != list(people)[1:] and bool(people)
    assert people.first() == ada and people.last() == people[5] and people.where("age > 100").first() is None
    assert repr(people).startswith("<Results: 6 Person [Person(name=") and people.count(ada) == 1
    for index in (6, -7, 2**40):
        with pytest.raises(IndexError):
            people[index]
    with pytest.raises(TypeError):
        people["name"]  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="not in it"):
        people.index(Person(name="unmanaged"))
    with pytest.raises(TypeError):
        hash(people)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(people)


def test_a_loop_may_change_what_it_runs_over(db: motte.Database, people: motte.Results[Person]) -> None:
    with db.write():
        for person in people.where("age >= 30"):
            person.age = 0
        assert len(people.where("age >= 30")) == 0
        for person in people:
            db.delete(person)
    assert len(people) == 0


def test_snapshots_keep_their_members(db: motte.Database, people: motte.Results[Person]) -> None:
    adults = people.where("age >= 18")
    fixed = adults.snapshot()
    with db.write():
        people[0].age = 0

    assert len(adults) == 3 and names(fixed) == ["Ada", "Bob", "bob", "Mia"] and fixed[0].age == 0


def test_results_are_live(db: motte.Database, people: motte.Results[Person]) -> None:
    adults = people.where("age >= 18").where("height != NULL").sorted("name")
    assert names(adults) == ["Ada", "Mia"]
    with db.write():
        people[2].age = 18
        assert names(adults) == ["Ada", "Eve", "Mia"]
        db.delete(people[0])
        assert names(adults) == ["Eve", "Mia"]


# ------------------------------------------------------------------------------------------------ prepared queries


def test_prepared_queries(db: motte.Database, people: motte.Results[Person]) -> None:
    older = db.query(Person, "age > $0 SORT(name ASC)", 35)

    assert (older.count(), older.argument_count) == (3, 1) and names(older.run()) == ["Ada", "Bob", "bob"]
    before = older.run()
    older.bind(40)
    assert names(older.run()) == ["Bob", "bob"] and names(before) == ["Ada", "Bob", "bob"]
    first = older.first()
    assert first is not None and first.name == "Bob" and older.bind(100).first() is None
    assert "age > 100" in str(older) and older.explain() and "age > 100" in repr(older)
    assert db.query(Person, Person.age > 40).count() == 2 and db.query(Person).count() == 6
    with pytest.raises(errors.QueryArgumentError):
        older.bind("x")
    with pytest.raises(errors.Error):
        older.bind(1, 2)


def test_plans_name_the_index(db: motte.Database, people: motte.Results[Person]) -> None:
    assert "index" in db.query(Dog, "age == 3").explain()
    assert "index" not in db.query(Person, "age == 3").explain()


# ------------------------------------------------------------------------------------------------ columns


@pytest.fixture
def things(db: motte.Database) -> motte.Results[Everything]:
    start = datetime(2013, 1, 1, tzinfo=UTC)
    with db.write():
        db.add_all([Everything(
            id=number, flag=number % 2 == 0, whole=number * 1000, single=number / 4, real=number / 3,
            text=f"text {number} é", data=bytes([number % 256]),
            moment=start + timedelta(hours=number, microseconds=1),
            maybe_flag=None if number % 3 else True, maybe_whole=None if number % 3 else number,
            maybe_real=None if number % 3 else number / 2, maybe_text=None if number % 3 else str(number),
            maybe_data=None if number % 3 else b"x", maybe_moment=None if number % 3 else start)
            for number in range(1100)])
    return db.objects(Everything)


PLAIN = [name for name, each in Everything._declared().items() if each.is_plain]


@pytest.mark.parametrize("name", PLAIN)
def test_columns_are_what_the_objects_say(things: motte.Results[Everything], name: str) -> None:
    expected = [getattr(thing, name) for thing in things]

    column = things.column(name)
    assert column == expected and all(map(lambda a, b: type(a) is type(b), column, expected))
    some = things.where("id > 500").sorted("-id")
    assert some.column(name) == expected[:500:-1]


@pytest.mark.parametrize("name", PLAIN)
def test_columns_in_numpy(things: motte.Results[Everything], name: str) -> None:
    numpy = pytest.importorskip("numpy")
    expected = things.column(name)

    array = things.to_numpy(name)
    assert len(array) == len(expected) and isinstance(array, numpy.ma.MaskedArray) == name.startswith("maybe_")
    kinds = {"flag": "b", "whole": "i", "id": "i", "single": "f", "real": "f", "text": "O", "data": "O", "moment": "M"}
    assert array.dtype.kind == kinds[name.removeprefix("maybe_")]
    values = array.tolist()
    if array.dtype.kind == "M":
        values = [value and value.replace(tzinfo=UTC) for value in values]
    assert values == expected


def test_nulls_in_numpy_can_be_replaced(things: motte.Results[Everything]) -> None:
    numpy = pytest.importorskip("numpy")

    real = things.to_numpy("maybe_real", null=float("nan"))
    assert numpy.isnan(real[1]) and real[3] == 1.5 and real.dtype == "float64"
    whole = things.to_numpy("maybe_whole", null=-1)
    assert whole[1] == -1 and whole.dtype == "int64"
    assert numpy.isnan(things.to_numpy("maybe_whole", null=float("nan"))[1])


def test_columns_of_nothing_and_of_values(db: motte.Database, people: motte.Results[Person]) -> None:
    pytest.importorskip("numpy")
    nobody = people.where("age > 100")

    assert nobody.column("age") == [] and nobody.column("name") == [] and len(nobody.to_numpy("age")) == 0
    assert people[0].scores.column() == [1, None, 9] and people[0].tags.column() == ["red", "green"]
    assert people[0].scores.to_numpy().tolist() == [1, None, 9]
    assert people.column("friend") == [None, people[0], people[0], None, people[3], None]
    assert people.to_numpy("friend").tolist()[0] == -1
    with pytest.raises(errors.WrongTypeError):
        people.column("tags")


def test_numpy_goes_in(db: motte.Database) -> None:
    numpy = pytest.importorskip("numpy")
    with db.write():
        db.insert_columns(Everything, {
            "id": numpy.arange(10), "flag": numpy.arange(10) % 2 == 0, "real": numpy.linspace(0, 1, 10),
            "single": numpy.ones(10, dtype="float32"), "text": ["x"] * 10,
            "moment": numpy.arange(10).astype("datetime64[s]"),
            "maybe_whole": numpy.ma.masked_array(numpy.arange(10), numpy.arange(10) > 5),
            "data": [b""] * 10})

    things = db.objects(Everything)
    assert things.column("flag") == [number % 2 == 0 for number in range(10)]
    assert things.column("maybe_whole") == [0, 1, 2, 3, 4, 5, None, None, None, None]
    assert things[3].moment == datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC) and things[9].real == 1.0


def test_all_classes_are_declared() -> None:
    assert len(CLASSES) == 3
