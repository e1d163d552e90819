"""New embedded objects on their way in with others: what they link to, and who holds them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

import motte
from motte import errors


class City(motte.Model):
    name: str


class Land(motte.Model):
    name: str = motte.field(primary_key=True)


class Home(motte.EmbeddedModel):
    street: str = ""
    city: Optional[City] = None
    land: Optional[Land] = None
    cities: list[City] = motte.field(default_factory=list)
    by_name: dict[str, Optional[City]] = motte.field(default_factory=dict)
    mixed: Any = None
    owner: Optional[Owner] = None
    rooms: list[Home] = motte.field(default_factory=list)
    inner: Optional[Home] = None


class Owner(motte.Model):
    id: int = motte.field(primary_key=True)
    home: Optional[Home] = None
    office: Optional[Home] = None
    homes: list[Home] = motte.field(default_factory=list)
    by_name: dict[str, Optional[Home]] = motte.field(default_factory=dict)
    friend: Optional[Owner] = None


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="embedded", schema=[City, Land, Home, Owner]) as opened:
        yield opened


#: Where an owner has a home, and the home that it has there.
PLACES: dict[str, tuple[Callable[[Home], dict[str, Any]], Callable[[Owner], Any]]] = {
    "property": (lambda home: {"home": home}, lambda owner: owner.home),
    "list": (lambda home: {"homes": [home]}, lambda owner: owner.homes[0]),
    "dict": (lambda home: {"by_name": {"a": home}}, lambda owner: owner.by_name["a"]),
    "inside": (lambda home: {"homes": [Home(rooms=[Home(inner=home)])]}, lambda owner: owner.homes[0].rooms[0].inner),
}
ADDING: dict[str, Callable[[motte.Database, Owner], Any]] = {
    "add": lambda db, owner: db.add(owner),
    "update": lambda db, owner: db.add(owner, update=True),
    "upsert": lambda db, owner: db.upsert(owner),
    "add_all": lambda db, owner: db.add_all([owner, Owner(id=2)]),
    "import_data": lambda db, owner: db.import_data(Owner, [owner]),
    "of a link": lambda db, owner: db.add(Owner(id=2, friend=owner)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("adding", ADDING)
def test_what_a_new_embedded_object_links_to_is_stored_once(db: motte.Database, place: str, adding: str) -> None:
    given, found = PLACES[place]
    rome, italy = City(name="Rome"), Land(name="Italy")
    home = Home(city=rome, land=italy, cities=[rome, City(name="Oslo")], by_name={"rome": rome},
                mixed=[rome, {"a": rome}])
    owner = Owner(id=1, **given(home))
    with db.write():
        ADDING[adding](db, owner)
    assert sorted(db.objects(City).column("name")) == ["Oslo", "Rome"] and db.count(Land) == 1
    stored = found(db.one(Owner, 1))
    there = db.objects(City).where(name="Rome")[0]
    assert stored.city == stored.cities[0] == stored.by_name["rome"] == stored.mixed[0] == stored.mixed[1]["a"] == there
    assert stored.land == db.one(Land, "Italy") and stored.parent is not None
    assert owner.is_stored == home.is_stored == rome.is_stored == italy.is_stored


@pytest.mark.parametrize("place", PLACES)
def test_an_embedded_object_links_back_to_its_new_owner(db: motte.Database, place: str) -> None:
    given, found = PLACES[place]
    home = Home()
    owner = Owner(id=1, **given(home))
    home.owner = owner
    with db.write():
        db.add(owner)
    assert db.count(Owner) == 1 and found(owner).owner == owner == home.owner


def test_one_that_is_put_into_an_owner_links_to_a_new_one(db: motte.Database) -> None:
    with db.write():
        owner = db.add(Owner(id=1))
        other = Owner(id=2, homes=[Home(owner=owner)])
        owner.homes.append(Home(owner=other, rooms=[Home(owner=other)]))
        owner.by_name = {"a": Home(owner=other), "b": None, "c": Home(owner=Owner(id=3))}
        owner.homes.assign([Home(owner=other), Home(owner=other)], only_differences=True)
    assert db.count(Owner) == 3 and [home.owner for home in owner.homes] == [other, other]
    home = owner.by_name["a"]
    assert home is not None and home.owner == other and other.homes[0].owner == owner


def test_what_is_refused_in_an_embedded_object_leaves_all_as_it_was(db: motte.Database) -> None:
    with db.write():
        db.add(Land(name="Italy"))
        rome = City(name="Rome")
        owner = Owner(id=1, homes=[Home(city=rome), Home(land=Land(name="Italy"))])
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add(owner)
        assert not owner.is_stored and not owner.homes[0].is_stored and owner.homes[0].city is rome
        owner.homes.pop()
        db.add(owner)
    assert owner.homes[0].city == rome and db.count(City) == 1


# ------------------------------------------------------------------------------------------------ two places


def _owners(home: Home) -> list[Owner]:
    return [Owner(id=1, home=home), Owner(id=2, home=home)]


def _inside(home: Home) -> Owner:
    return Owner(id=1, homes=[Home(inner=home), Home(inner=home)])


TWICE: dict[str, Callable[[motte.Database, Home], Any]] = {
    "two owners": lambda db, home: db.add_all(_owners(home)),
    "two owners, updated": lambda db, home: db.add_all(_owners(home), update=True),
    "two owners, modified": lambda db, home: db.upsert_all(_owners(home)),
    "two owners, imported": lambda db, home: db.import_data(Owner, _owners(home)),
    "two properties": lambda db, home: db.add(Owner(id=1, home=home, office=home)),
    "two properties, modified": lambda db, home: db.upsert(Owner(id=1, home=home, office=home)),
    "a link": lambda db, home: db.add(Owner(id=1, home=home, friend=Owner(id=2, home=home))),
    "a property and a list": lambda db, home: db.add(Owner(id=1, home=home, homes=[home])),
    "a list": lambda db, home: db.add(Owner(id=1, homes=[home, home])),
    "a dict": lambda db, home: db.add(Owner(id=1, by_name={"a": home, "b": home})),
    "inside others": lambda db, home: db.add(_inside(home)),
    "inside one": lambda db, home: db.add(Owner(id=1, homes=[Home(inner=home, rooms=[home])])),
    "its owner's": lambda db, home: setattr(db.one(Owner, 9), "home", home),
    "its owner's list": lambda db, home: db.one(Owner, 9).homes.append(home),
}


@pytest.mark.parametrize("way", TWICE)
def test_one_embedded_object_is_refused_in_a_second_place(db: motte.Database, way: str) -> None:
    with db.write():
        db.add(Owner(id=9))
    home = Home(street="Via Appia")
    if way.startswith("its owner"):
        home.owner = Owner(id=8, home=home)
    with db.write():
        with pytest.raises(errors.InvalidArgumentError, match="embedded"):
            TWICE[way](db, home)
        assert not home.is_stored and home.street == "Via Appia"
        assert db.objects(Owner).column("id") == [9] and db.count(Home) == 0
        # Once, it is taken.
        home.owner = None
        db.add(Owner(id=1, home=home))
    assert home.parent == db.one(Owner, 1)


def test_an_embedded_object_in_itself_is_refused(db: motte.Database) -> None:
    for given in ("inner", "rooms"):
        home = Home()
        setattr(home, given, home if given == "inner" else [home])
        with db.write():
            for owner in (Owner(id=1, home=home), Owner(id=1, homes=[home])):
                with pytest.raises(errors.InvalidArgumentError, match="embedded"):
                    db.add(owner)
            assert db.count(Owner) == 0 and not home.is_stored


def test_the_same_place_is_no_second_one(db: motte.Database) -> None:
    """Objects with one primary key are one, and so is the place that they have."""
    for policy in ("all", "modified"):
        home = Home(street=policy)
        with db.write():
            db.upsert(Owner(id=5, home=Home(street="before")))
            db.upsert(Owner(id=7, home=home, friend=Owner(id=5, friend=Owner(id=7, home=home))), policy=policy)
        assert db.one(Owner, 7).home == home and home.street == policy
