"""Rules that come, go and change in a file that is shipped: copies and backups hold what it holds, whatever is allowed
there and no longer here, or the other way round."""
from __future__ import annotations

import pathlib
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from running import done

import motte

Change = Callable[[motte.Database], None]


def written(path: pathlib.Path, schema: Any, change: Change, version: int = 0, step: Any = None) -> None:
    with motte.open(path, schema=schema, schema_version=version, migration=step) as db, db.write():
        change(db)


def items(path: pathlib.Path) -> list[dict[str, Any]]:
    with motte.open(path) as db:
        assert db.verify().is_sound
        return [item.to_dict() for item in db.objects("A").sorted("id")]


class Shipped:
    """A leader whose every state is shipped and followed at once, and can be restored."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.leader, self.log, self.copy = folder / "leader.motte", folder / "log", folder / "copy.motte"
        self._restored = folder / "restored.motte"

    def go_round(self) -> None:
        done("ship", self.leader, "--to", self.log, "--once")
        done("follow", self.copy, "--from", self.log, "--once")
        assert items(self.copy) == items(self.leader)
        done("restore", self._restored, "--from", self.log)
        assert items(self._restored) == items(self.leader)
        for part in self._restored.parent.glob("restored.motte*"):
            part.unlink()


def put(*values: int) -> Change:
    def change(db: motte.Database) -> None:
        for value in values:
            db.add(db.model("A")(id=len(db.objects("A")), v=value))
    return change


@pytest.mark.parametrize("rule", ["v: int unique", "v: int, unique(v, id2)"])
def test_what_has_to_differ_no_longer(tmp_path: pathlib.Path, rule: str) -> None:
    shipped = Shipped(tmp_path)
    more = ", id2: int" if "id2" in rule else ""
    first = "A { id: int key, " + rule.replace(", unique", f"{more}, unique") + " }"
    written(shipped.leader, first, put(3))
    shipped.go_round()
    later = f"A {{ id: int key, v: int{more} }}"
    written(shipped.leader, later, put(3), version=1, step=lambda step: None)
    shipped.go_round()
    written(shipped.leader, later, put(3, 7), version=1)
    shipped.go_round()


def test_what_has_to_differ_from_now_on(tmp_path: pathlib.Path) -> None:
    shipped = Shipped(tmp_path)
    plain, unique = "A { id: int key, v: int }", "A { id: int key, v: int unique }"
    written(shipped.leader, plain, put(3, 3, 4))
    shipped.go_round()

    def differ(db: motte.Database) -> None:
        for item in db.objects("A"):
            item.v = item.id + 10
    # Both in one batch.
    written(shipped.leader, plain, differ)
    written(shipped.leader, unique, put(50))
    shipped.go_round()
    done("restore", tmp_path / "again.motte", "--from", shipped.log)
    with motte.open(tmp_path / "again.motte") as db, pytest.raises(motte.errors.DuplicateValueError), db.write():
        db.add(db.model("A")(id=99, v=50))
    # By the step of a migration.
    again = Shipped(tmp_path / "stepped")
    again.leader.parent.mkdir()
    written(again.leader, plain, put(5, 5, 5))
    again.go_round()

    def step(migration: Any) -> None:
        for _, item in migration.enumerate("A"):
            item.v = item.id
    written(again.leader, unique, put(60), version=1, step=step)
    again.go_round()


def test_a_new_property_with_a_value_for_each_object(tmp_path: pathlib.Path) -> None:
    def declared(with_token: bool) -> type[motte.Model]:
        class A(motte.Model):
            id: int = motte.field(primary_key=True)
            v: int
            if with_token:
                token: uuid.UUID = motte.field(unique=True, default_factory=uuid.uuid4)
        return A
    shipped = Shipped(tmp_path)
    written(shipped.leader, [declared(False)], put(1, 2, 3))
    shipped.go_round()
    written(shipped.leader, [declared(True)], put(4))
    shipped.go_round()
    assert len({item["token"] for item in items(shipped.copy)}) == 4


def test_values_that_no_longer_fit_their_property(tmp_path: pathlib.Path) -> None:
    shipped = Shipped(tmp_path)
    written(shipped.leader, "A { id: int key, v: int, all: list<int> }", put(1))
    shipped.go_round()

    def wide(db: motte.Database) -> None:
        db.add(db.model("A")(id=70, v=300, all=[1, 1 << 40]))
    written(shipped.leader, "A { id: int key, v: int, all: list<int> }", wide)
    narrow = "A { id: int key, v: int8, all: list<int8> }"
    written(shipped.leader, narrow, put(5))
    shipped.go_round()
    with motte.open(shipped.leader) as db, motte.open(tmp_path / "whole.motte") as other:
        assert other.apply(db.changes_since(0))
    assert items(tmp_path / "whole.motte") == items(shipped.leader)
    for name in ("dump.jsonl", "dump.json", "dump.sqlite"):
        format_ = {"jsonl": (), "json": ("--format", "json"), "sqlite": ("--format", "sqlite")}[name.split(".")[1]]
        done("export", shipped.leader, *format_, "--output", tmp_path / name)
        done("import", tmp_path / f"{name}.motte", tmp_path / name)
        assert items(tmp_path / f"{name}.motte") == items(shipped.leader)
    # Rows of one class are what somebody writes.
    done("export", shipped.leader, "A", "--output", tmp_path / "rows.jsonl")
    with motte.open(tmp_path / "rows.motte", schema=narrow) as db, pytest.raises(motte.errors.NumberOverflowError):
        db.import_json(db.model("A"), tmp_path / "rows.jsonl")
    with motte.open(shipped.leader, schema=narrow) as db:
        with db.freeze() as before:
            with db.write():
                db.get("A", 70).v = 5
            undo = db.changes_since(before).inverse()
        db.apply(undo)
        assert db.get("A", 70).v == 300
        with pytest.raises(motte.errors.NumberOverflowError), db.write():
            db.get("A", 70).v = 300
