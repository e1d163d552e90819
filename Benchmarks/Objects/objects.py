"""What Python does per object, beside sqlite3 and, where its wheel is there, ObjectBox: the same rows in a file of
each, rounds in turn, medians.

    Benchmarks/Objects/run.sh [--quick] [--rows 20000] [--rounds 7] [--clock wall|cpu]

Six properties: an int as primary key, two texts, an int, a float, a bool. What is read is compared before anything is
timed. `cpu` counts the time of the thread, which says more on a machine that is busy.
"""
from __future__ import annotations

import argparse
import gc
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

import motte

try:
    import objectbox
except ImportError:
    objectbox = None

UPDATES = 10_000
NAMES = ("id", "name", "city", "age", "score", "active")
Values = tuple[int, str, str, int, float, bool]
#: Nanoseconds for each of so many.
Timed = Callable[[], tuple[float, int]]


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str
    city: str
    age: int
    score: float
    active: bool


class Target(NamedTuple):
    """At most so many times what another peer takes, or so many nanoseconds."""

    most: float
    of: Optional[str] = None


TARGETS = {
    "add": Target(1, "sqlite3"),
    "add_all": Target(0.5, "sqlite3"),
    "add_all, by executemany": Target(0.5, "sqlite3"),
    "read an attribute": Target(150),
    "assign an attribute": Target(400),
    "loop with two attributes": Target(400),
    "to_dict": Target(1, "sqlite3"),
    "get by key": Target(0.3, "sqlite3"),
    "update, with commit": Target(0.5, "sqlite3"),
}


def rows_of(count: int) -> list[Values]:
    return [(number, f"person {number * 7919 % count}", f"city {number % 1000}", number % 90, number * 0.5,
             number % 3 == 0) for number in range(count)]


class Clock:
    def __init__(self, kind: str) -> None:
        self.now = time.perf_counter_ns if kind == "wall" else time.thread_time_ns

    def timed(self, run: Callable[[], Any], count: int) -> float:
        gc.collect()
        start = self.now()
        run()
        return (self.now() - start) / count


class Motte:
    def __init__(self, folder: Path, rows: list[Values], clock: Clock) -> None:
        self.rows, self.clock = rows, clock
        self.db = motte.open(folder / "persons.motte", schema=[Person], durability="relaxed")
        with self.db.write():
            self.db.add_all([Person(**dict(zip(NAMES, row))) for row in rows])
        self.keys = [number * 7919 % len(rows) for number in range(len(rows))]

    def answers(self) -> Any:
        found = [self.db.one(Person, key) for key in self.keys[:100]]
        return sum(person.age for person in self.db.objects(Person)), [person.to_dict() for person in found]

    def close(self) -> None:
        self.db.close()

    def _emptied(self, run: Callable[[], Any], count: int) -> float:
        """In a write that has deleted everything, and is cancelled."""
        with self.db.write() as write:
            self.db.delete_all()
            taken = self.clock.timed(run, count)
            write.cancel()
        return taken

    def add(self) -> float:
        add = self.db.add

        def run() -> None:
            for id_, name, city, age, score, active in self.rows:
                add(Person(id=id_, name=name, city=city, age=age, score=score, active=active))
        return self._emptied(run, len(self.rows))

    def add_all(self) -> float:
        return self._emptied(
            lambda: self.db.add_all(
                [Person(id=id_, name=name, city=city, age=age, score=score, active=active)
                 for id_, name, city, age, score, active in self.rows]), len(self.rows))

    def add_made(self) -> float:
        made = [Person(**dict(zip(NAMES, row))) for row in self.rows]
        return self._emptied(lambda: self.db.add_all(made), len(made))

    def read(self) -> float:
        person, count = self.db.one(Person, 7), range(100_000)

        def run() -> None:
            for _ in count:
                _ = person.age
        return self.clock.timed(run, len(count))

    def assign(self) -> float:
        person, count = self.db.one(Person, 7), range(100_000)

        def run() -> None:
            for number in count:
                person.age = number
        with self.db.write() as write:
            taken = self.clock.timed(run, len(count))
            write.cancel()
        return taken

    def loop(self) -> float:
        def run() -> None:
            for person in self.db.objects(Person):
                _ = person.name
                _ = person.age
        return self.clock.timed(run, len(self.rows))

    def dicts(self) -> float:
        return self.clock.timed(
            lambda: [person.to_dict() for person in self.db.objects(Person)], len(self.rows))

    def get(self) -> float:
        get = self.db.get

        def run() -> None:
            for key in self.keys:
                get(Person, key)
        return self.clock.timed(run, len(self.keys))

    def update(self) -> float:
        persons = [self.db.one(Person, key) for key in self.keys[:UPDATES]]

        def run() -> None:
            with self.db.write():
                for person in persons:
                    person.age += 1
        return self.clock.timed(run, len(persons))


class SQLite:
    INSERT = "INSERT INTO person VALUES (?, ?, ?, ?, ?, ?)"

    def __init__(self, folder: Path, rows: list[Values], clock: Clock) -> None:
        self.rows, self.clock = rows, clock
        self.db = sqlite3.connect(folder / "persons.sqlite", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, "
                        "age INTEGER NOT NULL, score REAL NOT NULL, active BOOLEAN NOT NULL)")
        self.db.execute("BEGIN")
        self.db.executemany(self.INSERT, rows)
        self.db.execute("COMMIT")
        self.keys = [number * 7919 % len(rows) for number in range(len(rows))]

    def answers(self) -> Any:
        found = [self.db.execute("SELECT * FROM person WHERE id = ?", (key,)).fetchone() for key in self.keys[:100]]
        return (self.db.execute("SELECT sum(age) FROM person").fetchone()[0],
                [{**dict(zip(NAMES, row)), "active": bool(row[5])} for row in found])

    def close(self) -> None:
        self.db.close()

    def _emptied(self, run: Callable[[], Any], count: int) -> float:
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM person")
        taken = self.clock.timed(run, count)
        self.db.execute("ROLLBACK")
        return taken

    def add(self) -> float:
        execute = self.db.execute

        def run() -> None:
            for row in self.rows:
                execute(self.INSERT, row)
        return self._emptied(run, len(self.rows))

    def add_many(self) -> float:
        return self._emptied(lambda: self.db.executemany(self.INSERT, self.rows), len(self.rows))

    def loop(self) -> float:
        def run() -> None:
            for name, age in self.db.execute("SELECT name, age FROM person"):
                _ = name
                _ = age
        return self.clock.timed(run, len(self.rows))

    def dicts(self) -> float:
        self.db.row_factory = sqlite3.Row
        taken = self.clock.timed(lambda: [dict(row) for row in self.db.execute("SELECT * FROM person")], len(self.rows))
        self.db.row_factory = None
        return taken

    def get(self) -> float:
        execute = self.db.execute

        def run() -> None:
            for key in self.keys:
                execute("SELECT * FROM person WHERE id = ?", (key,)).fetchone()
        return self.clock.timed(run, len(self.keys))

    def update(self) -> float:
        execute, keys = self.db.execute, self.keys[:UPDATES]

        def run() -> None:
            execute("BEGIN")
            for key in keys:
                execute("UPDATE person SET age = age + 1 WHERE id = ?", (key,))
            execute("COMMIT")
        return self.clock.timed(run, len(keys))


class ObjectBox:
    def __init__(self, folder: Path, rows: list[Values], clock: Clock) -> None:
        self.rows, self.clock = rows, clock

        @objectbox.Entity()
        class Boxed:
            id = objectbox.Id()
            name = objectbox.String()
            city = objectbox.String()
            age = objectbox.Int64()
            score = objectbox.Float64()
            active = objectbox.Bool()
        self.kind: Any = Boxed
        self.store = objectbox.Store(model_json_file=str(folder / "box.json"), directory=str(folder / "box"))
        self.box = self.store.box(Boxed)
        self._put_all()
        self.keys = [number * 7919 % len(rows) + 1 for number in range(len(rows))]

    def _made(self, row: Values) -> Any:
        # It gives keys from 1 on.
        return self.kind(id=0, name=row[1], city=row[2], age=row[3], score=row[4], active=row[5])

    def answers(self) -> Any:
        found = [self.box.get(key) for key in self.keys[:100]]
        return (sum(each.age for each in self.box.get_all()),
                [dict(zip(NAMES, (each.id - 1, each.name, each.city, each.age, each.score, each.active)))
                 for each in found])

    def close(self) -> None:
        self.store.close()

    def _emptied(self, run: Callable[[], Any], count: int) -> float:
        with self.store.write_tx():
            self.box.remove_all()
            taken = self.clock.timed(run, count)
            self.box.remove_all()
            self._put_all()
        self.keys = [each.id for each in self.box.get_all()]
        return taken

    def add(self) -> float:
        def run() -> None:
            for row in self.rows:
                self.box.put(self._made(row))
        return self._emptied(run, len(self.rows))

    def add_all(self) -> float:
        return self._emptied(self._put_all, len(self.rows))

    def _put_all(self) -> None:
        # It takes 10,000 at once at most.
        for first in range(0, len(self.rows), 10_000):
            self.box.put([self._made(row) for row in self.rows[first:first + 10_000]])

    def loop(self) -> float:
        def run() -> None:
            for each in self.box.get_all():
                _ = each.name
                _ = each.age
        return self.clock.timed(run, len(self.rows))

    def get(self) -> float:
        def run() -> None:
            for key in self.keys:
                self.box.get(key)
        return self.clock.timed(run, len(self.keys))

    def update(self) -> float:
        found = [self.box.get(key) for key in self.keys[:UPDATES]]

        def run() -> None:
            with self.store.write_tx():
                for each in found:
                    each.age += 1
                    self.box.put(each)
        return self.clock.timed(run, len(found))


def measured(engines: dict[str, Any], rounds: int) -> dict[str, dict[str, float]]:
    """Medians by what is done and by engine."""
    ours, theirs = engines["Motte"], engines["sqlite3"]
    work: dict[str, dict[str, Callable[[], float]]] = {
        "add": {"Motte": ours.add, "sqlite3": theirs.add},
        "add_all": {"Motte": ours.add_all, "sqlite3": theirs.add},
        "add_all, by executemany": {"Motte": ours.add_all, "sqlite3": theirs.add_many},
        "add_all of what is made": {"Motte": ours.add_made, "sqlite3": theirs.add_many},
        "read an attribute": {"Motte": ours.read},
        "assign an attribute": {"Motte": ours.assign},
        "loop with two attributes": {"Motte": ours.loop, "sqlite3": theirs.loop},
        "to_dict": {"Motte": ours.dicts, "sqlite3": theirs.dicts},
        "get by key": {"Motte": ours.get, "sqlite3": theirs.get},
        "update, with commit": {"Motte": ours.update, "sqlite3": theirs.update},
    }
    if "ObjectBox" in engines:
        box = engines["ObjectBox"]
        for name, run in {"add": box.add, "add_all": box.add_all, "loop with two attributes": box.loop,
                          "get by key": box.get, "update, with commit": box.update}.items():
            work[name]["ObjectBox"] = run
    found: dict[str, dict[str, list[float]]] = {name: {engine: [] for engine in runs} for name, runs in work.items()}
    for _ in range(rounds):
        for name, runs in work.items():
            for engine, run in runs.items():
                found[name][engine].append(run())
    return {name: {engine: statistics.median(times) for engine, times in runs.items()} for name, runs in found.items()}


def table(medians: dict[str, dict[str, float]]) -> list[str]:
    lines = ["| ns each | Motte | sqlite3 | ObjectBox | Motte beside sqlite3 | target | |",
             "|---|---:|---:|---:|---:|---:|---|"]
    for name, times in medians.items():
        ours, target = times["Motte"], TARGETS.get(name)
        ratio = ours / times["sqlite3"] if "sqlite3" in times else None
        limit = verdict = ""
        if target is not None:
            limit = f"{target.most:g} x" if target.of else f"{target.most:g} ns"
            verdict = "met" if (ratio if target.of else ours) <= target.most else "missed"  # type: ignore[operator]
        cells = [f"{times[engine]:,.0f}" if engine in times else "" for engine in ("Motte", "sqlite3", "ObjectBox")]
        beside = "" if ratio is None else f"{ratio:.2f}"
        lines.append(f"| {name} | {' | '.join(cells)} | {beside} | {limit} | {verdict} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="to see that it runs: few rows, one round")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()
    rows = rows_of(2_000 if options.quick else options.rows)
    clock = Clock(options.clock)
    kinds: dict[str, Any] = {"Motte": Motte, "sqlite3": SQLite}
    if objectbox is not None:
        kinds["ObjectBox"] = ObjectBox
    with tempfile.TemporaryDirectory() as folder:
        engines = {name: kind(Path(folder), rows, clock) for name, kind in kinds.items()}
        answers = {name: engine.answers() for name, engine in engines.items()}
        for name, answer in answers.items():
            if answer != answers["Motte"]:
                raise SystemExit(f"{name} answers otherwise than Motte")
        medians = measured(engines, 1 if options.quick else options.rounds)
        for engine in engines.values():
            engine.close()
    print("\n".join(table(medians)))


if __name__ == "__main__":
    main()
