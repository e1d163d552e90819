"""Python code that the module in C calls on its way, or that garbage collection runs there: it closes the database,
changes the object, does the same once more. See test_reentrancy.py; under Python's debug allocator, whatever is used
after it was freed ends the process."""
from __future__ import annotations

import enum
import gc
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any, Optional

import motte
from motte import _objects, errors

#: What the next object that is made, or the next time zone that is asked, does.
act: list[Callable[[], Any]] = []
#: Texts that nothing else keeps.
texts = (f"{'x' * 200} {number}" for number in range(1 << 30))


def acts() -> None:
    if act:
        act.pop()()


class Zone(tzinfo):
    def utcoffset(self, when: Optional[datetime]) -> timedelta:
        acts()
        return timedelta(0)


class Fleeting(enum.Enum):
    """Its members make their values again whenever they are asked."""

    ONE = "one"

    def __getattribute__(self, name: str) -> Any:
        return next(texts) if name == "_value_" and act else super().__getattribute__(name)


class Target(motte.Model):
    id: int = motte.field(primary_key=True)

    def __new__(cls, **values: Any) -> Target:
        acts()
        return super().__new__(cls)


class Plain(motte.Model):
    id: int = motte.field(primary_key=True)


class Source(motte.Model):
    id: int = motte.field(primary_key=True)
    text: str = ""
    target: Optional[Target] = None
    plain: Optional[Plain] = None
    when: Optional[datetime] = None
    kind: Optional[Fleeting] = None
    last: str = ""


class Other(motte.Model):
    id: int = 0


def opened() -> motte.Database:
    db = motte.open(in_memory="reentrant", schema=[Source, Target, Plain])
    with db.write():
        if db.get(Source, 1) is None:
            db.add(Source(id=1, text="first", target=Target(id=1), plain=Plain(id=1)))
            db.add(Source(id=2, text="second"))
    return db


def survives(use: Callable[[], Any]) -> None:
    """It may fail, and what it gives is an object, or several, that say that they are gone."""
    try:
        found = use()
        for each in found if isinstance(found, list) else [found]:
            repr(each)
            survives(lambda: each.id)
    except (errors.Error, AttributeError, ReferenceError):
        pass


def garbage(what: Callable[[], Any]) -> None:
    """A circle that does something when it is collected, which the next object that is made may cause."""
    class Circle:
        def __del__(self) -> None:
            what()

    circle: Any = Circle()
    circle.itself = circle


# ------------------------------------------------------------------------------------------------ the database goes

READS: dict[str, Callable[[motte.Database, Source], Any]] = {
    "find": lambda db, source: db.get(Target, 1),
    "find, of the base": lambda db, source: db.get(Plain, 1),
    "link": lambda db, source: source.target,
    "link, of the base": lambda db, source: source.plain,
    "dict": lambda db, source: source.to_dict(),
    "element": lambda db, source: db.objects(Target)[0],
    "elements": lambda db, source: db.objects(Target)[:1],
    "loop": lambda db, source: [each.id for each in db.objects(Target)],
}


def closing() -> None:
    """Whatever is made, closes the database; in a write too, which nothing else keeps."""
    for is_writing in (False, True):
        for read in READS.values():
            for collected in (False, True):
                db = opened()
                if is_writing:
                    db.write().__enter__()
                source = db.get(Source, 1)
                assert source is not None
                gc.collect()
                thresholds = gc.get_threshold()
                if collected:
                    garbage(db.close)
                    gc.set_threshold(1)
                else:
                    act.append(db.close)
                survives(lambda: read(db, source))
                gc.set_threshold(*thresholds)
                act.clear()
                db.close()


def closing_before_adding() -> None:
    for collected in (False, True):
        for several in (False, True):
            db = opened()
            db.write().__enter__()
            made = [Source(id=number, text=next(texts), when=datetime(2024, 1, 1, tzinfo=Zone()))
                    for number in range(10, 13)]
            thresholds = gc.get_threshold()
            if collected:
                garbage(db.close)
                gc.set_threshold(1)
            else:
                act.append(db.close)
            survives(lambda: db.add_all(made) if several else db.add(made[0]))
            gc.set_threshold(*thresholds)
            act.clear()
            db.close()


# ------------------------------------------------------------------------------------------------ the object changes


def values_by_name() -> None:
    """Asked for by a collection that asking for them causes."""
    source = Source(id=7, text=next(texts))
    gc.collect()
    thresholds = gc.get_threshold()
    seen: list[Any] = []
    # More than Python keeps for the next ones.
    dicts: list[dict[str, str]] = [{} for _ in range(200)]
    garbage(lambda: seen.append(source.text))
    gc.set_threshold(1)
    assert source.text.startswith("x")
    gc.set_threshold(*thresholds)
    gc.collect()
    assert seen == [source.text] and len(dicts) == 200


def changing() -> None:
    db = opened()

    def another(source: Any) -> None:
        source.__class__ = Other
        source.__init__()

    def again(source: Any) -> None:
        source.__init__(id=source.id, text=next(texts))

    def added(source: Source) -> None:
        db.add(source)

    def cleared(source: Any) -> None:
        source.text = next(texts)
        source._values.clear()

    with db.write():
        number = 100
        for change in (another, again, added, cleared):
            for several in (False, True):
                number += 10
                made = [Source(id=number + index, text=next(texts), last=next(texts)) for index in range(3)]
                made[1 if several else 0].when = datetime(2024, 1, 1, tzinfo=Zone())
                act.append(lambda: change(made[0]))
                survives(lambda: db.add_all(made) if several else db.add(made[0]))
                act.clear()
                # Whatever became of them: an object is one row, and a row that of one object.
                keys = [each.object_key for each in made if each.is_stored]
                found = db.objects(Source).where("id >= $0", number).object_keys()
                assert len(set(keys)) == len(keys) and set(found) <= set(keys), (change, several, keys, found)
    db.close()


def assigning() -> None:
    """What is assigned, to what is gone by then."""
    db = opened()
    with db.write():
        source = db.add(Source(id=50))
        act.append(lambda: db.delete(source))
        try:
            source.when = datetime(2024, 1, 1, tzinfo=Zone())
        except errors.ObjectDeletedError:
            pass
        else:
            raise AssertionError("assigned to an object that is gone")
        source = db.add(Source(id=51))
        act.append(lambda: None)
        try:
            source.kind = Fleeting.ONE
        except errors.WrongTypeError:
            pass
        else:
            raise AssertionError("stored a text that no member has")
        act.clear()
        assert db.objects(Source).where("id = 51").where("kind BEGINSWITH 'xxx'").count() == 0
    db.write().__enter__()
    act.append(db.close)
    survives(lambda: setattr(source, "when", datetime(2024, 1, 1, tzinfo=Zone())))
    db.close()


def unbound() -> None:
    """A descriptor that has seen no row, and a row that has no class."""
    class Fresh(motte.Model):
        id: int = 0

    stray: Any = Fresh()
    stray._row = _objects.Row()
    survives(lambda: stray.id)
    survives(lambda: setattr(stray, "id", 1))


def chains() -> None:
    """Dropped one after the other, not one within the other."""
    class Link(motte.Model):
        next: Optional[Link] = None

    first: Any = None
    for _ in range(200_000):
        first = Link(next=first)
    del first


if __name__ == "__main__":
    for part in (closing, closing_before_adding, values_by_name, changing, assigning, unbound, chains):
        print(part.__name__, file=sys.stderr, flush=True)
        act.clear()
        part()
    print("done")
