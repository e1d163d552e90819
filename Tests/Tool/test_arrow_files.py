"""Arrow files and streams of the command: what they hold is what Python's to_arrow() hands over."""
from __future__ import annotations

import os
import pathlib
import random
import subprocess
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Optional

import polars
import pyarrow
import pytest
from pyarrow import ipc

import motte as library
from test_tool import TOOL, motte

UTC = timezone.utc


class Maker(library.Model):
    id: int = library.field(primary_key=True)
    name: str = ""
    home: Optional[Maker] = None


class Part(library.EmbeddedModel):
    label: str = ""
    weight: Optional[float] = None
    marks: list[int] = library.field(default_factory=list)


class Thing(library.Model):
    id: int = library.field(primary_key=True)
    small: library.Int8 = 0
    short: library.Int16 = 0
    middle: library.Int32 = 0
    flag: Optional[bool] = None
    single: library.Float32 = 0.0
    real: Optional[float] = None
    text: Optional[str] = None
    data: Optional[bytes] = None
    moment: Optional[datetime] = None
    number: Optional[Decimal] = None
    code: Optional[uuid.UUID] = None
    oid: Optional[library.ObjectId] = None
    any: library.Mixed = None
    maker: Optional[Maker] = None
    part: Optional[Part] = None
    parts: list[Part] = library.field(default_factory=list)
    words: list[Optional[str]] = library.field(default_factory=list)
    chosen: set[int] = library.field(default_factory=set)
    prices: dict[str, float] = library.field(default_factory=dict)


class Node(library.EmbeddedModel):
    below: list[Node] = library.field(default_factory=list)


class Tree(library.Model):
    id: int = library.field(primary_key=True)
    root: Optional[Node] = None


@pytest.fixture
def database(tmp_path: pathlib.Path) -> Iterator[library.Database]:
    """Of 500 things: every type, with nulls."""
    seed = int(os.environ.get("MOTTE_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"MOTTE_TEST_SEED={seed}")
    chance = random.Random(seed)

    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.7 else None

    with library.open(tmp_path / "things.motte", schema=[Maker, Part, Thing, Node, Tree]) as db:
        with db.write():
            makers = [db.add(Maker(id=100 + number, name=f"maker {number}")) for number in range(5)]
            makers[1].home = makers[0]
            for number in range(500):
                db.add(Thing(
                    id=number, small=number % 128, short=-number, middle=number * 1_000, flag=maybe(number % 3 == 0),
                    single=number / 8, real=maybe(number / 3), text=maybe("ä" * (number % 20)),
                    data=maybe(chance.randbytes(number % 15)), number=maybe(Decimal(number).scaleb(-2)),
                    moment=maybe(datetime(2999, 1, 1, tzinfo=UTC) - timedelta(days=number, microseconds=number)),
                    code=maybe(uuid.UUID(int=number)), oid=maybe(library.ObjectId(chance.randbytes(12))),
                    any=maybe([number, {"a": 0.5}]), maker=maybe(chance.choice(makers)),
                    part=maybe(Part(label=str(number), marks=[number])),
                    parts=[Part(label=str(each)) for each in range(number % 3)],
                    words=[maybe("x"), "a longer text than twelve"][:number % 3], chosen=set(range(number % 4)),
                    prices={f"k{key}": 0.25 for key in range(number % 3)}))
        yield db


def of_file(path: pathlib.Path) -> pyarrow.Table:
    table = ipc.open_file(str(path)).read_all()
    table.validate(full=True)
    return table


def of_stream(*arguments: object) -> pyarrow.Table:
    done = subprocess.run([str(TOOL), *map(str, arguments), "--format", "arrows"], capture_output=True, timeout=60,
                          check=True)
    table = ipc.open_stream(done.stdout).read_all()
    table.validate(full=True)
    return table


def expect_same(found: pyarrow.Table, wanted: pyarrow.Table) -> None:
    assert found.schema.equals(wanted.schema, check_metadata=True), f"{found.schema}\n---\n{wanted.schema}"
    assert found.equals(wanted)


def test_every_type_as_python_hands_it_over(database: library.Database, tmp_path: pathlib.Path) -> None:
    file, output = tmp_path / "things.motte", tmp_path / "things.arrow"
    motte("export", file, "Thing", "--format", "arrow", "--output", output)
    expect_same(of_file(output), database.objects(Thing).to_arrow())
    expect_same(of_stream("export", file, "Thing"), database.objects(Thing).to_arrow())
    again = tmp_path / "again.arrow"
    motte("export", file, "Thing", "--format", "arrow", "--output", again)
    assert again.read_bytes() == output.read_bytes(), "bytes that nobody has set"


def test_chosen_columns_rows_and_order(database: library.Database, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "things.motte"
    names = ["text", "maker.name", "maker.home.id", "maker", "flag", "id"]
    query = ["real > 20 SORT(text ASC, id DESC)", "--columns", ",".join(names)]
    wanted = database.objects(Thing).where("real > 20").sorted("text", "-id").to_arrow(*names)
    expect_same(of_stream("query", file, "Thing", *query, "--limit", "0"), wanted)
    expect_same(of_stream("query", file, "Thing", *query, "--limit", "7"), wanted.slice(0, 7).combine_chunks())
    expect_same(of_stream("export", file, "Thing", "--where", query[0], *query[1:]), wanted)
    none = of_stream("query", file, "Thing", "id < 0", "--columns", ",".join(names))
    expect_same(none, wanted.slice(0, 0))
    # Without names, a query prints all stored properties.
    assert of_stream("query", file, "Thing").column_names == [
        "id", "small", "short", "middle", "flag", "single", "real", "text", "data", "moment", "number", "code", "oid",
        "any", "maker", "part", "parts", "words", "chosen", "prices"]


def test_several_batches(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rows.csv").write_text("id,text\n" + "".join(f"{n},t{n}\n" for n in range(140_000)))
    motte("import", tmp_path / "rows.motte", "Row", tmp_path / "rows.csv", "--key", "id")
    motte("export", tmp_path / "rows.motte", "Row", "--format", "arrow", "--output", tmp_path / "rows.arrow")
    reader = ipc.open_file(str(tmp_path / "rows.arrow"))
    assert reader.num_record_batches == 2
    table = reader.read_all()
    assert table.column("id").to_pylist() == list(range(140_000))
    assert table.column("text").to_pylist()[-1] == "t139999"
    assert polars.read_ipc(str(tmp_path / "rows.arrow"))["text"][139_999] == "t139999"


def test_what_has_no_arrow_type_is_said(database: library.Database, tmp_path: pathlib.Path) -> None:
    file, output = tmp_path / "things.motte", tmp_path / "trees.arrow"
    said = motte("export", file, "Tree", "--format", "arrow", "--output", output, expect=1)
    assert "'below' holds objects of Node in objects of Node" in said and "name the other columns" in said
    assert not output.exists()
    motte("export", file, "Tree", "--format", "arrow", "--output", output, "--columns", "id")
    assert of_file(output).num_rows == 0
    assert "a column is named twice" in motte(
        "export", file, "Thing", "--format", "arrow", "--columns", "id,id", "--output", output, expect=1)
