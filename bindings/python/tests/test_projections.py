"""Projections; thawing; assigning properties of all objects of a collection."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from motte import errors
from test_refusals import on_thread


class Home(motte.EmbeddedModel):
    city: str = ""
    country: str = ""


class Member(motte.Model):
    id: int = motte.field(primary_key=True)
    first: str = ""
    last: str = motte.field(default="", stored_name="family name")
    born: Optional[date] = None
    age: int = 0
    home: Optional[Home] = None
    friends: list[Member] = motte.field(default_factory=list)
    by_role: dict[str, Optional[Member]] = motte.field(default_factory=dict)
    tags: list[str] = motte.field(default_factory=list)
    liked_by: motte.Backlinks[Member] = motte.backlinks("friends")


class Card(motte.Projection[Member]):
    first: str
    surname: str = motte.projected("last")
    city: Optional[str] = motte.projected(Member.home.city)  # type: ignore[union-attr]
    born: Optional[date]
    friends_names: motte.ProjectedCollection[str] = motte.projected("friends.first")
    fans = motte.projected(lambda member: member.liked_by.first)
    tags: list[str]


class Longer(Card):
    age: int


CLASSES: list[type[motte.Model]] = [Member, Home]


def fill(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Member(id=1, first="Ada", last="L", age=36, home=Home(city="London"), tags=["x"],
                            born=date(1815, 12, 10)))
        bob = db.add(Member(id=2, first="Bob", last="M", age=41, friends=[ada]))
        db.add(Member(id=3, first="Cy", last="N", age=5, friends=[ada, bob], by_role={"boss": ada}))


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="projections", schema=CLASSES) as database:
        fill(database)
        yield database


def test_a_projection_shows_what_it_declares(db: motte.Database) -> None:
    card = Card(db.one(Member, 1))
    assert (card.first, card.surname, card.city, card.born) == ("Ada", "L", "London", date(1815, 12, 10))
    assert list(card.fans) == ["Bob", "Cy"] and card.friends_names == [] and list(card.tags) == ["x"]
    assert card.root == db.one(Member, 1) and card.is_valid and card.database is db
    third = Card(db.one(Member, 3))
    assert third.friends_names == ["Ada", "Bob"] and third.friends_names[-1] == "Bob" and len(third.friends_names) == 2
    assert third.friends_names[:1] == ["Ada"] and "Bob" in third.friends_names and third.city is None
    assert third.to_dict() == {"first": "Cy", "surname": "N", "city": None, "born": None,
                               "friends_names": ["Ada", "Bob"], "fans": [], "tags": []}
    assert repr(third).startswith("Card(first='Cy', surname='N', city=None") and "<td>city</td>" in card._repr_html_()
    assert repr(third.friends_names) == "<ProjectedCollection: 2 first ['Ada', 'Bob']>"
    assert Longer(db.one(Member, 1)).age == 36 and Longer(db.one(Member, 1)).surname == "L"
    with pytest.raises(AttributeError):
        card.last  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        card.nothing = 1  # type: ignore[attr-defined]


def test_it_is_its_object(db: motte.Database) -> None:
    one, same, other = Card(db.one(Member, 1)), Card(db.one(Member, 1)), Card(db.one(Member, 2))
    assert one == same and one != other and len({one, same, other}) == 2 and one != Longer(db.one(Member, 1))
    assert one != one.root
    with db.write():
        one.surname, one.city = "Byron", "Paris"
        root = one.root
        assert root.last == "Byron" and root.home is not None and root.home.city == "Paris"
        with pytest.raises(errors.InvalidArgumentError, match="city cannot be assigned: home is None"):
            other.city = "Rome"
        with pytest.raises(AttributeError, match="fans collects liked_by.first"):
            one.fans = []
        with pytest.raises(errors.WrongTypeError):
            one.first = 5  # type: ignore[assignment]
    with pytest.raises(errors.NotInWriteError):
        one.first = "x"
    with db.write():
        db.delete(one.root)
    assert not one.is_valid and repr(one) == "<Card that is gone>"


def test_objects_in_no_database() -> None:
    friend = Member(id=8, first="F")
    card = Card(Member(id=9, first="New", home=Home(city="Oslo"), friends=[friend]))
    assert (card.first, card.city, card.friends_names, card.database) == ("New", "Oslo", ["F"], None)
    card.city = "Bergen"
    assert card.root.home is not None and card.root.home.city == "Bergen"


def test_results_of_projections(db: motte.Database) -> None:
    cards = db.objects(Card)
    assert [card.first for card in cards.where("age > 30").sorted("-age")] == ["Bob", "Ada"]
    assert [card.first for card in cards.where(lambda member: member.last == "L")] == ["Ada"]
    assert cards.where(last="M")[0].surname == "M" and type(cards.first()) is Card and len(cards) == 3
    assert cards.sum("age") == 82 and [card.first for card in reversed(cards)] == ["Cy", "Bob", "Ada"]
    assert Card(db.one(Member, 2)) in cards and cards.index(Card(db.one(Member, 2))) == 1
    assert db.one(Member, 2) not in cards
    projected = db.one(Member, 3).friends.project(Longer)  # type: ignore[attr-defined]
    assert [card.age for card in projected] == [36, 41]
    sections = cards.sectioned("last")
    assert [(section.key, [card.first for card in section]) for section in sections][0] == ("L", ["Ada"])
    assert cards.sectioned(lambda card: card.city).keys == ["London", None]
    page = cards.page()._repr_html_()
    assert "surname<br><small>str</small>" in page and "friends_names<br><small>list[str]</small>" in page
    assert repr(cards).startswith("<Results: 3 Card [Card(first='Ada'") and "city" in repr(cards.page())
    frozen = cards.freeze()
    with db.write():
        cards[0].first = "Augusta"
    assert frozen[0].first == "Ada" and cards[0].first == "Augusta"
    assert on_thread(lambda: [card.city for card in frozen]) == ["London", None, None]
    again = frozen.thaw()
    assert again is not None and type(again[0]) is Card and again[0].first == "Augusta"
    thawed = frozen[0].thaw()
    assert thawed == cards[0]
    reference = motte.Reference(cards.where("age > 30"))
    card = db.resolve(motte.Reference(cards[1]))
    assert type(card) is Card and card == cards[1]
    resolved = db.resolve(reference)
    assert resolved is not None and [card.first for card in resolved] == ["Augusta", "Bob"]


def test_observers_of_a_projection(db: motte.Database) -> None:
    ada = db.one(Member, 1)
    seen: list[Any] = []
    token = Card(ada).observe(lambda change: seen.append(
        "deleted" if change.is_deleted else {each.name: (each.old, each.new) for each in change.properties}))

    def write(function: Callable[[], Any]) -> list[Any]:
        seen.clear()
        with db.write():
            function()
        return list(seen)
    assert write(lambda: setattr(ada, "age", 37)) == []
    assert write(lambda: setattr(ada, "last", "B")) == [{"surname": ("L", "B")}]
    assert write(lambda: setattr(ada.home, "country", "UK")) == []
    assert write(lambda: setattr(ada.home, "city", "York")) == [{"city": ("London", "York")}]
    assert write(lambda: setattr(ada, "born", None)) == [{"born": (date(1815, 12, 10), None)}]
    assert write(lambda: setattr(ada, "home", None)) == [{"city": ("York", None)}]
    assert write(lambda: ada.friends.append(db.one(Member, 2))) == [{"friends_names": (None, None)}]
    assert write(lambda: setattr(db.one(Member, 2), "first", "Rob")) == [
        {"friends_names": (None, None), "fans": (None, None)}]
    assert write(lambda: db.delete(ada)) == ["deleted"]
    token.stop()


def test_observers_of_results_of_projections(db: motte.Database) -> None:
    seen: list[list[int]] = []
    ada = db.one(Member, 1)
    tokens = [db.objects(Card).observe(lambda changes: seen.append(changes.modifications)),
              db.objects(Card).observe(lambda changes: seen.append(changes.modifications), paths=["surname"]),
              Card(db.one(Member, 3)).friends_names.observe(lambda changes: seen.append(changes.modifications))]
    db.dispatch()
    for change, wanted in ((("age", 1), []), (("last", "X"), [[0], [0]]), (("first", "X"), [[0], [0], [0, 2]])):
        seen.clear()
        with db.write():
            setattr(ada, *change)
        assert sorted(seen, key=len) == wanted or change[0] == "first" and [0] in seen
    for token in tokens:
        token.stop()


def test_streams_of_a_projection(db: motte.Database) -> None:
    card = Card(db.one(Member, 1))
    stream = iter(card.changes(timeout=5))
    with db.write():
        card.root.age = 1
    with db.write():
        card.city = "York"
    assert [(each.name, each.old, each.new) for each in next(stream).properties] == [("city", "London", "York")]
    stream.close()  # type: ignore[attr-defined]


def test_an_observed_projection_keeps_nothing_open() -> None:
    db = motte.open(in_memory="kept", schema=CLASSES)
    fill(db)
    token = Card(db.one(Member, 1)).observe(lambda change: None)
    home = weakref.ref(db)
    del token, db
    gc.collect()
    assert home() is None


def test_projections_that_cannot_be(db: motte.Database) -> None:
    def made(name: str = "Bad", base: Any = motte.Projection[Member], **members: Any) -> Any:
        return type(motte.Projection)(name, (motte.Projection,), {"_model": Member, "__module__": __name__, **members})
    for path, why in (("nothing", "nothing is looked for in Member, which has id, first"),
                      ("home.street", "street is looked for in Home"), ("first.x", "x is looked for in no class"),
                      ("friends.friends.first", "two collections")):
        with pytest.raises(errors.SchemaInvalidError, match=f"Bad.shown: .*{why}"):
            db.objects(made(shown=motte.projected(path)))
    with pytest.raises(errors.SchemaInvalidError, match="every projection has to_dict already"):
        made(to_dict=motte.projected("first"))
    with pytest.raises(errors.SchemaInvalidError, match="has no default"):
        made(__annotations__={"first": str}, first="x")
    with pytest.raises(errors.WrongTypeError, match="a Card shows a Member, not "):
        Card("x")  # type: ignore[arg-type]
    with pytest.raises(errors.WrongTypeError, match="Card shows Member, and these are Home"):
        db.objects(Home).project(Card)

    class Nameless(motte.Projection):  # type: ignore[type-arg]
        first: str
    with pytest.raises(errors.SchemaInvalidError, match="Nameless says not of what class"):
        Nameless._fields()


# ------------------------------------------------------------------------------------------------ thawing


def test_what_is_frozen_thaws(db: motte.Database) -> None:
    ada, third = db.one(Member, 1), db.one(Member, 3)
    frozen = db.freeze()
    old, old_third = ada.freeze(), third.freeze()
    with db.write():
        ada.first = "Augusta"
        third.tags.append("new")
    assert frozen.thaw() is db and db.thaw() is db and ada.thaw() is ada
    live = old.thaw()
    assert old.first == "Ada" and live == ada and live is not None and live.first == "Augusta"
    for name in ("friends", "by_role", "tags", "liked_by"):
        collection = getattr(old_third, name).thaw()
        assert collection == getattr(third, name) and type(collection) is type(getattr(third, name)), name
        assert collection.thaw() is collection
    results = db.objects(Member).where("age > 30").sorted("-age").freeze()
    again = results.thaw()
    assert again is not None and [each.first for each in again] == ["Bob", "Augusta"]
    assert results.where("age > 40").thaw() == again[:1] and again.thaw() is again
    sections = db.objects(Member).sectioned("last").freeze().thaw()
    assert sections is not None and sections.keys == ["L", "M", "N"]
    with db.write():
        assert isinstance(old_third.tags.thaw(), motte.List)
        db.delete(ada)
        db.delete(third)
    assert old.thaw() is None and old_third.tags.thaw() is None and old_third.by_role.thaw() is None
    for thing in (frozen.objects(Member), frozen.objects(Member)[0]):
        assert isinstance(on_thread(thing.thaw), errors.WrongThreadError)
    with pytest.raises(errors.InvalidArgumentError, match="thaw needs one"):
        Member(id=9).thaw()


# ------------------------------------------------------------------------------------------------ bulk update


def test_all_objects_of_results_are_updated(db: motte.Database) -> None:
    members = db.objects(Member)
    with db.write():
        # Those that match when it begins; none of them leaves half-way.
        assert members.where("age > 30").update(age=1, last="Z") == 2
        assert members.column("age") == [1, 1, 5] and members.column("last") == ["Z", "Z", "N"]
        assert members.update(age=lambda member: member.age + member.id, born=date(2000, 1, 1)) == 3
        assert members.column("age") == [2, 3, 8] and members.column("born") == [date(2000, 1, 1)] * 3
        assert members.update(home=lambda member: Home(city=member.first)) == 3
        assert [each.home.city for each in members if each.home] == ["Ada", "Bob", "Cy"]
        assert db.one(Member, 3).friends.where("TRUEPREDICATE").update(age=0) == 2
        assert members.where("FALSEPREDICATE").update(age=7) == 0 and members.update() == 3
    assert members.column("age") == [0, 0, 8]
    with db.write():
        assert db.objects(Card).where("id < 3").update(age=lambda card: len(card.surname), last="Q") == 2
    assert members.column("age") == [1, 1, 8] and members.column("last") == ["Q", "Q", "N"]


def test_an_update_is_all_or_nothing(db: motte.Database) -> None:
    members = db.objects(Member)
    before = members.column("age"), members.column("last")

    def fails(member: Any) -> int:
        if member.id == 3:
            raise KeyError("third")
        return 100
    with db.write():
        for values, kind in (({"age": "x"}, errors.WrongTypeError), ({"age": fails, "last": "W"}, KeyError),
                             ({"age": None}, errors.NullNotAllowedError), ({"age": 1, "nmae": 2}, LookupError),
                             ({"tags": ["x"]}, errors.WrongTypeError), ({"home": Home()}, errors.InvalidArgumentError),
                             ({"last": "W", "id": 7}, errors.PrimaryKeyIsFixedError),
                             ({"last": "W", "born": 5}, errors.WrongTypeError)):
            with pytest.raises(kind):
                members.update(**values)
            assert (members.column("age"), members.column("last")) == before, values
    for target in (members, members.where("FALSEPREDICATE")):
        with pytest.raises(errors.NotInWriteError):
            target.update(age=1)
    with db.write(), pytest.raises(errors.WrongTypeError, match="no properties"):
        members[0].tags.where("TRUEPREDICATE").update(age=1)  # type: ignore[attr-defined]


def test_files(path: Path) -> None:
    with motte.open(path, schema=CLASSES) as db:
        fill(db)
        assert '"family name":"L"' in (db.export_json(what=Member) or "")
        assert db.objects(Card)[0].surname == "L"


def test_snapshots_show_none_for_what_is_gone(db: motte.Database) -> None:
    cards, plain = db.objects(Card).snapshot(), db.objects(Member).snapshot()
    with db.write():
        db.delete(plain[0])
    assert plain[0] is None and cards[0] is None and cards[1].first == plain[1].first


class Room(motte.EmbeddedModel):
    city: str = ""
    tags: list[str] = motte.field(default_factory=list)
    any: Any = None


class Guest(motte.Model):
    room: Optional[Room] = None
    friend: Optional[Guest] = None
    tags: set[str] = motte.field(default_factory=set)


class GuestCard(motte.Projection[Guest]):
    city: Optional[str] = motte.projected("room.city")
    room_tags: list[str] = motte.projected("room.tags")
    any: Any = motte.projected("room.any")
    friend_tags: set[str] = motte.projected("friend.tags")


def test_collections_behind_links_are_observed() -> None:
    with motte.open(in_memory="rooms", schema=[Guest, Room]) as db:
        with db.write():
            other = db.add(Guest(tags={"a"}))
            guest = db.add(Guest(room=Room(city="x", tags=["a"], any=[1]), friend=other))
        seen: list[list[tuple[str, Any, Any]]] = []
        card = GuestCard(guest)
        observed = card.observe(
            lambda change: seen.append([(each.name, each.old, each.new) for each in change.properties]))
        db.dispatch()

        def changed(change: Callable[[], Any]) -> list[tuple[str, Any, Any]]:
            seen.clear()
            with db.write():
                change()
            db.dispatch()
            return seen[0] if seen else []

        assert changed(lambda: guest.room.tags.append("b")) == [("room_tags", None, None)]  # type: ignore[union-attr]
        assert changed(lambda: other.tags.add("b")) == [("friend_tags", None, None)]
        assert changed(lambda: guest.room.any.append(2)) == [("any", None, None)]  # type: ignore[union-attr]
        assert changed(lambda: setattr(guest.room, "any", 5)) == [("any", None, 5)]
        assert changed(lambda: setattr(guest, "room", Room(city="y", tags=["n"], any=5))) == [
            ("city", "x", "y"), ("room_tags", None, None)]
        assert changed(lambda: setattr(guest.room, "city", "z")) == [("city", "y", "z")]
        assert changed(lambda: setattr(guest, "friend", None)) == [("friend_tags", None, None)]
        assert changed(lambda: setattr(guest, "room", None)) == [
            ("city", "z", None), ("room_tags", None, None), ("any", 5, None)]
        observed.stop()


def test_each_loop_over_a_stream_begins_with_what_it_finds() -> None:
    class Place(motte.EmbeddedModel):
        city: str = ""
        zip: str = ""

    class Owner(motte.Model):
        id: int = motte.field(primary_key=True)
        place: Optional[Place] = None

    class Card(motte.Projection[Owner]):
        city: Optional[str] = motte.projected("place.city")
        zip: Optional[str] = motte.projected("place.zip")

    with motte.open(in_memory="streams of cards", schema=[Owner, Place]) as db:
        with db.write():
            owner = db.add(Owner(id=1, place=Place(city="A", zip="1")))
        stream = Card(owner).changes(timeout=0.05)
        for city, zip_ in (("D", "2"), ("E", "3")):
            with db.write():
                owner.place.city = city
            loop = iter(stream)
            with db.write():
                owner.place.zip = zip_
            assert [(each.name, each.new) for each in next(loop).properties] == [("zip", zip_)]
            loop.close()
        with db.write() as write:
            owner.place.city = "F"
            stream = Card(owner).changes(timeout=0.05)
            write.cancel()
        loop = iter(stream)
        with db.write():
            owner.place.city = "F"
        assert [[tuple(each) for each in change.properties] for change in loop] == [[("city", "E", "F")]]
