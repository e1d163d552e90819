"""Operators to query text: what is sent to the library, without asking it. Running queries is in test_results.py."""
from __future__ import annotations

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
    (Person.age.in_([1, 2, 3]), "age IN {$0, $1, $2}", [1, 2, 3]),
    (Person.age.in_([]), "age IN {}", []),
    (Person.age.between(18, 65), "age BETWEEN {$0, $1}", [18, 65]),
    (Person.height.is_null(), "height == $0", [None]),
    (Person.tags.contains("red"), "ANY tags == $0", ["red"]),
    (Person.scores.any() > 5, "ANY scores > $0", [5]),
    (Person.dogs.any(Dog.age > 3), "ANY dogs.age > $0", [3]),
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
        Person.nmae  # noqa: B018
    with pytest.raises(AttributeError, match="Person has no property 'nmae'; it has name, age"):
        Dog.owner.nmae  # noqa: B018


def test_several_conditions_of_one_element_are_not_supported() -> None:
    with pytest.raises(motte.errors.UnsupportedError, match="SUBQUERY"):
        Person.dogs.any((Dog.age > 3) & (Dog.name == "Rex"))


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
