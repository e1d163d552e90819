"""One path that leads to two files in turn, and two that lead to one: objects are of the file that is open.

A link that is changed, a folder that a path begins in, a name in memory, a file in the place of another one.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator

import pytest

import motte
from motte import errors


class Item(motte.Model):
    n: int
    friend: Item | None = None


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fill(path: str | None, first: int, **options: str) -> motte.Database:
    db = motte.open(path, schema=[Item], **options) if path else motte.open(schema=[Item], **options)
    with db.write():
        for number in range(first, first + 10):
            db.add(Item(n=number))
    return db


def by_link() -> tuple[motte.Database, motte.Database]:
    os.symlink("one.motte", "current")
    fill("one.motte", 0).close()
    fill("two.motte", 100).close()
    first = motte.open("current", schema=[Item])
    os.unlink("current")
    os.symlink("two.motte", "current")
    return first, motte.open("current", schema=[Item])


def by_folder() -> tuple[motte.Database, motte.Database]:
    for folder in ("a", "b"):
        os.mkdir(folder)
    os.chdir("a")
    first = fill("x.motte", 0)
    os.chdir("../b")
    return first, fill("x.motte", 100)


def by_name() -> tuple[motte.Database, motte.Database]:
    return fill(None, 0, in_memory="cache"), fill("cache", 100)


WAYS: list[Callable[[], tuple[motte.Database, motte.Database]]] = [by_link, by_folder, by_name]


@pytest.mark.parametrize("way", WAYS)
def test_objects_of_another_file_are_refused(way: Callable[[], tuple[motte.Database, motte.Database]]) -> None:
    with contextlib.ExitStack() as stack:
        first, second = way()
        for db in (first, second):
            stack.enter_context(db)
        mine, theirs = first.objects(Item)[3], second.objects(Item)[3]
        assert mine._key == theirs._key and mine != theirs and len({mine, theirs}) == 2
        before = [[each.n for each in db.objects(Item)] for db in (first, second)]
        for refused in (
            lambda: second.delete(mine), lambda: setattr(theirs, "friend", mine),
            lambda: list(second.objects(Item).where("friend == $0", mine)), lambda: second.add(Item(n=1, friend=mine)),
        ):
            with second.write():
                with pytest.raises(errors.InvalidArgumentError):
                    refused()
        assert [[each.n for each in db.objects(Item)] for db in (first, second)] == before


def test_paths_that_lead_to_one_file_show_the_same_objects() -> None:
    os.symlink("one.motte", "link")
    with fill("one.motte", 0) as first, motte.open("link", schema=[Item]) as second:
        assert first.objects(Item)[3] == second.objects(Item)[3]
        with second.write():
            second.objects(Item)[1].friend = first.objects(Item)[2]
            second.delete(first.objects(Item)[3])
        assert second.objects(Item)[1].friend == second.objects(Item)[2] and second.count(Item) == 9


def changed_link() -> tuple[motte.Database, str]:
    first, second = by_link()
    second.close()
    return first, "two.motte"


def changed_folder() -> tuple[motte.Database, str]:
    first, second = by_folder()
    second.close()
    return first, "x.motte"


@pytest.mark.parametrize("way", [changed_link, changed_folder])
def test_what_is_compacted_is_what_is_open(way: Callable[[], tuple[motte.Database, str]]) -> None:
    first, other = way()
    with first:
        held, former = first.objects(Item)[3], os.stat(other).st_ino
        first.compact()
        assert os.stat(other).st_ino == former
        assert [each.n for each in first.objects(Item)] == list(range(10)) and held.n == 3
        assert held == first.objects(Item)[3] and hash(held) == hash(first.objects(Item)[3])
        with first.write():
            held.n = 33
            first.add(Item(n=50, friend=held))
    with motte.open(other, schema=[Item]) as db:
        assert [each.n for each in db.objects(Item)] == list(range(100, 110))


def test_a_file_in_the_place_of_another_is_another() -> None:
    """Which only its sessions of before still show."""
    fill("new.motte", 100).close()
    with fill("x.motte", 0) as first:
        kept = first.freeze()
        os.rename("new.motte", "x.motte")
        with pytest.raises(errors.FileMovedError):
            first.compact()
        assert [each.n for each in kept.objects(Item)] == list(range(10))


@pytest.fixture
def two() -> Iterator[tuple[motte.Database, motte.Database]]:
    with fill("x.motte", 0) as db, motte.open("x.motte", schema=[Item]) as other:
        yield db, other


@pytest.mark.parametrize("what", ["keep", "known", "refused"])
def test_observers_are_not_within_writes_of_replication(
    two: tuple[motte.Database, motte.Database], what: str
) -> None:
    """What they change is a write of their own, which is there whatever becomes of the call."""
    db, other = two
    with motte.open("source.motte", schema=[Item]) as source:
        source.keep_changes(source.version)
        with source.write():
            source.add(Item(n=1))
        known = source.changes_since(0)
        db.apply(known)
        with source.write():
            source.add(Item(n=2))
        missing = source.changes_since(source.version - 1)
        with source.write():
            source.add(Item(n=3))
        later = source.changes_since(source.version - 1)
        assert missing.to_version < later.to_version
    seen: list[bool] = []

    def told(changes: motte.Changes) -> None:
        if changes.is_initial or seen:
            return
        seen.append(db.in_write)
        with pytest.raises(errors.NotInWriteError):
            db.add(Item(n=500))
        with db.write():
            db.add(Item(n=501))

    with db.objects(Item).observe(told):
        db.dispatch()
        with other.write():
            other.add(Item(n=-1))
        if what == "keep":
            db.keep_changes(db.version)
        elif what == "known":
            assert not db.apply(known)
        else:
            with pytest.raises(errors.OutOfSequenceError):
                db.apply(later)
    assert seen == [False]
    numbers = [each.n for each in db.objects(Item)]
    assert -1 in numbers and 501 in numbers and 500 not in numbers
