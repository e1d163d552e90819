"""Databases that were opened, and have read everything, before a file is compacted read the same afterwards: on the
same thread, on another one, in another process, and frozen."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import everything
import motte
from everything import Item, digest, expected, read

SCALE = int(os.environ.get("MOTTE_TEST_SCALE", "1"))


class Readers:
    """All that has the file open besides the one that writes."""

    def __init__(self, path: pathlib.Path, ids: list[int]) -> None:
        self.path, self.first = path, digest(expected(ids))
        self.here = motte.open(path, schema=[Item])
        self.frozen = self.here.freeze()
        self.thread = ThreadPoolExecutor(1)
        self.there = self.thread.submit(motte.open, path, schema=[Item]).result()
        self.process = subprocess.Popen(
            [sys.executable, everything.__file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.answer() == self.first
        self.check(ids)

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def check(self, ids: list[int]) -> None:
        """They read what they showed before, and then what there is now."""
        wanted = expected(ids)
        assert digest(read(self.frozen)) == self.first
        for db, run in ((self.here, call), (self.there, lambda body: self.thread.submit(body).result())):
            run(lambda db=db: read(db))  # type: ignore[misc]
            run(db.refresh)
            found = run(lambda db=db: read(db))  # type: ignore[misc]
            for (name, mine), (_, theirs) in zip(wanted, found):
                assert mine == theirs, name
        self.ask("stay")
        assert self.ask("refresh") == digest(wanted)

    def close(self) -> None:
        self.frozen.close()
        self.here.close()
        self.thread.submit(self.there.close).result()
        self.thread.shutdown()
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


def call(body: Callable[[], object]) -> object:
    return body()


@pytest.fixture(params=["as usual", "little memory"])
def environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param != "as usual":
        # Whoever touches memory that was given back ends with a signal.
        monkeypatch.setenv("MOTTE_TEST_POISON", "1")
        monkeypatch.setenv("MOTTE_MEMORY", "64K")
    yield request.param


def filled(path: pathlib.Path, count: int, kept: int) -> None:
    """In one write, so that chunks of one column lie side by side, and what is kept at the end."""
    with motte.open(path, schema=[Item]) as db:
        everything.add(db, range(count))
        with db.write():
            db.delete(db.objects(Item).where("id < $0", count - kept))


def test_readers_of_online_compaction(tmp_path: pathlib.Path, environment: str) -> None:
    path = tmp_path / "items.motte"
    count, kept = 3_000 * SCALE, 300
    filled(path, count, kept)
    ids = list(range(count - kept, count))
    before = path.stat().st_size
    with motte.open(path, schema=[Item]) as db:
        readers = Readers(path, ids)
        read(db)
        moved = 0
        for step in range(3):
            moved += db.compact_online(max_bytes=300_000).bytes_moved
            assert read(db) == expected(ids)
            readers.check(ids)
            # Onto the pages that have become free.
            everything.add(db, range(10_000_000 + 30 * step, 10_000_030 + 30 * step))
            ids += range(10_000_000 + 30 * step, 10_000_030 + 30 * step)
            assert read(db) == expected(ids)
            readers.check(ids)
        assert moved > 300_000
        readers.close()
        db.compact_online()
        assert path.stat().st_size < before // 2 and read(db) == expected(ids) and db.verify().is_sound


def test_readers_of_automatic_compaction(tmp_path: pathlib.Path, environment: str) -> None:
    path = tmp_path / "items.motte"
    count, kept = 3_000 * SCALE, 200
    filled(path, count, kept)
    ids = list(range(count - kept, count))
    before = path.stat().st_size
    with motte.open(path, schema=[Item], auto_compact=True) as db:
        readers = Readers(path, ids)
        for step in range(12):
            everything.add(db, [10_000_000 + step])
            ids.append(10_000_000 + step)
            assert read(db) == expected(ids)
            if step % 4 == 3:
                readers.check(ids)
        readers.close()
        # What somebody held is looked at again after 256 commits, at the latest.
        for step in range(12, 290):
            everything.add(db, [10_000_000 + step])
            ids.append(10_000_000 + step)
            if path.stat().st_size < before // 2:
                break
        assert path.stat().st_size < before // 2
        assert read(db) == expected(ids) and db.verify().is_sound


def test_readers_of_whole_compaction_and_another_key(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "items.motte"
    filled(path, 1_500, 400)
    ids = list(range(1_100, 1_500))
    key: bytes | None = None
    for step in range(3):
        with motte.open(path, schema=[Item], encryption_key=key) as db:
            assert read(db) == expected(ids)
            everything.add(db, [10_000_000 + step])
            ids.append(10_000_000 + step)
            frozen = db.freeze()
            assert read(frozen) == expected(ids)
            frozen.close()
            db.compact()
            assert read(db) == expected(ids)
        new = bytes(64) if step == 0 else None
        target = tmp_path / f"other {step}.motte"
        with motte.open(path, schema=[Item], encryption_key=key) as db:
            db.copy_to(target, encryption_key=new)
        path, key = target, new
