"""Imports in which an object comes several times, and links to what comes later: the last line wins, whatever the size
of batches is, and a second import of the same text changes nothing."""
from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any, Optional

import pytest

import motte


class Part(motte.EmbeddedModel):
    buddy: Optional[Thing]
    number: int = 0


class Thing(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    friend: Optional[Thing]
    friends: list[Thing]
    known: set[Thing]
    named: dict[str, Optional[Thing]]
    part: Optional[Part]
    parts: list[Part]
    any: Any


_numbers = itertools.count()


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"import order {next(_numbers)}", schema=[Thing, Part]) as database:
        yield database


def shown(value: Any) -> Any:
    return {"$link": ["Thing", value.id]} if isinstance(value, Thing) else value


def content(db: motte.Database) -> dict[int, dict[str, Any]]:
    """As lines give it, without what an object has never had."""
    found: dict[int, dict[str, Any]] = {}
    for thing in db.objects(Thing):
        parts = [None if part is None else {"buddy": part.buddy and part.buddy.id, "number": part.number}
                 for part in (thing.part, *thing.parts)]
        values = {
            "name": thing.name, "friend": thing.friend and thing.friend.id,
            "friends": [one.id for one in thing.friends],
            "known": sorted(one.id for one in thing.known),
            "named": {key: one and one.id for key, one in thing.named.items()}, "part": parts[0], "parts": parts[1:],
            "any": shown(thing.any)}
        found[thing.id] = {name: value for name, value in values.items() if value not in ("", None, [], {})}
    return found


def random_lines(chance: random.Random) -> list[dict[str, Any]]:
    """Every object comes at last, so that every link leads somewhere."""
    ids = list(range(1, 7))

    def part() -> dict[str, Any]:
        return {"buddy": chance.choice([None, *ids]), "number": chance.randrange(3)}

    def value(name: str) -> Any:
        link, some = chance.choice([None, *ids]), chance.sample(ids, chance.randrange(3))
        return {"name": chance.choice("abc"), "friend": link, "friends": some, "known": some,
                "named": {key: chance.choice(ids) for key in chance.sample("xyz", chance.randrange(3))},
                "part": chance.choice([None, part()]), "parts": [part() for _ in range(chance.randrange(3))],
                "any": chance.choice([5, "text", None, {"$link": ["Thing", chance.choice(ids)]}])}[name]

    names = ["name", "friend", "friends", "known", "named", "part", "parts", "any"]
    lines = []
    for _ in range(chance.randrange(3, 20)):
        lines.append({"id": chance.choice(ids), **{name: value(name) for name in chance.sample(names, 3)}})
    return [*lines, *({"id": number} for number in chance.sample(ids, len(ids)))]


def expected(lines: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """By a model of its own: what is given last is what there is."""
    things: dict[int, dict[str, Any]] = {}
    for line in lines:
        things.setdefault(line["id"], {}).update({name: value for name, value in line.items() if name != "id"})
    for thing in things.values():
        if "known" in thing:
            thing["known"] = sorted(thing["known"])
    return {number: {name: value for name, value in thing.items() if value not in ("", None, [], {})}
            for number, thing in things.items()}


@pytest.mark.parametrize("policy", ["modified", "all"])
@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_the_last_line_wins(policy: str, batch_rows: int) -> None:
    for seed in range(60):
        lines = random_lines(random.Random(seed))
        text = "\n".join(map(json.dumps, lines))
        name = f"import order {next(_numbers)}"
        with motte.open(in_memory=name, schema=[Thing, Part]) as db:
            for _ in range(2):
                db.import_json(Thing, text=text, policy=policy, batch_rows=batch_rows)
                assert content(db) == expected(lines), (seed, text)


@pytest.mark.parametrize("batch_rows", [1, 1000])
def test_the_last_line_of_a_table_wins(db: motte.Database, batch_rows: int) -> None:
    text = "id,name,friend\n1,a,99\n1,b,\n2,c,99\n2,d,1\n99,z,\n"
    for _ in range(2):
        db.import_csv(Thing, text=text, policy="modified", batch_rows=batch_rows)
        found = {thing.id: (thing.name, thing.friend and thing.friend.id) for thing in db.objects(Thing)}
        assert found == {1: ("b", None), 2: ("d", 1), 99: ("z", None)}
