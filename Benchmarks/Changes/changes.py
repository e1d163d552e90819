"""Change batches beside writing the same directly: what reading and applying a batch costs, per object.

    python Benchmarks/Changes/changes.py [OBJECTS]

Three workloads: objects that come, a property of each that changes, and single commits that are applied one by one.
Each is done five times in files of its own; the middle one counts.
"""
from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import motte
from motte import Model, field


class Person(Model):
    id: int = field(primary_key=True)
    name: str
    age: int
    score: float


def columns(count: int) -> dict[str, list[Any]]:
    return {"id": list(range(count)), "name": [f"person {number}" for number in range(count)],
            "age": [number % 100 for number in range(count)], "score": [number / 7 for number in range(count)]}


def timed(body: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = body()
    return time.perf_counter() - start, result


def insert(db: motte.Database, values: dict[str, list[Any]]) -> None:
    with db.write():
        db.insert_columns(Person, values)


def change(db: motte.Database, count: int) -> None:
    with db.write():
        for number in range(count):
            db.at(Person, number).age = number % 90 + 5


def single(db: motte.Database, number: int) -> None:
    with db.write():
        db.at(Person, number).age = -number


def measure(folder: pathlib.Path, count: int) -> dict[str, tuple[float, float, float]]:
    values = columns(count)
    commits = 300
    found = {}
    with motte.open(folder / "origin.motte", schema=[Person], durability="none") as origin, \
            motte.open(folder / "copy.motte", schema=[Person], durability="none") as copy:
        origin.keep_changes(origin.version)
        copy.apply(origin.changes_since(0))
        for name, work, units in (("objects that come", lambda db: insert(db, values), count),
                                  ("a property of each", lambda db: change(db, count), count)):
            start = origin.version
            direct, _ = timed(lambda work=work: work(origin))
            read, batch = timed(lambda start=start: origin.changes_since(start))
            applied, _ = timed(lambda batch=batch: copy.apply(batch))
            found[name] = (direct / units, read / units, applied / units)
        direct = read = applied = 0.0
        for number in range(commits):
            start = origin.version
            direct += timed(lambda number=number: single(origin, number))[0]
            took, batch = timed(lambda start=start: origin.changes_since(start))
            read += took
            applied += timed(lambda batch=batch: copy.apply(batch))[0]
        found["commits of one change"] = (direct / commits, read / commits, applied / commits)
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(measure(pathlib.Path(folder), count))
    print(f"{count} objects; microseconds each: written directly, batch read, batch applied, both / directly")
    for name in rounds[0]:
        direct, read, applied = (statistics.median(each[name][part] for each in rounds) * 1e6 for part in range(3))
        print(f"{name:24} {direct:8.3f} {read:8.3f} {applied:8.3f}   applied {applied / direct:4.2f}, "
              f"both {(read + applied) / direct:4.2f}")


if __name__ == "__main__":
    main()
