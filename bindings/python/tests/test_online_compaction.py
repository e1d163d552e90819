"""db.compact_online(): a file gives back space while another process reads and writes it."""
from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import pytest

import motte
from motte import errors


class Note(motte.Model):
    id: int = motte.field(primary_key=True)
    text: str = ""


def filled(path: pathlib.Path, **options: Any) -> motte.Database:
    db = motte.open(path, schema=[Note], **options)
    for start in range(0, 40_000, 10_000):
        with db.write():
            db.add_all(Note(id=id, text=f"note {id * 7919} {id * 104729}") for id in range(start, start + 10_000))
    with db.write():
        db.delete(db.objects(Note).where("id >= 5000 AND id < 38000"))
    return db


OTHER = """
import sys
import motte
db = motte.open(sys.argv[1])
Note = db.model("Note")
print("open", flush=True)
count = 0
for line in sys.stdin:
    db.refresh()
    with db.write():
        db.add(Note(id=100_000 + count, text="from elsewhere"))
    count += 1
    print(len(db.objects(Note)), flush=True)
"""


def test_another_process_goes_on(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "notes.motte"
    db = filled(path)
    before = path.stat().st_size
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    given, said = other.stdin, other.stdout
    assert given is not None and said is not None
    assert said.readline() == "open\n"
    with pytest.raises(errors.BusyError):
        db.compact()
    steps: list[int] = []

    def between(done: int, total: int) -> None:
        assert 0 <= done <= total
        steps.append(done)
        given.write("\n")
        given.flush()
        assert said.readline() == f"{7000 + len(steps)}\n"

    result = db.compact_online(progress=between)
    assert result.bytes_before >= before > 2 * path.stat().st_size
    assert result.bytes_moved > 0 and steps
    given.close()
    assert other.wait(timeout=30) == 0
    db.refresh()
    assert len(db.objects(Note)) == 7000 + len(steps) and db.verify().is_sound
    result = db.compact_online()
    assert result.bytes_held == 0 and result.bytes_after == path.stat().st_size
    db.close()


def test_limits_and_refusals(tmp_path: pathlib.Path) -> None:
    db = filled(tmp_path / "notes.motte")
    assert 0 < db.compact_online(max_bytes=20_000).bytes_moved < 100_000
    with pytest.raises(errors.InvalidArgumentError, match="1 or more"):
        db.compact_online(max_bytes=0)
    with db.write(), pytest.raises(errors.AlreadyInWriteError):
        db.compact_online()

    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        db.compact_online(progress=stop)
    frozen = db.freeze()
    db.compact_online()
    assert len(frozen.objects(Note)) == 7000 == len(db.objects(Note))
    with pytest.raises(errors.FrozenError):
        frozen.compact_online()
    frozen.close()
    assert db.compact_online().bytes_held == 0
    db.close()
    with motte.open(in_memory="online") as memory, pytest.raises(errors.UnsupportedError):
        memory.compact_online()


def test_a_database_that_compacts_itself(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "notes.motte"
    with motte.open(path, schema=[Note], auto_compact=True) as db:
        for start in range(0, 200_000, 20_000):
            with db.write():
                db.add_all(Note(id=id, text=f"note {id * 7919} {id * 104729}") for id in range(start, start + 20_000))
        with db.write():
            db.delete(db.objects(Note).where("id < 180000"))
        large = path.stat().st_size
        for id in range(60):
            with db.write():
                db.add(Note(id=300_000 + id))
        assert path.stat().st_size < large / 2
        assert len(db.objects(Note)) == 20_060 and db.verify().is_sound
