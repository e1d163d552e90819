"""Members of enums where no enum is declared: stored where they equal their value, which is what is read."""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import motte
from motte import errors


class Color(enum.Enum):
    RED = "red"


class Count(enum.Enum):
    ONE = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Kind(str, enum.Enum):
    PLAIN = "plain"


class Level(enum.IntEnum):
    LOW = 1


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


class Loose(motte.Model):
    mixed: Any = None
    text: str = ""
    whole: int = 0
    several: list[Any] = motte.field(default_factory=list)
    some: set[Any] = motte.field(default_factory=set)
    named: dict[str, Any] = motte.field(default_factory=dict)
    texts: list[str] = motte.field(default_factory=list)
    numbers: dict[str, int] = motte.field(default_factory=dict)


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="enums elsewhere", schema=[Loose]) as opened:
        yield opened


#: Ways in, and where what they have stored is.
WAYS: dict[str, tuple[Callable[[motte.Database, Loose, Any], Any], Callable[[Loose], Any]]] = {
    "new": (lambda db, there, value: db.add(Loose(mixed=value)), lambda loose: loose.mixed),
    "several new": (lambda db, there, value: db.add_all([Loose(mixed=1), Loose(mixed=value)]),
                    lambda loose: loose.mixed),
    "in a list": (lambda db, there, value: db.add(Loose(mixed=[1, [value]])), lambda loose: loose.mixed[1][0]),
    "in a dict": (lambda db, there, value: db.add(Loose(mixed={"a": [{"b": value}]})),
                  lambda loose: loose.mixed["a"][0]["b"]),
    "assigned": (lambda db, there, value: setattr(there, "mixed", value), lambda loose: loose.mixed),
    "appended": (lambda db, there, value: there.several.append(value), lambda loose: loose.several[-1]),
    "in a set": (lambda db, there, value: there.some.add(value), lambda loose: next(iter(loose.some))),
    "named": (lambda db, there, value: there.named.update(a=value), lambda loose: loose.named["a"]),
    "updated": (lambda db, there, value: db.objects(Loose).update(mixed=value), lambda loose: loose.mixed),
    "a column": (lambda db, there, value: db.insert_columns(Loose, {"mixed": [1, [value]]}),
                 lambda loose: loose.mixed[0]),
    "a row": (lambda db, there, value: db.import_data(Loose, [{"mixed": value}]), lambda loose: loose.mixed),
}


@pytest.mark.parametrize("way", WAYS)
def test_any_takes_members_that_equal_their_values(db: motte.Database, way: str) -> None:
    store, read = WAYS[way]
    for value in (Color.RED, Count.ONE, Access.READ, Access.READ | Access.WRITE):
        with db.write():
            there = db.add(Loose())
            with pytest.raises(errors.WrongTypeError, match="read as its value"):
                store(db, there, value)
            assert db.count(Loose) == 1 and there.mixed is None and len(there.several) == len(there.some) == 0
            db.delete_all()
    for value in (Kind.PLAIN, Level.LOW, Bits.ONE | Bits.TWO):
        with db.write():
            there = db.add(Loose())
            store(db, there, value)
            stored = read(db.objects(Loose)[-1])
            assert stored == value and type(stored) in (str, int)
            db.delete_all()


def test_texts_and_numbers_take_members_that_equal_their_values(db: motte.Database) -> None:
    refused: list[Callable[[Loose], Any]] = [
        lambda there: setattr(there, "text", Color.RED), lambda there: setattr(there, "whole", Count.ONE),
        lambda there: there.texts.append(Color.RED),  # type: ignore[arg-type]
        lambda there: there.numbers.update(a=Count.ONE),  # type: ignore[arg-type]
        lambda there: db.insert_columns(Loose, {"text": ["a", Color.RED]}),
        lambda there: db.objects(Loose).update(whole=Count.ONE), lambda there: db.update(there, text=Color.RED)]
    with db.write():
        there = db.add(Loose())
        for store in refused:
            with pytest.raises(errors.WrongTypeError):
                store(there)
        assert there.text == "" and there.whole == 0 and not there.texts and not there.numbers and db.count(Loose) == 1
        there.text, there.whole = Kind.PLAIN, Level.LOW
        there.texts.append(Kind.PLAIN)
        db.insert_columns(Loose, {"text": [Kind.PLAIN], "whole": [Level.LOW]})
    assert there.text == Kind.PLAIN and there.whole == Level.LOW and there.texts == [Kind.PLAIN]


def test_queries_ask_for_the_value_of_a_member(db: motte.Database) -> None:
    with db.write():
        db.add(Loose(mixed="red", text="red", whole=1))
    found = db.objects(Loose)
    for condition, given in (("mixed == $0", Color.RED), ("text == $0", Color.RED), ("text IN $0", [Color.RED]),
                             ("mixed IN $0", [Color.RED]), ("whole == $0", Count.ONE)):
        assert len(found.where(condition, given)) == 1
    assert len(found.where(mixed=Color.RED)) == 1
