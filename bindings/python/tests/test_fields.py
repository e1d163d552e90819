"""What annotations mean, and which are refused. Nothing is opened here."""
from __future__ import annotations

import datetime
import typing
from pathlib import Path
from typing import Any, Optional, Union

import pytest
from conftest import Dog, Everything, Person

import motte
from motte._convert import DATA, BOOL, DECIMAL, DOUBLE, FLOAT, INT, INVERSE, LINK, STRING, TIMESTAMP
from motte.schema import specification


def test_annotations_become_types() -> None:
    declared = Everything._declared()

    types = {name: each.type for name, each in declared.items()}
    assert types["flag"] == BOOL and types["whole"] == INT and types["single"] == FLOAT and types["real"] == DOUBLE
    assert types["text"] == STRING and types["data"] == DATA and types["moment"] == TIMESTAMP
    assert declared["id"].field.primary_key and declared["maybe_whole"].field.indexed
    assert not declared["whole"].nullable and declared["maybe_whole"].nullable
    assert declared["datas"].is_list and declared["datas"].nullable and declared["datas"].type == DATA


def test_links_lists_and_inverses() -> None:
    declared = Person._declared()

    assert (declared["friend"].type, declared["friend"].target) == (LINK, "Person")
    assert (declared["dogs"].type, declared["dogs"].is_list, declared["dogs"].target) == (LINK, True, "Dog")
    assert (declared["owned"].type, declared["owned"].target, declared["owned"].field.origin) == (
        INVERSE, "Dog", "owner")


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
        _private: typing.ClassVar[int] = 4

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


@pytest.mark.parametrize("annotation, message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(annotation: str, message: str) -> None:
    made = type("Refused", (motte.Model,), {"__annotations__": {"x": annotation}, "__module__": __name__})

    with pytest.raises(motte.errors.SchemaInvalidError, match="^Refused.x: ") as caught:
        made._declared()
    assert message in str(caught.value).replace("\\", "")
    assert caught.value.class_name == "Refused" and caught.value.property_name == "x"
    assert isinstance(caught.value, TypeError)


def test_what_an_annotation_calls_can_import() -> None:
    """`Generic` imports while `Backlinks[...]` is evaluated, from Python 3.12 on; this shows it in all of them."""
    annotation = "(lambda: __import__('decimal').Decimal)()"
    made: Any = type("Made", (motte.Model,), {"__annotations__": {"x": annotation}, "__module__": __name__})
    assert made._declared()["x"].type == DECIMAL


def test_a_field_needs_an_annotation() -> None:
    with pytest.raises(motte.errors.SchemaInvalidError, match="has no annotation"):
        type("Forgotten", (motte.Model,), {"x": motte.field(primary_key=True)})


def test_a_schema_is_made_of_model_classes() -> None:
    with pytest.raises(motte.errors.SchemaInvalidError, match="subclasses of motte.Model"):
        specification([int])  # type: ignore[list-item]
    spec = specification([Dog])[0]
    assert [(each.name, each.flags) for each in spec.properties] == [("name", 2), ("age", 4), ("owner", 1)]


# ------------------------------------------------------------------------------------------------ names


class Tagged(motte.Model):
    _id: motte.ObjectId = motte.field(primary_key=True)
    _n: int = 0
    _: str = ""
    _tags: list[str] = motte.field(default_factory=list)
    _next: Optional["Tagged"] = None
    _seen = 0


def test_names_may_begin_with_an_underscore(path: Path) -> None:
    key = motte.ObjectId()
    assert list(Tagged._declared()) == ["_id", "_n", "_", "_tags", "_next"]
    with motte.open(path, schema=[Tagged]) as db, db.write():
        one = db.add(Tagged(_id=key, _n=1, _="x", _tags=["a"]))
        one._next = one
        one._n += 1
        one._seen = 7  # without an annotation it is an attribute as any other, and not stored
        assert db.create_or_update(Tagged, _id=key, _="y") == one
    # From what is stored, and as text.
    source = "Tagged {\n_id: objectId key\n_n: int\n_: string\n_tags: list<string>\n_next: link<Tagged>\n}"
    for schema in (None, source):
        with motte.open(path, schema=schema) as db:
            made = db.model("Tagged")
            again: Any = db.one(made, key)
            assert again.to_dict() == {"_id": key, "_n": 2, "_": "y", "_tags": ["a"], "_next": again}
            assert made is not Tagged and repr(again).startswith(f"Tagged(_id={key!r}, _n=2, _='y'")
            assert db.objects(made).where((made._id == key) & (made._next._n == 2)).first() == again
            assert db.objects(made).sorted("-_n").column("_n") == [2]


def test_a_key_may_be_called_as_others_call_it(path: Path) -> None:
    with motte.open(path, schema="Dog { _id: objectId key }") as db, db.write():
        db.add(db.model("Dog")(_id=motte.ObjectId(bytes(12))))
        assert db.get(db.model("Dog"), motte.ObjectId(bytes(12))) is not None


@pytest.mark.parametrize("name", ["_row", "_key", "_values", "_live_key", "__init__", "__dict__", "__class__"])
def test_names_that_models_use_are_refused(name: str, path: Path) -> None:
    wanted = f"^Dog.{name}: Python's model classes use that name themselves; give the property another one"
    with pytest.raises(motte.errors.SchemaInvalidError, match=wanted) as caught:
        type("Dog", (motte.Model,), {"__annotations__": {name: int}, name: motte.field(default=0)})
    assert (caught.value.class_name, caught.value.property_name) == ("Dog", name)
    # A file that has one says the same, and what it says can be done.
    with pytest.raises(motte.errors.SchemaInvalidError, match=wanted):
        motte.open(path, schema=f"Dog {{ {name}: int }}").close()
    with motte.open(path, schema="Dog { age: int }", schema_version=1, renames={f"Dog.{name}": "age"}) as db:
        assert list(db.model("Dog")._declared()) == ["age"]


@pytest.mark.parametrize("name, base", [
    ("to_dict", motte.Model), ("database", motte.Model), ("freeze", motte.Model), ("changes", motte.Model),
    ("parent", motte.EmbeddedModel), ("observe", motte.EmbeddedModel)])
def test_names_of_methods_are_refused_with_a_way_out(name: str, base: type[motte.Model]) -> None:
    wanted = rf"^Dog.{name}: every object has {name} already.* call it {name}_ .*motte.field\(stored_name='{name}'\)"
    with pytest.raises(motte.errors.SchemaInvalidError, match=wanted) as caught:
        type("Dog", (base,), {"__annotations__": {name: str}, name: ""})
    assert (caught.value.class_name, caught.value.property_name) == ("Dog", name)
    made = type("Dog", (motte.Model,), {"__annotations__": {name + "_": str}, name + "_": motte.field(
        default="x", stored_name=name)})
    with motte.open(in_memory="reserved", schema=[made]) as db:
        assert f"{name}: string" in db.schema
    # Another class may have what belongs to embedded objects only.
    cat: Any = type("Cat", (motte.Model,), {"__annotations__": {"parent": str}})
    assert "parent" in cat._declared()


def test_what_python_calls_otherwise_is_refused(path: Path) -> None:
    with pytest.raises(motte.errors.SchemaInvalidError, match="^_Dog._Dog__v: Python gives __v in a class another"):
        class _Dog(motte.Model):
            __v: int = 0
    with motte.open(path, schema="Dog { __v: int }") as db, db.write():
        assert getattr(db.add(db.model("Dog")(__v=3)), "__v") == 3


def test_special_names_are_pythons(path: Path) -> None:
    class Slim(motte.Model):
        __slots__: tuple[str, ...] = ()
        __match_args__: Any = ("age",)
        age: int = 0

    assert list(Slim._declared()) == ["age"]


def test_properties_may_be_called_like_methods(path: Path) -> None:
    source = "Dog {\nis_valid: bool\nis_stored: int\ndatabase: string\nto_dict: int\nage: int }"
    with motte.open(path, schema=source) as db, db.write():
        dog = db.add(db.model("Dog")(age=3))
        assert repr(dog) == "Dog(is_valid=False, is_stored=0, database='', to_dict=0, age=3)"
        assert motte.Model.is_valid.__get__(dog) is True  # type: ignore[attr-defined]
        db.delete(dog)
        assert repr(dog) == "<Dog that is gone>"


class Owner(motte.Model):
    name: str = ""


class Pet(motte.Model):
    owner: Optional[Owner] = None


def test_classes_of_one_name_in_several_places() -> None:
    mine = Owner

    def elsewhere() -> tuple[type[motte.Model], type[motte.Model]]:
        class Owner(motte.Model):
            age: int = 0

        class Holder(motte.Model):
            owner: Optional[Owner] = None
        return Owner, Holder
    other, holder = elsewhere()
    # Annotations are looked at now, when another class of that name is the newest.
    assert Pet._declared()["owner"].target_class is mine
    assert holder._declared()["owner"].target_class is other
    Pet(owner=mine())
    with pytest.raises(motte.errors.WrongTypeError, match="Owner is wanted"):
        Pet(owner=other())  # type: ignore[arg-type]
