"""Operators to query text: what is sent to the library, without asking it. Running queries is in test_results.py."""
from __future__ import annotations

from datetime import timedelta
from typing import Any, Optional

import pytest
from conftest import Dog, Person

import motte

TEXTS: list[tuple[Any, str, list[Any]]] = [
    (Person.age >= 18, "age >= $0", [18]),
    (18 <= Person.age, "age >= $0", [18]),
    (Person.age == Person.height, "age == height", []),
    (Person.friend == None, "friend == $0", [None]),  # noqa: E711
    (Dog.owner.name != "Ada", "owner.name != $0", ["Ada"]),
    (Dog.owner.friend.name.contains("x", ignore_case=True), "owner.friend.name CONTAINS[c] $0", ["x"]),
    (Person.name.startswith("A"), "name BEGINSWITH $0", ["A"]),
    (Person.name.endswith("a", ignore_case=True), "name ENDSWITH[c] $0", ["a"]),
    (Person.name.equals("ada", ignore_case=True), "name ==[c] $0", ["ada"]),
    (Person.name.strip().lower() == "ada", "lower(trim(name)) == $0", ["ada"]),
    (Person.tags.any().upper().startswith("A"), "ANY upper(tags) BEGINSWITH $0", ["A"]),
    (Person.name.substr(-2).rstrip() != Dog.owner.name.substr(1, 3).lstrip(),
     "rtrim(substr(name, -2)) != ltrim(substr(owner.name, 1, 3))", []),
    (Person.name.length() * 2 > Person.age, "length(name) * $0 > age", [2]),
    (Person.dogs.any((Dog.name.lower() == "rex") & (Dog.age > 3)),
     "SUBQUERY(dogs, $x, lower($x.name) == $0 AND $x.age > $1).@count > 0", ["rex", 3]),
    (Person.age.in_([1, 2, 3]), "age IN {$0, $1, $2}", [1, 2, 3]),
    (Person.age.in_([]), "age IN {}", []),
    (Person.age.between(18, 65), "age BETWEEN {$0, $1}", [18, 65]),
    (Person.height.is_null(), "height == $0", [None]),
    (Person.tags.contains("red"), "ANY tags == $0", ["red"]),
    (Person.scores.any() > 5, "ANY scores > $0", [5]),
    (Person.dogs.any(Dog.age > 3), "ANY dogs.age > $0", [3]),
    (Person.dogs.any(Dog.name.lower() == "rex"), "SUBQUERY(dogs, $x, lower($x.name) == $0).@count > 0", ["rex"]),
    (Person.dogs.none(Dog.name.length() == 3), "SUBQUERY(dogs, $x, length($x.name) == $0).@count == 0", [3]),
    (Person.dogs.all(Dog.name.lower() == "rex"), "SUBQUERY(dogs, $x, NOT (lower($x.name) == $0)).@count == 0", ["rex"]),
    (Person.owned.any(Dog.owner.dogs.count() > 2), "SUBQUERY(owned, $x, $x.owner.dogs.@count > $0).@count > 0", [2]),
    (Person.dogs.all().age > 3, "ALL dogs.age > $0", [3]),
    (Person.dogs.none(Dog.owner.name == "Ada"), "NONE dogs.owner.name == $0", ["Ada"]),
    (Person.dogs.count() > 2, "dogs.@count > $0", [2]),
    (Person.owned.count() > 2, "owned.@count > $0", [2]),
    (Person.dogs.sum("age") > 10, "dogs.@sum.age > $0", [10]),
    (Person.scores.average() > 1.5, "scores.@avg > $0", [1.5]),
    ((Person.age > 1) & (Person.age < 3), "age > $0 AND age < $1", [1, 3]),
    ((Person.age > 1) & (Person.age < 3) & (Person.name == "x"), "age > $0 AND age < $1 AND name == $2", [1, 3, "x"]),
    ((Person.age > 1) & ((Person.age < 3) | (Person.name == "x")), "age > $0 AND (age < $1 OR name == $2)",
     [1, 3, "x"]),
    (Person.age * 2 + 1 > 7, "(age * $0) + $1 > $2", [2, 1, 7]),
    (2 * Person.age <= Person.height - 1, "$0 * age <= height - $1", [2, 1]),
    (1 - Person.age / 2.5 == 0, "$0 - (age / $1) == $2", [1, 2.5, 0]),
    ((Person.age - timedelta(minutes=1)).between(1, timedelta(2)), "age - $0 BETWEEN {$1, $2}", [60.0, 1, 172800.0]),
    ((Person.age + Dog.age).in_([3]), "age + age IN {$0}", [3]),
    ((1 / Person.age).is_null(), "$0 / age == $1", [1, None]),
    (Person.dogs.any(Dog.age * 2 > 3), "SUBQUERY(dogs, $x, $x.age * $0 > $1).@count > 0", [2, 3]),
    (~((Person.age > 1) | (Person.age < 0)), "NOT (age > $0 OR age < $1)", [1, 0]),
]


@pytest.mark.parametrize("predicate, text, arguments", TEXTS, ids=[row[1] for row in TEXTS])
def test_operators_become_text(predicate: Any, text: str, arguments: list[Any]) -> None:
    assert predicate.text == text
    assert predicate.arguments == arguments


def test_a_keyword_as_property_is_quoted() -> None:
    class Sorted(motte.Model):
        limit: int
        ünï: int

    assert (Sorted.limit > 1).text == "`limit` > $0"
    assert (Sorted.ünï > 1).text == "ünï > $0"


def test_python_words_are_refused() -> None:
    with pytest.raises(TypeError, match="combine with & | ~"):
        (Person.age > 1) and (Person.age < 3)
    with pytest.raises(TypeError, match="between"):
        1 < Person.age < 3  # noqa: B015
    with pytest.raises(TypeError, match="combine with"):
        not Person.age


def test_a_mistyped_property_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nmae"):
        Person.nmae
    with pytest.raises(AttributeError, match="Person has no property 'nmae'; it has name, age"):
        Dog.owner.nmae


def test_several_conditions_of_one_element_are_a_subquery() -> None:
    both = (Dog.age > 3) & (Dog.name == "Rex")
    assert Person.dogs.any(both).text == "SUBQUERY(dogs, $x, $x.age > $0 AND $x.name == $1).@count > 0"
    assert Person.dogs.none(both).text == "SUBQUERY(dogs, $x, $x.age > $0 AND $x.name == $1).@count == 0"
    assert Person.dogs.all(~both).text == "SUBQUERY(dogs, $x, NOT (NOT ($x.age > $0 AND $x.name == $1))).@count == 0"
    nested = Person.dogs.any((Dog.age > 3) & Dog.owner.dogs.any((Dog.age > 1) & (Dog.age < 9)))
    assert nested.text == ("SUBQUERY(dogs, $x, $x.age > $0 AND SUBQUERY($x.owner.dogs, $xx, "
                           "$xx.age > $1 AND $xx.age < $2).@count > 0).@count > 0")
    assert Person.dogs.any(Dog.age > Dog.owner.age).text == "SUBQUERY(dogs, $x, $x.age > $x.owner.age).@count > 0"


def test_functions_are_about_texts_alone() -> None:
    lowered = Person.name.lower()
    with pytest.raises(AttributeError, match="no property"):
        lowered.owner
    for wrong in (lambda: lowered.any(), lambda: lowered.sum("age"), lambda: -lowered,
                  lambda: Person.name.substr("a")):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            wrong()


def test_text_may_ignore_case_and_accents() -> None:
    assert Person.name.contains("é", ignore_accents=True).text == "name CONTAINS[d] $0"
    assert Person.name.startswith("é", ignore_case=True, ignore_accents=True).text == "name BEGINSWITH[cd] $0"
    assert Person.name.like("*é?", ignore_accents=True).text == "name LIKE[d] $0"
    assert Person.name.equals("é", ignore_case=True).text == "name ==[c] $0"
    assert Dog.name.contains(Dog.owner.name, ignore_case=True).text == "name CONTAINS[c] owner.name"


def test_shapes_become_text() -> None:
    box = motte.GeoBox((-74.1, 40.6), (-73.7, 41))
    assert str(box) == "geoBox([-74.1, 40.6], [-73.7, 41.0])"
    assert str(motte.GeoCircle((2, 48.5), radians=0.01)) == "geoCircle([2.0, 48.5], 0.01)"
    assert str(motte.GeoCircle((2, 48.5), km=63.781)) == str(motte.GeoCircle((2, 48.5), radians=63.781 / 6378.1))
    assert motte.GeoCircle((2, 48.5), miles=1) == motte.GeoCircle((2, 48.5), km=1.609344)
    ring = [(0, 0), (9, 0), (0, 9), (0, 0)]
    assert str(motte.GeoPolygon(ring, [(1, 1), (2, 1), (1, 2), (1, 1)])) == (
        "geoPolygon({[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.0, 0.0]}, "
        "{[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [1.0, 1.0]})")
    with pytest.raises(TypeError, match="one of km, miles and radians"):
        motte.GeoCircle((0, 0))
    assert Person.friend.geo_within(box).text == "friend GEOWITHIN $0"
    assert Person.friend.geo_within(box).arguments == [str(box)]


def test_a_property_called_like_a_method_is_reached_by_index() -> None:
    class Tally(motte.Model):
        count: int

    class Sheet(motte.Model):
        tally: Optional[Tally] = None

    assert (Sheet.tally["count"] > 1).text == "tally.count > $0"


def test_predicates_print() -> None:
    assert repr((Person.age > 1) & (Person.name == "x")) == "<Predicate age > $0 AND name == $1, 1, 'x'>"
    assert repr(Dog.owner.name) == "<Path Dog: owner.name>"
    assert str(Dog.owner.name) == "owner.name"


def test_what_is_no_property_stands_in_conditions_only() -> None:
    """Where a key is wanted, a function would be passed over."""
    for key in (Person.name.lower(), Person.tags.any().length(), Person.friend.any().name):  # type: ignore[union-attr]
        for take in (lambda db: db.objects(Person).sorted(key), lambda db: db.objects(Person).sorted(-key),
                     lambda db: db.objects(Person).group_by(key), lambda db: db.objects(Person).distinct(key),
                     lambda db: db.objects(Person).column(key), lambda db: db.objects(Person).max(key),
                     lambda db: db.objects(Person).sectioned(key), lambda db: db.objects(Person).to_numpy(key),
                     lambda db: db.objects(Person).group_by("age").agg(most=motte.max(key)),
                     lambda db: db.objects(Person).observe(print, paths=[key])):
            with motte.open(in_memory="keys", schema=[Person, Dog]) as db, pytest.raises(TypeError, match="conditions"):
                take(db)


class Spot(motte.EmbeddedModel):
    type: str = "Point"
    coordinates: list[float] = motte.field(default_factory=list)


class Place(motte.Model):
    name: str
    spot: Optional[Spot]


@pytest.mark.parametrize("text", ["spot GEOWITHIN $0", "spot IN $0"])
def test_conditions_on_shapes_are_refined(text: str) -> None:
    box = motte.GeoBox((-1, -1), (2.5, 1))
    with motte.open(in_memory="places", schema=[Spot, Place]) as db:
        with db.write():
            for number in range(5):
                db.add(Place(name=str(number), spot=Spot(coordinates=[float(number), 0.0])))
        found = db.objects(Place).where(text, box)
        assert [place.name for place in found.sorted("-name")] == ["2", "1", "0"]
        assert [place.name for place in found.where("name != '0'")] == ["1", "2"]
        assert [place.name for place in found.sorted("name")[:2]] == ["0", "1"]
        told: list[motte.Changes] = []
        token = found.sorted("name").observe(told.append)
        db.dispatch()
        with db.write():
            db.add(Place(name="1b", spot=Spot(coordinates=[1.0, 0.5])))
        db.dispatch()
        assert [change.insertions for change in told[1:]] == [[2]]
        token.stop()
