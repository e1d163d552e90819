"""The document of change batches suffices: a reader written by it comes to the objects that the library has."""
from __future__ import annotations

import pathlib
import struct
import sys
from typing import Any, Callable

import pytest

import motte

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import batch_reader as changes
import reader

SCHEMA = """
Person { id: int key, name: string?, age: int, score: double?, small: float, active: bool?, photo: data,
         best: link<Person>, tags: list<string>, friends: list<Person>, langs: set<string>, scores: map<int>,
         price: decimal?, mark: uuid, extra: mixed, home: link<Home>, homes: list<Home> }
embedded Home { city: string }
Bag { items: list<int> }
"""


def plain(db: motte.Database) -> dict[int, Any]:
    return {person.id: (person.name, person.age, list(person.tags), [friend.id for friend in person.friends],
                        sorted(person.langs), dict(person.scores), person.best.id if person.best else None,
                        person.home.city if person.home else None, [home.city for home in person.homes])
            for person in db.objects("Person")}


def read_back(copy: changes.Copy) -> dict[int, Any]:
    people = next((number for number, found in copy.classes.items() if found.name == "Person"), 0)
    homes = next((number for number, found in copy.classes.items() if found.name == "Home"), 0)
    rows = copy.rows.get(people, {})
    cities = {key: row["city"] for key, row in copy.rows.get(homes, {}).items()}
    return {row["id"]: (row["name"], row["age"], row.get("tags", []),
                        [rows[link.key]["id"] for link in row.get("friends", [])], sorted(row.get("langs", [])),
                        row.get("scores", {}), rows[row["best"].key]["id"] if row["best"] else None,
                        cities[row["home"].key] if row["home"] else None,
                        [cities[link.key] for link in row.get("homes", [])])
            for row in rows.values()}


def test_a_reader_by_the_document_comes_to_the_same_objects(tmp_path: pathlib.Path) -> None:
    copy = changes.Copy()
    with motte.open(tmp_path / "origin.motte", schema=SCHEMA) as db:
        person, home, bag = db.model("Person"), db.model("Home"), db.model("Bag")
        db.keep_changes(db.version)
        for round_number in range(12):
            with db.write():
                for number in range(round_number * 5, round_number * 5 + 5):
                    made = db.add(person(id=number, name=f"person {number}", age=number, extra=[1, {"a": number}]))
                    made.tags.extend(f"tag {index}" for index in range(number % 4))
                    made.langs.update({"en", f"l{number % 3}"})
                    made.scores["a"] = number
                    made.best = db.get(person, number - 1)
                    made.home = home(city=f"city {number}")
                    made.homes.append(home(city=f"other {number}"))
                    db.add(bag()).items.extend(range(number % 3))
                if round_number % 3 == 1:
                    first = db.one(person, round_number * 5 - 4)
                    first.name, first.age = None, -1
                    first.tags.insert(0, "front")
                    first.tags.append("back")
                    first.friends.extend([db.one(person, round_number), first])
                    first.scores["b"] = 2
                    first.scores.pop("a")
                    first.home = None
                    db.delete(db.one(person, round_number * 5 - 3))
            if round_number % 2 == 0:
                batch = db.changes_since(copy.version)
                read = changes.Batch(bytes(batch))
                assert (read.start, read.end, read.whole) == (batch.from_version, batch.to_version, batch.is_whole)
                assert read.origin[:8][::-1] + read.origin[8:][::-1] == batch.origin.bytes
                copy.apply(read)
                assert read_back(copy) == plain(db)
        assert len(copy.objects("Bag")) == db.count(bag) - 5
        whole = changes.Copy()
        whole.apply(changes.Batch(bytes(db.changes_since(0))))
        assert read_back(whole) == plain(db)
    found = reader.Reader(str(tmp_path / "origin.motte"))
    assert found.version == whole.version


def test_a_reader_goes_back_by_an_inverse(tmp_path: pathlib.Path) -> None:
    copy = changes.Copy()
    with motte.open(tmp_path / "origin.motte", schema=SCHEMA) as db:
        person, home = db.model("Person"), db.model("Home")
        db.keep_changes(db.version)
        with db.write():
            for number in range(4):
                db.add(person(id=number, name=f"person {number}", home=home(city="Ulm"))).tags.extend("abc")
        copy.apply(changes.Batch(bytes(db.changes_since(0))))
        before, expected = db.freeze(), plain(db)
        with db.write():
            first = db.one(person, 0)
            first.tags.insert(1, "new")
            first.tags.pop(0)
            first.name, first.home = None, home(city="Bonn")
            db.delete(db.one(person, 3))
            db.add(person(id=9))
        batch = db.changes_since(before)
        copy.apply(changes.Batch(bytes(batch)))
        assert read_back(copy) == plain(db) != expected
        copy.apply(changes.Batch(bytes(batch.inverse())))
        assert read_back(copy) == expected


def test_a_reader_goes_from_one_file_to_another(tmp_path: pathlib.Path) -> None:
    copy = changes.Copy()
    with motte.open(tmp_path / "first.motte", schema=SCHEMA) as first:
        person, home, bag = first.model("Person"), first.model("Home"), first.model("Bag")
        with first.write():
            for number in range(6):
                made = first.add(person(id=number, name=f"person {number}", home=home(city="Ulm")))
                made.tags.extend("abc")
                made.homes.extend([home(city="one"), home(city="two")])
                first.add(bag())
        copy.apply(changes.Batch(bytes(first.changes_since(0))))
        first.copy_to(tmp_path / "second.motte")
        expected = plain(first)
        with motte.open(tmp_path / "second.motte", schema=SCHEMA) as second:
            other, place = second.model("Person"), second.model("Home")
            with second.write():
                changed = second.one(other, 1)
                changed.tags.insert(1, "new")
                changed.homes[1].city = "three"
                changed.homes.insert(0, place(city="zero"))
                changed.scores["a"], changed.best = 1, second.one(other, 0)
                second.one(other, 2).home = None
                second.delete(second.one(other, 3))
                second.add(other(id=9, name="new", home=place(city="Bonn")))
            batch = first.changes_to(second)
            assert batch.is_difference and batch.is_reversible
            copy.apply(changes.Batch(bytes(batch)))
            assert read_back(copy) == plain(second) != expected
            copy.apply(changes.Batch(bytes(batch.inverse())))
            assert read_back(copy) == expected
            assert first.apply(batch)
            assert plain(first) == plain(second)
            assert first.changes_to(second).is_empty


def test_a_changed_byte_is_found(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "origin.motte", schema=SCHEMA) as db:
        with db.write():
            db.add(db.model("Person")(id=1, name="Ada"))
        data = bytes(db.changes_since(0))
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 0x10
        with pytest.raises(reader.FormatError):
            changes.Batch(bytes(changed))
        with pytest.raises(motte.Error):
            motte.ChangeBatch(changed)


def test_a_file_that_applied_batches_is_read(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "origin.motte", schema=SCHEMA) as db, motte.open(tmp_path / "copy.motte") as copy:
        with db.write():
            db.add(db.model("Person")(id=1, name="Ada"))
        assert copy.apply(db.changes_since(0))
    entries = reader.Reader(str(tmp_path / "copy.motte")).entries
    pages = {key: page for key, page in entries.items() if key[0] == 0x0B and key[-1:] != b"\2"}
    assert pages
    for key, page in pages.items():
        kind, form, zero, crc = page[0], page[1], page[2:4], int.from_bytes(page[4:8], "little")
        assert kind in (0x50, 0x4E) and form == 1 and not any(zero)
        assert reader.crc32c(page[:4], bytes(4), page[8:], key) == crc


def rewritten(batch: bytes, kind: int, change: Callable[[bytes], bytes]) -> bytes:
    """The batch with other bytes in its sections of a kind, and with the checksum of these."""
    run, body = changes.Run(batch), b""
    head = bytearray(run.take(88))
    while run.rest():
        number, flags = run.byte(), run.byte()
        section = run.take(run.number())
        if number == kind:
            section = change(section)
        body += bytes([number, flags]) + varint(len(section)) + section
    struct.pack_into("<IQ", head, 12, 0, 88 + len(body))
    struct.pack_into("<I", head, 12, reader.crc32c(bytes(head) + body))
    return bytes(head) + body


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


TREE = "Tree { id: int key, root: link<Node>, next: link<Tree> } embedded Node { n: int, inner: link<Node> }"


@pytest.mark.parametrize("key", [2**63 - 1, 2**62, 2**62 - 1, 2**48, 2**47, -1, -2**63])
def test_a_link_to_an_impossible_object_is_an_error(tmp_path: pathlib.Path, key: int) -> None:
    with motte.open(tmp_path / "origin.motte", schema=TREE) as db, \
            motte.open(tmp_path / "copy.motte", schema=TREE) as copy:
        db.keep_changes(db.version)
        with db.write():
            tree = db.add(db.model("Tree")(id=1))
        before = db.changes_since(0)
        copy.apply(before)
        with db.write():
            tree.next = tree
        link = varint((key << 1 ^ key >> 63) & (2**64 - 1))
        bad = rewritten(bytes(db.changes_since(before.to_version)), changes.SET, lambda body: body[:-1] + link)
        for _ in range(2):
            with pytest.raises(motte.Error):
                copy.apply(bad)
            assert [(each.id, each.next) for each in copy.objects("Tree")] == [(1, None)]
        assert copy.apply(db.changes_since(before.to_version))


def test_embedded_objects_that_own_each_other_are_an_error(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "origin.motte", schema=TREE) as db, \
            motte.open(tmp_path / "copy.motte", schema=TREE) as copy:
        db.keep_changes(db.version)
        with db.write():
            tree = db.add(db.model("Tree")(id=1, root=db.model("Node")(n=1)))
        before = db.changes_since(0)
        copy.apply(before)
        with db.write():
            tree.root.inner = db.model("Node")(n=2)
        batch = bytes(db.changes_since(before.to_version))
        # The new one, with the second key, has itself inside.
        bad = rewritten(batch, changes.SET, lambda body: body[:3] + b"\x01" + body[4:])
        assert bad != batch and rewritten(batch, changes.SET, bytes) == batch
        with pytest.raises(motte.Error, match="without an owner"):
            copy.apply(bad)
        assert copy.apply(batch)
        assert copy.verify().is_sound


NESTED = "Holder { id: int key, one: mixed, several: list<mixed>, set: set<mixed>, named: map<mixed> }"


@pytest.mark.parametrize("value, was, now", [({"a": 1}, reader.MAP, reader.LIST), ([1], reader.LIST, reader.MAP)])
@pytest.mark.parametrize("name", ["one", "several", "set", "named"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_list_is_no_map(tmp_path: pathlib.Path, name: str, value: Any, was: int, now: int, is_new: bool) -> None:
    with motte.open(tmp_path / "origin.motte", schema=NESTED) as db, \
            motte.open(tmp_path / "copy.motte", schema=NESTED) as copy:
        with copy.write():
            copy.add(copy.model("Holder")(id=100, one=[1], several=[[1]], set={"a"}, named={"a": {"b": 1}}))
        db.keep_changes(db.version)
        if not is_new:
            with db.write():
                db.add(db.model("Holder")(id=1))
            copy.apply(db.changes_since(0))
        with db.write():
            holder = db.one("Holder", 1) if not is_new else db.add(db.model("Holder")(id=1))
            if name == "several":
                holder.several.append(value)
            elif name == "set":
                holder.set.add(value)
            elif name == "named":
                holder.named["k"] = value
            else:
                holder.one = value
        batch = bytes(db.changes_since(copy.applied_version(db.origin) or 0))
        document = bytes([was, 0, 0, 0, 1, 0, 0, 0])
        at = batch.index(document) - 2
        assert batch[at] == was
        changed = bytearray(batch)
        changed[at] = now
        struct.pack_into("<I", changed, 12, reader.crc32c(bytes(changed[:12]), bytes(4), bytes(changed[16:])))
        before = [each.to_dict() for each in copy.objects("Holder")]
        with pytest.raises(motte.errors.CorruptedError):
            copy.apply(bytes(changed))
        assert [each.to_dict() for each in copy.objects("Holder")] == before and copy.verify().is_sound
        assert copy.apply(batch)
