"""Declared defaults, required values and members hold in what fills a new file and in migrations, as in writes."""
from __future__ import annotations

import contextlib
import enum
import json
import pathlib
import uuid
from typing import Any, Literal, Optional

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


# ------------------------------------------------------------------------------------------------ older objects


def test_a_step_that_renames_after_older_objects_were_filled(tmp_path: pathlib.Path) -> None:
    """The change log named objects that fillers had made before the renaming, and that never were."""
    path = tmp_path / "pets.motte"

    def declared() -> list[Any]:
        class Address(motte.EmbeddedModel):
            street: str = ""

        class Pet(motte.Model):
            name: str
            home: Optional[Address] = None

        return [Pet, Address]

    def renamed() -> list[Any]:
        class Address(motte.EmbeddedModel):
            street: str = ""

        class Pet(motte.Model):
            name: str
            place: Optional[Address] = motte.field(default_factory=lambda: Address(street="start"))

        return [Pet, Address]

    pet, address = declared()
    with motte.open(path, schema=[pet, address], schema_version=1) as db:
        with db.write():
            db.add_all([pet(name=f"p{number}", home=address(street=f"s{number}")) for number in range(5)])
        base = db.version
        db.keep_changes(base)
    pet, address = renamed()
    with motte.open(path, schema=[pet, address], schema_version=2,
                    migration=lambda sides: sides.rename("Pet", "home", "place")) as db:
        assert [each.place.street for each in db.objects(pet)] == [f"s{number}" for number in range(5)]
        assert db.count(address) == 5 and db.verify().is_sound
        db.changes_since(base)
        with db.write():
            db.add(pet(name="later"))
        db.changes_since(base)


@pytest.mark.parametrize("late", [False, True])
def test_what_a_renaming_copies_is_held_to_no_rules(tmp_path: pathlib.Path, late: bool) -> None:
    """Renaming before a step changes anything and after it gives the same values."""
    path = tmp_path / "parts.motte"

    def former() -> Any:
        class Part(motte.Model):
            id: int = motte.field(primary_key=True)
            kind: str = ""
            number: int = 0

        return Part

    class Part(motte.Model):
        id: int = motte.field(primary_key=True)
        sort: Literal["a", "b"] = "a"
        number: int = 0

    before = former()
    with motte.open(path, schema=[before]) as db, db.write():
        db.add_all([before(id=1, kind="b"), before(id=2, kind="neither")])

    def step(sides: Any) -> None:
        if not late:
            sides.rename("Part", "kind", "sort")
        for part in sides.new.objects(Part):
            part.number = part.id
        if late:
            sides.rename("Part", "kind", "sort")
        with pytest.raises(errors.WrongTypeError):
            sides.new.add(Part(id=3, sort="neither"))  # type: ignore[arg-type]

    with motte.open(path, schema=[Part], schema_version=1, migration=step) as db:
        assert json.loads(db.export_json(None, Part)) == [
            {"id": 1, "sort": "b", "number": 1}, {"id": 2, "sort": "neither", "number": 2}]


@pytest.mark.parametrize("reverse", [False, True])
def test_objects_that_fillers_make_keep_what_they_were_made_with(tmp_path: pathlib.Path, reverse: bool) -> None:
    path = tmp_path / "pets.motte"

    def order(classes: list[Any]) -> list[Any]:
        return classes[::-1] if reverse else classes

    class Pet(motte.Model):
        name: str

    class Address(motte.EmbeddedModel):
        street: str = ""

    class House(motte.Model):
        at: Optional[Address] = None

    with motte.open(path, schema=order([Pet, House, Address]), schema_version=1) as db, db.write():
        db.add(Pet(name="a"))
        db.add(House(at=Address(street="old")))

    def later() -> tuple[Any, Any, Any]:
        class Address(motte.EmbeddedModel):
            street: str = ""
            code: str = "0"

        class Pet(motte.Model):
            name: str
            place: Optional[Address] = motte.field(default_factory=lambda: Address(street="new", code="99"))

        class House(motte.Model):
            at: Optional[Address] = None

        return Pet, House, Address

    pet, house, address = later()
    with motte.open(path, schema=order([pet, house, address]), schema_version=1) as db:
        (found,) = db.objects(pet)
        assert (found.place.street, found.place.code) == ("new", "99")
        (older,) = db.objects(house)
        assert (older.at.street, older.at.code) == ("old", "0")


def test_rules_hold_after_a_step_has_renamed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "pets.motte"

    def declared() -> Any:
        class Pet(motte.Model):
            old: str = ""

        return Pet

    def renamed() -> Any:
        class Pet(motte.Model):
            name: str
            colour: Colour = Colour.BLUE
            tags: list[str] = motte.field(default_factory=lambda: ["new"])

        return Pet

    pet = declared()
    with motte.open(path, schema=[pet], schema_version=1) as db, db.write():
        db.add(pet(old="a"))
    pet = renamed()

    def step(sides: Any) -> None:
        sides.rename("Pet", "old", "name")
        sides.new.import_json(pet, text='[{"name": "b"}]')
        with pytest.raises(errors.Error):
            sides.new.import_json(pet, text='[{"name": "c", "colour": "?"}]')
        with pytest.raises(errors.Error):
            sides.new.import_json(pet, text='[{"colour": "r"}]')

    with motte.open(path, schema=[pet], schema_version=2, migration=step) as db:
        assert [(each.name, each.colour, list(each.tags)) for each in db.objects(pet)] == [
            ("a", Colour.BLUE, ["new"]), ("b", Colour.BLUE, ["new"])]


def test_imports_after_a_cancelled_write() -> None:
    """The keys of objects that never were are passed over."""
    pyarrow = pytest.importorskip("pyarrow")

    class Pet(motte.Model):
        name: str
        tags: list[str] = motte.field(default_factory=lambda: ["new"])

    with motte.open(in_memory="imports after a cancelled write", schema=[Pet]) as db:
        with db.write() as write:
            db.add_all([Pet(name=f"x{number}") for number in range(5)])
            write.cancel()
        for _ in range(2):
            db.import_data(Pet, pyarrow.table({"name": ["a", "b", "c"]}))
        with db.write(), db.write() as inner:
            db.add(Pet(name="y"))
            inner.cancel()
        db.import_data(Pet, pyarrow.table({"name": ["d"]}))
        assert [(pet.name, list(pet.tags)) for pet in db.objects(Pet)] == [
            (name, ["new"]) for name in ["a", "b", "c", "a", "b", "c", "d"]]


@pytest.mark.parametrize("fails", [False, True])
def test_what_outlives_a_migration_keeps_no_version(tmp_path: pathlib.Path, fails: bool) -> None:
    """An error that is kept keeps the step's variables, and a program may keep objects, which are of no use then."""
    path, kept = tmp_path / "kept.motte", []  # type: pathlib.Path, list[Any]
    with motte.open(path, schema=[Part], first_open=fill):
        pass

    def step(migration: motte.Migration) -> None:
        kept.append(migration)
        for pair in migration.enumerate("Part"):
            kept.append(pair)
        kept.append(migration.old.objects("Part"))
        kept.append(migration.new.objects("Part"))
        if fails:
            raise ValueError

    try:
        motte.open(path, schema=[Part], schema_version=1, migration=step).close()
    except ValueError as error:
        kept.append(error)
    assert len(kept) == 7 + fails
    with motte.open(path, schema=[Part], schema_version=1, migration=lambda migration: None) as db:
        assert len(db.readers()) == 1
        check(db)
    motte.compact(path)
    assert motte.delete(path)
    with pytest.raises(errors.ClosedError):
        len(kept[5])
    kept.clear()


class Before(motte.Model, stored_name="Person"):
    id: int = motte.field(primary_key=True)
    wide: int = 0
    x: int = 0


class Old(motte.Model):
    id: int = motte.field(primary_key=True)


class After(motte.Model, stored_name="Person"):
    id: int = motte.field(primary_key=True)
    narrow: motte.Int8 = 0
    x: int = 0
    extra: int = 5


@pytest.mark.parametrize("change", ["rename", "delete", "rename class"])
@pytest.mark.parametrize("is_late", [False, True])
def test_what_a_block_could_not_undo_is_refused_there(tmp_path: pathlib.Path, change: str, is_late: bool) -> None:
    """Going back undoes what became of objects; the schema is none of them."""
    path = tmp_path / "people.motte"
    with motte.open(path, schema=[Before, Old], schema_version=1) as db, db.write():
        for number in range(6):
            db.add(Before(id=number, wide=1000 if number == 4 else number))
            db.add(Old(id=number))

    def step(migration: motte.Migration) -> None:
        if is_late:
            next(new for _, new in migration.enumerate("Person") if new is not None).x = 7
        with contextlib.suppress(ZeroDivisionError), migration.new.write():
            if change == "rename" and is_late:
                migration.rename("Person", "wide", "narrow")
                assert 0 / 0
            with pytest.raises(errors.InvalidArgumentError, match="savepoint|before the migration changes objects"):
                if change == "rename":
                    migration.rename("Person", "wide", "narrow")
                elif change == "delete":
                    migration.delete_class("Old")
                else:
                    migration.rename_class("Person", "Human")

    with motte.open(path, schema=[After], schema_version=2, migration=step) as db:
        assert [(it.id, it.narrow, it.extra) for it in db.objects(After)] == [(number, 0, 5) for number in range(6)]
        assert db.get(After, 0).x == (7 if is_late else 0) and db.verify().is_sound
        assert len(db.objects(db.model("Old"))) == 6


@pytest.mark.parametrize("is_late", [False, True])
def test_a_rename_keeps_wide_ints_whenever_it_comes(tmp_path: pathlib.Path, is_late: bool) -> None:
    path = tmp_path / "people.motte"
    with motte.open(path, schema=[Before], schema_version=1) as db, db.write():
        for number in range(6):
            db.add(Before(id=number, wide=1000 if number == 4 else number))

    def step(migration: motte.Migration) -> None:
        if is_late:
            next(new for _, new in migration.enumerate("Person") if new is not None).x = 7
        migration.rename("Person", "wide", "narrow")

    with motte.open(path, schema=[After], schema_version=2, migration=step) as db:
        assert [it.narrow for it in db.objects(After)] == [0, 1, 2, 3, 1000, 5] and db.verify().is_sound


class Target(motte.Model):
    id: int = motte.field(primary_key=True)


class Place(motte.EmbeddedModel):
    x: int = 0


def made(annotation: Any, name: str) -> type[motte.Model]:
    """The class P with a property of that name beside another one."""
    return type(motte.Model)("P", (motte.Model,), {
        "__annotations__": {"id": int, "extra": int, name: annotation}, "id": motte.field(primary_key=True), "extra": 0,
        "__module__": __name__})


def plainly(value: Any) -> Any:
    if isinstance(value, Target):
        return ("T", value.id)
    if hasattr(value, "items"):
        return {key: plainly(each) for key, each in value.items()}
    if isinstance(value, (motte.List, motte.Set)):
        return sorted(map(plainly, value), key=str) if isinstance(value, motte.Set) else list(map(plainly, value))
    return value


@pytest.mark.parametrize(("annotation", "value"), [
    (Optional[str], lambda number, _: None if number == 1 else "s"),
    (list[int], lambda number, _: [*range(number * 200)]),
    (list[Optional[int]], lambda number, _: [None, number, None]), (set[int], lambda number, _: {*range(number)}),
    (dict[str, int], lambda number, _: {f"k{each}": each for each in range(number)}),
    (dict[str, Optional[int]], lambda number, _: {"a": None, "b": number}),
    (Optional[Target], lambda number, targets: targets[number]), (list[Target], lambda number, t: [t[number], t[0]]),
    (set[Target], lambda number, targets: {targets[number], targets[0]}),
    (dict[str, Optional[Target]], lambda number, targets: {"a": targets[number], "b": None}),
    (Any, lambda number, targets: [targets[number], {"a": number}, 1.5][number % 3]),
])
@pytest.mark.parametrize("deletes", [False, True])
def test_a_late_rename_carries_what_an_early_one_keeps(
    tmp_path: pathlib.Path, annotation: Any, value: Any, deletes: bool
) -> None:
    found = []
    for is_late in (False, True):
        path = tmp_path / f"{is_late}.motte"
        before, after = made(annotation, "a"), made(annotation, "b")
        with motte.open(path, schema=[before, Target], schema_version=1) as db, db.write():
            targets = [db.add(Target(id=number)) for number in range(4)]
            for number in range(4):
                db.add(before(id=number, a=value(number, targets)))

        def step(migration: motte.Migration, is_late: bool = is_late) -> None:
            if not is_late:
                migration.rename("P", "a", "b")
            for _, new in migration.enumerate("P"):
                assert new is not None
                new.extra = 7
            if deletes:
                migration.new.delete(migration.new.get("Target", 2))
            if is_late:
                migration.rename("P", "a", "b")

        with motte.open(path, schema=[after, Target], schema_version=2, migration=step) as db:
            found.append([plainly(each.b) for each in db.objects(after)])  # type: ignore[attr-defined]
            assert db.verify().is_sound
    assert found[0] == found[1]


@pytest.mark.parametrize("annotation", [Optional[Place], list[Place], dict[str, Optional[Place]]])
def test_embedded_objects_are_renamed_first(tmp_path: pathlib.Path, annotation: Any) -> None:
    path = tmp_path / "places.motte"
    before, after = made(annotation, "a"), made(annotation, "b")
    with motte.open(path, schema=[before, Place], schema_version=1) as db, db.write():
        place = Place(x=3)
        db.add(before(id=1, a=place if annotation == Optional[Place] else [place] if annotation == list[Place]
                      else {"k": place}))

    def late(migration: motte.Migration) -> None:
        for _, new in migration.enumerate("P"):
            assert new is not None
            new.extra = 7
        migration.rename("P", "a", "b")

    with pytest.raises(errors.InvalidArgumentError, match="rename it before the migration changes objects"):
        motte.open(path, schema=[after, Place], schema_version=2, migration=late)
    with motte.open(path, schema=[after, Place], schema_version=2, migration=lambda m: m.rename("P", "a", "b")) as db:
        assert db.count(after) == 1 and db.verify().is_sound and str(3) in db.export_json(None, after)
