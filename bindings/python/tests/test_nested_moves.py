"""Lists within mixed values move while they are observed, referred to and edited, and go on being themselves."""
from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import motte
from motte import errors


class Holder(motte.Model):
    id: int = motte.field(primary_key=True)
    items: list[Any]
    one: Any


@pytest.fixture
def db(tmp_path: pathlib.Path) -> Iterator[motte.Database]:
    with motte.open(tmp_path / "holder.motte", schema=[Holder]) as database:
        with database.write():
            database.add(Holder(id=1, items=[["a", "b"], ["c", "d"], ["e"]], one=[["a", "b"], ["c", "d"], ["e"]]))
        yield database


class Follower:
    """Keeps what a list is by its change sets alone, and reads it in each of them."""

    def __init__(self, observed: Any) -> None:
        self.observed, self.content, self.told = observed, [*observed], 0
        self.ended = False
        self.token = observed.observe(self.hear)

    def hear(self, changes: Any) -> None:
        self.told += 1
        if changes.is_deleted:
            self.ended = True
            return
        now = [*self.observed]
        if changes.is_initial:
            self.content = now
            return
        for index in reversed(changes.deletions):
            del self.content[index]
        for index in changes.insertions:
            self.content.insert(index, now[index])
        for index in changes.modifications:
            self.content[index] = now[index]


@pytest.mark.parametrize("where", ["items", "one"])
@pytest.mark.parametrize("is_queued", [False, True])
@pytest.mark.parametrize("shift_first", [False, True])
def test_nested_lists_are_followed_while_they_move(
    db: motte.Database, where: str, is_queued: bool, shift_first: bool
) -> None:
    holder = db.get(Holder, 1)
    assert holder is not None
    outer = getattr(holder, where)
    followers = [Follower(outer[index]) for index in range(3)]
    db.dispatch()
    steps = [lambda: outer.insert(0, None), lambda: followers[0].observed.append("new"),
             lambda: followers[1].observed.__setitem__(0, "C")]
    if not shift_first:
        steps = steps[1:] + steps[:1]
    for round_ in range(3):
        if is_queued:
            for step in steps:
                db.queue_write(lambda _, step=step: step() and None)
        else:
            with db.write():
                for step in steps:
                    step()
        db.dispatch()
        for follower in followers:
            assert not follower.ended and follower.content == [*follower.observed], round_
    assert [*followers[0].observed] == ["a", "b", "new", "new", "new"] and [*followers[1].observed] == ["C", "d"]
    assert [*followers[2].observed] == ["e"] and db.verify().is_sound


@pytest.mark.parametrize("where", ["items", "one"])
def test_references_follow_what_moves(db: motte.Database, where: str, tmp_path: pathlib.Path) -> None:
    holder = db.get(Holder, 1)
    assert holder is not None
    outer = getattr(holder, where)
    second = outer[1]
    before, again = motte.Reference(second), motte.Reference(second)
    with db.write():
        with pytest.raises(errors.AlreadyInWriteError, match="may still move in this write"):
            motte.Reference(second)
        outer.insert(0, ["new"])
        found: Any = db.resolve(before)
        assert [*found] == [*second] == ["c", "d"]
        # Of edits in a list that has moved as an element of a property others cannot tell which came first.
        if where == "one":
            found.append("more")
    with motte.open(tmp_path / "holder.motte", schema=[Holder]) as other:
        for reference in (again, motte.Reference(second)):
            there: Any = other.resolve(reference)
            assert [*there] == [*second]


class Counted(motte.Model):
    kind: str
    n: int


def test_a_first_state_that_cannot_be_found_out_is_not_asked_for_again_and_again(tmp_path: pathlib.Path) -> None:
    told: list[Any] = []
    with motte.open(tmp_path / "counted.motte", schema=[Counted]) as db:
        with db.write():
            objects = [db.add(Counted(kind="a", n=2**62)) for _ in range(3)]
        with db.objects(Counted).group_by("kind").agg(total=motte.sum("n")).observe(told.append):
            db.dispatch(timeout=0.2)
            assert len(told) == 1 and told[0].error is not None
            # It sleeps: there is nothing to do.
            assert db.dispatch(timeout=0.2) == 0 and len(told) == 1
            with db.write():
                objects[0].n = 1 - 2**62
            db.dispatch(timeout=0.2)
            assert len(told) == 2 and told[1].error is None and told[1].is_initial


def test_lists_are_frozen_where_they_are_in_the_version_shown(db: motte.Database) -> None:
    """While observers are notified of one queued write after the other."""
    holder = db.get(Holder, 1)
    assert holder is not None
    for nested in (holder.items[1], holder.one[1]):
        frozen: list[list[Any]] = []

        def hear(changes: Any, nested: Any = nested, frozen: list[list[Any]] = frozen) -> None:
            frozen.append([*nested.freeze()])

        token = holder.observe(hear)
        futures = [
            db.queue_write(lambda db: holder.items.append("x")), db.queue_write(lambda db: holder.items.pop(0)),
            db.queue_write(lambda db: holder.one.pop(0))]
        db.dispatch()
        for future in futures:
            future.result()
        token.stop()
        assert frozen == [["c", "d"]] * 3
        with db.write():
            holder.items.insert(0, ["a", "b"])
            holder.one.insert(0, ["a", "b"])
