"""A dump carries ints wider than their property; what a program declares to be allowed holds in every place of it."""
from __future__ import annotations

import enum
import json
from typing import Any, Optional

import pytest

import motte
from motte import errors


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Part(motte.EmbeddedModel):
    level: Level = Level.LOW


class Item(motte.Model):
    id: int = motte.field(primary_key=True)
    level: Level = Level.LOW
    many: list[Level] = motte.field(default_factory=list)
    some: set[Level] = motte.field(default_factory=set)
    named: dict[str, Level] = motte.field(default_factory=dict)
    part: Optional[Part] = None


SCHEMA = """
Item { id: int key, level: int, many: list<int>, some: set<int>, named: map<int>, part: link<Part> }
embedded Part { level: int }
"""

NOT_ALLOWED: dict[str, Any] = {
    "level": 7, "many": [1, 7], "some": [7, 2], "named": {"a": 1, "b": 7}, "part": {"level": 7}}


def dump(values: dict[str, Any]) -> str:
    with motte.open(in_memory="dumped", schema=SCHEMA) as db:
        with db.write():
            db.import_json(db.model("Item"), text=json.dumps({"id": 1, "level": 1, **values}))
        text = db.export_json()
    assert text is not None
    return text


@pytest.mark.parametrize("name", NOT_ALLOWED)
def test_what_is_not_allowed_is_refused(name: str) -> None:
    text = dump({name: NOT_ALLOWED[name]})
    with motte.open(in_memory="taker", schema=[Item, Part]) as db:
        with pytest.raises(errors.Error, match="level|many|some|named"), db.write():
            db.import_json(text=text)
        assert db.count(Item) == 0 and db.verify().is_sound
    allowed = json.loads(json.dumps(NOT_ALLOWED[name]).replace("7", "2"))
    with motte.open(in_memory="taker", schema=[Item, Part]) as db:
        with db.write():
            db.import_json(text=dump({name: allowed}))
        assert db.count(Item) == 1
