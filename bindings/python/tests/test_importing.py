"""Rows of other libraries in: Arrow, pandas, polars, DuckDB, dicts, dataclasses, pydantic models."""
from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple, Optional

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pydantic
import pytest

import motte
from importing_model import Item, column, opened

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with opened() as database:
        yield database


# ------------------------------------------------------------------------------------------------ types


def one(values: Any, type_: Any = None) -> pyarrow.Table:
    count = len(values)
    return pyarrow.table({"id": pyarrow.array(range(count), pyarrow.int64()), "x": pyarrow.array(values, type_)})


@pytest.mark.parametrize("name, values, type_, wanted", [
    ("whole", [1, None, -5], pyarrow.int8(), [1, None, -5]),
    ("whole", [1, None, 2 ** 63 - 1], pyarrow.uint64(), [1, None, 2 ** 63 - 1]),
    ("whole", [1.0, None, -5.0], pyarrow.float64(), [1, None, -5]),
    ("whole", [Decimal("12.00"), None], pyarrow.decimal128(9, 2), [12, None]),
    ("small", [1, 127, -128], pyarrow.int64(), [1, 127, -128]),
    ("real", [1, 2], pyarrow.int32(), [1.0, 2.0]),
    ("real", numpy.array([1.5, -0.25], "float16"), pyarrow.float16(), [1.5, -0.25]),
    ("real", [1.5, None], pyarrow.float32(), [1.5, None]),
    ("single", [1.5, None], pyarrow.float64(), [1.5, None]),
    ("flag", [True, None, False], pyarrow.bool_(), [True, None, False]),
    ("text", ["a", None], pyarrow.string_view(), ["a", None]),
    ("text", ["a", None, "more than twelve bytes"], pyarrow.large_string(), ["a", None, "more than twelve bytes"]),
    ("text", [None, None], pyarrow.null(), [None, None]),
    ("data", [b"ab", None], pyarrow.binary(2), [b"ab", None]),
    ("data", [b"ab", None], pyarrow.large_binary(), [b"ab", None]),
    ("data", [b"ab", None, b"x" * 20], pyarrow.binary_view(), [b"ab", None, b"x" * 20]),
    ("moment", [date(1970, 1, 2), None], pyarrow.date32(), [datetime(1970, 1, 2, tzinfo=UTC), None]),
    ("moment", [date(1960, 1, 2), None], pyarrow.date64(), [datetime(1960, 1, 2, tzinfo=UTC), None]),
    ("moment", [-1], pyarrow.timestamp("s"), [datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)]),
    ("moment", [-1], pyarrow.timestamp("ms", "Europe/Berlin"), [EPOCH - timedelta(0, 0, 1000)]),
    ("moment", [1_000], pyarrow.timestamp("ns", "+02:00"), [datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]),
    ("number", [Decimal("-1.50"), None], pyarrow.decimal128(38, 2), [Decimal("-1.50"), None]),
    ("number", [Decimal("-1.50"), None], pyarrow.decimal256(60, 2), [Decimal("-1.50"), None]),
    ("number", ["1E+3", None, "NaN"][:2], pyarrow.string(), [Decimal("1E+3"), None]),
    ("number", [7, None], pyarrow.int64(), [Decimal(7), None]),
    ("code", [uuid.UUID(int=7).bytes, None], pyarrow.binary(16), [uuid.UUID(int=7), None]),
    ("code", [str(uuid.UUID(int=7)), None], pyarrow.string(), [uuid.UUID(int=7), None]),
    ("oid", ["00" * 11 + "07"], pyarrow.string(), [motte.ObjectId(bytes(11) + b"\7")]),
    ("text", ["a", None, "a"], pyarrow.dictionary(pyarrow.uint8(), pyarrow.large_string()), ["a", None, "a"]),
    ("data", [b"a", None, b"a"], pyarrow.dictionary(pyarrow.int64(), pyarrow.large_binary()), [b"a", None, b"a"]),
    ("any", [1, None], pyarrow.int32(), [1, None]),
    ("any", ["[1]", None], pyarrow.string(), ["[1]", None]),
    ("any", [1.5, None], pyarrow.float32(), [1.5, None]),
])
def test_types_of_arrow(db: motte.Database, name: str, values: Any, type_: Any, wanted: list[Any]) -> None:
    assert db.import_data(Item, one(values, type_).rename_columns(["id", name])) == (len(wanted), 0)
    assert column(db, name) == wanted


@pytest.mark.parametrize("name, values, type_, error, message", [
    ("whole", [1, 2 ** 64 - 1], pyarrow.uint64(), motte.errors.NumberOverflowError, "row 1.*whole"),
    ("whole", [1.0, 1.5], pyarrow.float64(), motte.errors.WrongTypeError, "row 1.*Item.whole.*1.5"),
    ("small", [1, 2, 300], pyarrow.int64(), motte.errors.NumberOverflowError, "row 2.*small.*300"),
    ("small", [None], pyarrow.int64(), motte.errors.NullNotAllowedError, "small"),
    ("text", [1], pyarrow.int64(), motte.errors.WrongTypeError, "Item.text.*int64"),
    ("whole", ["1"], pyarrow.string(), motte.errors.WrongTypeError, "Item.whole.*utf8"),
    ("moment", [timedelta(1)], pyarrow.duration("us"), motte.errors.WrongTypeError, "Item.moment.*tDu"),
    ("moment", [None], pyarrow.duration("us"), motte.errors.WrongTypeError, "Item.moment.*tDu"),
    ("code", ["no"], pyarrow.string(), motte.errors.WrongTypeError, "row 0.*Item.code.*'no'"),
    ("code", [b"abc"], pyarrow.binary(), motte.errors.WrongTypeError, "Item.code.*3 bytes"),
    ("single", [1e300], pyarrow.float64(), motte.errors.NumberOverflowError, "Item.single"),
    ("friend", [77], pyarrow.int64(), motte.errors.Error, "."),
    ("words", ["x"], pyarrow.string(), motte.errors.WrongTypeError, "Item.words is a list"),
    ("home", [[1]], None, motte.errors.WrongTypeError, "Home"),
])
def test_what_does_not_fit_names_column_and_row(
    db: motte.Database, name: str, values: Any, type_: Any, error: Any, message: str,
) -> None:
    with pytest.raises(error, match=message):
        db.import_data(Item, one(values, type_).rename_columns(["id", name]))
    assert db.count(Item) == 0


def test_what_no_row_has_of_a_dictionary_does_not_matter(db: motte.Database) -> None:
    good, codes = str(uuid.UUID(int=7)), pyarrow.array([0, 0, 0, None, 0], pyarrow.int8())
    table = one([1] * 5).rename_columns(["id", "code"])
    table = table.set_column(1, "code", pyarrow.DictionaryArray.from_arrays(codes, [good, "no"]))
    assert db.import_data(Item, table) == (5, 0) and column(db, "code")[2:4] == [uuid.UUID(int=7), None]
    codes = pyarrow.array([0, 0, 0, 1, 0], pyarrow.int8())
    table = table.set_column(1, "code", pyarrow.DictionaryArray.from_arrays(codes, [good, "no"]))
    with pytest.raises(motte.errors.WrongTypeError, match="row 3: .*'no'"):
        db.import_data(Item, table, policy="all")


def test_rows_are_counted_over_all_batches(db: motte.Database) -> None:
    table = pyarrow.concat_tables([one(["a"] * 100, pyarrow.string())] * 3)
    table = table.set_column(0, "id", pyarrow.array(list(range(250)) + [3] + list(range(251, 300)))).rename_columns(
        ["id", "text"])
    with db.write():
        db.add(Item(id=1_000))
        with pytest.raises(motte.errors.DuplicatePrimaryKeyError) as caught:
            db.import_data(Item, table)
        assert caught.value.row_index == 250 and caught.value.property_name == "id"
        assert db.count(Item) == 1
    assert db.count(Item) == 1


def test_columns_are_matched_by_name(db: motte.Database) -> None:
    table = one(["a"], pyarrow.string())
    with pytest.raises(motte.errors.UnknownPropertyError, match="no property 'x'"):
        db.import_data(Item, table)
    assert db.import_data(Item, table, ignore_unknown=True) == (1, 0)
    with pytest.raises(motte.errors.NoPrimaryKeyError, match="'id'"):
        db.import_data(Item, table.select(["x"]).rename_columns(["text"]))
    with pytest.raises(motte.errors.InvalidArgumentError, match="two columns 'id'"):
        db.import_data(Item, pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["id", "id"]))
    with pytest.raises(motte.errors.InvalidArgumentError, match="policy"):
        db.import_data(Item, table, policy="sometimes")
    with pytest.raises(motte.errors.WrongTypeError, match="int64"):
        db.import_data(Item, pyarrow.chunked_array([[1, 2]]))


def test_policies(db: motte.Database) -> None:
    db.import_data(Item, {"id": [1, 2], "text": ["a", "b"], "whole": [1, 2]})
    update = pyarrow.table({"id": [2, 3, 3], "text": ["B", "c", "d"]})
    assert db.import_data(Item, update, policy="modified") == (1, 2)
    assert column(db, "text") == ["a", "B", "d"] and column(db, "whole") == [1, 2, None]


def test_one_batch(db: motte.Database) -> None:
    class Single:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pyarrow.record_batch({"id": [1, 2]}).slice(1).__arrow_c_array__()

    assert db.import_data(Item, Single()) == (1, 0)
    assert column(db, "id") == [2]


# ------------------------------------------------------------------------------------------------ frames


def test_pandas(db: motte.Database) -> None:
    frame = pandas.DataFrame({
        "id": pandas.array([1, 2, 3], dtype="UInt16"), "small": pandas.array([1, 2, 3], dtype="Int8"),
        "whole": [1.0, float("nan"), 3.0], "flag": pandas.array([True, None, False], dtype="boolean"),
        "real": pandas.array([1.5, None, 2.5], dtype="Float64"), "text": pandas.Categorical(["x", None, "y"]),
        "data": [b"a", None, b"c"],
        "moment": pandas.to_datetime(["2020-01-01", None, "2021-06-01"]).tz_localize("Europe/Berlin"),
    }, index=["a", "b", "c"])
    assert db.import_data(Item, frame) == (3, 0)
    assert column(db, "whole") == [1, None, 3] and column(db, "flag") == [True, None, False]
    assert column(db, "real") == [1.5, None, 2.5] and column(db, "text") == ["x", None, "y"]
    assert column(db, "data") == [b"a", None, b"c"]
    assert column(db, "moment")[0] == datetime(2019, 12, 31, 23, tzinfo=UTC)
    for number, kind in enumerate(["object", "string", "string[pyarrow]", "str", pandas.ArrowDtype(pyarrow.string())]):
        texts = pandas.Series(["ä", None, "z"], dtype=kind)
        db.import_data(Item, pandas.DataFrame({"id": [10 * number + 20 + row for row in range(3)], "text": texts}))
        assert column(db, "text")[-3:] == ["ä", None, "z"]
    for unit in ("s", "ms", "us", "ns"):
        naive = pandas.Series(pandas.to_datetime(["2020-01-01", None])).astype(f"datetime64[{unit}]")
        db.import_data(Item, pandas.DataFrame({"id": [1, 2], "moment": naive}), policy="all")
        assert column(db, "moment")[:2] == [datetime(2020, 1, 1, tzinfo=UTC), None]
    with pytest.raises(motte.errors.WrongTypeError, match="mixed up|column"):
        db.import_data(Item, pandas.DataFrame({"id": [99, 98], "text": ["a", 5]}))


def test_polars(db: motte.Database) -> None:
    frame = polars.DataFrame({
        "id": [1, 2], "text": ["a text that is longer than twelve", None], "moment": [date(2020, 1, 1), None],
        "number": [Decimal("1.25"), None], "words": [["a", None], []], "home": [{"city": "Bonn", "floors": [1]}, None],
        "prices": [[{"key": "a", "value": 1.0}], None]})
    assert db.import_data(Item, frame) == (2, 0)
    assert column(db, "text") == ["a text that is longer than twelve", None]
    first, second = db.objects(Item)
    assert list(first.words) == ["a", None] and first.home.city == "Bonn" and list(first.home.floors) == [1]
    assert dict(first.prices) == {"a": 1.0} and second.home is None and first.number == Decimal("1.25")
    for kind in (polars.Categorical, polars.Enum(["x", "y"]), polars.String):
        db.import_data(Item, polars.DataFrame({"id": [1, 2], "text": polars.Series(["x", None], dtype=kind)}),
                       policy="all")
        assert column(db, "text") == ["x", None]
    for unit in ("ms", "us", "ns"):
        moments = polars.Series([datetime(2020, 1, 1), None]).cast(polars.Datetime(unit, "Asia/Tokyo"))
        db.import_data(Item, polars.DataFrame({"id": [1, 2], "moment": moments}).lazy(), policy="all")
        assert column(db, "moment")[1] is None and column(db, "moment")[0].year in (2019, 2020)


def test_duckdb_relations(db: motte.Database) -> None:
    relation = duckdb.sql("SELECT range AS id, 'n' || range AS text, range / 2 AS real FROM range(5000)")
    assert db.import_data(Item, relation) == (5_000, 0)
    assert column(db, "text")[4_999] == "n4999"


# ------------------------------------------------------------------------------------------------ rows


@dataclasses.dataclass
class Plain:
    id: int
    text: Optional[str]


class Named(NamedTuple):
    id: int
    text: str


class Place(pydantic.BaseModel):
    city: str
    floors: list[int] = []


class Checked(pydantic.BaseModel):
    id: int
    words: list[str]
    home: Optional[Place] = None


@pytest.mark.parametrize("rows", [
    [{"id": 1, "text": "a"}, {"id": 2, "text": None}], [Plain(1, "a"), Plain(2, None)],
    [Named(1, "a"), {"id": 2, "text": None}], [{"id": 1, "text": "a"}, {"id": 2}],
    Item, {"id": [1, 2], "text": ["a", None]},
    ({"id": number, "text": text} for number, text in [(1, "a"), (2, None)])], ids=lambda rows: type(rows).__name__)
def test_rows(db: motte.Database, rows: Any) -> None:
    assert db.import_data(Item, [Item(id=1, text="a"), Item(id=2)] if rows is Item else rows) == (2, 0)
    assert column(db, "text") == ["a", None]


def test_rows_with_more_inside(db: motte.Database) -> None:
    rows = [Checked(id=1, words=["a"], home=Place(city="Bonn", floors=[2])), Checked(id=2, words=[])]
    assert db.import_data(Item, rows) == (2, 0)
    assert db.objects(Item)[0].home.city == "Bonn" and list(db.objects(Item)[0].words) == ["a"]
    assert db.import_data(Item, [{"id": 1, "homes": [{"city": "x"}], "prices": {"p": 1.0}}], policy="all") == (0, 1)
    assert db.objects(Item)[0].homes[0].city == "x" and dict(db.objects(Item)[0].prices) == {"p": 1.0}


@pytest.mark.parametrize("rows, error, message", [
    ([{"id": 1}, {"id": 2, "nme": "x"}], motte.errors.UnknownPropertyError, "nme"),
    ([{"id": 1, "text": "a"}, {"id": 2, "text": 5}], motte.errors.WrongTypeError, "Item.text"),
    ([{"id": 1}, 7], motte.errors.WrongTypeError, "row 1.*7"),
    ("abc", motte.errors.WrongTypeError, "'abc'"), (7, motte.errors.WrongTypeError, "7"),
    ([{"id": 1, "home": {"town": "x"}}], motte.errors.UnknownPropertyError, "town"),
])
def test_rows_that_do_not_fit(db: motte.Database, rows: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        db.import_data(Item, rows)
    assert db.count(Item) == 0


def test_rows_that_bring_others_along_are_counted_once(db: motte.Database) -> None:
    class Node(motte.Model):
        name: str = motte.field(primary_key=True)
        next: Optional[Node] = None
        anything: motte.Mixed = None

    Node.__module__ = __name__
    globals()["Node"] = Node
    with motte.open(in_memory="nodes", schema=[Node]) as nodes:
        assert nodes.import_data(Node, [Node(name="a", next=Node(name="b"))]) == (2, 0)
        assert nodes.import_data(Node, [{"name": "c", "next": Node(name="d")}]) == (2, 0)
        assert nodes.import_data(Node, {"name": ["e"], "anything": [Node(name="f")]}) == (2, 0)
        rows = [{"name": "a", "next": Node(name="g")}, {"name": "h", "next": None}, {"name": "h", "next": None}]
        assert nodes.import_data(Node, rows, policy="all") == (2, 2)
        assert nodes.count(Node) == 8


def test_a_row_far_in_names_its_number(db: motte.Database) -> None:
    rows = ({"id": number, "text": "x" if number < 15_000 else 5} for number in range(15_001))
    with pytest.raises(motte.errors.WrongTypeError) as caught:
        db.import_data(Item, rows)
    assert caught.value.row_index == 15_000 and db.count(Item) == 0


# ------------------------------------------------------------------------------------------------ commits on the way


class Listed(motte.Model):
    id: int = motte.field(primary_key=True)
    numbers: list[int] = motte.field(default_factory=list)


def lines(count: int) -> str:
    return "".join(f'{{"id": {number}, "numbers": [{number}]}}\n' for number in range(count))


@pytest.mark.parametrize("good, committed", [(5, 0), (30, 20), (40, 40), (45, 40)])
@pytest.mark.parametrize("bad", ['{"id": "oops"}\n', '{"id": 99, "numbers": [1, "a"]}\n{"id": 100, "numbers": [7]}\n'])
def test_what_fails_behind_a_commit_leaves_nothing(good: int, committed: int, bad: str) -> None:
    """The write goes on, and may be committed."""
    with motte.open(in_memory="steps", schema=[Listed]) as db:
        with db.write():
            before = db.add(Listed(id=-1))
            with pytest.raises(motte.errors.Error):
                db.import_json(Listed, text=lines(good) + bad, batch_rows=10, commit_every=20)
            db.add(Listed(id=-2, numbers=[5]))
        expected = [(-2, [5]), (-1, [])] + [(number, [number]) for number in range(committed)]
        assert [(each.id, list(each.numbers)) for each in db.objects(Listed).sorted("id")] == expected
        assert before.is_valid and db.verify().is_sound


def test_csv_that_fails_behind_a_commit_leaves_nothing() -> None:
    with motte.open(in_memory="steps", schema=[Listed]) as db:
        text = "id\n" + "\n".join(map(str, range(45))) + "\nx\n"
        with db.write(), pytest.raises(motte.errors.Error):
            db.import_csv(Listed, text=text, batch_rows=10, commit_every=20)
        assert db.count(Listed) == 40
        assert db.import_csv(Listed, text="id\n100\n101\n", batch_rows=1, commit_every=1).created == 2


def test_a_block_within_a_write_rules_commits_out() -> None:
    with motte.open(in_memory="steps", schema=[Listed]) as db:
        with db.write():
            db.add(Listed(id=-1))
            with pytest.raises(motte.errors.InvalidArgumentError, match="commit_every"), db.write():
                db.import_json(Listed, text=lines(30), commit_every=20)
            with pytest.raises(motte.errors.InvalidArgumentError, match="commit_every"), db.write():
                db.import_csv(Listed, text="id\n1\n", commit_every=20)
            db.add(Listed(id=-2))
        assert db.count(Listed) == 2


@pytest.mark.parametrize("every", [0, 2])
def test_observers_write_after_each_commit_of_an_import(every: int) -> None:
    class Row(motte.Model):
        id: int = motte.field(primary_key=True)

    class Log(motte.Model):
        count: int

    rows = "\n".join(f'{{"id": {number}}}' for number in range(6))
    with motte.open(in_memory=f"observed {every}", schema=[Row, Log]) as db:
        writes: list[motte.Write] = []
        outer: list[motte.Write] = []

        def note(changes: motte.Changes) -> None:
            if changes.insertions:
                if outer:
                    with pytest.raises(motte.errors.ReentrantError, match="has just committed and goes on"):
                        outer[0].cancel()
                with db.write() as write:
                    writes.append(write)
                    db.add(Log(count=len(changes.insertions)))
                    with pytest.raises(ZeroDivisionError), db.write():
                        db.add(Log(count=1 // 0))
        with db.objects(Row).observe(note):
            db.dispatch()
            db.import_json(Row, text=rows, commit_every=every)
            if every:
                with db.write() as write:
                    outer.append(write)
                    db.import_json(Row, text=rows.replace(": ", ": 1"), commit_every=every)
                assert not write.was_cancelled and len(db.objects(Row)) == 12
        assert [log.count for log in db.objects(Log)] == ([2] * 6 if every else [6])
        assert all(write.version is not None and not write.is_open for write in writes) and not db.in_write
        with db.write():
            db.add(Log(count=9))
        assert db.objects(Log).last().count == 9
