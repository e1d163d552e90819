"""Decimals, identifiers, enums and mixed values, alone and in collections; upserts."""
from __future__ import annotations

import enum
import pickle
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Room(motte.EmbeddedModel):
    city: str
    inner: Optional[Room] = None


class Item(motte.Model):
    id: uuid.UUID = motte.field(primary_key=True)
    price: Optional[Decimal] = None
    owner: Optional[motte.ObjectId] = None
    extra: Any = None
    color: Color = Color.RED
    level: Optional[Level] = None
    colors: list[Color] = motte.field(default_factory=list)
    marks: set[int] = motte.field(default_factory=set)
    scores: dict[str, Decimal] = motte.field(default_factory=dict)
    friends: dict[str, Optional[Item]] = motte.field(default_factory=dict)
    home: Optional[Room] = None
    rooms: list[Room] = motte.field(default_factory=list)
    by: dict[str, Optional[Room]] = motte.field(default_factory=dict)


ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture
def db(request: pytest.FixtureRequest) -> Iterator[motte.Database]:
    with motte.open(in_memory=request.node.name, schema=[Item, Room]) as database:
        yield database


def test_object_ids() -> None:
    first, second = motte.ObjectId(), motte.ObjectId()
    given = motte.ObjectId("507f1f77bcf86cd799439011")

    assert first < second and first != second and len({first, second, first}) == 2
    assert given.hex == str(given) == "507f1f77bcf86cd799439011" and bytes(given)[0] == 0x50
    assert given == motte.ObjectId(bytes(given)) == pickle.loads(pickle.dumps(given))
    assert given.generation_time == datetime(2012, 10, 17, 21, 13, 27, tzinfo=timezone.utc)
    assert repr(given) == "ObjectId('507f1f77bcf86cd799439011')"
    for wrong in ("", "507f", b"x"):
        with pytest.raises(motte.errors.InvalidArgumentError):
            motte.ObjectId(wrong)
    with pytest.raises(AttributeError):
        given.hex = "0"  # type: ignore[misc]


@pytest.mark.parametrize("text", [
    "0", "-0", "3.75", "-1E-6176", "1E+6111", "9999999999999999999999999999999999", "0.10", "1E+6144", "NaN",
    "-Infinity",
])
def test_decimals_come_back(db: motte.Database, text: str) -> None:
    with db.write():
        item = db.add(Item(id=ONE, price=Decimal(text), extra=Decimal(text)))
    back = item.price
    assert back is not None and (back == Decimal(text) or back.is_nan() and text == "NaN")
    assert type(item.extra) is Decimal


def test_decimals_of_more_than_34_digits_are_refused(db: motte.Database) -> None:
    with db.write():
        with pytest.raises(motte.errors.NumberOverflowError, match="at most 34 digits"):
            db.add(Item(id=ONE, price=Decimal("1." + "1" * 40)))
        item = db.add(Item(id=ONE, price=Decimal("1." + "1" * 33)))
    assert item.price == Decimal("1." + "1" * 33)


def test_enums(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, color=Color.BLUE, level=Level.HIGH, colors=[Color.RED, Color.BLUE]))
    assert item.color is Color.BLUE and item.level is Level.HIGH
    assert list(item.colors) == [Color.RED, Color.BLUE] and item.colors[1] is Color.BLUE
    with db.write():
        item.color = Color.RED
        item.level = None
    assert item.color is Color.RED and item.level is None
    assert db.objects(Item).where(Item.color == Color.RED).first() == item


def test_mixed_values(db: motte.Database) -> None:
    values: list[Any] = [None, True, 5, 1.5, "text", b"bytes", ONE, motte.ObjectId(), Decimal("1.5"),
                         datetime(2013, 1, 1, tzinfo=timezone.utc), [1, ["two", None]], {"a": {"b": [1]}}]
    with db.write():
        item = db.add(Item(id=ONE))
        for value in values:
            item.extra = value
            assert item.extra == value and type(item.extra) in (type(value), motte.List, motte.Map)


def test_mixed_values_are_edited_in_place(db: motte.Database) -> None:
    with db.write():
        other = db.add(Item(id=TWO))
        item = db.add(Item(id=ONE, extra={"tags": ["a"], "friend": other}))
    with db.write():
        item.extra["tags"].append("b")
        item.extra["tags"].append({"deep": [1]})
        item.extra["tags"][2]["deep"][0] = 2
        item.extra["n"] = 1
        del item.extra["friend"]
    assert item.extra.to_plain() == {"n": 1, "tags": ["a", "b", {"deep": [2]}]}
    assert item.extra == {"n": 1, "tags": ["a", "b", {"deep": [2]}]}
    tags = item.extra["tags"]
    with db.write():
        item.extra = 7
        with pytest.raises(motte.errors.ObjectDeletedError):
            tags.append("c")


def test_lists_that_never_end_are_refused(db: motte.Database) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with db.write(), pytest.raises((motte.errors.InvalidArgumentError, RecursionError)):
        db.add(Item(id=ONE, extra=endless))
    deep: Any = 1
    for _ in range(101):
        deep = [deep]
    with db.write(), pytest.raises(motte.errors.InvalidArgumentError):
        db.add(Item(id=ONE, extra=deep))


def test_sets(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, marks={3, 1, 2}))
        item.marks.add(2)
        item.marks |= {9}
        item.marks -= [1]
        item.marks &= {2, 3, 9, 10}
        item.marks ^= {3, 4}
    assert item.marks == {2, 4, 9} and list(item.marks) == [2, 4, 9] and item.marks[0] == 2
    assert {2} <= item.marks and item.marks.isdisjoint({5}) and item.marks | {5} == {2, 4, 5, 9}
    with db.write():
        assert item.marks.pop() == 2
        with pytest.raises(KeyError):
            item.marks.remove(2)
        item.marks.discard(2)
        item.marks = {7}
    assert item.marks.to_plain() == [7] and item.to_dict()["marks"] == [7]


def test_maps(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, scores={"b": Decimal(2), "a": Decimal(1)}))
        item.scores["c"] = Decimal("3.5")
        item.scores.update(a=Decimal(10), d=Decimal(4))
        assert item.scores.pop("b") == 2
        assert item.scores.setdefault("c", Decimal(0)) == Decimal("3.5")
    assert list(item.scores) == ["a", "c", "d"] and "b" not in item.scores and item.scores.get("b") is None
    assert item.scores == {"a": 10, "c": Decimal("3.5"), "d": 4} and len(item.scores) == 3
    assert item.scores.results().max() == 10
    with db.write():
        with pytest.raises(motte.errors.InvalidArgumentError):
            item.scores["a.b"] = Decimal(1)
        with pytest.raises(motte.errors.WrongTypeError):
            item.scores[1] = Decimal(1)  # type: ignore[index]
        with pytest.raises(KeyError):
            del item.scores["z"]
        item.scores = {"only": Decimal(1)}
    frozen = item.scores.freeze()
    with db.write():
        item.scores["more"] = Decimal(2)
        assert item.scores.freeze() == frozen == {"only": 1}
        with pytest.raises(motte.errors.FrozenError):
            frozen["x"] = Decimal(1)
    assert item.scores == {"only": 1, "more": 2} and frozen == {"only": 1}


def test_totals_and_columns_of_maps_of_objects_pass_over_none(db: motte.Database) -> None:
    with db.write():
        one = db.add(Item(id=ONE, price=Decimal(3), marks={1}))
        two = db.add(Item(id=TWO, price=Decimal(4)))
        one.friends = {"a": None, "b": one, "c": None, "d": two, "e": None}
        values = one.friends.results()
        assert list(one.friends.values()) == [None, one, None, two, None]
        assert list(values) == values.column() == [one, two] and values.column("id") == [ONE, TWO]
        assert values.column("price") == [3, 4] and values.column("level") == [None, None]
    assert values.sum("price") == 7 and values.average("price") == 3.5 and values.max("price") == 4
    assert values.count_present("price") == 2 and values.count_present("level") == 0
    assert one.friends.where("price > 3").column("id") == [TWO]
    with db.write():
        db.delete(two)
    assert one.friends["d"] is None and values.column("id") == [ONE] and values.sum("price") == 3


def test_maps_tell_of_keys(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, scores={"a": Decimal(1), "b": Decimal(2)}))
    received: list[motte.Changes] = []
    observation = item.scores.observe(received.append)
    db.refresh()
    with db.write():
        del item.scores["a"]
        item.scores["b"] = Decimal(3)
        item.scores["c"] = Decimal(3)
    observation.stop()
    assert received[-1].deleted_keys == ["a"] and received[-1].inserted_keys == ["c"]
    assert received[-1].modified_keys == ["b"]


def test_objects_in_maps(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, friends={"two": Item(id=TWO), "none": None}))
    assert item.friends["two"] == db.one(Item, TWO)
    with db.write():
        db.delete(db.one(Item, TWO))
    assert item.friends == {"none": None, "two": None}


def test_embedded_objects(db: motte.Database) -> None:
    with db.write():
        item = db.add(Item(id=ONE, home=Room(city="London", inner=Room(city="cellar")), rooms=[Room(city="Rome")],
                           by={"work": Room(city="Bonn"), "none": None}))
    home = item.home
    assert home is not None and home.parent == item and home.inner is not None and home.inner.parent == home
    assert [room.city for room in item.rooms] == ["Rome"] and item.by["work"].city == "Bonn"  # type: ignore[union-attr]
    with db.write():
        item.home = Room(city="Leeds")
        assert not home.is_valid and item.home is not None and item.home.city == "Leeds"
        item.rooms.append(Room(city="Oslo"))
        item.rooms[0] = Room(city="Paris")
        item.rooms.insert(1, Room(city="Riga"))
        item.by["work"] = Room(city="Köln")
        with pytest.raises(motte.errors.InvalidArgumentError):
            item.rooms.append(item.home)
        with pytest.raises(motte.errors.InvalidArgumentError):
            db.add(Room(city="nowhere"))
        for value in (Room(city="mixed"), [[Room(city="deep")]], {"a": Room(city="deep")}):
            with pytest.raises(motte.errors.Error, match="embedded"):
                item.extra = value
    assert [room.city for room in item.rooms] == ["Paris", "Riga", "Oslo"]
    assert item.to_dict()["home"] == {"city": "Leeds", "inner": None}
    with db.write():
        item.home = None
        item.rooms = [Room(city="only")]
        del item.by["work"]
    assert db.count(Room) == 1
    with db.write():
        db.delete(item)
    assert db.count(Room) == 0


def test_upserts(db: motte.Database) -> None:
    with db.write():
        item = db.upsert(Item(id=ONE, price=Decimal(1), marks={1}, home=Room(city="London")))
    received: list[motte.ObjectChange] = []
    observation = item.observe(received.append)
    home = item.home
    with db.write():
        again = db.upsert(Item(id=ONE, price=Decimal(2), marks={1}, home=Room(city="Leeds")))
    assert again == item and item.price == 2 and db.count(Item) == 1
    assert item.home == home and home is not None and home.city == "Leeds"
    assert "price" in [change.name for change in received[-1].properties]
    assert "marks" not in [change.name for change in received[-1].properties]
    with db.write():
        made = db.create_or_update(Item, id=TWO, extra=[1])
        db.create_or_update(Item, id=TWO, price=Decimal(5))
    assert made.extra == [1] and made.price == 5
    observation.stop()
    with db.write(), pytest.raises(motte.errors.DuplicatePrimaryKeyError):
        db.add(Item(id=ONE))
    with db.write(), pytest.raises(motte.errors.InvalidArgumentError):
        db.upsert(Item(id=ONE), policy="sometimes")


def test_columns(db: motte.Database) -> None:
    with db.write():
        db.insert_columns(Item, {"id": [ONE, TWO], "price": [Decimal("1.5"), None], "extra": [1, ["two"]],
                                 "color": [Color.RED, Color.BLUE]})
        db.insert_columns(Item, {"id": [TWO, uuid.UUID(int=3)], "price": [2, 3]}, policy="modified")
    items = db.objects(Item)
    assert items.column("id") == [ONE, TWO, uuid.UUID(int=3)]
    assert items.column("price") == [Decimal("1.5"), 2, 3] and items.column("extra") == [1, ["two"], None]
    assert db.get(Item, TWO) is not None and db.get(Item, uuid.UUID(int=9)) is None


def test_columns_as_arrays(db: motte.Database) -> None:
    pytest.importorskip("numpy")
    with db.write():
        db.add(Item(id=ONE, price=Decimal("1.5")))
    assert list(db.objects(Item).to_numpy("id")) == [ONE]
    assert list(db.objects(Item).to_numpy("price")) == [Decimal("1.5")]


def test_what_annotations_are_refused() -> None:
    for annotation, message in (("dict[str, Item]", "becomes None"), ("set[Optional[Item]]", "holds no None"),
                                ("set[list[int]]", "cannot hold collections")):
        made = type("Refused", (motte.Model,), {"__annotations__": {"x": annotation}, "__module__": __name__})
        with pytest.raises(motte.errors.SchemaInvalidError, match=message.replace("[", "\\[")):
            made._declared()


def test_classes_are_made_from_what_is_stored(tmp_path: Any) -> None:
    path = tmp_path / "x.motte"
    with motte.open(path, schema=[Item, Room]) as db, db.write():
        db.add(Item(id=ONE, extra={"a": 1}, marks={1}, by={"w": Room(city="Bonn")}))
    with motte.open(path) as db:
        item = db.one(db.model("Item"), ONE)
        assert item.extra == {"a": 1} and item.marks == {1} and item.by["w"].city == "Bonn"
        assert issubclass(db.model("Room"), motte.EmbeddedModel)


class Masked(str):
    def __str__(self) -> str:
        return "***"


class Safe(str):
    def __str__(self) -> str:
        return self


class Rounded(float):
    def __float__(self) -> float:
        return 99.0


class Packed(bytes):
    def __bytes__(self) -> bytes:
        return b"packed"


class Shown(motte.Model):
    name: str = motte.field(primary_key=True)
    number: float = 0.0
    data: bytes = b""
    any: Any = None
    names: list[str] = motte.field(default_factory=list)
    by_name: dict[str, Any] = motte.field(default_factory=dict)


@pytest.mark.parametrize("text", [Masked("a"), Safe("a")])
def test_subclasses_are_stored_as_what_they_are(text: str) -> None:
    """They are not what their __str__() and the like give."""
    with motte.open(in_memory="shown", schema=[Shown]) as db, db.write():
        stars = db.add(Shown(name="***"))
        given = {"name": text, "number": Rounded(5.5), "data": Packed(b"q"), "any": text, "names": [text],
                 "by_name": {"k": Rounded(1.5), "m": [text, Packed(b"q")]}}
        for make in (lambda: db.add(Shown(**given)), lambda: db.create_or_update(Shown, **given),
                     lambda: db.upsert(Shown(**given)), lambda: db.upsert_all([Shown(**given)] * 2)):
            make()
            found = db.get(Shown, "a")
            assert found is not None and found == db.get(Shown, text) and db.count(Shown) == 2
            assert (found.number, found.data, found.any, list(found.names)) == (5.5, b"q", "a", ["a"])
            assert found.by_name.to_plain() == {"k": 1.5, "m": ["a", b"q"]}  # type: ignore[attr-defined]
            db.delete(found)
        db.insert_columns(Shown, {"name": [text], "number": [Rounded(5.5)], "data": [Packed(b"q")]})
        found = db.get(Shown, "a")
        assert found is not None and (found.number, found.data) == (5.5, b"q")
        found.any, found.number = Rounded(2.5), Rounded(3.5)
        assert (found.any, found.number) == (2.5, 3.5)
        assert db.objects(Shown).where(name=text).count() == db.objects(Shown).where(number=Rounded(3.5)).count() == 1
        assert db.objects(Shown).where(Shown.name.in_([text])).first() == found
        assert stars.is_valid and stars.number == 0
