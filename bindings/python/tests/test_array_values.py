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
    ([0, 86_400_000_000], "row 1: Day.at takes 0 to 86399999999, not 86400000000"),
    ([-1, 0], "row 0: Day.at takes 0 to 86399999999, not -1"),
])
def test_times_of_arrays_are_times_of_a_day(values: list[int], message: str) -> None:
    with motte.open(in_memory="days", schema=[Day]) as db, db.write():
        for array_ in (np.array(values), array("q", values)):
            with pytest.raises(errors.WrongTypeError, match=message):
                db.insert_columns(Day, {"id": [1, 2], "at": array_})
        for text in ('[{"id": 1, "at": 86400000000}]', '[{"id": 1, "at": -1}]'):
            with pytest.raises(errors.WrongTypeError, match="Day.at takes 0 to 86399999999"):
                db.import_json(text=text, model=Day)
        db.insert_columns(Day, {"id": [1, 2], "at": np.array([0, 86_399_999_999])})
        assert [day.at for day in db.objects(Day)] == [time.min, time.max]


def test_dates_of_arrays_have_no_time() -> None:
    with motte.open(in_memory="dates", schema=[Day]) as db, db.write():
        with pytest.raises(errors.WrongTypeError, match="row 1: Day.on: 2020-01-01T05 has a time of day"):
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


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "m", "D"])
def test_durations_of_arrays_keep_their_unit(unit: str) -> None:
    values = np.array([3, "NaT", -2], f"m8[{unit}]") * (1_000_000 if unit == "ns" else 1)
    with motte.open(in_memory="durations", schema=[Day]) as db, db.write():
        db.insert_columns(Day, {"id": [1, 2, 3], "took": values})
        expected = [None if np.isnat(value) else value.astype("m8[us]").item() for value in values]
        assert [day.took for day in db.objects(Day)] == expected
        with pytest.raises(errors.NumberOverflowError, match="row 0: Day.took: 1 nanoseconds is no number"):
            db.insert_columns(Day, {"id": [4], "took": np.array([1], "m8[ns]")})
        for name in ("at", "on", "count", "price"):
            with pytest.raises(errors.WrongTypeError, match=f"Day.{name}: an array of timedelta64"):
                db.insert_columns(Day, {"id": [4], name: values[:1]})


@pytest.mark.parametrize("year", [1500, 1969, 2020, 2300, 9999])
def test_dates_of_pandas_have_all_years(year: int) -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.Series(np.array([f"{year}-01-02"], "M8[s]"))
    with motte.open(in_memory="years", schema=[Day]) as db, db.write():
        db.insert_columns(Day, {"id": [1], "on": times})
        db.insert_columns(Day, {"id": [2], "on": times.dt.tz_localize("UTC")})
        assert [day.on for day in db.objects(Day)] == [date(year, 1, 2)] * 2


def test_arrays_of_times_have_one_dimension() -> None:
    with motte.open(in_memory="dimensions", schema=[Day]) as db, db.write():
        with pytest.raises(errors.WrongTypeError, match="Day.on: an array of 2 dimensions"):
            db.insert_columns(Day, {"id": [1], "on": np.array([["2020-01-01", "2021-01-01"]], "M8[s]")})


@pytest.mark.parametrize("dtype", ["m8", "m8[Y]", "m8[M]"])
def test_durations_without_a_length_are_refused(dtype: str) -> None:
    with motte.open(in_memory="lengths", schema=[Day]) as db, db.write():
        with pytest.raises(errors.WrongTypeError, match="Day.took: an array of timedelta64.*, which says no length"):
            db.insert_columns(Day, {"id": [1], "took": np.array([1], dtype)})
        with pytest.raises(errors.NumberOverflowError, match="row 0: Day.took"):
            db.insert_columns(Day, {"id": [1], "took": np.array([2 ** 55], "m8[D]")})
        with pytest.raises(errors.WrongTypeError, match="row 0: Day.on"):
            db.insert_columns(Day, {"id": [1], "on": np.array([1], "M8[as]")})
        assert db.count(Day) == 0


def test_times_and_durations_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    took = pandas.Series(np.array([1, 2], "m8[s]"))
    with motte.open(in_memory="pandas", schema=[Day]) as db, db.write():
        db.insert_columns(Day, {"id": [1, 2], "took": took})
        db.insert_columns(Day, {"id": [3, 4], "took": pandas.Series([timedelta(seconds=3), None])})
        assert [day.took and day.took.seconds for day in db.objects(Day)] == [1, 2, 3, None]
        pytest.importorskip("pyarrow")
        arrow = took.astype("duration[ms][pyarrow]")
        db.insert_columns(Day, {"id": [5, 6], "took": arrow})
        assert [day.took and day.took.seconds for day in db.objects(Day)[4:]] == [1, 2]
