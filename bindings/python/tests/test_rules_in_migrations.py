"""Declared defaults, required values and members hold in what fills a new file and in migrations, as in writes."""
from __future__ import annotations

import enum
import pathlib
import uuid
from typing import Any

import pytest

import motte
from motte import errors


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


class Part(motte.Model):
    id: int = motte.field(primary_key=True)
    needed: int
    colour: Colour = Colour.BLUE
    text: str = "start"
    code: uuid.UUID = motte.field(default_factory=uuid.uuid4)
    tags: list[str] = motte.field(default_factory=lambda: ["first"])


def fill(db: Any) -> None:
    db.create_or_update(Part, id=1, needed=1)
    db.insert_columns(Part, {"id": [2], "needed": [1]})
    db.import_json(Part, text='[{"id": 3, "needed": 1}]')
    db.import_data(Part, [{"id": 4, "needed": 1}])
    with pytest.raises(errors.Error):
        db.create_or_update(Part, id=5)
    with pytest.raises(errors.Error):
        db.import_json(Part, text='[{"id": 6, "needed": 1, "colour": "?"}]')
    assert db.count(Part) == 4


def check(db: motte.Database) -> None:
    parts = list(db.objects(Part))
    assert [part.id for part in parts] == [1, 2, 3, 4]
    assert all((part.colour, part.text, list(part.tags)) == (Colour.BLUE, "start", ["first"]) for part in parts)
    assert len({part.code for part in parts}) == 4


def test_what_fills_a_new_file(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "parts.motte", schema=[Part], first_open=fill) as db:
        check(db)


def test_a_migration(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "parts.motte"
    motte.open(path, schema=[Part]).close()
    with motte.open(path, schema=[Part], schema_version=1, migration=lambda sides: fill(sides.new)) as db:
        check(db)
        # And afterwards.
        with db.write():
            db.delete_all()
            fill(db)
        check(db)
