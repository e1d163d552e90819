"""Collections in sections, live, frozen and observed."""
from __future__ import annotations

import contextlib
import gc
import itertools
import threading
from collections.abc import Callable

import pytest
from conftest import Dog, Person

import motte
from motte import _callbacks, _handles, errors


def people(db: motte.Database) -> motte.Results[Person]:
    with db.write():
        db.add_all([Person(name=name, age=age) for name, age in (("Bo", 1), ("Al", 12), ("Ann", 15), ("bea", 31))])
    return db.objects(Person)


def names(sections: motte.Sections[Person]) -> list[tuple[object, list[str]]]:
    return [(section.key, [person.name for person in section]) for section in sections]


def test_sections_by_letters_paths_and_functions(db: motte.Database) -> None:
    found = people(db)
    letters = found.sorted("name").sectioned("name", first_letter=True)
    assert names(letters) == [("A", ["Al", "Ann"]), ("B", ["Bo", "bea"])]
    decades = found.sectioned(lambda person: person.age // 10)
    assert decades.keys == [0, 1, 3] and len(decades) == 3
    assert [person.name for person in decades[1]] == ["Al", "Ann"]
    assert decades[-1].key == 3 and [section.key for section in decades[1:]] == [1, 3]
    assert decades.place(2) == (1, 1)
    section = decades.find(1)
    assert section is not None and len(section.where("age > 12")) == 1
    assert decades.find(7) is None
    with db.write():
        db.delete(list(section))
    assert len(section) == 0 and decades.keys == [0, 3]
    frozen = decades.freeze()
    with db.write():
        db.add(Person(name="Al", age=11))
    assert [person.name for person in section] == ["Al"]
    assert frozen.keys == [0, 3] and decades.keys == [0, 3, 1]
    with pytest.raises(errors.UnknownPropertyError):
        found.sectioned("nmae")
    with pytest.raises(errors.InvalidArgumentError):
        found.sectioned(lambda person: 1, first_letter=True)
    with pytest.raises(IndexError):
        decades[3]


def test_what_a_key_function_raises_comes_out(db: motte.Database) -> None:
    def broken(person: Person) -> int:
        raise ValueError(person.name)

    sections = people(db).sectioned(broken)
    for _ in range(2):
        with pytest.raises(ValueError, match="Bo"):
            len(sections)
    with pytest.raises(ValueError, match="Bo"):
        sections.find(1)


@pytest.mark.parametrize("change", ["refresh", "delete", "add"])
@pytest.mark.parametrize("at", [0, 2])
def test_a_key_function_changes_nothing(opened: Callable[..., motte.Database], change: str, at: int) -> None:
    db, other = opened(), opened()
    people(db)
    other.refresh()
    numbers = itertools.count()

    def key(person: Person) -> str:
        if next(numbers) == at:
            if change == "refresh":
                with other.write():
                    other.delete(other.objects(Person))
                db.refresh()
            elif change == "delete":
                db.delete(db.objects(Person))
            else:
                db.add(Person(name="New"))
        return "same"

    sections = db.objects(Person).sectioned(key)
    with contextlib.nullcontext() if change == "refresh" else db.write():
        with pytest.raises(errors.ReentrantError, match="key function"):
            len(sections)
        assert db.count(Person) == 4 and [len(section) for section in sections] == [4]


def test_a_key_function_does_not_dispatch_or_close(db: motte.Database) -> None:
    people(db)
    refused: list[errors.Error] = []

    def key(person: Person) -> str:
        for action in (db.dispatch, db.close):
            try:
                action()
            except errors.ReentrantError as error:
                refused.append(error)
        return "same"

    future = db.queue_write(lambda db: db.add(Person(name="New")))
    assert [len(section) for section in db.objects(Person).sectioned(key)] == [4]
    assert len(refused) == 8 and not db.closed and not future.done()
    db.dispatch()
    assert future.result().name == "New"
    with db.write():
        assert [len(section) for section in db.objects(Person).sectioned(key)] == [5]
        db.add(Person(name="Newer"))
    assert db.count(Person) == 6


def failing(person: Person) -> int:
    raise ValueError(person.name)


def decade(person: Person) -> int:
    return person.age // 10


@pytest.mark.parametrize("key", [decade, failing])
@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("order", ["close, drop", "drop, close", "drop"])
def test_nothing_is_left_of_sections(order: str, circular: bool, key: Callable[[Person], int]) -> None:
    def live() -> tuple[int, int]:
        return _handles.live_handles(), _callbacks.alive()

    class Everything:
        """Holds all, and itself if wanted."""

        def __init__(self) -> None:
            self.db = motte.open(in_memory="sections", schema=[Person, Dog])
            self.sections = people(self.db).sectioned(key)
            self.observation = self.sections.observe(self.received)
            self.of_object = self.db.objects(Person)[0].observe(self.received)
            try:
                self.kept: object = self.sections[0].freeze()
            except ValueError as error:
                assert str(error) == "Bo"
            self.me = self if circular else None

        def received(self, changes: object) -> None:
            raise AssertionError("nobody dispatches")

    gc.collect()
    before = live()
    gc.disable()
    try:
        everything = Everything()
        database = everything.db
        if order == "close, drop":
            database.close()
        del everything
        if order == "drop, close":
            database.close()
        del database
        # Bound methods as callbacks are circles of their own; once has to be enough for all of them.
        gc.collect()
        assert live() == before
    finally:
        gc.enable()


def test_a_closed_database_goes_without_the_collector() -> None:
    gc.collect()
    before = _handles.live_handles(), _callbacks.alive()
    gc.disable()
    try:
        with motte.open(in_memory="sections", schema=[Person, Dog]) as database:
            sections = people(database).sectioned(failing)
            observation = database.objects(Person)[0].observe(print)
            with pytest.raises(ValueError):
                len(sections)
        with pytest.raises(errors.ClosedError):
            len(sections)
        with pytest.raises(errors.ClosedError):
            database.objects(Person)
        del database, sections, observation
        assert (_handles.live_handles(), _callbacks.alive()) == before
    finally:
        gc.enable()


def test_a_frozen_section_keeps_its_keys(db: motte.Database) -> None:
    section = people(db).sectioned(decade)[1]
    frozen = section.freeze()
    with db.write():
        for person in section[:]:
            person.age = 0
    assert len(section) == 0
    read: list[list[str]] = []
    thread = threading.Thread(target=lambda: read.append([person.name for person in frozen]))
    thread.start()
    thread.join()
    assert read == [["Al", "Ann"]]


def test_sections_are_observed(db: motte.Database) -> None:
    found = people(db)
    sections = found.sorted("name").sectioned(lambda person: person.age // 10)
    received: list[motte.SectionChanges] = []
    ones: list[motte.SectionChanges] = []
    tokens = [sections.observe(received.append), sections.observe(ones.append, key=1)]
    db.dispatch()
    assert received[0].is_initial and ones[0].is_initial
    with db.write():
        found[0].age = 14
    assert (received[-1].deleted_sections, received[-1].deletions, received[-1].insertions) == ([1], [], [(0, 2)])
    assert ones[-1].insertions == [(0, 2)] and repr(ones[-1]) == "<SectionChanges insertions [(0, 2)]>"
    with db.write():
        found[3].name = "Zoe"
    assert received[-1].modifications == [(1, 0)] and len(ones) == 2
    stream = iter(sections.changes(timeout=0.05, paths=[]))
    assert next(stream).is_initial
    with db.write():
        found[3].name = "Zac"
    assert [change.modifications for change in stream] == []
    for token in tokens:
        token.stop()


class Report:
    """Its method is the key function, and it holds all that is made with that."""

    def __init__(self) -> None:
        self.db = motte.open(in_memory="sections", schema=[Person, Dog])
        self.sections = people(self.db).sectioned(self.decade)
        section = self.sections[0]
        self.kept = [section, section.where("age > 0"), section.freeze(), section.observe(print), section.changes(),
                     section.group_by("age").count(), self.sections.observe(print), section.sectioned(self.decade)]

    def decade(self, person: Person) -> int:
        return person.age // 10


@pytest.mark.parametrize("closes", [False, True])
def test_a_method_as_key_function_is_garbage_with_its_sections(closes: bool) -> None:
    gc.collect()
    before = _handles.live_handles(), _callbacks.alive()
    gc.disable()
    try:
        report = Report()
        if closes:
            report.db.close()
        del report
        gc.collect()
        assert (_handles.live_handles(), _callbacks.alive()) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("make", [
    lambda section: section, lambda section: section.where("age > 0"), lambda section: section.sorted("name").limit(9),
    lambda section: section.freeze().thaw(), lambda section: section.sectioned("age")[0],
    lambda section: section.sectioned(lambda person: person.age)[0],
    lambda section: section.distinct("name").results()])
def test_a_key_function_lives_as_long_as_what_is_made_with_it(
    db: motte.Database, make: Callable[[motte.Section[Person]], motte.Results[Person]]
) -> None:
    found = people(db).sorted("age")
    alive = _callbacks.alive()
    made = make(found.sectioned(lambda person: person.age // 10)[0])
    gc.collect()
    seen: list[int] = []
    observation = made.observe(lambda changes: seen.append(len(changes.insertions)))
    db.dispatch()
    before = len(made)
    with db.write():
        db.add(Person(name="Abe", age=made[0].age))
    db.dispatch()
    assert len(made) == before + 1 and seen == [0, 1]
    del made
    gc.collect()
    with db.write():
        db.add(Person(name="Bea", age=found[0].age))
    db.dispatch()
    assert seen[:3] == [0, 1, 1]
    del observation
    gc.collect()
    assert _callbacks.alive() == alive


def test_what_a_key_function_raises_comes_out_of_what_is_made_of_a_section(db: motte.Database) -> None:
    found = people(db)
    is_broken = False

    def key(person: Person) -> int:
        if is_broken:
            raise ValueError("no key")
        return person.age % 2
    section = found.sectioned(key)[0]
    inner, deeper = section.sectioned("name"), section.where("age >= 0").sectioned("name")
    assert (len(section), len(inner), len(deeper)) == (3, 3, 3) or len(section) == len(inner) == len(deeper)
    count = len(section)
    with db.write():
        found[3].name = "Bea"
    is_broken = True
    uses: list[Callable[[], object]] = [
        lambda: len(section), lambda: len(inner), lambda: [*inner], lambda: len(deeper), section.freeze, inner.freeze,
        lambda: section.sectioned("age").keys, lambda: [*section.group_by("name").count()]]
    for place, use in enumerate(uses):
        with pytest.raises(ValueError, match="no key"):
            print(place, use())
    is_broken = False
    assert len(section) == len(inner) == len(deeper) == count


def test_a_limit_ends_sections_of_a_section(db: motte.Database) -> None:
    section = people(db).where("name CONTAINS 'n'").sectioned("age")[0]
    inner = section.sectioned("name")
    assert len(inner) == 1
    with db.write():
        db.add(Person(name="Nan", age=99))
    db.query_timeout = 0
    for use in (lambda: len(section), lambda: len(inner), lambda: [*inner]):
        with pytest.raises(errors.QueryInterruptedError):
            use()
    db.query_timeout = None
    assert len(inner) == 1
