"""Replication beside what does the same without it, in turn:

    python Benchmarks/Changes/replication.py [--objects 1000000] [--commits 500] [--rounds 3]

1. Commits of one change: read as batches and applied to another file, beside making them.
2. From a commit to an observer in another process of another file: `motte ship`, a server on this machine, `motte
   follow`, an observer in Python there.
3. Commits that a server acknowledges before they are made, beside messages of the same size that a small program in C
   publishes to such a stream: one server, and three of which a majority has to have it. A commit is flushed to the disk
   of its own machine too, so it is measured without that as well, and the flushed commit by itself.
4. A new follower of a file of many objects, from a folder and from a server, beside `motte copy`.

Medians of all rounds; nothing is measured beside something else, but for what belongs to it.
"""
from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager

import motte
from motte import Model, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Tool"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Machines"))

from application import Acknowledged
from nats_server import SERVER, Server
from network import NAMES, Machines
from running import TOOL, until

#: What stands around a batch in a message: LogPart.
HEADER_BYTES = 64


class Person(Model):
    id: int = field(primary_key=True)
    name: str
    age: int
    score: float


def made(path: pathlib.Path, count: int) -> pathlib.Path:
    with motte.open(path, schema=[Person]) as db, db.write():
        db.insert_columns(Person, {
            "id": list(range(count)), "name": [f"person {number}" for number in range(count)],
            "age": [number % 100 for number in range(count)], "score": [number / 7 for number in range(count)]})
    return path


def tool(*arguments: object) -> float:
    start = time.perf_counter()
    subprocess.run([TOOL, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


@contextmanager
def running(*arguments: object) -> Generator[None]:
    process = subprocess.Popen([TOOL, *map(str, arguments)], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def percentiles(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[len(ordered) // 2]:.2f} ms, 99 % within {ordered[len(ordered) * 99 // 100]:.2f} ms"


# ---------------------------------------------------------------------------------------------------- 1

def batches(folder: pathlib.Path, count: int) -> None:
    with motte.open(made(folder / "leader.motte", 1_000), schema=[Person]) as db, \
            motte.open(folder / "copy.motte", schema=[Person]) as copy:
        db.keep_changes(db.version)
        copy.apply(db.changes_since(0))
        direct, applied = [], []
        for number in range(count):
            version, start = db.version, time.perf_counter()
            with db.write():
                db.at(Person, number % 1_000).age = number + 200
            middle = time.perf_counter()
            copy.apply(db.changes_since(version))
            applied.append(time.perf_counter() - middle)
            direct.append(middle - start)
    made_s, applied_s = statistics.median(direct), statistics.median(applied)
    print(f"1. {count} flushed commits of one change: made {1 / made_s:.0f} a second, read and applied "
          f"{1 / applied_s:.0f} a second: {applied_s / made_s:.2f} x", flush=True)


# ---------------------------------------------------------------------------------------------------- 2

def observe(path: str) -> None:
    """In a process of its own: a line with the number of each change, and when it was noticed."""
    with motte.open(path, schema=[Person], create=False) as db:
        person = db.at(Person, 0)

        def notified(changes: object) -> None:
            print(person.age, time.monotonic_ns(), flush=True)

        token = db.objects(Person).observe(notified)
        while True:
            db.dispatch(None)
        token.stop()


def to_observer(folder: pathlib.Path, server: Server, count: int) -> None:
    leader, copy, place = made(folder / "leader.motte", 100), folder / "copy.motte", server.place("observed")
    tool("ship", leader, "--to", place, "--once")
    tool("follow", copy, "--from", place, "--once")
    with running("ship", leader, "--to", place), running("follow", copy, "--from", place), \
            motte.open(leader, schema=[Person]) as db, \
            subprocess.Popen([sys.executable, __file__, "--observe", copy], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        begun, returned, noticed = {}, {}, {}
        person = db.at(Person, 0)
        for number in range(1_000, 1_000 + count):
            begun[number] = time.monotonic_ns()
            with db.write():
                person.age = number
            returned[number] = time.monotonic_ns()
            while number not in noticed:
                value, when = other.stdout.readline().split()
                noticed[int(value)] = int(when)
            time.sleep(0.003)
        other.kill()

    def after(times: dict[int, int]) -> str:
        return percentiles([(noticed[number] - times[number]) / 1e6 for number in noticed if number in times])

    print(f"2. from a commit that returned to an observer by a server: {after(returned)}; from its beginning "
          f"{after(begun)}", flush=True)


# ---------------------------------------------------------------------------------------------------- 3

class Counting(Acknowledged):
    """Notes how large a message is."""

    def __call__(self, batch: motte.ChangesBatch) -> None:
        self.size = len(bytes(batch)) + HEADER_BYTES
        super().__call__(batch)


def commits(path: pathlib.Path, durability: str, count: int, asked: pathlib.Path | None) -> tuple[list[float], int]:
    with motte.open(path, schema=[Person], durability=durability) as db:
        asking = Counting(str(asked)) if asked else None
        db.on_commit(asking)
        person = db.at(Person, 0)
        took = []
        for number in range(count):
            start = time.perf_counter()
            with db.write():
                person.age = number + 1_000
            took.append((time.perf_counter() - start) * 1e3)
        return took, asking.size if asking else 0


def is_acknowledging(path: pathlib.Path, asked: pathlib.Path) -> bool:
    """Servers that have just begun agree on who leads them first."""
    try:
        commits(path, "none", 1, asked)
    except (RuntimeError, OSError):
        return False
    return True


def acknowledged(folder: pathlib.Path, place: str, what: str, count: int, rounds: int) -> None:
    leader, asked, program = made(folder / "leader.motte", 100), folder / "asked", folder / "publish"
    subprocess.run(["cc", "-O2", "-o", program, pathlib.Path(__file__).with_name("publish.c"), "-ldl"], check=True)
    address, name = place.rsplit("/", 1)
    found: dict[str, list[float]] = {"published": [], "flushed": [], "not flushed": [], "alone": [], "none": []}
    with running("ship", leader, "--to", place, "--acknowledge", asked, "--snapshot-bytes", 1 << 30):
        until(lambda: is_acknowledging(leader, asked))
        _, size = commits(leader, "none", 20, asked)
        # A stream as this one, of which nobody reads.
        tool("ship", made(folder / "other.motte", 1), "--to", f"{address}/{name}_published", "--once")
        for _ in range(rounds):
            done = subprocess.run(
                [program, address.split(",")[0], f"motte.{name}_published.changes", str(size), str(count)], check=True,
                capture_output=True, text=True)
            found["published"] += [float(line) / 1e3 for line in done.stdout.split()]
            found["not flushed"] += commits(leader, "none", count, asked)[0]
            found["flushed"] += commits(leader, "full", count, asked)[0]
            alone = made(folder / "alone.motte", 100)
            found["alone"] += commits(alone, "full", count, None)[0]
            found["none"] += commits(alone, "none", count, None)[0]
            alone.unlink()
    published, flushed, plain, alone_ms, none = (
        statistics.median(found[each]) for each in ("published", "flushed", "not flushed", "alone", "none"))
    print(f"3. {what}: {size} bytes published and acknowledged {published:.3f} ms; an acknowledged commit "
          f"{plain:.3f} ms without a flush ({plain / published:.2f} x), {flushed:.3f} ms with one "
          f"({flushed / published:.2f} x; {flushed / (published + alone_ms):.2f} x publishing and a flushed commit, "
          f"which takes {alone_ms:.3f} ms by itself, {none:.3f} ms without the flush)", flush=True)


@contextmanager
def three_servers(folder: pathlib.Path) -> Generator[str]:
    machines = Machines(folder, isolated=False)
    processes = []
    for name in NAMES:
        routes = ", ".join(f'"nats://{machines.address(each)}:6222"' for each in NAMES)
        configuration = folder / f"{name}.conf"
        configuration.write_text(
            f'server_name: {name}\nlisten: "{machines.address(name)}:4222"\n'
            f'jetstream {{ store_dir: "{folder / name}" }}\n'
            f'cluster {{ name: people, listen: "{machines.address(name)}:6222", routes: [{routes}] }}\n')
        processes.append(subprocess.Popen([SERVER, "-c", configuration], stderr=subprocess.DEVNULL))
    try:
        yield "nats://" + ",".join(f"{machines.address(name)}:4222" for name in NAMES) + "/people"
    finally:
        for process in processes:
            process.kill()
            process.wait()


# ---------------------------------------------------------------------------------------------------- 4

def new_followers(folder: pathlib.Path, server: Server, count: int, rounds: int) -> None:
    leader, log, place = made(folder / "leader.motte", count), folder / "log", server.place("many")
    tool("ship", leader, "--to", log, "--once")
    tool("ship", made(folder / "same.motte", count), "--to", place, "--once")
    took: dict[str, list[float]] = {"a copy": [], "from a folder": [], "from a server": []}
    for _ in range(rounds):
        path = folder / "new.motte"
        for name, command in (("a copy", ["copy", leader, path]),
                              ("from a folder", ["follow", path, "--from", log, "--once"]),
                              ("from a server", ["follow", path, "--from", place, "--once"])):
            took[name].append(tool(*command))
            for left in folder.glob("new.motte*"):
                left.unlink()
    copy = statistics.median(took["a copy"])
    print(f"4. {count} objects, {leader.stat().st_size >> 20} MB: a copy {copy:.2f} s; a new follower " + ", ".join(
        f"{name} {statistics.median(took[name]):.2f} s ({statistics.median(took[name]) / copy:.2f} x)"
        for name in ("from a folder", "from a server")), flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--observe"]:
        return observe(sys.argv[2])
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--objects", type=int, default=1_000_000)
    arguments.add_argument("--commits", type=int, default=500)
    arguments.add_argument("--rounds", type=int, default=3)
    wanted = arguments.parse_args()

    def folder() -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="motte-replication-")

    with folder() as name:
        batches(pathlib.Path(name), wanted.commits * 2)
    with folder() as name, folder() as own:
        server = Server(pathlib.Path(own))
        try:
            to_observer(pathlib.Path(name), server, wanted.commits)
            with folder() as other:
                acknowledged(pathlib.Path(other), server.place("asked"), "one server", wanted.commits, wanted.rounds)
            with folder() as other:
                new_followers(pathlib.Path(other), server, wanted.objects, wanted.rounds)
        finally:
            server.end()
    with folder() as name, folder() as own, three_servers(pathlib.Path(own)) as place:
        acknowledged(pathlib.Path(name), place, "three servers", wanted.commits, wanted.rounds)


if __name__ == "__main__":
    main()
