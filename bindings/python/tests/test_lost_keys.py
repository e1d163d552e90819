"""What was made of objects in a write that was undone finds none of another process, which may have their keys."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from motte import errors

PROGRAM = """
import motte, sys
db = motte.open(sys.argv[1])
with db.write():
    Member = db.model("Member")
    other = db.add(Member(id=100))
    for id in range(101, 106):
        db.add(Member(id=id, boss=other, mixed=other, friends=[other]))
"""


class Member(motte.Model):
    id: int = motte.field(primary_key=True)
    size: int = 0
    boss: Optional[Member] = None
    mixed: Any = None
    friends: list[Member] = motte.field(default_factory=list)
    anything: list[Any] = motte.field(default_factory=list)


class Card(motte.Projection[Member]):
    id: int


class Own(Exception):
    pass


@pytest.fixture
def db(path: Path) -> Iterator[motte.Database]:
    with motte.open(path, schema=[Member]) as opened:
        with opened.write():
            opened.add(Member(id=0))
        yield opened


def _cancelled(db: motte.Database, make: Callable[[], Any]) -> Any:
    with pytest.raises(Own), db.write():
        made = make()
        raise Own
    return made


def _refused(db: motte.Database, make: Callable[[], Any]) -> Any:
    def refuse(batch: motte.ChangeBatch) -> None:
        raise Own
    db.on_commit(refuse)
    with pytest.raises(Own), db.write():
        made = make()
    db.on_commit(None)
    return made


def _inside(db: motte.Database, make: Callable[[], Any]) -> Any:
    with db.write():
        with pytest.raises(Own), db.write():
            made = make()
            raise Own
    return made


def _around(db: motte.Database, make: Callable[[], Any]) -> Any:
    with pytest.raises(Own), db.write():
        with db.write():
            made = make()
        raise Own
    return made


UNDONE = [_cancelled, _refused, _inside, _around]


def another_process(db: motte.Database) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, db.path], check=True)
    db.refresh()


def ids(db: motte.Database) -> list[int]:
    return sorted(db.objects(Member).column("id"))


@pytest.mark.parametrize("undone", UNDONE)
def test_a_snapshot_has_none_of_another_process(db: motte.Database, undone: Callable[..., Any]) -> None:
    def make() -> Any:
        db.add_all([Member(id=1), Member(id=2)])
        found = db.objects(Member)
        return found.snapshot(), found.sorted("-id").snapshot(), found.snapshot().snapshot()
    snapshots = undone(db, make)
    another_process(db)
    kept, other = db.one(Member, 0), db.one(Member, 100)
    for snapshot in snapshots:
        elements = list(snapshot)
        assert len(snapshot) == len(elements) == len(snapshot.object_keys()) == 3
        assert [each.id for each in elements if each.is_valid] == [0]
        assert [each.is_valid for each in snapshot[:]] == [each.is_valid for each in elements]
        assert [None if each is None else each.id for each in map(snapshot.__getitem__, range(3))].count(None) == 2
        assert [each.is_valid for each in reversed(snapshot)] == [each.is_valid for each in elements][::-1]
        assert kept in snapshot and other not in snapshot and snapshot.count(other) == 0
        assert snapshot.index(kept) == elements.index(kept) and len(snapshot.page()) == 3
        assert len(snapshot.snapshot()) == 3 and [each.is_valid for each in snapshot.snapshot()].count(True) == 1
        assert [each.is_valid for each in snapshot.freeze()].count(True) == 1
        with pytest.raises(errors.OutOfBoundsError):
            snapshot[3]
        cards = list(snapshot.project(Card))
        assert [each.is_valid for each in cards] == [each.is_valid for each in elements]
        uses: list[Callable[[], Any]] = [
            lambda: snapshot.column("id"), lambda: snapshot.sum("size"), lambda: list(snapshot.where("size == 0")),
            lambda: db.export_json(None, snapshot), lambda: snapshot.group_by("id").count(),
            lambda: snapshot.sectioned("id"), lambda: snapshot.observe(print)]
        for use in uses:
            with pytest.raises(errors.ObjectDeletedError):
                use()


def test_what_is_changed_through_a_snapshot_is_none_of_another_process(db: motte.Database) -> None:
    def make() -> Any:
        owner = db.one(Member, 0)
        owner.friends = [owner, *db.add_all([Member(id=1), Member(id=2)])]
        return db.objects(Member).snapshot(), owner.friends.snapshot(), owner.friends.snapshot().where("size == 0")
    every, friends, selected = _cancelled(db, make)
    another_process(db)
    before = ids(db)
    with db.write():
        for values in ({"size": 5}, {"size": lambda member: 5}):
            for snapshot in (every, friends, selected):
                with pytest.raises(errors.ObjectDeletedError):
                    snapshot.update(**values)
        with pytest.raises(errors.ObjectDeletedError):
            db.delete(selected)
        assert db.objects(Member).where("size != 0") == [] and ids(db) == before
        assert db.delete(every) == 1 and db.delete(friends) == 0
    assert ids(db) == [id for id in before if id != 0]


#: Things that are made in a write of an object of it, and how they are used.
MADE: dict[str, tuple[Callable[[motte.Database, Member], Any], Callable[[Any], Any]]] = {
    "a property": (lambda db, own: db.objects(Member).where(boss=own), list),
    "text": (lambda db, own: db.objects(Member).where("boss == $0", own), len),
    "a name": (lambda db, own: db.objects(Member).where("boss == $own", own=own), len),
    "any": (lambda db, own: db.objects(Member).where("ANY friends == $0", own), lambda found: found[0]),
    "mixed": (lambda db, own: db.objects(Member).where("mixed == $0", own), lambda found: found.column("id")),
    "a predicate": (lambda db, own: db.objects(Member).where(Member.boss == own), lambda found: found.first()),
    "several": (lambda db, own: db.objects(Member).where("boss IN $0", [own]), lambda found: found.sum("size")),
    "a collection": (lambda db, own: db.objects(Member).where("boss IN $0", db.objects(Member)), list),
    "a named one": (lambda db, own: db.objects(Member).where("boss IN $all", all=db.objects(Member)), list),
    "derived": (lambda db, own: db.objects(Member).where(boss=own).sorted("-id").where("size == 0").limit(3), list),
    "frozen": (lambda db, own: db.objects(Member).where(boss=own), lambda found: found.freeze()),
    "handed over": (lambda db, own: db.objects(Member).where(boss=own), motte.Reference),
    "cards": (lambda db, own: db.objects(Member).where(boss=own).project(Card), list),
    "sections": (lambda db, own: db.objects(Member).where(boss=own).sectioned("id"), len),
    "a section": (lambda db, own: db.objects(Member).where("mixed != nil").sectioned("mixed")[0], list),
    "groups": (lambda db, own: db.objects(Member).query("boss == $0 GROUP(id) COUNT", own), len),
    "prepared": (lambda db, own: db.query(Member, "boss == $0", own), lambda query: list(query.run())),
    "prepared, counted": (lambda db, own: db.query(Member, "boss == $own", own=own), lambda query: query.count()),
    "prepared, bound": (lambda db, own: db.query(Member, "boss == $0", None).bind(own), lambda query: query.first()),
    "run": (lambda db, own: db.query(Member, "boss == $0", own).run(), list),
    "a snapshot's": (lambda db, own: db.objects(Member).snapshot().sorted("-id"), list),
    "mixed values": (lambda db, own: db.one(Member, 0).anything.snapshot(), list),
}


def _made(db: motte.Database) -> dict[str, Any]:
    own = db.add(Member(id=1))
    db.add(Member(id=2, boss=own, mixed=own, friends=[own]))
    db.one(Member, 0).anything = [own, 1]
    return {kind: make(db, own) for kind, (make, _) in MADE.items()}


@pytest.mark.parametrize("undone", UNDONE)
def test_what_was_made_with_a_lost_object_cannot_be_used(db: motte.Database, undone: Callable[..., Any]) -> None:
    made = undone(db, lambda: _made(db))
    another_process(db)
    for kind, (_, use) in [*MADE.items()] * 2:
        with pytest.raises(errors.ObjectDeletedError):
            use(made[kind])
            raise AssertionError(kind)


def test_what_was_made_with_a_kept_object_goes_on(db: motte.Database) -> None:
    with db.write():
        with db.write():
            made = _made(db)
        with pytest.raises(Own), db.write():
            db.add(Member(id=3))
            raise Own
        for kind, (_, use) in MADE.items():
            if kind not in ("frozen", "handed over"):
                use(made[kind])
    another_process(db)
    for kind, (_, use) in MADE.items():
        use(made[kind])


def test_another_object_is_bound_in_place_of_a_lost_one(db: motte.Database) -> None:
    query = _cancelled(db, lambda: db.query(Member, "boss == $0", db.add(Member(id=1))))
    another_process(db)
    with pytest.raises(errors.ObjectDeletedError):
        query.run()
    assert query.bind(db.one(Member, 100)).count() == 5 and query.bind(None).count() == 2


def test_a_reference_to_a_lost_object_leads_nowhere(db: motte.Database) -> None:
    def make() -> Any:
        own = db.add(Member(id=1))
        return motte.Reference(own), motte.Reference(Card(own)), motte.Reference(db.objects(Member).snapshot())
    references = _cancelled(db, make)
    another_process(db)
    own, card, snapshot = map(db.resolve, references)
    assert own is None and card is None and (snapshot is None or [each.is_valid for each in snapshot].count(True) == 1)


@pytest.mark.parametrize("undone", UNDONE)
def test_a_reference_over_a_lost_object_leads_nowhere(db: motte.Database, undone: Callable[..., Any]) -> None:
    def make() -> Any:
        own = db.add(Member(id=1))
        own.friends = [own]
        friends = own.friends
        found = own, friends, friends.where("size >= 0"), friends.sorted("-id"), friends.sectioned("id")[0]
        return [motte.Reference(thing) for thing in found], [motte.Reference(db.one(Member, 0).friends)]
    lost, kept = undone(db, make)
    another_process(db)
    assert [db.resolve(reference) for reference in lost] == [None] * len(lost)
    # What was there before is found unless the write it was made in has been undone as a whole.
    assert (db.resolve(kept[0]) is not None) == (undone is _inside)


def test_a_lost_object_is_in_nothing(db: motte.Database) -> None:
    own = _cancelled(db, lambda: db.add(Member(id=1)))
    another_process(db)
    friends = db.one(Member, 101).friends
    for where in (db.objects(Member), friends, db.objects(Member).snapshot()):
        assert own not in where and where.count(own) == 0
        with pytest.raises(ValueError, match="is not in it"):
            where.index(own)


def test_the_objects_of_an_argument_are_not_asked_one_by_one(db: motte.Database) -> None:
    with db.write():
        db.add_all([Member(id=id) for id in range(1, 500)])
        query = db.objects(Member).where("boss IN $0", list(db.objects(Member)))
        held = query._coll.held
        assert held is not None and len(held._objects) == 1
        with pytest.raises(Own), db.write():
            lost = db.add(Member(id=500))
            refused = db.objects(Member).where("boss IN $0", [db.one(Member, 1), lost])
            raise Own
        assert query.count() == 0
        with pytest.raises(errors.ObjectDeletedError):
            refused.count()


def test_what_is_taken_out_of_a_set_is_not_stored() -> None:
    class Holder(motte.Model):
        id: int = motte.field(primary_key=True)
        things: set[Any]

    with motte.open(in_memory="sets", schema=[Holder]) as db, db.write():
        holder = db.add(Holder(id=1))
        holder.things.discard([Holder(id=2)])
        holder.things -= [[Holder(id=3)]]
        with pytest.raises(KeyError):
            holder.things.remove({"a": Holder(id=4)})
        assert db.count(Holder) == 1
