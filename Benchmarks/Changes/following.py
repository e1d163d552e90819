"""Copies that follow by a folder: a new follower beside a copy of the file, and commits to followers beside commits.

    python Benchmarks/Changes/following.py [OBJECTS]

The followers of OBJECTS (a million) begin with a snapshot; three times each, in turn with `motte copy`, and the best
counts, both read from and written to files that are in memory already. Then 1,000 durable commits of one change are
shipped as batches of one commit each, and applied durably.
"""
from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import time

import motte
from motte import Model, field

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"


class Person(Model):
    id: int = field(primary_key=True)
    name: str
    age: int
    score: float


def tool(*arguments: object) -> float:
    start = time.perf_counter()
    subprocess.run([TOOL, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def new_followers(folder: pathlib.Path, count: int) -> None:
    leader, log = folder / "leader.motte", folder / "log"
    with motte.open(leader, schema=[Person]) as db, db.write():
        db.insert_columns(Person, {
            "id": list(range(count)), "name": [f"person {number}" for number in range(count)],
            "age": [number % 100 for number in range(count)], "score": [number / 7 for number in range(count)]})
    first = tool("ship", leader, "--to", log, "--once")
    copies, followers = [], []
    for number in range(3):
        copies.append(tool("copy", leader, folder / f"copy-{number}.motte"))
        followers.append(tool("follow", folder / f"follower-{number}.motte", "--from", log, "--once"))
    print(f"{count} objects, {leader.stat().st_size >> 20} MB: a copy {min(copies):.2f} s, the first snapshot "
          f"{first:.2f} s, a new follower {min(followers):.2f} s, {min(followers) / min(copies):.2f} times a copy")


def commits(folder: pathlib.Path, count: int) -> None:
    leader, copy = folder / "small.motte", folder / "small-copy.motte"
    with motte.open(leader, schema=[Person]) as db, motte.open(copy, schema=[Person]) as follower:
        with db.write():
            for number in range(100):
                db.add(Person(id=number, name="someone", age=1, score=0.5))
        db.keep_changes(db.version)
        follower.apply(db.changes_since(0))
        direct = applied = 0.0
        for number in range(count):
            version, start = db.version, time.perf_counter()
            with db.write():
                db.at(Person, number % 100).age = number + 2
            middle = time.perf_counter()
            follower.apply(db.changes_since(version))
            applied += time.perf_counter() - middle
            direct += middle - start
    print(f"{count} durable commits: {count / direct:.0f} a second, read and applied {count / applied:.0f} a second, "
          f"{applied / direct:.2f} times as long")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        new_followers(pathlib.Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
        commits(pathlib.Path(name), 1_000)


if __name__ == "__main__":
    main()
