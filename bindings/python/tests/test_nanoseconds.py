"""Points in time with nanoseconds, which no datetime has: read, assigned again, looked for, in batches, in columns."""
from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any, Optional

import numpy
import pandas
import pytest

import motte

UTC = timezone.utc
PLAIN = datetime(2013, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
FINE = motte.Timestamp.of(PLAIN, 789)


class Event(motte.Model):
    id: int = motte.field(primary_key=True)
    at: Optional[datetime] = None
    many: list[datetime] = motte.field(default_factory=list)
    any: Any = None


_numbers = itertools.count()


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"nanoseconds {next(_numbers)}", schema=[Event]) as database:
        database.import_json(Event, text='{"id": 1, "at": "2013-01-01T10:00:00.123456789Z", '
                             '"many": ["2013-01-01T10:00:00.123456789Z"], '
                             '"any": {"$date": "2013-01-01T10:00:00.123456789Z"}}')
        yield database


def test_reading_and_assigning_again(db: motte.Database) -> None:
    event, before = db.one(Event, 1), db.export_json(None, Event)
    assert event.at == FINE == event.many[0] == event.any and event.at != PLAIN
    assert isinstance(event.at, motte.Timestamp) and event.at.nanosecond == 789
    assert event.to_dict()["at"] == FINE
    with db.write():
        event.at = event.at
        event.many = list(event.many)
        event.any = event.any
        db.update(event, at=event.at)
        db.create_or_update(Event, id=1, at=event.at)
    assert db.export_json(None, Event) == before


def test_whole_microseconds_are_plain(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(id=2, at=PLAIN))
        assert type(event.at) is datetime and event.at == PLAIN
        db.add(Event(id=3, at=motte.Timestamp.of(PLAIN, 0)))
    assert type(db.one(Event, 3).at) is datetime


def test_looking_for_it(db: motte.Database) -> None:
    with db.write():
        db.add(Event(id=2, at=PLAIN))
    events = db.objects(Event)
    assert [event.id for event in events.where(Event.at == FINE)] == [1]
    assert [event.id for event in events.where("at > $0", PLAIN)] == [1]
    assert [event.id for event in events.where(Event.at.in_([FINE, PLAIN]))] == [1, 2]
    assert events.max("at") == FINE and FINE in db.one(Event, 1).many
    assert events.group_by("at").count().find(FINE)["count"] == 1


@pytest.mark.parametrize("value", [FINE, motte.Timestamp.of(datetime(1, 1, 1, tzinfo=UTC), 1),
                                   motte.Timestamp.of(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), 999)])
def test_columns(db: motte.Database, value: datetime) -> None:
    with db.write():
        db.insert_columns(Event, {"id": [2, 3, 4], "at": [value, None, PLAIN]})
        db.insert_rows(Event, ["id", "at"], [(5, value)])
        db.import_data(Event, [{"id": 6, "at": value, "many": [value]}])
        db.add_all([Event(id=7, at=value), Event(id=8)])
    assert db.objects(Event).column("at") == [FINE, value, None, PLAIN, value, value, value, None]


def test_what_other_libraries_have(db: motte.Database) -> None:
    with db.write():
        db.add(Event(id=2, at=pandas.Timestamp("2013-01-01T10:00:00.123456789Z")))
        db.insert_columns(Event, {"id": numpy.array([3]), "at": numpy.array(
            ["2013-01-01T10:00:00.123456789"], dtype="datetime64[ns]")})
        db.import_data(Event, db.objects(Event).where("id == 1").to_arrow("at", unit="ns").append_column(
            "id", [[4]]))
    assert db.objects(Event).column("at") == [FINE] * 4
    with pytest.raises(motte.errors.NumberOverflowError), db.write():
        db.insert_columns(Event, {"id": numpy.array([9]), "at": numpy.array(["2013-01-01T10:00:00.1234567891"],
                                                                           dtype="datetime64[ps]")})


def test_changes(db: motte.Database) -> None:
    seen: list[Any] = []
    event = db.one(Event, 1)
    token = event.observe(lambda change: seen.extend((each.old, each.new) for each in change.properties))
    with db.write():
        event.at = PLAIN
    assert seen == [(FINE, PLAIN)]
    token.stop()


def test_the_class() -> None:
    later = motte.Timestamp.of(PLAIN, 790)
    assert PLAIN < FINE < later and later > FINE > PLAIN and FINE >= FINE <= FINE and not FINE > later
    assert FINE == motte.Timestamp.of(PLAIN, 789) and PLAIN != FINE != later
    assert hash(motte.Timestamp.of(PLAIN, 0)) == hash(PLAIN) and len({FINE, PLAIN, later}) == 3
    assert sorted([later, PLAIN, FINE]) == [PLAIN, FINE, later]
    assert str(FINE) == "2013-01-01 10:00:00.123456789+00:00" and FINE.isoformat().endswith(".123456789+00:00")
    assert repr(FINE).startswith("motte.Timestamp.of(datetime.datetime(2013")
    assert copy.copy(FINE) == copy.deepcopy(FINE) == pickle.loads(pickle.dumps(FINE)) == FINE
    day = timedelta(days=1)
    assert (FINE + day).nanosecond == (day + FINE).nanosecond == (FINE - day).nanosecond == 789
    assert FINE - PLAIN == timedelta(0)
    assert FINE.astimezone(timezone(day / 24)) == FINE == FINE.replace(year=2013)
    assert FINE.replace(nanosecond=0) == PLAIN
    assert FINE != 5 and not FINE == "x"
    with pytest.raises(TypeError):
        FINE < 5  # type: ignore[operator]  # noqa: B015
    with pytest.raises(ValueError, match="0 to 999"):
        motte.Timestamp.of(PLAIN, 1000)


def test_importing_objects_of_another_database_keeps_nanoseconds() -> None:
    class Event(motte.Model):
        time: datetime
        times: list[datetime] = motte.field(default_factory=list)

    exact = motte.Timestamp.of(datetime(2024, 1, 1, tzinfo=timezone.utc), 789)
    far = datetime(9000, 1, 1, tzinfo=timezone.utc)
    with motte.open(in_memory="from", schema=[Event]) as one, motte.open(in_memory="to", schema=[Event]) as two:
        with one.write():
            one.add(Event(time=exact, times=[exact]))
        with two.write():
            two.import_data(Event, one.objects(Event))
        assert two.objects(Event)[0].time == exact and two.objects(Event)[0].times[:] == [exact]
        # Far from today there is no number of nanoseconds; nothing is lost without a word.
        with one.write():
            one.add(Event(time=far))
        with pytest.raises(motte.errors.NumberOverflowError, match="nanoseconds"):
            two.import_data(Event, one.objects(Event))
        two.import_data(Event, one.objects(Event).where("time == $0", far))
        assert [each.time for each in two.objects(Event)] == [exact, far]


class Span(motte.EmbeddedModel):
    start: Optional[datetime] = None


class Moment:
    def __init__(self, time: datetime) -> None:
        self.time = time


motte.converter(Moment, datetime, store=lambda moment: moment.time, load=Moment)


class Everywhere(motte.Model):
    far: Optional[datetime] = None
    day: Optional[date] = None
    times: list[datetime] = motte.field(default_factory=list)
    some: set[datetime] = motte.field(default_factory=set)
    named: dict[str, datetime] = motte.field(default_factory=dict)
    span: Optional[Span] = None
    spans: list[Span] = motte.field(default_factory=list)
    moment: Optional[Moment] = None


@pytest.mark.parametrize("name, make", [
    ("times", lambda time: [time]), ("some", lambda time: {time}), ("named", lambda time: {"a": time}),
    ("span", lambda time: Span(start=time)), ("spans", lambda time: [Span(), Span(start=time)]), ("moment", Moment)])
def test_no_nanoseconds_are_lost_beside_a_time_that_is_far(name: str, make: Callable[[datetime], Any]) -> None:
    """Wherever they are."""
    far = datetime(9000, 1, 1, tzinfo=timezone.utc)
    with motte.open(in_memory="from", schema=[Everywhere, Span]) as one, motte.open(
            in_memory="to", schema=[Everywhere, Span]) as two:
        with one.write():
            one.add(Everywhere(far=far, day=date(1500, 1, 1), **{} if name == "moment" else {name: make(PLAIN)}))
        with two.write():
            two.import_data(Everywhere, one.objects(Everywhere))
        assert two.objects(Everywhere)[0].far == far and two.objects(Everywhere)[0].day == date(1500, 1, 1)
        with one.write():
            one.add(Everywhere(**{name: make(FINE)}))
        with pytest.raises(motte.errors.NumberOverflowError, match=f"'{name}' may have nanoseconds"), two.write():
            two.import_data(Everywhere, one.objects(Everywhere))
        assert two.count(Everywhere) == 1
