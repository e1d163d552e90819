"""A leader that has much to do stays the leader: others write for long, commits are large and the line is slow."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import socket
import threading
import time
from collections.abc import Generator

from nats_server import Server, needed
from running import begin, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running
from test_nats import server

import motte

__all__ = ["server"]

pytestmark = needed

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
