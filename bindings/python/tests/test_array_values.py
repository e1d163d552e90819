"""Arrays for properties whose values in Python are others than what is stored: dates, times of day, decimals."""
from __future__ import annotations

from array import array
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import errors

np: Any = pytest.importorskip("numpy")


class Day(motte.Model):
    id: int = motte.field(primary_key=True)
    at: Optional[time] = None
    on: Optional[date] = None
    took: Optional[timedelta] = None
    price: Optional[Decimal] = None
    count: int = 0


@pytest.mark.parametrize("values, message", [
    ([0, 86_400_000_000], "row 1: Day.at: 86400000000 microseconds are no time of day"),
    ([-1, 0], "row 0: Day.at: -1 microseconds are no time of day"),
])
def test_times_of_arrays_are_times_of_a_day(values: list[int], message: str) -> None:
    with motte.open(in_memory="days", schema=[Day]) as db, db.write():
        for array_ in (np.array(values), array("q", values)):
            with pytest.raises(errors.NumberOverflowError, match=message):
                db.insert_columns(Day, {"id": [1, 2], "at": array_})
        db.insert_columns(Day, {"id": [1, 2], "at": np.array([0, 86_399_999_999])})
        assert [day.at for day in db.objects(Day)] == [time.min, time.max]


def test_dates_of_arrays_have_no_time() -> None:
    with motte.open(in_memory="dates", schema=[Day]) as db, db.write():
        with pytest.raises(errors.WrongTypeError, match="row 1: Day.on: .* is no date: it has a time of day"):
            db.insert_columns(Day, {"id": [1, 2], "on": np.array(["2020-01-01T00", "2020-01-01T05"], "M8[h]")})
        days = np.array(["2020-01-01", "NaT", "2020-01-03T00"], "M8[s]")
        db.insert_columns(Day, {"id": [1, 2, 3], "on": days})
        assert [day.on for day in db.objects(Day)] == [date(2020, 1, 1), None, date(2020, 1, 3)]
        assert db.objects(Day).where(on=date(2020, 1, 3)).count() == 1


@pytest.mark.parametrize("name", ["count", "at", "took", "price"])
def test_arrays_of_dates_are_refused_elsewhere(name: str) -> None:
    with motte.open(in_memory="elsewhere", schema=[Day]) as db, db.write():
        with pytest.raises(errors.WrongTypeError, match=f"Day.{name}"):
            db.insert_columns(Day, {"id": [1], name: np.array(["2020-01-01"], "M8[s]")})
        assert db.count(Day) == 0


def test_the_row_of_a_decimal_is_named() -> None:
    with motte.open(in_memory="decimals", schema=[Day]) as db, db.write():
        with pytest.raises(errors.NumberOverflowError) as refused:
            db.insert_columns(Day, {"id": [1, 2], "price": [Decimal(1), Decimal("1." + "1" * 40)]})
        assert refused.value.row_index == 1
