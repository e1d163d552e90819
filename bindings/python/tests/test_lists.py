"""A list property does what a Python list does: random operations on both, and what is particular."""
from __future__ import annotations

import os
import random
from typing import Any

import pytest
from conftest import Dog, Person

import motte
from motte import errors


def test_it_does_what_a_list_does(db: motte.Database) -> None:
    seed = int(os.environ.get("MOTTE_TEST_SEED") or random.randrange(2**32))
    print("MOTTE_TEST_SEED =", seed)
    rng = random.Random(seed)
    with db.write():
        owner = db.add(Person(name="Ada"))
    model: list[Any] = []

    def some() -> list[Any]:
        return [rng.choice([None, rng.randrange(1000), -1]) for _ in range(rng.randrange(6))]

    def slice_() -> slice:
        def bound() -> Any:
            return rng.choice([None, rng.randrange(-12, 12)])
        return slice(bound(), bound(), rng.choice([None, 1, 2, -1, 3]))

    def both(operation: Any) -> None:
        """The same on both; errors are the same too."""
        outcomes = []
        for target in (owner.scores, model):
            try:
                result = operation(target)
                outcomes.append(("gave", list(result) if isinstance(result, (list, motte.List)) else result))
            except (IndexError, ValueError) as error:
                outcomes.append(("raised", IndexError if isinstance(error, IndexError) else ValueError))
        assert outcomes[0] == outcomes[1]
        assert list(owner.scores) == model

    for _ in range(int(300 * float(os.environ.get("MOTTE_TEST_SCALE", "1")))):
        with db.write():
            values, index, value, where = some(), rng.randrange(-12, 12), rng.randrange(1000), slice_()

            def assign(target: Any) -> None:
                target[index] = value

            def assign_slice(target: Any) -> None:
                target[where] = values

            def delete(target: Any) -> None:
                del target[index]

            def delete_slice(target: Any) -> None:
                del target[where]

            both(rng.choice([
                lambda target: target.append(value), lambda target: target.extend(values),
                lambda target: target.insert(index, value), lambda target: target.pop(index) if target else None,
                lambda target: target.remove(value), assign, assign_slice, delete, delete_slice,
                lambda target: target.reverse(), lambda target: target[where], lambda target: target[index],
                lambda target: target.index(value), lambda target: target.count(value),
                lambda target: value in target, lambda target: len(target)]))
            if len(model) > 40:
                both(lambda target: target.clear())
    assert list(owner.scores) == model


def test_moving_and_swapping(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=list("abcde")))
        ada.tags.move(0, 3)
        assert ada.tags == list("bcdae")
        ada.tags.move(-1, 0)
        assert ada.tags == list("ebcda")
        ada.tags.swap(0, -1)
        assert ada.tags == list("abcde"[:1] + "bcd" + "e")
        with pytest.raises(IndexError):
            ada.tags.swap(0, 5)
        ada.tags += ["f"]
        assert ada.tags[-1] == "f"


def test_objects_in_lists(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada"))
        rex, fido = Dog(name="Rex"), Dog(name="Fido")
        ada.dogs.append(rex)
        ada.dogs.insert(0, fido)
        ada.dogs.append(rex)
        assert rex.is_stored and ada.dogs == [fido, rex, rex] and rex in ada.dogs and ada.dogs.index(rex) == 1
        ada.dogs = [rex]
        assert ada.dogs == [rex]
        ada.dogs.extend_keys([fido.object_key, rex.object_key])
        assert ada.dogs == [rex, fido, rex]
        assert [dog.name for dog in ada.dogs.where("name BEGINSWITH 'F'")] == ["Fido"]
        assert [dog.name for dog in ada.dogs.sorted("name")] == ["Fido", "Rex", "Rex"]
        assert repr(ada.dogs) == "<List: 3 Dog>" and repr(ada.tags) == "<List: 0 string>"


def test_lists_of_values_can_be_sorted(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", scores=[3, None, 1, 2]))

    assert list(ada.scores.sorted()) == [None, 1, 2, 3]


def test_wrong_elements(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["x"], scores=[1]))
        for use, kind in (
                (lambda: ada.tags.append(5), errors.WrongTypeError),
                (lambda: ada.tags.append(None), errors.NullNotAllowedError),
                (lambda: ada.tags.extend(["y", 5]), errors.WrongTypeError),
                (lambda: setattr(ada, "tags", "text"), errors.WrongTypeError),
                (lambda: setattr(ada, "tags", None), errors.WrongTypeError),
                (lambda: ada.dogs.append(Person(name="no dog")), errors.Error),
                (lambda: ada.dogs.append(None), errors.Error),
                (lambda: ada.scores.__setitem__(5, 1), IndexError)):
            with pytest.raises(kind):
                use()
        assert ada.tags == ["x"] and ada.scores == [1] and len(ada.dogs) == 0


def test_the_list_of_a_deleted_object(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", tags=["x"]))
        tags = ada.tags
        db.delete(ada)
        assert not tags.is_valid
        for use in (lambda: len(tags), lambda: tags.append("y"), lambda: list(tags)):
            with pytest.raises(errors.ObjectDeletedError):
                use()
