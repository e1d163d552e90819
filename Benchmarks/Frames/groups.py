"""Groups beside DuckDB, with one thread each, and SQLite: the same rows in a file of each, rounds in turn, medians.
What they give is compared before anything is timed. Those that take longer than DuckDB are marked.

    Benchmarks/Frames/run.sh --groups [--rows 1000000] [--rounds 7] [--flights] [--cpu]
"""
from __future__ import annotations

import argparse
import gc
import math
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
from frames import DECLARATION, Person, table

import motte

#: A name, the query, the same in SQL, and how it is said where SQLite says it otherwise; None: not at all.
QUERIES: list[tuple[str, str, str, str | None]] = [
    ("1,000 texts: count, average, maximum", "GROUP(city) COUNT, AVG(age), MAX(score)",
     "SELECT city, count(*), avg(age), max(score) FROM person GROUP BY city ORDER BY city", ""),
    ("100 ints: count, sum", "GROUP(age) COUNT, SUM(score)",
     "SELECT age, count(*), sum(score) FROM person GROUP BY age ORDER BY age", ""),
    ("a bool and an int", "GROUP(active, age) COUNT, AVG(score)",
     "SELECT active, age, count(*), avg(score) FROM person GROUP BY ALL ORDER BY active, age",
     "SELECT active, age, count(*), avg(score) FROM person GROUP BY active, age ORDER BY active, age"),
    ("months", "GROUP(seen BY month) COUNT, AVG(score)",
     "SELECT date_trunc('month', seen AT TIME ZONE 'UTC'), count(*), avg(score) FROM person GROUP BY ALL ORDER BY ALL",
     None),
    ("a filter, HAVING, the first ten", "age > 50 GROUP(city) COUNT HAVING COUNT > 10 SORT(COUNT DESC) LIMIT(10)",
     ("SELECT city, count(*) FROM person WHERE age > 50 GROUP BY city HAVING count(*) > 10 "
      "ORDER BY count(*) DESC, city LIMIT 10"), ""),
    ("different texts of 100 ints", "GROUP(age) COUNT(DISTINCT city)",
     "SELECT age, count(DISTINCT city) FROM person GROUP BY age ORDER BY age", ""),
    ("deviation and median", "GROUP(age) STDDEV(score), MEDIAN(score)",
     "SELECT age, stddev(score), median(score) FROM person GROUP BY age ORDER BY age", None),
    ("a million texts", "GROUP(name) COUNT SORT(COUNT DESC) LIMIT(10)",
     "SELECT name, count(*) FROM person GROUP BY name ORDER BY count(*) DESC, name LIMIT 10", ""),
    ("no key", "GROUP() COUNT, AVG(age), MAX(score)", "SELECT count(*), avg(age), max(score) FROM person", ""),
]

#: The flights of 2013 (examples/demo): the same, without SQLite.
FLIGHT_QUERIES: list[tuple[str, str, str, str | None]] = [
    ("carriers: count, average, maximum", "GROUP(carrier) COUNT, AVG(arr_delay), MAX(distance)",
     "SELECT carrier, count(*), avg(arr_delay), max(distance) FROM flight GROUP BY carrier ORDER BY carrier", None),
    ("origins and months", "GROUP(origin, month) COUNT, AVG(dep_delay)",
     "SELECT origin, month, count(*), avg(dep_delay) FROM flight GROUP BY ALL ORDER BY ALL", None),
    ("late ones by destination, the first ten",
     "dep_delay > 60 GROUP(dest) COUNT HAVING COUNT > 10 SORT(COUNT DESC) LIMIT(10)",
     ("SELECT dest, count(*) FROM flight WHERE dep_delay > 60 GROUP BY dest HAVING count(*) > 10 "
      "ORDER BY count(*) DESC, dest LIMIT 10"), None),
    ("4,000 aircraft", "GROUP(tailnum) COUNT SORT(COUNT DESC) LIMIT(10)",
     ("SELECT tailnum, count(*) FROM flight GROUP BY tailnum "
      "ORDER BY count(*) DESC, tailnum NULLS FIRST LIMIT 10"), None),
    ("no key", "GROUP() COUNT, AVG(arr_delay), MAX(distance)",
     "SELECT count(*), avg(arr_delay), max(distance) FROM flight", None),
]


class Flight(motte.Model):
    id: int = motte.field(primary_key=True)
    month: int
    carrier: str
    origin: str
    dest: str
    tailnum: str | None
    distance: int
    dep_delay: int | None
    arr_delay: int | None


FLIGHT_DECLARATION = ("CREATE TABLE flight (id BIGINT PRIMARY KEY, month BIGINT, carrier VARCHAR, origin VARCHAR, "
                      "dest VARCHAR, tailnum VARCHAR, distance BIGINT, dep_delay BIGINT, arr_delay BIGINT)")


def flights() -> pyarrow.Table:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "demo"))
    import nycflights

    names, rows = nycflights.table(nycflights.fetch(), "flights")
    columns = dict(zip(names, zip(*rows)))

    def ints(name: str) -> pyarrow.Array:
        return pyarrow.array([int(float(text)) if text not in ("", "NA") else None for text in columns[name]])

    def texts(name: str) -> pyarrow.Array:
        return pyarrow.array([text if text not in ("", "NA") else None for text in columns[name]])

    wanted: dict[str, pyarrow.Array] = {"id": pyarrow.array(range(len(columns["month"])))}
    for name in ("month", "carrier", "origin", "dest", "tailnum", "distance", "dep_delay", "arr_delay"):
        wanted[name] = texts(name) if name in ("carrier", "origin", "dest", "tailnum") else ints(name)
    return pyarrow.table(wanted)


def timed(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    gc.collect()
    begin = clock()
    kept = work()
    end = clock()
    del kept
    return (end - begin) * 1_000


def same(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    def close(one: Any, other: Any) -> bool:
        if isinstance(one, float) and isinstance(other, float):
            return math.isclose(one, other, rel_tol=1e-9)
        if isinstance(one, datetime):
            return bool(one.replace(tzinfo=None) == other)
        return bool(one == other)

    return len(ours) == len(theirs) and all(
        len(one) == len(other) and all(map(close, one, other)) for one, other in zip(ours, theirs))


def rows_of(ask: Callable[[str], Any], text: str) -> list[Any]:
    answer = ask(text)
    return answer.fetchall() if hasattr(answer, "fetchall") else list(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1, help="of Motte's queries and of DuckDB")
    parser.add_argument("--flights", action="store_true", help="the flights of 2013 in place of persons")
    parser.add_argument("--cpu", action="store_true", help="processor time, for machines that are busy")
    parser.add_argument("--only", default="", help="a part of a row's name")
    options = parser.parse_args()
    data = flights() if options.flights else table(options.rows)
    model, declaration = (Flight, FLIGHT_DECLARATION) if options.flights else (Person, DECLARATION)
    clock = time.process_time if options.cpu else time.perf_counter
    misses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        database = motte.open(Path(folder) / "rows.motte", schema=[model], query_threads=options.threads)
        database.import_data(model, data)
        objects = database.objects(model)
        peer = duckdb.connect(str(Path(folder) / "rows.duckdb"))
        peer.execute(f"SET threads TO {options.threads}; SET TimeZone = 'UTC'")
        peer.execute(declaration)
        peer.execute(f"INSERT INTO {model.__name__} SELECT * FROM data")
        peer.execute("CHECKPOINT")
        small = sqlite3.connect(str(Path(folder) / "rows.sqlite"))
        if not options.flights:
            small.execute(declaration)
            rows = zip(*(data.column(name).to_pylist() for name in data.column_names[:6]))
            small.executemany("INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, NULL)", rows)
            small.commit()
        threads = "one thread" if options.threads == 1 else f"{options.threads} threads"
        print(f"{data.num_rows:,} rows, medians of {options.rounds} rounds, ms"
              f"{' of the processor' if options.cpu else ''}, {threads} of Motte and of DuckDB\n")
        print("| | Motte | DuckDB | ratio | goal | | SQLite |\n|---|---:|---:|---:|---:|---|---:|")
        for name, query, sql, other in FLIGHT_QUERIES if options.flights else QUERIES:
            if options.only not in name:
                continue
            works = [partial(rows_of, objects.query, query), partial(rows_of, peer.execute, sql)]
            if other is not None:
                works.append(partial(rows_of, small.execute, other or sql))
            assert same(*(work() for work in works[:2])), f"{name}: {works[0]()[:3]} {works[1]()[:3]}"
            times: list[list[float]] = [[] for _ in works]
            for _ in range(options.rounds):
                for kept, work in zip(times, works):
                    kept.append(timed(work, clock))
            own, duck, *lite = (statistics.median(each) for each in times)
            is_missed = own > duck
            misses += [name] if is_missed else []
            print(f"| {name} | {own:,.1f} | {duck:,.1f} | {own / duck:.2f} | 1 | {'missed' if is_missed else 'met'} | "
                  f"{f'{lite[0]:,.1f}' if lite else '-'} |", flush=True)
        print(f"\n{len(misses)} of the goals missed{': ' if misses else ''}{', '.join(misses)}")
        database.close()
        peer.close()
        small.close()


if __name__ == "__main__":
    main()
