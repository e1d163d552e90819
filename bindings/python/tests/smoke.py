"""What a program does with an installed package, without pytest: for every Python that is on the machine.

    python bindings/python/tests/smoke.py
"""
from __future__ import annotations

import asyncio
import pathlib
import sys
import tempfile
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Literal, Optional

import motte


class Home(motte.EmbeddedModel):
    city: str = ""


class Person(motte.Model):
    name: str = motte.field(primary_key=True)
    age: int = motte.field(default=0, indexed=True)
    height: Optional[float] = None
    born: Optional[date] = None
    size: Literal["s", "l"] = "s"
    place: tuple[float, float] = (0.0, 0.0)
    price: Decimal = Decimal(0)
    since: Optional[datetime] = motte.field(default=None, stored_name="member since")
    home: Optional[Home] = None
    friend: Optional[Person] = None
    tags: list[str] = motte.field(default_factory=list)
    marks: set[int] = motte.field(default_factory=set)
    scores: dict[str, int] = motte.field(default_factory=dict)
    extra: motte.Mixed = None
    liked_by: motte.Backlinks[Person] = motte.backlinks("friend")


if sys.version_info >= (3, 14):
    # Annotations are evaluated when they are asked for, and names may come later.
    exec("class Later(motte.Model):\n    first: Sooner | None = None\n\n\nclass Sooner(motte.Model):\n    x: int = 0\n")


class Card(motte.Projection[Person]):
    name: str
    city: Optional[str] = motte.projected("home.city")


def values(db: motte.Database) -> None:
    now = datetime(2024, 1, 2, 3, tzinfo=timezone.utc)
    given: dict[str, Any] = {
        "name": "Ada", "age": 36, "height": 1.7, "born": date(1815, 12, 10), "size": "l", "place": (1.0, 2.0),
        "price": Decimal("1.50"), "since": now, "tags": ["a", "b"], "scores": {"x": 1}, "extra": [1, {"a": None}]}
    seen: list[Any] = []
    with db.write():
        ada = db.add(Person(**given, marks={1, 2}, home=Home(city="London")))
        bob = db.add(Person(name="Bob", friend=ada, since=now + timedelta(days=1)))
    assert {name: value for name, value in ada.to_dict().items() if name in given} == given
    assert list(ada.liked_by) == [bob] and ada.home is not None and ada.home.city == "London"
    with ada.observe(lambda change: seen.extend(change.properties)), db.write():
        ada.age += 1
        ada.tags.sort(reverse=True)
        try:
            with db.write():
                ada.age = 99
                raise KeyError
        except KeyError:
            pass
    assert ada.age == 37 and [each.name for each in seen] == ["age", "tags"] and ada.tags == ["b", "a"]
    try:
        Person(name=5)  # type: ignore[arg-type]
        raise AssertionError("a wrong type was taken")
    except motte.errors.WrongTypeError as error:
        assert error.property_name == "name" and "Person.name" in str(error)


def queries(db: motte.Database) -> None:
    people = db.objects(Person)
    assert people.where(name="Ada")[0].age == 37 and len(people.where("age > $low", low=36)) == 1
    assert [each.name for each in people.sorted("-name")] == ["Bob", "Ada"]
    assert people.where(Person.born == date(1815, 12, 10)).count() == 1 and people.max("age") == 37
    assert "Ada" in repr(people) and "<table" in people._repr_html_() and people.column("name") == ["Ada", "Bob"]
    assert people.where("since >= $0", datetime(2024, 1, 3, tzinfo=timezone.utc)).first() is not None
    assert [card.city for card in db.objects(Card)] == ["London", None]
    frozen = people.freeze()
    with db.write():
        assert people.update(age=lambda each: each.age + 1) == 2
    assert frozen[0].age == 37 and people[0].age == 38
    help_text = str(__import__("inspect").signature(Person))
    assert help_text.startswith("(*, name: str, age: int = 0"), help_text


async def waiting(db: motte.Database) -> None:
    async def add(name: str) -> None:
        async with db.write():
            db.add(Person(name=name))
            await asyncio.sleep(0)
    await asyncio.gather(add("C"), add("D"))
    assert [each.name async for each in db.objects(Person).sorted("name")] == ["Ada", "Bob", "C", "D"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "smoke.motte"
        with motte.open(path, schema=[Person, Home]) as db:
            values(db)
            queries(db)
            asyncio.run(waiting(db))
        with motte.open(path) as db:
            assert db.count(db.model("Person")) == 4 and db.verify().is_sound
    print(f"motte {motte.__version__} with Python {sys.version.split()[0]}: ok")


if __name__ == "__main__":
    main()
