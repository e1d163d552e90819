"""Groups beside DuckDB, with one thread each, and SQLite: the same rows in a file of each, rounds in turn, medians.
What they give is compared before anything is timed. Those that take longer than DuckDB are marked.

    scripts/bench-frames.sh --groups [--rows 1000000] [--rounds 7]
"""
from __future__ import annotations

import argparse
import math
import sqlite3
import statistics
import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from frames import DECLARATION, Person, table, timed

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
    parser.add_argument("--only", default="", help="a part of a row's name")
    options = parser.parse_args()
    data = table(options.rows)
    misses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        database = motte.open(Path(folder) / "people.motte", schema=[Person], query_threads=options.threads)
        database.import_data(Person, data)
        people = database.objects(Person)
        peer = duckdb.connect(str(Path(folder) / "people.duckdb"))
        peer.execute(f"SET threads TO {options.threads}; SET TimeZone = 'UTC'")
        peer.execute(DECLARATION)
        peer.execute("INSERT INTO person SELECT * FROM data")
        peer.execute("CHECKPOINT")
        small = sqlite3.connect(str(Path(folder) / "people.sqlite"))
        small.execute(DECLARATION)
        rows = zip(*(data.column(name).to_pylist() for name in data.column_names[:6]))
        small.executemany("INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, NULL)", rows)
        small.commit()
        threads = "one thread" if options.threads == 1 else f"{options.threads} threads"
        print(f"{options.rows:,} rows, medians of {options.rounds} rounds, ms, {threads} of Motte and of DuckDB\n")
        print("| | Motte | DuckDB | ratio | goal | | SQLite |\n|---|---:|---:|---:|---:|---|---:|")
        for name, query, sql, other in QUERIES:
            if options.only not in name:
                continue
            works = [partial(rows_of, people.query, query), partial(rows_of, peer.execute, sql)]
            if other is not None:
                works.append(partial(rows_of, small.execute, other or sql))
            assert same(*(work() for work in works[:2])), f"{name}: {works[0]()[:3]} {works[1]()[:3]}"
            times: list[list[float]] = [[] for _ in works]
            for _ in range(options.rounds):
                for kept, work in zip(times, works):
                    kept.append(timed(work))
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
