"""A program that type checkers read as strictly as they can: what users write has no errors, without one ignore."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Optional

import motte


class Color:
    def __init__(self, text: str) -> None:
        self.text = text


hexadecimal: motte.Converter[Color] = motte.converter(Color, str, store=lambda color: color.text, load=Color)


class Kind(enum.Enum):
    BIG = "big"
    SMALL = "small"


class Address(motte.EmbeddedModel):
    city: str = ""
    people: motte.Backlinks[Person] = motte.backlinks("home")


class Dog(motte.Model, stored_name="dog"):
    name: str = motte.field(primary_key=True)
    owner: Person | None = None
    kind: Kind = Kind.SMALL


class Person(motte.Model):
    seen: ClassVar[int] = 0

    id: int = motte.field(primary_key=True)
    name: str = motte.field(indexed=True, stored_name="full name")
    age: int = 0
    height: float | None = None
    born: date | None = None
    at: time = time(0)
    nap: timedelta = timedelta(0)
    when: datetime | None = None
    file: Path | None = None
    color: Color = motte.field(default_factory=lambda: Color("000000"))
    other: Annotated[Color, hexadecimal] = motte.field(default_factory=lambda: Color("ffffff"))
    size: Literal["s", "l"] = "s"
    place: tuple[float, float] = (0.0, 0.0)
    home: Address | None = None
    friend: Optional[Person] = None
    dogs: list[Dog] = motte.field(default_factory=list[Dog])
    tags: set[str] = motte.field(default_factory=set[str])
    scores: dict[str, int] = motte.field(default_factory=dict[str, int])
    anything: motte.Mixed = None
    owned: motte.Backlinks[Dog] = motte.backlinks("owner")


class Card(motte.Projection[Person]):
    name: str
    city: str | None = motte.projected("home.city")
    dogs_names: motte.ProjectedCollection[str] = motte.projected("dogs.name")


def names(people: motte.Collection[Person]) -> list[str]:
    return [person.name for person in people]


def write(db: motte.Database) -> Person:
    with db.write() as outer:
        ada = db.add(Person(id=1, name="Ada", age=36, tags={"x"}, scores={"a": 1}, place=(1.0, 2.0), size="l"))
        with db.write(timeout=1):
            ada.home = Address(city="London")
        ada.dogs.append(Dog(name="Rex", owner=ada))
        ada.dogs.sort(key=lambda dog: dog.name)
        ada.dogs += [Dog(name="Fido")]
        ada.tags |= {"y"}
        ada.scores["b"] = 2
        ada.nap += timedelta(seconds=3)
        db.update(ada, age=37)
        db.create_or_update(Dog, name="Rex", kind=Kind.BIG)
        count: int = db.objects(Person).update(age=lambda person: person.age + 1, size="s")
        print(count, outer.is_open)
        deleted: int = db.delete(db.objects(Dog).where(name="Fido"))
        print(deleted)
    return ada


def read(db: motte.Database) -> Sequence[str]:
    found = db.objects(Person).where(Person.age >= 18, Person.name.startswith("A"), size="s")
    found = found.sorted("-age", Person.name).where("age > $low AND name != $0", "x", low=3)
    found = found.where(lambda person: person.home.city == "London")
    found = found.where(Person.owned.none(Dog.name == "Hasso"))
    assert all(isinstance(person.owned.any(name="Hasso"), bool) for person in found)
    first: Person | None = found.first()
    if first is not None and first.home is not None:
        print(first.home.city.upper(), first.to_dict()["name"], first.place[0] + 1, [dog.name for dog in first.owned])
        frozen = first.freeze()
        thawed: Person | None = frozen.thaw()
        print(thawed)
    dog: Dog | None = db.get(Dog, "Rex")
    rex: Dog = db.one(Dog, "Rex")
    prepared = db.query(Person, "age > $low", low=3)
    bound: int = prepared.bind(low=4).count()
    page: motte.Page[Person] = found.page(1, size=5)
    for section in found.sectioned("name", first_letter=True):
        print(section.key, names(section))
    total: Any = found.sum("age")
    print(dog, rex.kind.value, bound, page.total, page[0].age, total, found[0].age, [each.age for each in found[:2]])
    cards: motte.Results[Card] = db.objects(Card).where("age > 3")
    for card in cards:
        city: str | None = card.city
        print(card.name.upper(), city, card.dogs_names[0], card.root)
    return names(found)


def watch(db: motte.Database, person: Person) -> motte.Observation:
    def changed(changes: motte.Changes) -> None:
        print(changes.insertions[:1], changes.is_initial)

    def properties(change: motte.ObjectChange) -> None:
        print([(each.name, each.old, each.new) for each in change.properties])
    with person.observe(properties, paths=["name", "home.city"]):
        pass
    return db.objects(Person).observe(changed)


async def later(db: motte.Database) -> int:
    async with db.write():
        db.add(Dog(name="Max"))
    async for person in db.objects(Person):
        print(person.name)
    async for change in db.objects(Person).changes(timeout=1):
        return len(change.insertions)
    reference: motte.Reference[Person] = motte.Reference(db.one(Person, 1))
    resolved: Person | None = db.resolve(reference)
    added: Dog = await db.write_async(lambda db: db.add(Dog(name="Moritz")))
    return 0 if resolved is None else len(added.name)


def migrate(migration: motte.Migration) -> None:
    for old, new in migration.enumerate(Person):
        new.name = f"{old.first} {old.last}"


def main(path: Path) -> None:
    with motte.open(path, schema=[Person, Dog, Address]) as db:
        token = watch(db, write(db))
        print(read(db))
        token.stop()
