"""results.update(): what it leaves where it fails half-way, whom it changes, and what it takes with many objects."""
from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

import motte
from conftest import Dog, Person
from motte import errors


def fill(db: motte.Database, count: int = 6) -> None:
    with db.write():
        db.insert_columns(Dog, {"name": [f"dog {number}" for number in range(count)], "age": range(count)})


def fails_at(age: int) -> Any:
    def value(dog: Dog) -> int:
        if dog.age == age:
            raise KeyError(age)
        return 100
    return value


def test_a_failure_half_way_leaves_nothing_of_the_update_and_all_before_it(db: motte.Database) -> None:
    fill(db)
    dogs = db.objects(Dog)
    with db.write():
        dogs[5].age = 50
        db.add(Person(name="before"))
        for values in (dict(age=fails_at(3)), dict(owner=Person(name="new"), age=fails_at(50)),
                       dict(owner=lambda dog: Person(name=dog.name), age=fails_at(3)), dict(owner=5),
                       dict(owner=Person(name="new"), age="x"), dict(age=1, name=fails_at(0))):
            with pytest.raises((KeyError, errors.Error)):
                dogs.update(**values)
            assert dogs.column("age") == [0, 1, 2, 3, 4, 50] and set(dogs.column("owner")) == {None}
            assert db.objects(Person).column("name") == ["before"]
        with pytest.raises(RuntimeError), db.write():
            assert dogs.update(age=7) == 6
            raise RuntimeError
        assert dogs.column("age") == [0, 1, 2, 3, 4, 50]
        with db.write():
            dogs.update(age=8)
    assert dogs.column("age") == [8] * 6
    with pytest.raises(ZeroDivisionError), db.write():
        dogs.update(age=9)
        raise ZeroDivisionError
    assert dogs.column("age") == [8] * 6


def test_those_are_updated_who_are_there_when_it_begins(db: motte.Database) -> None:
    fill(db)
    with db.write():
        # The value makes each leave the results, before the function is asked.
        assert db.objects(Dog).where("age < 3").update(age=10, owner=lambda dog: Person(name=dog.name)) == 3
        assert db.objects(Person).column("name") == ["dog 0", "dog 1", "dog 2"]
        owner = db.objects(Person)[0]
        assert db.objects(Dog).where("owner = NULL").update(owner=owner) == 3
        assert len(owner.owned) == 4 and db.objects(Dog).update(owner=None) == 6 and len(owner.owned) == 0
        new = Person(name="one for all")
        assert db.objects(Dog).update(owner=new) == 6 and new.is_stored and len(new.owned) == 6


def test_a_function_may_delete_whom_it_is_asked_about_which_undoes_all(db: motte.Database) -> None:
    fill(db)

    def deletes(dog: Dog) -> int:
        db.delete(db.objects(Dog).where(age=4))
        return 1
    with db.write():
        with pytest.raises(errors.ObjectDeletedError):
            db.objects(Dog).update(age=deletes)
        assert db.objects(Dog).column("age") == [0, 1, 2, 3, 4, 5]


def test_many_objects_take_the_memory_of_their_keys(db: motte.Database) -> None:
    count = 50_000
    fill(db, count)
    dogs = db.objects(Dog)
    for value in (5, lambda dog: 6):
        with db.write():
            dogs.update(age=4)
            tracemalloc.start()
            try:
                assert dogs.update(age=value) == count
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        # An object for each takes five times that.
        assert peak < 24 * count, f"{peak / count} bytes an object"
        assert dogs.average("age") == (5 if value == 5 else 6)
