"""Writes that spill, sorts beyond memory, imports from a mapped file, compaction and recovery, where the system's pages
are larger: pages.py FILE SIZE. Run with page_size.so loaded before it."""
from __future__ import annotations

import os
import pathlib
import sys

import motte


class Entry(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str
    note: str


def check(path: str, size: int) -> None:
    assert os.sysconf("SC_PAGESIZE") == size, (os.sysconf("SC_PAGESIZE"), size)
    rows = 60_000
    pathlib.Path(path).unlink(missing_ok=True)
    with motte.open(path, schema=[Entry], memory=1 << 20) as db:
        with db.write():
            db.insert_rows(Entry, ["id", "name", "note"], (
                (i, f"n{i * 7919 % rows}", "x" * (i % 300)) for i in range(rows)))
        with db.write():
            for entry in db.objects(Entry).where("id < 2000"):
                entry.note = "y" * 5000
        names = [entry.name for entry in db.objects(Entry).sorted("name")]
        assert names == sorted(f"n{i}" for i in range(rows))
        assert sum(len(entry.note) for entry in db.objects(Entry)) == 2000 * 5000 + sum(
            i % 300 for i in range(2000, rows))
        with db.write():
            db.delete(db.objects(Entry).where("id >= 30000"))
        db.compact_online()
        exported = f"{path}.csv"
        db.export_csv(exported, Entry)
    with motte.open(path, schema=[Entry]) as db:
        assert len(db.objects(Entry)) == 30_000
        assert len(db.objects(Entry).where("name == 'n0'")) == 1
        assert db.verify().is_sound
    copy = f"{path}.copy"
    pathlib.Path(copy).unlink(missing_ok=True)
    with motte.open(copy, schema=[Entry]) as db:
        db.import_csv(Entry, exported)
        assert len(db.objects(Entry)) == 30_000
        assert db.verify().is_sound


if __name__ == "__main__":
    check(sys.argv[1], int(sys.argv[2]))
