"""Sets and Python's sets: what is equal is what `in` finds, for members of enums, mixed values and objects."""
from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import PurePosixPath
from typing import Any

import pytest

import motte


def _kind() -> type[enum.Enum]:
    class Kind(enum.Enum):
        A = "a"
        B = "b"
        C = "c"
    return Kind


Kind = _kind()
#: As a cell of a notebook declares it when it runs again.
Again = _kind()


class Bag(motte.Model):
    kinds: set[Kind]  # type: ignore[valid-type]
    listed: list[Kind]  # type: ignore[valid-type]
    mixed: set[Any]


@pytest.fixture
def bag() -> Iterator[Bag]:
    with motte.open(in_memory="algebra", schema=[Bag]) as db, db.write():
        yield db.add(Bag(kinds={Kind["A"], Kind["B"]}, listed=[Kind["A"], Kind["B"], Kind["A"]], mixed={1, "x"}))


@pytest.mark.parametrize("other", [{Again["A"], Again["C"]}, {"a", "c"}, {Kind["A"], Kind["C"]}])
def test_members_of_a_class_that_is_declared_again(bag: Bag, other: set[Any]) -> None:
    kinds: Any = bag.kinds
    first = next(value for value in other if value in kinds)
    assert kinds.issuperset({first}) and not kinds.isdisjoint({first}) and kinds.issubset({*other, Kind["B"]})
    assert not kinds.issubset(other) and not kinds.issuperset(other)
    assert bag.listed.count(first) == 2 and bag.listed.index(first) == 0
    kinds ^= other
    assert sorted(each.value for each in kinds) == ["b", "c"]
    kinds &= other
    assert [each.value for each in kinds] == ["c"]


def test_1_and_true_are_two(bag: Bag) -> None:
    bag.mixed.add(True)
    bag.mixed ^= {"y", "x"}
    assert len(bag.mixed) == 3 and 1 in bag.mixed and True in bag.mixed and "y" in bag.mixed
    bag.mixed &= [1, True]
    assert len(bag.mixed) == 2
    bag.mixed &= [True]
    assert list(bag.mixed) == [True] and isinstance(bag.mixed[0], bool)


def test_what_is_equal_is_there_once(bag: Bag) -> None:
    bag.mixed ^= ["z", "z", "x", "x"]
    assert sorted(map(str, bag.mixed)) == ["1", "z"]
    bag.mixed ^= bag.mixed
    assert len(bag.mixed) == 0
    bag.mixed ^= []
    assert bag.mixed.isdisjoint([1]) and bag.mixed.issubset([]) and bag.mixed.issuperset([])


class Kinds(motte.Model):
    dates: set[date]
    spans: set[timedelta]
    paths: set[PurePosixPath]
    kinds: set[Kind]  # type: ignore[valid-type]
    numbers: set[int]
    mixed: set[Any]


@pytest.mark.parametrize("name, values", [
    ("dates", [date(2020, 1, 1), date(2021, 1, 1)]),
    ("spans", [timedelta(seconds=1), timedelta(seconds=2)]),
    ("paths", [PurePosixPath("a"), PurePosixPath("b")]),
    ("kinds", [Kind["A"], Kind["B"]]),
    ("numbers", [1, 2]),
    ("mixed", [[1, {"a": 2}], "b"]),
])
def test_elements_of_each_kind_are_taken_out(name: str, values: list[Any]) -> None:
    with motte.open(in_memory="kinds", schema=[Kinds]) as db, db.write():
        elements = getattr(db.add(Kinds()), name)
        for take in (elements.discard, elements.remove, lambda value: elements.difference_update([value])):
            elements.assign(values)
            take(values[0])
            assert list(elements) == values[1:]
        assert elements.pop() == values[1] and len(elements) == 0
        with pytest.raises(KeyError):
            elements.remove(values[0])
