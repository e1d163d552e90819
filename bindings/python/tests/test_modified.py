"""The policy "modified" assigns what differs, all of it and nothing else, at every depth."""
from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import errors

_numbers = itertools.count()


class Part(motte.EmbeddedModel):
    extra: Any = None


class Thing(motte.Model):
    id: int = motte.field(primary_key=True)
    extra: Any = None
    part: Optional[Part] = None
    named: dict[str, Any] = motte.field(default_factory=dict)
    several: list[Any] = motte.field(default_factory=list)
    reals: list[float] = motte.field(default_factory=list)


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Thing, Part]) as database:
        yield database


def exactly(value: Any) -> str:
    """With types, and the sign of a zero."""
    return repr(value)


#: Each is equal to the next in Python, and another value.
ALIKE: list[list[Any]] = [
    [1, True, 1.0, Decimal(1), Decimal("1.0")],
    [Decimal("1E+3"), Decimal("1000"), 1000],
    [0, False, 0.0, -0.0],
    [[1], [True], [1.0]],
    [{"a": [1]}, {"a": [True]}, {"a": [1.0]}],
    [{"a": {"b": [0, {"c": 0.0}]}}, {"a": {"b": [0, {"c": -0.0}]}}, {"a": {"b": [False, {"c": -0.0}]}}],
]
PAIRS = [pair for values in ALIKE for pair in itertools.permutations(values, 2)]


@pytest.mark.parametrize("before, after", PAIRS, ids=[f"{pair[0]!r} to {pair[1]!r}" for pair in PAIRS])
def test_values_that_python_calls_equal_differ(db: motte.Database, before: Any, after: Any) -> None:
    def made(value: Any) -> Thing:
        return Thing(id=1, extra=value, part=Part(extra=value), named={"a": value}, several=[value])

    def read(thing: Thing) -> list[str]:
        assert thing.part is not None
        return [exactly(motte.results.plain(value)) for value in (
            thing.extra, thing.part.extra, thing.named["a"], thing.several[0])]

    with db.write():
        db.upsert(made(before))
        thing = db.upsert(made(after))
        wanted = read(thing)
        assert wanted == [exactly(after)] * 4
        # As assigning everything does.
        assert read(db.upsert(made(after), policy="all")) == wanted
        thing.named.assign({"a": before}, only_differences=True)
        thing.several.assign([before], only_differences=True)
        assert read(thing)[2:] == [exactly(before)] * 2
        db.create_or_update(Thing, id=1, named={"a": after}, several=[after])
        assert read(thing) == wanted


def test_what_is_the_same_is_not_assigned(db: motte.Database) -> None:
    nested = {"a": [1, {"b": (2.5, None, "x")}], "c": float("nan")}

    def made() -> Thing:
        return Thing(id=1, extra=1, part=Part(extra=nested), named=dict(nested), several=[nested, [1]],
                     reals=[float("nan"), 0.5])
    with db.write():
        thing = db.upsert(made())
    changes: list[Any] = []
    with thing.observe(changes.append), db.write():
        db.upsert(made())
        thing.named.assign(nested, only_differences=True)
        thing.several.assign([nested, [1]], only_differences=True)
    assert changes == []


class Shade:
    """Shades of one colour count as equal to the program, and are stored by their number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shade)

    __hash__ = None  # type: ignore[assignment]


class Stranger:
    """No two of them are equal, not even two that are stored alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("compared")

    __hash__ = None  # type: ignore[assignment]


motte.converter(Shade, int, store=lambda shade: shade.number, load=Shade)
motte.converter(Stranger, str, store=lambda stranger: stranger.text, load=Stranger)


class Painted(motte.Model):
    id: int = motte.field(primary_key=True)
    shades: list[Shade] = motte.field(default_factory=list)
    by_name: dict[str, Shade] = motte.field(default_factory=dict)
    strangers: list[Stranger] = motte.field(default_factory=list)
    strange: dict[str, Stranger] = motte.field(default_factory=dict)
    halves: list[motte.Float32] = motte.field(default_factory=list)
    wholes: list[float] = motte.field(default_factory=list)
    bytes_: list[bytes] = motte.field(default_factory=list)
    peers: list[Peer] = motte.field(default_factory=list)
    peer_by: dict[str, Optional[Peer]] = motte.field(default_factory=dict)


class Peer(motte.Model):
    """One that the program takes for equal to all others."""

    id: int = motte.field(primary_key=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Peer)

    __hash__ = motte.Model.__hash__


def painted(shade: int, text: str, peer: Peer) -> Painted:
    return Painted(
        id=1, shades=[Shade(1), Shade(shade)], by_name={"a": Shade(shade)}, strangers=[Stranger(text)],
        strange={"a": Stranger(text)}, halves=[0.1, 1], wholes=[1, 2.5], bytes_=[bytearray(b"x")], peers=[peer],
        peer_by={"a": peer})


def test_what_the_program_calls_equal_does_not_count() -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Painted, Peer]) as db:
        with db.write():
            one, other = db.add_all([Peer(id=1), Peer(id=2)])
            thing = db.upsert(painted(2, "x", one))
        changes: list[motte.ObjectChange] = []
        with thing.observe(changes.append):
            with db.write():
                db.upsert(painted(2, "x", one))
            assert changes == []
            with db.write():
                db.upsert(painted(3, "y", other))
            assert {each.name for each in changes.pop().properties} == {
                "shades", "by_name", "strangers", "strange", "peers", "peer_by"}
        assert [each.number for each in thing.shades] == [1, 3] and thing.by_name["a"].number == 3
        assert thing.strangers[0].text == thing.strange["a"].text == "y"
        assert thing.peers[0].id == 2 and thing.peer_by["a"].id == 2  # type: ignore[union-attr]
        assert (thing.peers.count(one), thing.peers.count(other)) == (0, 1)
        assert (one in thing.peers, other in thing.peers) == (False, True)


def test_only_what_differs_of_a_list_is_reported() -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Painted, Peer]) as db:
        with db.write():
            thing = db.add(Painted(id=1, shades=[Shade(number) for number in range(5)]))
        changes: list[motte.Changes] = []
        with thing.shades.observe(changes.append):
            db.refresh()
            changes.clear()
            for wanted in ([0, 1, 7, 3, 4, 5, 6], [0, 1, 7], [], [2], [2]):
                with db.write():
                    thing.shades.assign(map(Shade, wanted), only_differences=True)
                assert [each.number for each in thing.shades] == wanted
            assert [(each.deletions, each.insertions, each.modifications) for each in changes] == [
                ([], [5, 6], [2]), ([3, 4, 5, 6], [], []), ([0, 1, 2], [], []), ([], [0], [])]


class Sly:
    add: Any = None


def store_sly(sly: Sly) -> str:
    if sly.add is not None:
        add, sly.add = sly.add, None
        add()
    return "sly"


motte.converter(Sly, str, store=store_sly, load=lambda text: Sly())


class Holder(motte.Model):
    id: int = motte.field(primary_key=True)
    sly: Sly = motte.field(default_factory=Sly)


def test_an_object_that_its_converter_stores_is_stored_once() -> None:
    for add in (lambda db, holder: db.add(holder), lambda db, holder: db.upsert(holder),
                lambda db, holder: db.add(holder, update=True)):
        with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Holder]) as db:
            with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Holder]) as elsewhere:
                holder = Holder(id=1)
                holder.sly.add = lambda: elsewhere.add(holder)
                with elsewhere.write(), db.write():
                    with pytest.raises(errors.InvalidArgumentError, match="stored in a database meanwhile"):
                        add(db, holder)
                assert len(db.objects(Holder)) == 0 and len(elsewhere.objects(Holder)) == 1


# ------------------------------------------------------------------------------------------------ embedded and linked


class Leaf(motte.EmbeddedModel):
    n: int = 0
    other: Optional[Tree] = None
    inner: Optional[Leaf] = None
    inners: list[Leaf] = motte.field(default_factory=list)
    extra: Any = None


class Tree(motte.Model):
    id: int = motte.field(primary_key=True)
    n: int = 0
    leaf: Optional[Leaf] = None
    leaves: list[Leaf] = motte.field(default_factory=list)
    leaf_by: dict[str, Optional[Leaf]] = motte.field(default_factory=dict)
    next: Optional[Tree] = None
    trees: list[Tree] = motte.field(default_factory=list)
    extra: Any = None


def leaf(n: int) -> Leaf:
    return Leaf(n=n, other=Tree(id=9), inner=Leaf(n=n), inners=[Leaf(n=1), Leaf(n=n)], extra=[Tree(id=9)])


def tree_values(n: int) -> dict[str, Any]:
    return {"leaf": leaf(n), "leaves": [leaf(1), leaf(n)], "leaf_by": {"a": leaf(n), "b": None}, "next": Tree(id=9),
            "trees": [Tree(id=9)], "extra": [Tree(id=9), {"a": n}]}


WAYS = {
    "upsert": lambda db, values: db.upsert(Tree(id=1, **values)),
    "upsert_all": lambda db, values: db.upsert_all([Tree(id=1, **values)])[0],
    "create_or_update": lambda db, values: db.create_or_update(Tree, id=1, **values),
    "import_data of objects": lambda db, values: db.import_data(Tree, [Tree(id=1, **values)], policy="modified"),
    "import_data of dicts": lambda db, values: db.import_data(Tree, [{"id": 1, **values}], policy="modified"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_embedded_stays_in_its_place(way: str) -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Tree, Leaf]) as db:
        with db.write():
            tree = db.add(Tree(id=1, **{**tree_values(2), "next": None, "trees": [], "leaf": None, "leaves": [],
                                        "leaf_by": {}, "extra": None}))
            nine = db.add(Tree(id=9))
            WAYS[way](db, tree_values(2))
            held = [tree.leaf, *tree.leaves, tree.leaf_by["a"], tree.leaf.inner, *tree.leaves[1].inners]
            nested = tree.extra
        db.refresh()
        changes: list[motte.ObjectChange] = []
        inner: list[motte.ObjectChange] = []
        with tree.observe(changes.append), tree.leaves[1].observe(inner.append):
            with db.write():
                WAYS[way](db, tree_values(2))
            assert changes == [] and inner == [] and nested.is_valid and len(nested) == 2
            assert all(each.is_valid for each in held)
            with db.write():
                WAYS[way](db, tree_values(3))
            assert "n" in {each.name for each in inner.pop().properties}
            assert all(each.is_valid for each in held)
        assert [each.n for each in held] == [3, 1, 3, 3, 3, 1, 3]
        assert tree.leaf.other == nine and tree.next == nine and list(tree.trees) == [nine] and tree.extra[0] == nine
        assert tree.leaf_by["b"] is None and db.objects(Tree).count() == 2 and db.verify().is_sound


def test_the_policy_holds_for_what_comes_along() -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Tree, Leaf]) as db:
        with db.write():
            db.add(Tree(id=9, n=1))
            for policy, n in (("modified", 2), ("all", 3)):
                for values in ({"next": Tree(id=9, n=n)}, {"trees": [Tree(id=9, n=n + 10)]},
                               {"leaf": Leaf(other=Tree(id=9, n=n + 20))},
                               {"leaves": [Leaf(other=Tree(id=9, n=n + 30))]}, {"extra": [Tree(id=9, n=n + 40)]}):
                    made = db.create_or_update(Tree, policy=policy, id=1, **values)
                    wanted = next(each.n for each in [*_trees(values)])
                    assert db.one(Tree, 9).n == wanted, (policy, values)
            with pytest.raises(errors.DuplicatePrimaryKeyError):
                db.create_or_update(Tree, policy="error", id=2, next=Tree(id=9, n=5))
            assert db.get(Tree, 2) is None and made.id == 1


def _trees(value: Any) -> Iterator[Tree]:
    """In the values, before or after they are stored."""
    if isinstance(value, Tree):
        yield value
    elif isinstance(value, Leaf):
        yield from _trees(value.other)
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _trees(each)


def test_one_object_is_embedded_once() -> None:
    twice, round_ = Leaf(n=1), Leaf(n=2)
    round_.inner = round_
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Tree, Leaf]) as db:
        with db.write():
            tree = db.add(Tree(id=1, leaf=Leaf(n=5), leaves=[Leaf(n=6), Leaf(n=7)]))
            before = tree.to_dict()
            for values in ({"leaves": [twice, twice]}, {"leaf": round_}, {"leaf": twice, "leaf_by": {"a": twice}}):
                for way in ("create_or_update", "upsert"):
                    with pytest.raises(motte.Error):
                        WAYS[way](db, values)
                    assert tree.to_dict() == before and twice._row is None and round_._row is None


def test_what_is_popped_of_a_set_is_what_it_held() -> None:
    class Mixture(motte.Model):
        id: int = motte.field(primary_key=True)
        several: set[Any] = motte.field(default_factory=set)

    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Mixture]) as db:
        with db.write():
            mixture = db.add(Mixture(id=1))
            for value in (1, "a", [1, [2]], {"k": [1]}):
                mixture.several.add(value)
            assert sorted(map(repr, (mixture.several.pop() for _ in range(4)))) == [
                "'a'", "1", "[1, [2]]", "{'k': [1]}"]
            assert len(mixture.several) == 0


def test_a_map_is_assigned_as_it_is_when_its_converters_have_run() -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Painted, Peer]) as db:
        with db.write():
            thing = db.add(Painted(id=1, by_name={"a": Shade(1), "c": Shade(3)}))
            for only_differences in (False, True):
                thing.by_name["a"] = Shade(1)

                class Removing(Shade):
                    @property  # type: ignore[override]
                    def number(self) -> int:
                        thing.by_name.pop("a", None)
                        return 2

                    @number.setter
                    def number(self, number: int) -> None: ...
                thing.by_name.assign({"b": Removing(2)}, only_differences=only_differences)
                assert {key: value.number for key, value in thing.by_name.items()} == {"b": 2}


class Priced(motte.Model):
    id: int = motte.field(primary_key=True)
    prices: list[Decimal] = motte.field(default_factory=list)
    by_name: dict[str, Decimal] = motte.field(default_factory=dict)
    price: Decimal = Decimal(0)
    rate: float = 0.0
    small: motte.Float32 = 0.0
    free: Any = motte.field(default_factory=dict)


def test_numbers_are_compared_as_they_are_stored() -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Priced]) as db:
        changes: list[motte.ObjectChange] = []
        with db.write():
            thing = db.upsert(Priced(id=1))
        with thing.observe(changes.append):
            for number in (3, 1.5, Decimal("2.50"), Decimal("2.5"), -7, 0.1):
                def made() -> Priced:
                    return Priced(id=1, prices=[number], by_name={"a": number}, price=number)
                with db.write():
                    db.upsert(made())
                assert {each.name for each in changes.pop().properties} == {"prices", "by_name", "price"}
                assert exactly([*thing.prices, thing.by_name["a"]]) == exactly([thing.price] * 2)
                with db.write():
                    db.upsert(made())
                assert changes == [], number
            for zero in (-0.0, 0.0):
                with db.write():
                    db.upsert(Priced(id=1, prices=thing.prices[:], by_name=dict(thing.by_name), price=thing.price,
                                     rate=zero, small=zero))
                assert exactly([thing.rate, thing.small]) == exactly([zero] * 2)


def test_what_a_factory_makes_is_no_difference() -> None:
    """New objects come along in a property that has a function for new rows."""
    class Made(motte.Model):
        id: int = motte.field(primary_key=True)
        free: Any = motte.field(default_factory=dict)

    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Made]) as db:
        with db.write():
            made = db.upsert(Made(id=1, free=[Made(id=9), [1]]))
        changes: list[motte.ObjectChange] = []
        held = made.free
        with made.observe(changes.append):
            with db.write():
                db.upsert(Made(id=1, free=[Made(id=9), [1]]))
                assert held.is_valid
            assert changes == [] and made.free[1][0] == 1


class OtherLeaf(motte.EmbeddedModel):
    n: int = 0


class SubLeaf(Leaf):
    extra_n: int = 0


class Owner(motte.Model):
    id: int = motte.field(primary_key=True)
    leaf: Optional[Leaf] = None
    leaves: list[Leaf] = motte.field(default_factory=list)
    leaf_by: dict[str, Optional[Leaf]] = motte.field(default_factory=dict)
    other: Optional[OtherLeaf] = None
    sub: Optional[SubLeaf] = None


@pytest.mark.parametrize("wrong", [OtherLeaf, SubLeaf])
def test_an_embedded_object_of_another_class_is_refused(wrong: Any) -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Owner, Leaf, OtherLeaf, SubLeaf, Tree]) as db:
        with db.write():
            first = db.add(Owner(id=1, other=OtherLeaf(n=100), sub=SubLeaf(n=100)))
            owner = db.add(Owner(id=2, leaf=Leaf(n=1), leaves=[Leaf(n=2)], leaf_by={"a": Leaf(n=3)}))
            before = [first.to_dict(), owner.to_dict()]

            def changed(**values: Any) -> Owner:
                made = Owner(id=2)
                made._values.update(values)
                return made
            ways: list[Any] = [
                lambda new: setattr(owner, "leaf", new), lambda new: db.update(owner, leaf=new),
                lambda new: db.objects(Owner).update(leaf=lambda each: new), lambda new: owner.leaves.append(new),
                lambda new: owner.leaves.insert(0, new), lambda new: owner.leaves.__setitem__(0, new),
                lambda new: setattr(owner, "leaves", [new]), lambda new: owner.leaf_by.__setitem__("a", new),
                lambda new: owner.leaf_by.__setitem__("b", new), lambda new: owner.leaf_by.update(a=new),
                lambda new: owner.leaves.assign([new], only_differences=True),
                lambda new: owner.leaf_by.assign({"a": new}, only_differences=True),
                lambda new: db.create_or_update(Owner, id=2, leaf=new),
                lambda new: db.create_or_update(Owner, id=2, leaves=[new]),
                lambda new: db.create_or_update(Owner, policy="all", id=2, leaf_by={"a": new}),
                lambda new: db.upsert(changed(leaf=new)), lambda new: db.upsert(changed(leaves=[new]), policy="all"),
                lambda new: db.add(changed(leaf_by={"a": new}), update=True),
            ]
            for number, way in enumerate(ways):
                new = wrong(n=5)
                with pytest.raises(motte.errors.WrongTypeError):
                    way(new)
                assert new._row is None and new.n == 5, number
                assert [first.to_dict(), owner.to_dict()] == before, number


@pytest.mark.parametrize("kind", [collections.deque, tuple, lambda new: dict(enumerate(new)).values(), iter])
def test_objects_come_along_in_any_collection(kind: Any) -> None:
    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Tree, Leaf]) as db:
        with db.write():
            nine = db.add(Tree(id=9, n=1))
            tree = db.upsert(Tree(id=1, trees=kind([Tree(id=9, n=2), Tree(id=8)])))
            assert nine.n == 2 and [each.id for each in tree.trees] == [9, 8]
            db.create_or_update(Tree, id=1, trees=kind([Tree(id=9, n=3)]), leaves=kind([Leaf(other=Tree(id=8, n=4))]))
            assert nine.n == 3 and db.one(Tree, 8).n == 4 and list(tree.trees) == [nine]
            around = Tree(id=5)
            around.trees = kind([around, around])
            assert [each.id for each in db.add(around).trees] == [5, 5]


def test_objects_come_along_in_sets() -> None:
    class Member(motte.Model):
        id: int = motte.field(primary_key=True)
        n: int = 0
        group: set[Member] = motte.field(default_factory=set)

        def __hash__(self) -> int:
            return 1

    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Member]) as db:
        with db.write():
            nine = db.add(Member(id=9))
            made = db.upsert(Member(id=1, group={Member(id=9, n=2), Member(id=8)}))
            assert nine.n == 2 and {each.id for each in made.group} == {8, 9}
            around = Member(id=5)
            around.group = {around, Member(id=4)}
            assert {each.id for each in db.add(around).group} == {4, 5}


def test_a_property_that_is_called_as_an_argument_is_not_dropped() -> None:
    class Rule(motte.Model):
        id: int = motte.field(primary_key=True)
        policy: str = "none"

    class Named(motte.Model):
        id: int = motte.field(primary_key=True)
        model: str = ""
        instance: str = ""
        self: str = ""

    with motte.open(in_memory=f"modified {next(_numbers)}", schema=[Rule, Named]) as db:
        with db.write():
            with pytest.raises(errors.InvalidArgumentError, match="use upsert"):
                db.create_or_update(Rule, id=1, policy="all")
            assert db.upsert(Rule(id=1, policy="all")).policy == "all"
            made = db.create_or_update(Named, id=1, model="a", instance="b", self="c")
            db.update(made, model="d", instance="e", self="f")
            assert made.to_dict() == {"id": 1, "model": "d", "instance": "e", "self": "f"}
