"""Objects that are in no database, and what all objects share. Stored ones are in test_database.py."""
from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator

import pytest
from conftest import Dog, Person

import motte


def test_the_constructor_takes_properties_by_name() -> None:
    ada = Person(name="Ada", age=36)

    assert (ada.name, ada.age, ada.height, ada.tags, ada.friend) == ("Ada", 36, None, [], None)
    assert list(ada.owned) == []
    assert not ada.is_stored and ada.is_valid and ada.database is None


def test_lists_are_not_shared() -> None:
    Person(name="a").tags.append("x")

    assert Person(name="b").tags == []


def test_missing_and_unknown_properties_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Person\(\) needs a value for 'name'"):
        Person()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean 'name'"):
        Person(nmae="Ada")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="computed"):
        Person(name="Ada", owned=[])  # type: ignore[call-arg]


def test_a_mistyped_assignment_is_refused() -> None:
    ada = Person(name="Ada")

    with pytest.raises(AttributeError, match="did you mean 'age'"):
        ada.agee = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="computed"):
        ada.owned = []  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del ada.name


def test_it_prints() -> None:
    rex = Dog(name="Rex", owner=Person(name="Ada"))

    assert repr(rex) == "Dog(name='Rex', age=0, owner=<Person ...>)"
    assert repr(Person(name="x" * 100)).startswith("Person(name='" + "x" * 50)
    assert len(repr(Person(name="x" * 1000))) < 250


def test_equality_of_unmanaged_objects_is_identity() -> None:
    one, other = Person(name="Ada"), Person(name="Ada")

    assert one == one and one != other and one != "Ada"
    with pytest.raises(TypeError, match="no hash"):
        hash(one)


def test_unmanaged_objects_can_be_pickled_and_copied() -> None:
    ada = Person(name="Ada", tags=["x"])

    assert pickle.loads(pickle.dumps(ada)).tags == ["x"]
    assert copy.deepcopy(ada).to_dict() == ada.to_dict()


def test_what_needs_a_database_says_so() -> None:
    with pytest.raises(motte.errors.InvalidArgumentError, match=r"db.add\(\)"):
        Person(name="Ada").observe(print)
    with pytest.raises(motte.errors.InvalidArgumentError):
        Person(name="Ada").freeze()


class Collecting(weakref.WeakValueDictionary[str, type]):
    """The collector may run at any time, so between a key and its value."""

    def keys(self) -> Iterator[str]:  # type: ignore[override]
        names = list(super().keys())
        gc.collect()
        return iter(names)


def test_classes_may_be_collected_while_others_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Collecting(motte.model._models)
    monkeypatch.setattr(motte.model, "_models", known)
    # A class lies in reference cycles, so that the collector ends it.
    type("Passing", (motte.Model,), {"__annotations__": {"name": str}})
    asked = type("Asked", (motte.Model,), {"__annotations__": {"name": str, "age": int}})
    assert "Passing" in known.data
    assert set(asked._declared()) == {"name", "age"}


def test_circles_of_objects_are_pickled_and_copied() -> None:
    ada, bo = Person(name="Ada"), Person(name="Bo")
    ada.friend, bo.friend = bo, ada
    for copied in (pickle.loads(pickle.dumps(ada)), copy.deepcopy(ada), pickle.loads(pickle.dumps(ada, 0))):
        assert (copied.name, copied.friend.name) == ("Ada", "Bo")
        assert copied.friend.friend is copied and copied is not ada
    ada.friend = ada
    copied = copy.deepcopy(ada)
    assert copied.friend is copied is not ada
    assert copy.copy(bo).friend is ada
    with motte.open(in_memory="circles", schema=[Person, Dog]) as db, db.write():
        assert db.add(copied).friend == copied and db.count(Person) == 1
