"""Calls are all or nothing: whatever is refused in the middle of one leaves the database and the objects as they were.

Every way to change something is tried with every way to be refused, at the last place where that can happen.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any, Optional

import pytest

import motte
from motte import errors

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
    with motte.open(in_memory=f"atomic {next(_names)}", schema=[Node, Leaf]) as database:
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


def loose_ones(value: Any) -> list[motte.Model]:
    if isinstance(value, motte.Model):
        return [value, *[each for kept in value._values.values() for each in loose_ones(kept)]]
    if isinstance(value, (list, set, tuple)):
        return [each for element in value for each in loose_ones(element)]
    if isinstance(value, dict):
        return [each for element in value.values() for each in loose_ones(element)]
    return []


Way = Callable[[motte.Database, dict[str, Any]], Any]
WAYS: dict[str, Way] = {
    "add": lambda db, values: db.add(Node(id=50, friend=Node(id=51), **values)),
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
    news = loose_ones(values)
    kept = [dict(each._values) for each in news]
    before = state(db)
    heard: list[Any] = []
    token = db.objects(Node).observe(heard.append)
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
    assert state(db) == before and len(heard) == 1
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
