"""What is refused rather than done otherwise, and what gets through where it used to be refused."""
from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from conftest import CLASSES, Dog, Everything, Person
from motte import errors

Opener = Callable[..., motte.Database]


def on_thread(function: Callable[[], Any]) -> Any:
    """What a function gives or raises on another thread."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found.pop()


# ------------------------------------------------------------------------------------------------ opening


def test_memory_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (lambda: motte.open(":memory:", schema=CLASSES), lambda: motte.verify(":memory:"),
                 lambda: motte.exists(":memory:")):
        with pytest.raises(errors.InvalidArgumentError, match=r"motte\.open\(in_memory='name'\)"):
            call()
    assert list(tmp_path.iterdir()) == []
    motte.open("./:memory:", schema=CLASSES).close()
    assert (tmp_path / ":memory:").exists()


def test_functions_of_paths_take_keys(path: Path, tmp_path: Path) -> None:
    key, other = bytes(64), b"\1" * 64
    with motte.open(path, schema=CLASSES, schema_version=3, encryption_key=key) as db, db.write():
        db.add(Person(name="Ada"))
    assert motte.schema_version(path, encryption_key=key) == 3
    assert motte.verify(path, encryption_key=key).objects == 1
    assert motte.plan(path, CLASSES, schema_version=3, encryption_key=key).action == "nothing"
    assert motte.compact(path, encryption_key=key).bytes_after > 0
    assert '"Ada"' in motte.salvaged(path, encryption_key=key)[0]
    assert motte.salvage(path, tmp_path / "rest.jsonl", encryption_key=key).objects == 1
    for wrong in ({}, {"encryption_key": other}):
        for call in (motte.schema_version, motte.verify, motte.compact):
            with pytest.raises(errors.WrongKeyError):
                call(path, **wrong)
        with pytest.raises(errors.WrongKeyError):
            motte.plan(path, CLASSES, **wrong)
    with motte.open(path, schema=CLASSES, schema_version=3, encryption_key=key) as db:
        assert db.count(Person) == 1


# ------------------------------------------------------------------------------------------------ objects


def test_validity_is_not_known_on_another_thread(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["x"]))
    results, tags = db.objects(Person), ada.tags
    for thing in (ada, results, tags):
        assert isinstance(on_thread(lambda: thing.is_valid), errors.WrongThreadError)
        assert "cannot be used" in on_thread(lambda: repr(thing)) and "gone" not in on_thread(lambda: repr(thing))
    assert ada.is_valid and results.is_valid and tags.is_valid
    with db.write():
        db.delete(ada)
    assert not ada.is_valid and not tags.is_valid and repr(ada) == "<Person that is gone>"


@pytest.mark.parametrize("call", ["add", "add_all", "upsert"])
def test_what_was_deleted_is_not_added(db: motte.Database, call: str) -> None:
    with db.write():
        rex = db.add(Dog(name="Rex"))
        # What is stored already stays as it is.
        assert db.add(rex) is rex and db.count(Dog) == 1
        db.delete(rex)
        with pytest.raises(errors.ObjectDeletedError, match="this Dog has been deleted"):
            getattr(db, call)([rex] if call == "add_all" else rex)
        with pytest.raises(errors.ObjectDeletedError):
            db.add(Person(name="Ada", dogs=[rex]))
        assert db.count(Person) == 0


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Other(Enum):
    RED = 1


class Paint(motte.Model):
    id: int = motte.field(primary_key=True)
    colour: Colour = Colour.RED
    maybe: Optional[Colour] = None
    many: list[Colour] = motte.field(default_factory=list)
    some: set[Colour] = motte.field(default_factory=set)
    named: dict[str, Colour] = motte.field(default_factory=dict)


def test_enums_take_their_members_only() -> None:
    with motte.open(in_memory="paints", schema=[Paint]) as db:
        with db.write():
            paint = db.add(Paint(id=1, colour="blue", many=["red", Colour.BLUE]))
            assert paint.colour is Colour.BLUE and list(paint.many) == [Colour.RED, Colour.BLUE]
            for wrong in ("green", 3, Other.RED, b"red", ["red"]):
                for attempt in (
                    lambda: setattr(paint, "colour", wrong), lambda: setattr(paint, "maybe", wrong),
                    lambda: paint.many.append(wrong), lambda: paint.some.add(wrong),
                    lambda: paint.named.update(a=wrong), lambda: paint.named.__setitem__("a", wrong),
                    lambda: setattr(paint, "many", [wrong]), lambda: db.add(Paint(id=2, colour=wrong)),
                    lambda: db.create_or_update(Paint, id=2, maybe=wrong),
                    lambda: db.insert_columns(Paint, {"id": [2], "colour": [wrong]}),
                    lambda: db.insert_rows(Paint, ["id", "maybe"], [(2, wrong)]),
                ):
                    with pytest.raises(errors.WrongTypeError, match="is no Colour, whose values are 'red', 'blue'"):
                        attempt()
        assert (paint.colour, paint.maybe, len(paint.some), len(paint.named)) == (Colour.BLUE, None, 0, 0)
        assert db.count(Paint) == 1 and list(paint.many) == [Colour.RED, Colour.BLUE]


def test_numbers_and_times_that_could_not_be_read(db: motte.Database) -> None:
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999"):
        motte._convert.one(late)
    with pytest.raises(errors.NumberOverflowError, match="34 digits"):
        motte._convert.one(Decimal("1." + "1" * 34))
    for text in ("sNaN", "NaN7", "-NaN"):
        with pytest.raises(errors.InvalidArgumentError, match="NaN"):
            motte._convert.one(Decimal(text))


# ------------------------------------------------------------------------------------------------ queries


def test_what_is_rounded(db: motte.Database) -> None:
    with db.write():
        one = db.add(Everything(id=1, single=0.1))
        assert one.single == 0.10000000149011612
        one.real = Decimal("0.1")  # type: ignore[assignment]
        assert one.real == 0.1 and Decimal(one.real) != Decimal("0.1")
        for refused in (Decimal("0.10000000000000000001"), 2**53 + 1):
            with pytest.raises(errors.NumberOverflowError):
                one.real = refused  # type: ignore[assignment]


def test_lists_are_arguments(db: motte.Database) -> None:
    with db.write():
        db.add_all([Dog(name=f"dog {number}", age=number) for number in range(2_000)])
    dogs = db.objects(Dog)
    assert [dog.age for dog in dogs.where("age IN $0", [3, 5, 7_000])] == [3, 5]
    for several in ((3, 5), {3, 5}, range(3, 6, 2), frozenset([3, 5])):
        assert len(dogs.where("age IN $0 AND name != $1", several, "x")) == 2
    assert len(dogs.where("age IN $0", [])) == 0
    assert len(dogs.where("age BETWEEN $0", [3, 5])) == 3
    assert len(dogs.where("name IN[c] $0", ["DOG 7", "Dog 8"])) == 2
    assert len(dogs.where(Dog.age.in_(range(1_500)))) == 1_500
    prepared = db.query(Dog, "age IN $0", [1])
    assert prepared.count() == 1 and prepared.bind([1, 2, 3]).count() == 3 and str(prepared) == "age IN {1, 2, 3}"
    assert len(dogs.where("age IN $0", [3, 5, 9]).where("age > $0", 4)) == 2
    with db.write():
        ada = db.add(Person(name="Ada", dogs=dogs[:2], scores=[4]))
        dogs[0].owner = ada
    assert [dog.name for dog in dogs.where("owner IN $0", [ada, None]).limit(2)] == ["dog 0", "dog 1"]
    assert list(ada.scores.where("self IN $0", [4])) == [4]
    for asked in (Person(name="new"), [ada, Person(name="new")]):
        with pytest.raises(errors.InvalidArgumentError, match="in no database yet"), db.write():
            dogs.where("owner IN $0", asked)
    assert db.count(Person) == 1
    for wrong in (3, "x", None):
        with pytest.raises(errors.QueryArgumentError, match=r"\$0 must be a list"):
            dogs.where("age IN $0", wrong)
    with pytest.raises(errors.QueryArgumentError, match="string"):
        dogs.where("age IN $0", [1, "x"])
    with pytest.raises(errors.QueryArgumentError, match="two bounds"):
        dogs.where("age BETWEEN $0", [1])


class Spot(motte.EmbeddedModel):
    type: str = "Point"
    coordinates: list[float] = motte.field(default_factory=list)


class Shop(motte.Model):
    name: str
    place: Optional[Spot] = None


def test_shapes_are_arguments() -> None:
    with motte.open(in_memory="shops", schema=[Shop, Spot]) as db:
        with db.write():
            db.add(Shop(name="near", place=Spot(coordinates=[2.35, 48.85])))
            db.add(Shop(name="far", place=Spot(coordinates=[-73.9, 40.7])))
        circle = motte.GeoCircle((2.3, 48.8), km=50)
        box = motte.GeoBox((-75, 40), (-70, 41))
        for text in ("place GEOWITHIN $0", "place IN $0"):
            assert [shop.name for shop in db.objects(Shop).where(text, circle)] == ["near"]
        prepared = db.query(Shop, "place GEOWITHIN $0", circle)
        assert prepared.bind(box).first().name == "far"  # type: ignore[union-attr]
        with pytest.raises(errors.QueryArgumentError):
            db.objects(Shop).where("place GEOWITHIN $0", 5)


def test_arguments_that_nothing_asks_for_are_refused(db: motte.Database) -> None:
    for call in (lambda: db.objects(Dog).where("age > $0", 1, 2), lambda: db.query(Dog, "age > 1", 2),
                 lambda: db.objects(Person).where("age > 1", None)):
        with pytest.raises(errors.QueryArgumentError, match="were given"):
            call()


# ------------------------------------------------------------------------------------------------ migrations


class Account(motte.Model):
    number: int = motte.field(primary_key=True)
    label: str = ""


def test_primary_keys_are_set_in_migrations(path: Path) -> None:
    with motte.open(path, schema="Account { name: string key, label: string }") as db, db.write():
        for name in ("7", "9"):
            db.add(db.model("Account")(name=name, label="n" + name))

    def migrate(migration: motte.Migration) -> None:
        for old, new in migration.enumerate(Account):
            new.number = int(old.name)
            assert migration.new.update(new, number=int(old.name) + 1) == new

    with motte.open(path, schema=[Account], schema_version=1, migration=migrate) as db:
        assert db.one(Account, 8).label == "n7" and db.one(Account, 10).label == "n9"
        with db.write(), pytest.raises(errors.PrimaryKeyIsFixedError):
            db.one(Account, 8).number = 5
    assert motte.verify(path).is_sound

    def clash(migration: motte.Migration) -> None:
        for _, new in migration.enumerate(Account):
            new.number = 1
    with pytest.raises(errors.DuplicatePrimaryKeyError):
        motte.open(path, schema=[Account], schema_version=2, migration=clash)
    assert motte.schema_version(path) == 1


# ------------------------------------------------------------------------------------------------ what leaves a block


def test_an_exception_leaves_a_block_in_a_forked_child(opened: Opener) -> None:
    class Own(Exception):
        pass

    db = opened()
    # Whoever comes out of fork() in the child ends there, whatever happens.
    parent = os.getpid()
    try:
        with db.write():
            db.add(Person(name="Ada"))
            child = os.fork()
            if child == 0:
                raise Own
    except BaseException as error:
        if os.getpid() != parent:
            os._exit(7 if type(error) is Own else 8)
        raise
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert db.count(Person) == 1


def test_a_database_closed_by_an_exception_in_a_forked_child(path: Path) -> None:
    class Own(Exception):
        pass

    parent = os.getpid()
    try:
        with motte.open(path, schema=CLASSES) as db:
            child = os.fork()
            if child == 0:
                raise Own
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            with db.write():
                db.add(Person(name="Ada"))
    except BaseException as error:
        if os.getpid() != parent:
            os._exit(7 if type(error) is Own else 8)
        raise
    assert motte.verify(path).objects == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a program that somebody started: what runs in the background of a shell ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(_: Any) -> str:
    signal.raise_signal(signal.SIGINT)
    return ""


def test_ctrl_c_in_a_section_function_comes_out(db: motte.Database, interruptible: None) -> None:
    with db.write():
        db.add_all([Person(name=name) for name in "abc"])
    sections = db.objects(Person).sectioned(interrupt)
    looks: list[Callable[[], Any]] = [
        lambda: len(sections), lambda: sections[0], lambda: sections.keys, lambda: sections.find("a"),
        lambda: sections.place(0), lambda: list(sections)]
    for look in looks:
        with pytest.raises(KeyboardInterrupt):
            look()
        # It is not raised again by what comes next.
        assert db.count(Person) == 3 and getattr(errors.raised, "error", None) is None


def test_ctrl_c_in_a_section_that_is_observed_comes_out(db: motte.Database, interruptible: None) -> None:
    asked: list[str] = []
    interrupts = False

    def key(person: Person) -> str:
        asked.append(person.name)
        if interrupts:
            signal.raise_signal(signal.SIGINT)
        return person.name

    with db.write():
        db.add(Person(name="a"))
    sections = db.objects(Person).sectioned(key)
    observation = sections.observe(lambda changes: None)
    section = sections[0]
    db.dispatch()
    interrupts = True
    with pytest.raises(KeyboardInterrupt), db.write():
        db.add(Person(name="b"))
    assert not db.in_write
    for look in (lambda: len(section), lambda: section[0], lambda: section.first()):  # noqa: F821  until it is deleted
        with pytest.raises(KeyboardInterrupt):
            look()
    interrupts = False
    observation.stop()
    assert len(sections) >= 1 and db.count(Person) >= 1 and getattr(errors.raised, "error", None) is None
    del section, sections
    gc.collect()
