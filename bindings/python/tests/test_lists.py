"""A list property does what a Python list does: random operations on both, and what is particular."""
from __future__ import annotations

import math
import os
import pathlib
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from conftest import Dog, Everything, Person

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

            def times(target: Any) -> None:
                target *= index % 4

            def plus(target: Any) -> None:
                target += tuple(values)

            both(rng.choice([
                times, plus, lambda target: target.sort(key=lambda each: each or 0, reverse=index > 0),
                lambda target: target.reverse(), lambda target: target.copy(), lambda target: target.count(value),
                lambda target: target.index(value, index), lambda target: target.index(-1, index, index + 5),
                lambda target: target + values, lambda target: values + target, lambda target: target * (index % 3),
                lambda target: 2 * target, lambda target: target[-1:] < values[-1:] if None not in (
                    *target[-1:], *values[-1:]) else None,
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
        assert repr(ada.dogs).startswith("<List: 3 Dog [Dog(name=") and repr(ada.tags) == "<List: 0 str>"


def test_lists_of_values_can_be_sorted(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", scores=[3, None, 1, 2]))

    assert list(ada.scores.sorted()) == [None, 1, 2, 3]


def test_a_list_that_is_changed_while_it_is_sorted_loses_nothing(db: motte.Database) -> None:
    def changing(change: Callable[[], Any]) -> Callable[[Any], Any]:
        def key(value: Any) -> Any:
            if len(ada.scores) < 5:
                change()
            return -1 if value is None else value
        return key

    with db.write():
        ada = db.add(Person(name="Ada", scores=[3, None, 1, 2]))
        for change in (lambda: ada.scores.append(9), lambda: ada.scores.pop(), lambda: ada.scores.__setitem__(0, 7)):
            ada.scores = [3, None, 1, 2]
            with pytest.raises(ValueError, match="modified during sort"):
                ada.scores.sort(key=changing(change))
            assert set(ada.scores) <= {3, None, 1, 2, 9, 7}
        ada.scores = [3, None, 1, 2, 9]
        ada.scores.sort(key=changing(ada.scores.clear))
        assert ada.scores == [None, 1, 2, 3, 9]
        reals = db.add(Everything(id=1, reals=[2.0, float("nan"), 1.0])).reals
        reals.sort(key=lambda value: (value != value, value))
        assert reals[:2] == [1.0, 2.0] and reals[2] != reals[2]


class Shade:
    """Two of the same name are not equal."""

    def __init__(self, name: str) -> None:
        self.name = name


motte.converter(Shade, str, store=lambda shade: shade.name, load=Shade)


class Palette(motte.Model):
    id: int = motte.field(primary_key=True)
    shades: list[Shade]
    things: list[Any]


@pytest.fixture
def palette(tmp_path: pathlib.Path) -> Iterator[Palette]:
    with motte.open(tmp_path / "palette.motte", schema=[Palette]) as db, db.write():
        yield db.add(Palette(id=1, shades=[Shade("red"), Shade("blue"), Shade("red")],
                             things=[True, 1, 1.0, math.nan, [1], [True], {"a": 1}, {"a": True}, None, Decimal(1)]))


def test_elements_that_are_equal_only_as_they_are_stored(palette: Palette) -> None:
    assert palette.shades.index(Shade("red"), 1) == 2 and palette.shades.count(Shade("red")) == 2
    palette.shades.sort(key=lambda shade: shade.name)
    assert [shade.name for shade in palette.shades] == ["blue", "red", "red"]


@pytest.mark.parametrize(("value", "places"), [
    (1, [1, 2, 9]), (True, [0]), (Decimal(1), [1, 2, 9]), (math.nan, [3]), ([1], [4]), ([True], [5]), ({"a": 1.0}, [6]),
    ({"a": True}, [7]), (None, [8]), ("1", []), (2, [])])
def test_elements_are_found_alike_from_each_place_on(palette: Palette, value: Any, places: list[int]) -> None:
    things = palette.things
    assert things.count(value) == len(places) and (value in things) == bool(places)
    for start in range(-len(things), len(things) + 2):
        for stop in (None, 5, len(things), 99, -1):
            within = [place for place in places if place in range(len(things))[start:stop]]
            if within:
                assert (things.index(value, start) if stop is None else things.index(value, start, stop)) == within[0]
            else:
                with pytest.raises(ValueError, match="is not in it"):
                    things.index(value, start, stop)


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


class Place(motte.EmbeddedModel):
    name: str = ""


class Tour(motte.Model):
    places: list[Place] = motte.field(default_factory=list)
    anything: list[motte.Mixed] = motte.field(default_factory=list)
    prices: dict[str, float] = motte.field(default_factory=dict)
    notes: dict[str, motte.Mixed] = motte.field(default_factory=dict)
    marks: set[int] = motte.field(default_factory=set)


@pytest.fixture
def tour() -> Any:
    with motte.open(in_memory="tours", schema=[Tour, Place]) as db:
        with db.write():
            tour = db.add(Tour(places=[Place(name=name) for name in "dacb"], anything=[3, [1, 2], {"a": 1}],
                               prices={"b": 2.0, "a": 1.0}, notes={"list": [1]}, marks={1, 2, 3}))
        yield tour


def test_embedded_objects_are_put_in_order_in_their_places(tour: Tour) -> None:
    db = tour.database
    first = tour.places[0]
    with db.write():
        tour.places.sort(key=lambda place: place.name)  # type: ignore[attr-defined]
        assert [place.name for place in tour.places] == ["a", "b", "c", "d"] and tour.places[3] == first
        tour.places.sort(key=lambda place: place.name, reverse=True)  # type: ignore[attr-defined]
        assert [place.name for place in tour.places] == ["d", "c", "b", "a"]
        tour.places.reverse()
        assert [place.name for place in tour.places] == ["a", "b", "c", "d"] and first.is_valid
        for names in (["c", "a", "d", "b"], ["b", "d", "a", "c"], ["a", "b", "c", "d"]):
            tour.places.sort(key=lambda place: names.index(place.name))  # type: ignore[attr-defined]
            assert [place.name for place in tour.places] == names
        tour.anything.reverse()
        assert tour.anything.to_plain() == [{"a": 1}, [1, 2], 3]  # type: ignore[attr-defined]
        with pytest.raises(TypeError):
            tour.anything.sort()  # type: ignore[attr-defined]
    for change in (tour.places.reverse, tour.places.sort, lambda: tour.places.__imul__(2)):
        with pytest.raises((errors.NotInWriteError, TypeError)):
            change()


def test_a_map_does_what_a_dict_does(tour: Tour) -> None:
    prices: Any = tour.prices
    assert prices | {"c": 3.0} == {"a": 1.0, "b": 2.0, "c": 3.0} and {"a": 0.0} | prices == {"a": 1.0, "b": 2.0}
    assert type(prices | {}) is dict and prices.copy() == {"a": 1.0, "b": 2.0} and list(reversed(prices)) == ["b", "a"]
    with pytest.raises(TypeError):
        prices | [("c", 3.0)]
    with tour.database.write():
        prices |= {"c": 3.0}
        prices |= [("d", 4.0)]
        assert prices.popitem() == ("d", 4.0) and prices.pop("c") == 3.0 and prices.pop("c", None) is None
        assert prices.setdefault("a", 9.0) == 1.0 and prices.setdefault("z", 9.0) == 9.0
        tour.notes.setdefault("list", []).append(2)
        tour.notes.setdefault("new", []).append(3)
        assert tour.notes == {"list": [1, 2], "new": [3]}
        del prices["z"]
        prices.update(a=0.5)
        prices.clear()
        with pytest.raises(KeyError):
            prices.popitem()
    with pytest.raises(errors.NotInWriteError):
        prices |= {"c": 3.0}


def test_a_set_does_what_a_set_does(tour: Tour) -> None:
    marks: Any = tour.marks
    assert marks | {9} == {1, 2, 3, 9} and {9} | marks == {1, 2, 3, 9} and marks & {1} == {1} and marks - {1} == {2, 3}
    assert {1, 9} - marks == {9} and marks ^ {3, 4} == {1, 2, 4} and type(marks.copy()) is set and marks.copy() == marks
    with tour.database.write():
        marks.intersection_update({1, 2, 7}, [2, 1, 8])
        assert marks == {1, 2}
        marks.difference_update([1], [5])
        marks.symmetric_difference_update({2, 6, 7})
        assert marks == {6, 7} and marks.pop() == 6
        with pytest.raises(TypeError):
            marks.difference_update([7], ["x", 7.5], 3)
    assert marks == {7}


def test_a_generator_that_was_refused_is_there_for_another_try(db: motte.Database) -> None:
    wrong: Any = (value for value in ["a", 5])
    right = Person(name="Bob", tags=(value for value in ["a", "b"]))  # type: ignore[arg-type]
    person = Person(name="Ada", tags=wrong)
    with db.write():
        for _ in range(2):
            with pytest.raises(motte.errors.WrongTypeError):
                db.add(person)
            with pytest.raises(motte.errors.WrongTypeError):
                db.add_all([right, person])
        assert db.count(Person) == 0 and not person.is_stored
        assert db.add(right).tags[:] == ["a", "b"]


class Mixed(motte.Model):
    values: list[Any] = motte.field(default_factory=list)
    by_name: dict[str, Any] = motte.field(default_factory=dict)


def test_lists_within_change_their_places() -> None:
    with motte.open(in_memory="places", schema=[Mixed]) as db, db.write():
        it = db.add(Mixed(values=[[1], {"a": [2]}, [3]], by_name={"a": [1], "b": {"c": [2]}}))
        it.values[::-1] = it.values[:]
        assert it.values.to_plain() == [[3], {"a": [2]}, [1]]  # type: ignore[attr-defined]
        it.values.assign(it.values[::-1], only_differences=True)  # type: ignore[attr-defined]
        assert it.values.to_plain() == [[1], {"a": [2]}, [3]]  # type: ignore[attr-defined]
        it.values.assign([[it.values[2]], it.values[0]], only_differences=True)  # type: ignore[attr-defined]
        assert it.values.to_plain() == [[[3]], [1]]  # type: ignore[attr-defined]
        it.values.assign([*it.values, it.values[0], 5], only_differences=True)  # type: ignore[attr-defined]
        assert it.values.to_plain() == [[[3]], [1], [[3]], 5]  # type: ignore[attr-defined]
        it.by_name = {"b": it.by_name["a"], "c": it.by_name["b"]}
        assert it.by_name.to_plain() == {"b": [1], "c": {"c": [2]}}  # type: ignore[attr-defined]
        it.by_name.assign({"b": it.by_name["c"], "d": it.by_name["b"]},  # type: ignore[attr-defined]
                          only_differences=True)
        assert it.by_name.to_plain() == {"b": {"c": [2]}, "d": [1]}  # type: ignore[attr-defined]


def test_what_is_popped_can_be_used() -> None:
    with motte.open(in_memory="popped", schema=[Mixed]) as db, db.write():
        it = db.add(Mixed(values=[[1], {"a": [2]}], by_name={"a": [1], "b": {"c": [2]}}))
        assert it.values.pop() == {"a": [2]} and it.values.pop(0) == [1]
        assert it.by_name.pop("b") == {"c": [2]} and it.by_name.pop("b", 7) == 7
        with pytest.raises(KeyError):
            it.by_name.pop("b")
        assert it.by_name.popitem() == ("a", [1])
        with pytest.raises(IndexError):
            it.values.pop()
        assert not it.values and not it.by_name
