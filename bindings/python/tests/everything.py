"""Reads all that a database shows, by every path, for tests of long-lived readers; run as a program, it is one in a
process of its own, which answers each line that it gets with a digest of what it reads."""
from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from typing import Any, Optional

import motte


class Item(motte.Model, indexes=[motte.index("name", "n")]):
    id: int = motte.field(primary_key=True)
    part: int = motte.field(indexed=True)
    name: str
    n: int
    ratio: float
    body: str
    numbers: list[int] = motte.field(default_factory=list)
    words: list[str] = motte.field(default_factory=list)
    other: Optional[Item] = None


#: Longer than what lies in a chunk, in every fifth object.
LONG = 2_500


def values(id: int) -> dict[str, Any]:
    body = f"body {id} " + "abcdefghij"[id % 10] * (LONG if id % 5 == 0 else 40)
    return {
        "id": id, "part": id % 7, "name": f"name {id % 1000:04d}", "n": id * 7, "ratio": id / 8, "body": body,
        "numbers": list(range(id % 4)), "words": [f"word {id} {k} " * (200 if id % 11 == 0 else 1) for k in range(3)],
    }


def add(db: motte.Database, ids: Iterable[int]) -> None:
    with db.write():
        for id in ids:
            item = db.add(Item(**values(id)))
            item.other = db.get(Item, id - 1)


def expected(ids: Iterable[int]) -> list[tuple[str, Any]]:
    """What `read` answers where these objects are there, in the order of their making."""
    all = [values(id) for id in ids]
    linked = {v["id"] for v in all}
    rows = [(*(v[name] for name in ("id", "part", "name", "n", "ratio", "body", "numbers", "words")),
             v["id"] - 1 if v["id"] - 1 in linked else None) for v in all]
    return [
        ("objects", rows), ("column", [v["n"] for v in all]), ("bodies", [v["body"] for v in all]),
        ("parts", [sorted(v["id"] for v in all if v["part"] == part) for part in range(7)]),
        ("found", [v["name"] for v in all]), ("scan", [v["id"] for v in all if " 7" in v["body"]]),
        ("order", [v["id"] for v in sorted(all, key=lambda v: (v["name"], v["n"]))]),
        ("by index", [v["id"] for v in sorted(all, key=lambda v: v["n"]) if v["name"] == "name 0042"]),
        ("sums", (sum(v["n"] for v in all), sum(v["ratio"] for v in all))),
        ("elements", sorted(word for v in all for word in v["words"])[:50]),
    ]


def read(db: motte.Database) -> list[tuple[str, Any]]:
    items = db.objects(Item)
    rows = [(o.id, o.part, o.name, o.n, o.ratio, o.body, list(o.numbers), list(o.words), o.other and o.other.id)
            for o in items]
    return [
        ("objects", rows), ("column", list(items.column("n"))), ("bodies", list(items.column("body"))),
        ("parts", [sorted(o.id for o in items.where("part == $0", part)) for part in range(7)]),
        ("found", [item.name if (item := db.get(Item, row[0])) else None for row in rows]),
        ("scan", [o.id for o in items.where("body CONTAINS ' 7'")]),
        ("order", [o.id for o in items.sorted("name", "n")]),
        ("by index", [o.id for o in items.where("name == 'name 0042'").sorted("n")]),
        ("sums", (items.sum("n"), items.sum("ratio"))),
        ("elements", sorted(word for o in items for word in o.words)[:50]),
    ]


def digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


if __name__ == "__main__":
    with motte.open(sys.argv[1], schema=[Item], read_only=True) as db:
        print(digest(read(db)), flush=True)
        for line in sys.stdin:
            if line == "refresh\n":
                db.refresh()
            print(digest(read(db)), flush=True)
