"""Names: filters by name, named arguments of queries, and names that the file has for classes and properties."""
from __future__ import annotations

import datetime
import pathlib
import re
from typing import Any, Optional

import pytest

import motte
from conftest import Dog, Person
from motte import errors
from motte._querytext import KEYWORDS


class Shop(motte.Model, stored_name="store"):
    name: str = motte.field(primary_key=True, stored_name="store_name")
    street: str = motte.field(default="", stored_name="address line")
    boss: Optional[Clerk] = motte.field(default=None, stored_name="manager")
    clerks: list[Clerk] = motte.field(default_factory=list, stored_name="staff")
    by_role: dict[str, Optional[Clerk]] = motte.field(default_factory=dict, stored_name="roles")
    size: int = motte.field(default=0, stored_name="limit")


class Clerk(motte.Model, stored_name="person"):
    name: str = motte.field(stored_name="first_name", indexed=True)
    age: int = 0
    runs: motte.Backlinks[Shop] = motte.backlinks("boss")


SHOPS: list[type[motte.Model]] = [Shop, Clerk]


@pytest.fixture
def shops() -> Any:
    with motte.open(in_memory="names", schema=SHOPS) as db:
        with db.write():
            ada, bob = Clerk(name="Ada", age=36), Clerk(name="Bob", age=41)
            db.add(Shop(name="Corner", street="High", boss=ada, clerks=[ada, bob], by_role={"till": bob}, size=3))
            db.add(Shop(name="Far", boss=bob, clerks=[bob], size=9))
        yield db


@pytest.fixture
def people(db: motte.Database) -> motte.Database:
    with db.write():
        ada, *_ = db.add_all([Person(name="Ada", age=36), Person(name="Bob", age=41), Person(name="Eve", age=36)])
        db.add_all([Dog(name="Rex", owner=ada), Dog(name="Fido")])
    return db


# ------------------------------------------------------------------------------------------------ filters by name


def test_filters_by_name(people: motte.Database) -> None:
    objects = people.objects(Person)
    assert [each.name for each in objects.where(age=36)] == ["Ada", "Eve"]
    assert [each.name for each in objects.where(name="Eve", age=36)] == ["Eve"]
    assert objects.where(name="Eve", age=41).first() is None and len(objects.where(height=None)) == 3
    ada = objects.where(name="Ada").first()
    assert [each.name for each in people.objects(Dog).where(owner=ada)] == ["Rex"]
    assert [each.name for each in objects.where(Person.age > 30, name="Bob")] == ["Bob"]
    assert [each.name for each in objects.where(lambda p: p.age < 40, name="Ada")] == ["Ada"]
    assert people.query(Person, name="Bob").count() == 1 and len(objects.where()) == 3
    # Even of a property called like a parameter.
    with pytest.raises(errors.UnknownPropertyError, match="Person has no property 'condition'; it has name, age"):
        objects.where(condition=1)
    with pytest.raises(TypeError, match="SELF in query text"):
        people.one(Dog, "Rex")
        objects.first().tags.where(name="x")  # type: ignore[union-attr]


def test_named_arguments(people: motte.Database) -> None:
    objects = people.objects(Person)
    found = objects.where("age >= $low AND age < $high", low=30, high=40)
    assert [each.name for each in found] == ["Ada", "Eve"]
    assert [each.name for each in objects.where("name == $0 OR name == $other OR name == $other", "Ada", other="Eve")
            ] == ["Ada", "Eve"]
    assert len(objects.where("age IN $ages", ages=[36, 41])) == 3 and len(objects.where("age IN $ages", ages={41})) == 1
    # What stands in texts and names, and the variable of a subquery, is left alone.
    assert len(objects.where("name != '$low' AND age > $low", low=0)) == 3
    assert len(objects.where("SUBQUERY(owned, $x, $x.name == $x_name).@count > 0", x_name="Rex")) == 1
    assert len(objects.where("SUBQUERY(owned, $x, $x.name == $name).@count > 0", name="Rex")) == 1
    with pytest.raises(errors.QueryArgumentError, match=r"no argument \$hihg"):
        objects.where("age < $high", hihg=3)
    with pytest.raises(errors.QueryError):
        objects.where("age < $high")


def test_named_arguments_of_prepared_queries(people: motte.Database) -> None:
    query = people.query(Person, "age >= $low AND name != $0", "Bob", low=30)
    assert query.count() == 2 and query.bind(low=40).count() == 0
    assert query.bind("Ada", low=36).count() == 2 and query.bind("Eve").count() == 2
    with pytest.raises(errors.QueryArgumentError, match=r"no argument \$high"):
        query.bind(high=1)
    with pytest.raises(errors.Error):
        query.bind("Ada", low="x")
    assert query.bind("Eve").count() == 2


# ------------------------------------------------------------------------------------------------ stored names


def test_the_file_has_the_stored_names(shops: motte.Database) -> None:
    with motte.open(in_memory="names") as stored:
        store = stored.objects("store").sorted("store_name")[0]
        assert store.to_dict().keys() == {"store_name", "address line", "manager", "staff", "roles", "limit"}
        assert store.manager.first_name == "Ada" and type(store.manager).__name__ == "person"
        assert list(store.manager.runs) == [store]
        assert stored.model("person") is not Clerk
    assert shops.model("store") is Shop and shops.model("Shop") is Shop
    assert '"store_name":"Corner"' in (shops.export_json(what=Shop) or "")


def test_programs_have_their_own(shops: motte.Database) -> None:
    shop = shops.one(Shop, "Corner")
    assert (shop.street, shop.size, shop.boss.name) == ("High", 3, "Ada") and shop.by_role["till"].name == "Bob"
    assert list(shop.boss.runs) == [shop] == list(shops.backlinks(shop.boss, Shop.boss))
    assert shop.to_dict().keys() == {"name", "street", "boss", "clerks", "by_role", "size"}
    assert "street='High'" in repr(shop)
    with shops.write():
        shop.street = "Low"
        shops.update(shop, size=4, boss=shop.clerks[1])
        shops.create_or_update(Shop, name="Far", size=1)
        shops.insert_columns(Clerk, {"name": ["Cy"], "age": [3]})
        with pytest.raises(errors.WrongTypeError, match=r"store\.limit takes int, not str"):  # as the file calls it
            shop.size = "x"
        with pytest.raises(errors.UnknownPropertyError, match="'limit'; it has name, street"):
            shops.update(shop, limit=1)
    assert (shop.street, shop.size, shop.boss.name) == ("Low", 4, "Bob")
    assert sorted(shops.objects(Clerk).column("name")) == ["Ada", "Bob", "Cy"]


@pytest.mark.parametrize("text, wanted", [
    ("name == 'Corner'", ["Corner"]), ("street == 'High' AND size < 5", ["Corner"]), ("boss.name == 'Bob'", ["Far"]),
    ("ANY clerks.name == 'Ada'", ["Corner"]), ("clerks.@count > 1", ["Corner"]), ("clerks.@min.age > 40", ["Far"]),
    ("SUBQUERY(clerks, $x, $x.name == 'Ada' AND $x.age > 1).@count > 0", ["Corner"]),
    ("ANY by_role.@keys == 'till'", ["Corner"]), ("NOT (name CONTAINS 'street')", ["Corner", "Far"]),
    ("`street` == 'High'", ["Corner"]), ("TRUEPREDICATE SORT(size DESC) LIMIT(1)", ["Far"]),
    ("TRUEPREDICATE SORT(boss.name DESC)", ["Far", "Corner"]), ("size IN {3, 4}", ["Corner"]),
    # The names of the file mean what they mean there.
    ("store_name == 'Far'", ["Far"]), ("manager.first_name == 'Bob'", ["Far"]),
])
def test_query_text_has_the_names_of_programs(shops: motte.Database, text: str, wanted: list[str]) -> None:
    assert [each.name for each in shops.objects(Shop).where(text)] == wanted
    assert [each.name for each in shops.query(Shop, text).run()] == wanted


def test_predicates_and_paths(shops: motte.Database) -> None:
    objects = shops.objects(Shop)
    assert [each.name for each in objects.where(Shop.boss.name == "Ada")] == ["Corner"]
    assert str(Shop.street) == "street" and (Shop.street == "High").text == "street == $0"
    assert [each.name for each in objects.where(Shop.clerks.any((Clerk.name == "Ada") & (Clerk.age > 3)))] == ["Corner"]
    assert [each.name for each in objects.where(street="High")] == ["Corner"]
    assert [each.name for each in objects.sorted("-boss.name")] == ["Far", "Corner"]
    assert [each.name for each in objects.sorted(-Shop.size)] == ["Far", "Corner"]
    assert len(objects.distinct("boss.name")) == 2 and objects.sum("size") == 12 and objects.max(Shop.size) == 9
    assert [section.key for section in objects.sectioned("boss.name")] == ["Ada", "Bob"]
    assert (shops.export_csv(None, objects, columns=["name", Shop.boss.name]) or "").splitlines()[1] == "Corner,Ada"
    assert "Corner" in (shops.export_json(what=objects, columns=["name"]) or "")


def test_observers_have_the_names_of_programs(shops: motte.Database) -> None:
    shop = shops.one(Shop, "Corner")
    seen: list[Any] = []
    tokens = [
        shop.observe(lambda change: seen.append([each.name for each in change.properties])),
        shops.objects(Shop).observe(lambda changes: seen.append(changes.modifications), paths=["boss.name"]),
        shops.objects(Shop).observe(lambda changes: seen.append(changes.modifications), paths=[Shop.street]),
    ]
    shops.dispatch()
    seen.clear()
    with shops.write():
        shop.street = "New"
    assert sorted(map(str, seen)) == ["['street']", "[0]"]
    seen.clear()
    with shops.write():
        shop.boss.name = "Augusta"
    assert seen == [[0]]
    for token in tokens:
        token.stop()


def test_stored_names_last(path: Any) -> None:
    with motte.open(path, schema=SHOPS) as db, db.write():
        db.add(Shop(name="Corner", street="High"))
    with motte.open(path, schema=SHOPS) as db:
        assert db.one(Shop, "Corner").street == "High"
    # A class that has the name of the file, and a step of a migration.
    with motte.open(path, schema=SHOPS, schema_version=1, migration=lambda migration: [
            setattr(new, "street", old["address line"] if isinstance(old, dict) else getattr(old, "address line") + "!")
            for old, new in migration.enumerate(Shop)]) as db:
        assert db.one(Shop, "Corner").street == "High!"


def test_subclasses_inherit_properties_and_not_the_name_of_the_class() -> None:
    class Kiosk(Shop):
        pass
    assert Kiosk._stored_name == "Kiosk" and Kiosk._declared()["street"].stored_name == "address line"


class Crossed(motte.Model):
    """Whose names and stored names are crosswise, and those that query text has for other things."""

    id: int = motte.field(primary_key=True)
    one: int = motte.field(stored_name="two", default=0)
    two: int = motte.field(stored_name="one", default=0)
    day: int = motte.field(stored_name="d", default=0)
    count: int = motte.field(stored_name="c", default=0)
    seen: datetime.datetime = datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc)


def test_names_mean_what_they_mean_where_they_stand() -> None:
    with motte.open(in_memory="crossed", schema=[Crossed]) as db:
        with db.write():
            db.add_all([Crossed(id=1, one=1, two=5, day=3, count=7), Crossed(id=2, one=2, two=4, day=4, count=8)])
        rows = db.objects(Crossed)
        assert [row.id for row in rows.where("one == 1")] == [1] == [row.id for row in rows.where(Crossed.one == 1)]
        assert [row.id for row in rows.where("two > $least", least=4)] == [1]
        assert [row.id for row in rows.sorted("two")] == [2, 1] == [row.id for row in rows.sorted(Crossed.two)]
        assert rows.max("one") == 2 and rows.column("two") == [5, 4] and len(rows.distinct("one")) == 2
        assert rows.sectioned("two").keys == [5, 4]
        # A unit, a title, and an alias are no properties.
        groups = rows.query("GROUP(seen BY day AS one) COUNT, SUM(day) AS two, SUM(one) AS count HAVING two > 6")
        assert groups.columns == ("one", "COUNT", "two", "count") and list(groups[0])[1:] == [2, 7, 3]
        assert rows.group_by("day").agg(one=motte.sum("two"))[0].to_dict() == {"day": 3, "one": 5}
        seen: list[list[int]] = []
        token = rows.observe(lambda changes: seen.append(changes.modifications), paths=["one"])
        db.dispatch()
        with db.write():
            rows[0].two = 9
        with db.write():
            rows[1].one = 9
        token.stop()
        assert seen == [[], [1]]


def test_errors_point_into_the_text_as_written(people: motte.Database, shops: motte.Database) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("name == $wanted AND nme == 3", {"wanted": "x"}), ("age > $a + $b AND $a > nme", {"a": 1, "b": 2})]
    for text, named in cases:
        with pytest.raises(errors.Error) as raised:
            people.objects(Person).where(text, **named)
        assert raised.value.query_offset == text.index("nme") and text in str(raised.value)
    text = "street == $s AND nme == 3"
    with pytest.raises(errors.Error) as raised:
        shops.objects(Shop).where(text, s="x")
    assert raised.value.query_offset == text.index("nme") and text in str(raised.value)


def test_names_hold_while_a_file_is_filled_and_migrated(path: Any) -> None:
    def fill(db: motte.Database) -> None:
        db.add(Shop(name="Corner", street="High"))
        assert len(db.objects(Shop).where("street == 'High'")) == 1

    def step(migration: motte.Migration) -> None:
        assert [new.name for _, new in migration.enumerate(Shop)] == ["Corner"]

    motte.open(path, schema=SHOPS, first_open=fill).close()
    with motte.open(path, schema=SHOPS, schema_version=1, migration=step) as db:
        assert len(db.freeze().objects(Shop).where("street == $0", "High")) == 1


class Words(motte.Model):
    limit: int = 0
    sort: str = ""


def test_properties_that_are_words_of_the_language() -> None:
    with motte.open(in_memory="words", schema=[Words]) as db:
        with db.write():
            db.add_all([Words(limit=1, sort="b"), Words(limit=2, sort="a")])
        words = db.objects(Words)
        assert [each.limit for each in words.sorted(Words.sort)] == [2, 1] == [
            each.limit for each in words.sorted(-Words.limit)]
        assert len(words.distinct(Words.limit)) == 2 and words.sum(Words.limit) == 3
        assert words.sectioned(Words.sort).keys == ["b", "a"] and words.where(limit=2)[0].sort == "a"


def test_each_word_of_the_language_is_known() -> None:
    """Words that it reads as its own; a property of that name is written in backticks."""
    source = (pathlib.Path(__file__).parents[3] / "Sources" / "QueryEngine" / "Syntax" / "Token.swift").read_text()
    cases = re.findall(r"^    case (.+)$", source.split("enum Keyword:")[1].split("\n}\n")[0], re.MULTILINE)
    words = {re.sub(r'.*= "(\w+)"', r"\1", each).strip("`") for line in cases for each in line.split(", ")}
    assert len(words) > 25 and words - KEYWORDS == set()
