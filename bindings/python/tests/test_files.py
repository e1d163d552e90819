"""Whole files in Python: every way to open, migrations, maintenance, JSON and CSV; what a callback raises comes out."""
from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from conftest import CLASSES, Dog, Person
from motte import errors

Opener = Callable[..., motte.Database]


class Stop(Exception):
    pass


def stop(*_: Any) -> Any:
    raise Stop("that is enough")


def fill(db: motte.Database, count: int = 500) -> None:
    with db.write():
        db.add_all([Dog(name=f"dog {number}", age=number) for number in range(count)])


# ------------------------------------------------------------------------------------------------ maintenance


def test_long_work_tells_how_far_it_is_and_stops(opened: Opener, path: Path, tmp_path: Path) -> None:
    db = opened()
    fill(db)
    work: list[tuple[Callable[..., Any], Optional[Path]]] = [
        (lambda progress: db.copy_to(tmp_path / "copy", progress=progress), tmp_path / "copy"),
        (lambda progress: db.verify(progress=progress), None),
        (lambda progress: db.space(progress=progress), None),
        (lambda progress: db.compact(progress=progress), None),
        (lambda progress: db.export_json(tmp_path / "dump", progress=progress), tmp_path / "dump"),
        (lambda progress: db.export_json(tmp_path / "dogs", Dog, progress=progress), tmp_path / "dogs"),
        (lambda progress: db.export_csv(tmp_path / "csv", Dog, progress=progress), tmp_path / "csv")]
    for run, made in work:
        with pytest.raises(Stop):
            run(stop)
        assert made is None or not made.exists()
        notified: list[tuple[int, int]] = []
        run(lambda done, total: notified.append((done, total)))
        assert notified and notified[-1][0] == notified[-1][1] and (made is None or made.exists())
    assert len(db.objects(Dog)) == 500
    db.close()
    with pytest.raises(Stop):
        motte.salvage(path, tmp_path / "lines", progress=stop)
    assert not (tmp_path / "lines").exists()


def test_compaction_keeps_what_is_observed(opened: Opener) -> None:
    db = opened()
    fill(db)
    old = db.objects(Dog).where("age >= 100")
    received: list[Any] = []
    observation = old.observe(received.append)
    db.refresh()
    with db.write():
        db.delete(db.objects(Dog).where("age < 50 OR age >= 400"))
    before, after = db.compact()
    assert after < before and len(old) == 300 and db.verify().is_sound
    frozen = db.freeze()
    with pytest.raises(errors.BusyError):
        db.compact()
    frozen.close()
    with db.write():
        db.add(Dog(name="new", age=1000))
    assert [len(change.insertions) for change in received] == [0, 0, 1]
    observation.stop()


def test_statistics(opened: Opener) -> None:
    db = opened()
    fill(db)
    other = opened(read_only=True)
    with db.write():
        db.add(Dog(name="x"))
    space = db.space()
    assert space.classes["Dog"].objects == 501 and space.classes["Person"].objects == 0
    assert space.classes["Dog"].chunk_bytes > 0 and space.classes["Dog"].index_bytes > 0 and space.log_records > 1
    assert space.file_bytes == db.file_size > sum(sum(each) for each in space.classes.values())
    readers = db.readers()
    assert all(each.is_this_process for each in readers) and max(each.versions_behind for each in readers) == 1
    other.refresh()
    assert {each.versions_behind for each in db.readers()} == {0}


def test_deleting_everything_and_files(opened: Opener, path: Path) -> None:
    db = opened()
    fill(db, 10)
    with db.write():
        db.add(Person(name="Ada", dogs=list(db.objects(Dog))))
        assert db.delete_all() == 11
    assert db.count(Dog) == db.count(Person) == 0
    assert motte.exists(path)
    with pytest.raises(errors.BusyError):
        motte.delete(path)
    db.close()
    assert motte.delete(path) and not motte.delete(path) and not list(path.parent.iterdir())
    path.write_text("no database of anybody's, but a text that somebody wants to keep, for whatever reason" * 100)
    with pytest.raises(errors.NotAMotteFileError):
        motte.delete(path)
    assert path.exists()


def test_damage_is_named_and_survived(opened: Opener, path: Path, tmp_path: Path) -> None:
    db = opened()
    fill(db)
    db.close()
    content = path.read_bytes()
    assert content.count(b"dog 7") > 0
    path.write_bytes(content.replace(b"dog 7", b"DOG 7"))
    report = motte.verify(path)
    assert not report.is_sound and report.problem_count >= len(report.problems) > 0
    assert any("Dog.name" in problem for problem in report.problems)
    rescued = motte.salvage(path, tmp_path / "lines")
    assert rescued.objects == 500 and not rescued.is_sound
    assert len((tmp_path / "lines").read_text().splitlines()) == 500


@pytest.mark.parametrize("broken", [1, 2])
def test_a_version_passed_over_is_said(opened: Opener, path: Path, caplog: pytest.LogCaptureFixture,
                                       broken: int) -> None:
    db = opened()
    for age in range(5):
        with db.write():
            db.add(Dog(name=f"dog {age}"))
    assert db.warning is None
    db.close()
    content = bytearray(path.read_bytes())
    # The slots by the version and the sequence number that they name: the last of them was written by closing.
    slots = sorted((content[page + 16], content[page + 144], page) for page in (4096, 8192, 12288))
    for _, _, page in slots[-broken:]:
        content[page + 200] ^= 1
    path.write_bytes(content)
    caplog.clear()
    db = opened()
    assert db.warning is not None and "cannot be read" in db.warning
    assert ("more than a power cut leaves" in db.warning) == (broken == 2)
    assert [record.getMessage() for record in caplog.records] == [f"{path}: {db.warning}"]
    assert db.count(Dog) == (5 if broken == 1 else 4)
    report = db.verify()
    assert report.is_sound == (broken == 1)


# ------------------------------------------------------------------------------------------------ ways to open


def test_callbacks_of_opening(opened: Opener, path: Path) -> None:
    with pytest.raises(Stop):
        opened(first_open=stop)
    db = opened(first_open=lambda new: new.add_all([Dog(name=f"dog {number}") for number in range(2000)]))
    assert db.count(Dog) == 2000
    with db.write():
        db.delete_all()
    db.close()
    asked: list[tuple[int, int]] = []
    with pytest.raises(Stop):
        opened(compact_on_launch=stop)
    before = path.stat().st_size
    opened(compact_on_launch=lambda total, used: asked.append((total, used)) or True)
    assert asked[0][0] == before > asked[0][1] and path.stat().st_size < before


def test_options(opened: Opener, path: Path, tmp_path: Path) -> None:
    db = opened(durability="relaxed", max_live_versions=2)
    fill(db, 3)
    copy = motte.open(tmp_path / "copy.motte", schema=CLASSES, seed=path)
    assert copy.count(Dog) == 3
    copy.close()
    old = opened(durability="relaxed")
    for number in range(2):
        fresh = f"new {number}"
        with db.write():
            db.add(Dog(name=fresh))
    with pytest.raises(errors.BusyError):
        db.write().__enter__()
    old.close()
    locks = tmp_path / "locks"
    locks.mkdir()
    elsewhere = motte.open(tmp_path / "other.motte", schema=CLASSES, lock_directory=locks)
    assert list(locks.iterdir()) and not (tmp_path / "other.motte-shared").exists()
    elsewhere.close()
    with pytest.raises(errors.InvalidArgumentError, match="durability"):
        motte.open(tmp_path / "third.motte", durability="sometimes")
    with motte.open(tmp_path / "copy.motte", immutable=True) as still:
        assert still.count(still.model("Dog")) == 3
        with pytest.raises(errors.ReadOnlyError):
            still.write().__enter__()


# ------------------------------------------------------------------------------------------------ migrations


def old_file(path: Path) -> None:
    schema = "Human { id: int key, first: string, last: string, friend: link<Human> } Gone { x: int }"
    with motte.open(path, schema=schema, schema_version=1) as db:
        human, gone = db.model("Human"), db.model("Gone")
        with db.write():
            ada = db.add(human(id=1, first="Ada", last="Lovelace"))
            db.add(human(id=2, first="Alan", last="Turing", friend=ada))
            db.add(gone(x=1))


class Being(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    friend: Optional[Being] = None
    note: Optional[str] = None


def test_a_migration(path: Path) -> None:
    old_file(path)
    seen: list[Any] = []

    def migrate(migration: motte.Migration) -> None:
        migration.rename_class("Human", Being)
        assert migration.delete_class("Gone") and not migration.delete_class("Nobody")
        for old, new in migration.enumerate(Being):
            assert old is not None and new is not None
            new.name = f"{old.first} {old.last}"
            seen.append((old.id, old.friend and old.friend.first, type(new) is Being))
        grace = migration.new.add(Being(id=3, name="Grace"))
        migration.new.one(Being, 1).friend = grace
        migration.new.delete(migration.new.one(Being, 2))
        with pytest.raises(errors.FrozenError):
            migration.old.model("Human")
            migration.old.objects("Human")[0].first = "x"
        seen.append((migration.old_version, migration.new_version, migration.old))

    plan = motte.plan(path, [Being], schema_version=2, renames={"Human": "Being"}, delete_classes=["Gone"])
    assert plan.action == "migrate" and (plan.stored_version, plan.declared_version) == (1, 2)
    assert "class Human is renamed to Being" in str(plan) and "class Gone is removed" in str(plan)
    with motte.open(path, schema=[Being], schema_version=2, migration=migrate) as db:
        assert [(each.id, each.name) for each in db.objects(Being)] == [(1, "Ada Lovelace"), (3, "Grace")]
        friend = db.one(Being, 1).friend
        assert friend is not None and friend.name == "Grace" and db.schema_version == 2
        assert db.verify().is_sound and "Gone" not in db.schema
    assert seen[:2] == [(1, None, True), (2, "Ada", True)] and seen[2][:2] == (1, 2)
    # What a function keeps of its migration does not keep the function.
    with pytest.raises(errors.ClosedError):
        seen[2][2].count(seen[2][2].models[0])
    assert motte.schema_version(path) == 2 and motte.schema_version(path.parent / "none") is None


def test_what_a_migration_raises_comes_out(path: Path) -> None:
    old_file(path)

    def half(migration: motte.Migration) -> None:
        migration.rename_class("Human", Being)
        for _, new in migration.enumerate(Being):
            new.name = "changed"
        stop()

    before = path.read_bytes()
    steps: list[tuple[Any, type[Exception]]] = [
        (half, Stop), (lambda migration: migration.new.add(Being(id=1)), errors.DuplicatePrimaryKeyError),
        (lambda migration: migration.rename("Being", "no", "name"), errors.InvalidArgumentError)]
    for step, kind in steps:
        with pytest.raises(kind):
            motte.open(path, schema=[Being], schema_version=2, renames={} if step is half else {"Human": "Being"},
                       migration=step)
    assert path.read_bytes() == before and motte.schema_version(path) == 1
    with motte.open(path) as db:
        assert [each.first for each in db.objects("Human")] == ["Ada", "Alan"]


def test_rather_empty(path: Path) -> None:
    old_file(path)
    with motte.open(path, schema="Human { id: string key }", delete_if_migration_needed=True) as db:
        assert db.count(db.model("Human")) == 0


# ------------------------------------------------------------------------------------------------ JSON and CSV


def test_json_and_csv(db: motte.Database, tmp_path: Path) -> None:
    with db.write():
        rex, fido = db.add_all([Dog(name="Rex", age=3), Dog(name="Fido", age=5)])
        ada = db.add(Person(name="Ada", tags=["x"], dogs=[rex, fido]))
    assert db.export_json(what=rex) == '{"name":"Rex","age":3,"owner":null}'
    assert db.export_json(what=db.objects(Dog).where("age > 3"), lines=True, columns=["name", Dog.age]) == (
        '{"name":"Fido","age":5}\n')
    assert '"dogs":[{"name":"Rex"' in (db.export_json(what=ada, nested_links=True) or "")
    assert db.export_json(tmp_path / "dump.jsonl") is None
    db.export_csv(tmp_path / "dogs.csv", Dog, delimiter=";")
    assert (tmp_path / "dogs.csv").read_text() == "name;age;owner\nRex;3;\nFido;5;\n"

    with motte.open(in_memory="copy", schema=motte.dump_schema(tmp_path / "dump.jsonl")) as copy:
        assert copy.import_json(None, tmp_path / "dump.jsonl") == (3, 0)
        assert copy.export_json() == db.export_json()
        dog = copy.model("Dog")
        with pytest.raises(errors.DuplicatePrimaryKeyError, match="dogs.csv"):
            copy.import_csv(dog, tmp_path / "dogs.csv", delimiter=";")
        assert copy.import_csv(dog, text="name,age\nRex,4\nMax,1\n", policy="modified") == (1, 1)
        with copy.write():
            with pytest.raises(errors.UnknownPropertyError):
                copy.import_json(dog, text='{"name": "Bo", "tail": 1}')
            assert copy.import_json(dog, text='{"name": "Bo", "tail": 1}', ignore_unknown=True).created == 1
        with pytest.raises(Stop):
            copy.import_json(dog, text='{"name": "Late"}', progress=stop)
        assert sorted(each.name for each in copy.objects(dog)) == ["Bo", "Fido", "Max", "Rex"]
        assert copy.one(dog, "Rex").age == 4
        for wrong in ({"policy": "sometimes"}, {"delimiter": "::"}):
            with pytest.raises(errors.InvalidArgumentError):
                copy.import_csv(dog, text="name\nx\n", **wrong)
        with pytest.raises(TypeError):
            copy.import_csv(dog)
    text = motte.csv_schema("Row", text="id,score,when\n1,1.5,2013-01-01T00:00:00Z\n2,,\n", key="id")
    assert "id: int key" in text and "score: double?" in text and "when: timestamp?" in text
    with pytest.raises(errors.InvalidArgumentError):
        motte.dump_schema(text="[]")


def test_a_file_that_goes_takes_no_writes(opened: Opener, path: Path) -> None:
    db = opened()
    fill(db, 2)
    os.unlink(path)
    with pytest.raises(errors.FileMovedError, match="deleted or renamed while it was open"):
        with db.write():
            db.add(Dog(name="lost"))
    assert db.count(Dog) == 2 and not db.in_write
    with pytest.raises(errors.FileMovedError, match="this process"):
        motte.open(path, schema=CLASSES)
    db.close()
    assert motte.open(path, schema=CLASSES).count(Dog) == 0


def test_nobody_waits_for_themselves(opened: Opener, path: Path) -> None:
    first, second = opened(), opened()
    began = time.monotonic()
    with first.write():
        with pytest.raises(errors.ReentrantError, match="this thread"):
            second.write().__enter__()
        with pytest.raises(errors.WriteTimeoutError):
            second.write(timeout=60).__enter__()
        for timeout, expected in ((-1, errors.ReentrantError), (60, errors.WriteTimeoutError)):
            with pytest.raises(expected):
                motte.open(path, schema="Cat { name: string }", timeout=timeout)
    assert time.monotonic() - began < 30
    with second.write():
        second.add(Dog(name="later"))


def test_opening_waits_for_a_writer_as_long_as_it_may(opened: Opener, path: Path) -> None:
    db = opened()
    refused: list[BaseException] = []

    def other() -> None:
        try:
            motte.open(path, schema="Cat { name: string }", timeout=0.05)
        except errors.WriteTimeoutError as error:
            refused.append(error)

    with db.write():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
    assert len(refused) == 1


LOSING = """
import os, sys
import motte
db = motte.open(sys.argv[1], schema="P { id: int key, name: string }")
P = db.model("P")
with db.write():
    for number in range(40_000):
        db.add(P(id=number, name=f"the first ones, of which there are many: {number}"))
for number in range(40_000, 40_021):
    with db.write():
        db.add(P(id=number, name="acknowledged"))
os._exit(0)
"""


def losing(path: Path) -> bytes:
    """A file of which a record of the log is damaged, with whole ones behind it."""
    subprocess.run([sys.executable, "-c", LOSING, path], check=True)
    content = bytearray(path.read_bytes())
    page = struct.unpack("<I", content[12:16])[0]
    records = [start for start in range(0, len(content), page) if content[start + 8:start + 12] == b"MTJR"]
    assert len(records) > 10
    content[records[2] + 100] ^= 1
    path.write_bytes(content)
    return bytes(content)


def losing_slot(path: Path) -> bytes:
    """A file whose newest root slot is damaged, which is also what a power cut during a commit may leave."""
    subprocess.run([sys.executable, "-c", LOSING.replace("40_021", "40_000"), path], check=True)
    content = bytearray(path.read_bytes())
    page = struct.unpack("<I", content[12:16])[0]
    slots = [(struct.unpack("<Q", content[at + 16 : at + 24])[0], at) for at in (page, 2 * page, 3 * page)]
    content[max(slots)[1] + 200] ^= 1
    path.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("damaging", [losing, losing_slot])
@pytest.mark.parametrize("how", ["closed", "open", "launch"])
def test_compaction_leaves_what_may_be_salvaged(
    tmp_path: Path, how: str, damaging: Callable[[Path], bytes]
) -> None:
    path = tmp_path / "people.motte"
    content = damaging(path)
    if how == "closed":
        with pytest.raises(errors.CorruptedError, match="may still be salvaged"):
            motte.compact(path)
    elif how == "open":
        with motte.open(path) as db:
            with pytest.raises(errors.CorruptedError, match="may still be salvaged"):
                db.compact()
            assert db.warning is not None
    else:
        with motte.open(path, compact_on_launch=lambda *_: True) as db:
            assert db.warning is not None and "a power cut" in db.warning
    assert path.read_bytes() == content


SEALED = """
import os, sys
import motte
with motte.open(sys.argv[1], schema="P { id: int key, name: string }") as db:
    with db.write():
        db.add(db.model("P")(id=0, name="first"))
db = motte.open(sys.argv[1])
for number in range(1, 9):
    with db.write():
        db.add(db.model("P")(id=number, name="acknowledged"))
print(db.version)
os._exit(0)
"""


def losing_behind_a_seal(path: Path, damaged: int) -> bytes:
    """A file that was closed and written to after that, so that its log goes on behind the seal."""
    shown = subprocess.run([sys.executable, "-c", SEALED, path], check=True, capture_output=True, text=True).stdout
    content = bytearray(path.read_bytes())
    page = struct.unpack("<I", content[12:16])[0]
    for start in range(0, len(content), page):
        # Its version stands behind the mark and its size.
        is_record = content[start + 8:start + 12] == b"MTJR"
        if is_record and struct.unpack("<Q", content[start + 16:start + 24])[0] == int(shown) - 7 + damaged:
            content[start + 100] ^= 1
            path.write_bytes(content)
            return bytes(content)
    raise AssertionError("there is no such record")


@pytest.mark.parametrize("damaged", [0, 1, 5])
def test_what_is_behind_a_damaged_record_is_told_also_behind_a_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: int
) -> None:
    # Small files have none by themselves.
    monkeypatch.setenv("MOTTE_WAL_PAGES", "64")
    path = tmp_path / "people.motte"
    content = losing_behind_a_seal(path, damaged)
    lines, report = motte.salvaged(path)
    assert lines.count("acknowledged") > damaged and report.problems != []
    with pytest.raises(errors.CorruptedError, match="may still be salvaged"):
        motte.compact(path)
    with motte.open(path) as db:
        assert db.warning is not None and "commits may be lost" in db.warning
        assert db.count("P") == 1 + damaged and db.verify().problems != []
    assert path.read_bytes() == content
    # The next commit goes into the tree: what is left there does not become part of the log, nor is it told again.
    db = motte.open(path)
    with db.write():
        db.add(db.model("P")(id=100, name="new"))
    killed = tmp_path / "killed.motte"
    killed.write_bytes(path.read_bytes())
    db.close()
    for each in (killed, path):
        with motte.open(each) as db:
            assert db.warning is None and db.count("P") == 2 + damaged and db.verify().problems == []
        motte.compact(each)


BESIDE = """
import sys
import motte
with motte.open(sys.argv[1]) as db:
    print(db.warning)
    print(db.verify().problems)
print(motte.salvaged(sys.argv[1])[0].count("acknowledged"))
"""


@pytest.mark.parametrize("reads_only", [False, True])
def test_whoever_opens_a_damaged_file_beside_others_knows_of_it(tmp_path: Path, reads_only: bool) -> None:
    """And leaves it as it is."""
    path = tmp_path / "people.motte"
    content = losing(path)
    beside = [sys.executable, "-c", BESIDE, path]
    with motte.open(path, read_only=reads_only) as db:
        assert db.warning is not None and db.count("P") < 40_021
        told = subprocess.run(beside, check=True, capture_output=True, text=True).stdout.splitlines()
        assert told[0] == db.warning and "commits may be lost" in told[1] and int(told[2]) > 15
    assert path.read_bytes() == content
    with motte.open(path) as db:
        assert db.warning is not None


COMMITTING = """
import sys
import motte
with motte.open(sys.argv[1], schema="P { id: int key, name: string }") as db:
    P = db.model("P")
    with db.write():
        db.add(P(id=0, name=""))
    print(flush=True)
    for number in range(400):
        with db.write():
            db.get(P, 0).name = str(number)
    sys.stdin.read()
"""


def test_commits_of_others_are_no_damage(tmp_path: Path) -> None:
    """A commit that is not announced yet looks like one that was passed over."""
    path = tmp_path / "people.motte"
    command = [sys.executable, "-c", COMMITTING, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdin is not None
        other.stdout.readline()
        for _ in range(60):
            with motte.open(path, read_only=True) as db:
                assert db.warning is None
            lines, report = motte.salvaged(path)
            assert lines.count("name") == 1 and report.problems == []
        other.stdin.close()
        assert other.wait(60) == 0
