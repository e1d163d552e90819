"""Collections in sections, live, frozen and observed."""
from __future__ import annotations

import gc

import pytest
from conftest import Person

import motte
from motte import errors


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

    # In a function of its own, whose frame goes with the traceback, which is a circle.
    def count() -> str:
        try:
            return str(len(people(db).sectioned(broken)))
        except ValueError as error:
            return str(error)
    assert count() == "Bo"
    gc.collect()


def test_sections_are_observed(db: motte.Database) -> None:
    found = people(db)
    sections = found.sorted("name").sectioned(lambda person: person.age // 10)
    heard: list[motte.SectionChanges] = []
    ones: list[motte.SectionChanges] = []
    tokens = [sections.observe(heard.append), sections.observe(ones.append, key=1)]
    db.dispatch()
    assert heard[0].is_initial and ones[0].is_initial
    with db.write():
        found[0].age = 14
    assert (heard[-1].deleted_sections, heard[-1].deletions, heard[-1].insertions) == ([1], [], [(0, 2)])
    assert ones[-1].insertions == [(0, 2)] and repr(ones[-1]) == "<SectionChanges insertions [(0, 2)]>"
    with db.write():
        found[3].name = "Zoe"
    assert heard[-1].modifications == [(1, 0)] and len(ones) == 2
    stream = iter(sections.changes(timeout=0.05, paths=[]))
    assert next(stream).is_initial
    with db.write():
        found[3].name = "Zac"
    assert [change.modifications for change in stream] == []
    for token in tokens:
        token.stop()
