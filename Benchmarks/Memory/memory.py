"""Memory and time of what goes through a whole file, by the budget of memory, beside SQLite's of the same rows.

    python Benchmarks/Memory/memory.py [--size MB ...] [--budget BYTES ...] [--processes N ...] [--only OPERATION ...]
                                       [--clock wall|cpu]

Makes files of about so many megabytes (100), and runs each operation in a process of its own under each budget (32M,
256M, none given). Prints seconds, of the clock or of the processor, which say more on a machine that is busy, and the
most memory a process had (ru_maxrss), which for SQLite includes the pages of its cache (2 MB unless said otherwise).
Everything is in the system's page cache before.

With --processes it lets so many at once scan the file and read a hundred thousand objects anywhere in it, and prints
the seconds until the last one is done and what all of them take in megabytes: memory of their own, and with what they
share counted once (Pss). Beside them SQLite, with its cache and with the file mapped (pragma mmap_size).
"""
from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
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


def measured(clock: str, *command: object, environment: dict[str, str] | None = None) -> tuple[float, int]:
    began = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                               env=dict(os.environ, **(environment or {})))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    took = time.perf_counter() - began if clock == "wall" else usage.ru_utime + usage.ru_stime
    return took, usage.ru_maxrss >> 10


INDEXER = """
import sys, motte
class Entry(motte.Model):
    number: int = motte.field(primary_key=True)
    text: str = motte.field(indexed=True)
    group: str
    other: float
motte.open(sys.argv[1], schema=[Entry]).close()
"""

READER = """
import random, sys
path, kind, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
numbers = random.Random(len(path) + rows)
if kind == "motte":
    import motte
    db = motte.open(path, read_only=True)
    entry = db.model("Entry")
    print("open", flush=True)
    sys.stdin.readline()
    found = len(db.objects(entry).where("text CONTAINS 'zz'"))
    for _ in range(100_000):
        found += len(db.get(entry, numbers.randrange(rows)).text)
else:
    import sqlite3
    db = sqlite3.connect("file:" + path + "?mode=ro", uri=True)
    if kind == "mapped":
        db.execute("pragma mmap_size = 17179869184")
    print("open", flush=True)
    sys.stdin.readline()
    found = db.execute("select count(*) from entry where instr(text, 'zz')").fetchone()[0]
    for _ in range(100_000):
        found += len(db.execute("select text from entry where number = ?", [numbers.randrange(rows)]).fetchone()[0])
print(found, flush=True)
sys.stdin.readline()
"""


def taken(process: subprocess.Popen[str]) -> tuple[int, int]:
    """Kilobytes of a process's own, and with its part of what others have as well."""
    own = shared = 0
    for line in pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            own = int(line.split()[1])
        if line.startswith("Pss:"):
            shared = int(line.split()[1])
    return own, shared


def many(count: int, path: pathlib.Path, kind: str, rows: int, budget: str) -> tuple[float, int, int]:
    environment = dict(os.environ, **({"MOTTE_MEMORY": budget} if budget else {}))
    running = [subprocess.Popen([sys.executable, "-c", READER, str(path), kind, str(rows)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, env=environment) for _ in range(count)]

    def say(process: subprocess.Popen[str]) -> None:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()

    def answer(process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return process.stdout.readline()

    for process in running:
        assert answer(process) == "open\n"
    began = time.perf_counter()
    for process in running:
        say(process)
    if len({answer(process) for process in running}) != 1:
        raise SystemExit("processes have found different things")
    took = time.perf_counter() - began
    figures = [taken(process) for process in running]
    for process in running:
        say(process)
        process.wait()
    return took, sum(own for own, _ in figures) >> 10, sum(shared for _, shared in figures) >> 10


def compare_processes(counts: list[int], folder: pathlib.Path, size: int, budgets: list[str]) -> None:
    path, other = folder / "file.motte", folder / "file.sqlite"
    kinds = [("motte", path, budget) for budget in budgets] + [("sqlite", other, ""), ("mapped", other, "")]
    print("processes: seconds, MB of their own, MB with what they share")
    for count in counts:
        for kind, file, budget in kinds:
            took, own, shared = many(count, file, kind, size * 3000, budget)
            print(f"{count:3} {kind:7} {budget:>7} {took:7.2f} {own:6} {shared:6}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[100])
    parser.add_argument("--budget", nargs="+", default=["32M", "256M", ""])
    parser.add_argument("--processes", type=int, nargs="+", default=[])
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--only", nargs="+", default=[], help="operations by their names, such as 'verify'")
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
            if arguments.processes:
                print(f"{path.stat().st_size / 1e6:.0f} MB, SQLite {other.stat().st_size / 1e6:.0f} MB")
                compare_processes(arguments.processes, folder, size, arguments.budget)
                continue
            copy, out = folder / "copy.motte", folder / "out"
            changed, changed_other = folder / "changed.motte", folder / "changed.sqlite"
            operations = {
                "scan of a text": (TOOL, "query", path, "Entry", "text CONTAINS 'zz'"),
                "sum": (TOOL, "query", path, "Entry", "GROUP() SUM(other)"),
                "group by a text": (TOOL, "query", path, "Entry", "GROUP(group) COUNT"),
                "sort, first 100": (TOOL, "query", path, "Entry", "SORT(other DESC) LIMIT(100)"),
                "sort by a text": (TOOL, "query", path, "Entry", f"SORT(text ASC) OFFSET({size * 3000 - 10})"),
                "verify": (TOOL, "verify", path),
                "copy": (TOOL, "copy", path, copy),
                "export as JSON": (TOOL, "export", path, "Entry", "--output", out),
                "index of a text": (sys.executable, "-c", INDEXER, changed),
            }
            statements = {
                "scan of a text": "select * from entry where instr(text, 'zz')",
                "sum": "select sum(other) from entry",
                "group by a text": "select grouped, count(*) from entry group by grouped",
                "sort, first 100": "select * from entry order by other desc limit 100",
                "sort by a text": f"select * from entry order by text limit 10 offset {size * 3000 - 10}",
                "verify": "pragma integrity_check",
                "copy": f"vacuum into '{copy}'",
                "index of a text": "create index texts on entry (text)",
            }
            print(f"{path.stat().st_size / 1e6:.0f} MB, SQLite {other.stat().st_size / 1e6:.0f} MB; seconds, MB")
            for what, command in operations.items():
                if arguments.only and what not in arguments.only:
                    continue
                line = f"{what:18}"
                for budget in arguments.budget:
                    for left in (copy, out):
                        left.unlink(missing_ok=True)
                    if changed in command:
                        shutil.copyfile(path, changed)
                    took, peak = measured(
                        arguments.clock, *command, environment={"MOTTE_MEMORY": budget} if budget else None)
                    line += f"  {budget or 'default':>7} {took:6.2f} {peak:5}"
                if statement := statements.get(what):
                    copy.unlink(missing_ok=True)
                    if changed in command:
                        shutil.copyfile(other, changed_other)
                    asked = changed_other if changed in command else other
                    program = f"import sqlite3; list(sqlite3.connect({str(asked)!r}).execute({statement!r}))"
                    took, peak = measured(arguments.clock, sys.executable, "-c", program)
                    line += f"  SQLite {took:6.2f} {peak:5}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
