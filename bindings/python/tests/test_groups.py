"""Groups of objects: rows, columns, frames; live, frozen, and by methods as by text."""
from __future__ import annotations

import asyncio
import enum
import pathlib
import pickle
from datetime import datetime, timezone
from typing import Any, Optional

import pytest

import motte
from motte import errors


class Town(motte.Model):
    name: str = motte.field(primary_key=True)


class Visit(motte.Model):
    number: int = motte.field(primary_key=True)
    town: Optional[Town]
    guest: Optional[str]
    nights: Optional[int]
    price: float
    came: Optional[datetime]
    booked_by: Optional[str] = motte.field(stored_name="bookedBy")


@pytest.fixture
def visits(tmp_path: pathlib.Path) -> Any:
    db = motte.open(tmp_path / "visits.motte", schema=[Town, Visit])
    oslo, rome = Town(name="Oslo"), Town(name="Rome")
    with db.write():
        for number, (town, guest, nights, price, month) in enumerate([
                (oslo, "Ada", 1, 10.0, 1), (oslo, "Bo", None, 20.0, 1), (rome, "Ada", 3, 30.0, 2),
                (None, None, 4, 5.0, None)]):
            came = None if month is None else datetime(2020, month, 5, tzinfo=timezone.utc)
            db.add(Visit(number=number, town=town, guest=guest, nights=nights, price=price, came=came,
                         booked_by="x" if number else None))
    with db:
        yield db.objects(Visit)


def test_rows_have_names(visits: motte.Results[Visit]) -> None:
    groups = visits.query("GROUP(town.name AS town) COUNT, SUM(nights), AVG(price) AS price")
    assert groups.columns == ("town", "COUNT", "SUM(nights)", "price") and groups.key_count == 1 and len(groups) == 3
    assert list(groups) == [(None, 1, 4, 5.0), ("Oslo", 2, 1, 15.0), ("Rome", 1, 3, 30.0)]
    row = groups[1]
    assert (row.town, row["SUM(nights)"], row[-1]) == ("Oslo", 1, 15.0)
    assert row.to_dict() == {"town": "Oslo", "COUNT": 2, "SUM(nights)": 1, "price": 15.0}
    assert groups[-1] == groups[2] and groups[1:] == list(groups)[1:] and groups[::-1][0].town == "Rome"
    assert repr(row) == "Group(town='Oslo', COUNT=2, SUM(nights)=1, price=15.0)"
    assert pickle.loads(pickle.dumps(row)) == row
    assert groups.find("Rome") == groups[2] and groups.find("Bergen") is None
    assert groups.column("COUNT") == [1, 2, 1]
    for wrong in (lambda: row["nobody"], lambda: {}[row]):
        with pytest.raises(KeyError):
            wrong()
    with pytest.raises(AttributeError, match="no column 'nobody'"):
        row.nobody
    with pytest.raises(errors.OutOfBoundsError):
        groups[3]
    with pytest.raises(errors.InvalidArgumentError, match="no column"):
        groups.column("nobody")
    with pytest.raises(errors.InvalidArgumentError):
        groups.find("Oslo", 3)


def test_methods_say_the_same(visits: motte.Results[Visit]) -> None:
    by_town = visits.group_by("town.name").agg(
        motte.sum("nights"), motte.count("nights", distinct=True), n=motte.count(), low=motte.min(Visit.price),
        high=motte.max("price"), mid=motte.median("price"), p=motte.percentile("price", 0.5), var=motte.var("price"),
        dev=motte.stddev("price"))
    text = visits.query("GROUP(town.name) SUM(nights), COUNT(DISTINCT nights), COUNT, MIN(price), MAX(price), "
                        "MEDIAN(price), PERCENTILE(price, 0.5), VAR(price), STDDEV(price)")
    assert list(by_town) == list(text)
    assert by_town.columns[:3] == ("town.name", "SUM(nights)", "COUNT(DISTINCT nights)")
    assert [group.n for group in by_town.having("n > $0", 1)] == [2]
    assert [group[0] for group in by_town.sorted("-n", "town.name")] == ["Oslo", None, "Rome"]
    assert len(by_town.sorted("low").limit(2)) == 2 and by_town.sorted("low").limit(2)[0].low == 5.0
    assert visits.group_by().count() == [(4,)]
    assert visits.where("number > 9").group_by().agg(n=motte.count(), mean=motte.avg("price")) == [(0, None)]
    towns = [group.town for group in visits.group_by(town=Visit.town).count()]
    assert [town and town.name for town in towns] == [None, "Oslo", "Rome"]
    months = visits.where("came != null").group_by(month=motte.by("came", "month")).count()
    assert months == [(datetime(2020, 1, 1, tzinfo=timezone.utc), 2), (datetime(2020, 2, 1, tzinfo=timezone.utc), 1)]
    # Names of the program, and not of the file.
    assert visits.group_by("booked_by").agg(motte.count("booked_by")).columns == ("booked_by", "COUNT(booked_by)")
    assert visits.query("GROUP(booked_by) COUNT HAVING COUNT > $least", least=1)[0][1] == 3


def test_groups_are_live_and_freeze(visits: motte.Results[Visit]) -> None:
    groups = visits.group_by("guest").count()
    frozen = groups.freeze()
    with visits._database.write():
        visits[0].guest = "Bo"
        assert groups == [(None, 1), ("Ada", 1), ("Bo", 2)]
    assert groups == [(None, 1), ("Ada", 1), ("Bo", 2)]
    assert frozen == [(None, 1), ("Ada", 2), ("Bo", 1)]


def test_mistakes(visits: motte.Results[Visit]) -> None:
    with pytest.raises(errors.UnknownPropertyError):
        visits.group_by("height").count()
    with pytest.raises(errors.QueryInvalidError, match="GROUP gives groups"):
        visits.where("GROUP(guest) COUNT")
    with pytest.raises(errors.QueryInvalidError, match="the query has no groups"):
        visits.query("nights > 1")
    with pytest.raises(errors.QueryInvalidError, match="AS"):
        visits.group_by("guest", "guest").count()
    for wrong in (lambda: motte.by("came", "moon"), lambda: motte.count(distinct=True),
                  lambda: motte.percentile("price", 2), lambda: visits.group_by("guest").count().limit(-1),
                  lambda: visits.group_by("guest").count().limit(1).having("count > 1"),
                  lambda: visits.group_by("guest").count().sorted("nobody"),
                  lambda: visits.group_by("guest").count().sorted(),
                  lambda: visits.query("GROUP(guest)").limit(1)):
        with pytest.raises(errors.InvalidArgumentError):
            wrong()
    with pytest.raises(TypeError):
        pickle.dumps(visits.query("GROUP(guest)"))


def test_they_show_themselves(visits: motte.Results[Visit]) -> None:
    groups = visits.group_by("guest").count()
    assert repr(groups) == ("<Groups: 3 [Group(guest=None, count=1), Group(guest='Ada', count=2), "
                            "Group(guest='Bo', count=1)]>")
    html = groups._repr_html_()
    assert "<caption>3 groups</caption>" in html and "<th>guest<br><small>str | None</small></th>" in html
    assert repr(visits.group_by("guest")) == "<GroupBy: GROUP(guest AS `guest`)>"
    assert repr(motte.avg("price")) == "<Aggregate AVG(price)>" and repr(motte.by("came", "day")) == "<By came day>"


def test_frames(visits: motte.Results[Visit]) -> None:
    groups = visits.group_by("guest", month=motte.by("came", "month")).agg(
        n=motte.count(), nights=motte.min("nights"), price=motte.sum("price"))
    numpy = pytest.importorskip("numpy")
    arrays = groups.to_numpy()
    assert list(arrays) == ["guest", "month", "n", "nights", "price"]
    assert arrays["n"].tolist() == [1, 1, 1, 1] and arrays["n"].dtype == numpy.int64
    assert groups.to_numpy("nights").tolist() == [4, 1, 3, None]
    assert groups.to_numpy("nights", null=-1).tolist() == [4, 1, 3, -1]
    assert arrays["price"].tolist() == [5.0, 10.0, 30.0, 20.0]
    assert arrays["guest"].tolist() == [None, "Ada", "Ada", "Bo"]
    assert arrays["month"].dtype == numpy.dtype("datetime64[us]") and arrays["month"][0] is numpy.ma.masked
    assert visits.where("number > 9").group_by("guest").count().to_numpy("count").tolist() == []
    pyarrow = pytest.importorskip("pyarrow")
    table = groups.to_arrow()
    assert table.to_pylist() == [dict(zip(groups.columns, row)) for row in groups]
    if pytest.importorskip("pandas"):
        assert groups.to_pandas()["n"].sum() == 4
    assert pyarrow.table(groups).equals(table)
    pytest.importorskip("polars")
    assert groups.to_polars().rows() == list(map(tuple, groups))


def test_observers_are_notified_by_key(visits: motte.Results[Visit]) -> None:
    db = visits._database
    groups = visits.query("GROUP(guest) COUNT, SUM(nights) AS nights SORT(COUNT DESC)")
    seen: list[motte.Changes] = []
    with groups.observe(seen.append):
        db.refresh()
        assert len(seen) == 1 and seen[0].is_initial and not seen[0].insertions
        assert list(groups) == [("Ada", 2, 4), (None, 1, 4), ("Bo", 1, 0)]
        with db.write():
            visits.where("guest == 'Bo'").first().nights = 2
        assert (seen[1].deletions, seen[1].insertions, seen[1].modifications) == ([], [], [2])
        with db.write():
            visits.where("guest == 'Bo'").first().price = 2.5
        assert len(seen) == 2
        with db.write():
            db.add_all([Visit(number=number, guest="Bo", price=1.0) for number in (10, 11)])
        assert list(groups)[0] == ("Bo", 3, 2)
        assert (seen[2].deletions, seen[2].insertions, seen[2].moves) == ([2], [0], [(2, 0)])
        with db.write():
            db.delete(visits.where("guest == null"))
        assert seen[3].deletions == [2] and not seen[3].insertions
    with db.write():
        db.delete(visits)
    assert len(seen) == 4 and groups == []


def test_observing_by_loops(visits: motte.Results[Visit]) -> None:
    db = visits._database
    groups = visits.group_by("guest").count()
    stream = iter(groups.changes(timeout=5))
    assert next(stream).is_initial
    with db.write():
        db.add(Visit(number=20, guest="Cy", price=1.0))
    assert next(stream).insertions == [3]

    async def watch() -> list[list[int]]:
        found = []
        async for change in groups.changes(timeout=5):
            found.append(change.modifications)
            if len(found) == 2:
                break
            with db.write():
                db.add(Visit(number=21, guest="Cy", price=1.0))
        return found
    assert asyncio.run(watch()) == [[], [3]]
    with pytest.raises(errors.FrozenError):
        groups.freeze().observe(print)


class Amount(motte.Model):
    id: int = motte.field(primary_key=True)
    n: int


def test_an_observer_hears_of_its_own_failure() -> None:
    with motte.open(in_memory="amounts", schema=[Amount]) as amounts:
        with amounts.write():
            amounts.add(Amount(id=0, n=1))
        groups = amounts.objects(Amount).query("GROUP() SUM(n)")
        seen: list[motte.Changes] = []
        token = groups.observe(seen.append)
        amounts.dispatch()
        for number in range(1, 6):
            with amounts.write():
                amounts.add(Amount(id=number, n=2**62))
        assert len(amounts.objects(Amount)) == 6
        # Once: that it is still so is no news.
        assert [type(each.error) for each in seen[-1:]] == [motte.errors.NumberOverflowError]
        assert sum(each.error is not None for each in seen) == 1 and "failed" in repr(seen[-1])
        with amounts.write():
            amounts.delete(amounts.objects(Amount).where("id > 1"))
        assert seen[-1].is_initial and seen[-1].error is None
        token.stop()


class Kind(enum.Enum):
    DOG = "dog"
    CAT = "cat"


class Size(enum.Enum):
    SMALL = "s"
    DOG = "dog"


class Pet(motte.Model):
    kind: Kind
    size: Optional[Size] = None


def test_a_name_that_the_text_gives_is_no_property() -> None:
    """The converter of another property of that name has no business there."""
    with motte.open(in_memory="given names", schema=[Pet]) as db:
        with db.write():
            db.add_all([Pet(kind=Kind.DOG), Pet(kind=Kind.CAT)])
        pets = db.objects(Pet)
        assert [tuple(each) for each in pets.query("GROUP(kind) COUNT")] == [(Kind.CAT, 1), (Kind.DOG, 1)]
        for name in ("size", "`size`"):
            for word in ("AS", "as"):
                assert [tuple(each) for each in pets.query(f"GROUP(kind {word} {name}) COUNT")] == [
                    ("cat", 1), ("dog", 1)]
        assert [tuple(each) for each in pets.where("kind != 'x AS kind'").query("GROUP(kind) COUNT AS n")] == [
            (Kind.CAT, 1), (Kind.DOG, 1)]
        assert [tuple(each) for each in pets.group_by(size="kind").count()] == [(Kind.CAT, 1), (Kind.DOG, 1)]


def test_the_stand_in_for_none_makes_floats_of_ints(visits: Any) -> None:
    numpy = pytest.importorskip("numpy")
    nights = visits.group_by("guest").agg(most=motte.max("nights"))
    assert nights.to_numpy("most", null=-0.5).tolist() == [4.0, 3.0, -0.5]
    assert numpy.isnan(nights.to_numpy("most", null=float("nan"))).tolist() == [False, False, True]
    assert nights.to_numpy("most", null=-1).dtype == numpy.int64
