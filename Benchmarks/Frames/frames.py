"""Columns out of and into Python libraries, beside DuckDB: the same rows in a file of each, rounds in turn, medians.

    Benchmarks/Frames/run.sh [--rows 1000000] [--rounds 5]

Seven columns: id, two texts (one nearly unique, one of 1,000 cities), an int, a double, a bool, a timestamp. Results of
both are compared before anything is timed.
"""
from __future__ import annotations

import argparse
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow

import motte


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str
    city: str
    age: int
    score: float
    active: bool
    seen: datetime


def table(rows: int) -> pyarrow.Table:
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choice(letters) for _ in range(chance.randint(4, 8))) for _ in range(5_000)]
    cities = [f"{chance.choice(words)}{number}" for number in range(1_000)]
    start = int(datetime(2020, 1, 1, tzinfo=timezone.utc).timestamp()) * 1_000_000
    return pyarrow.table({
        "id": pyarrow.array(range(rows), pyarrow.int64()),
        "name": pyarrow.array([chance.choice(words) + chance.choice(words) for _ in range(rows)], pyarrow.string()),
        "city": pyarrow.array([chance.choice(cities) for _ in range(rows)], pyarrow.string()),
        "age": pyarrow.array([chance.randint(0, 99) for _ in range(rows)], pyarrow.int64()),
        "score": pyarrow.array([chance.random() * 100 for _ in range(rows)], pyarrow.float64()),
        "active": pyarrow.array([chance.random() < 0.5 for _ in range(rows)], pyarrow.bool_()),
        "seen": pyarrow.array([start + chance.randrange(10 ** 14) for _ in range(rows)],
                              pyarrow.timestamp("us", tz="UTC")),
    })


DECLARATION = ("CREATE TABLE person (id BIGINT PRIMARY KEY, name VARCHAR, city VARCHAR, age BIGINT, score DOUBLE, "
               "active BOOLEAN, seen TIMESTAMPTZ)")


def timed(work: Callable[[], Any]) -> float:
    gc.collect()
    begin = time.perf_counter()
    kept = work()
    end = time.perf_counter()
    del kept
    return (end - begin) * 1_000


def compare(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, target: float) -> None:
    ours(), theirs()
    own, other = [], []
    for _ in range(rounds):
        own.append(timed(ours))
        other.append(timed(theirs))
    ratio = statistics.median(own) / statistics.median(other)
    print(f"| {name} | {statistics.median(own):,.1f} | {statistics.median(other):,.1f} | {ratio:.2f} | {target} | "
          f"{'met' if ratio <= target else 'missed'} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="a part of a row's name")
    options = parser.parse_args()
    data = table(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        database = motte.open(Path(folder) / "people.motte", schema=[Person])
        database.import_data(Person, data)
        people = database.objects(Person)
        peer = duckdb.connect(str(Path(folder) / "people.duckdb"))
        peer.execute(DECLARATION)
        peer.execute("INSERT INTO person SELECT * FROM data")
        peer.execute("CHECKPOINT")
        assert people.to_arrow().cast(data.schema).equals(data), "Motte gives other rows"
        assert people.to_polars().equals(polars.from_arrow(data)), "Motte gives another polars frame"
        pandas.testing.assert_frame_equal(people.to_pandas(), data.to_pandas())
        print(f"{options.rows:,} rows, medians of {options.rounds} rounds, ms\n")
        print("| | Motte | DuckDB | ratio | target | |\n|---|---:|---:|---:|---:|---|")
        select = "SELECT * FROM person"
        into = Inserts(folder, data)
        parts: list[tuple[str, Callable[[], Any], Callable[[], Any], float]] = [
            ("to Arrow", people.to_arrow, lambda: peer.sql(select).to_arrow_table(), 1.2),
            ("to polars", people.to_polars, lambda: peer.sql(select).pl(), 1.2),
            ("to pandas", people.to_pandas, lambda: peer.sql(select).df(), 1.2),
            ("a text column to Arrow", lambda: people.to_arrow("name"),
             lambda: peer.sql("SELECT name FROM person").to_arrow_table(), 1.2),
            ("a column of few texts to Arrow", lambda: people.to_arrow("city"),
             lambda: peer.sql("SELECT city FROM person").to_arrow_table(), 1.2),
            ("half of the rows to Arrow", lambda: people.where(Person.active == True).to_arrow(),  # noqa: E712
             lambda: peer.sql(select + " WHERE active").to_arrow_table(), 1.2),
            ("rows in another order to Arrow", lambda: people.sorted(Person.score).to_arrow(),
             lambda: peer.sql(select + " ORDER BY score").to_arrow_table(), 1.2),
            ("from Arrow, with a key", into.motte, into.duckdb, 1.0),
            ("from Arrow, without", into.motte_plain, into.duckdb_plain, 1.0),
        ]
        for name, ours, theirs, target in parts:
            if options.only in name:
                compare(name, ours, theirs, options.rounds, target)
        database.close()
        peer.close()


class Row(motte.Model):
    id: int
    name: str
    city: str
    age: int
    score: float
    active: bool
    seen: datetime


class Inserts:
    """Into a new file each time, durable at the end."""

    def __init__(self, folder: str, data: pyarrow.Table) -> None:
        self.folder, self.data, self.number = Path(folder), data, 0

    def _path(self, suffix: str) -> Path:
        self.number += 1
        return self.folder / f"in{self.number}.{suffix}"

    def _motte(self, model: type[motte.Model]) -> None:
        path = self._path("motte")
        with motte.open(path, schema=[model]) as database:
            database.import_data(model, self.data)
        motte.delete(path)

    def _duckdb(self, declaration: str) -> None:
        path = self._path("duckdb")
        data = self.data
        with duckdb.connect(str(path)) as peer:
            peer.execute(declaration)
            peer.execute("INSERT INTO person SELECT * FROM data")
            del data
        path.unlink()

    def motte(self) -> None:
        self._motte(Person)

    def motte_plain(self) -> None:
        self._motte(Row)

    def duckdb(self) -> None:
        self._duckdb(DECLARATION)

    def duckdb_plain(self) -> None:
        self._duckdb(DECLARATION.replace(" PRIMARY KEY", ""))


if __name__ == "__main__":
    main()
