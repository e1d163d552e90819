"""Calls that fail in code of the program that another call runs: each is undone, if that code catches it or not."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

import motte


class Colour:
    def __init__(self, number: int) -> None:
        self.number = number


#: What the program does in there.
called: list[Callable[[], None]] = []


def _call() -> None:
    while called:
        called.pop()()


def _stored(colour: Colour) -> int:
    _call()
    return colour.number


motte.converter(Colour, int, store=_stored, load=Colour)


class Thing(motte.Model):
    id: int = motte.field(primary_key=True)
    number: int = 0
    colour: Optional[Colour] = None
    other: Optional["Thing"] = None
    others: list["Thing"]
    numbers: list[int]
    named: dict[str, Optional["Thing"]]


def _each(*values: Any) -> Iterator[Any]:
    for value in values:
        _call()
        yield value


def _number(_: Any) -> int:
    _call()
    return 1


Way = Callable[[motte.Database, Thing], Any]
WAYS: dict[str, Way] = {
    "a function for each object": lambda db, thing: db.objects(Thing).update(number=_number),
    "objects one by one": lambda db, thing: db.add_all(_each(Thing(id=20), Thing(id=21))),
    "objects to update": lambda db, thing: db.upsert_all(_each(Thing(id=1), Thing(id=21))),
    "rows": lambda db, thing: db.import_data(Thing, _each({"id": 20}, {"id": 21})),
    "elements": lambda db, thing: thing.others.extend(_each(Thing(id=20))),
    "numbers": lambda db, thing: thing.numbers.extend(_each(5)),
    "a list": lambda db, thing: setattr(thing, "others", _each(Thing(id=20))),
    "a slice": lambda db, thing: thing.others.__setitem__(slice(0, 0), _each(Thing(id=20))),
    "entries": lambda db, thing: thing.named.update(_each(("a", Thing(id=20)))),
    "a key to sort by": lambda db, thing: thing.others.sort(key=_number),
    "a converter": lambda db, thing: setattr(thing, "colour", Colour(1)),
    "a converter for all": lambda db, thing: db.objects(Thing).update(colour=Colour(1)),
    "a converter in a graph": lambda db, thing: db.add(Thing(id=20, colour=Colour(1), other=Thing(id=21))),
}


def _ids(db: motte.Database) -> set[int]:
    return set(db.objects(Thing).column("id"))


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="program", schema=[Thing]) as database:
        with database.write():
            database.add(Thing(id=1, others=[Thing(id=2), Thing(id=3)]))
        yield database
    called.clear()


@pytest.mark.parametrize("way", WAYS)
def test_what_the_program_catches_is_undone(db: motte.Database, way: str) -> None:
    refused = [Thing(id=10), Thing(id=11, other=Thing(id=10))]

    def failing() -> None:
        before = _ids(db)
        with pytest.raises(motte.errors.DuplicatePrimaryKeyError):
            db.add_all(refused)
        assert _ids(db) == before

    called.append(failing)
    with db.write():
        WAYS[way](db, db.one(Thing, 1))
    assert not called
    assert _ids(db) <= {1, 2, 3, 20, 21}
    assert not any(each.is_stored for each in refused)
    with db.write():
        db.add_all([Thing(id=10), *refused[1:1]])
    assert db.verify().is_sound


@pytest.mark.parametrize("way", WAYS)
def test_what_it_does_not_catch_undoes_the_call(db: motte.Database, way: str) -> None:
    made: list[Thing] = []

    def failing() -> None:
        made.append(db.add(Thing(id=30, others=[Thing(id=31)])))
        raise KeyError("the program's own")

    with db.write():
        thing = db.one(Thing, 1)
        called.append(failing)
        with pytest.raises(KeyError, match="own"):
            WAYS[way](db, thing)
        kept = _ids(db)
    # A converter of one value, or a generator that is listed first, is called before the call changes anything.
    assert kept in ({1, 2, 3}, {1, 2, 3, 30, 31})
    assert made[0].is_stored == (30 in kept)
    assert _ids(db) == kept and db.verify().is_sound


def test_what_a_generator_has_committed_stays(db: motte.Database) -> None:
    made: list[Thing] = []

    def things() -> Iterator[Thing]:
        with db.write():
            made.append(db.add(Thing(id=40)))
        yield Thing(id=41)

    with pytest.raises(motte.errors.NotInWriteError):
        db.add_all(things())
    assert made[0].is_stored and db.get(Thing, 40) == made[0]
