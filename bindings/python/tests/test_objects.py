"""The module in C behind objects: what it takes, what it leaves to Python's layers, and that nothing done wrong ends
the process or keeps memory."""
from __future__ import annotations

import copy
import enum
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import tracemalloc
import uuid
import weakref
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import _objects, errors


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Lair(motte.EmbeddedModel):
    city: str = ""


class Hound(motte.Model):
    name: str = motte.field(primary_key=True)
    age: int = 0
    friend: Optional[Hound] = None


class Sample(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    small: motte.Int8 = 0
    score: float = 0.0
    single: motte.Float32 = 0.0
    active: bool = False
    photo: Optional[bytes] = None
    seen: Optional[datetime] = None
    price: Optional[Decimal] = None
    token: Optional[uuid.UUID] = None
    mark: Optional[motte.ObjectId] = None
    color: Optional[Color] = None
    dog: Optional[Hound] = None
    home: Optional[Lair] = None
    anything: motte.Mixed = None
    tags: list[str] = motte.field(default_factory=list)


class Careful(motte.Model):
    """With everything that a class of Python's may have of its own."""

    id: int = motte.field(primary_key=True)
    name: str = ""
    made = 0

    def __new__(cls, **values: Any) -> Careful:
        cls.made += 1
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.strip() if isinstance(value, str) else value)

    @property
    def title(self) -> str:
        return self.name.title()


MODELS = [Sample, Hound, Lair, Careful]
WHEN = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=timezone.utc)


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory="objects", schema=MODELS) as database:
        yield database


def every_value(id_: int, dog: Optional[Hound] = None) -> dict[str, Any]:
    return {
        "id": id_, "name": "Zoë 🐕", "small": -7, "score": 0.1, "single": 0.5, "active": True, "photo": b"\0\1",
        "seen": WHEN, "price": Decimal("1.50"), "token": uuid.UUID(int=7), "mark": motte.ObjectId(bytes(range(12))),
        "color": Color.BLUE, "dog": dog, "anything": 5}


# ------------------------------------------------------------------------------------------------ values


def test_every_type_is_the_same_by_each_way_in_and_out(db: motte.Database) -> None:
    with db.write():
        dog = db.add(Hound(name="Rex"))
        one = db.add(Sample(**every_value(1, dog)))
        db.add_all([Sample(**every_value(2, dog)), Sample(**every_value(3, dog))])
        assigned = db.add(Sample(id=4))
        for name, value in every_value(4, dog).items():
            if name != "id":
                setattr(assigned, name, value)
    for person in db.objects(Sample):
        wanted = {**every_value(person.id, dog), "home": None, "tags": []}
        assert {name: getattr(person, name) for name in wanted} == wanted
        assert person.to_dict() == wanted and list(person.to_dict()) == list(Sample._declared())
    assert db.get(Sample, 1) == one and db.get(Sample, 9) is None and db.get(Hound, "Rex") == dog
    with db.write():
        for name in every_value(4, dog):
            if name not in ("id", "name", "small", "score", "single", "active"):
                setattr(one, name, None)
                assert getattr(one, name) is None, name


@pytest.mark.parametrize(("name", "value", "kind"), [
    ("name", "\ud800", errors.InvalidUTF8Error),
    ("small", 128, errors.NumberOverflowError),
    ("small", 1 << 70, errors.NumberOverflowError),
    ("small", "7", errors.WrongTypeError),
    ("small", None, errors.NullNotAllowedError),
    ("score", 1 << 60 | 1, errors.NumberOverflowError),
    ("score", "1", errors.WrongTypeError),
    ("single", 1e300, errors.NumberOverflowError),
    ("active", 1, errors.WrongTypeError),
    ("photo", "text", errors.WrongTypeError),
    ("seen", datetime(2024, 1, 1), errors.WrongTypeError),
    ("seen", datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), errors.NumberOverflowError),
    ("color", "green", errors.WrongTypeError),
])
def test_what_does_not_fit_is_refused_with_its_name_and_changes_nothing(
    db: motte.Database, name: str, value: Any, kind: type[errors.Error]
) -> None:
    def refused(change: Callable[[], Any]) -> None:
        with pytest.raises(kind, match=f"Sample.{name}"):
            change()

    with db.write():
        person = db.add(Sample(**every_value(1)))
        before = person.to_dict()
        refused(lambda: setattr(person, name, value))
        for change in (lambda: db.add(Sample(id=2, **{name: value})),
                       lambda: db.add_all([Sample(id=2), Sample(id=3, **{name: value})])):
            refused(change)
        assert person.to_dict() == before and db.count(Sample) == 1


def test_floats_that_are_no_numbers_come_back(db: motte.Database) -> None:
    with db.write():
        person = db.add(Sample(id=1, score=float("nan"), single=float("-inf")))
        assert person.score != person.score and person.single == float("-inf")
        person.score = 3
        assert person.score == 3.0 and type(person.score) is float


def test_an_object_that_is_twice_in_a_list_is_added_once(db: motte.Database) -> None:
    with db.write():
        dog = Hound(name="Rex")
        db.add_all([dog, Hound(name="Fido"), dog])
        assert sorted(each.name for each in db.objects(Hound)) == ["Fido", "Rex"]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 50])
def test_lists_of_every_size_are_all_or_nothing(
    db: motte.Database, request: pytest.FixtureRequest, count: int
) -> None:
    """Several calls of the library beyond so many values."""
    request.addfinalizer(lambda: _objects.configure(most_values=1 << 20))
    _objects.configure(most_values=6)
    dogs = [Hound(name=str(number)) for number in range(count)]
    with db.write():
        db.add(Hound(name="before"))
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add_all([*dogs, Hound(name="0")])
        assert db.count(Hound) == 1 and not dogs[0].is_stored and dogs[0].name == "0"
        assert db.add_all(dogs) == dogs
        assert db.count(Hound) == count + 1 and dogs[-1].name == str(count - 1)
        # No key again that an object had which is gone.
        assert dogs[1].object_key == dogs[0].object_key + 1


# ------------------------------------------------------------------------------------------------ whose it is


def test_objects_of_a_cancelled_write_are_gone_also_within_a_loop(db: motte.Database) -> None:
    with db.write() as write:
        added = db.add(Hound(name="a"))
        several = db.add_all([Hound(name="b"), Hound(name="c")])
        loop = iter(db.objects(Hound))
        next(loop)
        write.cancel()
    with db.write():
        db.add_all([Hound(name=name) for name in "uvw"])
    for lost in (added, *several, *loop):
        with pytest.raises(errors.ObjectDeletedError):
            lost.name
        with pytest.raises(errors.ObjectDeletedError), db.write():
            lost.age = 1
        with pytest.raises(errors.ObjectDeletedError):
            lost.to_dict()


def test_deleted_closed_and_foreign_objects_say_so(db: motte.Database) -> None:
    with db.write():
        dog, gone = db.add(Hound(name="Rex")), db.add(Hound(name="Fido"))
        db.delete(gone)
        for use in (lambda: gone.age, lambda: setattr(gone, "age", 1), gone.to_dict):
            with pytest.raises(errors.ObjectDeletedError):
                use()
    with pytest.raises(errors.NotInWriteError):
        dog.age = 3
    with pytest.raises(errors.NotInWriteError):
        db.add(Hound(name="later"))
    with pytest.raises(errors.NotInWriteError):
        db.add_all([Hound(name="later"), Hound(name="much later")])
    failures: list[BaseException] = []

    def elsewhere() -> None:
        for use in (lambda: dog.age, dog.to_dict, lambda: db.get(Hound, "Rex"), lambda: list(db.objects(Hound))):
            try:
                use()
            except errors.Error as error:
                failures.append(error)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [type(each) for each in failures] == [errors.WrongThreadError] * 4
    loop = iter(db.objects(Hound))
    db.close()
    for use in (lambda: dog.age, dog.to_dict, lambda: db.get(Hound, "Rex"), lambda: next(loop).age):
        with pytest.raises((errors.ClosedError, errors.UnknownClassError)):
            use()


def test_frozen_objects_are_for_every_thread_at_once(db: motte.Database) -> None:
    with db.write():
        db.add_all([Hound(name=str(number), age=number) for number in range(500)])
    frozen = db.objects(Hound).freeze()
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(sum(dog.age for dog in frozen for _ in dog.to_dict()) // 3))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [sum(range(500))] * 4


# ------------------------------------------------------------------------------------------------ wrong use


def test_classes_of_ones_own_keep_their_say(db: motte.Database) -> None:
    with db.write():
        careful = db.add(Careful(id=1, name="ada"))
        careful.name = " ada lovelace "
        careful._note = "kept"
    assert careful.title == "Ada Lovelace" and careful._note == "kept"
    before = Careful.made
    assert [each.title for each in db.objects(Careful)] == ["Ada Lovelace"] and Careful.made == before + 1
    with pytest.raises(AttributeError, match="did you mean 'name'"):
        careful.nam = "x"  # type: ignore[attr-defined]


def test_classes_with_slots_and_metaclasses_work(db: motte.Database) -> None:
    class Meta(type(motte.Model)):  # type: ignore[misc]
        def __eq__(cls, other: object) -> bool:
            raise RuntimeError("asked whether classes are equal")

        __hash__ = type.__hash__

    class Slim(motte.Model):
        __slots__ = ("_extra",)
        id: int
        name: str = ""

    class Odd(Slim, metaclass=Meta):
        age: int = 0

    with motte.open(in_memory="slim", schema=[Slim, Odd]) as other, other.write():
        slim, odd = other.add(Slim(id=1)), other.add(Odd(id=2, age=5))
        slim._extra = slim
        other.add_all([Odd(id=3), Odd(id=4)])
        assert [each.id for each in other.objects(Odd)] == [2, 3, 4] and odd.to_dict()["age"] == 5
        slim.name, odd.name = "a", "b"
        assert (slim.name, odd.name) == ("a", "b") and slim._extra is slim
        with pytest.raises(TypeError):
            odd.__class__ = Hound  # type: ignore[assignment]
        odd.__class__ = Odd


def test_a_class_may_hide_a_property_of_its_base() -> None:
    class Hiding(Hound):
        age = property(lambda self: 99)  # type: ignore[assignment]
    with motte.open(in_memory="hiding", schema=[Hiding, Hound]) as db, db.write():
        dog = db.add(Hiding(name="Rex", friend=None))
        assert dog.age == 99 and dog.to_dict()["age"] == 99


def test_objects_and_descriptors_misused_raise(db: motte.Database) -> None:
    with db.write():
        dog = db.add(Hound(name="Rex"))
    bare = Hound.__new__(Hound)
    for use in (lambda: bare.age, lambda: setattr(bare, "age", 1), lambda: delattr(dog, "age"),
                lambda: delattr(Hound(name="x"), "age")):
        with pytest.raises(AttributeError):
            use()
    assert repr(Hound.age) and Hound.__dict__["age"].__get__(None, Hound) is not None
    descriptor: Any = Hound.__dict__["age"]
    for wrong in (5, object(), Color.RED):
        with pytest.raises(TypeError):
            descriptor.__get__(wrong, int)
        with pytest.raises(TypeError):
            descriptor.__set__(wrong, 1)
    raw: Any = dog
    for name, value in (("_row", 5), ("_key", "x"), ("_values", 5)):
        with pytest.raises(TypeError):
            setattr(raw, name, value)
    stray: Any = Hound(name="x")
    stray._row = _objects.Row()
    with pytest.raises(AttributeError):
        stray.age
    with pytest.raises(TypeError):
        _objects.Cursor()
    for call in (lambda: _objects.add(), lambda: _objects.iterated(1, 2),  # type: ignore[call-arg]
                 lambda: _objects.element_of(db._row_of(Hound), -1, 0), lambda: _objects.shown(5),
                 lambda: _objects.Row()._bind(db, 1, 1, int, 0, ()), lambda: _objects.add_all(db, ())):
        with pytest.raises((TypeError, OverflowError)):
            call()
    assert _objects.iterated(db._row_of(Hound), 12345) is NotImplemented
    assert _objects.objects_of(db._row_of(Hound), 0, 0, 5) is NotImplemented
    assert _objects.add(5, 5) is False and _objects.find(db, int, 1) is NotImplemented
    with pytest.raises(TypeError, match="by name"):
        Hound("Rex")  # type: ignore[misc]


def test_objects_are_copied_pickled_and_referred_to_weakly(db: motte.Database) -> None:
    dog = Hound(name="Rex", age=3)
    assert pickle.loads(pickle.dumps(dog)).age == 3 and copy.copy(dog).name == "Rex"
    reference = weakref.ref(dog)
    with db.write():
        db.add(dog)
    with pytest.raises(TypeError, match="to_dict"):
        pickle.dumps(dog)
    del dog
    gc.collect()
    assert reference() is None


def test_a_value_may_drop_the_object_that_it_is_read_from(db: motte.Database) -> None:
    class Dropping(str):
        pass

    with db.write():
        people = [Sample(id=1, name="x" * 100, color=Color.RED, seen=WHEN)]
        original = datetime.__sub__
        assert original is not None
        db.add(people[0])
        holder = {"person": db.get(Sample, 1)}
        assert holder["person"] is not None
        assert holder.pop("person").color is Color.RED  # type: ignore[union-attr]
        people[0].name = Dropping("of a subclass")
        assert people[0].name == "of a subclass" and type(people[0].name) is str


# ------------------------------------------------------------------------------------------------ memory


def test_circles_are_collected(db: motte.Database) -> None:
    def circles() -> list[Any]:
        unmanaged = Hound(name="a")
        unmanaged.friend = Hound(name="b", friend=unmanaged)
        named = Hound(name="c")
        named.friend = named
        stored = next(iter(db.objects(Hound)))
        stored._self = stored
        loop = iter(db.objects(Hound))
        stored._loop = loop
        return [weakref.ref(each) for each in (unmanaged, unmanaged.friend, named, stored)]

    with db.write():
        db.add_all([Hound(name="x"), Hound(name="y")])
    found = circles()
    gc.collect()
    assert [each() for each in found] == [None] * 4


def test_nothing_is_kept_by_using_objects(db: motte.Database) -> None:
    def work() -> None:
        with db.write() as write:
            db.add_all([Sample(**every_value(number)) for number in range(40)])
            person = db.add(Sample(**every_value(99)))
            for each in db.objects(Sample):
                for name, value in every_value(0).items():
                    if name != "id":
                        setattr(each, name, value)
                each.to_dict()
            person.small = 7
            for bad in (1 << 70, "x", None):
                with pytest.raises(errors.Error):
                    person.small = bad  # type: ignore[assignment]
            with pytest.raises(errors.Error):
                db.add_all([Sample(id=200), Sample(id=200)])
            assert db.objects(Sample)[3].id == 3 and len(db.objects(Sample)[1:5]) == 4
            assert db.get(Sample, 3) is not None and db.get(Sample, 777) is None
            with pytest.raises(TypeError):
                Sample(nam="x")  # type: ignore[call-arg]
            write.cancel()

    for _ in range(10):
        work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(25):
            work()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # One leaked object for each of the thousand made would be more than this.
    assert grown < 20_000, f"{grown} bytes more"


PROGRAM = pathlib.Path(__file__).with_name("object_program.py")


@pytest.mark.parametrize("ending", ["normally", "in a write", "in a loop", "after a fork"])
def test_memory_is_whole_under_pythons_own_checks(ending: str) -> None:
    """Every way through the module under Python's debug allocator, to an end of the process that takes all along."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", str(PROGRAM), ending], capture_output=True, text=True,
        timeout=120, env={**os.environ, "PYTHONMALLOC": "debug"})
    assert done.returncode == 0 and done.stdout.strip() == "done" and not done.stderr, done.stdout + done.stderr
