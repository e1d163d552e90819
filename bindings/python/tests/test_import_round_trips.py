"""Objects out as Arrow columns and in again: every type, in every layout, under every policy."""
from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow
import pytest

import motte
from importing_model import Home, Item, opened
from seeds import seeded

UTC = timezone.utc


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with opened() as database:
        yield database


def random_text(chance: random.Random) -> str:
    return "".join(chance.choice("aä€😀 \0\"x") for _ in range(chance.choice([0, 1, 5, 12, 13, 40])))


def random_item(chance: random.Random, number: int) -> Item:
    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.7 else None

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(-2 ** 55, 2 ** 55))
    return Item(
        id=number * 3, small=chance.randrange(-128, 128), whole=maybe(chance.randrange(-2 ** 63, 2 ** 63)),
        flag=maybe(chance.random() < 0.5), single=maybe(chance.randrange(1000) / 8), real=maybe(chance.random() * 1e9),
        text=maybe(random_text(chance)), data=maybe(chance.randbytes(chance.choice([0, 3, 12, 13, 100]))),
        moment=maybe(moment),
        number=maybe(Decimal(chance.randrange(-10 ** 20, 10 ** 20)).scaleb(chance.randrange(-9, 9))),
        code=maybe(uuid.UUID(int=chance.getrandbits(128))), oid=maybe(motte.ObjectId(chance.randbytes(12))),
        any=maybe(chance.choice([1, 2.5, "text", True, b"\1", [1, [2, None]], {"a": {"b": 1.0}}, moment,
                                 uuid.UUID(int=3), Decimal("1.10")])),
        home=maybe(Home(city=random_text(chance), floors=[1, 2][:chance.randrange(3)])),
        homes=[Home(city=random_text(chance)) for _ in range(chance.choice([0, 0, 1, 3]))],
        words=[maybe(random_text(chance)) for _ in range(chance.choice([0, 0, 1, 4, 300]))],
        chosen=set(chance.sample(range(50), chance.choice([0, 3]))),
        prices={f"k{key}": maybe(chance.random()) for key in range(chance.choice([0, 2]))})


def contents(db: motte.Database) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        if isinstance(value, motte.Model):
            return value.id if isinstance(value, Item) else {k: plain(v) for k, v in value.to_dict().items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value
    return [{name: plain(value) for name, value in item.to_dict().items()}
            for item in db.objects(Item).sorted("id")]


def rechunked(table: pyarrow.Table, chance: random.Random) -> pyarrow.Table:
    """The same rows in slices of other offsets and lengths, empty ones among them."""
    batches, start = [], 0
    whole = table.combine_chunks().to_batches()
    for batch in whole:
        start = 0
        while start < batch.num_rows:
            size = chance.randrange(0, 40)
            batches.append(batch.slice(start, size))
            start += size
    return pyarrow.Table.from_batches(batches, table.schema)


def widened(table: pyarrow.Table, chance: random.Random) -> pyarrow.Table:
    """The same values in other layouts of texts."""
    for name in ("text", "number", "any"):
        place = table.schema.get_field_index(name)
        metadata = table.schema.field(place).metadata
        kind = chance.choice([pyarrow.large_string(), pyarrow.string_view(), pyarrow.dictionary(
            pyarrow.int16(), pyarrow.string()), pyarrow.string()])
        values = table[name]
        values = values.dictionary_encode().cast(kind) if pyarrow.types.is_dictionary(kind) else values.cast(kind)
        table = table.set_column(place, pyarrow.field(name, kind, metadata=metadata), values)
    return table


@pytest.mark.parametrize("policy", ["error", "all", "modified"])
def test_every_type_goes_round(db: motte.Database, policy: str) -> None:
    chance = random.Random(seeded())
    for _ in range(2):
        rows = chance.choice([0, 1, 30, 150])
        with db.write():
            db.delete_all()
            for number in range(rows):
                db.add(random_item(chance, number))
            items = list(db.objects(Item))
            for item in items:
                item.friend = chance.choice([None, *items[:3]])
        before = contents(db)
        exported = rechunked(widened(db.objects(Item).to_arrow(batch_rows=chance.choice([1, 7, 1000])), chance), chance)
        with opened() as copy:
            with copy.write():
                if policy != "error":
                    copy.add(Item(id=0, text="old", words=["old"], prices={"old": 1.0}, home=Home(city="old")))
                    for number in range(1, rows):
                        copy.add(Item(id=number * 3))
                else:
                    # Links are keys, which have to be there.
                    exported = exported.drop_columns("friend")
                    before = [{**values, "friend": None} for values in before]
                if policy != "error" and rows:
                    keys = {key: number for number, key in enumerate(db.objects(Item).object_keys())}
                    friends = [None if key is None else keys[key] for key in exported["friend"].to_pylist()]
                    exported = exported.set_column(
                        exported.schema.get_field_index("friend"), "friend", pyarrow.array(friends, pyarrow.int64()))
                counts = copy.import_data(Item, exported, policy=policy)
            assert counts == ((rows, 0) if policy == "error" else (0, rows))
            after = contents(copy)
            for old, new in zip(before, after):
                assert {name: (old[name], new[name]) for name in old if old[name] != new[name]} == {}
            copy.verify()


def test_results_of_one_database_into_another(db: motte.Database) -> None:
    chance = random.Random(seeded())
    with db.write():
        db.add_all([random_item(chance, number) for number in range(50)])
    with opened() as copy:
        assert copy.import_data(Item, db.objects(Item)) == (50, 0)
        assert contents(copy) == contents(db)
