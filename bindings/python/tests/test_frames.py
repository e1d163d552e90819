"""Columns out: Arrow, pandas, polars, NumPy, DuckDB."""
from __future__ import annotations

import gc
import random
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import motte
from columns_model import Values
from motte import _arrow, _handles
from motte._ffi import NULL, ffi
from seeds import seeded

UTC = timezone.utc


class Maker(motte.Model):
    name: str
    founded: Optional[datetime] = None
    home: Optional[Maker] = None


class Part(motte.EmbeddedModel):
    label: str = ""
    weight: Optional[float] = None
    marks: list[int] = motte.field(default_factory=list)


class Thing(Values):
    short: motte.Int16 = 0
    middle: motte.Int32 = 0
    flag: bool = False
    single: motte.Float32 = 0.0
    origin: Optional[Maker] = None
    part: Optional[Part] = None
    parts: list[Part] = motte.field(default_factory=list)
    prices: dict[str, float] = motte.field(default_factory=dict)
    makers: list[Maker] = motte.field(default_factory=list)


SCHEMA = [Maker, Part, Thing]


@pytest.fixture
def things() -> Any:
    with motte.open(in_memory="frames frames", schema=SCHEMA) as db:
        with db.write():
            acme = db.add(Maker(name="Acme", founded=datetime(1949, 1, 2, tzinfo=UTC)))
            other = db.add(Maker(name="Önly", home=acme))
            db.add(Thing(
                id=1, small=-7, short=300, middle=-70_000, flag=True, single=1.5, real=2.25, text="straße",
                data=b"\0\1", moment=datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), number=Decimal("1.50"),
                code=uuid.UUID(int=5), oid=motte.ObjectId(bytes(range(12))), any=[1, {"a": 2.5}], origin=acme,
                part=Part(label="p", weight=0.5, marks=[1, 2]), parts=[Part(label="a"), Part(label="b", marks=[3])],
                words=["x", None, "a longer text than twelve"], chosen={3, 1}, prices={"b": 2.0, "a": 1.0},
                makers=[acme, other]))
            db.add(Thing(id=2, origin=other, any="text"))
            db.add(Thing(id=3))
        yield db.objects(Thing)
    gc.collect()


def test_every_type_to_arrow(things: Any) -> None:
    table = things.to_arrow()
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "id": "int64", "small": "int8", "short": "int16", "middle": "int32", "flag": "bool", "single": "float",
        "real": "double", "text": "string", "data": "binary", "moment": "timestamp[us, tz=UTC]", "number": "string",
        "code": "extension<arrow.uuid>", "oid": "fixed_size_binary[12]", "any": "string", "origin": "int64",
        "part": "struct<label: string not null, weight: double, marks: list<item: int64 not null> not null>",
        "parts": "list<item: struct<label: string not null, weight: double, marks: list<item: int64 not null> "
                 "not null>>",
        "words": "list<item: string>", "chosen": "list<item: int64 not null>", "prices": "map<string, double>",
        "makers": "list<item: int64>"}
    first, second, third = table.to_pylist()
    assert first == {
        "id": 1, "small": -7, "short": 300, "middle": -70_000, "flag": True, "single": 1.5, "real": 2.25,
        "text": "straße", "data": b"\0\1", "moment": datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC),
        "number": "1.50", "code": uuid.UUID(int=5), "oid": bytes(range(12)), "any": '[1,{"a":2.5}]', "origin": 0,
        "part": {"label": "p", "weight": 0.5, "marks": [1, 2]},
        "parts": [{"label": "a", "weight": None, "marks": []}, {"label": "b", "weight": None, "marks": [3]}],
        "words": ["x", None, "a longer text than twelve"], "chosen": [1, 3], "prices": [("a", 1.0), ("b", 2.0)],
        "makers": [0, 1]}
    assert second["any"] == '"text"' and second["origin"] == 1
    assert third["text"] is None and third["part"] is None and third["parts"] == [] and third["origin"] is None
    table.validate(full=True)
    assert table.schema.field("origin").metadata == {b"motte:type": b"link:Maker"}


def test_chosen_columns_and_paths_with_null_links(things: Any) -> None:
    table = things.to_arrow("id", Thing.origin.name, "origin.home.name", "origin.founded", unit="s")
    assert table.to_pydict() == {
        "id": [1, 2, 3], "origin.name": ["Acme", "Önly", None], "origin.home.name": [None, "Acme", None],
        "origin.founded": [datetime(1949, 1, 2, tzinfo=UTC), None, None]}
    assert str(table.schema.field("origin.founded").type) == "timestamp[s, tz=UTC]"
    assert things.where("id > 1").sorted("-id").to_arrow("id")["id"].to_pylist() == [3, 2]
    with pytest.raises(motte.errors.UnknownPropertyError, match="nme"):
        things.to_arrow("origin.nme")
    with pytest.raises(motte.errors.WrongTypeError, match="words"):
        things.to_arrow("words.name")
    with pytest.raises(motte.errors.InvalidArgumentError, match="unit"):
        things.to_arrow("id", unit="days")
    with pytest.raises(motte.errors.InvalidArgumentError, match="batch_rows"):
        things.to_arrow("id", batch_rows=0)


def test_collections_of_values_and_of_objects(things: Any) -> None:
    first = things[0]
    assert first.words.to_arrow().to_pydict() == {"value": ["x", None, "a longer text than twelve"]}
    assert sorted(first.chosen.to_arrow()["value"].to_pylist()) == [1, 3]
    assert first.makers.to_arrow("name")["name"].to_pylist() == ["Acme", "Önly"]
    assert first.words.sorted().to_arrow()["value"].to_pylist()[0] is None
    assert [section.to_arrow("id").num_rows for section in things.sectioned("flag")] == [1, 2]
    with pytest.raises(motte.errors.WrongTypeError, match="only objects have columns"):
        first.words.to_arrow("name")


def test_names_that_the_file_has_otherwise() -> None:
    class Named(motte.Model):
        id: int = motte.field(primary_key=True, stored_name="key")
        text: str = motte.field(default="", stored_name="content")
        next: Optional[Named] = motte.field(default=None, stored_name="successor")

    with motte.open(in_memory="frames named", schema=[Named]) as db:
        with db.write():
            first = db.add(Named(id=1, text="a"))
            db.add(Named(id=2, text="b", next=first))
        found = db.objects(Named)
        assert sorted(found.to_arrow().column_names) == ["id", "next", "text"]
        assert found.to_arrow("text", Named.next.text).to_pydict() == {"text": ["a", "b"], "next.text": [None, "a"]}
        assert sorted(found.to_polars().columns) == sorted(found.to_pandas().columns) == ["id", "next", "text"]
        assert found.to_numpy("next.text").tolist() == [None, "a"]
        assert found.to_numpy("id", "text")["text"].tolist() == ["a", "b"]
        db.import_data(Named, pyarrow.table({"id": [3], "text": ["c"]}))
        db.import_data(Named, pandas.DataFrame({"id": [4], "text": ["d"]}))
        db.import_data(Named, [{"id": 5, "text": "e"}])
        assert found.column("text") == ["a", "b", "c", "d", "e"]
        with motte.open(in_memory="frames named too", schema=[Named]) as other:
            assert other.import_data(Named, found.where("id > 2")) == (3, 0)


def test_a_cycle_of_embedded_objects_is_named() -> None:
    class Node(motte.EmbeddedModel):
        below: list[Node] = motte.field(default_factory=list)

    class Tree(motte.Model):
        name: str
        root: Optional[Node] = None

    with motte.open(in_memory="frames tree", schema=[Node, Tree]) as db:
        with db.write():
            db.add(Tree(name="oak"))
        with pytest.raises(motte.errors.UnsupportedError, match="below"):
            db.objects(Tree).to_arrow()
        assert db.objects(Tree).to_arrow("name").num_rows == 1


def test_polars_and_pandas(things: Any) -> None:
    frame = things.to_polars("id", "text", "moment", "origin.name", "words")
    assert frame.rows()[0] == (1, "straße", datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), "Acme",
                               ["x", None, "a longer text than twelve"])
    assert frame.schema["moment"] == polars.Datetime("us", "UTC")
    pandas_frame = things.to_pandas("id", "text", "real", "moment", "origin.name")
    assert list(pandas_frame.columns) == ["id", "text", "real", "moment", "origin.name"]
    assert pandas_frame["id"].tolist() == [1, 2, 3] and pandas_frame["real"].isna().tolist() == [False, True, True]
    assert str(pandas_frame["moment"].dtype) == "datetime64[us, UTC]"
    assert polars.DataFrame(things.arrow("id")).shape == (3, 1)


def test_duckdb_queries_results(things: Any) -> None:
    thirds = things  # noqa: F841 - found by its name
    assert duckdb.sql("SELECT count(*), sum(id) FROM thirds WHERE text IS NULL").fetchall() == [(2, 5)]
    chosen = things.arrow("id", "origin.name")  # noqa: F841
    assert duckdb.sql('SELECT "origin.name" FROM chosen ORDER BY id').fetchall() == [("Acme",), ("Önly",), (None,)]


def test_a_stream_is_asked_for_on_another_thread_than_its_schema(things: Any) -> None:
    with pytest.raises(motte.errors.WrongThreadError):
        _elsewhere(things.__arrow_c_stream__)
    things.__arrow_c_schema__()
    with things._database.write():
        things._database.add(Thing(id=4))
    assert _elsewhere(lambda: pyarrow.table(things)).num_rows == 3
    peer = duckdb.connect()
    peer.register("kept", things)
    for _ in range(2):
        assert peer.execute("SELECT sum(id) FROM kept").fetchall() == [(10,)]
    peer.close()


def _elsewhere(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def test_numpy_of_several_columns_and_paths(things: Any) -> None:
    arrays = things.to_numpy("id", "real", "origin.name")
    assert list(arrays) == ["id", "real", "origin.name"]
    assert arrays["id"].tolist() == [1, 2, 3] and arrays["real"].tolist() == [2.25, None, None]
    assert arrays["origin.name"].tolist() == ["Acme", "Önly", None]
    assert things.to_numpy("origin.home").tolist() == [-1, 0, -1]
    assert things.to_numpy("origin.founded", null=numpy.datetime64("NaT")).dtype == "datetime64[us]"
    assert things.to_numpy("origin.name", null="?").tolist() == ["Acme", "Önly", "?"]
    assert things.to_numpy("id").dtype == "int64" and things.where("id > 9").to_numpy("origin.name").shape == (0,)
    with pytest.raises(motte.errors.WrongTypeError, match="words"):
        things.to_numpy("words.x")
    with pytest.raises(motte.errors.WrongTypeError, match="no single link"):
        things.to_numpy("makers.name")


def test_texts_of_every_length_and_form_as_views() -> None:
    class Note(motte.Model):
        text: Optional[str] = None
        few: str = ""

    texts = [None if number % 7 == 3 else "ä" * (number % 23) + str(number) for number in range(5_000)]
    with motte.open(in_memory="frames views", schema=[Note]) as db:
        with db.write():
            db.insert_columns(Note, {"text": texts, "few": [f"kind {number % 5}" for number in range(5_000)]})
            db.add(Note(text="long" * 10_000))
        for rows in (None, 1, 7, 999):
            frame = db.objects(Note).to_polars() if rows is None else polars.DataFrame(
                _arrow.Stream(db.objects(Note)._coll, _arrow.Options(views=True, batch_rows=rows), db))
            assert frame["text"].to_list() == [*texts, "long" * 10_000]
            assert frame["few"].to_list() == [f"kind {number % 5}" for number in range(5_000)] + [""]
        scattered = db.objects(Note).where("few == 'kind 3'")
        assert scattered.to_polars()["text"].to_list() == scattered.to_arrow()["text"].to_pylist() == texts[3::5]


def test_rows_in_any_order_are_those_of_the_objects() -> None:
    chance = random.Random(seeded())
    with motte.open(in_memory="frames order", schema=SCHEMA) as db:
        with db.write():
            makers = [db.add(Maker(name=f"maker {number}")) for number in range(40)]
            for number in range(1_500):
                db.add(Thing(
                    id=number, small=number % 100, middle=number, flag=chance.random() < 0.5, single=number / 4,
                    real=chance.choice([None, chance.random()]), text=chance.choice([None, "ä" * (number % 30)]),
                    data=bytes([number % 7] * (number % 5)), code=uuid.UUID(int=chance.getrandbits(128)),
                    oid=motte.ObjectId(chance.randbytes(12)), number=Decimal(number), origin=chance.choice(makers),
                    words=[str(number)] * (number % 3), moment=datetime(2000, 1, 1, tzinfo=UTC) + timedelta(number)))
            db.delete(db.objects(Thing).where("small == 7"))
        shuffled = db.objects(Thing).sorted("code")
        wanted = {row["id"]: row for row in db.objects(Thing).to_arrow().to_pylist()}
        for rows in (None, 300):
            found = shuffled.to_arrow(batch_rows=rows)
            found.validate(full=True)
            assert found.to_pylist() == [wanted[thing.id] for thing in shuffled]
        assert shuffled.to_polars("text")["text"].to_list() == [wanted[thing.id]["text"] for thing in shuffled]
        names = shuffled.to_arrow("origin.name", "id").to_pylist()
        assert [row["origin.name"] for row in names] == [thing.origin.name for thing in shuffled]


def test_a_stream_shows_what_there_was_when_it_began(tmp_path: Path) -> None:
    db = motte.open(tmp_path / "stream.motte", schema=SCHEMA)
    with db.write():
        db.import_data(Maker, {"name": [f"maker {number}" for number in range(1_000)]})
    reader = db.objects(Maker).to_batches("name", batch_rows=100)
    first = reader.read_next_batch()
    with db.write():
        db.delete(db.objects(Maker).where("name ENDSWITH '5'"))
    db.refresh()
    db.close()
    rest: list[Any] = []
    thread = threading.Thread(target=lambda: rest.extend(reader))
    thread.start()
    thread.join()
    names = [name for batch in [first, *rest] for name in batch["name"].to_pylist()]
    assert names == [f"maker {number}" for number in range(1_000)] and len(rest) == 9


def test_a_stream_holds_one_batch_in_memory(tmp_path: Path) -> None:
    program = f"""
import motte
class Note(motte.Model):
    text: str
db = motte.open({str(tmp_path / "large.motte")!r}, schema=[Note])
for number in range(10):
    db.import_data(Note, {{"text": [f"{{number * 10_000 + row:0800}}" for row in range(10_000)]}})
db.close()
db = motte.open({str(tmp_path / "large.motte")!r}, schema=[Note])
# Pages that were read stay in memory, as for every reader.
db.objects(Note).where("text == ''").to_arrow()
reader = db.objects(Note).to_batches(batch_rows=1_000)
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) // 1024
before, most, rows = anonymous(), 0, 0
for batch in reader:
    rows, most = rows + batch.num_rows, max(most, anonymous())
print(rows, most - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 100_000 and megabytes < 25, "80 MB went through"


def test_batches_of_long_texts_have_fewer_rows() -> None:
    class Page(motte.Model):
        number: int
        text: Optional[str] = None
        texts: list[Optional[str]] = motte.field(default_factory=list)

    texts = ["a" * 15_000_000, None, *[chr(98 + number) * 15_000_000 for number in range(10)]]
    with motte.open(in_memory="frames long", schema=[Page]) as db:
        with db.write():
            db.add_all([Page(number=number, text=text) for number, text in enumerate(texts)])
        for found in (db.objects(Page), db.objects(Page).where("number != 3")):
            batches = list(found.to_batches("number", "text"))
            assert len(batches) > 1 and all(batch["text"].nbytes <= 1 << 27 for batch in batches), "128 MB a column"
            for batch in batches:
                batch.validate(full=True)
                for row in batch.to_pylist():
                    assert row["text"] == texts[row["number"]]
            assert sum(batch.num_rows for batch in batches) == len(found)
        assert db.objects(Page).to_polars("text")["text"].to_list() == texts
        with db.write():
            db.objects(Page)[3].texts.extend(texts)
        # A single row takes what it takes.
        lists = db.objects(Page).to_arrow("texts")
        lists.validate(full=True)
        assert [len(each) for each in lists["texts"]] == [0, 0, 0, 12, *[0] * 8]
        assert lists["texts"][3].as_py() == texts
        batches = list(db.objects(Page)[3].texts.to_batches())
        assert len(batches) > 1 and [text for batch in batches for text in batch["value"].to_pylist()] == texts
        by_five = db.objects(Page)[3].texts.to_batches(batch_rows=5)
        assert [batch.num_rows for batch in by_five] == [5, 5, 2]


def test_streams_released_again_and_read_afterwards(tmp_path: Path) -> None:
    db = motte.open(tmp_path / "late.motte", schema=SCHEMA)
    db.import_data(Maker, {"name": [f"maker {number}" for number in range(1_000)]})
    before = _handles.live_handles()
    capsule = db.objects(Maker).arrow("name", batch_rows=300).__arrow_c_stream__()
    stream, schema, array = (_arrow._content(_arrow._STREAM, capsule), ffi.new("struct ArrowSchema *"),
                             ffi.new("struct ArrowArray *"))
    assert stream.get_schema(stream, schema) == 0 and stream.get_next(stream, array) == 0
    release, next_, data = stream.release, stream.get_next, array.release
    db.close()
    _elsewhere(lambda: release(stream))
    assert stream.release == NULL and stream.private_data == NULL
    release(stream)
    assert next_(stream, ffi.new("struct ArrowArray *")) != 0 and stream.get_last_error(stream) == NULL
    # What was handed out does not belong to the stream.
    assert array.length == 300 and ffi.string(schema.children[0].name) == b"name"
    data(array)
    data(array)
    schema.release(schema)
    assert array.release == NULL and schema.release == NULL
    del capsule
    gc.collect()
    assert _handles.live_handles() <= before


def test_in_a_write_its_changes_are_shown(things: Any) -> None:
    db = things._database
    with db.write():
        db.add(Thing(id=4, words=["new"], prices={"n": 1.0}))
        things[0].words.append("more")
        reader = things.to_batches("id", "words", "prices")
        things[0].words.append("later")
        rows = reader.read_all().to_pylist()
    assert rows[0]["words"][-1] == "more" and rows[3] == {"id": 4, "words": ["new"], "prices": [("n", 1.0)]}


def test_large_lists_and_maps(tmp_path: Path) -> None:
    class Big(motte.Model):
        numbers: list[int] = motte.field(default_factory=list)
        names: dict[str, int] = motte.field(default_factory=dict)

    with motte.open(tmp_path / "big.motte", schema=[Big]) as db:
        with db.write():
            for size in (0, 3, 5_000, 1):
                db.add(Big(numbers=list(range(size)), names={f"k{number:05}": number for number in range(size)}))
        table = db.objects(Big).to_arrow()
        table.validate(full=True)
        assert [len(each) for each in table["numbers"].to_pylist()] == [0, 3, 5_000, 1]
        assert table["names"].to_pylist()[2][-1] == ("k04999", 4_999)


def test_empty_and_deleted() -> None:
    with motte.open(in_memory="frames empty", schema=SCHEMA) as db:
        assert db.objects(Thing).to_arrow().num_rows == 0
        assert db.objects(Thing).to_polars().shape == (0, 21)
        with db.write():
            db.import_data(Maker, {"name": [str(number) for number in range(3_000)]})
        with db.write():
            db.delete(db.objects(Maker).where("name ENDSWITH '3'"))
        assert db.objects(Maker).to_arrow("name")["name"].to_pylist() == [
            str(number) for number in range(3_000) if number % 10 != 3]
        kept = db.objects(Maker).snapshot()
        with db.write():
            db.delete(db.objects(Maker)[0])
        with pytest.raises(Exception, match="deleted"):
            kept.to_arrow("name")


def test_a_time_too_far_for_its_unit_names_the_column() -> None:
    with motte.open(in_memory="frames far", schema=SCHEMA) as db:
        with db.write():
            db.add(Maker(name="old", founded=datetime(1, 1, 1, tzinfo=UTC)))
        with pytest.raises(Exception, match="'founded'.*coarser"):
            db.objects(Maker).to_arrow("founded", unit="ns")
        with pytest.raises(motte.errors.NumberOverflowError, match="coarser"):
            list(_arrow.batches(db.objects(Maker)._coll, _arrow.Options(["founded"], unit="ns")))


def test_a_time_too_far_is_named_by_its_row_in_any_order() -> None:
    with motte.open(in_memory="frames far order", schema=SCHEMA) as db:
        with db.write():
            for number in range(1_000):
                db.add(Maker(name=f"{number * 7 % 1_000:03}", founded=datetime(2000, 1, 1, tzinfo=UTC)))
            db.objects(Maker).where("name == '417'")[0].founded = datetime(1, 1, 1, tzinfo=UTC)
        by_name = db.objects(Maker).sorted("name")
        with pytest.raises(Exception, match="'founded' of row 417 of its batch"):
            by_name.to_arrow("founded", unit="ns")
        assert by_name.to_arrow("name")["name"].to_pylist() == [f"{number:03}" for number in range(1_000)]


def test_what_nobody_takes_is_given_up(things: Any) -> None:
    things.__arrow_c_schema__()
    before = _handles.live_handles()
    for _ in range(100):
        capsule = things.__arrow_c_stream__()
        schema = things.__arrow_c_schema__()
        del capsule, schema
    assert _handles.live_handles() == before
    assert pyarrow.schema(things).names[:2] == ["id", "small"]


def test_streams_at_the_end_of_the_interpreter(tmp_path: Path) -> None:
    program = f"""
import threading, motte
class Note(motte.Model):
    text: str
db = motte.open({str(tmp_path / "end.motte")!r}, schema=[Note])
db.import_data(Note, {{"text": ["a" * 50] * 10_000}})
capsule = db.objects(Note).__arrow_c_stream__()
import pyarrow
reader = db.objects(Note).to_batches(batch_rows=100)
batch = reader.read_next_batch()
held = [capsule, reader, batch]
held.append(held)
threading.Thread(target=lambda: held.append(reader.read_next_batch())).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars", "numpy"])
def test_a_library_that_is_missing_is_named(things: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    call: Callable[[], Any] = {"pyarrow": things.to_arrow, "pandas": things.to_pandas, "polars": things.to_polars,
                               "numpy": lambda: things.to_numpy("id")}[package]
    with pytest.raises(ImportError, match=f"(?i)needs {package}.*pip install"):
        call()


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    program = ("import sys, motte; print([name for name in ('pyarrow', 'pandas', 'polars', 'numpy', 'duckdb', "
               "'ctypes') if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_times_before_1970_round_down(things: Any) -> None:
    moment = things.to_arrow("moment", unit="s")["moment"]
    assert moment.to_pylist()[0] == datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert things.to_arrow("moment", unit="ms")["moment"].to_pylist()[0] == epoch - timedelta(milliseconds=500)
