"""Classes of a notebook whose cells run again: those of other cells go on meaning them."""
from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator
from datetime import time, timedelta
from typing import Any

import pytest

import motte
from motte import errors

PLACES = """
class Place(motte.Model):
    v: int = 0

class Spot(motte.EmbeddedModel):
    w: int = 0

class Kind(enum.Enum):
    LOW = "low"
    HIGH = "high"
"""
TRIPS = """
class Trip(motte.Model):
    to: Optional[Place] = None
    by: list[Place] = motte.field(default_factory=list)
    named: dict[str, Optional[Place]] = motte.field(default_factory=dict)
    spot: Optional[Spot] = None
    spots: list[Spot] = motte.field(default_factory=list)
    kind: Kind = Kind.LOW
    kinds: list[Kind] = motte.field(default_factory=list)

class Card(motte.Projection[Place]):
    v: int
"""
_numbers = itertools.count()


class Notebook:
    def __init__(self, *cells: str) -> None:
        self.module = types.ModuleType(f"notebook_{next(_numbers)}")
        vars(self.module).update(vars(sys.modules[__name__]), __name__=self.module.__name__)
        sys.modules[self.module.__name__] = self.module
        self.run("import enum, motte\nfrom typing import Any, Optional")
        for cell in cells:
            self.run(cell)

    def run(self, cell: str) -> None:
        exec(compile(cell, "<cell>", "exec", dont_inherit=True), vars(self.module))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


@pytest.fixture
def book() -> Iterator[Notebook]:
    made = Notebook(PLACES, TRIPS)
    yield made
    del sys.modules[made.module.__name__]


@pytest.fixture
def db(book: Notebook) -> Iterator[motte.Database]:
    with motte.open(in_memory="notebook", schema=[book.Place, book.Spot, book.Trip]) as database:
        with database.write():
            database.add(book.Trip(to=book.Place(v=1)))
        yield database


def assigned(book: Notebook, db: motte.Database) -> Any:
    trip = db.objects(book.Trip)[0]
    trip.to, trip.by, trip.named = book.Place(v=3), [book.Place(v=4)], {"a": book.Place(v=5)}
    trip.spot, trip.spots = book.Spot(w=6), [book.Spot(w=7)]
    trip.kind, trip.kinds = book.Kind.HIGH, [book.Kind.HIGH]
    return trip


def made(book: Notebook, db: motte.Database) -> Any:
    return db.add(book.Trip(
        to=book.Place(v=3), by=[book.Place(v=4)], named={"a": book.Place(v=5)}, spot=book.Spot(w=6),
        spots=[book.Spot(w=7)], kind=book.Kind.HIGH, kinds=[book.Kind.HIGH]))


def updated(book: Notebook, db: motte.Database) -> Any:
    trip = made(book, db)
    return db.update(trip, to=book.Place(v=3), spot=book.Spot(w=6), kind=book.Kind.HIGH)


def imported(book: Notebook, db: motte.Database) -> Any:
    db.import_data(book.Trip, [{
        "to": book.Place(v=3), "by": [book.Place(v=4)], "named": {"a": book.Place(v=5)}, "spot": book.Spot(w=6),
        "spots": [book.Spot(w=7)], "kind": book.Kind.HIGH, "kinds": [book.Kind.HIGH]}])
    return db.objects(book.Trip).last()


@pytest.mark.parametrize("way", [assigned, made, updated, imported])
@pytest.mark.parametrize("again", [PLACES, TRIPS, PLACES + TRIPS])
def test_cells_run_again(
    book: Notebook, db: motte.Database, way: Callable[[Notebook, motte.Database], Any], again: str
) -> None:
    for _ in range(2):
        book.run(again)
        with db.write():
            trip = way(book, db)
        assert [trip.to.v, trip.by[0].v, trip.named["a"].v, trip.spot.w, trip.spots[0].w] == [3, 4, 5, 6, 7]
        assert trip.kind.name == "HIGH" and [each.name for each in trip.kinds] == ["HIGH"]
        assert len(db.objects(book.Trip).where(book.Trip.kind == book.Kind.HIGH)) >= 1
        with db.write():
            # Those that are stored, of either class.
            trip.to = db.objects(book.Place)[0]
            trip.by.append(trip.to)
            db.insert_columns(book.Trip, {"kind": [book.Kind.HIGH], "to": [trip.to]})
        assert book.Card(trip.to).v == 1 and db.objects(book.Place).project(book.Card)[0].v == 1


def test_objects_that_are_older_than_the_class(book: Notebook, db: motte.Database) -> None:
    place, kind = book.Place(v=8), book.Kind.HIGH
    book.run(PLACES + TRIPS)
    with db.write():
        trip = db.add(book.Trip(to=place, kind=kind))
    assert trip.to.v == 8 and trip.kind is book.Kind.HIGH


@pytest.mark.parametrize("old, new, given", [
    ("v: int = 0", "v: float = 0.0", lambda book: {"to": book.Place()}),
    ("w: int = 0", "w: int = 1", lambda book: {"spot": book.Spot()}),
    ('"high"', '"higher"', lambda book: {"kind": book.Kind.HIGH}),
    ("class Place(motte.Model)", "class Place(motte.Model, stored_name='Other')", lambda book: {"to": book.Place()}),
])
def test_a_cell_that_says_something_else(
    book: Notebook, db: motte.Database, old: str, new: str, given: Callable[[Notebook], dict[str, Any]]
) -> None:
    book.run(PLACES.replace(old, new))
    for _ in range(2):
        with pytest.raises(errors.WrongTypeError, match="was declared again, in another way"):
            book.Trip(**given(book))


def test_a_class_of_the_same_name_elsewhere(book: Notebook, db: motte.Database) -> None:
    other = Notebook(PLACES)
    with pytest.raises(errors.WrongTypeError, match="wanted$"):
        book.Trip(to=other.Place())
    with pytest.raises(errors.WrongTypeError, match="'high'$"):
        book.Trip(kind=other.Kind.HIGH)
    del sys.modules[other.module.__name__]


# ------------------------------------------------------------------------------------------------ functions


FACTORIES = {
    "bound": "class Maker:\n  def __init__(self, n): self.n = n\n  def made(self): return [self.n]\n"
             "make = Maker({}).made",
    "of a class": "class Maker:\n  @classmethod\n  def made(cls): return [{}]\nmake = Maker.made",
    "callable": "class Maker:\n  def __init__(self, n): self.n = n\n  def __call__(self): return [self.n]\n"
                "make = Maker({})",
    "body": "class Maker:\n  def __call__(self): return [{}]\nmake = Maker()",
    "built in": "import copy\nmake = [{}].copy",
}
THING = "class Thing(motte.Model):\n  values: list[int] = motte.field(default_factory=make)"


@pytest.mark.parametrize("kind", FACTORIES)
def test_factories_that_are_no_plain_functions(kind: str) -> None:
    """They are alike where they do the same, not where they have the same name."""
    book = Notebook(FACTORIES[kind].format(1), THING)
    with motte.open(in_memory="factories", schema=[book.Thing]) as db:
        book.run(FACTORIES[kind].format(1))
        book.run(THING)
        with db.write():
            assert db.add(book.Thing()).values == [1]
        book.run(FACTORIES[kind].format(2))
        book.run(THING)
        with pytest.raises(errors.UnknownClassError, match="in another way"):
            db.objects(book.Thing)
    del sys.modules[book.module.__name__]


def test_a_type_that_is_stored_alike_is_another_type() -> None:
    def declared(kind: Any) -> type[motte.Model]:
        class Shift(motte.Model):
            __annotations__ = {"id": int, "start": kind}
            id = motte.field(primary_key=True)
        return Shift
    with motte.open(in_memory="shifts", schema=[declared(int)]) as db:
        assert len(db.objects(declared(int))) == 0
        for other in (time, timedelta):
            with pytest.raises(motte.errors.UnknownClassError, match="declared again, in another way"):
                db.objects(declared(other))
