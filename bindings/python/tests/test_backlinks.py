"""Who links here: computed, live, never assigned."""
from __future__ import annotations

import pytest
from conftest import Dog, Person

import motte


def test_backlinks_follow_the_links(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada"))
        rex, fido = db.add_all([Dog(name="Rex", age=3, owner=ada), Dog(name="Fido", age=12)])
        owned = ada.owned
        assert list(owned) == [rex] and rex in owned and fido not in owned
        fido.owner = ada
        assert sorted(dog.name for dog in owned) == ["Fido", "Rex"]
        db.delete(rex)
        assert list(owned) == [fido]
        fido.owner = None
        assert len(owned) == 0 and repr(owned) == "<Backlinks: 0 Dog>"


def test_backlinks_that_are_not_declared(db: motte.Database) -> None:
    with db.write():
        rex = db.add(Dog(name="Rex"))
        ada, bob = db.add_all([Person(name="Ada", dogs=[rex]), Person(name="Bob", dogs=[rex, rex])])
    listed = db.backlinks(rex, Person.dogs)

    assert [person.name for person in listed] == ["Ada", "Bob", "Bob"]
    assert list(db.backlinks(ada, Dog.owner)) == []
    with pytest.raises(TypeError, match="linking property"):
        db.backlinks(rex, "dogs")
    with pytest.raises(motte.Error):
        db.backlinks(rex, Dog.owner)


def test_backlinks_are_collections(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada"))
        db.add_all([Dog(name=f"dog {number}", age=number, owner=ada) for number in range(10)])

    assert ada.owned.sum("age") == 45 and [dog.age for dog in ada.owned.where(Dog.age > 6).sorted("-age")] == [9, 8, 7]
    assert sorted(ada.owned.column("age")) == list(range(10))
    with pytest.raises(AttributeError, match="computed"), db.write():
        ada.owned = []  # type: ignore[assignment]
