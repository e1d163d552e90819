"""Object keys are given out once: also where the object never came into the database."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import motte


class Row(motte.Model):
    name: str


def test_the_key_of_a_lost_object_is_not_given_to_another(tmp_path: Path) -> None:
    def refuse(batch: Any) -> None:
        raise LookupError("refused")

    keys: list[int] = []
    lost: list[Row] = []
    with motte.open(tmp_path / "a.motte", schema=[Row]) as db:
        with db.write() as write:
            lost.append(db.add(Row(name="cancelled")))
            keys.append(lost[-1].object_key)
            write.cancel()
        db.on_commit(refuse)
        with pytest.raises(LookupError), db.write():
            lost.append(db.add(Row(name="refused")))
            keys.append(lost[-1].object_key)
        db.on_commit(None)
        with db.write():
            with db.write() as inner:
                lost.append(db.add(Row(name="undone")))
                keys.append(lost[-1].object_key)
                inner.cancel()
            keys.append(db.add(Row(name="kept")).object_key)
        with db.write():
            keys.append(db.add(Row(name="kept")).object_key)
        assert len(set(keys)) == 5 and keys == sorted(keys)
        assert [row.name for row in db.objects(Row)] == ["kept", "kept"]
        for row in lost:
            assert not row.is_valid
            with pytest.raises(motte.errors.ObjectDeletedError):
                assert row.name
        assert db.verify().is_sound
