"""`motte ship`, `follow`, `status` and `restore` by a NATS server: live copies, kills, batches in parts."""
from __future__ import annotations

import pathlib
import random
from collections.abc import Iterator

import pytest
from nats_server import Server, ask, needed
from running import begin, done, end, end_all, ended, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running

pytestmark = needed


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.end()


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


def test_what_a_killed_leader_has_left_is_removed(server: Server, tmp_path: pathlib.Path) -> None:
    leader, temporary = made(tmp_path / "leader.motte", 300_000, "a longer name"), tmp_path / "temporary"
    temporary.mkdir()
    kills = 0
    while kills < 3:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TMPDIR", str(temporary))
            shipping = begin("ship", leader, "--to", server.place(), "--snapshot-bytes", 1)
        until(lambda: any(folder.stat().st_size for folder in temporary.glob("motte-snapshot-*/*")))
        end(shipping)
        left = list(temporary.iterdir())
        # Each removes what the one before has left.
        assert len(left) <= 1
        kills += len(left)
        made(leader, kills + 1, "another name")
    assert run("ship", leader, "--to", server.place(), "--once", TMPDIR=str(temporary)).returncode == 0
    assert list(temporary.iterdir()) == []
    done("follow", tmp_path / "copy.motte", "--from", server.place(), "--once")
    assert content(tmp_path / "copy.motte") == content(leader)


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


def test_all_that_is_old_goes_at_once_where_nothing_is_waited_for(tmp_path: pathlib.Path) -> None:
    server = Server(tmp_path, "max_payload: 6144")
    try:
        leader = made(tmp_path / "leader.motte")
        done("ship", leader, "--to", server.place(), "--once", "--snapshot-bytes", 1 << 30)
        made(leader, 20_000, "a longer name")
        done("ship", leader, "--to", server.place(), "--once", "--snapshot-bytes", 1 << 30)
        made(leader, 4, "another name")
        done("ship", leader, "--to", server.place(), "--once", "--snapshot-bytes", 1, "--keep-for", 0)
        state = (ask("127.0.0.1", server.port, "$JS.API.STREAM.INFO.MOTTE_people") or {})["state"]
        # The batch had more parts than are removed between two steps.
        assert state["last_seq"] > 200 and state["messages"] < 5, state
        done("follow", tmp_path / "copy.motte", "--from", server.place(), "--once")
        assert content(tmp_path / "copy.motte") == content(leader)
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
        until(lambda: (copy.exists() and run("status", copy).returncode == 0) or expect_running(shipping, following))
        for process in (shipping, following):
            if chance.random() < 0.7:
                end(process)
    end_all()
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
    said = ended(shipping)
    assert shipping.returncode == 1 and "laptop has taken over" in said


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
