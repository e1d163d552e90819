"""Arrays of NumPy and pandas on their way in: every order of bytes, every unit, and times that nobody could read."""
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, Optional

import pytest

import motte
from motte import errors

numpy: Any = pytest.importorskip("numpy")
UTC = timezone.utc


class Sample(motte.Model):
    time: Optional[datetime] = None
    number: int = 0
    real: Optional[float] = None
    single: motte.Float32 = 0.0
    other: Optional[Sample] = None


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="arrays", schema=[Sample]) as database, database.write():
        yield database


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_times_of_both_orders_of_bytes(db: motte.Database, unit: str) -> None:
    for order in "<>":
        times = numpy.array(["2024-01-02", "NaT", "1969-12-31"], dtype=f"{order}M8[{unit}]")
        db.delete_all()
        db.insert_columns(Sample, {"time": times})
        assert db.objects(Sample).column("time") == [
            datetime(2024, 1, 2, tzinfo=UTC), None, datetime(1969, 12, 31, tzinfo=UTC)]
        db.delete_all()
        db.insert_columns(Sample, {"time": numpy.ma.masked_array(times, mask=[True, False, False])})
        assert db.objects(Sample).column("time") == [None, None, datetime(1969, 12, 31, tzinfo=UTC)]


@pytest.mark.parametrize("property, kind", [("number", "i8"), ("number", "i4"), ("number", "u2"), ("real", "f8"),
                                            ("real", "f4"), ("single", "f4"), ("single", "f8")])
def test_numbers_of_both_orders_of_bytes(db: motte.Database, property: str, kind: str) -> None:
    for order in "<>":
        db.delete_all()
        db.insert_columns(Sample, {property: numpy.array([1, 2, 3], dtype=order + kind)})
        assert db.objects(Sample).column(property) == [1, 2, 3]
    first = db.objects(Sample)[0]
    db.insert_columns(Sample, {"other": numpy.array([first.object_key], dtype=">i8")})
    last = db.objects(Sample).last()
    assert last is not None and last.other == first


@pytest.mark.parametrize("unit", ["Y", "D", "s", "ms", "us"])
def test_times_that_no_datetime_holds_are_refused(db: motte.Database, unit: str) -> None:
    edges = ["0001-01-01", "9999-12-31T23:59:59.999999"]
    db.insert_columns(Sample, {"time": numpy.array(edges, dtype=f"M8[{unit}]")})
    assert [time.year for time in db.objects(Sample).column("time")] == [1, 9999]
    for far in ("10000-01-01", "0000-12-31", "-0500-01-01"):
        with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999") as caught:
            db.insert_columns(Sample, {"time": numpy.array(["2024-01-01", far], dtype=f"M8[{unit}]")})
        assert caught.value.row_index == 1
    assert db.count(Sample) == 2


def test_times_of_frames_that_no_datetime_holds_are_refused(db: motte.Database) -> None:
    pandas: Any = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for far in ("12020-01-01", "-0500-01-01"):
        frame = pandas.DataFrame({"time": numpy.array(["2024-01-01", far], dtype="M8[s]")})
        with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999") as caught:
            db.import_data(Sample, frame)
        assert caught.value.row_index == 1 and caught.value.property_name == "time"
    db.import_data(Sample, pandas.DataFrame({"time": pandas.to_datetime(["2024-01-01", None])}))
    assert db.objects(Sample).column("time") == [datetime(2024, 1, 1, tzinfo=UTC), None]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "batch", "polars", "lazy"])
def test_times_of_tables_that_no_datetime_holds_are_refused(db: motte.Database, library: str) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    module: Any = pytest.importorskip(library) if library in ("pandas", "polars") else None

    def made(**columns: Any) -> Any:
        if module is not None:
            return module.DataFrame(columns)
        if library == "lazy":
            return pytest.importorskip("polars").DataFrame(columns).lazy()
        table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
        return table if library == "pyarrow" else table.to_batches()[0]
    for unit in ("ms", "us"):
        near, far = (numpy.array(["NaT", time, "2024-01-01", time], dtype=f"M8[{unit}]")
                     for time in ("0001-01-01", "-0500-01-01"))
        with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999") as caught:
            db.import_data(Sample, made(number=numpy.arange(4), time=far))
        assert caught.value.row_index == 1 and caught.value.property_name == "time" and db.count(Sample) == 0
        # What is passed over may be anything.
        db.import_data(Sample, made(time=near, unrelated=far), ignore_unknown=True)
        assert [time and time.year for time in db.objects(Sample).column("time")] == [None, 1, 2024, 1]
        db.delete_all()


def test_series_with_a_zone(db: motte.Database) -> None:
    pandas: Any = pytest.importorskip("pandas")
    texts = ["2024-07-01T12:00:00.000000001Z", None]
    for times in (pandas.Series(pandas.to_datetime(texts)), pandas.DatetimeIndex(texts),
                  pandas.Series(pandas.to_datetime(texts)).dt.tz_convert("Europe/Berlin")):
        db.delete_all()
        db.insert_columns(Sample, {"time": times})
        assert db.objects(Sample).column("time") == [
            motte.Timestamp.of(datetime(2024, 7, 1, 12, tzinfo=UTC), 1), None]


def test_a_time_that_is_none_is_refused_with_its_row(db: motte.Database) -> None:
    pandas: Any = pytest.importorskip("pandas")
    good = datetime(2024, 1, 1, tzinfo=UTC)
    exact = motte.Timestamp.of(good, 1)
    for before in (good, exact):
        with pytest.raises(errors.WrongTypeError, match="NaT") as caught:
            db.insert_columns(Sample, {"time": [before, pandas.NaT]})
        assert caught.value.row_index == 1
        with pytest.raises(errors.WrongTypeError, match="NaT") as caught:
            db.insert_rows(Sample, ["time"], [[before], [pandas.NaT]])
        assert caught.value.row_index == 1
    with pytest.raises(errors.WrongTypeError, match="NaT"):
        db.add(Sample(time=pandas.NaT))
