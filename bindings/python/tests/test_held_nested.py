"""A list or map within a mixed value that a program holds is that one or ended, whoever edits around it: a batch of
changes, an undo, an import, an upsert, a block that is undone. `test_held_nested_at_random.py` does it at random."""
from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import motte
from motte import errors

from test_nested_moves import Follower


class Keeper(motte.Model):
    id: int = motte.field(primary_key=True)
    items: list[Any] = motte.field(default_factory=list)
    table: dict[str, Any] = motte.field(default_factory=dict)
    marks: set[Any] = motte.field(default_factory=set)
    one: Any = None


Opener = Callable[[str], motte.Database]


@pytest.fixture
def opened(tmp_path: pathlib.Path) -> Iterator[Opener]:
    with contextlib.ExitStack() as stack:
        yield lambda name: stack.enter_context(motte.open(tmp_path / f"{name}.motte", schema=[Keeper]))


def keeper(db: motte.Database, **values: Any) -> Any:
    with db.write():
        return db.add(Keeper(id=1, **values))


class Copy:
    """An object of one file, and the same in another that takes its changes."""

    def __init__(self, opened: Opener, **values: Any) -> None:
        self.origin, self.db = opened("origin"), opened("copy")
        self.there = keeper(self.origin, **values)
        self.origin.keep_changes(0)
        self.db.apply(self.origin.changes_since(0))
        self.here: Any = self.db.get(Keeper, 1)

    def change(self, edit: Callable[[Any], object]) -> None:
        with self.origin.write():
            edit(self.there)
        assert self.db.apply(self.origin.changes_since(self.db.applied_version(self.origin.origin) or 0))


def assert_ended(*held: Any) -> None:
    for one in held:
        assert not one.is_valid
        with pytest.raises(errors.ObjectDeletedError):
            list(one)


def test_undo_moves_what_is_held(opened: Opener) -> None:
    db = opened("db")
    it = keeper(db, items=[["mine"], ["other"]], table={"k": ["kept"]}, one=[["mine"], ["other"]])
    before = db.freeze()
    with db.write():
        it.items.insert(0, ["new"])
        it.one.insert(0, ["new"])
        it.table["new"] = ["new"]
    done = db.changes_since(before)
    held = [it.items[1], it.one[1], it.table["k"]]
    ended = [it.items[0], it.one[0], it.table["new"]]
    followers = [Follower(one) for one in held]
    db.dispatch()
    db.apply(done.inverse())
    assert [list(one) for one in held] == [["mine"], ["mine"], ["kept"]]
    assert_ended(*ended)
    with db.write():
        for one in held:
            one.append("for it")
    db.dispatch()
    assert it.items.to_plain() == it.one.to_plain() == [["mine", "for it"], ["other"]]
    assert it.table.to_plain() == {"k": ["kept", "for it"]}
    assert all(not follower.ended and follower.content == [*follower.observed] for follower in followers)
    # Redo: what is there again is another.
    db.apply(done.inverse().inverse())
    assert_ended(*ended)


def test_applied_edits_of_a_list_move_what_is_held(opened: Opener) -> None:
    both = Copy(opened, items=[["first"], ["second"], ["third"]])
    first, second, third = both.here.items
    with motte.open(both.db.path, schema=[Keeper]) as other:
        there: Any = other.get(Keeper, 1)
        elsewhere = there.items[1]
        follower = Follower(second)
        both.db.dispatch()
        both.change(lambda it: it.items.insert(0, ["new"]))
        assert [list(one) for one in (first, second, third)] == [["first"], ["second"], ["third"]]
        both.change(lambda it: it.items.move(3, 0))
        assert [list(one) for one in (first, second, third)] == [["first"], ["second"], ["third"]]
        both.change(lambda it: it.items.pop(2))
        assert_ended(first)
        assert list(second) == ["second"] and list(third) == ["third"]
        both.db.dispatch()
        assert not follower.ended
        other.refresh()
        assert list(elsewhere) == ["second"]
        with both.db.write():
            second.append("more")
            third.append("more")
        assert both.here.items.to_plain() == [["third", "more"], ["new"], ["second", "more"]]


def test_applied_edits_that_replace_or_clear_end_what_is_held(opened: Opener) -> None:
    both = Copy(opened, items=[["first"], ["second"]], table={"k": ["k"], "l": ["l"]})
    held = both.here.items[0]
    both.change(lambda it: it.items.__setitem__(0, ["first"]))
    assert_ended(held)
    again, second = both.here.items
    both.change(lambda it: it.items.clear())
    assert_ended(again, second)
    both.change(lambda it: it.items.append(["first"]))
    assert_ended(held, again, second)


def test_an_applied_key_that_went_and_came_again_is_another(opened: Opener) -> None:
    both = Copy(opened, table={"k": ["k"], "l": ["l"]})
    held, other = both.here.table["k"], both.here.table["l"]
    both.change(lambda it: it.table.pop("k"))
    both.change(lambda it: it.table.__setitem__("k", ["another"]))
    assert_ended(held)
    assert list(other) == ["l"]
    both.change(lambda it: it.table.__setitem__("l", ["l"]))
    assert_ended(other)


@pytest.mark.parametrize("value", [None, 5, {"a": 1}])
def test_an_applied_value_of_a_property_ends_what_was_held(opened: Opener, value: Any) -> None:
    both = Copy(opened, one=["a", ["b"]])
    whole = both.here.one
    inner = whole[1]
    both.change(lambda it: setattr(it, "one", value))
    assert_ended(whole, inner)
    both.change(lambda it: setattr(it, "one", ["a", ["b"]]))
    assert_ended(whole, inner)


@pytest.mark.parametrize("kind", ["text", "data", "upsert", "values"])
@pytest.mark.parametrize("policy", ["all", "modified"])
def test_what_an_import_replaces_ends_in_the_write_already(opened: Opener, kind: str, policy: str) -> None:
    db = opened("db")
    it = keeper(db, items=[["a"], ["b"]], table={"k": ["k"], "z": ["z"]}, one=["o"])
    held = [*it.items, it.table["k"], it.table["z"], it.one]
    values: dict[str, Any] = {"items": [["c"]], "table": {"k": ["another"]}, "one": ["p"]}
    with db.write():
        held += [*it.items, it.table["k"], it.table["z"], it.one]
        if kind == "text":
            db.import_json(
                Keeper, text='[{"id": 1, "items": [["c"]], "table": {"k": ["another"]}, "one": ["p"]}]', policy=policy)
        elif kind == "data":
            db.import_data(Keeper, [{"id": 1, **values}], policy=policy)
        elif kind == "upsert":
            db.upsert(Keeper(id=1, **values), policy=policy)
        else:
            db.create_or_update(Keeper, policy=policy, id=1, **values)
        it.table["z"] = ["new z"]
        it.items.append(["new b"])
        assert_ended(*held)
        for one in held:
            with pytest.raises(errors.ObjectDeletedError):
                one.append("lost")
    assert it.items.to_plain() == [["c"], ["new b"]]
    assert it.table.to_plain() == {"k": ["another"], "z": ["new z"]} and it.one.to_plain() == ["p"]
    assert_ended(*held)


def test_lists_in_sets_are_followed(opened: Opener) -> None:
    db = opened("db")
    it = keeper(db, marks={5})
    with db.write():
        it.marks.add(["b"])
        it.marks.add(["d"])
    held, other = [one for one in it.marks if one != 5]
    assert [list(held), list(other)] == [["b"], ["d"]]
    with db.write():
        it.marks.add(1)
        it.marks.add(["a"])
        it.marks.add(["c"])
        assert [list(held), list(other)] == [["b"], ["d"]]
    assert [list(held), list(other)] == [["b"], ["d"]]
    with db.write():
        it.marks.remove(1)
        it.marks.discard(["b"])
        assert_ended(held)
        assert list(other) == ["d"]
    assert_ended(held)
    assert list(other) == ["d"]


def test_a_key_that_came_again_is_another_for_other_sessions(opened: Opener) -> None:
    """Also where the list that came with it is edited, which the log has of the key."""
    db, other = opened("db"), opened("db")
    it = keeper(db, table={"k": ["k"], "l": ["l"], "m": ["m"]})
    other.refresh()
    there: Any = other.get(Keeper, 1)
    held = [there.table[key] for key in "klm"]
    with db.write():
        del it.table["k"]
        it.table["k"] = ["another"]
        it.table["k"].append("more")
    for step in (lambda: it.table.pop("l"), lambda: it.table.update(l=["another"]), lambda: it.table["l"].append(1),
                 lambda: it.table["m"].append("more")):
        with db.write():
            step()
    other.refresh()
    assert_ended(*held[:2])
    assert list(held[2]) == ["m", "more"]
    with db.write():
        it.table.clear()
        it.table["m"] = ["another"]
        it.table["m"].append("more")
    other.refresh()
    assert_ended(*held)


@pytest.mark.parametrize("where", ["items", "table", "one"])
def test_what_was_made_in_a_block_that_was_undone_is_no_other(opened: Opener, where: str) -> None:
    db = opened("db")
    it = keeper(db, items=[["a"]])
    put: dict[str, Callable[[str], object]] = {
        "items": lambda text: it.items.append([text]), "table": lambda text: it.table.__setitem__("k", [text]),
        "one": lambda text: setattr(it, "one", [text])}
    found: dict[str, Callable[[], Any]] = {
        "items": lambda: it.items[-1], "table": lambda: it.table["k"], "one": lambda: it.one}
    with db.write():
        kept = it.items[0]
        with contextlib.suppress(ZeroDivisionError):
            with db.write():
                there = it.items[0]
                put[where]("lost")
                held = found[where]()
                raise ZeroDivisionError
        assert_ended(held)
        put[where]("another")
        assert_ended(held)
        assert list(found[where]()) == ["another"] and list(kept) == list(there) == ["a"]
    assert_ended(held)
    assert list(kept) == list(there) == ["a"]
