"""Comparisons and totals beside Python's fractions: nothing is rounded that the documents do not say is rounded."""
from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Optional

from hypothesis import given, settings
from hypothesis import strategies as st

import motte

EDGES = [0, 1, -1, 2**24, 2**24 + 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
INTS = st.one_of(st.sampled_from(EDGES), st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))
DOUBLES = st.one_of(
    st.sampled_from([0.1, 0.5, -0.0, 1e300, -1e300, 1e-60, 5e-324, 2.0**53, 2.0**63, math.inf, -math.inf, math.nan]),
    st.integers(-20, 20).map(lambda value: value / 4), st.floats())
FLOATS = st.one_of(st.sampled_from([0.5, 16777216.0, math.inf]), st.floats(width=32))
DECIMALS = st.one_of(
    st.sampled_from([Decimal("0.1"), Decimal("1.50"), Decimal("9007199254740993"), Decimal("1e400")]),
    st.decimals(-1000, 1000, places=3))
NUMBERS = st.one_of(INTS, DOUBLES, DECIMALS)
ANYTHING = st.one_of(NUMBERS, st.none(), st.booleans(), st.sampled_from(["", "x", "3"]))


class Cell(motte.Model):
    id: int = motte.field(primary_key=True)
    i: Optional[int] = motte.field(default=None, indexed=True)
    d: Optional[float] = None
    f: Optional[motte.Float32] = None
    c: Optional[Decimal] = None
    m: motte.Mixed = None


def exact(value: Any) -> Any:
    """A fraction, an infinity, or NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    return Fraction(value)


def compared(operator: str, left: Any, right: Any) -> bool:
    """As docs/query-language.md has it."""
    if left is None or right is None:
        both = left is None and right is None
        return both if operator in ("==", "<=", ">=") else operator == "!=" and not both
    number = (int, float, Decimal)
    one, two = (isinstance(value, number) and not isinstance(value, bool) for value in (left, right))
    if not one or not two:
        if type(left) is not type(right):
            return operator == "!="
        return bool(OPERATORS[operator](left, right))
    left, right = exact(left), exact(right)
    nans = [value != value for value in (left, right)]
    if any(nans):
        return all(nans) == (operator == "==") and operator in ("==", "!=")
    return bool(OPERATORS[operator](left, right))


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}

COLUMNS = {"i": INTS, "d": DOUBLES, "f": FLOATS, "c": DECIMALS, "m": ANYTHING}


def found(db: motte.Database, text: str, *arguments: Any) -> list[int]:
    return [row.id for row in db.objects(Cell).where(text, *arguments)]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_comparisons(data: st.DataObject) -> None:
    rows = [{name: data.draw(st.one_of(st.none(), values)) for name, values in COLUMNS.items()} for _ in range(6)]
    with motte.open(in_memory="exactness", schema=[Cell]) as db:
        with db.write():
            db.delete_all()
            db.add_all([Cell(id=number, **row) for number, row in enumerate(rows)])
        for _ in range(8):
            name = data.draw(st.sampled_from(list(COLUMNS)))
            operator = data.draw(st.sampled_from(list(OPERATORS)))
            wanted = data.draw(st.one_of(st.none(), NUMBERS))
            # Beside a decimal property a double is the shortest decimal that reads as it.
            taken = Decimal(repr(wanted)) if name == "c" and isinstance(wanted, float) else wanted
            right = [number for number, row in enumerate(rows) if compared(operator, row[name], taken)]
            assert found(db, f"{name} {operator} $0", wanted) == right, (name, operator, wanted, rows)
            if wanted is not None:
                assert found(db, f"{name} IN $0", [wanted]) == [
                    number for number, row in enumerate(rows) if compared("==", row[name], taken)]
                inside = [number for number, row in enumerate(rows)
                          if compared(">=", row[name], taken) and compared("<=", row[name], taken)]
                assert found(db, f"{name} BETWEEN {{$0, $1}}", wanted, wanted) == inside
            other = data.draw(st.sampled_from([each for each in COLUMNS if each != name]))
            pairs = [number for number, row in enumerate(rows) if compared(operator, row[name], row[other])]
            assert found(db, f"{name} {operator} {other}") == pairs, (name, operator, other, rows)


@settings(deadline=None, max_examples=60)
@given(st.lists(ANYTHING, max_size=8), st.lists(INTS, max_size=8))
def test_totals(mixed: list[Any], ints: list[int]) -> None:
    with motte.open(in_memory="exact totals", schema=[Cell]) as db:
        with db.write():
            db.delete_all()
            db.add_all([Cell(id=number, m=value) for number, value in enumerate(mixed)])
            db.add_all([Cell(id=100 + number, i=value) for number, value in enumerate(ints)])
        rows = db.objects(Cell)
        numbers = [value for value in mixed if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)]
        group = rows.query("GROUP() SUM(m) AS total, MIN(m) AS least, MAX(m) AS most, AVG(i) AS mean")[0]
        # One answer in all places.
        assert same(rows.sum("m"), group.total) and same(rows.min("m"), group.least) and same(rows.max("m"), group.most)
        if all(isinstance(value, int) for value in numbers):
            assert rows.sum("m") == sum(numbers)
        finite = [value for value in numbers if value == value]
        if finite and len(finite) == len(numbers):
            assert exact(group.least) == min(map(exact, finite)) and exact(group.most) == max(map(exact, finite))
        if not numbers:
            assert group.least is None and group.most is None and group.total == 0
        if ints:
            assert group.mean == rows.average("i") == float(Fraction(sum(ints), len(ints)))
        else:
            assert group.mean is None


def same(one: Any, other: Any) -> bool:
    return one is other or one == other or one != one and other != other


def test_a_float_is_found_by_what_it_holds() -> None:
    with motte.open(in_memory="floats", schema=[Cell]) as db:
        with db.write():
            row = db.add(Cell(id=1, f=0.1))
        assert row.f == struct.unpack("f", struct.pack("f", 0.1))[0]
        assert found(db, "f == $0", row.f) == [1] and found(db, "f == 0.1") == [] and found(db, "f > 0.1") == [1]
