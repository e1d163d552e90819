"""Rows of other libraries in: Arrow, pandas, polars, DuckDB, dicts, dataclasses, pydantic models; hostile structs."""
from __future__ import annotations

import dataclasses
import random
import uuid
from collections.abc import Callable, Iterator
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
from motte import _arrow
from motte._ffi import NULL, ffi, lib
from seeds import seeded

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Home(motte.EmbeddedModel):
    city: str = ""
    floors: list[int] = motte.field(default_factory=list)


class Item(motte.Model):
    id: int = motte.field(primary_key=True)
    small: motte.Int8 = 0
    whole: Optional[int] = None
    flag: Optional[bool] = None
    single: Optional[motte.Float32] = None
    real: Optional[float] = None
    text: Optional[str] = None
    data: Optional[bytes] = None
    moment: Optional[datetime] = None
    number: Optional[Decimal] = None
    code: Optional[uuid.UUID] = None
    oid: Optional[motte.ObjectId] = None
    any: motte.Mixed = None
    friend: Optional[Item] = None
    home: Optional[Home] = None
    homes: list[Home] = motte.field(default_factory=list)
    words: list[Optional[str]] = motte.field(default_factory=list)
    chosen: set[int] = motte.field(default_factory=set)
    prices: dict[str, Optional[float]] = motte.field(default_factory=dict)


SCHEMA = [Home, Item]
_names = iter(range(1_000_000))
#: What C has pointers to.
KEPT: list[Any] = []


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"importing {next(_names)}", schema=SCHEMA) as database:
        yield database


def column(db: motte.Database, name: str) -> list[Any]:
    return db.objects(Item).column(name)


# ------------------------------------------------------------------------------------------------ round trips


def random_text(chance: random.Random) -> str:
    return "".join(chance.choice("aä€😀 \0\"x") for _ in range(chance.choice([0, 1, 5, 12, 13, 40])))


def random_item(chance: random.Random, number: int) -> Item:
    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.7 else None

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(-2 ** 55, 2 ** 55))
    return Item(
        id=number * 3, small=chance.randrange(-128, 128), whole=maybe(chance.randrange(-2 ** 63, 2 ** 63)),
        flag=maybe(chance.random() < 0.5), single=maybe(chance.randrange(1000) / 8), real=maybe(chance.random() * 1e9),
        text=maybe(random_text(chance)), data=maybe(chance.randbytes(chance.choice([0, 3, 12, 13, 100]))),
        moment=maybe(moment),
        number=maybe(Decimal(chance.randrange(-10 ** 20, 10 ** 20)).scaleb(chance.randrange(-9, 9))),
        code=maybe(uuid.UUID(int=chance.getrandbits(128))), oid=maybe(motte.ObjectId(chance.randbytes(12))),
        any=maybe(chance.choice([1, 2.5, "text", True, b"\1", [1, [2, None]], {"a": {"b": 1.0}}, moment,
                                 uuid.UUID(int=3), Decimal("1.10")])),
        home=maybe(Home(city=random_text(chance), floors=[1, 2][:chance.randrange(3)])),
        homes=[Home(city=random_text(chance)) for _ in range(chance.choice([0, 0, 1, 3]))],
        words=[maybe(random_text(chance)) for _ in range(chance.choice([0, 0, 1, 4, 300]))],
        chosen=set(chance.sample(range(50), chance.choice([0, 3]))),
        prices={f"k{key}": maybe(chance.random()) for key in range(chance.choice([0, 2]))})


def contents(db: motte.Database) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        if isinstance(value, motte.Model):
            return value.id if isinstance(value, Item) else {k: plain(v) for k, v in value.to_dict().items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value
    return [{name: plain(value) for name, value in item.to_dict().items()}
            for item in db.objects(Item).sorted("id")]


def rechunked(table: pyarrow.Table, chance: random.Random) -> pyarrow.Table:
    """The same rows in slices of other offsets and lengths, empty ones among them."""
    batches, start = [], 0
    whole = table.combine_chunks().to_batches()
    for batch in whole:
        start = 0
        while start < batch.num_rows:
            size = chance.randrange(0, 40)
            batches.append(batch.slice(start, size))
            start += size
    return pyarrow.Table.from_batches(batches, table.schema)


def widened(table: pyarrow.Table, chance: random.Random) -> pyarrow.Table:
    """The same values in other layouts of texts."""
    for name in ("text", "number", "any"):
        place = table.schema.get_field_index(name)
        metadata = table.schema.field(place).metadata
        kind = chance.choice([pyarrow.large_string(), pyarrow.string_view(), pyarrow.dictionary(
            pyarrow.int16(), pyarrow.string()), pyarrow.string()])
        values = table[name]
        values = values.dictionary_encode().cast(kind) if pyarrow.types.is_dictionary(kind) else values.cast(kind)
        table = table.set_column(place, pyarrow.field(name, kind, metadata=metadata), values)
    return table


@pytest.mark.parametrize("policy", ["error", "all", "modified"])
def test_every_type_goes_round(db: motte.Database, policy: str) -> None:
    chance = random.Random(seeded())
    for _ in range(2):
        rows = chance.choice([0, 1, 30, 150])
        with db.write():
            db.delete_all()
            for number in range(rows):
                db.add(random_item(chance, number))
            items = list(db.objects(Item))
            for item in items:
                item.friend = chance.choice([None, *items[:3]])
        before = contents(db)
        exported = rechunked(widened(db.objects(Item).to_arrow(batch_rows=chance.choice([1, 7, 1000])), chance), chance)
        with motte.open(in_memory=f"copy {next(_names)}", schema=SCHEMA) as copy:
            with copy.write():
                if policy != "error":
                    copy.add(Item(id=0, text="old", words=["old"], prices={"old": 1.0}, home=Home(city="old")))
                    for number in range(1, rows):
                        copy.add(Item(id=number * 3))
                else:
                    # Links are keys, which have to be there.
                    exported = exported.drop_columns("friend")
                    before = [{**values, "friend": None} for values in before]
                if policy != "error" and rows:
                    keys = {key: number for number, key in enumerate(db.objects(Item).keys())}
                    friends = [None if key is None else keys[key] for key in exported["friend"].to_pylist()]
                    exported = exported.set_column(
                        exported.schema.get_field_index("friend"), "friend", pyarrow.array(friends, pyarrow.int64()))
                counts = copy.import_data(Item, exported, policy=policy)
            assert counts == ((rows, 0) if policy == "error" else (0, rows))
            after = contents(copy)
            for old, new in zip(before, after):
                assert {name: (old[name], new[name]) for name in old if old[name] != new[name]} == {}
            copy.verify()


def test_results_of_one_database_into_another(db: motte.Database) -> None:
    chance = random.Random(seeded())
    with db.write():
        db.add_all([random_item(chance, number) for number in range(50)])
    with motte.open(in_memory=f"copy {next(_names)}", schema=SCHEMA) as copy:
        assert copy.import_data(Item, db.objects(Item)) == (50, 0)
        assert contents(copy) == contents(db)


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
    ("any", [1, None], pyarrow.int32(), [1, None]),
    ("any", ["[1]", None], pyarrow.string(), ["[1]", None]),
    ("any", [1.5, None], pyarrow.float32(), [1.5, None]),
])
def test_types_of_arrow(db: motte.Database, name: str, values: Any, type_: Any, wanted: list[Any]) -> None:
    assert db.import_data(Item, one(values, type_).rename_columns(["id", name])) == (len(wanted), 0)
    assert column(db, name) == wanted


@pytest.mark.parametrize("name, values, type_, error, message", [
    ("whole", [1, 2 ** 64 - 1], pyarrow.uint64(), motte.errors.NumberOverflowError, "row 1.*whole"),
    ("whole", [1.0, 1.5], pyarrow.float64(), motte.errors.WrongTypeError, "row 1.*'whole'.*1.5"),
    ("small", [1, 2, 300], pyarrow.int64(), motte.errors.NumberOverflowError, "row 2.*small.*300"),
    ("small", [None], pyarrow.int64(), motte.errors.NullNotAllowedError, "small"),
    ("text", [1], pyarrow.int64(), motte.errors.WrongTypeError, "'text'.*int64"),
    ("whole", ["1"], pyarrow.string(), motte.errors.WrongTypeError, "'whole'.*utf8"),
    ("moment", [timedelta(1)], pyarrow.duration("us"), motte.errors.WrongTypeError, "'moment'.*tDu"),
    ("code", ["no"], pyarrow.string(), motte.errors.WrongTypeError, "row 0.*'code'.*'no'"),
    ("code", [b"abc"], pyarrow.binary(), motte.errors.WrongTypeError, "'code'.*3 bytes"),
    ("single", [1e300], pyarrow.float64(), motte.errors.NumberOverflowError, "'single'"),
    ("friend", [77], pyarrow.int64(), motte.errors.Error, "."),
    ("words", ["x"], pyarrow.string(), motte.errors.WrongTypeError, "'words' is a list"),
    ("home", [[1]], None, motte.errors.WrongTypeError, "Home"),
])
def test_what_does_not_fit_names_column_and_row(
    db: motte.Database, name: str, values: Any, type_: Any, error: Any, message: str,
) -> None:
    with pytest.raises(error, match=message):
        db.import_data(Item, one(values, type_).rename_columns(["id", name]))
    assert db.count(Item) == 0


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


def test_a_row_far_in_names_its_number(db: motte.Database) -> None:
    rows = ({"id": number, "text": "x" if number < 15_000 else 5} for number in range(15_001))
    with pytest.raises(motte.errors.WrongTypeError) as caught:
        db.import_data(Item, rows)
    assert caught.value.row_index == 15_000 and db.count(Item) == 0


# ------------------------------------------------------------------------------------------------ streams that fail


def test_a_stream_that_fails_undoes_everything(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        raise RuntimeError("the network is gone")

    with db.write():
        with pytest.raises(motte.errors.Error, match="the network is gone"):
            db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches()))
        assert db.count(Item) == 0
    with pytest.raises(motte.errors.Error, match="capsule"):
        db.import_data(Item, NotAStream())


class NotAStream:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return "no capsule"


def test_one_batch(db: motte.Database) -> None:
    class Single:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pyarrow.record_batch({"id": [1, 2]}).slice(1).__arrow_c_array__()

    assert db.import_data(Item, Single()) == (1, 0)
    assert column(db, "id") == [2]


def test_a_stream_that_ends_the_write(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        db._realm.cancel()
        yield pyarrow.record_batch([pyarrow.array([3, 4])], schema=schema)

    with pytest.raises(motte.errors.Error):
        db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches()))
    assert not db.in_write and db.count(Item) == 0


# ------------------------------------------------------------------------------------------------ hostile structs


class Hostile:
    """A batch of columns id (int64), text (utf8) and view (utf8_view), with something changed in its structs."""

    def __init__(self, change: Callable[[Any, Any], None], texts: Any = None) -> None:
        self.change, self.texts = change, texts

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        texts = self.texts if self.texts is not None else pyarrow.array(["a", None, "c"])
        batch = pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([1, 2, 3]), texts, pyarrow.array([["x"], [], ["y", "z"]])], names=["id", "text", "words"])
        schema, array = batch.__arrow_c_array__()
        content, data = _arrow._content(0, schema), _arrow._content(1, array)
        self.mended("struct ArrowSchema", content, [content.children[index] for index in range(3)])
        self.mended("struct ArrowArray", data, [data.children[index] for index in range(3)])
        self.change(content, data)
        return schema, array

    def mended(self, kind: str, whole: Any, children: list[Any]) -> None:
        """What pyarrow made is released by pyarrow as it was."""
        size, original = ffi.sizeof(kind), whole.release
        before = [bytes(ffi.buffer(each, size)) for each in (whole, *children)]

        @ffi.callback(f"void({kind} *)")  # type: ignore[untyped-decorator,unused-ignore]
        def release(place: Any) -> None:
            for each, content in zip((place, *children), before):
                ffi.memmove(each, content, size)
            original(place)

        KEPT.append(release)
        whole.release = release


def set_buffer(column: int, buffer: int, value: Any) -> Callable[[Any, Any], None]:
    def change(schema: Any, array: Any) -> None:
        array.children[column].buffers[buffer] = value
    return change


def set_field(path: str, value: Any) -> Callable[[Any, Any], None]:
    def change(schema: Any, array: Any) -> None:
        whole = {"schema": schema, "array": array, "id": array.children[0], "text": array.children[1],
                 "words": array.children[2], "id_schema": schema.children[0]}
        owner, name = path.split(".")
        setattr(whole[owner], name, value)
    return change


def ints(kind: str, *values: int) -> Any:
    KEPT.append(ffi.new(f"{kind}[]", list(values)))
    return ffi.cast("void *", KEPT[-1])


def text_format(text: bytes) -> Any:
    KEPT.append(ffi.new("char[]", text))
    return KEPT[-1]


@pytest.mark.parametrize("change", [
    set_field("array.length", -1), set_field("array.length", 1 << 62), set_field("array.length", 4),
    set_field("array.offset", -1), set_field("array.offset", (1 << 63) - 1), set_field("array.n_children", 2),
    set_field("array.n_children", -1), set_field("id.length", 2), set_field("id.length", -5),
    set_field("id.n_buffers", 1), set_field("id.n_buffers", 1 << 40), set_field("id.null_count", 99),
    set_field("id.null_count", -7), set_field("text.n_buffers", 2), set_field("text.n_buffers", -1),
    set_field("words.n_children", 0), set_buffer(0, 1, NULL), set_buffer(1, 1, NULL), set_buffer(1, 2, NULL),
    set_buffer(2, 1, NULL), set_buffer(1, 0, NULL),
    set_buffer(1, 1, ints("int32_t", 0, -5, 2, 3)), set_buffer(1, 1, ints("int32_t", 2, 1, 0, 3)),
    set_buffer(2, 1, ints("int32_t", 0, 1, 1, 900)), set_buffer(2, 1, ints("int32_t", -3, 1, 1, 2)),
    set_buffer(1, 2, ints("uint8_t", 0xFF, 0xFE, 0xFD)),
    set_field("array.release", NULL), set_field("schema.release", NULL), set_field("id.release", NULL),
    set_field("schema.n_children", 1 << 40), set_field("schema.children", NULL), set_field("schema.format", NULL),
    set_field("schema.format", text_format(b"l")), set_field("id_schema.format", text_format(b"w:-3")),
    set_field("id_schema.format", text_format(b"d:1")), set_field("id_schema.format", text_format(b"+s")),
    set_field("id_schema.format", text_format(b"")), set_field("id_schema.format", text_format(b"\xff\xfe")),
    set_field("id_schema.format", text_format(b"+r")), set_field("id_schema.n_children", 3),
    set_field("array.buffers", NULL),
])
def test_hostile_structs_are_refused(db: motte.Database, change: Callable[[Any, Any], None]) -> None:
    with pytest.raises(motte.errors.Error):
        db.import_data(Item, Hostile(change))
    assert db.count(Item) == 0 and not db.in_write


@pytest.mark.parametrize("views", [
    (-1, 0, 0, 0), (40, 0, 7, 0), (40, 0, -1, 0), (40, 0, 0, 1 << 30), (40, 0, 0, -4), (1 << 30, 0, 0, 0)])
def test_hostile_views_are_refused(db: motte.Database, views: tuple[int, ...]) -> None:
    texts = pyarrow.array(["short", "a text of more than twelve bytes", "x"], pyarrow.string_view())
    content = ints("int32_t", *views, *views, *views)
    with pytest.raises(motte.errors.Error, match="text"):
        db.import_data(Item, Hostile(set_buffer(1, 1, content), texts))
    assert db.count(Item) == 0


def test_codes_outside_of_a_dictionary_are_refused(db: motte.Database) -> None:
    texts = pyarrow.array(["a", "b", "a"]).dictionary_encode()
    for codes in ((0, 1, 2), (0, -1, 1)):
        with pytest.raises(motte.errors.Error, match="dictionary"):
            db.import_data(Item, Hostile(set_buffer(1, 1, ints("int32_t", *codes)), texts))
    assert db.count(Item) == 0 and lib.motte_handle_count(lib.MOTTE_HANDLE_INSERT) == 0
