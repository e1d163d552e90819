"""Unique properties: declared, refused where a value is taken, read back from a file, None any number of times."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

import motte
from motte import errors


class Member(motte.Model):
    id: int = motte.field(primary_key=True)
    mail: Optional[str] = motte.field(default=None, unique=True)
    number: int = 0


class Tagged(motte.Model):
    tags: list[str] = motte.field(default_factory=list, unique=True)


@pytest.fixture
def members() -> Iterator[motte.Database]:
    with motte.open(in_memory="unique members", schema=[Member]) as database:
        yield database


def test_a_value_that_another_object_has_is_refused(members: motte.Database) -> None:
    with members.write():
        first, second = members.add(Member(id=1, mail="a")), members.add(Member(id=2))
        members.add(Member(id=3))
        with pytest.raises(errors.DuplicateValueError, match="Member.mail: .*object 1 is unique, and object 0 has it"):
            second.mail = "a"
        with pytest.raises(errors.DuplicateValueError):
            members.add(Member(id=4, mail="a"))
        with pytest.raises(errors.DuplicateValueError):
            members.update(second, number=5, mail="a")
        assert second.mail is None and second.number == 0 and members.count(Member) == 3
        first.mail = None
        second.mail = "a"
    assert [member.id for member in members.objects(Member).where("mail == 'a'")] == [2]


def test_rows_of_one_call_are_refused_together(members: motte.Database) -> None:
    with members.write():
        with pytest.raises(errors.DuplicateValueError, match="row 0 of this call") as failure:
            members.insert_rows(Member, ["id", "mail"], [(1, "a"), (2, "b"), (3, "a")])
        assert failure.value.row_index == 2
        assert members.count(Member) == 0


def test_an_upsert_is_all_or_nothing(members: motte.Database) -> None:
    with members.write():
        members.add_all([Member(id=1, mail="a"), Member(id=2, mail="b")])
        with pytest.raises(errors.DuplicateValueError):
            members.upsert_all([Member(id=1, mail="c"), Member(id=2, mail="c"), Member(id=3)])
        assert [member.mail for member in members.objects(Member)] == ["a", "b"]


def test_the_file_keeps_the_rule(tmp_path: Path) -> None:
    path = tmp_path / "members.motte"
    with motte.open(path, schema=[Member]) as database, database.write():
        database.add(Member(id=1, mail="a"))
    with motte.open(path) as database:
        made = database.model("Member")
        assert "mail: string? unique" in database.schema
        with database.write(), pytest.raises(errors.DuplicateValueError):
            database.add(made(id=2, mail="a"))


def test_what_cannot_be_unique_is_refused() -> None:
    with pytest.raises(errors.SchemaInvalidError, match="Tagged.tags is a list and cannot be unique"):
        motte.open(in_memory="unique tags", schema=[Tagged])
