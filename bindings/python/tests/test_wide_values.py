"""Single values far from all others of their class, given to objects that are there, and every kind of question about
them, beside a list of Python: columns are packed by the distance from their lowest value."""
from __future__ import annotations

import pathlib
import random
from datetime import datetime, timedelta, timezone
from typing import Optional

import motte

from seeds import seeded

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Entry(motte.Model):
    id: int = motte.field(primary_key=True)
    number: int
    maybe: Optional[int] = None
    at: datetime
    indexed: int = motte.field(indexed=True)


def questions(number: int) -> list[tuple[str, object]]:
    return [("== $0", lambda each: each == number), ("!= $0", lambda each: each != number),
            ("< $0", lambda each: each < number), ("<= $0", lambda each: each <= number),
            ("> $0", lambda each: each > number), (">= $0", lambda each: each >= number)]


def test_a_value_below_all_others_is_found(tmp_path: pathlib.Path) -> None:
    seed = seeded()
    random_ = random.Random(seed)
    path = tmp_path / "wide.motte"
    rows = 500
    model = {id_: [random_.randrange(1 << 36, 1 << 48) for _ in range(4)] for id_ in range(rows)}
    with motte.open(path, schema=[Entry], row_group_size=120, durability="none") as db:
        with db.write():
            db.add_all([
                Entry(id=id_, number=number, maybe=maybe, at=EPOCH + timedelta(seconds=at >> 12), indexed=indexed)
                for id_, (number, maybe, at, indexed) in model.items()])
        live = db.objects(Entry).where("number < $0", 1 << 36)
        for _ in range(40):
            id_, place = random_.randrange(rows), random_.randrange(4)
            value = random_.choice([0, -5, -(1 << 40), 1 << 49, random_.randrange(1 << 36, 1 << 44)])
            model[id_][place] = value
            with db.write():
                entry = db.get(Entry, id_)
                if place == 2:
                    entry.at = EPOCH + timedelta(seconds=value >> 12)
                else:
                    setattr(entry, ("number", "maybe", "", "indexed")[place], value)
            assert [each.id for each in live] == [
                each for each, values in model.items() if values[0] < 1 << 36], seed
            asked = random_.choice([value, value + 1, 0, random_.choice(list(model.values()))[place]])
            name = ("number", "maybe", "at", "indexed")[place]
            given = EPOCH + timedelta(seconds=asked >> 12) if place == 2 else asked
            known = {each: values[place] >> 12 if place == 2 else values[place] for each, values in model.items()}
            for text, holds in questions(asked >> 12 if place == 2 else asked):
                found = {each.id for each in db.objects(Entry).where(f"{name} {text}", given)}
                assert found == {each for each, one in known.items() if holds(one)}, (seed, name, text, given)
        assert db.verify().is_sound
    with motte.open(path) as db:
        assert [each.number for each in db.objects("Entry").sorted("id")] == [model[id_][0] for id_ in range(rows)]
        assert db.verify().is_sound
