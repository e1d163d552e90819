"""Memory and time of what goes through a whole file, by the budget of memory, beside SQLite's of the same rows.

    python Benchmarks/Memory/memory.py [--size MB ...] [--budget BYTES ...]

Makes files of about so many megabytes (100), and runs each operation in a process of its own under each budget (32M,
256M, none given). Prints seconds and the most memory a process had (ru_maxrss), which for SQLite includes the pages of
its cache (2 MB unless said otherwise). Everything is in the system's page cache before.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import motte
from motte import Model, field

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"


class Entry(Model):
    number: int = field(primary_key=True)
    text: str
    group: str
    other: float


def rows(count: int) -> Iterator[tuple[int, str, str, float]]:
    letters = random.Random(1)
    for number in range(count):
        yield number, letters.randbytes(150).hex(), f"group {number % 1000}", number * 0.37


def make(folder: pathlib.Path, megabytes: int) -> None:
    path, other, count = folder / "file.motte", folder / "file.sqlite", megabytes * 3000
    peer = sqlite3.connect(other)
    peer.execute("create table entry (number integer primary key, text text, grouped text, other real)")
    with motte.open(path, schema=[Entry]) as db:
        pending = rows(count)
        for first in range(0, count, 100_000):
            part = [next(pending) for _ in range(min(100_000, count - first))]
            with db.write():
                db.insert_columns(Entry, {"number": [row[0] for row in part], "text": [row[1] for row in part],
                                          "group": [row[2] for row in part], "other": [row[3] for row in part]})
            peer.executemany("insert into entry values (?, ?, ?, ?)", part)
    peer.commit()
    peer.close()


def measured(*command: object, environment: dict[str, str] | None = None) -> tuple[float, int]:
    began = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                               env=dict(os.environ, **(environment or {})))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return time.perf_counter() - began, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[100])
    parser.add_argument("--budget", nargs="+", default=["32M", "256M", ""])
    parser.add_argument("--make", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        return make(arguments.make, arguments.size[0])
    for size in arguments.size:
        with tempfile.TemporaryDirectory(dir=pathlib.Path(__file__).parent) as name:
            folder = pathlib.Path(name)
            # In a process of its own, since the most that this one had is counted with what it starts.
            subprocess.run([sys.executable, __file__, "--make", folder, "--size", str(size)], check=True)
            path, other = folder / "file.motte", folder / "file.sqlite"
            copy, out = folder / "copy.motte", folder / "out"
            operations = {
                "scan of a text": (TOOL, "query", path, "Entry", "text CONTAINS 'zz'"),
                "sum": (TOOL, "query", path, "Entry", "GROUP() SUM(other)"),
                "group by a text": (TOOL, "query", path, "Entry", "GROUP(group) COUNT"),
                "sort, first 100": (TOOL, "query", path, "Entry", "SORT(other DESC) LIMIT(100)"),
                "verify": (TOOL, "verify", path),
                "copy": (TOOL, "copy", path, copy),
                "export as JSON": (TOOL, "export", path, "Entry", "--output", out),
            }
            statements = {
                "scan of a text": "select * from entry where instr(text, 'zz')",
                "sum": "select sum(other) from entry",
                "group by a text": "select grouped, count(*) from entry group by grouped",
                "sort, first 100": "select * from entry order by other desc limit 100",
                "verify": "pragma integrity_check",
            }
            print(f"{path.stat().st_size / 1e6:.0f} MB, SQLite {other.stat().st_size / 1e6:.0f} MB; seconds, MB")
            for what, command in operations.items():
                line = f"{what:18}"
                for budget in arguments.budget:
                    for left in (copy, out):
                        left.unlink(missing_ok=True)
                    took, peak = measured(*command, environment={"MOTTE_MEMORY": budget} if budget else None)
                    line += f"  {budget or 'default':>7} {took:6.2f} {peak:5}"
                if statement := statements.get(what):
                    program = f"import sqlite3; list(sqlite3.connect({str(other)!r}).execute({statement!r}))"
                    took, peak = measured(sys.executable, "-c", program)
                    line += f"  SQLite {took:6.2f} {peak:5}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
