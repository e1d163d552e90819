"""Calls are all or nothing: whatever is refused in the middle of one leaves the database and the objects as they were.

Every way to change something is tried with every way to be refused, at the last place where that can happen.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any, Optional

import pytest

import motte
from motte import errors
from motte._realm import Realm

_names = itertools.count()
BIG = "x" * 16_777_200


class Leaf(motte.EmbeddedModel):
    label: str = ""
    mixed: Any = None


class Node(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    mixed: Any = None
    friend: Optional[Node] = None
    leaf: Optional[Leaf] = None
    texts: list[str] = motte.field(default_factory=list)
    anything: list[Any] = motte.field(default_factory=list)
    some: set[str] = motte.field(default_factory=set)
    named: dict[str, Any] = motte.field(default_factory=dict)
    nodes: list[Node] = motte.field(default_factory=list)
    leaves: list[Leaf] = motte.field(default_factory=list)
    by_name: dict[str, Optional[Node]] = motte.field(default_factory=dict)
    homes: dict[str, Optional[Leaf]] = motte.field(default_factory=dict)
    friends: set[Node] = motte.field(default_factory=set)


class Row(motte.Model):
    """Without collections and links: storing one is one call of the library, whatever its policy."""

    id: int = motte.field(primary_key=True)
    name: str = ""
    mixed: Any = None


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


#: Property and value that is refused, each by another check, some before and some after the first change.
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("a long text in mixed", {"mixed": BIG}),
    ("a long text in a nested list", {"mixed": [1, {"a": BIG}]}),
    ("101 levels", {"mixed": nested(101)}),
    ("101 levels in a list", {"anything": [1, nested(101)]}),
    ("a bad nested key", {"mixed": {"$a": 1}}),
    ("a bad key", {"named": {"good": 1, "bad.key": 2}}),
    ("a key that is no text", {"named": {"good": 1, 2: 2}}),
    ("a long text in a list", {"texts": ["a", "b", BIG]}),
    ("a long text in a set", {"some": ["a", BIG]}),
    ("a long text in a map", {"named": {"a": 1, "b": BIG}}),
    ("a wrong type in a list", {"texts": ["a", 5]}),
    ("a wrong type", {"name": 5}),
    ("a wrong type in a set", {"some": {"a", 5}}),
    ("no zone", {"anything": [1, datetime(2020, 1, 1)]}),
    ("no zone in an embedded object", {"leaf": Leaf(label="l", mixed=datetime(2020, 1, 1))}),
    ("a long text in an embedded object", {"leaf": Leaf(label="l", mixed=BIG)}),
    ("a long text in an embedded element", {"leaves": [Leaf(label="one"), Leaf(label="two", mixed=BIG)]}),
    ("a bad key of an embedded object", {"homes": {"a": Leaf(label="one"), "$b": Leaf(label="two")}}),
    ("an object that cannot be stored", {"nodes": [Node(id=900, name="new"), Node(id=901, mixed=BIG)]}),
    ("an object whose list cannot be", {"friend": Node(id=902, texts=["a", BIG])}),
    ("no object", {"nodes": [Node(id=903), 5]}),
    ("a bad key of an object", {"by_name": {"a": Node(id=904), "b.c": Node(id=905)}}),
    ("an object in mixed", {"mixed": [Node(id=906), BIG]}),
]


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory=f"atomic {next(_names)}", schema=[Node, Leaf, Row]) as database:
        with database.write():
            first = database.add(Node(id=1, name="one", texts=["t"], some={"s"}, named={"k": 1}, mixed={"m": [1]},
                                      leaf=Leaf(label="leaf"), leaves=[Leaf(label="in list")],
                                      homes={"h": Leaf(label="in map")}))
            database.add(Node(id=2, name="two", friend=first, nodes=[first], by_name={"f": first}))
        yield database


def remade(value: Any) -> Any:
    """With objects of its own, which a test may use up."""
    if isinstance(value, motte.Model):
        return type(value)(**{name: remade(each) for name, each in value._values.items()})
    if isinstance(value, list):
        return [remade(each) for each in value]
    if isinstance(value, dict):
        return {key: remade(each) for key, each in value.items()}
    return value


def unmanaged_ones(value: Any) -> list[motte.Model]:
    if isinstance(value, motte.Model):
        return [value, *[each for kept in value._values.values() for each in unmanaged_ones(kept)]]
    if isinstance(value, (list, set, tuple)):
        return [each for element in value for each in unmanaged_ones(element)]
    if isinstance(value, dict):
        return [each for element in value.values() for each in unmanaged_ones(element)]
    return []


Way = Callable[[motte.Database, dict[str, Any]], Any]
WAYS: dict[str, Way] = {
    "add": lambda db, values: db.add(Node(id=50, friend=Node(id=51), **values)),
    "add alone": lambda db, values: db.add(Node(id=50, **values)),
    "add alone, many": lambda db, values: db.add_all([Node(id=50), Node(id=51, **values)]),
    "update alone": lambda db, values: db.update(db.one(Node, 1), name="changed", **values),
    "add with others": lambda db, values: db.add_all([Node(id=50, name="x"), Node(id=51, **values)]),
    "add over": lambda db, values: db.add(Node(id=1, nodes=[Node(id=60)], **values), update=True)
    if "nodes" not in values else db.add(Node(id=1, **values), update=True),
    "upsert": lambda db, values: db.upsert(Node(id=1, **values)),
    "upsert all": lambda db, values: db.upsert(Node(id=2, **values), policy="all"),
    "upsert many": lambda db, values: db.upsert_all([Node(id=1, name="changed"), Node(id=50), Node(id=2, **values)]),
    "upsert a graph": lambda db, values: db.upsert(
        Node(id=1, name="changed", texts=["changed"], friend=Node(id=2, **values))),
    "create": lambda db, values: db.create_or_update(Node, id=50, **values),
    "update": lambda db, values: db.create_or_update(Node, id=1, **values),
    "assign": lambda db, values: [setattr(db.one(Node, 1), name, value) for name, value in values.items()],
    "change": lambda db, values: [changed(getattr(db.one(Node, 1), name), value) for name, value in values.items()
                                  if isinstance(getattr(db.one(Node, 1), name), (motte.List, motte.Set, motte.Map))
                                  and name != "mixed"] or setattr(db.one(Node, 1), *list(values.items())[0]),
}


def changed(collection: Any, values: Any) -> None:
    if isinstance(collection, motte.List):
        collection.extend(values)
    else:
        collection.update(values)


def state(db: motte.Database) -> Any:
    """Everything there is, but for the numbers of rows without a primary key."""
    nodes = [{name: plain(getattr(node, name)) for name in Node._declared()} for node in db.objects(Node).sorted("id")]
    return nodes, db.count(Leaf)


def plain(value: Any) -> Any:
    if isinstance(value, Leaf):
        return {"label": value.label, "mixed": plain(value.mixed)}
    if isinstance(value, Node):
        return value.id
    if isinstance(value, (motte.List, motte.Set)):
        return [plain(each) for each in value]
    if isinstance(value, motte.Map):
        return {key: plain(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("why", [name for name, _ in REFUSED])
@pytest.mark.parametrize("way", list(WAYS))
def test_a_refused_call_changes_nothing(db: motte.Database, way: str, why: str) -> None:
    values = remade(dict(REFUSED)[why])
    news = unmanaged_ones(values)
    kept = [dict(each._values) for each in news]
    before = state(db)
    received: list[Any] = []
    token = db.objects(Node).observe(received.append)
    db.dispatch()
    with db.write():
        with pytest.raises((errors.Error, TypeError)):
            WAYS[way](db, values)
        assert state(db) == before
        assert [each.is_stored for each in news] == [False] * len(news)
        assert [each._values for each in news] == kept
        # The write goes on, and new rows are what they should be.
        again = db.add(Node(id=70, name="after", texts=["a"], leaf=Leaf(label="l")))
        assert again.texts[0] == "a" and again.leaf is not None and again.leaf.label == "l"
        db.delete(again)
        assert state(db) == before
    assert state(db) == before and len(received) == 1
    token.stop()


def test_a_failed_import_in_an_open_write_is_undone(db: motte.Database) -> None:
    before = state(db)
    rows = "".join(f'{{"id": {number}, "name": "n"}}\n' for number in range(100, 2_500))
    with db.write():
        for text in (rows + '{"id": 1}\n', rows + '{"id": 5000, "name": 7}\n', rows + "{"):
            with pytest.raises(errors.Error):
                db.import_json(Node, text=text)
            assert state(db) == before
        with pytest.raises(errors.Error):
            db.import_csv(Node, text="id,name\n" + "".join(f"{number},n\n" for number in range(100, 2_500)) + "1,x\n")
        assert state(db) == before
        assert db.import_json(Node, text=rows).created == 2_400
    assert db.count(Node) == 2_402


def test_several_deletions_are_one_call(db: motte.Database) -> None:
    first, second = db.one(Node, 1), db.one(Node, 2)
    with db.write():
        with pytest.raises(errors.Error):
            db.delete([first, Node(id=9)])
        with pytest.raises(errors.Error):
            db.delete([second, "no object"])  # type: ignore[list-item]
        assert db.count(Node) == 2


def test_slices_are_assigned_as_a_whole(db: motte.Database) -> None:
    with db.write():
        node = db.one(Node, 1)
        node.anything = [0, 1, 2, 3, 4, 5]
        for attempt in (lambda: node.anything.__setitem__(slice(0, 6, 2), [7, 8, BIG]),
                        lambda: node.anything.__setitem__(slice(0, 6, 2), [7, Node(id=99), object()]),
                        lambda: node.anything.assign([9, 9, BIG], only_differences=True),
                        lambda: node.texts.assign(["a", BIG]), lambda: node.some.update(["a"], [BIG]),
                        lambda: node.named.assign({"new": 1, "bad": BIG}),
                        lambda: node.named.update({"new": Node(id=99), "$bad": 1})):
            with pytest.raises(errors.Error):
                attempt()
        assert list(node.anything) == [0, 1, 2, 3, 4, 5] and list(node.texts) == ["t"] and list(node.some) == ["s"]
        assert node.named.to_plain() == {"k": 1} and db.count(Node) == 2


# ------------------------------------------------------------------------------------------------ savepoints


Call = Callable[[motte.Database], Any]
#: One call of the library is all or nothing by itself.
SINGLE: dict[str, Call] = {
    "add": lambda db: db.add(Node(id=50, name="n", mixed=[1, {"a": None}], friend=db.one(Node, 1))),
    "add over": lambda db: db.add(Row(id=1, name="n"), update=True),
    "upsert": lambda db: db.upsert(Row(id=1, mixed=[1, {"a": 2}])),
    "create or update": lambda db: db.create_or_update(Node, id=1, name="n", friend=db.one(Node, 2)),
    "update": lambda db: db.update(db.one(Node, 1), name="n", mixed=5),
    "insert columns": lambda db: db.insert_columns(Node, {"id": [50, 51], "mixed": [1, "a"]}),
    "a property": lambda db: setattr(db.one(Node, 1), "name", "n"),
    "a mixed property": lambda db: setattr(db.one(Node, 1), "mixed", {"a": [1, db.one(Node, 2)]}),
    "a link": lambda db: setattr(db.one(Node, 1), "friend", db.one(Node, 2)),
    "a list of values": lambda db: setattr(db.one(Node, 1), "texts", ["a", "b"]),
    "a list of objects": lambda db: setattr(db.one(Node, 1), "nodes", [db.one(Node, 2)]),
    "append": lambda db: db.one(Node, 1).anything.append([1]),
    "append an object": lambda db: db.one(Node, 1).nodes.append(db.one(Node, 2)),
    "insert": lambda db: db.one(Node, 2).nodes.insert(0, db.one(Node, 2)),
    "set one": lambda db: db.one(Node, 2).nodes.__setitem__(0, db.one(Node, 2)),
    "delete one": lambda db: db.one(Node, 2).nodes.__delitem__(0),
    "delete some": lambda db: db.one(Node, 2).nodes.__delitem__(slice(0, 1)),
    "put": lambda db: db.one(Node, 1).named.__setitem__("k", [1]),
    "put several": lambda db: db.one(Node, 1).named.update({"a": 1, "b": None}),
    "into a set": lambda db: db.one(Node, 1).friends.add(db.one(Node, 2)),
    "several into a set": lambda db: db.one(Node, 1).some.update(["a", "b"]),
    "out of a set": lambda db: db.one(Node, 1).some.pop(),
    "delete": lambda db: db.delete(db.one(Node, 2)),
    "delete results": lambda db: db.delete(db.objects(Node)),
}
SEVERAL: dict[str, Call] = {
    "add with a new link": lambda db: db.add(Node(id=50, friend=Node(id=51))),
    "add with a new link in mixed": lambda db: db.add(Node(id=50, mixed=[{"a": Node(id=51)}])),
    "add with a list": lambda db: db.add(Node(id=50, texts=["a"])),
    "add with an embedded object": lambda db: db.add(Node(id=50, leaf=Leaf())),
    "add over lists": lambda db: db.add(Node(id=1), update=True),
    "add many": lambda db: db.add_all([Node(id=50), Node(id=51)]),
    "upsert many": lambda db: db.upsert_all([Row(id=1), Row(id=2)]),
    "create with a list": lambda db: db.create_or_update(Node, id=50, texts=["a"]),
    "update to a new object": lambda db: db.update(db.one(Node, 1), friend=Node(id=50)),
    "insert columns with a new object": lambda db: db.insert_columns(Node, {"id": [50], "mixed": [[Node(id=51)]]}),
    "a new link": lambda db: setattr(db.one(Node, 1), "friend", Node(id=50)),
    "a new link in mixed": lambda db: setattr(db.one(Node, 1), "mixed", (1, {"a": [Node(id=50)]})),
    "an embedded object": lambda db: setattr(db.one(Node, 1), "leaf", Leaf()),
    "append a new one": lambda db: db.one(Node, 1).nodes.append(Node(id=50)),
    "extend from who knows what": lambda db: db.one(Node, 1).nodes.extend(iter([Node(id=50)])),
    "an embedded element": lambda db: db.one(Node, 1).leaves.append(Leaf()),
    "every other": lambda db: db.one(Node, 2).texts.__setitem__(slice(0, 4, 2), ["x", "y"]),
    "delete every other": lambda db: db.one(Node, 2).texts.__delitem__(slice(0, 4, 2)),
    "only differences": lambda db: db.one(Node, 2).texts.assign(["x"], only_differences=True),
    "put a new one": lambda db: db.one(Node, 1).by_name.__setitem__("a", Node(id=50)),
    "put a new one by name": lambda db: db.one(Node, 1).by_name.update(a=Node(id=50)),
    "a map": lambda db: setattr(db.one(Node, 1), "named", {"a": 1}),
    "a new one into a set": lambda db: db.one(Node, 1).friends.add(Node(id=50)),
    "two into a set": lambda db: db.one(Node, 1).some.update(["a"], ["b"]),
    "delete several": lambda db: db.delete([db.one(Node, 1), db.one(Node, 2)]),
}


@pytest.mark.parametrize("way", [*SINGLE, *SEVERAL])
def test_savepoints_are_made_where_a_call_is_several(
    db: motte.Database, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    savepoint = Realm.savepoint

    def counted(self: Realm) -> int:
        made.append(savepoint(self))
        return made[-1]
    monkeypatch.setattr(Realm, "savepoint", counted)
    with db.write():
        db.add_all([Row(id=1), Row(id=2)])
        db.one(Node, 2).texts.extend("abcd")
        made.clear()
        {**SINGLE, **SEVERAL}[way](db)
        count = len(made)
        assert count == 0 if way in SINGLE else count >= 1
        db.add(Row(id=99))
        assert len(made) == count, "the block is over"


def test_what_cannot_hold_an_object_stores_none(db: motte.Database) -> None:
    before = state(db)
    with db.write():
        node, new = db.one(Node, 1), Node(id=60)
        for attempt in (lambda: setattr(node, "name", new), lambda: node.texts.append(new),  # type: ignore[arg-type]
                        lambda: node.texts.extend(["a", new]), lambda: node.some.add(new),  # type: ignore[list-item]
                        lambda: db.update(node, name=new),
                        lambda: db.add(Node(id=61, name=new)),  # type: ignore[arg-type]
                        lambda: db.create_or_update(Node, id=61, name=new),
                        lambda: db.insert_columns(Node, {"id": [61], "name": [new]})):
            with pytest.raises(errors.Error):
                attempt()
            assert state(db) == before and not new.is_stored
    assert state(db) == before


def test_a_new_object_is_in_no_set(db: motte.Database) -> None:
    before = state(db)
    with db.write():
        node, new = db.one(Node, 1), Node(id=60)
        node.friends.discard(new)
        node.friends -= [new]
        with pytest.raises(KeyError):
            node.friends.remove(new)
        assert not new.is_stored
    assert state(db) == before


def test_places_inside_mixed_values_change_as_a_whole(db: motte.Database) -> None:
    with db.write():
        node = db.one(Node, 1)
        node.mixed = {"list": [0, 1, 2, 3], "map": {"k": 1}}
        inner, entries = node.mixed["list"], node.mixed["map"]
        attempts: list[Callable[[], Any]] = [
            lambda: inner.append(BIG), lambda: inner.extend([4, BIG]), lambda: inner.__setitem__(slice(0, 2), [9, BIG]),
            lambda: inner.extend([Node(id=80), BIG]), lambda: inner.insert(1, [Node(id=81), object()]),
            lambda: inner.__setitem__(0, BIG), lambda: inner.__setitem__(slice(0, 4, 2), [7, BIG]),
            lambda: entries.__setitem__("k", BIG), lambda: entries.update({"a": 1, "b": BIG}),
            lambda: entries.update({"a": Node(id=82), "$b": 1}), lambda: entries.assign({"a": 1, "b.c": 2})]
        for attempt in attempts:
            with pytest.raises(errors.Error):
                attempt()
            assert inner.to_plain() == [0, 1, 2, 3] and entries.to_plain() == {"k": 1} and db.count(Node) == 2


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_call_changes_nothing(db: motte.Database, kind: type[BaseException]) -> None:
    before, new = state(db), Node(id=50)

    def interrupted() -> Iterator[Node]:
        yield new
        raise kind

    class Late(dict[str, Any]):
        """Raises when it is looked at for the second time, which is in the middle of storing it."""

        looks = 0

        def values(self) -> Any:
            self.looks += 1
            if self.looks > 2:
                raise kind
            return super().values()
    with db.write():
        for attempt in (lambda: db.add_all(interrupted()), lambda: db.one(Node, 1).nodes.extend(interrupted()),
                        lambda: db.upsert_all(interrupted()),
                        lambda: db.add(Node(id=51, friend=new, mixed=Late(a=new)))):
            with pytest.raises(kind):
                attempt()
            assert state(db) == before and not new.is_stored
        db.add(Node(id=50, friend=Node(id=51)))
    assert db.count(Node) == 4


def test_outside_of_a_write_nothing_is_stored(db: motte.Database) -> None:
    before, new = state(db), Node(id=50, friend=Node(id=51))
    for attempt in (lambda: db.add(new), lambda: db.add(Row(id=3)), lambda: db.add_all([new, Node(id=52)]),
                    lambda: db.one(Node, 1).nodes.append(new), lambda: db.upsert(Row(id=3))):
        with pytest.raises(errors.NotInWriteError):
            attempt()
        assert state(db) == before and not new.is_stored and db._stored is None


class Fragile:
    """A value that can be stored and not read."""


def _refuse(_: str) -> Fragile:
    raise ZeroDivisionError


FRAGILE = motte.converter(Fragile, str, store=lambda value: "stored", load=_refuse)


class Holder(motte.Model):
    by_name: dict[str, Annotated[Fragile, FRAGILE]] = motte.field(default_factory=dict)


def test_setdefault_is_all_or_nothing() -> None:
    with motte.open(in_memory="setdefault", schema=[Holder]) as db, db.write():
        holder = db.add(Holder())
        with pytest.raises(ZeroDivisionError):
            holder.by_name.setdefault("a", Fragile())
        assert list(holder.by_name) == []
