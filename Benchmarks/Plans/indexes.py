"""What indexes answer, beside SQLite with the same indexes: the same rows in memory of each, rounds in turn, medians.
The answers are compared before anything is timed. Times are those of Python's calls; what takes longer than SQLite, or
than its goal, is marked.

    python Benchmarks/Plans/indexes.py [ROWS] [ROUNDS]
"""
from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable

import motte


class Person(motte.Model, indexes=[motte.index("city", "age"), motte.index("name")]):
    id: int = motte.field(primary_key=True)
    name: str
    city: str
    age: int


TABLE = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INTEGER);
CREATE INDEX by_city ON person (city, age);
CREATE INDEX by_name ON person (name);
"""

#: Microseconds.
GOALS = {"count of a text, 1,000 hits": 2.0}

#: A name, the query, whether it is counted, and the same in SQL.
QUERIES: list[tuple[str, str, bool, str]] = [
    ("count of a text, 1,000 hits", 'city == "City 17"', True, "SELECT count(*) FROM person WHERE city = 'City 17'"),
    ("a text and a range", 'city == "City 17" AND age > 90', True,
     "SELECT count(*) FROM person WHERE city = 'City 17' AND age > 90"),
    ("a beginning", 'name BEGINSWITH "Ka"', True, "SELECT count(*) FROM person WHERE name >= 'Ka' AND name < 'Kb'"),
    ("IN of three texts", 'city IN {"City 1", "City 2", "City 3"}', True,
     "SELECT count(*) FROM person WHERE city IN ('City 1', 'City 2', 'City 3')"),
    ("first 100 by name", "TRUEPREDICATE SORT(name ASC) LIMIT(100)", False,
     "SELECT id FROM person ORDER BY name, id LIMIT 100"),
    ("first 100 of a city by age", 'city == "City 17" SORT(age DESC) LIMIT(100)', False,
     "SELECT id FROM person WHERE city = 'City 17' ORDER BY age DESC, id LIMIT 100"),
]


def people(count: int) -> list[tuple[int, str, str, int]]:
    random.seed(42)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [(number, random.choice(letters).upper() + "".join(random.choices(letters, k=9)),
             f"City {random.randrange(1_000)}", random.randrange(100)) for number in range(count)]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    rows = people(count)
    with motte.open(in_memory="indexes", schema=[Person], query_threads=1) as db:
        with db.write():
            for first in range(0, count, 100_000):
                db.add_all(Person(id=a, name=b, city=c, age=d) for a, b, c, d in rows[first:first + 100_000])
        peer = sqlite3.connect(":memory:")
        peer.executescript(TABLE)
        peer.executemany("INSERT INTO person VALUES (?, ?, ?, ?)", rows)
        print(f"{count:,} rows, medians of {rounds} rounds, microseconds\n")
        print("| | Motte | SQLite | ratio | goal | |\n|---|---:|---:|---:|---:|---|")
        misses: list[str] = []
        for name, text, is_count, sql in QUERIES:
            query = db.query(Person, text)

            def ours(query: motte.PreparedQuery[Person] = query, is_count: bool = is_count) -> object:
                return query.count() if is_count else [int(each) for each in query.run().keys()]

            def theirs(sql: str = sql, is_count: bool = is_count) -> object:
                found = peer.execute(sql).fetchall()
                return found[0][0] if is_count else [each[0] for each in found]

            assert ours() == theirs(), f"{name}: {ours()} {theirs()}"
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                times[0].append(timed(ours))
                times[1].append(timed(theirs))
            own, other = map(statistics.median, times)
            goal = GOALS.get(name, other)
            misses += [name] if own > goal else []
            print(f"| {name} | {own:,.1f} | {other:,.1f} | {own / other:.2f} | {goal:,.1f} | "
                  f"{'missed' if own > goal else 'met'} |", flush=True)
        print(f"\n{len(misses)} of the goals missed{': ' if misses else ''}{', '.join(misses)}")
        peer.close()


if __name__ == "__main__":
    main()
