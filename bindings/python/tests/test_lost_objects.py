"""Objects of what was undone are gone for good, also when another process gives their keys to objects of its own."""
from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import motte
from motte import errors

PROGRAM = """
import motte, sys
db = motte.open(sys.argv[1])
with db.write():
    for name in ("Note", "Bell", "Named"):
        for number in range(5):
            db.add(db.model(name)(name=f"of another process, {sys.argv[2]}{number}"))
"""


class Note(motte.Model):
    name: str = ""
    size: int = 0


class Bell(motte.Model):
    name: str = ""


class Named(motte.Model):
    name: str = motte.field(primary_key=True)


class Alarm(BaseException):
    pass


class Own(Exception):
    pass


class Home:
    """A file, and what others do with it."""

    def __init__(self, path: Path) -> None:
        self.path, self._turns = path, 0
        self.db = motte.open(path, schema=[Note, Bell, Named])
        #: What was obtained in a write, or in a part of one, that was undone.
        self.seen: list[Any] = []
        self.watching: list[motte.Observation] = []

    def another_process(self) -> None:
        self._turns += 1
        subprocess.run([sys.executable, "-c", PROGRAM, str(self.path), str(self._turns)], check=True)

    def observing(self, *callbacks: Callable[[], None]) -> None:
        """They are called in the next write that begins, each once."""
        for model, callback in zip((Note, Bell), callbacks):
            waiting = [callback]

            def called(changes: motte.Changes, waiting: list[Callable[[], None]] = waiting) -> None:
                if self.db.in_write and waiting:
                    waiting.pop()()
            self.watching.append(self.db.objects(model).observe(called))
        self.db.dispatch()
        self.another_process()

    def obtain(self) -> None:
        """Objects of every origin."""
        db = self.db
        self.seen += [db.create_or_update(Named, name="mine"), db.add(Note(name="mine"))]
        db.import_data(Bell, [{"name": "mine"}])
        self.seen += [db.objects(Bell).last(), db.objects(Note).where("name == 'mine'")[0]]


@pytest.fixture
def home(path: Path) -> Iterator[Home]:
    made = Home(path)
    yield made
    made.db.close()


def fail() -> None:
    raise Own


def interrupt() -> None:
    raise Alarm


# ------------------------------------------------------------------------------------------------ what undoes


def a_block(home: Home) -> None:
    with pytest.raises(Own), home.db.write():
        home.obtain()
        fail()


def an_inner_block(home: Home) -> None:
    with home.db.write():
        with pytest.raises(Own), home.db.write():
            home.obtain()
            fail()


def the_block_around(home: Home) -> None:
    """A part of the write that was undone by itself has seen what the rest of it has made."""
    with pytest.raises(Own), home.db.write():
        home.obtain()
        with pytest.raises(Own), home.db.write():
            home.seen += [home.db.objects(model).last() for model in (Note, Bell, Named)]
            fail()
        fail()


def an_interrupt_as_it_begins(home: Home) -> None:
    home.observing(home.obtain, interrupt)
    with pytest.raises(Alarm), home.db.write():
        raise AssertionError("it began")


def an_interrupt_as_it_begins_later(home: Home) -> None:
    async def write() -> None:
        async with home.db.write():
            raise AssertionError("it began")
    home.observing(home.obtain, interrupt)
    # Without an event loop around it, which has its own ways with interrupts.
    steps, loop = write(), asyncio.new_event_loop()
    asyncio._set_running_loop(loop)
    try:
        with pytest.raises(Alarm):
            steps.send(None)
    finally:
        asyncio._set_running_loop(None)
        loop.close()


def an_interrupt_after_a_look(home: Home) -> None:
    """What is looked at while the write begins may be lost all the same."""
    home.observing(lambda: (home.obtain(), [each.name for each in home.seen]) and None, interrupt)
    with pytest.raises(Alarm), home.db.write():
        raise AssertionError("it began")


def an_observer(home: Home) -> None:
    home.observing(lambda: home.obtain() or fail())
    with home.db.write():
        pass


def an_observer_beside_others(home: Home) -> None:
    """The write goes on, and makes objects of its own."""
    home.observing(lambda: home.db.add(Note(name="kept")) and None, lambda: home.obtain() or fail())
    with home.db.write():
        home.db.add(Bell(name="kept"))
    assert home.db.objects(Note).column("name").count("kept") == 1


def a_call(home: Home) -> None:
    """Code of the program runs in the middle of it."""
    def change(note: Note) -> int:
        home.obtain()
        raise Own
    with home.db.write():
        home.db.add(Note())
    with home.db.write():
        with pytest.raises(Own):
            home.db.objects(Note).update(size=change)
        home.db.objects(Note)[0].size = 3


def a_block_in_a_call(home: Home) -> None:
    def change(note: Note) -> int:
        with home.db.write():
            home.obtain()
        raise Own
    with home.db.write():
        home.db.add(Note())
        with pytest.raises(Own):
            home.db.objects(Note).update(size=change)
        home.db.objects(Note)[0].size = 3


def a_call_in_a_block(home: Home) -> None:
    """That was kept, or undone by itself, before the block was undone."""
    def change(note: Note) -> int:
        home.obtain()
        if len(home.seen) > 4:
            raise Own
        return 3
    with home.db.write():
        home.db.add(Note())
        with pytest.raises(Own), home.db.write():
            home.db.objects(Note).update(size=change)
            with pytest.raises(Own):
                home.db.objects(Note).update(size=change)
            home.seen += [home.db.objects(Bell).last()]
            fail()


@pytest.mark.parametrize("commit_every", [0, 2])
def test_what_an_import_has_undone_is_gone(home: Home, commit_every: int) -> None:
    def look(done: int, total: int) -> None:
        home.seen.append(home.db.objects(Note).last())
        if done >= 5:
            raise Own
    text = "".join(f'{{"name": "{number}"}}\n' for number in range(9))
    with home.db.write():
        with pytest.raises(Own):
            home.db.import_json(
                Note, text=text, batch_rows=1, commit_every=commit_every, progress=look)
    left = len(home.db.objects(Note))
    home.another_process()
    home.db.refresh()
    seen = [note for note in home.seen if note is not None]
    assert len(seen) > 2 and left >= commit_every
    assert not [note.name for note in seen if note.is_valid and note.name.startswith("of another process")]


def on_commit(home: Home) -> None:
    """What it looks at meanwhile is lost all the same."""
    def refuse(batch: motte.ChangeBatch) -> None:
        for each in home.seen:
            with pytest.raises(errors.ReentrantError):
                print(each.name)
        raise Own
    home.db.on_commit(refuse)
    with pytest.raises(Own), home.db.write():
        home.obtain()
    home.db.on_commit(None)


def a_queued_write(home: Home) -> None:
    """The next one looks at what the one before it has made."""
    def look(db: motte.Database) -> list[bool]:
        return [each.is_valid for each in home.seen]
    futures = [home.db.queue_write(lambda db: home.obtain()), home.db.queue_write(look)]
    left = 1

    def refuse(batch: motte.ChangeBatch) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise Own
    home.db.on_commit(refuse)
    home.db.dispatch()
    assert type(futures[0].exception(0)) is Own and not any(futures[1].result(0))
    home.db.on_commit(None)


@pytest.mark.parametrize("undo", [
    a_block, an_inner_block, the_block_around, an_interrupt_as_it_begins, an_interrupt_as_it_begins_later,
    an_interrupt_after_a_look, an_observer, an_observer_beside_others, a_call,
    a_block_in_a_call, a_call_in_a_block, on_commit, a_queued_write])
def test_what_was_undone_is_gone(
    home: Home, undo: Callable[[Home], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: None)
    undo(home)
    assert len(home.seen) >= 4 and not home.db.in_write and home.db._write is None and home.db._seen is None
    home.another_process()
    home.db.refresh()
    with home.db.write():
        for each in home.seen:
            # What was added is in no database again where the call, or the observer, has added it.
            if each.is_stored:
                assert not each.is_valid, each
                with pytest.raises(errors.ObjectDeletedError):
                    each.name = "overwritten"
    for model in (Note, Bell, Named):
        assert "overwritten" not in home.db.objects(model).column("name")


def test_what_was_not_undone_stays(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside what was, in the same write."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: None)
    db = home.db
    home.observing(home.obtain, fail)
    with db.write():
        before = db.add(Note(name="before"))
        for _ in range(3):
            with pytest.raises(Own), db.write():
                assert before.name == "before" and db.objects(Note).where("name == 'before'")[0] == before
                db.add(Note(name="lost"))
                fail()
            home.seen.append(db.add(Note(name="after")))
        with db.write():
            home.seen += [before, db.create_or_update(Named, name="inside")]
    home.another_process()
    db.refresh()
    assert [each.name for each in home.seen] == ["mine"] * 4 + ["after"] * 3 + ["before", "inside"]


def test_a_deletion_that_was_undone(home: Home) -> None:
    """Objects that are there again are no lost ones, also beside calls that were undone meanwhile."""
    db = home.db

    def change(note: Note) -> int:
        raise Own
    with db.write():
        db.add_all([Note(name="first"), Note(name="last")])
    with db.write():
        last = db.objects(Note).last()
        with pytest.raises(Own), db.write():
            again = db.objects(Note).last()
            assert again == last
            db.delete(db.objects(Note).where("name == 'last'"))
            with pytest.raises(Own):
                db.objects(Note).update(size=change)
            fail()
        assert last is not None and again is not None and last.name == again.name == "last"
    assert last.name == again.name == "last" and last == again


# ------------------------------------------------------------------------------------------------ ends


def test_a_commit_that_is_interrupted_leaves_what_others_write(home: Home) -> None:
    """An observer that the commit has called may have a block of its own open when it is interrupted."""
    db, held = home.db, []

    def write(changes: motte.Changes) -> None:
        if changes.insertions and not held:
            held.append(db.write())
            held[0].__enter__()
            db.add(Note(name="observer's"))
            raise Alarm
    home.watching.append(db.objects(Note).observe(write))
    db.dispatch()
    with pytest.raises(Alarm), db.write() as block:
        own = db.add(Note(name="own"))
    assert not block.was_cancelled and not block.is_open and own.is_valid
    assert db.in_write and held[0].is_open and db.objects(Note).column("name") == ["own", "observer's"]
    held[0].__exit__(None, None, None)
    assert not held[0].was_cancelled and not db.in_write and own.name == "own"
    assert db.objects(Note).column("name") == ["own", "observer's"]


def test_a_wrong_call_of_the_end_ends_nothing(home: Home) -> None:
    with home.db.write() as block:
        note = home.db.add(Note(name="own"))
        for wrong in ((), (None,), (None, None, None, None)):
            for end in (block.__exit__, block.__aexit__):
                with pytest.raises(TypeError, match="a type, an error and its traceback"):
                    end(*wrong)
        assert block.is_open and home.db.in_write
    assert note.name == "own" and not block.was_cancelled


def test_an_interrupt_on_the_way_to_the_queue(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not made has an end all the same."""
    from motte import handover

    def interrupted(*given: Any) -> None:
        raise Alarm
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraised: reported.append(unraised.exc_value))
    monkeypatch.setattr(handover.weakref, "ref", interrupted)
    with pytest.raises(Alarm):
        home.db.queue_write(lambda db: None)
    monkeypatch.undo()
    assert reported == []


def test_an_interrupt_from_on_commit_is_that_of_the_future(home: Home) -> None:
    def refuse(batch: motte.ChangeBatch) -> None:
        raise Alarm("from on_commit")
    home.db.on_commit(refuse)
    future = home.db.queue_write(lambda db: db.add(Note()))
    with pytest.raises(Alarm):
        home.db.dispatch()
    home.db.on_commit(None)
    assert type(future.exception(0)) is Alarm and home.db.count(Note) == 0


def test_an_interrupt_while_failures_are_reported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is told to somebody."""
    reported: list[str] = []

    def report(error: Exception) -> None:
        reported.append(str(error))
        if len(reported) == 1:
            raise Alarm
    for number in range(4):
        def observer(changes: motte.Changes, number: int = number) -> None:
            raise Own(f"{number}")
        home.watching.append(home.db.objects(Note).observe(observer))
    monkeypatch.setattr(motte._callbacks, "report", report)
    with pytest.raises(Alarm):
        home.db.dispatch()
    monkeypatch.undo()
    assert sorted(reported) == ["0", "1", "2", "3"]
