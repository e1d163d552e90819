"""What bindings/python/README.md and docs/notifications.md say, where no test elsewhere holds it."""
from __future__ import annotations

import enum
import inspect
import itertools
import re
import sys
import threading
import types
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import errors

from documents import promises, text_of

DOCUMENT = "bindings/python/README.md"
names = itertools.count()


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Toy(motte.Model):
    brand: str
    price: int = 0


class Address(motte.EmbeddedModel):
    city: str


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    age: int = 0
    small: motte.Int8 = 0
    maybe: Optional[int] = None
    when: Optional[datetime] = None
    color: Color = Color.RED
    price: Optional[Decimal] = None
    home: Optional[Address] = None
    places: list[Address] = motte.field(default_factory=list)
    toys: list[Toy] = motte.field(default_factory=list)
    by: dict[str, Optional[Toy]] = motte.field(default_factory=dict)
    marks: set[int] = motte.field(default_factory=set)
    extra: Any = None
    friend: Optional["Person"] = None
    fans: motte.Backlinks["Person"] = motte.backlinks("friend")


CLASSES = [Person, Toy, Address]


@pytest.fixture
def db():
    with motte.open(in_memory=f"readme {next(names)}", schema=CLASSES) as database:
        yield database


def add(db: motte.Database, **values: Any) -> Person:
    with db.write():
        return db.add(Person(**values))


# ------------------------------------------------------------------------------------------------ names


def test_every_name_is_there() -> None:
    text = text_of(DOCUMENT)
    for name in set(re.findall(r"`motte\.(\w+)", text)):
        assert hasattr(motte, name), name
    for name in set(re.findall(r"`(?:await )?db\.(\w+)", text)):
        assert hasattr(motte.Database, name), name
    options = re.search(r"Options: (.*?); see", text, re.DOTALL)
    assert options
    known = inspect.signature(motte.open).parameters
    for name in re.findall(r"`(\w+)", options[1]):
        assert name in known, name
    for name in ("schema_version", "renames", "delete_classes", "migration", "delete_if_migration_needed"):
        assert name in known and name in text


def test_names_of_other_documents_are_there() -> None:
    for document in ("docs/maintenance.md", "docs/notifications.md", "docs/json.md", "docs/schema.md"):
        for name in set(re.findall(r"`(?:await )?db\.(\w+)", text_of(document))):
            assert hasattr(motte.Database, name), f"{document}: {name}"
        for name in set(re.findall(r"`motte\.(\w+)", text_of(document))):
            assert hasattr(motte, name), f"{document}: {name}"
    header = text_of("include/motte.h") + text_of("bindings/c/motte_inline.h")
    for document in ("README.md", "docs/maintenance.md", "docs/notifications.md", "docs/json.md", "docs/schema.md"):
        for name in set(re.findall(r"\b(motte_\w+)\b", text_of(document))):
            assert name in header, f"{document}: {name}"


# ------------------------------------------------------------------------------------------------ classes


@promises(DOCUMENT, "(with a time zone, read back as UTC)", "(ints that must fit)",
          "The constructor takes the properties as keyword arguments",
          "objects in a dict are always nullable, because they can be deleted")
def test_classes(db: motte.Database) -> None:
    zone = timezone(timedelta(hours=2))
    person = add(db, id=1, when=datetime(2020, 1, 1, 12, tzinfo=zone), color=Color.BLUE, price=Decimal("1.50"))
    assert person.when == datetime(2020, 1, 1, 10, tzinfo=timezone.utc) and person.when.tzinfo == timezone.utc
    assert person.color is Color.BLUE and str(person.price) == "1.50"
    with pytest.raises(errors.Error):
        add(db, id=2, when=datetime(2020, 1, 1))
    with pytest.raises(errors.Error):
        add(db, id=2, small=128)
    with pytest.raises((TypeError, errors.Error)):
        Person(id=2, nothing=1)  # type: ignore[call-arg]
    assert len(db.objects(Person)) == 1
    with db.write():
        toy = db.add(Toy(brand="x"))
        person.by["a"] = toy
        db.delete(toy)
    assert person.by["a"] is None


@promises(DOCUMENT,
          "deleted with their parent or when their place gets another value; `home.parent` is the parent",
          "They are created by assigning them")
def test_embedded_objects(db: motte.Database) -> None:
    person = add(db, id=1)
    with db.write():
        person.home = Address(city="London")
        person.places.append(Address(city="Rome"))
    home, place = person.home, person.places[0]
    assert home.parent == person and place.parent == person
    with db.write():
        person.home = Address(city="Paris")
    assert not home.is_valid and person.home.city == "Paris"
    with db.write():
        db.delete(person)
    assert not place.is_valid


@promises(DOCUMENT, "keeps its values itself until `db.add()` stores it and what it links to",
          "`is_stored`, `is_valid`, "
          "`database`, `object_key`, `to_dict()`, `observe()`, `changes()` and `freeze()` are what an object has")
def test_objects(db: motte.Database) -> None:
    unmanaged = Person(id=1, friend=Person(id=2), toys=[Toy(brand="a")])
    assert not unmanaged.is_stored and unmanaged.friend.id == 2
    with db.write():
        stored = db.add(unmanaged)
    assert stored.is_stored and stored.is_valid and stored.database is db
    assert len(db.objects(Person)) == 2 and len(db.objects(Toy)) == 1
    assert stored.to_dict()["id"] == 1 and isinstance(stored.object_key, int)
    frozen = stored.freeze()
    with db.write():
        stored.age = 5
    assert (frozen.age, stored.age) == (0, 5)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(frozen.age))
    thread.start()
    thread.join()
    assert seen == [0]
    for name in ("observe", "changes"):
        assert callable(getattr(stored, name))


# ------------------------------------------------------------------------------------------------ the tables


@promises(DOCUMENT, "`update=True` assigns to those whose primary key exists", "only those that differ, and only they "
          "are "
          "reported (\"modified\")",
          "the same from keyword arguments; those not given stay", "many at once, from lists or NumPy "
          "arrays",
          "several properties at once, all or none", "by primary key; None or an error if there is none",
          "the objects that link to x",
          "an object, several, or a collection",
          "what the engine has done: chunks decoded, rows evaluated")
def test_databases(db: motte.Database) -> None:
    ada = add(db, id=1, name="Ada", age=36)
    with db.write():
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add(Person(id=1, name="x"))
        assert db.add(Person(id=1, name="Bea"), update=True) == ada
        assert ada.name == "Bea"
    seen: list[Any] = []
    token = ada.observe(seen.append)
    with db.write():
        db.upsert(Person(id=1, name="Bea", age=37), policy="modified")
    assert [change.name for change in seen[-1].properties] == ["age"]
    with db.write():
        db.create_or_update(Person, id=1, name="Cid")
        assert (ada.name, ada.age) == ("Cid", 37)
        db.create_or_update(Person, id=2, name="new")
        db.insert_columns(Person, {"id": [3, 4], "name": ["c", "d"]})
        db.insert_rows(Person, ["id", "name"], [[5, "e"], [6, "f"]])
        with pytest.raises(errors.Error):
            db.update(ada, age=1, small=1000)
        assert ada.age == 37
        db.update(ada, age=1, name="one")
        ada.friend = ada
    assert (ada.age, ada.name) == (1, "one")
    assert db.get(Person, 99) is None
    with pytest.raises(errors.Error):
        db.one(Person, 99)
    assert list(db.backlinks(ada, Person.friend)) == [ada] == list(ada.fans)
    with db.write():
        db.delete(db.one(Person, 6))
        db.delete([db.one(Person, 5), db.one(Person, 4)])
        db.delete(db.objects(Person).where("id > 2"))
    assert db.objects(Person).column("id") == [1, 2]
    before = db.counters()["rows_evaluated"]
    assert len(db.objects(Person).where("age > 0")) >= 0 and db.counters()["rows_evaluated"] > before
    token.stop()


@promises(DOCUMENT, "length, index, slice, `in`, iteration, equality", "`add`, `discard`, `|=`, `&=`, `issubset()`",
          "mutable mappings in the order of their keys",
          "until the value around it is replaced; `to_plain()` copies it",
          "`sum(\"age\")`, `min`, `max`, `average`, `count_present`", "properties that may be None come as masked "
          "arrays",
          "the elements in sections by a key", "each a live `motte.Section` with its `key`, in the order of their "
          "first element",
          "a function of the class, which type checkers accept")
def test_collections(db: motte.Database) -> None:
    for number, name in enumerate(["Bob", "ada", "Bea"], 1):
        add(db, id=number, name=name, age=10 * number, maybe=number if number > 1 else None)
    people = db.objects(Person)
    assert len(people) == 3 and people[-1].id == 3 and [each.id for each in people[1:]] == [2,
            3] and people[0] in people
    person = people[0]
    with db.write():
        person.marks |= {5, 1}
        person.marks &= {5, 9}
        person.marks.add(2)
        person.marks.discard(5)
        person.by["b"] = person.by["a"] = Toy(brand="x")
        person.extra = {"tags": ["old"]}
        person.extra["tags"].append("new")
    assert list(person.marks) == [2] and person.marks.issubset({1, 2}) and list(person.by) == ["a", "b"]
    tags = person.extra["tags"]
    assert tags.to_plain() == ["old", "new"]
    with db.write():
        person.extra = {"tags": ["old", "new"]}
    with pytest.raises(errors.ObjectDeletedError):
        list(tags)
    assert (people.sum("age"), people.min("age"), people.max("age"), people.average("age")) == (60, 10, 30, 20)
    assert people.count_present("maybe") == 2
    numpy = pytest.importorskip("numpy")
    masked = people.to_numpy("maybe")
    assert numpy.ma.isMaskedArray(masked) and masked.mask.tolist() == [True, False, False]
    assert not numpy.ma.isMaskedArray(people.to_numpy("age"))
    assert [section.key for section in people.sectioned("name", first_letter=True)] == ["B", "A"]
    assert [section.key for section in people.sectioned(lambda p: p.age // 20)] == [0, 1]
    assert [each.id for each in people.where(lambda p: p.name.contains("B", ignore_case=True))] == [1, 3]
    assert [each.id for each in people.where((Person.age > 10) & (Person.name == "Bea"))] == [3]
    assert [each.id for each in people.sorted("name", "-age").limit(2)] == [3, 1]


# ------------------------------------------------------------------------------------------------ notifications


@promises("docs/notifications.md", "taking the deletions out and putting the insertions in turns the "
          "old content into the new one", "A write that begins on the same session does not deliver it; it comes with "
          "the next "
          "refresh, dispatch or commit, and shows the state then.")
def test_change_sets(db: motte.Database) -> None:
    for number in range(10):
        add(db, id=number, age=number)
    results = db.objects(Person).where("age < 8").sorted("-age")
    content: list[int] = []
    calls: list[Any] = []

    def apply(changes: motte.Changes) -> None:
        calls.append(changes)
        if changes.is_initial:
            content[:] = [person.id for person in results]
            return
        for position in reversed(changes.deletions):
            del content[position]
        for position in changes.insertions:
            content.insert(position, results[position].id)

    token = results.observe(apply)
    assert calls == []
    with db.write():
        assert calls == []
        db.one(Person, 3).age = 7
    assert [call.is_initial for call in calls] == [True] and content == [person.id for person in results]
    for change in (lambda: setattr(db.one(Person, 1), "age", 20), lambda: db.delete(db.one(Person, 7)),
                   lambda: setattr(db.one(Person, 9), "age", 5), lambda: db.add(Person(id=50, age=4))):
        with db.write():
            change()
        assert content == [person.id for person in results]
    assert len(calls) == 5
    token.stop()


@promises("docs/notifications.md", "an empty list | nothing", "the link was set, or the name of the object it leads to",
          "that property was set, also to the value it had", "Paths may be up to 64 names long",
          "Collections of plain values take only an empty list.")
def shown(part: str, **given: Any) -> dict[str, Any]:
    """Runs the example with this in it, and gives the names that it has then."""
    blocks = re.findall(r"```python\n(.*?)```", text_of(DOCUMENT), re.S)
    example = next(block for block in blocks if part in block)
    known: dict[str, Any] = {"__name__": "shown", "motte": motte, "date": date, **given}
    exec(compile(example, DOCUMENT, "exec", flags=annotations.compiler_flag, dont_inherit=True), known)
    return known


class Hue:
    """What a program may have."""

    def __init__(self, hex: str) -> None:
        self.hex = hex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hue) and self.hex == other.hex

    parse = classmethod(lambda cls, text: cls(text))


def test_the_example_of_types_of_ones_own() -> None:
    module = types.ModuleType("shown")
    module.__dict__.update(Color=Hue, date=date)
    sys.modules["shown"] = module
    try:
        paint = shown("motte.converter(Color", Color=Hue)["Paint"]
        with motte.open(in_memory="paints of the readme", schema=[paint]) as paints:
            with paints.write():
                red = paints.add(paint(color=Hue("ff0000"), mixed_on=date(2024, 1, 2), also_as=[Hue("f00")]))
            assert red.color == Hue("ff0000") and list(red.also_as) == [Hue("f00")] and red.size == (0.0, 0.0)
            assert paints.objects(paint).where(color=Hue("ff0000"), mixed_on=date(2024, 1, 2)).count() == 1
    finally:
        del sys.modules["shown"]


def test_the_example_of_projections() -> None:
    class Home(motte.EmbeddedModel):
        city: str = ""

    class Person(motte.Model):
        name: str
        age: int = 0
        home: Optional[Home] = None
        friends: list[Person] = motte.field(default_factory=list)
    with motte.open(in_memory="cards of the readme", schema=[Person, Home]) as people:
        with people.write():
            person = people.add(Person(name="Ada", age=36, home=Home(city="London"), friends=[Person(name="Bob")]))
        card = shown("motte.Projection[Person]", Person=Person, db=people, person=person)["card"]
        assert (card.name, card.city, list(card.friends_names), card.root) == ("Ada", "London", ["Bob"], person)


def test_key_paths(db: motte.Database) -> None:
    friend = add(db, id=2, name="friend")
    add(db, id=1, friend=friend)
    people = db.objects(Person).where("id == 1")
    received: dict[str, int] = {}
    tokens = []
    for paths in ([], ["name"], ["friend"], ["friend.name"], None):
        key = repr(paths)
        received[key] = -1  # the initial one

        def count(changes: Any, key: str = key) -> None:
            received[key] += 1

        tokens.append(people.observe(count) if paths is None else people.observe(count, paths=paths))
    db.refresh()
    db.dispatch()

    def after(change: Any) -> dict[str, int]:
        before = dict(received)
        with db.write():
            change()
        return {key: received[key] - before[key] for key in received if received[key] != before[key]}

    with db.write():
        pass
    assert set(received.values()) == {0}
    one = people[0]
    assert after(lambda: setattr(one, "name", one.name)) == {"['name']": 1, "None": 1}
    assert after(lambda: setattr(friend, "name", "other")) == {"['friend.name']": 1, "None": 1}
    assert after(lambda: setattr(friend, "age", 9)) == {"None": 1}
    assert after(lambda: setattr(one, "friend", None)) == {"['friend']": 1, "['friend.name']": 1, "None": 1}
    with pytest.raises(errors.UnknownPropertyError):
        people.observe(print, paths=["name.first"])
    people.observe(print, paths=[".".join(["friend"] * 64)]).stop()
    with pytest.raises(errors.Error):
        people.observe(print, paths=[".".join(["friend"] * 65)])
    with pytest.raises(errors.Error):
        one.marks.observe(print, paths=["x"])
    for token in tokens:
        token.stop()


def test_every_option_of_open_is_named() -> None:
    text = text_of(DOCUMENT)
    missing = [name for name in inspect.signature(motte.open).parameters if not re.search(rf"\b{name}\b", text)]
    assert missing == []
