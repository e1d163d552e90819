"""A file that is shipped and has a migration, is deleted, or is lost on the server: what copies and backups do then, as
processes."""
from __future__ import annotations

import pathlib
import signal

from nats_server import Server, needed
from running import begin, done, end, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running

import motte

FIRST = "Person { id: int key, name: string, nick: string }"
LATER = "Person { id: int key, name: string }"


def make(path: pathlib.Path, schema: str, ids: range, version: int = 0) -> None:
    migration = (lambda step: None) if version else None
    with motte.open(path, schema=schema, schema_version=version, migration=migration) as db, db.write():
        for number in ids:
            db.add(db.model("Person")(id=number, name=f"n{number}"))


def names(path: pathlib.Path) -> list[str]:
    with motte.open(path) as db:
        return [person.name for person in db.objects("Person").sorted("id")]


def test_copies_go_on(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    make(leader, FIRST, range(3))
    shipping, following = begin("ship", leader, "--to", log), None
    until(lambda: list(log.glob("*/snapshot-*.info")) != [])
    following = begin("follow", copy, "--from", log)
    until(lambda: copy.exists() and run("status", copy).returncode == 0)
    make(leader, LATER, range(3, 5), version=1)

    def has_all() -> bool:
        expect_running(shipping, following)
        return run("query", copy, "Person", "--format", "jsonl").stdout.count("\n") == 5
    until(has_all)
    assert names(copy) == names(leader) and "nick" not in done("schema", copy)
    make(leader, LATER, range(5, 6), version=1)
    until(lambda: names(copy) == names(leader))
    done("restore", tmp_path / "restored.motte", "--from", log)
    assert names(tmp_path / "restored.motte") == names(leader)
    assert "problem" not in done("status", leader, "--folder", log)
    assert "problem" not in done("status", copy)
    end(following, signal.SIGTERM)
    end(shipping, signal.SIGTERM)


def test_a_copy_that_is_open_waits(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    make(leader, FIRST, range(3))
    done("ship", leader, "--to", log, "--once")
    done("follow", copy, "--from", log, "--once")
    make(leader, LATER, range(3, 5), version=1)
    done("ship", leader, "--to", log, "--once")
    with motte.open(copy) as db:
        assert run("follow", copy, "--from", log, "--once").returncode == 1
        assert len(db.objects("Person")) == 3
    done("follow", copy, "--from", log, "--once")
    assert names(copy) == names(leader)
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name and "shared" not in path.name) == [
        "copy.motte"]


def test_a_file_that_was_replaced_ends_shipping(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    make(leader, FIRST, range(3))
    shipping = begin("ship", leader, "--to", log)
    until(lambda: list(log.glob("*/snapshot-*.info")) != [])
    following = begin("follow", copy, "--from", log)
    until(copy.exists)
    for path in (leader, copy):
        until(lambda: run("status", path).returncode == 0)
        path.rename(tmp_path / f"moved-{path.name}")
    until(lambda: shipping.poll() == 1 and following.poll() == 1)


@needed
def test_a_lost_server_gets_everything_again(tmp_path: pathlib.Path) -> None:
    leader, copy = tmp_path / "leader.motte", tmp_path / "copy.motte"
    server = Server(tmp_path)
    try:
        make(leader, FIRST, range(3))
        shipping = begin("ship", leader, "--to", server.place())
        until(lambda: run("status", leader, "--folder", server.place()).returncode == 0)
        following = begin("follow", copy, "--from", server.place())
        until(copy.exists)
        server.end()
        (tmp_path / "store").rename(tmp_path / "lost")
        make(leader, FIRST, range(3, 5))
        server.begin()

        def has_all() -> bool:
            expect_running(shipping, following)
            return run("query", copy, "Person", "--format", "jsonl").stdout.count("\n") == 5
        until(has_all)
        done("restore", tmp_path / "restored.motte", "--from", server.place())
        assert names(tmp_path / "restored.motte") == names(leader)
        end(following, signal.SIGTERM)
        end(shipping, signal.SIGTERM)
    finally:
        server.end()


def test_a_batch_that_is_lost_sets_nothing_back(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    for number in range(5):
        make(leader, FIRST, range(number, number + 1))
        done("ship", leader, "--to", log, "--once")
        if number == 1:
            done("follow", copy, "--from", log, "--once")
    sorted(log.glob("*/changes-*.batch"))[-2].unlink()
    for _ in range(2):
        stopped = run("follow", copy, "--from", log, "--once")
        assert stopped.returncode == 1 and "are missing" in stopped.stderr and "begins again" not in stopped.stdout
        assert names(copy) == ["n0", "n1", "n2"]
    done("ship", leader, "--to", log, "--once", "--snapshot-bytes", "1")
    make(leader, FIRST, range(9, 10))
    done("ship", leader, "--to", log, "--once", "--snapshot-bytes", "1")
    done("follow", copy, "--from", log, "--once")
    assert names(copy) == names(leader)
