"""What run.py does through the Python package, each in a process of its own."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import resource
import sys
from typing import Any

import motte

SCHEMA = """
Doc {
    id: int key,
    number: int,
    label: string,
    body: string,
    note: string?,
    data: data?,
    words: list<string>,
    numbers: list<int>,
    parts: list<Part>,
    facts: map<mixed>,
    next: link<Doc>,
}
embedded Part {
    n: int,
    text: string,
}
"""
BATCH_BYTES = 24 << 20


def build(path: str, size: str) -> None:
    """A file of that size: long texts and lists, embedded objects, and rows that were deleted or changed since."""
    wanted, seed = int(size), int(os.environ.get("MOTTE_TEST_SEED", "20261123"))
    draw = random.Random(seed)
    pool = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz äöü ") for _ in range(1 << 20))
    db = motte.open(path, schema=SCHEMA)
    doc = db.model("Doc")
    made = first = commits = deleted = 0

    def text(length: int) -> str:
        start = draw.randrange(len(pool) - length)
        return pool[start:start + length]

    def line() -> str:
        nonlocal made
        kind = draw.random()
        row = {
            "id": made, "number": draw.randrange(1 << 40), "label": f"label {made % 977}",
            "body": text(draw.randrange(20, 900) if kind > 0.02 else draw.randrange(9_000, 300_000)),
            "note": None if made % 3 else text(40), "words": [text(12) for _ in range(draw.randrange(4))],
            "numbers": [draw.randrange(1 << 30) for _ in range(draw.randrange(6))],
            "parts": [{"n": number, "text": text(20)} for number in range(draw.randrange(5))],
            "facts": {"at": made, "text": text(10)} if made % 5 == 0 else {},
            "next": draw.randrange(first, made) if made > first and made % 4 == 0 else None,
        }
        if kind < 0.002:
            row["numbers"] = [draw.randrange(1 << 30) for _ in range(20_000)]
        elif kind < 0.004:
            row["words"] = [text(30) for _ in range(3_000)]
        made += 1
        return json.dumps(row, ensure_ascii=False)

    while os.path.getsize(path) < wanted:
        # Links lead to objects of the same batch; what was made before may have been deleted.
        lines, count, first = [], 0, made
        while count < BATCH_BYTES:
            lines.append(line())
            count += len(lines[-1])
        db.import_json(doc, text="\n".join(lines), policy="error")
        commits += 1
        if commits % 3 == 0:
            with db.write():
                deleted += db.delete(db.objects(doc).where("id >= $0 AND number < $1", made - 4_000, 1 << 37))
    objects = len(db.objects(doc))
    db.close()
    print(f"{os.path.getsize(path) / 1e6:.1f} MB: {objects} objects, {deleted} deleted, seed {seed}")


def thin(path: str) -> None:
    db = motte.open(path)
    flight = db.model("Flight")
    with db.write():
        db.delete(db.objects(flight).where("day < 11"))
    db.close()


def edit(path: str) -> None:
    """Objects that come, change and go, in several writes: a part of everything."""
    db = motte.open(path)
    if "Doc {" in db.schema:
        name, number, text = "Doc", "number", "label"
    else:
        name, number, text = "Flight", "day", "dest_code"
    model = db.model(name)
    for part in range(4):
        with db.write():
            found = db.objects(model).where(f"{number} - {number} / 4 * 4 == $0", part)
            assert len(found) > 0
            found.update(**{text: f"changed {part}"})
    with db.write():
        db.delete(db.objects(model).where(f"{number} - {number} / 16 * 16 == 3"))
    db.close()


def rewrite(path: str) -> None:
    """Two properties of all objects in one write, in their order, and back in another, in none; with little memory."""
    db = motte.open(path, memory=32 << 20)
    name, number, text = ("Doc", "number", "label") if "Doc {" in db.schema else ("Flight", "day", "dest_code")
    found = db.objects(db.model(name))
    with db.write():
        for row in found:
            setattr(row, text, f"{getattr(row, text)} changed")
            setattr(row, number, getattr(row, number) + 1)
    assert len(found.where(f"{text} ENDSWITH ' changed'")) == len(found)
    order = list(range(len(found)))
    random.Random(len(order)).shuffle(order)
    with db.write():
        for position in order:
            row = found[position]
            setattr(row, text, getattr(row, text).removesuffix(" changed"))
            setattr(row, number, getattr(row, number) - 1)
    db.close()


def peak() -> int:
    """Of memory of the process itself and of files that it has mapped, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read(path: str) -> None:
    """All objects with little memory: within a write that changes a few, of something frozen, and in a migration."""
    is_large = os.path.getsize(path) > 1 << 30
    memory = 32 << 20 if is_large else 4 << 20
    name, text = ("Doc", "label") if is_large else ("Flight", "dest_code")
    db = motte.open(path, memory=memory)
    model, schema = db.model(name), db.schema
    found = db.objects(model)
    count, before = len(found), peak()
    # Beside the pages: keys of all objects, twice, what is changed, and what a sort has.
    most = before + 2 * memory + 24 * count + (8 << 20)

    def look(where: str, objects: Any) -> int:
        total = 0
        for position in range(0, count, 8):
            values = objects[position].to_dict().values()
            total += sum(len(value) for value in values if isinstance(value, (str, bytes)))
        assert peak() < most, f"{where}: {peak() - before} bytes more than {before}"
        return total

    total = look("reading", found)
    with contextlib.suppress(Cancelled), db.write():
        assert look("in a write", found) == total
        assert len(found.where(f"{text} CONTAINS 'not there'")) == 0
        assert len(found.sorted(text)[:3]) == 3
        for position in range(0, count, 500):
            setattr(found[position], text, "changed")
        assert look("in a write that has changed some", found) > 0
        assert len(found.where(f"{text} == 'changed'")) == len(range(0, count, 500))
        raise Cancelled
    assert look("frozen", db.freeze().objects(model)) == total
    db.close()

    def step(migration: motte.Migration) -> None:
        for old, new in migration.enumerate(name):
            if getattr(old, text) != getattr(new, text):
                raise AssertionError(f"{old} has become {new}")
    db = motte.open(path, schema=schema, schema_version=1_000, migration=step, memory=memory)
    assert look("migrated", db.objects(db.model(name))) == total
    db.close()
    print(f"{(peak() - before) / 1e6:.0f} MB more than at its beginning")


def launch(path: str) -> None:
    asked = []
    db = motte.open(path, compact_on_launch=lambda total, used: asked.append((total, used)) or True)
    assert len(asked) == 1 and 0 < asked[0][1] <= asked[0][0]
    db.close()


class Cancelled(Exception):
    pass


def copy(path: str, target: str) -> None:
    """Out of a write with an object more, which is cancelled then."""
    db = motte.open(path)
    try:
        with db.write():
            if "Doc {" in db.schema:
                db.add(db.model("Doc")(id=-1, number=0, label="", body=""))
            else:
                db.add(db.model("Airline")(carrier="??", name="new"))
            db.copy_to(target)
            raise Cancelled
    except Cancelled:
        pass
    db.close()


def compare(first: str, second: str) -> None:
    """Every key and every value of two page files, read without the library."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "FileFormat"))
    import reader

    # Copies have a header record of their own and no history.
    left, right = ({key: value for key, value in reader.Pages(path).entries.items() if key[0] not in (0x00, 0x7F)}
                   for path in (first, second))
    assert left == right, f"{len(left)} and {len(right)} entries, and not the same"
    print(f"{len(left)} entries read without the library")


def seed(source: str, path: str) -> None:
    motte.open(path, seed=source).close()


def delete(path: str) -> None:
    db = motte.open(path)
    with db.write():
        db.delete_all()
    db.close()


def delete_and_cancel(path: str) -> None:
    db = motte.open(path)
    try:
        with db.write():
            assert db.delete_all() > 0
            raise Cancelled
    except Cancelled:
        pass
    db.close()


if __name__ == "__main__":
    {"build": build, "thin": thin, "edit": edit, "launch": launch, "copy": copy, "compare": compare, "seed": seed,
     "delete": delete, "delete-and-cancel": delete_and_cancel, "rewrite": rewrite,
     "read": read}[sys.argv[1]](*sys.argv[2:])
