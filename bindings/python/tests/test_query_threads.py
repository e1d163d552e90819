"""Queries over many rows give the same with one thread and with several, to the last bit."""
from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motte


class Reading(motte.Model):
    station: str
    level: int
    value: float


ROWS = 300_000
QUERIES = ['station CONTAINS "7"', "level > 30 AND value < 0.5", 'station == "station 11" OR level * 2 > 150']


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("threads") / "readings.motte"
    numbers = random.Random(7)
    with motte.open(path, schema=[Reading]) as db, db.write():
        db.add_all(
            Reading(station=f"station {numbers.randrange(40)}", level=numbers.randrange(100), value=numbers.random())
            for _ in range(ROWS))
    yield path


def answers(path: Path, threads: int | None) -> list[Any]:
    found: list[Any] = []
    with motte.open(path, schema=[Reading], query_threads=threads) as db:
        everything = db.objects(Reading)
        for text in QUERIES:
            some = everything.where(text)
            found += [len(some), some.sum("value"), some.average("value"), some.max("level")]
            found.append([r.value for r in some[:5]])
            found.append([r.value for r in some.where("TRUEPREDICATE SORT(value DESC) LIMIT(9)")])
            found.append([tuple(group) for group in some.query("GROUP(station) COUNT, SUM(value), STDDEV(value)")])
        found.append([tuple(group) for group in everything.query("GROUP(level, station) COUNT, AVG(value)")])
    return found


def test_answers_do_not_depend_on_the_number_of_threads(readings: Path) -> None:
    alone = answers(readings, 1)
    for threads in (2, 4, None):
        assert answers(readings, threads) == alone


def test_threads_have_ended_when_a_query_has(readings: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    with motte.open(readings, schema=[Reading], query_threads=4) as db:
        before = count()
        assert len(db.objects(Reading).where(QUERIES[0])) > 0
        assert count() == before
        db.query_timeout = 0
        with pytest.raises(motte.errors.QueryInterruptedError):
            len(db.objects(Reading).where(QUERIES[1]))
        assert count() == before


def test_an_interrupted_query_ends_on_all_threads(readings: Path) -> None:
    with motte.open(readings, schema=[Reading], query_threads=4) as db:
        ended = threading.Event()

        def interrupt() -> None:
            while not ended.wait(0.0005):
                db.interrupt()

        other = threading.Thread(target=interrupt)
        other.start()
        try:
            with pytest.raises(motte.errors.QueryInterruptedError):
                for number in range(100_000):
                    len(db.objects(Reading).where(f'station LIKE "*{number % 10}*{number}"'))
        finally:
            ended.set()
            other.join()
        assert len(db.objects(Reading)) == ROWS


def test_there_is_at_least_one_thread(readings: Path) -> None:
    with pytest.raises(motte.errors.InvalidArgumentError, match="query_threads"):
        motte.open(readings, schema=[Reading], query_threads=0)
