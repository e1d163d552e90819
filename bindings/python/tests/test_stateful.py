"""Random programs beside Python's own list, dict and set (hypothesis): writes that are committed, that raise, whose
commit is refused, and blocks in blocks; observers that raise; and sessions that were opened, or frozen, long before.

    MOTTE_TEST_SCALE=20    so many times as many programs
"""
from __future__ import annotations

import copy
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any, Optional

import pytest

import motte
from motte import errors

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

SCALE = float(os.environ.get("MOTTE_TEST_SCALE", "1"))
_numbers = itertools.count()


class Own(Exception):
    pass


class Thing(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = motte.field(default="", indexed=True)
    words: list[str] = motte.field(default_factory=list)
    marks: set[int] = motte.field(default_factory=set)
    scores: dict[str, Optional[int]] = motte.field(default_factory=dict)
    friend: Optional["Thing"] = None


IDS = st.integers(0, 7)
WORDS = st.text(st.sampled_from("abcß\n\U0001f600"), max_size=3) | st.sampled_from(["long" * 30, "x" * 5000])
INTS = st.integers(-3, 3) | st.integers(-2**63, 2**63 - 1)
KEYS = st.sampled_from(["a", "b", "ä", "key", ""])
PLACES = st.integers(-4, 4)
#: name, what is drawn, and what is done to a list, a set or a dict: of Python's, and of the package.
LISTS: list[tuple[tuple[Any, ...], Callable[..., Any]]] = [
    ((WORDS,), lambda it, word: it.append(word)),
    ((PLACES, WORDS), lambda it, place, word: it.insert(place, word)),
    ((PLACES,), lambda it, place: it.pop(place)),
    ((PLACES,), lambda it, place: it.__delitem__(place)),
    ((PLACES, PLACES), lambda it, start, end: it.__delitem__(slice(start, end))),
    ((PLACES, WORDS), lambda it, place, word: it.__setitem__(place, word)),
    ((PLACES, PLACES, st.lists(WORDS, max_size=3)), lambda it, start, end, given: it.__setitem__(
        slice(start, end), given)),
    ((st.lists(WORDS, max_size=4),), lambda it, given: it.extend(given)),
    ((WORDS,), lambda it, word: it.remove(word)),
    ((), lambda it: it.reverse()),
    ((), lambda it: it.sort()),
    ((), lambda it: it.clear()),
    ((WORDS,), lambda it, word: (word in it, it.count(word))),
    ((WORDS,), lambda it, word: it.index(word)),
]
SETS: list[tuple[tuple[Any, ...], Callable[..., Any]]] = [
    ((INTS,), lambda it, value: it.add(value)),
    ((INTS,), lambda it, value: it.discard(value)),
    ((INTS,), lambda it, value: it.remove(value)),
    ((), lambda it: it.clear()),
    ((st.sets(INTS, max_size=4),), lambda it, given: it.__ior__(given) and None),
    ((st.sets(INTS, max_size=4),), lambda it, given: it.__iand__(given) and None),
    ((st.sets(INTS, max_size=4),), lambda it, given: it.__isub__(given) and None),
    ((st.sets(INTS, max_size=4),), lambda it, given: it.__ixor__(given) and None),
    ((st.sets(INTS, max_size=4),), lambda it, given: (it <= given, it >= given, it.isdisjoint(given))),
]
MAPS: list[tuple[tuple[Any, ...], Callable[..., Any]]] = [
    ((KEYS, INTS | st.none()), lambda it, key, value: it.__setitem__(key, value)),
    ((KEYS,), lambda it, key: it.__delitem__(key)),
    ((KEYS,), lambda it, key: it.pop(key, None)),
    ((KEYS, INTS), lambda it, key, value: it.setdefault(key, value)),
    ((st.dictionaries(KEYS, INTS, max_size=3),), lambda it, given: it.update(given)),
    ((), lambda it: it.clear()),
    ((KEYS,), lambda it, key: (key in it, it.get(key, 5))),
    ((KEYS,), lambda it, key: it[key]),
]


def outcome(call: Callable[..., Any], it: Any, given: list[Any]) -> Any:
    """What it gives, or the kind of what it raises."""
    try:
        return call(it, *copy.deepcopy(given))
    except (IndexError, ValueError, KeyError) as error:
        return next(kind for kind in (IndexError, KeyError, ValueError) if isinstance(error, kind))


def read(things: Any) -> dict[int, dict[str, Any]]:
    """Object by object."""
    return {thing.id: {"name": thing.name, "words": list(thing.words), "marks": set(thing.marks),
                       "scores": dict(thing.scores), "friend": None if thing.friend is None else thing.friend.id}
            for thing in things}


class Programs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        name = f"stateful {next(_numbers)}"
        self.db = motte.open(in_memory=name, schema=[Thing])
        self.reader = motte.open(in_memory=name, schema=[Thing])
        self.model: dict[int, dict[str, Any]] = {}
        #: Objects that never came to be, or have been deleted.
        self.gone: list[Thing] = []
        self.frozen: list[tuple[motte.Database, dict[int, dict[str, Any]]]] = []
        #: What an observer that raises makes of changes: the elements in the order of ids.
        self.shown: list[int] = []
        self.raised = 0
        self.things = self.db.objects(Thing).sorted("id")
        self.hook, sys.unraisablehook = sys.unraisablehook, self.note
        self.token = self.things.observe(self.changed)
        self.db._delivery.dispatch_once()

    def note(self, unraised: Any) -> None:
        assert isinstance(unraised.exc_value, Own)
        self.raised += 1

    def changed(self, changes: motte.Changes) -> None:
        now = self.things.column("id")
        if changes.is_initial:
            self.shown = list(now)
        else:
            for place in reversed(changes.deletions):
                del self.shown[place]
            for place in changes.insertions:
                self.shown.insert(place, now[place])
            assert self.shown == now
        raise Own

    def teardown(self) -> None:
        sys.unraisablehook = self.hook
        self.token.stop()
        self.gone.clear()
        self.frozen.clear()
        self.reader.close()
        self.db.close()

    # -------------------------------------------------------------------------------------------- changes

    def change(self, data: st.DataObject, made: list[Thing]) -> None:
        for _ in range(data.draw(st.integers(1, 3))):
            kind = data.draw(st.sampled_from([
                "add", "add", "add_all", "upsert", "delete", "delete_all", "name", "friend", "update", "list", "list",
                "set", "map"]))
            key = data.draw(IDS)
            if kind in ("add", "upsert", "add_all"):
                self.add(data, kind, key, made)
            elif kind == "delete_all":
                self.db.delete_all()
                self.model.clear()
            elif kind == "update":
                self.db.objects(Thing).where("id < $0", key).update(name=lambda thing: f"{thing.id}")
                for each, values in self.model.items():
                    if each < key:
                        values["name"] = f"{each}"
            elif key in self.model:
                self.change_one(data, kind, key)

    def add(self, data: st.DataObject, kind: str, key: int, made: list[Thing]) -> None:
        keys = [key] if kind != "add_all" else data.draw(st.lists(IDS, min_size=2, max_size=4))
        new = [Thing(id=each, name=data.draw(WORDS), words=data.draw(st.lists(WORDS, max_size=2))) for each in keys]
        values = {thing.id: {"name": thing.name, "words": list(thing.words), "marks": set(), "scores": {},
                             "friend": None} for thing in new}
        clashes = len(values) < len(keys) or any(each in self.model for each in keys)
        if kind == "upsert":
            self.db.upsert(new[0], policy="all")
        elif clashes:
            with pytest.raises(errors.DuplicatePrimaryKeyError):
                self.db.add_all(new)
            assert not any(thing.is_stored for thing in new)
            return
        elif kind == "add":
            self.db.add(new[0])
        else:
            self.db.add_all(new)
        if not clashes:
            made += new
        self.model.update(copy.deepcopy(values))

    def change_one(self, data: st.DataObject, kind: str, key: int) -> None:
        thing, values = self.db.one(Thing, key), self.model[key]
        if kind == "delete":
            self.db.delete(thing)
            del self.model[key]
            for each in self.model.values():
                each["friend"] = None if each["friend"] == key else each["friend"]
        elif kind == "name":
            thing.name = values["name"] = data.draw(WORDS)
        elif kind == "friend":
            friend = data.draw(IDS)
            if friend in self.model:
                thing.friend, values["friend"] = self.db.one(Thing, friend), friend
        else:
            calls, name = {"list": (LISTS, "words"), "set": (SETS, "marks"), "map": (MAPS, "scores")}[kind]
            drawn, call = data.draw(st.sampled_from(calls))
            given = [data.draw(each) for each in drawn]
            expected, got = outcome(call, values[name], given), outcome(call, getattr(thing, name), given)
            assert got == expected, (name, given)

    @rule(data=st.data(), how=st.sampled_from(["commit", "commit", "raise", "refuse", "inner"]))
    def write(self, data: st.DataObject, how: str) -> None:
        before, made = copy.deepcopy(self.model), []  # type: tuple[Any, list[Thing]]
        lost: list[Thing] = []
        if how == "refuse":
            self.db.on_commit(self.refuse)
        try:
            with self.db.write() as write:
                self.change(data, made)
                if how == "inner":
                    kept = copy.deepcopy(self.model)
                    with pytest.raises(Own), self.db.write():
                        self.change(data, lost)
                        raise Own
                    self.model = kept
                if how == "raise":
                    raise Own
        except Own:
            pass
        finally:
            self.db.on_commit(None)
        assert not self.db.in_write
        if write.was_cancelled:
            self.model = before
            lost += made
        self.gone += lost

    def refuse(self, batch: motte.ChangeBatch) -> None:
        raise Own

    @rule()
    def freeze(self) -> None:
        self.frozen = [*self.frozen[-3:], (self.db.freeze(), copy.deepcopy(self.model))]

    @rule()
    def refresh(self) -> None:
        self.reader.refresh()
        assert read(self.reader.objects(Thing)) == self.model
        assert self.reader.objects(Thing).sorted("id").column("name") == [
            self.model[key]["name"] for key in sorted(self.model)]

    # -------------------------------------------------------------------------------------------- what holds

    @invariant()
    def everything_is_there(self) -> None:
        db, model = self.db, self.model
        assert read(db.objects(Thing)) == model
        ids = sorted(model)
        assert self.things.column("id") == ids == [thing.id for thing in self.things] == self.shown
        assert db.count(Thing) == len(ids) == len(db.objects(Thing)) and db.objects(Thing).sum("id") == sum(ids)
        for name in {values["name"] for values in model.values()}:
            found = {thing.id for thing in db.objects(Thing).where(name=name)}
            assert found == {key for key, values in model.items() if values["name"] == name}

    @invariant()
    def what_is_frozen_stays(self) -> None:
        for frozen, model in self.frozen:
            assert read(frozen.objects(Thing)) == model

    @invariant()
    def what_is_gone_stays_gone(self) -> None:
        for thing in self.gone:
            assert not thing.is_valid
            with pytest.raises(errors.ObjectDeletedError):
                print(thing.name)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=max(1, int(25 * SCALE)), stateful_step_count=20, deadline=None, database=None, print_blob=True,
    suppress_health_check=list(HealthCheck))
