"""`motte ship`, `follow`, `status` and `restore` as processes: live copies, kills, refusals, a time to go back to."""
from __future__ import annotations

import datetime
import hmac
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from running import begin, done, end, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running

import motte

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "FileFormat"))

import reader
from reader import Cipher, crc32c

SCHEMA = "Person { id: int key, name: string, friends: list<Person> }"


def people(path: pathlib.Path) -> list[tuple[int, str, list[int]]]:
    with motte.open(path) as db:
        return content(db)


def has(path: pathlib.Path, count: int) -> bool:
    """False also while the file is just getting its name, or another process opens it for the first time."""
    try:
        return path.exists() and len(people(path)) == count
    except (motte.errors.FileMovedError, motte.errors.BusyError):
        return False


def content(db: motte.Database) -> list[tuple[int, str, list[int]]]:
    return [(each.id, each.name, [friend.id for friend in each.friends]) for each in db.objects("Person").sorted("id")]


def write(db: motte.Database, chance: random.Random) -> None:
    person = db.model("Person")
    with db.write():
        for _ in range(chance.randrange(1, 5)):
            found = db.get(person, chance.randrange(30))
            if found is None:
                db.add(person(id=chance.randrange(30), name="new"), update=True)
            elif chance.random() < 0.2:
                db.delete(found)
            else:
                found.name = f"name {chance.randrange(1000)}"
                found.friends.append(found)


def test_a_copy_is_live(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    with motte.open(leader, schema=SCHEMA) as db:
        shipping = begin("ship", leader, "--to", log)
        until(lambda: list(log.glob("*/snapshot-*.info")) != [])
        following = begin("follow", copy, "--from", log)
        until(lambda: copy.exists() and run("status", copy).returncode == 0)
        with motte.open(copy) as shown:
            seen: list[motte.Changes] = []
            token = shown.objects("Person").observe(seen.append)
            shown.dispatch()
            with db.write():
                db.add(db.model("Person")(id=1, name="Ada"))
            until(lambda: bool(shown.dispatch() or shown.refresh()) or len(seen) > 1)
            shown.dispatch()
            assert list(seen[-1].insertions) == [0]
            assert content(shown) == [(1, "Ada", [])]
            with pytest.raises(motte.errors.ReadOnlyError, match="follows .*leader.motte"), shown.write():
                pass
            token.stop()
        end(following, signal.SIGTERM)
        end(shipping, signal.SIGTERM)
    stopped = run("follow", copy, "--stop")
    assert stopped.returncode == 0 and "no longer" in stopped.stdout
    with motte.open(copy) as own, own.write():
        own.delete_all()


def test_killed_processes_go_on(tmp_path: pathlib.Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    with motte.open(leader, schema=SCHEMA) as db:
        write(db, chance)
        assert run("ship", leader, "--to", log, "--snapshot-bytes", "2000", "--once").returncode == 0
        kills = 0
        for _ in range(12):
            shipping = begin("ship", leader, "--to", log, "--snapshot-bytes", "2000", "--keep-for", "3600")
            following = begin("follow", copy, "--from", log)
            for _ in range(chance.randrange(5, 40)):
                write(db, chance)
                time.sleep(chance.random() * 0.01)
            for process in (shipping, following):
                time.sleep(chance.random() * 0.05)
                expect_running(process)
                end(process)
                kills += 1
        assert kills == 24
        shipped = run("ship", leader, "--to", log, "--once")
        assert shipped.returncode == 0, shipped.stderr
        followed = run("follow", copy, "--from", log, "--once")
        assert followed.returncode == 0, followed.stderr
        db.refresh()
        assert people(copy) == content(db)
    assert run("verify", copy).returncode == 0
    late = tmp_path / "late.motte"
    assert run("follow", late, "--from", log, "--once").returncode == 0
    assert people(late) == people(copy)


def test_what_is_wrong_is_said(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA) as db, db.write():
        db.add(db.model("Person")(id=1, name="Ada"))
    none = run("follow", tmp_path / "copy.motte", "--from", log, "--once")
    assert none.returncode == 1 and "nobody has shipped" in none.stderr
    nameless = run("ship", leader, "--to", "nats://localhost")
    assert nameless.returncode == 1 and "behind the server comes the name of the database" in nameless.stderr
    assert run("follow", leader).returncode == 2
    assert run("ship", leader, "--to", log, "--once", "--name", "desk").returncode == 0
    other = tmp_path / "other.motte"
    with motte.open(other, schema=SCHEMA):
        pass
    refused = run("ship", other, "--to", log, "--once")
    assert refused.returncode == 1 and "has the changes of desk" in refused.stderr
    wrong = run("follow", other, "--from", log, "--once")
    assert wrong.returncode == 1 and "has nothing of desk" in wrong.stderr
    time_ago = run("restore", tmp_path / "old.motte", "--from", log, "--at", "2001-01-01T00:00:00Z")
    assert time_ago.returncode == 1 and "later than that time" in time_ago.stderr
    assert run("restore", tmp_path / "old.motte", "--from", log, "--at", "yesterday").returncode == 2
    assert not (tmp_path / "old.motte").exists()


def test_status_has_metrics(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    with motte.open(leader, schema=SCHEMA) as db:
        with db.write():
            db.add(db.model("Person")(id=1, name="Ada"))
        assert run("ship", leader, "--to", log, "--once").returncode == 0
        assert run("follow", copy, "--from", log, "--once").returncode == 0
        with db.write():
            db.add(db.model("Person")(id=2, name="Bo"))
        assert run("ship", leader, "--to", log, "--once").returncode == 0
    text = run("status", copy)
    assert text.returncode == 0 and f"follows   {leader} by {log}" in text.stdout, text.stderr
    lines = run("status", copy, "--prometheus").stdout.splitlines()
    metrics = {line.split("{")[0]: line.rsplit(" ", 1)[1] for line in lines if not line.startswith("#")}
    assert metrics["motte_healthy"] == "1" and metrics["motte_following"] == "1"
    behind = int(metrics["motte_shipped_version"]) - int(metrics["motte_applied_version"])
    assert int(metrics["motte_lag_versions"]) == behind > 0 and float(metrics["motte_lag_seconds"]) > 0
    assert sum(line.startswith("# TYPE") for line in lines) == len(metrics)
    (log / "leader").unlink()
    gone = run("status", copy)
    assert gone.returncode == 1 and "nobody has shipped" in gone.stdout
    assert "motte_healthy" in run("status", copy, "--prometheus").stdout


def add(path: pathlib.Path, number: int, name: str = "new") -> None:
    with motte.open(path) as db, db.write():
        db.add(db.model("Person")(id=number, name=name))


def test_status_of_what_was_replaced_or_lost(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    with motte.open(leader, schema=SCHEMA):
        pass
    add(leader, 1)
    done("ship", leader, "--to", log, "--once")
    older, older_log = leader.read_bytes(), tmp_path / "older"
    shutil.copytree(log, older_log)
    add(leader, 2)
    done("ship", leader, "--to", log, "--once")
    done("follow", copy, "--from", log, "--once")
    assert "problem" not in done("status", copy)

    def problem() -> str:
        result = run("status", copy)
        assert result.returncode == 1, result.stdout
        metrics = run("status", copy, "--prometheus")
        assert metrics.returncode == 1 and "motte_healthy{" in metrics.stdout
        return next(line for line in result.stdout.splitlines() if line.startswith("problem"))
    leader.write_bytes(older)
    shutil.rmtree(log)
    shutil.copytree(older_log, log)
    assert "replaced by an older copy" in problem()
    # The leader goes another way from there.
    for number in range(3, 6):
        add(leader, number, "another")
        done("ship", leader, "--to", log, "--once")
        assert "is another one here than there" in problem()
    for folder in log.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    assert "nobody can begin with it" in problem()


def test_status_of_a_busy_leader(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA, durability="none") as db:
        with db.write():
            one = db.add(db.model("Person")(id=1, name="Ada"))
        shipping = begin("ship", leader, "--to", log)
        until(lambda: list(log.glob("*/snapshot-*.info")) != [])
        for _ in range(8):
            look = begin("status", leader, "--folder", log)
            number = 0
            while look.poll() is None:
                number += 1
                with db.write():
                    one.name = f"name {number}"
            assert look.returncode == 0
        expect_running(shipping)


def test_nothing_is_restored_over_a_gap(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA):
        pass
    done("ship", leader, "--to", log, "--once")
    for number in range(4):
        add(leader, number)
        done("ship", leader, "--to", log, "--once")
    moment = datetime.datetime.now(datetime.timezone.utc).isoformat()
    add(leader, 4)
    done("ship", leader, "--to", log, "--once", "--snapshot-bytes", 1)
    assert len(list(log.glob("*/snapshot-*.info"))) == 2
    whole, some = tmp_path / "whole.motte", tmp_path / "some.motte"
    done("restore", whole, "--from", log, "--at", moment)
    assert len(people(whole)) == 4
    sorted(log.glob("*/changes-*.batch"))[1].unlink()
    refused = run("restore", some, "--from", log, "--at", moment)
    assert refused.returncode == 1 and "--partial" in refused.stderr and not some.exists()
    partly = run("restore", some, "--from", log, "--at", moment, "--partial")
    assert partly.returncode == 0 and "in one piece" not in partly.stdout
    assert len(people(some)) == 1


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_what_is_damaged_is_left_out_only_where_that_is_asked_for(tmp_path: pathlib.Path, damaged: int) -> None:
    """Whatever time is asked for: what cannot be read may be from before it."""
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    batches = shipped_each(leader, log, 3)
    moments = []
    for moment in (1, 2, 3):
        moments.append(datetime.datetime.fromtimestamp(batches[moment - 1].stat().st_mtime, datetime.timezone.utc))
    batch = batches[damaged - 1]
    batch.write_bytes(batch.read_bytes()[:-1] + bytes([batch.read_bytes()[-1] ^ 1]))
    for number, arguments in enumerate(([], ["--at", moments[2].isoformat()])):
        copy = tmp_path / f"copy{number}.motte"
        refused = run("restore", copy, "--from", log, *arguments)
        assert refused.returncode == 1 and batch.name in refused.stderr and not copy.exists()
        done("restore", copy, "--from", log, *arguments, "--partial")
        assert len(people(copy)) == damaged - 1


def shipped_each(leader: pathlib.Path, log: pathlib.Path, count: int) -> list[pathlib.Path]:
    with motte.open(leader, schema=SCHEMA):
        pass
    done("ship", leader, "--to", log, "--once")
    for number in range(count):
        add(leader, number)
        done("ship", leader, "--to", log, "--once")
    return sorted(log.glob("*/changes-*.batch"))


def test_a_snapshot_leads_over_a_gap(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    batches = shipped_each(leader, log, 4)
    batches[1].unlink()
    refused = run("follow", copy, "--from", log, "--once")
    assert refused.returncode == 1 and "--snapshot-bytes 1" in refused.stderr and len(people(copy)) == 1
    # Nobody has written since.
    done("ship", leader, "--to", log, "--once", "--snapshot-bytes", 1)
    done("follow", copy, "--from", log, "--once")
    assert people(copy) == people(leader)


def test_what_arrives_out_of_order_is_waited_for(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    late = shipped_each(leader, log, 4)[1]
    late.rename(tmp_path / "late")
    following = begin("follow", copy, "--from", log)
    until(lambda: has(copy, 1))
    time.sleep(2)
    expect_running(following)
    (tmp_path / "late").rename(late)
    until(lambda: expect_running(following) or has(copy, 4))
    end(following)


@pytest.mark.parametrize("change", ["commit", "migration"])
def test_a_file_that_is_stopped_while_it_is_followed_for_is_left_alone(tmp_path: pathlib.Path, change: str) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    shipped_each(leader, log, 1)
    following = begin("follow", copy, "--from", log)
    until(lambda: copy.exists() and run("status", copy).returncode == 0 and len(people(copy)) == 1)
    with motte.open(copy) as held:
        # The one that runs meets the end of it in the middle: it cannot begin again while somebody has the file open.
        done("follow", copy, "--stop")
        add(copy, 500)
        if change == "commit":
            add(leader, 1)
        else:
            with motte.open(leader, schema=SCHEMA.replace("name: string", "name: string?"), schema_version=1,
                            migration=lambda sides: None):
                pass
        done("ship", leader, "--to", log, "--once")
        assert following.wait(30) == 0
        held.refresh()
        assert [person.id for person in held.objects("Person").sorted("id")] == [0, 500]
    assert [person[0] for person in people(copy)] == [0, 500]
    end(following)


def test_a_file_that_begins_again_is_there_all_the_time(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    shipped_each(leader, log, 1)
    done("follow", copy, "--from", log, "--once")
    following = begin("follow", copy, "--from", log)
    for version in range(1, 4):
        nullable = "?" if version % 2 else ""
        with motte.open(leader, schema=SCHEMA.replace("name: string", f"name: string{nullable}"),
                        schema_version=version, migration=lambda sides: None) as db, db.write():
            db.add(db.model("Person")(id=version, name="new"))
        done("ship", leader, "--to", log, "--once")
        limit = time.monotonic() + 60
        while True:
            expect_running(following)
            assert time.monotonic() < limit
            try:
                with motte.open(copy) as db:
                    # Never an empty file that was just made.
                    assert db.schema is not None and db.count("Person") >= version
                    with pytest.raises(motte.errors.ReadOnlyError), db.write():
                        db.delete_all()
                    if db.count("Person") == version + 1:
                        break
            except (motte.errors.BusyError, motte.errors.FileMovedError):
                pass
            time.sleep(0.001)
    end(following)
    assert not list(tmp_path.glob("copy.motte.*"))


def restored(path: pathlib.Path, log: pathlib.Path, *arguments: object) -> list[int]:
    done("restore", path, "--from", log, *arguments)
    found = [person[0] for person in people(path)]
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    return found


#: Of the system, for whoever asks for the time of day: ahead by as many seconds as the environment says.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *);
    const char *ahead = getenv("CLOCK_AHEAD");
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME && ahead) now->tv_sec += atol(ahead);
    return status;
}
"""
ADD = """
import sys, motte
with motte.open(sys.argv[1]) as db, db.write():
    db.add(db.model("Person")(id=int(sys.argv[2]), name="new"))
"""


class Clock:
    def __init__(self, folder: pathlib.Path) -> None:
        (folder / "clock.c").write_text(CLOCK)
        self.library = folder / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, folder / "clock.c", "-ldl"], check=True)

    def ship(self, ahead: int, leader: pathlib.Path, log: pathlib.Path, number: int, *arguments: object) -> None:
        """A commit, shipped by a clock that is so many seconds ahead."""
        variables = {"LD_PRELOAD": str(self.library), "CLOCK_AHEAD": str(ahead)}
        subprocess.run([sys.executable, "-c", ADD, leader, str(number)], env={**os.environ, **variables}, check=True)
        assert run("ship", leader, "--to", log, "--once", *arguments, **variables).returncode == 0


def test_clocks_that_are_put_back(tmp_path: pathlib.Path) -> None:
    """The log goes by what was made after what."""
    leader, log, copy, file = (tmp_path / name for name in ("leader.motte", "log", "copy.motte", "restored.motte"))
    clock = Clock(tmp_path)
    shipped_each(leader, log, 1)
    snapshot = ("--snapshot-bytes", 1)
    for number, ahead, arguments in [
            (1, 3_600, ()), (2, 3_600, snapshot), (7, 3_600, ()), (3, 0, ()), (4, 0, ())]:
        clock.ship(ahead, leader, log, number, *arguments)
    time.sleep(1.1)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    assert restored(file, log) == [0, 1, 2, 3, 4, 7]
    said = run("restore", file, "--from", log, "--at", now)
    assert said.returncode == 0 and "clocks were put back" in said.stdout and len(people(file)) == 6
    # A new leader whose clock is behind the former one's.
    done("follow", copy, "--from", log, "--once")
    clock.ship(3_600, leader, log, 5, *snapshot)
    done("follow", copy, "--from", log, "--once")
    done("follow", copy, "--stop")
    done("ship", copy, "--to", log, "--once", "--take-over")
    add(copy, 6)
    done("ship", copy, "--to", log, "--once")
    time.sleep(1.1)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    for part in tmp_path.glob("restored.motte*"):
        part.unlink()
    assert restored(file, log) == [0, 1, 2, 3, 4, 5, 6, 7] == restored(file, log, "--at", now)


def test_each_change_may_have_a_snapshot(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA):
        pass
    for number in range(3):
        add(leader, number)
        shipping = begin("ship", leader, "--to", log, "--once", "--snapshot-bytes", 0)
        assert shipping.wait(30) == 0 and len(list(log.glob("*/snapshot-*.info"))) == number + 1


def test_each_second_can_be_restored(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    moments: list[tuple[str, int]] = []
    with motte.open(leader, schema=SCHEMA) as db:
        shipping = begin("ship", leader, "--to", log, "--snapshot-bytes", "500")
        until(lambda: list(log.glob("*/snapshot-*.info")) != [])
        for number in range(6):
            with db.write():
                db.add(db.model("Person")(id=number, name="x" * 200))
            moments.append((datetime.datetime.now(datetime.timezone.utc).isoformat(), number + 1))
            time.sleep(0.3)
        until(lambda: run("status", leader, "--folder", log).stdout.count(str(db.latest_version)) > 1)
        end(shipping, signal.SIGTERM)
    for number, (moment, count) in enumerate(moments[1:]):
        made = tmp_path / f"{number}.motte"
        restored = run("restore", made, "--from", log, "--at", moment)
        assert restored.returncode == 0, restored.stderr
        assert len(people(made)) == count, restored.stdout


def decrypted(run: bytes, key: bytes) -> bytes:
    """A batch as docs/replication.md describes it, without the library."""
    mark, checksum = struct.unpack_from("<4sI", run)
    assert mark == b"MBX1" and checksum == crc32c(run[8:])
    start = hmac.digest(run[8:24], key, "sha256")
    cipher = Cipher.of(hmac.digest(start, b"motte batch encryption\x01", "sha256"))
    plain, _, is_right = cipher._run(run[40:64], run[8:40], run[64:-16], run[-16:])
    assert is_right
    return plain


def test_an_encrypted_file_is_followed(tmp_path: pathlib.Path) -> None:
    leader, log, copy = tmp_path / "leader.motte", tmp_path / "log", tmp_path / "copy.motte"
    secret, key_file = bytes(range(64)), tmp_path / "key"
    key_file.write_bytes(secret)
    key = ["--key-file", key_file]
    with motte.open(leader, schema=SCHEMA, encryption_key=secret) as db:
        assert run("ship", leader, "--to", log, "--once", *key).returncode == 0
        with db.write():
            db.add(db.model("Person")(id=1, name="nobody is to read this"))
        assert run("ship", leader, "--to", log, "--once", *key).returncode == 0
        expected = content(db)
    batches = list(log.glob("*/changes-*.batch"))
    assert len(batches) == 1 and b"nobody is" not in batches[0].read_bytes()
    plain = decrypted(batches[0].read_bytes(), secret)
    assert b"nobody is to read this" in plain
    assert run("follow", copy, "--from", log, "--once").returncode == 1 and not copy.exists()
    followed = run("follow", copy, "--from", log, "--once", *key)
    assert followed.returncode == 0, followed.stderr
    with motte.open(copy, encryption_key=secret) as db:
        assert content(db) == expected
    assert "lag       0" in run("status", copy, *key).stdout
    # Somebody who has no key makes up changes.
    batches[0].write_bytes(plain)
    other = run("follow", tmp_path / "other.motte", "--from", log, "--once", *key)
    assert other.returncode == 1 and "is not encrypted" in other.stderr
    asked = run("restore", tmp_path / "restored.motte", "--from", log, "--plain", *key)
    assert asked.returncode == 0, asked.stderr


def test_an_encrypted_file_takes_over_from_one_that_was_not(tmp_path: pathlib.Path) -> None:
    """Also what is trimmed then is as its leader shipped it."""
    leader, copy, log, key = (tmp_path / name for name in ("leader.motte", "copy.motte", "log", "key"))
    key.write_bytes(bytes(64))
    with motte.open(leader, schema=SCHEMA):
        pass
    for number in range(3):
        add(leader, number)
        done("ship", leader, "--to", log, "--once", "--snapshot-bytes", 1)
    refused = run("follow", copy, "--from", log, "--key-file", key, "--once")
    assert refused.returncode == 1 and "is not encrypted" in refused.stderr and "--plain" in refused.stderr
    done("follow", copy, "--from", log, "--key-file", key, "--plain", "--once")
    done("follow", copy, "--key-file", key, "--stop")
    time.sleep(2)
    own = ["--to", log, "--key-file", key, "--plain", "--keep-for", 1, "--once", "--snapshot-bytes", 1]
    done("ship", copy, *own, "--take-over")
    for number in range(3, 6):
        done("insert", copy, "Person", json.dumps({"id": number, "name": "n"}), "--key-file", key)
        done("ship", copy, *own)


def test_a_migration_that_sets_primary_keys_is_shipped_as_a_snapshot(tmp_path: pathlib.Path) -> None:
    leader, copy, log = tmp_path / "leader.motte", tmp_path / "copy.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA):
        pass
    for number in range(3):
        add(leader, number)
    done("ship", leader, "--to", log, "--once")
    done("follow", copy, "--from", log, "--once")

    def step(migration: motte.Migration) -> None:
        for person in migration.new.objects("Person"):
            person.id += 10

    motte.open(leader, schema=SCHEMA, schema_version=1, migration=step).close()
    add(leader, 99)
    assert "shipped a snapshot" in done("ship", leader, "--to", log, "--once")
    done("follow", copy, "--from", log, "--once")
    assert people(copy) == people(leader)
    done("restore", tmp_path / "restored.motte", "--from", log)


def positions(path: pathlib.Path) -> dict[str, int]:
    """For whom the file keeps changes, and from where on, as an independent reader finds it."""
    page = reader.Reader(str(path)).entries[reader.KEPT_CHANGES]
    return {name: version for name, (version, _) in reader.kept_changes(page)[2].items()}


def test_each_place_has_a_position_of_its_own(tmp_path: pathlib.Path) -> None:
    leader, near, far = tmp_path / "leader.motte", tmp_path / "near", tmp_path / "far"
    with motte.open(leader, schema=SCHEMA, durability="none") as db:
        person = db.model("Person")
        with db.write():
            db.add(person(id=0, name="Ada"))
        done("ship", leader, "--to", near, "--once", "--consumer", "close by")
        done("ship", leader, "--to", far, "--once")
        begun = positions(leader)
        assert sorted(begun) == sorted([str(far), "close by"])
        for number in range(1, 1_400):
            with db.write():
                db.add(person(id=number))
        assert "lag       1399 versions" in done("status", leader, "--folder", near)
        done("ship", leader, "--to", near, "--once", "--consumer", "close by")
        for number in range(1_400, 1_600):
            with db.write():
                db.add(person(id=number))
        now = positions(leader)
        assert now["close by"] > begun["close by"] + 1_300 and now[str(far)] == begun[str(far)]
        text = done("status", leader)
        assert f"consumer  {far}: {begun[str(far)]}, lag 1599 versions, " in text
        assert f"consumer  close by: {now['close by']}, lag 200 versions, " in text
        # The whole file is not shipped again.
        assert "snapshot" not in done("ship", leader, "--to", far, "--once")
        done("ship", leader, "--to", near, "--once", "--consumer", "close by")
    text = done("status", leader)
    assert text.count(", lag 0 versions, 0.000 s\n") == 2, text
    for place in (near, far):
        assert "lag       0 versions, 0.000 s" in done("status", leader, "--folder", place)
        done("follow", tmp_path / f"{place.name}.motte", "--from", place, "--once")
        assert people(tmp_path / f"{place.name}.motte") == people(leader)
    # A copy keeps nothing for who follows its leader.
    assert reader.KEPT_CHANGES not in reader.Reader(str(tmp_path / "far.motte")).entries
    lines = done("status", leader, "--prometheus").splitlines()
    label = f'{{file="{leader}",consumer="{far}"}}'
    assert f"motte_consumer_lag_versions{label} 0" in lines and f"motte_consumer_is_kept{label} 1" in lines
    assert len([line for line in lines if line == "# TYPE motte_consumer_lag_versions gauge"]) == 1


def test_who_is_gone_is_dropped(tmp_path: pathlib.Path) -> None:
    leader, log = tmp_path / "leader.motte", tmp_path / "log"
    with motte.open(leader, schema=SCHEMA) as db, db.write():
        db.add(db.model("Person")(id=1, name="Ada"))
    done("ship", leader, "--to", log, "--once")
    done("changes", leader, "--keep")
    assert "program   " in done("status", leader)
    # Programs have a position of their own, which has nothing to do with that of a place.
    done("changes", leader, "--no-keep")
    assert list(positions(leader)) == [str(log)] and "program   " not in done("status", leader)
    wrong = run("changes", leader, "--drop", "log")
    assert wrong.returncode == 1 and f"'log', only for '{log}'" in wrong.stderr
    assert "nothing any more" in done("changes", leader, "--drop", log)
    assert reader.kept_changes(reader.Reader(str(leader)).entries[reader.KEPT_CHANGES]) == (None, None, {})
    none = run("changes", leader, "--drop", log)
    assert none.returncode == 1 and "only for nobody" in none.stderr
    # Who ships again has a position again.
    done("ship", leader, "--to", log, "--once")
    assert list(positions(leader)) == [str(log)]
    many = [tmp_path / f"log-{number}" for number in range(64)]
    for place in many[:63]:
        done("ship", leader, "--to", place, "--once")
    full = run("ship", leader, "--to", many[63], "--once")
    assert full.returncode == 1 and "64 consumers already" in full.stderr and "--drop" in full.stderr
