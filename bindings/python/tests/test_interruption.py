"""Queries end by Database.interrupt(), by Database.query_timeout and by Ctrl-C, and leave everything as it was."""
from __future__ import annotations

import gc
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import motte
from motte import errors


class Item(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str
    n: int


#: A query that takes a minute: patterns that none of the names has.
LONG = " OR ".join(f"name LIKE '*a*b*c*{number}*'" for number in range(1500))


def filled(db: motte.Database) -> motte.Database:
    with db.write():
        db.add_all([Item(id=number, name="abab"[number % 4] * 180 + f"c{number}", n=number % 10)
                    for number in range(20_000)])
    return db


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="interruption", schema=[Item]) as database:
        yield filled(database)


ASKING: dict[str, Any] = {
    "len": lambda found: len(found),
    "loop": lambda found: list(found),
    "slice": lambda found: found[:3],
    "element": lambda found: found[0],
    "sorted": lambda found: found.sorted("n")[0],
    "distinct": lambda found: len(found.distinct("n")),
    "sum": lambda found: found.sum("n"),
    "groups": lambda found: len(found.group_by("n").count()),
    "numpy": lambda found: found.to_numpy("n"),
    "first": lambda found: found.first(),
}


@pytest.mark.parametrize("asking", ASKING)
def test_what_takes_too_long_is_ended(db: motte.Database, asking: str) -> None:
    if asking == "numpy":
        pytest.importorskip("numpy")
    db.query_timeout = 0
    with pytest.raises(errors.QueryInterruptedError, match="0 ms"):
        ASKING[asking](db.objects(Item).where("n > 4"))
    db.query_timeout = None
    ASKING[asking](db.objects(Item).where("n > 4"))


def test_a_limit_is_a_number_of_seconds(db: motte.Database) -> None:
    assert db.query_timeout is None
    db.query_timeout = 0.1
    assert db.query_timeout == 0.1
    with pytest.raises(errors.QueryInterruptedError, match="100 ms") as caught:
        len(db.objects(Item).where(LONG))
    assert caught.value.code == errors.Code.INTERRUPTED and isinstance(caught.value, errors.StateError)
    assert db.freeze().query_timeout == 0.1
    for wrong in (-1, float("nan")):
        with pytest.raises(errors.InvalidArgumentError):
            db.query_timeout = wrong
    for long in (1e300, float("inf")):
        db.query_timeout = long
        assert len(db.objects(Item).where("n > 4")) == 10_000


def test_another_thread_interrupts(db: motte.Database) -> None:
    done = threading.Event()

    def interrupt() -> None:
        while not done.wait(0.01):
            db.interrupt()
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with db.write(), pytest.raises(errors.QueryInterruptedError):
            db.add(Item(id=-1, name="new", n=100))
            len(db.objects(Item).where(LONG))
    finally:
        done.set()
        thread.join()
    # The write went on, and later queries are not concerned.
    assert [item.id for item in db.objects(Item).where("n == 100")] == [-1]


@pytest.mark.parametrize("asking", ["len", "loop", "element", "sum", "first"])
def test_what_a_handler_of_a_signal_raises_ends_a_query(db: motte.Database, asking: str) -> None:
    class Alarm(BaseException):
        pass

    def ring(*_: Any) -> None:
        raise Alarm
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            ASKING[asking](db.objects(Item).where(LONG))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(db.objects(Item).where("n > 4")) == 10_000


def test_a_handler_that_uses_the_database_is_refused(db: motte.Database) -> None:
    seen: list[BaseException] = []

    def ring(*_: Any) -> None:
        try:
            len(db.objects(Item))
        except errors.Error as error:
            seen.append(error)
            raise
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(errors.ReentrantError):
            # Again and again, should the first one come before the query has begun.
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            len(db.objects(Item).where(LONG))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 1


PROGRAM = """
import signal, sys
# Also where it was begun in the background, where Ctrl-C is passed over.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
import test_interruption as test
db = test.filled(test.motte.open({path!r}, schema=[test.Item]))
try:
    with db.write():
        db.add(test.Item(id=-1, name="new", n=100))
        print("begun", flush=True)
        len(db.objects(test.Item).where(test.LONG))
except KeyboardInterrupt:
    print("interrupted", len(db.objects(test.Item)), db.in_write)
"""


def test_ctrl_c_ends_a_query(tmp_path: pathlib.Path) -> None:
    program = PROGRAM.format(folder=str(pathlib.Path(__file__).parent), path=str(tmp_path / "file.motte"))
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None and running.stdout.readline() == "begun\n"
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=120)
    # What leaves the block of a write cancels it.
    assert output == "interrupted 20000 False\n" and running.returncode == 0


LENGTHY: dict[str, Any] = {
    "export_json": lambda db, path: db.export_json(path),
    "export_csv": lambda db, path: db.export_csv(path, Item),
    "export_sqlite": lambda db, path: db.export_sqlite(path),
    "copy_to": lambda db, path: db.copy_to(path),
}


@pytest.mark.parametrize("work", LENGTHY)
def test_a_signal_ends_long_work(tmp_path: pathlib.Path, work: str) -> None:
    """Also without a progress function; a handler that raises ends the call, which leaves nothing behind."""
    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    def is_stopped(db: motte.Database, path: pathlib.Path, delay: float) -> bool:
        """Whether the call ended before it was done: else what it makes is there."""
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            LENGTHY[work](db, path)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Stop:
            return not path.exists()
        return False

    with motte.open(tmp_path / "long.motte", schema=[Item]) as db:
        filled(db)
        former = signal.signal(signal.SIGALRM, stop)
        try:
            # Machines differ, and one of the delays ends in the middle.
            assert any(is_stopped(db, tmp_path / f"{number}", 0.001 * 1.3 ** number) for number in range(25))
        finally:
            signal.signal(signal.SIGALRM, former)
        assert all(path.stem == "long" or path.stem.isdigit() for path in tmp_path.iterdir())
        assert db.count(Item) == 20_000


def test_an_interrupt_leaves_no_handle_without_an_owner(tmp_path: pathlib.Path) -> None:
    """Also where it comes between a call of the library and what takes its result."""
    class Stop(Exception):
        pass

    is_armed = False

    def stop(*_: Any) -> None:
        if is_armed:
            raise Stop

    with motte.open(tmp_path / "stopped.motte", schema=[Item], durability="none") as db:
        gc.collect()
        handles, interrupts = motte._handles.live_handles(), 0
        former = signal.signal(signal.SIGALRM, stop)
        try:
            for number in range(400):
                with db.write():
                    db.upsert(Item(id=1, name="", n=number))
                try:
                    is_armed = True
                    signal.setitimer(signal.ITIMER_REAL, (number % 60 + 1) * 2e-6)
                    db.freeze()
                    db.objects(Item).where(n=number).group_by("n").count()
                    is_armed = False
                except Stop:
                    is_armed = False
                    interrupts += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        gc.collect()
        assert interrupts > 0 and motte._handles.live_handles() == handles and len(db.readers()) == 1
    assert motte.delete(tmp_path / "stopped.motte")
