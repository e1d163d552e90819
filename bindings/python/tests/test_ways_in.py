"""Values that come in by several ways: each takes what the others take, and refuses what they refuse."""
from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timezone
from typing import Any, Optional

import numpy
import pandas
import pytest

import motte
from motte import errors


class City(motte.Model):
    name: str = motte.field(primary_key=True)


class Dog(motte.Model):
    name: str = motte.field(primary_key=True)


class Home(motte.EmbeddedModel):
    city: str = ""


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    dog: Optional[Dog] = None
    home: Optional[Home] = None
    friends: list["Person"] = motte.field(default_factory=list)
    anything: Any = None
    score: Optional[float] = None
    scores: list[Optional[float]] = motte.field(default_factory=list)
    day: date = date(2000, 1, 1)
    days: list[date] = motte.field(default_factory=list)


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory="ways in", schema=[City, Dog, Home, Person]) as db:
        yield db


WAYS: dict[str, Callable[[motte.Database, int, str, Any], Any]] = {
    "object": lambda db, id_, name, value: db.add(Person(**{"id": id_, name: value})),
    "columns": lambda db, id_, name, value: db.insert_columns(Person, {"id": [id_], name: [value]}),
    "rows": lambda db, id_, name, value: db.insert_rows(Person, ["id", name], [(id_, value)]),
    "dict of columns": lambda db, id_, name, value: db.import_data(Person, {"id": [id_], name: [value]}),
    "dicts": lambda db, id_, name, value: db.import_data(Person, [{"id": id_, name: value}]),
}


@pytest.mark.parametrize("way", WAYS)
def test_links_are_to_objects_of_their_class(db: motte.Database, way: str) -> None:
    with db.write():
        paris, rex = db.add(City(name="Paris")), db.add(Dog(name="Rex"))
        with pytest.raises(errors.WrongTypeError, match="dog"):
            WAYS[way](db, 1, "dog", paris)
        WAYS[way](db, 2, "dog", rex)
    assert [person.dog for person in db.objects(Person)] == [rex]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["score", "anything"])
def test_what_is_masked_is_none(db: motte.Database, way: str, name: str) -> None:
    with db.write():
        WAYS[way](db, 1, name, numpy.ma.masked)
        WAYS[way](db, 2, name, 2.5)
    assert [getattr(person, name) for person in db.objects(Person).sorted("id")] == [None, 2.5]


def test_masked_arrays_keep_their_places(db: motte.Database) -> None:
    masked = numpy.ma.array([1.5, 2.5, 3.5], mask=[False, True, False])
    with db.write():
        for name in ("score", "anything"):
            db.delete(db.objects(Person))
            db.insert_columns(Person, {"id": [1, 2, 3], name: masked})
            assert db.objects(Person).sorted("id").column(name) == [1.5, None, 3.5]
        person = db.add(Person(id=9, scores=masked))
        assert list(person.scores) == [1.5, None, 3.5]
        db.delete(db.objects(Person).where("id < 9"))
        person.scores = db.objects(Person).to_numpy("score")
        assert list(person.scores) == [None]


NOON = datetime(2020, 1, 1, 12, tzinfo=timezone.utc)


def test_a_date_is_a_midnight_whatever_brings_it(db: motte.Database) -> None:
    noon = pandas.Series([pandas.Timestamp(NOON)])
    berlin = pandas.to_datetime(["2020-01-01"]).tz_localize("Europe/Berlin")
    text = NOON.isoformat()
    with db.write():
        for refused in (
            *(lambda way=way: way(db, 1, "day", NOON) for way in WAYS.values()),
            lambda: db.insert_columns(Person, {"id": [1], "day": noon}),
            lambda: db.import_data(Person, pandas.DataFrame({"id": [1], "day": noon})),
            lambda: db.import_data(Person, pandas.DataFrame({"id": [1], "day": berlin})),
            lambda: db.import_json(Person, text=json.dumps([{"id": 1, "day": text}])),
            lambda: db.import_json(Person, text=json.dumps([{"id": 1, "days": ["2020-01-01", text]}])),
            lambda: db.import_csv(Person, text=f"id,day\n1,{text}\n"),
        ):
            with pytest.raises((errors.WrongTypeError, errors.InvalidArgumentError)):
                refused()
        assert len(db.objects(Person)) == 0
        midnight = pandas.Series([pandas.Timestamp("2020-01-01", tz="UTC")])
        db.import_data(Person, pandas.DataFrame({"id": [1], "day": midnight}))
        db.import_json(Person, text='[{"id": 2, "day": "2020-01-01", "days": ["2020-01-01T01:00:00+01:00"]}]')
        db.import_csv(Person, text="id,day\n3,2020-01-01\n")
    assert [person.id for person in db.objects(Person).where(day=date(2020, 1, 1)).sorted("id")] == [1, 2, 3]


@pytest.mark.parametrize("call", ["one by one", "upsert_all", "add_all"])
def test_of_two_objects_with_one_primary_key_the_last_stays(db: motte.Database, call: str) -> None:
    given = [
        Person(id=1, name="old", home=Home(city="Rome"), dog=Dog(name="Rex"), friends=[Person(id=5)], anything=[1]),
        Person(id=2, name="between", friends=[Person(id=6)]),
        Person(id=1, name="new"),
        Person(id=2, name="again", home=Home(city="Bath"), dog=Dog(name="Max")),
    ]
    with db.write():
        if call == "one by one":
            for each in given:
                db.add(each, update=True)
        elif call == "upsert_all":
            db.upsert_all(given, policy="all")
        else:
            db.add_all(given, update=True)
    first, second = db.get(Person, 1), db.get(Person, 2)
    assert (first.name, first.home, first.dog, list(first.friends), first.anything) == ("new", None, None, [], None)
    assert (second.name, second.home.city, second.dog.name, list(second.friends)) == ("again", "Bath", "Max", [])
    assert db.verify().is_sound


def test_functions_of_an_update_see_what_constants_replace(db: motte.Database) -> None:
    with db.write():
        db.add_all([Person(id=1, score=5.0), Person(id=2, score=6.0)])
        db.objects(Person).update(score=0.0, name=lambda person: str(person.score))
    assert [(person.score, person.name) for person in db.objects(Person).sorted("id")] == [(0, "5.0"), (0, "6.0")]
