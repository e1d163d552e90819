"""What is stored reads back equal, or is refused with class, property and row: by every way in."""
from __future__ import annotations

import itertools
import json
import math
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Optional

import numpy
import pandas
import polars
import pyarrow
import pytest

import motte

UTC = timezone.utc
ODD = 2**53 + 1


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    f: float = 0.0
    g: motte.Float32 = 0.0
    flag: bool = False
    name: str = ""
    data: bytes = b""
    maybe: Optional[str] = None
    values: list[float] = motte.field(default_factory=list)
    m: dict[str, int] = motte.field(default_factory=dict)


_numbers = itertools.count()


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"exactness {next(_numbers)}", schema=[Row]) as database:
        yield database


@pytest.mark.parametrize("name, number", [("f", ODD), ("f", -ODD), ("g", 2**24 + 1), ("f", 2**63 - 1)])
def test_ints_that_no_float_has(db: motte.Database, name: str, number: int) -> None:
    ways: list[Callable[[], Any]] = [
        lambda: db.add(Row(id=1, **{name: number})),
        lambda: db.create_or_update(Row, id=1, **{name: number}),
        lambda: db.import_data(Row, [{"id": 1, name: number}]),
        lambda: db.insert_columns(Row, {"id": [1], name: [number]}),
        lambda: db.insert_columns(Row, {"id": numpy.array([1]), name: numpy.array([number])}),
        lambda: db.import_data(Row, pyarrow.table({"id": [1], name: [number]})),
        lambda: db.import_data(Row, pyarrow.table({"id": [1], name: [number]}), policy="all"),
        lambda: db.import_data(Row, pandas.DataFrame({"id": [1], name: [number]})),
        lambda: db.import_data(Row, polars.DataFrame({"id": [1], name: [number]}))]
    for way in ways:
        with pytest.raises(motte.errors.NumberOverflowError, match=rf"Row\.{name}"), db.write():
            way()
    assert len(db.objects(Row)) == 0
    db.import_data(Row, pyarrow.table({"id": [1], name: [2**20]}))
    assert getattr(db.one(Row, 1), name) == 2**20


def test_numbers_that_are_too_large(db: motte.Database) -> None:
    for data in (numpy.array([1e300]), [1e300], [Decimal("1e300")]):
        with pytest.raises(motte.errors.NumberOverflowError, match=r"Row\.g"), db.write():
            db.insert_columns(Row, {"id": [1], "g": data})
    with pytest.raises(motte.errors.NumberOverflowError, match="g"):
        db.import_data(Row, pyarrow.table({"id": [1], "g": [1e300]}))
    with db.write():
        db.insert_columns(Row, {"id": [1], "g": numpy.array([math.inf])})
    assert db.one(Row, 1).g == math.inf


def test_arrays_of_numpy(db: motte.Database) -> None:
    with db.write():
        for length in range(3):
            row = db.add(Row(id=length, values=numpy.arange(length) + 0.5))
            assert list(row.values) == [number + 0.5 for number in range(length)]
        db.add_all([Row(id=10, values=numpy.array([])), Row(id=11, values=numpy.array([1.0]))])
        db.upsert(Row(id=12, values=numpy.array([1.0, 2.0])))
        db.import_data(Row, [{"id": 13, "values": numpy.array([1.0, 2.0]), "flag": numpy.bool_(True)}])
        db.insert_columns(Row, {"id": [14, 15], "name": numpy.array(["a", "b"]), "flag": numpy.array([True, False]),
                                "data": numpy.array([b"x", b"y"])})
        db.insert_columns(Row, {"id": [16], "flag": [numpy.bool_(True)], "name": [numpy.str_("c")],
                                "f": [numpy.float64(1.5)]})
    assert list(db.one(Row, 13).values) == [1.0, 2.0] and db.one(Row, 13).flag is True
    assert [(row.name, row.flag, row.data) for row in db.objects(Row).where("id BETWEEN {14, 16}")] == [
        ("a", True, b"x"), ("b", False, b"y"), ("c", True, b"")]
    assert db.objects(Row).where("id IN $0", numpy.array([13, 14])).count() == 2


def test_maps_with_a_key_twice(db: motte.Database) -> None:
    pairs = pyarrow.array([[("a", 1)], [("a", 1), ("a", 2)]], pyarrow.map_(pyarrow.string(), pyarrow.int64()))
    with pytest.raises(motte.errors.InvalidArgumentError, match="row 1: Row.m has the key 'a' twice"):
        db.import_data(Row, pyarrow.table({"id": [1, 2], "m": pairs}))
    assert len(db.objects(Row)) == 0


def test_polars(db: motte.Database) -> None:
    db.import_data(Row, polars.DataFrame({"id": [1, 2], "maybe": [None, None]}))
    assert db.objects(Row).column("maybe") == [None, None]
    objects = polars.Series("data", [object(), object()], dtype=polars.Object)
    with pytest.raises(motte.errors.WrongTypeError, match="'data' holds Python objects"):
        db.import_data(Row, polars.DataFrame({"id": [3, 4], "data": objects}))
    with pytest.raises(motte.errors.WrongTypeError, match="Python objects"):
        db.import_data(Row, polars.DataFrame({"id": [3, 4], "data": objects}).lazy())
    assert len(db.objects(Row)) == 2


def test_errors_name_the_row(db: motte.Database) -> None:
    rows: list[dict[str, Any]] = [{"id": number, "f": 1.0} for number in range(25_000)]
    rows[20_057]["f"] = "x"
    ways: list[Callable[[], Any]] = [
        lambda: db.import_data(Row, rows),
        lambda: db.insert_columns(Row, {name: [row[name] for row in rows] for name in ("id", "f")}),
        lambda: db.insert_rows(Row, ["id", "f"], [tuple(row.values()) for row in rows]),
        lambda: db.import_data(Row, rows[:20_000] + [{**row, "values": [1.0]} for row in rows[20_000:]])]
    for way in ways:
        with pytest.raises(motte.errors.WrongTypeError, match=r"^row 20057: Row\.f: 'x' is str where float") as caught:
            with db.write():
                way()
        assert caught.value.row_index == 20_057 and caught.value.property_name == "f"
    assert len(db.objects(Row)) == 0
    with pytest.raises(motte.errors.DuplicatePrimaryKeyError) as duplicate:
        db.import_data(Row, [{"id": 1, "values": [1.0]}, {"id": 2, "values": [1.0]}, {"id": 1, "values": []}])
    assert duplicate.value.row_index == 2 and "row 2: " in str(duplicate.value)


def test_the_constructor_refuses_what_add_would(db: motte.Database) -> None:
    for given in ({"id": 2**70}, {"id": 1, "name": "\ud800"}, {"id": 1, "f": ODD}, {"id": 1, "g": 1e300}):
        with pytest.raises(motte.Error, match=r"Row\."):
            Row(**given)
    row = Row(id=1)
    with pytest.raises(motte.errors.NumberOverflowError):
        row.id = 2**70
    with pytest.raises(motte.errors.InvalidUTF8Error):
        row.name = "\ud800"


def test_pandas_durations_with_nanoseconds(db: motte.Database) -> None:
    class Timed(motte.Model):
        id: int = motte.field(primary_key=True)
        span: timedelta = timedelta(0)

    assert Timed(id=1, span=pandas.Timedelta(microseconds=3)).span == timedelta(microseconds=3)
    with pytest.raises(motte.errors.NumberOverflowError, match="nanoseconds"):
        Timed(id=1, span=pandas.Timedelta(nanoseconds=3))


# ------------------------------------------------------------------------------------------------ anything

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


class Any_(motte.Model, stored_name="Anything"):
    id: int = motte.field(primary_key=True)
    flag: bool
    whole: Optional[int] = None
    small: motte.Int8 = 0
    real: float
    single: motte.Float32
    text: Optional[str] = None
    data: bytes
    at: Optional[datetime] = None
    number: Optional[Decimal] = None
    code: Optional[uuid.UUID] = None
    oid: Optional[motte.ObjectId] = None
    day: Optional[date] = None
    clock: Optional[time] = None
    span: Optional[timedelta] = None
    any: Any = None
    words: list[Optional[str]]
    times: list[datetime]
    codes: list[uuid.UUID]
    chosen: set[int]
    prices: dict[str, Optional[float]]


texts = st.text(max_size=30)
finite = st.floats(allow_nan=False, allow_infinity=True)
moments = st.builds(
    lambda at, behind: motte.Timestamp.of(at, behind) if behind else at,
    st.datetimes(timezones=st.just(UTC)), st.sampled_from([0, 0, 1, 999]))
decimals = st.builds(lambda digits, exponent: Decimal(digits).scaleb(exponent),
                     st.integers(-10**33, 10**33), st.integers(-60, 60))
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2**63, 2**63 - 1), finite, texts, st.binary(max_size=20),
                    moments, decimals, st.uuids(), st.builds(motte.ObjectId, st.binary(min_size=12, max_size=12)))
keys = st.text(max_size=8).filter(lambda key: "." not in key and not key.startswith("$"))
mixed = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
                     max_leaves=6)


def maybe(strategy: Any) -> Any:
    return st.none() | strategy


values = st.fixed_dictionaries({
    "flag": st.booleans(), "whole": maybe(st.integers(-2**63, 2**63 - 1)), "small": st.integers(-128, 127),
    "real": finite, "single": st.floats(width=32, allow_nan=False), "text": maybe(texts),
    "data": st.binary(max_size=30), "at": maybe(moments), "number": maybe(decimals), "code": maybe(st.uuids()),
    "oid": maybe(st.builds(motte.ObjectId, st.binary(min_size=12, max_size=12))), "day": maybe(st.dates()),
    "clock": maybe(st.times()), "span": maybe(st.timedeltas(timedelta(days=-99999999), timedelta(days=99999999))),
    "any": mixed, "words": st.lists(maybe(texts), max_size=4), "times": st.lists(moments, max_size=3),
    "codes": st.lists(st.uuids(), max_size=3), "chosen": st.sets(st.integers(-2**63, 2**63 - 1), max_size=4),
    "prices": st.dictionaries(keys, maybe(finite), max_size=3)})


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types: 1 is no True, 1.0 no 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left == right
    kinds = {type(left), type(right)}
    return left == right and (len(kinds) == 1 or kinds == {datetime, motte.Timestamp})


def contents(db: motte.Database) -> list[dict[str, Any]]:
    return [{**row.to_dict(), "chosen": set(row.chosen)} for row in db.objects(Any_).sorted("id")]


def by_rows(db: motte.Database, rows: list[dict[str, Any]]) -> None:
    db.add_all([Any_(**row) for row in rows])


def by_attributes(db: motte.Database, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        made = db.add(Any_(id=row["id"], flag=False, real=0.0, single=0.0, data=b"", words=[], times=[], codes=[],
                           chosen=set(), prices={}))
        for name, value in row.items():
            if name != "id":
                setattr(made, name, value)


def by_columns(db: motte.Database, rows: list[dict[str, Any]]) -> None:
    plain = [name for name in rows[0] if name not in ("words", "times", "codes", "chosen", "prices")]
    db.insert_columns(Any_, {name: [row[name] for row in rows] for name in plain})
    for row in rows:
        db.create_or_update(Any_, **{name: row[name] for name in row if name == "id" or name not in plain})


IN: dict[str, Callable[[motte.Database, list[dict[str, Any]]], Any]] = {
    "constructor": by_rows,
    "one by one": lambda db, rows: [db.add(Any_(**row)) for row in rows],
    "create_or_update": lambda db, rows: [db.create_or_update(Any_, **row) for row in rows],
    "rows": lambda db, rows: db.import_data(Any_, rows),
    "rows, updating": lambda db, rows: (db.import_data(Any_, rows), db.import_data(Any_, rows, policy="modified")),
    "attributes": by_attributes,
    "columns": by_columns,
}
#: Out of one database and into another.
THROUGH: dict[str, Callable[[motte.Database, motte.Database], Any]] = {
    "dump": lambda db, other: other.import_json(text=db.export_json()),
    "json": lambda db, other: other.import_json(Any_, text=db.export_json(None, Any_)),
    "csv": lambda db, other: other.import_csv(Any_, text=db.export_csv(None, Any_)),
    "objects": lambda db, other: other.import_data(Any_, [
        {**row.to_dict(), "chosen": set(row.chosen)} for row in db.objects(Any_)]),
    "batch": lambda db, other: other.apply(db.changes_since(0)),
    "itself": lambda db, other: other.import_data(
        Any_, [{name: getattr(row, name) for name in row.to_dict()} for row in db.objects(Any_)]),
}


def opened() -> motte.Database:
    return motte.open(in_memory=f"exactness {next(_numbers)}", schema=[Any_])


@hypothesis.settings(max_examples=40, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.lists(values, min_size=1, max_size=4), st.sampled_from(sorted(IN)))
def test_every_way_in(given: list[dict[str, Any]], way: str) -> None:
    rows = [{"id": number, **row} for number, row in enumerate(given)]
    with opened() as db:
        with db.write():
            IN[way](db, rows)
        assert same(contents(db), rows)
        for name in rows[0]:
            if name not in ("words", "times", "codes", "chosen", "prices", "any"):
                assert same(db.objects(Any_).sorted("id").column(name), [row[name] for row in rows])
                value = rows[0][name]
                if value is not None and value == value:
                    assert db.objects(Any_).where(**{name: value, "id": 0}).count() == 1
        before = db.export_json(None, Any_)
        with db.write():
            for row in db.objects(Any_):
                for name in rows[0]:
                    if name not in ("id", "words", "times", "codes", "chosen", "prices"):
                        setattr(row, name, getattr(row, name))
        assert db.export_json(None, Any_) == before


@hypothesis.settings(max_examples=30, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.lists(values, min_size=1, max_size=3), st.sampled_from(sorted(THROUGH)))
def test_every_way_out_and_in(given: list[dict[str, Any]], way: str) -> None:
    rows = [{"id": number, **row} for number, row in enumerate(given)]
    with opened() as db, opened() as other:
        with db.write():
            by_rows(db, rows)
        THROUGH[way](db, other)
        assert same(contents(other), rows)
        assert json.loads(other.export_json(None, Any_) or "") == json.loads(db.export_json(None, Any_) or "")
