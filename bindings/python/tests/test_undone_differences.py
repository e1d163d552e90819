"""A file that applies another one's batches, and undoes what patches and differences did: whatever came again is found
by the next batch, in the file, in its copies and behind compactions."""
from __future__ import annotations

import pathlib
import random
from typing import Any

import pytest

import motte
from motte import Database, errors

SCHEMA = """
    Reading { n: int, name: string, next: link<Reading>, others: list<Reading> }
    Place { id: int key, spot: link<Spot>, spots: list<Spot>, reading: link<Reading> }
    embedded Spot { n: int, inner: link<Spot>, marks: set<int>, sizes: map<int>, inside: list<Spot> }
"""


def content(db: Database) -> dict[str, object]:
    def inside(spot: object) -> object:
        return spot and (spot.n, inside(spot.inner), sorted(spot.marks), sorted(spot.sizes.items()),
                         [inside(each) for each in spot.inside])

    readings, places = list(db.objects("Reading")), list(db.objects("Place"))
    found: dict[str, object] = {
        f"reading {each.n}": (each.name, each.next and each.next.n, [other.n for other in each.others])
        for each in readings}
    found.update({f"place {each.id}": (inside(each.spot), [inside(spot) for spot in each.spots],
                                       each.reading and each.reading.n) for each in places})
    assert len(found) == len(readings) + len(places)
    return found


def edit(db: Database, chance: random.Random, numbers: list[int], most: int = 5) -> None:
    reading, place, spot = db.model("Reading"), db.model("Place"), db.model("Spot")
    with db.write():
        for _ in range(chance.randrange(1, most + 1)):
            readings, places = list(db.objects(reading)), list(db.objects(place))
            what = chance.random()
            numbers[0] += 1
            if not readings or what < 0.15:
                db.add(reading(n=numbers[0], name="new"))
            elif not places or what < 0.3:
                db.add(place(id=numbers[0], spot=spot(n=numbers[0], inner=spot(n=1)),
                             spots=[spot(n=2, marks={numbers[0]})]))
            elif what < 0.4:
                db.delete(chance.choice(readings + places))
            elif what < 0.6:
                one = chance.choice(readings)
                one.next, one.name = chance.choice(readings), f"name {numbers[0]}"
            elif what < 0.75:
                chance.choice(readings).others.append(chance.choice(readings))
            elif what < 0.85:
                one = chance.choice(places)
                one.reading = chance.choice(readings)
                if one.spot and one.spot.inner:
                    one.spot.inner.n = numbers[0]
            else:
                one = chance.choice(places)
                how = chance.randrange(7)
                if one.spots and how < 3:
                    each = chance.choice(list(one.spots))
                    if how == 0:
                        each.n = numbers[0]
                    elif how == 1:
                        each.marks, each.sizes = {numbers[0]}, {"a": numbers[0]}
                    else:
                        each.inside.insert(0, spot(n=numbers[0], sizes={"b": 1}))
                elif one.spots and how == 3:
                    del one.spots[chance.randrange(len(one.spots))]
                elif how == 4:
                    one.spot = spot(n=numbers[0], marks={1})
                else:
                    one.spots.insert(chance.randrange(len(one.spots) + 1),
                                     spot(n=numbers[0], marks={1, numbers[0]}, sizes={"c": 2}))


def pass_on(source: Database, target: Database) -> None:
    batch = source.changes_since(target.applied_version(source.origin) or 0)
    target.apply(batch)
    assert not target.apply(batch)


def undo_patch(db: Database, chance: random.Random, numbers: list[int]) -> None:
    """To and fro, and then across both."""
    with db.freeze() as before:
        edit(db, chance, numbers)
        patch = db.changes_since(before).inverse()
        for _ in range(chance.randrange(1, 3)):
            db.apply(patch)
            db.apply(patch.inverse())
        db.apply(patch)
        state = content(db)
        assert state == content(before)
        across = db.changes_since(before)
        if not across.is_empty:
            db.apply(across.inverse())
            assert content(db) == state
            db.apply(across.inverse().inverse())
            assert content(db) == state


def undo_difference(db: Database, path: pathlib.Path, chance: random.Random, numbers: list[int]) -> Database:
    """A copy is edited: here, or in another copy that goes on in this one's place, both ways."""
    edited, state = path.with_name(f"{path.stem}-edited.motte"), content(db)
    db.copy_to(edited)
    with motte.open(edited, schema=SCHEMA) as other:
        edit(other, chance, numbers)
        difference, aim = db.changes_to(other), content(other)
    edited.unlink()
    db = made_anew(db, path, chance)
    for _ in range(chance.randrange(1, 4)):
        if difference.is_empty:
            break
        db.apply(difference)
        assert content(db) == aim
        with pytest.raises((errors.HistoryForkedError, errors.DuplicatePrimaryKeyError)):
            db.apply(difference)
        with db.freeze() as before:
            edit(db, chance, numbers)
            patch, edited_aim = db.changes_since(before), content(db)
        for change, expected in ((patch.inverse(), aim), (difference.inverse(), state), (difference, aim),
                                 (patch.inverse().inverse(), edited_aim), (patch.inverse(), aim)):
            db.apply(change)
            assert content(db) == expected
        db = made_anew(db, path, chance)
        db.apply(difference.inverse())
        assert content(db) == state
    return db


def made_anew(db: Database, path: pathlib.Path, chance: random.Random) -> Database:
    """As it is, compacted, or a copy of it."""
    what = chance.random()
    if what < 0.3:
        db.compact()
    elif what < 0.6:
        copy = path.with_name(f"{path.stem}-copy.motte")
        db.copy_to(copy)
        db.close()
        copy.replace(path)
        return motte.open(path, schema=SCHEMA)
    return db


@pytest.mark.parametrize("seed", range(8))
def test_what_came_again_is_found_by_whoever_names_it(tmp_path: pathlib.Path, seed: int) -> None:
    chance, numbers = random.Random(seed), [0]
    path = tmp_path / "target.motte"
    source, target = motte.open(tmp_path / "source.motte", schema=SCHEMA), motte.open(path, schema=SCHEMA)
    source.keep_changes(source.version)
    try:
        for _ in range(12):
            edit(source, chance, numbers)
            pass_on(source, target)
            assert content(target) == content(source)
            if chance.random() < 0.4:
                undo_patch(target, chance, numbers)
            else:
                target = undo_difference(target, path, chance, numbers)
            target = made_anew(target, path, chance)
            assert content(target) == content(source)
            assert target.verify().is_sound
    finally:
        source.close()
        target.close()


def test_an_object_that_came_again_is_the_same_in_both_files(tmp_path: pathlib.Path) -> None:
    """An undo gives it another key: it is no other object for that, whichever of the files went through it."""
    chance, numbers = random.Random(1), [0]
    with motte.open(tmp_path / "one.motte", schema=SCHEMA) as one, \
            motte.open(tmp_path / "other.motte", schema=SCHEMA) as other:
        one.keep_changes(one.version)
        edit(one, chance, numbers, 40)
        pass_on(one, other)
        one.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=SCHEMA) as copy:
            for undone in (other, copy, one):
                with undone.freeze() as before:
                    with undone.write():
                        undone.delete(undone.objects("Reading"))
                    undone.apply(undone.changes_since(before).inverse())
                for first, second in ((one, other), (other, one), (one, copy), (copy, one)):
                    assert first.changes_to(second).is_empty


NOTES = "Note { text: string, tag: string, tags: list<string>, odd: set<int>, map: map<int> }"


def texts(db: Database) -> list[str]:
    return sorted(each.text for each in db.objects("Note"))


def additions(path: pathlib.Path, db: Database, *added: str) -> list[motte.ChangeBatch]:
    """Differences from one state, each with a note more."""
    made = []
    for text in added:
        copy = path / f"{text}.motte"
        db.copy_to(copy)
        with motte.open(copy, schema=NOTES) as other:
            with other.write():
                other.add(other.model("Note")(text=text))
            made.append(db.changes_to(other))
    return made


@pytest.mark.parametrize("is_copy", [False, True])
def test_differences_from_one_state_make_other_objects(tmp_path: pathlib.Path, is_copy: bool) -> None:
    with motte.open(tmp_path / "base.motte", schema=NOTES) as base:
        with base.write():
            base.add(base.model("Note")(text="base"))
        one, two = additions(tmp_path, base, "one", "two")
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / ("copy.motte" if is_copy else "base.motte"), schema=NOTES) as db:
            db.apply(one)
            with db.freeze() as before:
                with db.write():
                    db.objects("Note").where(text="one").first().tag = "edited"
                edit = db.changes_since(before)
            db.apply(edit.inverse())
            db.apply(one.inverse())
            db.apply(two)
            with pytest.raises(errors.HistoryForkedError):
                db.apply(edit.inverse().inverse())
            with pytest.raises(errors.HistoryForkedError):
                db.apply(one.inverse())
            assert [(each.text, each.tag) for each in db.objects("Note")] == [("base", ""), ("two", "")]
            db.apply(one)
            assert texts(db) == ["base", "one", "two"]
            db.apply(edit.inverse().inverse())
            assert {each.text: each.tag for each in db.objects("Note")} == {"base": "", "one": "edited", "two": ""}


def test_what_a_difference_made_is_no_object_of_its_origin(tmp_path: pathlib.Path) -> None:
    """A file has the origin's batches, and undoes a difference before the next one comes."""
    with motte.open(tmp_path / "origin.motte", schema=NOTES) as origin, \
            motte.open(tmp_path / "other.motte", schema=NOTES) as db:
        origin.keep_changes(origin.version)
        with origin.write():
            origin.add(origin.model("Note")(text="base"))
        pass_on(origin, db)
        made, = additions(tmp_path, origin, "made")
        with db.freeze() as before:
            db.apply(made)
            patch = db.changes_since(before)
        db.apply(patch.inverse())
        with origin.write():
            own = origin.add(origin.model("Note")(text="own"))
        pass_on(origin, db)
        db.apply(patch.inverse())
        assert texts(db) == ["base", "own"]
        with origin.write():
            own.text = "its own"
        pass_on(origin, db)
        assert texts(db) == ["base", "its own"]


@pytest.mark.parametrize("name,former,now", [
    ("tags", [], ["a"]), ("tags", ["a"], ["a", "b"]), ("tags", ["a"], []), ("tags", ["a", "b"], ["b", "a"]),
    ("odd", set(), {1}), ("odd", {1}, {1, 3}), ("map", {}, {"k": 1}), ("map", {"j": 1}, {"j": 1, "k": 1}),
    ("map", {"j": 1}, {"j": 2}), ("tag", "a", "b"),
])
def test_what_an_object_holds_is_compared_before_it_goes(
        tmp_path: pathlib.Path, name: str, former: object, now: object) -> None:
    with motte.open(tmp_path / "base.motte", schema=NOTES) as base:
        with base.write():
            base.add(base.model("Note")(**{"text": "goes", name: former}))
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=NOTES) as copy:
            with copy.write():
                copy.delete(copy.objects("Note"))
            gone = base.changes_to(copy)
        for _ in range(2):
            assert base.apply(gone) and base.apply(gone.inverse())
        with base.write():
            setattr(base.objects("Note").first(), name, now)
        with pytest.raises(errors.HistoryForkedError, match="has another value here"):
            base.apply(gone)
        assert plain_value(getattr(base.objects("Note").first(), name)) == now


def plain_value(value: object) -> object:
    if isinstance(value, str):
        return value
    if hasattr(value, "keys"):
        return dict(value.items())  # type: ignore[attr-defined]
    return set(value) if isinstance(value, motte.Set) else list(value)  # type: ignore[call-overload]


def test_properties_that_the_origin_lacks_are_compared_too(tmp_path: pathlib.Path) -> None:
    """They came into the file after the difference was made: what goes would take their values along."""
    more = NOTES.replace("}", ", extra: string?, count: int, spot: link<Spot> } embedded Spot { n: int }", 1)
    with motte.open(tmp_path / "base.motte", schema=NOTES) as base:
        with base.write():
            base.add(base.model("Note")(text="goes"))
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=NOTES) as copy:
            with copy.write():
                copy.delete(copy.objects("Note"))
            gone = base.changes_to(copy)
    with motte.open(tmp_path / "base.motte", schema=more) as base:
        note = base.objects("Note").first()
        for name, value, initial in (("extra", "mine", None), ("count", 3, 0),
                                     ("spot", base.model("Spot")(n=7), None)):
            with base.write():
                setattr(note, name, value)
            with pytest.raises(errors.HistoryForkedError, match=name):
                base.apply(gone)
            assert note.is_valid and getattr(note, name) is not None
            with base.write():
                setattr(note, name, initial)
        assert base.apply(gone) and base.apply(gone.inverse())


def test_values_of_properties_that_a_difference_adds_are_compared(tmp_path: pathlib.Path) -> None:
    more = NOTES.replace("}", ", extra: string?, marks: set<int>, sizes: map<int>, row: list<int> }")
    with motte.open(tmp_path / "base.motte", schema=NOTES) as base:
        with base.write():
            base.add(base.model("Note")(text="one"))
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=more) as copy:
            with copy.write():
                note = copy.objects("Note").first()
                note.extra, note.marks, note.sizes, note.row = "theirs", {1}, {"a": 1}, [1]
            added = base.changes_to(copy)
    values = {"extra": "mine", "marks": {7}, "sizes": {"k": 7}, "row": [7]}
    with motte.open(tmp_path / "base.motte", schema=more) as base:
        note = base.objects("Note").first()
        for name, value in values.items():
            with base.write():
                setattr(note, name, value)
            with pytest.raises(errors.HistoryForkedError):
                base.apply(added)
            assert plain_value(getattr(note, name)) == value
            with base.write():
                setattr(note, name, None if name == "extra" else type(value)())
        assert base.apply(added)
        with pytest.raises(errors.HistoryForkedError):
            base.apply(added)
        assert note.extra == "theirs" and set(note.marks) == {1} and dict(note.sizes.items()) == {"a": 1}


LINKED = "Note { text: string, next: link<Note>, others: list<Note>, any: mixed, m: map<Note> }"


@pytest.mark.parametrize("name", ["next", "others", "any", "m", "nested"])
def test_what_something_else_links_to_does_not_go(tmp_path: pathlib.Path, name: str) -> None:
    with motte.open(tmp_path / "base.motte", schema=LINKED) as base:
        note = base.model("Note")
        with base.write():
            stays, goes = base.add(note(text="stays")), base.add(note(text="goes"))
            goes.next, goes.others = goes, [goes]
            stays.next = goes
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=LINKED) as copy:
            with copy.write():
                copy.delete(copy.objects("Note").where(text="goes").first())
            gone = base.changes_to(copy)
        assert base.apply(gone) and base.apply(gone.inverse())
        goes = base.objects("Note").where(text="goes").first()
        assert stays.next == goes
        value = {"next": goes, "others": [goes], "any": goes, "m": {"k": goes}, "nested": [[goes]]}[name]
        with base.write():
            other = base.add(note(text="links to it"))
            setattr(other, "any" if name == "nested" else name, value)
        with pytest.raises(errors.HistoryForkedError, match="links to a Note"):
            base.apply(gone)
        assert goes.is_valid and stays.next == goes


def test_equal_numbers_of_different_kinds_are_not_the_same(tmp_path: pathlib.Path) -> None:
    schema = "Note { odd: set<mixed> }"
    with motte.open(tmp_path / "base.motte", schema=schema) as base:
        with base.write():
            found = base.add(base.model("Note")(odd={1}))
        base.copy_to(tmp_path / "copy.motte")
        with motte.open(tmp_path / "copy.motte", schema=schema) as copy:
            with copy.write():
                copy.objects("Note").first().odd.clear()
                copy.objects("Note").first().odd.add(1.0)
            change = base.changes_to(copy)
        assert base.apply(change) and isinstance(next(iter(found.odd)), float)
        with pytest.raises(errors.HistoryForkedError):
            base.apply(change)
        assert base.apply(change.inverse()) and isinstance(next(iter(found.odd)), int)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_embedded_object_comes_before_others_in_a_list(tmp_path: pathlib.Path, place: int) -> None:
    schema = """Order { id: int key, lines: list<Line> }
        embedded Line { product: string, tags: set<string>, m: map<int> }"""
    with motte.open(tmp_path / "one.motte", schema=schema) as one:
        line = one.model("Line")
        with one.write():
            one.add(one.model("Order")(id=1, lines=[line(product="tea", tags={"x"}), line(product="ink", m={"y": 1})]))
        one.copy_to(tmp_path / "other.motte")
        with motte.open(tmp_path / "other.motte", schema=schema) as other:
            with other.write():
                other.get("Order", 1).lines.insert(place, other.model("Line")(product="cup", tags={"z"}, m={"z": 2}))
            for first, second in ((one, other), (other, one)):
                difference = first.changes_to(second)
                for _ in range(2):
                    assert first.apply(difference) and first.changes_to(second).is_empty
                    assert first.apply(difference.inverse())
                assert len(first.get("Order", 1).lines) != len(second.get("Order", 1).lines)


@pytest.mark.parametrize("kind", ["batch", "difference"])
@pytest.mark.parametrize("migration", ["a class", "a property", "a class that was dropped", "a linked class"])
def test_what_was_done_before_a_migration_is_not_undone_in_what_has_its_names(
    tmp_path: pathlib.Path, migration: str, kind: str
) -> None:
    path, note = tmp_path / "file.motte", "Note { text: string, tag: string }"
    owner = " Owner { name: string, note: link<Note> }"
    with motte.open(path, schema=note + owner) as db:
        model, Owner = db.model("Note"), db.model("Owner")
        with db.write():
            first = db.add(model(text="a0", tag="x"))
            db.add(Owner(name="Ann", note=first))
        if kind == "difference":
            db.copy_to(tmp_path / "other.motte")

        def change(changed: motte.Database) -> None:
            with changed.write():
                changed.add(changed.model("Note")(text="a1", tag="x"))
                changed.objects("Note")[0].tag = "changed"
                changed.objects("Owner")[0].note = None
        if kind == "difference":
            with motte.open(tmp_path / "other.motte") as other:
                change(other)
                done = db.changes_to(other)
            db.apply(done)
        else:
            with db.freeze() as before:
                change(db)
                done = db.changes_since(before)
    if migration == "a class":
        motte.open(path, schema="Old { text: string, tag: string } Owner { name: string, note: link<Old> }",
                   schema_version=1, renames={"Note": "Old"}).close()
        schema = note + " Old { text: string, tag: string } Owner { name: string, note: link<Old> }"
    elif migration == "a property":
        motte.open(path, schema="Note { text: string, label: string }" + owner, schema_version=1,
                   renames={"Note.tag": "label"}).close()
        schema = "Note { text: string, label: string, tag: string }" + owner
    else:
        motte.open(path, schema="Owner { name: string }", schema_version=1, delete_classes=["Note"]).close()
        schema = note + (owner if migration == "a linked class" else " Owner { name: string }")
    with motte.open(path, schema=schema, schema_version=2) as db:
        with db.write():
            for text in ("mine0", "mine1"):
                mine = db.add(db.model("Note")(text=text, tag="mine"))
            if migration == "a linked class":
                db.objects("Owner")[0].note = mine

        def content() -> list[Any]:
            return [[each.to_dict() for each in db.objects(model)] for model in db.models]
        shown = content()
        for batch in (done.inverse(), done):
            with pytest.raises((errors.SchemaMismatchError, errors.InvalidArgumentError, errors.HistoryForkedError)):
                db.apply(batch)
            assert content() == shown and db.verify().is_sound


def test_a_migration_is_not_done_again_in_what_has_its_changes(tmp_path: pathlib.Path) -> None:
    schema, runs = "Item { id: int key, price: int }", []

    def in_cents(migration: motte.Migration) -> None:
        runs.append(1)
        for item in migration.new.objects("Item"):
            item.price *= 100

    def opened(name: str, version: int) -> Database:
        return motte.open(tmp_path / name, schema=schema, schema_version=version, migration=in_cents)

    def price(name: str, version: int) -> int:
        with opened(name, version) as db:
            return int(db.one("Item", 1).price)
    with opened("origin.motte", 1) as db:
        db.keep_changes(db.version)
        with db.write():
            db.add(db.model("Item")(id=1, price=5))
        before, whole = db.version, db.changes_since(0)
    with opened("its own.motte", 7) as other, motte.open(tmp_path / "new.motte") as new:
        assert other.apply(whole) and new.apply(whole)
    with opened("origin.motte", 2) as db:
        assert db.one("Item", 1).price == 500 and len(runs) == 1
        batch, whole = db.changes_since(before), db.changes_since(0)
    for name in ("new.motte", "its own.motte", "newer.motte"):
        with motte.open(tmp_path / name) as copy:
            assert copy.apply(whole if name == "newer.motte" else batch)
    assert price("new.motte", 2) == price("newer.motte", 2) == price("its own.motte", 7) == 500 and len(runs) == 1
    with pytest.raises(errors.SchemaMismatchError):
        opened("new.motte", 1)


def test_a_file_with_objects_of_its_own_keeps_its_schema_version(tmp_path: pathlib.Path) -> None:
    schema = "Item { id: int key, price: int }"

    def in_cents(migration: motte.Migration) -> None:
        for item in migration.new.objects("Item"):
            item.price *= 100
    with motte.open(tmp_path / "origin.motte", schema=schema, schema_version=1) as db:
        db.keep_changes(db.version)
        with db.write():
            db.add(db.model("Item")(id=1, price=5))
        before, whole = db.version, db.changes_since(0)
    with motte.open(tmp_path / "hub.motte", schema=schema, schema_version=1) as hub:
        assert hub.apply(whole)
        with hub.write():
            hub.add(hub.model("Item")(id=2, price=7))
    with motte.open(tmp_path / "origin.motte", schema=schema, schema_version=2, migration=in_cents) as db:
        batch = db.changes_since(before)
    with motte.open(tmp_path / "hub.motte", schema=schema, schema_version=1) as hub:
        assert hub.apply(batch)
    with motte.open(tmp_path / "hub.motte", schema=schema, schema_version=1) as hub:
        assert {item.id: item.price for item in hub.objects("Item")} == {1: 500, 2: 7}


@pytest.mark.parametrize("first, second", [
    ("A { id: int key, x: int } B { id: int key }", "B { id: int key } A { id: int key, x: int }"),
    ("A { id: int key, x: int } B { id: int key }", "B { id: int key } A { x: int, id: int key }")])
def test_a_difference_is_of_files_that_number_their_classes_otherwise(
    tmp_path: pathlib.Path, first: str, second: str
) -> None:
    with motte.open(tmp_path / "one.motte", schema=first) as one, \
            motte.open(tmp_path / "other.motte", schema=second) as other:
        for db, x in ((one, 1), (other, 2)):
            with db.write():
                db.add(db.model("A")(id=1, x=x))
                db.add(db.model("B")(id=x))
        difference = one.changes_to(other)
        assert one.apply(difference)
        assert [each.x for each in one.objects("A")] == [2] and [each.id for each in one.objects("B")] == [2]
        assert one.apply(difference.inverse())
        assert [each.x for each in one.objects("A")] == [1] and [each.id for each in one.objects("B")] == [1]
