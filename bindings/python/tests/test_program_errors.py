"""What a function of the program raises is not taken for an answer: the end of a list, a key that is not there."""
from __future__ import annotations

import collections
import collections.abc
import datetime
import enum
import gc
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

import motte
from motte import errors


class Color:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Color) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


KNOWN = {1: "red", 2: "green", 3: "blue"}


def store(color: Color) -> int:
    return next(number for number, name in KNOWN.items() if name == color.name)


def load(number: int) -> Color:
    return Color(KNOWN[number])


motte.converter(Color, int, store=store, load=load)


class Box(motte.Model):
    id: int = motte.field(primary_key=True)
    color: Color = motte.field(default_factory=lambda: Color("red"))
    by: dict[str, Color] = motte.field(default_factory=dict)
    tags: list[str] = motte.field(default_factory=list)
    friends: list[Box] = motte.field(default_factory=list)


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory="errors of programs", schema=[Box]) as opened:
        with opened.write():
            boxes = opened.add_all([Box(id=number, color=Color(name), tags=[f"k{name}"] if number != 3 else [])
                                    for number, name in KNOWN.items()])
            boxes[0].friends = boxes
            boxes[0].by = {"a": Color("red"), "b": Color("blue")}
        yield opened


def test_a_key_that_raises_leaves_a_list_as_it_is(db: motte.Database) -> None:
    friends = db.one(Box, 1).friends
    with pytest.raises(StopIteration), db.write():
        friends.sort(key=lambda box: next(tag for tag in box.tags if tag.startswith("k")))
    with db.write():
        with pytest.raises(StopIteration):
            friends.sort(key=lambda box: next(tag for tag in box.tags if tag.startswith("k")), reverse=True)
    assert [box.id for box in friends] == [1, 2, 3]


def test_arguments_are_converted_or_raise(db: motte.Database) -> None:
    unknown, red, green = Color("mauve"), Color("red"), Color("green")
    boxes = db.objects(Box)
    uses: list[Callable[[], Any]] = [
        lambda: len(boxes.where("color IN $0", [unknown, red, green])),
        lambda: len(boxes.where(Box.color.in_([unknown] + [red] * 101))),  # type: ignore[attr-defined]
        lambda: db.query(Box, "NOT color IN $0", [red]).bind([unknown, red, green]).count(),
        lambda: len(boxes.where("NOT color IN $0", [unknown, red, green]))]
    for place, use in enumerate(uses):
        with pytest.raises((StopIteration, RuntimeError)):
            print(place, use())
    assert len(boxes.where("NOT color IN $0", [red, green])) == 1


def test_values_of_maps_are_loaded_or_raise(db: motte.Database) -> None:
    by = db.one(Box, 1).by
    assert by.get("b") == Color("blue") and ("b", Color("blue")) in by.items() and by.get("c", 7) == 7
    del KNOWN[3]
    try:
        uses: list[Callable[[], Any]] = [
            lambda: by["b"], lambda: by.get("b"), lambda: ("b", Color("blue")) in by.items(), lambda: by.pop("b", None)]
        for place, use in enumerate(uses):
            with pytest.raises(KeyError, match="3"), db.write():
                print(place, use())
        assert "b" in by
    finally:
        KNOWN[3] = "blue"
    with db.write():
        assert by.pop("b") == Color("blue") and by.pop("b", 5) == 5
        with pytest.raises(KeyError):
            by.pop("b")


class Failure(enum.Enum):
    STOP = StopIteration
    INDEX = IndexError
    VALUE = ValueError
    WRONG_TYPE = errors.WrongTypeError
    OVERFLOW = errors.NumberOverflowError
    DELETED = errors.ObjectDeletedError
    CLOSED = errors.ClosedError


@pytest.mark.parametrize("failure", Failure)
def test_a_key_function_of_sections_answers_or_raises(db: motte.Database, failure: Failure) -> None:
    fails = False

    def key(box: Box) -> int:
        if fails:
            raise failure.value("no key")
        return box.id % 2
    sections = db.objects(Box).sectioned(key)
    section, box = sections[0], db.one(Box, 1)
    assert box in section and section.is_valid and sections.index(section) == 0
    with db.write():
        box.tags.append("x")
        db.add(Box(id=9))
    fails = True
    uses: list[Callable[[], Any]] = [
        lambda: len(section), lambda: box in section, lambda: section.index(box), lambda: sections.find(1),
        lambda: sections.index(section), lambda: [*sections.changes(0.1)], lambda: [*sections], lambda: sections.keys,
        section.freeze, sections.freeze]
    for place, use in enumerate(uses):
        with pytest.raises((failure.value, RuntimeError)) as caught:
            print(place, use())
        assert "no key" in str(caught.value) or isinstance(caught.value, RuntimeError) or failure is Failure.STOP
    # The collection that it is made of is there.
    assert section.is_valid
    fails = False
    assert len(section) == 3


def test_results_of_a_projection_are_made_or_raise(db: motte.Database) -> None:
    class Shown(motte.Projection[Box]):
        id: int

        def __init__(self, root: Any) -> None:
            super().__init__(root)
            if root.id == 2:
                raise StopIteration

    shown = db.objects(Box).project(Shown)
    for use in (lambda: [*shown], lambda: shown[0:3], lambda: shown[1]):
        with pytest.raises((StopIteration, RuntimeError)):
            use()


def test_keys_are_those_of_the_version_that_is_asked(db: motte.Database) -> None:
    frozen = db.freeze()
    even = frozen.objects(Box).sectioned(lambda box: len(box.tags)).find(1)
    assert even is not None and [box.id for box in even] == [1, 2]
    with db.write():
        db.one(Box, 1).tags.clear()
        db.one(Box, 3).tags.append("x")
        db.add(Box(id=0, tags=["new"]))
    inner = even.sectioned("id")
    for thing in (even, even.where("id >= 0"), inner[0]):
        with pytest.raises(errors.InvalidArgumentError, match="keys from there"):
            thing.thaw()
    thawed = frozen.objects(Box).sectioned(lambda box: len(box.tags)).thaw()
    assert thawed is not None and sorted(box.id for box in thawed.find(1) or ()) == [0, 2, 3]
    with db.write():
        db.one(Box, 2).tags.clear()
        assert sorted(box.id for box in thawed.freeze().find(1) or ()) == [0, 2, 3]
        db.one(Box, 2).tags.append("again")
    frozen.close()
    section = db.objects(Box).freeze().sectioned(lambda box: len(box.tags)).find(1)
    assert section is not None and sorted(box.id for box in section) == [0, 2, 3]
    live = db.objects(Box).sectioned(lambda box: len(box.tags)).find(1)
    for each in (section, live):
        with pytest.raises(errors.InvalidArgumentError, match="hand over the collection"):
            motte.Reference(each)
    motte.Reference(db.objects(Box).sectioned("id")[0])


def test_groups_of_a_section_are_observed_when_it_is_empty_for_a_while(db: motte.Database) -> None:
    section = db.objects(Box).sectioned(lambda box: len(box.tags)).find(0)
    assert section is not None and [box.id for box in section] == [3]
    received: list[Any] = []
    groups = section.group_by("id").count()
    observation = groups.observe(received.append)
    db.dispatch()
    with db.write():
        db.one(Box, 3).tags.append("x")
    assert len(section) == 0 and section.is_valid and len(section.freeze()) == 0
    with db.write():
        db.one(Box, 2).tags.clear()
    assert [group[0] for group in groups] == [2]
    assert [(change.deletions, change.insertions, change.is_deleted) for change in received[1:]] == [
        ([0], [], False), ([], [0], False)]
    observation.stop()


@pytest.mark.parametrize("is_frozen", [False, True])
def test_texts_are_copied_before_anything_else_runs(tmp_path: pathlib.Path, is_frozen: bool) -> None:
    """Code that runs as soon as the library has answered, as a finalizer may, closes the file."""
    path, text = tmp_path / "texts.motte", "a text that is long enough to be in a page of its own " * 20
    expected = [f"{text}{number}" for number in range(50)]
    with motte.open(path, schema=[Box]) as db, db.write():
        db.add_all([Box(id=number, tags=expected) for number in range(100)])
    uses: list[tuple[Callable[[Box], Any], Any]] = [
        (lambda box: box.tags[:], expected), (lambda box: box.tags[7], expected[7])]
    for use, wanted in uses:
        live = motte.open(path, schema=[Box])
        shown = live.freeze() if is_frozen else live
        box, closings = shown.one(Box, 5), 0

        def trace(frame: Any, event: str, argument: Any) -> None:
            nonlocal closings
            if frame.f_code.co_name in ("all", "first") and frame.f_code.co_filename.endswith("_convert.py"):
                sys.settrace(None)
                closings += 1
                shown.close()
                live.close()
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            found = use(box)
        finally:
            sys.settrace(before)
        assert found == wanted and closings == 1 and live.closed


def test_dicts_of_objects_have_all_elements_or_raise(tmp_path: pathlib.Path) -> None:
    class Part(motte.EmbeddedModel):
        name: str = ""
        color: Color = motte.field(default_factory=lambda: Color("red"))

    class Whole(motte.Model):
        id: int = motte.field(primary_key=True)
        parts: list[Part] = motte.field(default_factory=list)
    with motte.open(tmp_path / "parts.motte", schema=[Whole, Part]) as db:
        with db.write():
            whole = db.add(Whole(id=1, parts=[Part(name="a"), Part(name="b", color=Color("blue")), Part(name="c")]))
        assert len(whole.to_dict()["parts"]) == 3
        del KNOWN[3]
        try:
            with pytest.raises(KeyError):
                whole.to_dict()
        finally:
            KNOWN[3] = "blue"


def test_rows_have_all_their_values(db: motte.Database) -> None:
    class Line(collections.abc.Sequence):  # type: ignore[type-arg]
        def __init__(self, *values: Any) -> None:
            self.values = values

        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: Any) -> Any:
            return self.values[index]
    with db.write(), pytest.raises(errors.InvalidArgumentError, match="row 1 has 1 values"):
        db.insert_rows(Box, ["id", "tags"], [Line(20, ["a"]), Line(21), Line(22, ["b"])])
    assert len(db.objects(Box)) == 3


def test_a_set_gives_what_it_removes(tmp_path: pathlib.Path) -> None:
    class Files(motte.Model):
        id: int = motte.field(primary_key=True)
        files: set[pathlib.Path] = motte.field(default_factory=set)
    with motte.open(tmp_path / "files.motte", schema=[Files]) as db:
        db.import_json(Files, text='[{"id": 1, "files": ["a//b", "c"]}]')
        with db.write():
            files = db.one(Files, 1).files
            assert [files.pop(), files.pop()] == [pathlib.Path("a/b"), pathlib.Path("c")] and len(files) == 0
            with pytest.raises(KeyError):
                files.pop()


def test_a_loop_has_all_objects_or_raises(tmp_path: pathlib.Path) -> None:
    class Counted(motte.Model):
        id: int = motte.field(primary_key=True)
        n: int = 0
        is_armed, made = False, 0

        def __new__(cls, **values: Any) -> Any:
            cls.made += 1
            if cls.is_armed and cls.made == 3:
                raise StopIteration
            return super().__new__(cls)
    with motte.open(tmp_path / "counted.motte", schema=[Counted]) as db:
        with db.write():
            db.add_all([Counted(id=number) for number in range(5)])
        Counted.is_armed = True
        try:
            for use in (lambda: [*db.objects(Counted)], lambda: db.objects(Counted)[0:5]):
                Counted.made = 0
                with pytest.raises((RuntimeError, StopIteration)):
                    use()
            Counted.made = 0
            with pytest.raises(RuntimeError), db.write():
                db.objects(Counted).update(n=lambda each: 7)
        finally:
            Counted.is_armed = False
        assert db.objects(Counted).column("n") == [0] * 5


def test_defaults_of_any_kind_of_list_are_copied() -> None:
    class Marked(motte.Model):
        id: int = motte.field(primary_key=True)
        marks: dict[str, int] = collections.OrderedDict()
    with motte.open(in_memory="defaults of any kind", schema=[Marked]) as db, db.write():
        one = Marked(id=1)
        one.marks["a"] = 1
        db.add(one)
        assert dict(db.add(Marked(id=2)).marks) == {} and dict(one.marks) == {"a": 1}


@pytest.mark.parametrize("kind", ["coroutine", "generator"])
def test_a_migration_that_has_not_run_is_refused(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "migrated.motte"
    with motte.open(path, schema="P { id: int key, first: string }", schema_version=1) as db, db.write():
        db.add(db.model("P")(id=1, first="Ada"))

    async def later(migration: motte.Migration) -> None:
        migration.new.one("P", 1).name = "never"

    def steps(migration: motte.Migration) -> Any:
        yield migration
    migrate: Any = steps if kind == "generator" else lambda migration: later(migration)
    with pytest.raises(errors.WrongTypeError, match="plain function"):
        motte.open(path, schema="P { id: int key, name: string }", schema_version=2, migration=migrate)
    with motte.open(path, schema="P { id: int key, first: string }", schema_version=1) as db:
        assert db.one("P", 1).first == "Ada"


def test_an_object_that_is_stored_while_others_are_made_is_not_lost(tmp_path: pathlib.Path) -> None:
    armed: list[Callable[[], Any]] = []

    class Zone(datetime.tzinfo):
        def utcoffset(self, when: Any) -> datetime.timedelta:
            if armed:
                armed.pop()()
            return datetime.timedelta(0)

        def dst(self, when: Any) -> None:
            return None

    class Event(motte.Model):
        id: int = motte.field(primary_key=True)
        at: datetime.datetime
    with motte.open(tmp_path / "events.motte", schema=[Event]) as db, db.write():
        one, other = (Event(id=number, at=datetime.datetime(2024, 1, 1, tzinfo=Zone())) for number in (1, 2))
        armed.append(lambda: db.add(one))
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add_all([one, other])
        # All is undone, also what came in between, and can be stored.
        assert not one.is_stored and db.count(Event) == 0
        db.add_all([one, other])
        assert db.count(Event) == 2 and db.get(Event, 1) == one


def test_errors_have_their_own_texts_whatever_fails_meanwhile(db: motte.Database) -> None:
    closed = motte.open(in_memory="closed", schema=[Box])
    gone = closed.objects(Box)
    closed.close()

    class Caller:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            try:
                len(gone)
            except errors.ClosedError:
                pass
    # At nearly each allocation.
    thresholds = gc.get_threshold()
    gc.set_threshold(10, 2, 2)
    try:
        for number in range(100):
            Caller()
            with pytest.raises(errors.UnknownPropertyError) as caught:
                len(db.objects(Box).where(f"nosuch{number} == 1"))
            # Another failure in between leaves the general sentence of the error.
            assert f"nosuch{number}" in str(caught.value) or caught.value.property_name is None
    finally:
        gc.set_threshold(*thresholds)
