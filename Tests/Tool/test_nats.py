"""`motte ship`, `follow`, `status` and `restore` by a NATS server: live copies, logins, kills, batches in parts."""
from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"

pytestmark = pytest.mark.skipif(
    not pathlib.Path(SERVER).exists() and os.environ.get("CI") != "true",
    reason="there is no nats-server; scripts/setup.sh installs it")


class Server:
    """A server of its own, with its port and its files."""

    def __init__(self, folder: pathlib.Path, more: str = "") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.configuration = folder / "server.conf"
        self.configuration.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{folder}/store" }}\n{more}\n')
        self.log = folder / "server.log"
        self.begin()

    def begin(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen([SERVER, "-c", self.configuration], stdout=log, stderr=log)
        until(self.answers)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4) == b"INFO"
        except OSError:
            return False

    def end(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait(timeout=30)

    def place(self, name: str = "people", login: str = "") -> str:
        return f"nats://{login}127.0.0.1:{self.port}/{name}"


def until(check: Callable[[], bool], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.02)


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.end()


_running: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    while _running:
        process = _running.pop()
        process.kill()
        process.communicate()


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**os.environ, **variables})


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def begin(*arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [TOOL, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _running.append(process)
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
    _running.remove(process)


def made(path: pathlib.Path, count: int = 3, text: str = "name") -> pathlib.Path:
    rows = path.with_suffix(".csv")
    rows.write_text("id,name\n" + "".join(f"{number},{text} {number}\n" for number in range(count)))
    done("import", path, "Person", rows, "--key", "id", "--update", "all")
    return path


def content(path: pathlib.Path) -> str:
    return done("query", path, "Person", "TRUEPREDICATE SORT(id ASC)", "--format", "json")


def test_a_copy_follows_by_a_server(server: Server, tmp_path: pathlib.Path) -> None:
    leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
    nobody = run("follow", copy, "--from", server.place(), "--once")
    assert nobody.returncode == 1 and "nobody has shipped" in nobody.stderr
    begin("ship", leader, "--to", server.place(), "--name", "desk")
    begin("follow", copy, "--from", server.place())
    until(lambda: copy.exists() and run("status", copy).returncode == 0)
    for count in range(4, 8):
        made(leader, count)
        until(lambda: content(copy) == content(leader))
    refused = run("delete", copy, "Person", "TRUEPREDICATE")
    assert refused.returncode == 1 and "follows desk" in refused.stderr
    status = done("status", copy, "--prometheus")
    assert 'motte_healthy{file="' in status and 'motte_lag_versions' in status
    restored = tmp_path / "restored.motte"
    done("restore", restored, "--from", server.place())
    assert content(restored) == content(leader)


def test_a_batch_is_larger_than_a_message(tmp_path: pathlib.Path) -> None:
    server = Server(tmp_path, "max_payload: 16384")
    try:
        leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
        done("ship", leader, "--to", server.place(), "--once", "--snapshot-bytes", 1 << 30)
        done("follow", copy, "--from", server.place(), "--once")
        made(leader, 20_000, "a longer name")
        done("ship", leader, "--to", server.place(), "--once", "--snapshot-bytes", 1 << 30)
        assert "applied changes" in done("follow", copy, "--from", server.place(), "--once")
        assert content(copy) == content(leader)
    finally:
        server.end()


def test_what_is_kept_for_no_time_still_begins_followers(server: Server, tmp_path: pathlib.Path) -> None:
    """A purge up to the stream's first message is one of everything to the server."""
    leader = made(tmp_path / "leader.motte")
    for count in (3, 6, 9):
        made(leader, count)
        done("ship", leader, "--to", server.place(), "--once", "--keep-for", 0, "--snapshot-bytes", 1)
        copy = tmp_path / f"copy-{count}.motte"
        done("follow", copy, "--from", server.place(), "--once")
        assert content(copy) == content(leader)


def stopped(*processes: subprocess.Popen[str]) -> bool:
    """Fails where one has ended by itself."""
    for process in processes:
        assert process.poll() is None, process.communicate()[1]
    return False


def test_processes_and_servers_that_are_killed_go_on(server: Server, tmp_path: pathlib.Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
    for round in range(6):
        shipping = begin("ship", leader, "--to", server.place(), "--snapshot-bytes", 2_000)
        following = begin("follow", copy, "--from", server.place())
        for count in range(3):
            made(leader, 5 + 3 * round + count, f"name {chance.randrange(1000)}")
            if chance.random() < 0.3:
                server.end()
                server.begin()
        until(lambda: (copy.exists() and run("status", copy).returncode == 0) or stopped(shipping, following))
        for process in (shipping, following):
            if chance.random() < 0.7:
                end(process)
    while _running:
        end(_running[0])
    done("ship", leader, "--to", server.place(), "--once")
    done("follow", copy, "--from", server.place(), "--once")
    assert content(copy) == content(leader)


def test_a_second_leader_is_refused(server: Server, tmp_path: pathlib.Path) -> None:
    leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
    shipping = begin("ship", leader, "--to", server.place(), "--name", "desk")
    until(lambda: run("follow", copy, "--from", server.place(), "--once").returncode == 0)
    other = run("ship", made(tmp_path / "other.motte"), "--to", server.place(), "--once")
    assert other.returncode == 1 and "has the changes of desk" in other.stderr
    done("follow", copy, "--stop")
    done("ship", copy, "--to", server.place(), "--take-over", "--once", "--name", "laptop")
    made(leader, 9)
    _, said = shipping.communicate(timeout=60)
    _running.remove(shipping)
    assert shipping.returncode == 1 and "laptop has taken over" in said


def test_logins(tmp_path: pathlib.Path) -> None:
    server = Server(tmp_path, 'authorization { user: "ada", password: "sec-ret" }')
    try:
        leader = made(tmp_path / "leader.motte")
        for login in ("", "ada:wrong@"):
            refused = run("ship", leader, "--to", server.place(login=login), "--once")
            assert refused.returncode == 1 and "wrong" not in refused.stderr, refused.stderr
        login = "ada:sec-ret@"
        done("ship", leader, "--to", server.place(login=login), "--once")
        copy = tmp_path / "copy.motte"
        done("follow", copy, "--from", server.place(login=login), "--once")
        assert "sec-ret" not in run("status", copy).stdout
        assert "lag       0" in done("status", copy, "--folder", server.place(login=login))
        assert b"sec-ret" not in copy.read_bytes()
    finally:
        server.end()


def test_another_server_is_asked_where_one_is_gone(server: Server, tmp_path: pathlib.Path) -> None:
    leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
    place = f"nats://127.0.0.1:1,127.0.0.1:{server.port}/people"
    done("ship", leader, "--to", place, "--once")
    done("follow", copy, "--from", place, "--once")
    assert content(copy) == content(leader)


def test_what_is_missing_is_said(server: Server, tmp_path: pathlib.Path) -> None:
    leader = made(tmp_path / "leader.motte")
    without = run("ship", leader, "--to", server.place(), "--once", MOTTE_LIBNATS="/nowhere/libnats.so")
    assert without.returncode == 1 and "install libnats" in without.stderr
    for place in ("nats://127.0.0.1:1/people", "nats://127.0.0.1", "ftp://one/two", "nats://one/a.b"):
        wrong = run("ship", leader, "--to", place, "--once")
        assert wrong.returncode != 0 and wrong.stderr
    server.end()
    gone = run("status", leader, "--folder", server.place())
    assert gone.returncode == 1 and "problem" in gone.stdout
