"""Lists within mixed values that a program holds open, while random edits come from everywhere: by own writes, of which
some are cancelled or undone in part; by batches of another file; by undo and redo; by imports. After each step, and
within writes, each is the list it was or has ended, as a model says that knows every list by itself.

    MOTTE_TEST_SCALE=20    so many times as many steps
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
from nested_model import Node, Part, Whole, bring, fresh, image, images_of, plain, replaced, text
from test_nested_moves import Follower

import motte
from motte import errors

STEPS = int(60 * float(os.environ.get("MOTTE_TEST_SCALE", "1")))


class Keeper(motte.Model):
    id: int = motte.field(primary_key=True)
    items: list[Any] = motte.field(default_factory=list)
    table: dict[str, Any] = motte.field(default_factory=dict)
    one: Any = None


class Undone(Exception):
    pass


# ----------------------------------------------------------------------------------------------------- Edits of both

class Editor:
    """Edits an object and its model alike. Of the list that a property holds, a batch says only what it is now: where
    one is to be carried over, it takes one edit at a time, that leads there in one way only."""

    def __init__(self, db: motte.Database, it: Any, whole: Whole, random_: random.Random) -> None:
        self.db, self.it, self.whole, self.random = db, it, whole, random_
        self.edits_of_one = 0
        self.replaces_one = False

    def part(self) -> Part:
        kind = self.random.randrange(4)
        return None if kind == 0 else text() if kind == 1 else fresh(self.random)

    def nested(self, held: list[tuple[Any, Node]]) -> None:
        """An edit through something that is held, or that is opened now."""
        alive = {*self.whole.nodes()}
        there = [(handle, node) for handle, node in held if node in alive] or [*self.openable()]
        if not there:
            return
        handle, node = self.random.choice(there)
        of_one = node in {*Whole(one=self.whole.one).nodes()}
        if of_one and self.edits_of_one > 0 and not self.replaces_one:
            return
        self.edits_of_one += of_one
        before, count = [*node.parts], len(node.parts)
        kind = self.random.randrange(5 if not of_one else 3)
        if kind == 0:
            value = self.part()
            handle.append(plain(value))
            node.parts.append(value)
        elif kind == 1:
            index, value = self.random.randint(1, count), self.part()
            handle.insert(index, plain(value))
            node.parts.insert(index, value)
        elif kind == 2 and count > 1:
            index = self.random.randrange(1, count)
            del handle[index]
            del node.parts[index]
        elif kind == 3 and count > 1:
            index, value = self.random.randrange(1, count), self.part()
            handle[index] = plain(value)
            node.parts[index] = value
        elif kind == 4 and count > 2:
            index, to = self.random.randrange(1, count), self.random.randrange(1, count)
            handle.move(index, to)
            # Within a value, what moves is taken out and put in.
            if index != to:
                node.parts.insert(to, replaced(node.parts.pop(index)))
        # Only a null may have come in place of a null.
        node.edits += kind == 3 and count > 1 or before != node.parts

    def openable(self) -> Iterator[tuple[Any, Node]]:
        """All lists there are, opened."""
        waiting = [*zip(self.it.items, self.whole.items), (self.it.one, self.whole.one)]
        waiting += [(self.it.table[key], part) for key, part in self.whole.table.items()]
        while waiting:
            handle, part = waiting.pop()
            if isinstance(part, Node):
                yield handle, part
                waiting += zip(handle, part.parts)

    def around(self) -> None:
        items, own = self.it.items, self.whole.items
        index = self.random.randint(0, len(own))
        other = self.random.randint(0, len(own))
        kind = self.random.randrange(9)
        if kind < 3 and len(own) < 12:
            value = self.part()
            items.insert(index, plain(value))
            own.insert(index, value)
        elif kind == 3:
            first, end = min(index, other), max(index, other)
            values = [self.part() for _ in range(self.random.randint(0, 2))]
            items[first:end] = [plain(value) for value in values]
            own[first:end] = values
        elif max(index, other) == len(own):
            return
        elif kind == 4:
            del items[index]
            del own[index]
        elif kind == 5:
            value = self.part()
            items[index] = plain(value)
            own[index] = value
        elif kind == 6:
            items.move(index, other)
            own.insert(other, own.pop(index))
        elif kind == 7:
            items.swap(index, other)
            own[index], own[other] = own[other], own[index]
        elif self.random.random() < 0.2:
            items.clear()
            own.clear()

    def keys(self) -> None:
        key = self.random.choice("abcd")
        kind = self.random.randrange(6)
        if kind < 3:
            value = self.part()
            self.it.table[key] = plain(value)
            self.whole.table[key] = value
        elif kind < 5:
            self.it.table.pop(key, None)
            self.whole.table.pop(key, None)
        elif self.random.random() < 0.2:
            self.it.table.clear()
            self.whole.table.clear()

    def property(self) -> None:
        if self.edits_of_one and not self.replaces_one:
            return
        value = self.part()
        if isinstance(value, Node) and isinstance(self.whole.one, Node) and not self.replaces_one:
            value = None
        self.edits_of_one += 1
        self.it.one = plain(value)
        self.whole.one = value

    def take(self) -> None:
        """The whole object from elsewhere; with the policy "modified" what is equal stays."""
        policy = self.random.choice(["all", "modified"])
        own = self.whole
        values: list[Part] = [replaced(part) if self.random.random() < 0.8 else self.part() for part in own.items]
        values = values[:self.random.randint(0, len(values) + 2)] + [
            self.part() for _ in range(self.random.randint(0, 1))]
        entries = {key: replaced(part) if self.random.random() < 0.7 else self.part()
                   for key, part in own.table.items() if self.random.random() < 0.8}
        one = replaced(own.one) if self.random.random() < 0.7 else self.part()

        def taken(former: Part, value: Part) -> Part:
            return former if policy == "modified" and plain(former) == plain(value) else value

        data = Whole(values, entries, one).map(plain)
        if self.random.random() < 0.6:
            lines = json.dumps([{"id": self.it.id, **dataclasses.asdict(data)}])
            self.db.import_json(Keeper, text=lines, policy=policy)
        else:
            self.db.upsert(Keeper(id=self.it.id, items=data.items, table=data.table, one=data.one), policy=policy)
        own.items = [taken(former, value) for former, value in zip(own.items, values)] + values[len(own.items):]
        own.table = {key: taken(own.table[key], value) for key, value in entries.items()}
        own.one = taken(own.one, one)

    def edit(self, held: list[tuple[Any, Node]]) -> None:
        self.random.choice([lambda: self.nested(held), lambda: self.nested(held), self.around, self.around, self.keys,
                            self.property])()


# ----------------------------------------------------------------------------------------------------- The run

class World:
    def __init__(self, folder: pathlib.Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.origin = motte.open(folder / "origin.motte", schema=[Keeper])
        self.db = motte.open(folder / "copy.motte", schema=[Keeper])
        self.other = motte.open(folder / "copy.motte", schema=[Keeper])
        with self.origin.write():
            there = self.origin.add(Keeper(id=1))
        self.origin.keep_changes(0)
        self.db.apply(self.origin.changes_since(0))
        with self.db.write():
            mine = self.db.add(Keeper(id=2))
        copied = self.db.get(Keeper, 1)
        assert copied is not None
        #: Edited in another file, its copy, and what is edited here.
        self.there = Editor(self.origin, there, Whole(), self.random)
        self.copied = Editor(self.db, copied, Whole(), self.random)
        self.mine = Editor(self.db, mine, Whole(), self.random)
        self.pairs: dict[int, Node] = {}
        self.held: list[tuple[Any, Node]] = []
        self.elsewhere: list[tuple[Any, Node]] = []
        self.followers: list[tuple[Follower, Node]] = []

    def close(self) -> None:
        for db in (self.other, self.db, self.origin):
            db.close()

    def check(self) -> None:
        for editor in (self.copied, self.mine):
            assert plain(editor.it.items) == editor.whole.map(plain).items
            assert {key: plain(value) for key, value in editor.it.table.items()} == editor.whole.map(plain).table
            assert plain(editor.it.one) == plain(editor.whole.one)
        alive = {*self.copied.whole.nodes(), *self.mine.whole.nodes()}
        for handle, node in self.held:
            assert handle.is_valid == (node in alive), plain(node)
            if node in alive:
                assert plain(handle) == plain(node)
            else:
                with pytest.raises(errors.ObjectDeletedError):
                    len(handle)

    def check_elsewhere(self) -> None:
        """Others know of edits by the change log, which does not say all: what has not ended is what it was."""
        alive = {*self.copied.whole.nodes(), *self.mine.whole.nodes()}
        for handle, node in self.elsewhere:
            with contextlib.suppress(errors.ObjectDeletedError):
                assert plain(handle) == plain(node) and node in alive

    def hold(self) -> None:
        for editor in (self.copied, self.mine):
            there = [*editor.openable()]
            self.held += self.random.sample(there, min(3, len(there)))
        # What has ended goes on being looked at for a while.
        self.held = self.held[-40:]

    def observe(self) -> None:
        self.db.dispatch()
        alive = {*self.copied.whole.nodes(), *self.mine.whole.nodes()}
        for follower, node in self.followers:
            assert follower.ended == (node not in alive)
            if not follower.ended:
                assert [plain(part) for part in follower.content] == plain(node)
        for follower, node in [*self.followers]:
            if follower.ended or self.random.random() < 0.1:
                follower.token.stop()
                self.followers.remove((follower, node))
        if self.held and len(self.followers) < 6:
            handle, node = self.random.choice(self.held)
            if node in alive:
                self.followers.append((Follower(handle), node))
                self.db.dispatch()

    def hold_elsewhere(self) -> None:
        self.other.refresh()
        self.check_elsewhere()
        for editor in (self.copied, self.mine):
            it = self.other.get(Keeper, editor.it.id)
            assert it is not None
            there = [*Editor(self.other, it, editor.whole, self.random).openable()]
            self.elsewhere += self.random.sample(there, min(2, len(there)))
        self.elsewhere = self.elsewhere[-20:]

    # ------------------------------------------------------------------------------------------------- Steps

    def own(self, is_cancelled: bool) -> None:
        self.mine.replaces_one = True
        restore, before = self.mine.whole.saved(), len(self.held)
        with contextlib.suppress(Undone):
            with self.db.write():
                for _ in range(self.random.randint(1, 4)):
                    if self.random.random() < 0.25:
                        self.block()
                    elif self.random.random() < 0.25:
                        self.mine.take()
                    else:
                        self.mine.edit(self.held)
                    if self.random.random() < 0.3:
                        self.hold_within()
                    self.check()
                if is_cancelled:
                    restore()
                    raise Undone
        if is_cancelled:
            self.forget(before)

    def hold_within(self) -> None:
        there = [*self.mine.openable()]
        self.held += self.random.sample(there, min(2, len(there)))

    def block(self) -> None:
        restore, before = self.mine.whole.saved(), len(self.held)
        with contextlib.suppress(Undone):
            with self.db.write():
                for _ in range(self.random.randint(1, 2)):
                    self.mine.edit(self.held)
                self.hold_within()
                self.check()
                restore()
                raise Undone
        self.forget(before)

    def forget(self, before: int) -> None:
        """What was opened in what was undone has ended if something had changed by then, also where the list is there
        again."""
        alive = {*self.mine.whole.nodes()}
        kept = []
        for handle, node in self.held[before:]:
            assert node in alive or not handle.is_valid
            if node not in alive or handle.is_valid:
                kept.append((handle, node))
        self.held[before:] = kept

    def undo(self) -> None:
        mine = self.mine
        mine.edits_of_one, mine.replaces_one = 0, False
        before, former = self.db.freeze(), mine.whole.map(image)
        with self.db.write():
            for _ in range(self.random.randint(1, 3)):
                mine.edit(self.held)
        self.check()
        batch = self.db.changes_since(before)
        for _ in range(self.random.randint(1, 3)):
            # There and back, as often as one likes.
            batch = batch.inverse()
            now = mine.whole.map(image)
            known = images_of(mine.whole)
            bring(mine.whole, former, {node.uid: node for node in mine.whole.nodes()}, known)
            self.db.apply(batch)
            self.check()
            former = now

    def ship(self) -> None:
        """What another file does in a few writes."""
        there = self.there
        there.edits_of_one, there.replaces_one = 0, False
        known = images_of(there.whole)
        for _ in range(self.random.randint(1, 2)):
            with self.origin.write():
                for _ in range(self.random.randint(1, 3)):
                    there.edit([])
        version = self.db.applied_version(self.origin.origin) or 0
        self.pairs = bring(self.copied.whole, there.whole.map(image), self.pairs, known)
        self.db.apply(self.origin.changes_since(version))

    def step(self) -> None:
        kind = self.random.randrange(10)
        if kind < 3:
            self.own(is_cancelled=False)
        elif kind == 3:
            self.own(is_cancelled=True)
        elif kind < 7:
            self.undo()
        else:
            self.ship()
        self.check()
        self.observe()
        self.hold()
        self.check()
        if self.random.random() < 0.4:
            self.hold_elsewhere()


@pytest.mark.parametrize("seed", range(10))
def test_held_lists_stay_themselves(tmp_path: pathlib.Path, seed: int) -> None:
    world = World(tmp_path, seed)
    with contextlib.closing(world):
        for _ in range(STEPS):
            world.step()
        assert world.db.verify().is_sound and world.origin.verify().is_sound
