"""Times of tables that no datetime holds are refused wherever in a column they are, and none is stored."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from typing import Any, Optional

import pandas
import polars
import pyarrow
import pytest

import motte
from motte import errors

UTC = timezone.utc
_numbers = itertools.count()
SECONDS = pyarrow.timestamp("s")


class Inner(motte.EmbeddedModel):
    at: Optional[datetime] = None
    days: list[date] = motte.field(default_factory=list)


class Times(motte.Model):
    at: Optional[datetime] = None
    day: Optional[date] = None
    ats: list[datetime] = motte.field(default_factory=list)
    named: dict[str, Optional[datetime]] = motte.field(default_factory=dict)
    inner: Optional[Inner] = None
    inners: list[Inner] = motte.field(default_factory=list)
    mixed: Any = None
    late: Optional[datetime] = motte.field(default=None, stored_name="late in the file")


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"import times {next(_numbers)}", schema=[Inner, Times]) as database:
        yield database


def table(name: str, values: list[Any], type_: Any) -> pyarrow.Table:
    return pyarrow.table({name: pyarrow.array(values, type_)})


def days(second: int) -> int:
    return second // 86_400


def batches(second: int) -> Any:
    """The last row in a batch of its own."""
    schema = pyarrow.schema([("at", SECONDS)])
    parts = [pyarrow.record_batch({"at": pyarrow.array(each, SECONDS)}) for each in ([0, None], [], [second])]
    return pyarrow.RecordBatchReader.from_batches(schema, parts)


CASES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "flat": ("at", lambda second: table("at", [0, None, second], SECONDS)),
    "batch": ("at", lambda second: table("at", [0, None, second], SECONDS).to_batches()[0]),
    "reader": ("at", batches),
    "slice": ("at", lambda second: table("at", [10 ** 15, 0, None, second], SECONDS).slice(1)),
    "dictionary": ("at", lambda second: pyarrow.table(
        {"at": pyarrow.array([0, None, second], SECONDS).dictionary_encode()})),
    "large dictionary": ("at", lambda second: pyarrow.table({"at": pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0, None, 9]), pyarrow.array([*range(9), second, *range(9)], SECONDS))})),
    "zone": ("at", lambda second: table("at", [0, None, second], pyarrow.timestamp("s", "Asia/Tokyo"))),
    "milliseconds": ("at", lambda second: table("at", [0, None, second * 1000], pyarrow.timestamp("ms"))),
    "date32": ("at", lambda second: table("at", [0, None, days(second)], pyarrow.date32())),
    "date64": ("at", lambda second: table("at", [0, None, days(second) * 86_400_000], pyarrow.date64())),
    "day, date32": ("day", lambda second: table("day", [0, None, days(second)], pyarrow.date32())),
    "day, date64": ("day", lambda second: table("day", [0, None, days(second) * 86_400_000], pyarrow.date64())),
    "day, timestamp": ("day", lambda second: table("day", [0, None, days(second) * 86_400], SECONDS)),
    "list": ("ats", lambda second: table("ats", [[0], [], [0, second]], pyarrow.list_(SECONDS))),
    "large list": ("ats", lambda second: table("ats", [[0], [], [0, second]], pyarrow.large_list(SECONDS))),
    "fixed list": ("ats", lambda second: table("ats", [[0, 1], None, [0, second]], pyarrow.list_(SECONDS, 2))),
    "list of dictionaries": ("ats", lambda second: pyarrow.table({"ats": pyarrow.ListArray.from_arrays(
        [0, 1, 1, 3], pyarrow.array([0, 0, second], SECONDS).dictionary_encode())})),
    "map": ("named", lambda second: table(
        "named", [[], None, [("a", 0), ("b", second)]], pyarrow.map_(pyarrow.string(), SECONDS))),
    "struct": ("at", lambda second: table(
        "inner", [{"at": 0}, None, {"at": second}], pyarrow.struct([("at", SECONDS)]))),
    "list in a struct": ("days", lambda second: table(
        "inner", [{"days": []}, None, {"days": [days(second)]}],
        pyarrow.struct([("days", pyarrow.list_(pyarrow.date32()))]))),
    "list of structs": ("at", lambda second: table(
        "inners", [[], None, [{"at": 0}, {"at": second}]], pyarrow.list_(pyarrow.struct([("at", SECONDS)])))),
    "mixed": ("mixed", lambda second: table("mixed", [0, None, second], SECONDS)),
    "another name in the file": ("late", lambda second: table("late", [0, None, second], SECONDS)),
    "pandas": ("at", lambda second: pandas.DataFrame({"at": pandas.array(
        pyarrow.array([0, None, second], SECONDS).to_numpy(zero_copy_only=False))})),
    "pandas of Arrow": ("ats", lambda second: pandas.DataFrame({"ats": pandas.Series(
        pyarrow.array([[0], [], [second]], pyarrow.list_(SECONDS)), dtype=pandas.ArrowDtype(pyarrow.list_(SECONDS)))})),
    "polars": ("at", lambda second: polars.DataFrame(
        {"at": polars.Series([0, None, second * 1000], dtype=polars.Int64).cast(polars.Datetime("ms"))})),
    "polars, lazy": ("at", lambda second: polars.DataFrame(
        {"at": polars.Series([0, None, second * 1000], dtype=polars.Int64).cast(polars.Datetime("ms"))}).lazy()),
    "polars, list": ("ats", lambda second: polars.DataFrame({"ats": polars.Series(
        [[0], [], [second * 1000]], dtype=polars.List(polars.Int64)).cast(polars.List(polars.Datetime("ms")))})),
    "polars, date": ("day", lambda second: polars.DataFrame(
        {"day": polars.Series([0, None, days(second)], dtype=polars.Int32).cast(polars.Date)})),
}
LEAST, MOST = -62_135_596_800, 253_402_300_799


@pytest.mark.parametrize("second", [LEAST - 1, MOST + 1, 10 ** 13])
@pytest.mark.parametrize("case", CASES)
def test_times_that_no_datetime_holds(db: motte.Database, case: str, second: int) -> None:
    name, made = CASES[case]
    with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999") as caught:
        db.import_data(Times, made(second))
    assert caught.value.row_index == 2 and caught.value.property_name == name and db.count(Times) == 0


@pytest.mark.parametrize("second", [LEAST, 0, MOST])
@pytest.mark.parametrize("case", CASES)
def test_times_that_a_datetime_holds(db: motte.Database, case: str, second: int) -> None:
    assert db.import_data(Times, CASES[case][1](second)) == (3, 0)
    year = {LEAST: 1, 0: 1970, MOST: 9999}[second]
    assert f"({year}, " in repr([each.to_dict() for each in db.objects(Times)][2])


def test_texts_of_mixed_values(db: motte.Database) -> None:
    """Which say that they are JSON."""
    field = pyarrow.field("mixed", pyarrow.string(), metadata={"motte:type": "mixed"})
    for text in ('{"$date": "+12345-01-01T00:00:00Z"}', '[1, {"a": {"$date": "-00001-01-01T00:00:00Z"}}]'):
        data = pyarrow.table([pyarrow.array(["1", text])], schema=pyarrow.schema([field]))
        with pytest.raises(errors.NumberOverflowError, match="years 1 to 9999") as caught:
            db.import_data(Times, data)
        assert caught.value.row_index == 1 and caught.value.property_name == "mixed" and db.count(Times) == 0
    text = '[{"$date": "9999-12-31T23:59:59.999999Z"}]'
    db.import_data(Times, pyarrow.table([pyarrow.array([text])], schema=pyarrow.schema([field])))
    assert db.objects(Times)[0].mixed[0].year == 9999


def test_what_no_row_has_may_be_anything(db: motte.Database) -> None:
    """Values of a dictionary that no code names, elements outside of lists, and what is passed over."""
    far = pyarrow.array([0, 10 ** 15], SECONDS)
    data = pyarrow.table({
        "at": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0]), far),
        "ats": pyarrow.ListArray.from_arrays([0, 1], far), "other": far.slice(1)})
    db.import_data(Times, data, ignore_unknown=True)
    assert db.objects(Times)[0].at == datetime(1970, 1, 1, tzinfo=UTC) == db.objects(Times)[0].ats[0]
