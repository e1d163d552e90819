"""Sets and Python's sets: what is equal is what `in` finds, for members of enums, mixed values and objects."""
from __future__ import annotations

import enum
from collections.abc import Iterator
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
