"""What annotations mean, and which are refused. Nothing is opened here."""
from __future__ import annotations

import datetime
import sys
import typing
from typing import Optional, Union

import pytest
from conftest import Dog, Everything, Person

import motte
from motte._convert import BINARY, BOOL, DOUBLE, FLOAT, INT, INVERSE, LINK, STRING, TIMESTAMP
from motte.schema import specification


needs_bars = pytest.mark.skipif(sys.version_info < (3, 10), reason="X | None is evaluated from Python 3.10 on")


def test_annotations_become_types() -> None:
    declared = Everything._declared()

    types = {name: each.type for name, each in declared.items()}
    assert types["flag"] == BOOL and types["whole"] == INT and types["single"] == FLOAT and types["real"] == DOUBLE
    assert types["text"] == STRING and types["data"] == BINARY and types["moment"] == TIMESTAMP
    assert declared["id"].field.primary_key and declared["maybe_whole"].field.indexed
    assert not declared["whole"].nullable and declared["maybe_whole"].nullable
    assert declared["datas"].is_list and declared["datas"].nullable and declared["datas"].type == BINARY


def test_links_lists_and_inverses() -> None:
    declared = Person._declared()

    assert (declared["friend"].type, declared["friend"].target) == (LINK, "Person")
    assert (declared["dogs"].type, declared["dogs"].is_list, declared["dogs"].target) == (LINK, True, "Dog")
    assert (declared["owned"].type, declared["owned"].target, declared["owned"].field.origin) == (
        INVERSE, "Dog", "owner")


@needs_bars
def test_all_ways_to_write_a_type() -> None:
    class Written(motte.Model):
        a: "int | None"
        b: Optional["Written"]
        c: Union[None, str]
        d: typing.List[int]  # noqa: UP006  one way of several
        e: list["Written"]
        f: datetime.datetime
        g: "list[Later]"  # noqa: F821  a class that comes later
        h: typing.Annotated[int, "a note"]
        seen: typing.ClassVar[int] = 3
        _private: int = 4

    declared = Written._declared()
    assert list(declared) == list("abcdefgh")
    assert declared["g"].target == "Later" and declared["e"].target == "Written" and declared["b"].nullable
    assert Written.seen == 3 and Written._private == 4


def test_properties_are_inherited() -> None:
    class Animal(motte.Model):
        name: str

    class Cat(Animal):
        lives: int = 9

    assert list(Cat._declared()) == ["name", "lives"]
    assert (Cat.name == "Tom").text == "name == $0"
    assert Cat(name="Tom").lives == 9


REFUSED = [
    ("dict[int, int]", "the keys of a dict are texts"),
    ("complex", "means nothing here"),
    ("int | str", "one type"),
    ("list[int] | None", "never None"),
    ("list[list[int]]", "cannot hold collections"),
    ("list[Dog | None]", "holds no None"),
    ("Dog", "Dog | None"),
    ("nonsense(", "cannot be evaluated from its module"),
    ("motte.Backlinks[int]", "Backlinks are of a model class"),
    ("motte.Backlinks[Dog]", "an inverse is written"),
]


@needs_bars
@pytest.mark.parametrize("annotation, message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(annotation: str, message: str) -> None:
    made = type("Refused", (motte.Model,), {"__annotations__": {"x": annotation}, "__module__": __name__})

    with pytest.raises(motte.errors.SchemaInvalidError, match="^Refused.x: ") as caught:
        made._declared()
    assert message in str(caught.value).replace("\\", "")
    assert caught.value.class_name == "Refused" and caught.value.property_name == "x"
    assert isinstance(caught.value, TypeError)


def test_a_field_needs_an_annotation() -> None:
    with pytest.raises(motte.errors.SchemaInvalidError, match="has no annotation"):
        type("Forgotten", (motte.Model,), {"x": motte.field(primary_key=True)})


def test_a_schema_is_made_of_model_classes() -> None:
    with pytest.raises(motte.errors.SchemaInvalidError, match="subclasses of motte.Model"):
        specification([int])  # type: ignore[list-item]
    spec = specification([Dog])[0]
    assert [(each.name, each.flags) for each in spec.properties] == [("name", 2), ("age", 4), ("owner", 1)]
