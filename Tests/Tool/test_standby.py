"""`motte ship --acknowledge` and `motte follow --may-lead`: commits that a server has before they are made, takeover.
"""
from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from nats_server import Server, ask, needed
from running import begin, done, end, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running
from test_nats import content, made, server

import motte

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Machines"))

from application import Acknowledged

__all__ = ["server"]

pytestmark = needed


@pytest.fixture
def leader(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    yield made(tmp_path / "leader.motte")


def add(db: motte.Database, number: int) -> None:
    with db.write():
        db.add(db.model("Person")(id=number, name=f"new {number}"))


def test_a_commit_returns_when_the_server_has_it(server: Server, leader: pathlib.Path, tmp_path: pathlib.Path) -> None:
    asked = tmp_path / "asked"
    begin("ship", leader, "--to", server.place(), "--acknowledge", asked, "--name", "desk")
    until(lambda: is_heard(asked))
    with motte.open(leader) as db:
        db.on_commit(Acknowledged(asked))
        for number in range(100, 110):
            add(db, number)
            # Nothing has been waited for: what was acknowledged is there.
            copy = tmp_path / f"copy-{number}.motte"
            done("follow", copy, "--from", server.place(), "--once")
            assert content(copy) == content(leader)
        # Who does not ask is shipped first.
        made(leader, 30)
        add(db, 200)
        copy = tmp_path / "last.motte"
        done("follow", copy, "--from", server.place(), "--once")
        assert content(copy) == content(leader)


def test_a_commit_that_nobody_acknowledges_is_not_made(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    asked = tmp_path / "asked"
    shipping = begin("ship", leader, "--to", server.place(), "--acknowledge", asked)
    until(lambda: is_heard(asked))
    with motte.open(leader) as db:
        db.on_commit(Acknowledged(asked))
        add(db, 100)
        server.end()
        before = content(leader)
        with pytest.raises(RuntimeError, match="did not say whether|no answer|could not"):
            add(db, 101)
        assert content(leader) == before
        end(shipping)
        with pytest.raises(OSError):
            add(db, 102)
        assert content(leader) == before


def test_a_follower_leads_when_the_leader_is_gone(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    other = tmp_path / "other.motte"
    options = ["--from", server.place(), "--may-lead", "--lease", 2]
    first = begin("follow", leader, *options, "--name", "desk", "--acknowledge", tmp_path / "one")
    until(lambda: run("follow", tmp_path / "look.motte", "--from", server.place(), "--once").returncode == 0)
    begin("follow", other, *options, "--name", "laptop", "--acknowledge", tmp_path / "two")
    until(lambda: other.exists() and run("status", other).returncode == 0)
    with motte.open(leader) as db:
        db.on_commit(Acknowledged(tmp_path / "one"))
        add(db, 100)
    refused = run("delete", other, "Person", "TRUEPREDICATE")
    assert refused.returncode == 1 and "follows desk" in refused.stderr
    end(first)
    made(leader, 7, "never shipped")
    began = time.monotonic()
    until(lambda: "follows" not in run("status", other).stdout)
    assert time.monotonic() - began < 20
    with motte.open(other) as db:
        until(lambda: (tmp_path / "two").exists())
        db.on_commit(Acknowledged(tmp_path / "two"))
        until(lambda: added(db, 101))
    # It comes back as a follower, and what it had not shipped is beside it.
    begin("follow", leader, *options, "--name", "desk", "--acknowledge", tmp_path / "one")
    until(lambda: list(tmp_path.glob("leader.motte.former-*")) != [] and leader.exists())
    until(lambda: content(leader) == content(other))
    batches = list(tmp_path.glob("leader.motte.unshipped-*.batch"))
    assert len(batches) == 1
    assert "never shipped" in content(tmp_path / "leader.motte.former-1")
    assert "never shipped" not in content(leader)


def test_who_has_a_followers_file_open_goes_on_reading_after_a_takeover(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    other, third, plain = tmp_path / "other.motte", tmp_path / "third.motte", tmp_path / "plain.motte"
    options = ["--from", server.place(), "--may-lead", "--lease", 2, "--keep-for", 3600]
    first = begin("follow", leader, *options, "--name", "desk")
    until(lambda: run("follow", tmp_path / "look.motte", "--from", server.place(), "--once").returncode == 0)
    begin("follow", other, *options, "--name", "laptop")
    until(lambda: other.exists() and run("status", other).returncode == 0)
    # These don't lead.
    followers = [begin("follow", path, "--from", server.place()) for path in (third, plain)]
    until(lambda: all(path.exists() and run("status", path).returncode == 0 for path in (third, plain)))
    with motte.open(third) as reader:
        seen: list[motte.Changes] = []
        token = reader.objects("Person").observe(seen.append)
        reader.dispatch()
        # One that is away meanwhile.
        end(followers.pop())
        made(leader, 6, "shipped")
        until(lambda: content(other) == content(leader))
        end(first)
        until(lambda: "follows" not in run("status", other).stdout)
        made(other, 9, "of the second")
        until(lambda: content(third) == content(other))
        until(lambda: bool(reader.dispatch() or reader.refresh()) or len(reader.objects("Person")) == 9)
        assert [person.name for person in reader.objects("Person").sorted("id")][8] == "of the second 8"
        reader.dispatch()
        assert seen and "follows   laptop by" in done("status", third)
        token.stop()
    expect_running(*followers)
    done("follow", plain, "--from", server.place(), "--once")
    assert content(plain) == content(other)
    # The same files: nothing was put in their place.
    assert not list(tmp_path.glob("*.next")) and not list(tmp_path.glob("*.former-*"))


def test_a_lease_that_the_server_has_lost_is_made_again(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """A bucket that takes what it is sent and never says so, as one does that has lost its majority for good."""
    made = ask("127.0.0.1", server.port, "$JS.API.STREAM.CREATE.KV_MOTTE_people", json.dumps({
        "name": "KV_MOTTE_people", "subjects": ["$KV.MOTTE_people.>"], "retention": "limits", "storage": "file",
        "num_replicas": 1, "max_age": 1_000_000_000, "no_ack": True}))
    assert made is not None and "error" not in made
    asked = tmp_path / "asked"
    following = begin("follow", leader, "--from", server.place(), "--may-lead", "--lease", 1, "--acknowledge", asked)
    until(lambda: is_heard(asked))
    # Whoever comes later learns of the other bucket from the leader, and leaves it to that one.
    copy = tmp_path / "copy.motte"
    other = begin("follow", copy, "--from", server.place(), "--may-lead", "--lease", 1, "--name", "other")
    until(copy.exists)
    with motte.open(leader) as db:
        db.on_commit(Acknowledged(asked))
        until(lambda: added(db, 100))
        time.sleep(5)
        assert added(db, 101)
    assert following.poll() is None and other.poll() is None
    info = ask("127.0.0.1", server.port, "$JS.API.STREAM.INFO.KV_MOTTE-2_people")
    assert info is not None and info["state"]["messages"] == 1


def is_heard(path: pathlib.Path) -> bool:
    """A socket has its name before anybody listens on it."""
    with socket.socket(socket.AF_UNIX) as trial:
        return trial.connect_ex(str(path)) == 0


class Lost(Acknowledged):
    """The stream gets the commit, and the file does not."""

    def __init__(self, path: pathlib.Path, before: Callable[[], None]) -> None:
        super().__init__(path)
        self.before = before

    def __call__(self, batch: motte.ChangesBatch) -> None:
        super().__call__(batch)
        self.before()
        raise RuntimeError("lost")


def test_a_commit_that_replaces_objects_is_taken_in(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    asked = tmp_path / "asked"
    shipping = begin("ship", leader, "--to", server.place(), "--acknowledge", asked, "--name", "desk")
    until(lambda: is_heard(asked))
    with motte.open(leader) as db:
        numbers = [person.id for person in db.objects("Person")]
        db.on_commit(Lost(asked, lambda: None))
        with pytest.raises(RuntimeError, match="lost"), db.write():
            for number in numbers[:2]:
                db.delete(db.get("Person", number))
                db.add(db.model("Person")(id=number, name="replaced"))
            db.add(db.model("Person")(id=1_000, name="new"))
        db.on_commit(None)

        def is_there() -> bool:
            expect_running(shipping)
            db.refresh()
            return [person.id for person in db.objects("Person").where("name == 'replaced'").sorted("id")] == sorted(
                numbers[:2])
        until(is_there)
        assert len(db.objects("Person")) == len(numbers) + 1 and db.verify().is_sound
    done("restore", tmp_path / "restored.motte", "--from", server.place())
    assert content(tmp_path / "restored.motte") == content(leader)


# What was undone, and what a difference made, has names in the file, which the commit brings along.
@pytest.mark.parametrize("what", ["an undo", "a difference"])
def test_a_commit_with_names_of_its_own_is_taken_in(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path, what: str
) -> None:
    asked = tmp_path / "asked"
    with motte.open(leader) as db:
        db.keep_changes(db.version)
        with db.freeze() as before:
            with db.write():
                db.delete(db.objects("Person").first())
            change = db.changes_since(before).inverse()
        if what == "a difference":
            db.copy_to(tmp_path / "other.motte")
            with motte.open(tmp_path / "other.motte") as other:
                with other.write():
                    other.add(other.model("Person")(id=1_000, name="by difference"))
                change = db.changes_to(other)
        shipping = begin("ship", leader, "--to", server.place(), "--acknowledge", asked, "--name", "desk")
        until(lambda: is_heard(asked))
        count = len(db.objects("Person"))
        db.on_commit(Lost(asked, lambda: None))
        with pytest.raises(RuntimeError, match="lost"):
            db.apply(change)
        db.on_commit(None)

        def is_there() -> bool:
            expect_running(shipping)
            db.refresh()
            return len(db.objects("Person")) == count + 1
        until(is_there)
        assert db.verify().is_sound
        # The names are there, as if it had been committed here: it can be undone, and done again.
        assert db.apply(change.inverse()) and len(db.objects("Person")) == count
        assert db.apply(change) and len(db.objects("Person")) == count + 1 and db.verify().is_sound
    done("restore", tmp_path / "restored.motte", "--from", server.place())
    assert content(tmp_path / "restored.motte") == content(leader)


def end_each(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        end(process)


def rename(db: motte.Database, number: int, name: str) -> bool:
    """Whether that was acknowledged."""
    try:
        with db.write():
            db.one("Person", number).name = name
    except (RuntimeError, OSError, motte.Error):
        return False
    return True


# Of a program that waits a little before it tries again, and of one that does not.
@pytest.mark.parametrize("pause", [0.3, 0])
def test_a_commit_that_only_the_server_has_is_taken_in_while_its_program_tries_again(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path, pause: float
) -> None:
    asked = tmp_path / "asked"
    shipping = begin("ship", leader, "--to", server.place(), "--acknowledge", asked)
    until(lambda: is_heard(asked))
    with motte.open(leader) as db:
        for is_killed in (True, False):
            name = f"lost {is_killed}"
            victims = [shipping] if is_killed else []
            db.on_commit(Lost(asked, functools.partial(end_each, victims)))
            with pytest.raises(RuntimeError, match="lost"), db.write():
                db.one("Person", 2).name = name
            if is_killed:
                shipping = begin("ship", leader, "--to", server.place(), "--acknowledge", asked)
            db.on_commit(Acknowledged(asked))
            limit = time.monotonic() + 40
            while not rename(db, 1, name):
                expect_running(shipping)
                assert time.monotonic() < limit, "each commit is refused"
                time.sleep(pause)
            db.refresh()
            assert [person.name for person in db.objects("Person").sorted("id")] == ["name 0", name, name]
    done("follow", tmp_path / "copy.motte", "--from", server.place(), "--once")
    assert content(tmp_path / "copy.motte") == content(leader)


@pytest.mark.parametrize("later", [(20, 20), (20, 1), (1, 20)])
def test_the_server_says_for_how_long_a_lease_lasts(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path, later: tuple[int, int]
) -> None:
    other = tmp_path / "other.motte"

    def begun(path: pathlib.Path, seconds: int) -> subprocess.Popen[str]:
        return begin("follow", path, "--from", server.place(), "--may-lead", "--name", path.stem, "--lease", seconds)
    first = begun(leader, 2)
    until(lambda: run("follow", tmp_path / "look.motte", "--from", server.place(), "--once").returncode == 0)
    second = begun(other, 2)
    until(lambda: other.exists() and run("status", other).returncode == 0)
    end(second)
    end(first)
    first = begun(leader, later[0])
    time.sleep(1)
    second = begun(other, later[1])
    limit = time.monotonic() + 12
    count = 3
    while time.monotonic() < limit:
        expect_running(first, second)
        count += 1
        made(leader, count)
        time.sleep(0.5)
    until(lambda: content(other) == content(leader))
    # Nobody has taken over.
    assert not list(tmp_path.glob("*.former-*")) and "follows   leader by" in done("status", other)
    told = ask("127.0.0.1", server.port, "$JS.API.STREAM.INFO.KV_MOTTE_people")
    assert told is not None and told["config"]["max_age"] == 2_000_000_000


def test_who_waits_for_an_acknowledgement_is_in_nobodys_way(
    server: Server, leader: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """A file that begins again is locked by who waits for an answer of the very process that wants it."""
    asked, is_over = tmp_path / "asked", threading.Event()
    leading = begin("follow", leader, "--from", server.place(), "--may-lead", "--lease", 2, "--acknowledge", asked)
    until(lambda: run("follow", tmp_path / "look.motte", "--from", server.place(), "--once").returncode == 0)
    with motte.open(leader) as db:
        # Before it is taken in the file goes another way.
        db.on_commit(Lost(asked, lambda: os.kill(leading.pid, signal.SIGSTOP)))
        with pytest.raises(RuntimeError, match="lost"):
            add(db, 100)
        db.on_commit(None)
        add(db, 99)
    os.kill(leading.pid, signal.SIGCONT)

    def write(number: int) -> None:
        while not is_over.is_set():
            with contextlib.suppress(RuntimeError, OSError, motte.Error), motte.open(leader, create=False) as db:
                db.on_commit(Acknowledged(asked))
                add(db, number)
                number += 10
            time.sleep(0.2)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(101, 105)]
    for writer in writers:
        writer.start()
    try:
        until(lambda: list(tmp_path.glob("leader.motte.former-*")) != [] and leader.exists(), 30)
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
    assert "new 100" in content(leader)


def added(db: motte.Database, number: int) -> bool:
    try:
        add(db, number)
    except RuntimeError:
        return False
    return True
