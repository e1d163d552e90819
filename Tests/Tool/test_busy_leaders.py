"""Leaders and followers whose files others use: who write for long, or without a pause, or have them open; and commits
that are large, on a slow line."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator

import pytest
from nats_server import Server, needed
from running import begin, done, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running
from test_nats import server

import motte

__all__ = ["server"]

BYTES_PER_SECOND = 3_000_000


@contextlib.contextmanager
def slow_line(server: Server) -> Generator[int, None, None]:
    """A port that leads to the server's."""
    listening = socket.create_server(("127.0.0.1", 0))

    def pass_on(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                time.sleep(len(data) / BYTES_PER_SECOND)
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = listening.accept()
                there = socket.create_connection(("127.0.0.1", server.port))
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.close()


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    content: bytes = b""


def count(path: pathlib.Path) -> int:
    with motte.open(path, schema=[Row], read_only=True) as db:
        return db.count(Row)


@needed
def test_a_busy_leader_stays_the_leader(server: Server, tmp_path: pathlib.Path) -> None:
    leader, other = tmp_path / "leader.motte", tmp_path / "other.motte"
    with slow_line(server) as port, motte.open(leader, schema=[Row]) as db:
        with db.write():
            db.add(Row(id=0))
        options = ["--may-lead", "--lease", 2]
        place = f"nats://127.0.0.1:{port}/people"
        leading = begin("follow", leader, "--from", place, *options, "--name", "desk")
        until(lambda: run("follow", tmp_path / "look.motte", "--from", server.place(), "--once").returncode == 0)
        begin("follow", other, "--from", server.place(), *options, "--name", "laptop")
        until(lambda: other.exists() and run("status", other).returncode == 0)
        # Always something to ship, for longer than a heartbeat's period, and until the change log may be shortened.
        ids, end = iter(range(1, 1 << 30)), time.monotonic() + 8
        last = 0
        while time.monotonic() < end or last < 1_100:
            last = next(ids)
            with db.write():
                db.add(Row(id=last))
        shown = re.search(r"heartbeat ([0-9.]+) s ago", run("status", other).stdout)
        assert shown is not None and float(shown[1]) < 7.5
        with db.write():
            db.add(Row(id=next(ids)))
            time.sleep(5)
        with db.write():
            for _ in range(12):
                db.add(Row(id=next(ids), content=os.urandom(1 << 20)))
        expected = db.count(Row)
        until(lambda: count(other) == expected, 60)
        assert count(leader) == expected
        assert list(tmp_path.glob("*.former-*")) == list(tmp_path.glob("*.unshipped-*")) == []
        assert not expect_running(leading) and "follows   desk" in run("status", other).stdout


WRITER = """
import sys
import motte
db = motte.open(sys.argv[1])
with db.write():
    row = db.add(db.model("Row")(id=int(sys.argv[2])))
while True:
    with db.write():
        row.content = b"x" if row.content == b"" else b""
"""


def test_the_change_log_is_shortened_among_writers_without_a_pause(tmp_path: pathlib.Path) -> None:
    """Whoever does not wait for the write lock never has it there."""
    leader = tmp_path / "leader.motte"
    with motte.open(leader, schema=[Row]) as db:
        with db.write():
            db.add(Row(id=100))
        shipping = begin("ship", leader, "--to", tmp_path / "log")
        until(lambda: kept_from(db) > 0)
        first = kept_from(db)
        command = [sys.executable, "-c", WRITER, leader]
        writers = [subprocess.Popen([*command, str(number)]) for number in range(3)]
        try:
            until(lambda: expect_running(shipping) or kept_from(db) > first, 120)
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()


def kept_from(db: motte.Database) -> int:
    """0 where nobody has asked for that yet."""
    db.refresh()
    return max((consumer.version for consumer in db.change_consumers()), default=0)


@pytest.mark.parametrize("locks", [False, True])
def test_a_follower_waits_for_who_has_its_file_open(tmp_path: pathlib.Path, locks: bool) -> None:
    """Also where the file for locks is in a folder of its own."""
    leader, copy, log = tmp_path / "leader.motte", tmp_path / "copy.motte", tmp_path / "log"
    folder = tmp_path / "locks"
    folder.mkdir()
    options = ["--lock-directory", folder] if locks else []
    with motte.open(leader, schema=[Row]) as db, db.write():
        db.add(Row(id=1))
    done("ship", leader, "--to", log, "--once")
    done("follow", copy, "--from", log, "--once", *options)

    def step(migration: motte.Migration) -> None:
        for row in migration.new.objects("Row"):
            row.id += 10

    motte.open(leader, schema=[Row], schema_version=1, migration=step).close()
    done("ship", leader, "--to", log, "--once")
    with motte.open(copy, lock_directory=folder if locks else None) as reader:
        following = begin("follow", copy, "--from", log, *options)
        time.sleep(1)
        assert not expect_running(following) and reader.count("Row") == 1
    until(lambda: expect_running(following) or "11" in run("query", copy, "Row", *options).stdout)
    assert [*tmp_path.glob("copy.motte*")] == [copy] or not locks
