"""The policy "modified" assigns what differs, all of it and nothing else, at every depth."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte

_numbers = itertools.count()


class Part(motte.EmbeddedModel):
    extra: Any = None


class Thing(motte.Model):
    id: int = motte.field(primary_key=True)
    extra: Any = None
    part: Optional[Part] = None
    named: dict[str, Any] = motte.field(default_factory=dict)
    several: list[Any] = motte.field(default_factory=list)
    reals: list[float] = motte.field(default_factory=list)


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Thing, Part]) as database:
        yield database


def exactly(value: Any) -> str:
    """With types, and the sign of a zero."""
    return repr(value)


#: Each is equal to the next in Python, and another value.
ALIKE: list[list[Any]] = [
    [1, True, 1.0, Decimal(1), Decimal("1.0")],
    [0, False, 0.0, -0.0],
    [[1], [True], [1.0]],
    [{"a": [1]}, {"a": [True]}, {"a": [1.0]}],
    [{"a": {"b": [0, {"c": 0.0}]}}, {"a": {"b": [0, {"c": -0.0}]}}, {"a": {"b": [False, {"c": -0.0}]}}],
]
PAIRS = [pair for values in ALIKE for pair in itertools.permutations(values, 2)]


@pytest.mark.parametrize("before, after", PAIRS, ids=[f"{pair[0]!r} to {pair[1]!r}" for pair in PAIRS])
def test_values_that_python_calls_equal_differ(db: motte.Database, before: Any, after: Any) -> None:
    def made(value: Any) -> Thing:
        return Thing(id=1, part=Part(extra=value), named={"a": value}, several=[value])

    def read(thing: Thing) -> list[str]:
        assert thing.part is not None
        return [exactly(motte.results.plain(value)) for value in (
            thing.part.extra, thing.named["a"], thing.several[0])]

    with db.write():
        db.upsert(made(before))
        thing = db.upsert(made(after))
        wanted = read(thing)
        assert wanted == [exactly(after)] * 3
        # As assigning everything does.
        assert read(db.upsert(made(after), policy="all")) == wanted
        thing.named.assign({"a": before}, only_differences=True)
        thing.several.assign([before], only_differences=True)
        assert read(thing)[1:] == [exactly(before)] * 2
        db.create_or_update(Thing, id=1, named={"a": after}, several=[after])
        assert read(thing) == wanted


def test_what_is_the_same_is_not_assigned(db: motte.Database) -> None:
    nested = {"a": [1, {"b": (2.5, None, "x")}], "c": float("nan")}

    def made() -> Thing:
        return Thing(id=1, extra=1, part=Part(extra=nested), named=dict(nested), several=[nested, [1]],
                     reals=[float("nan"), 0.5])
    with db.write():
        thing = db.upsert(made())
    changes: list[Any] = []
    with thing.observe(changes.append), db.write():
        db.upsert(made())
        thing.named.assign(nested, only_differences=True)
        thing.several.assign([nested, [1]], only_differences=True)
    assert changes == []
