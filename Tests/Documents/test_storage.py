"""docs/STORAGE.md: the bytes of values and of commits, measured again; of values with a quarter of the objects."""
from __future__ import annotations

import datetime
import decimal
import pathlib
import random
import re
import uuid
from collections.abc import Callable

import pytest

import motte

from documents import promises

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "STORAGE.md").read_text(encoding="utf-8")
# Whole row groups of either size.
COUNT = 2 * 57_120
LETTERS = "abcdefghijklmnopqrstuvwxyz"
START = datetime.datetime(2013, 1, 1, tzinfo=datetime.timezone.utc)
RANDOM = random.Random(7)


def letters(count: int) -> str:
    return "".join(RANDOM.choices(LETTERS, k=count))


TEN, THOUSAND = [letters(10) for _ in range(10)], [letters(10) for _ in range(1_000)]
# By a part of the line's name: the property's type, and the value of an object.
KINDS: dict[str, list[tuple[str, Callable[[int], object]]]] = {
    "int, all equal": [("int", lambda row: 7)],
    "bool": [("bool", lambda row: RANDOM.random() < 0.5)],
    "int 0 to 99": [("int", lambda row: RANDOM.randrange(100))],
    "int, ascending by 1": [("int", lambda row: row)],
    "int of 64 random bits; double; timestamps with fractions of a second": [
        ("int", lambda row: RANDOM.randrange(-2**63, 2**63)), ("double", lambda row: RANDOM.random()),
        ("timestamp", lambda row: START + datetime.timedelta(microseconds=RANDOM.randrange(86_400_000_000)))],
    "float; timestamps in whole seconds of one day": [
        ("float", lambda row: RANDOM.random()),
        ("timestamp", lambda row: START + datetime.timedelta(seconds=RANDOM.randrange(86_400)))],
    "text of 10 letters, one of 10": [("string", lambda row: RANDOM.choice(TEN))],
    "text of 10 letters, one of 1,000": [("string", lambda row: RANDOM.choice(THOUSAND))],
    "text of 8 to 16 letters, all different": [("string", lambda row: letters(RANDOM.randrange(8, 17)))],
    "UUID, decimal": [
        ("uuid", lambda row: uuid.UUID(int=RANDOM.getrandbits(128))),
        ("decimal", lambda row: decimal.Decimal(RANDOM.randrange(10**9)).scaleb(-2))],
}


def lines() -> dict[str, dict[int, float]]:
    table = PAGE.split("## Bytes per value")[1].split("## ")[0]
    found = re.findall(r"(?m)^\| ([^|]+) \| ([0-9.]+) \| ([0-9.]+) \|$", table)
    return {name.strip(): {1_904: float(large), 480: float(small)} for name, large, small in found}


def test_the_table_has_these_lines() -> None:
    assert lines().keys() == KINDS.keys()


@promises("docs/STORAGE.md", "480,000 objects of one property, compacted; file size divided by objects, in row groups "
          "of 1,904 rows as new files have them, and of 480")
@pytest.mark.parametrize("rows", [1_904, 480])
@pytest.mark.parametrize("name", KINDS)
def test_values_take_as_many_bytes_as_the_table_says(
        name: str, rows: int, tmp_path: pathlib.Path) -> None:
    for kind, value in KINDS[name]:
        path = tmp_path / f"{kind}.motte"
        with motte.open(path, durability="none", schema=f"Row {{ value: {kind} }}",
                        row_group_size=None if rows == 1_904 else rows) as db:
            with db.write():
                db.insert_columns(db.model("Row"), {"value": [value(row) for row in range(COUNT)]})
            db.compact()
        bytes_each, said = path.stat().st_size / COUNT, lines()[name][rows]
        # An empty file has some pages, which weigh more the fewer objects there are.
        assert said * 0.97 - 0.05 <= bytes_each <= said * 1.03 + 0.3, (kind, bytes_each)


def written(path: pathlib.Path, commits: int, change: Callable[[motte.Database, int], None]) -> float:
    """Bytes that one commit writes, as the system counts them."""
    def count() -> int:
        return int(re.findall(r"wchar: (\d+)", pathlib.Path("/proc/self/io").read_text())[0])

    with motte.open(path) as db:
        before = count()
        for number in range(commits):
            with db.write():
                change(db, number)
        return (count() - before) / commits


@promises("docs/STORAGE.md", "A small commit appends a log record with the chunks, open row group and index blocks "
          "that changed; every so often one is a checkpoint that writes them into the tree.")
def test_commits_write_as_much_as_the_table_says(tmp_path: pathlib.Path) -> None:
    said = dict(re.findall(r"(?m)^\| ([a-z ]+) \| ([0-9.]+) \|", PAGE.split("## What a commit writes")[1]))
    count, path = 300_000, tmp_path / "commits.motte"
    schema = "Row { id: int key, text: string, number: int, real: double, flag: bool, city: string indexed }"
    with motte.open(path, durability="none", schema=schema) as db:
        with db.write():
            db.insert_columns(db.model("Row"), {
                "id": list(range(count)), "text": [letters(10) for _ in range(count)],
                "number": [row % 100 for row in range(count)], "real": [RANDOM.random() for _ in range(count)],
                "flag": [row % 2 == 0 for row in range(count)],
                "city": [RANDOM.choice(THOUSAND) for _ in range(count)]})

    def add(db: motte.Database, number: int) -> None:
        db.add(db.model("Row")(id=count + number, text=letters(10), number=1, real=0.5, flag=True, city=TEN[0]))

    def sets(name: str, value: Callable[[], object]) -> Callable[[motte.Database, int], None]:
        def change(db: motte.Database, number: int) -> None:
            setattr(db.get("Row", RANDOM.randrange(count)), name, value())

        return change

    for name, change in (("a new object", add),
                         ("an int of some object", sets("number", lambda: RANDOM.randrange(100))),
                         ("a double", sets("real", RANDOM.random)), ("a text", sets("text", lambda: letters(10)))):
        kilobytes = written(path, 1_000, change) / 1_000
        assert float(said[name]) * 0.75 <= kilobytes <= float(said[name]) * 1.25, (name, kilobytes)
