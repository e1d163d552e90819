"""Types that a database does not have: those with a converter of their own, and the built-in ones."""
from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, Optional

import pytest

import motte
from motte import errors


class Color(NamedTuple):
    red: int
    green: int
    blue: int


def parsed(text: str) -> Color:
    return Color(*bytes.fromhex(text))


HEX = motte.converter(Color, str, store=lambda color: bytes(color).hex(), load=parsed)
#: Of one property.
NUMBERED: motte.Converter[Color] = motte.Converter(
    Color, int, lambda color: int.from_bytes(bytes(color), "big"), lambda number: Color(*number.to_bytes(3, "big")))


class Version:
    def __init__(self, major: int, minor: int) -> None:
        self.parts = (major, minor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


motte.converter(Version, int, store=lambda version: version.parts[0] * 1000 + version.parts[1],
                load=lambda number: Version(*divmod(number, 1000)))


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


class Event(motte.Model):
    day: date = motte.field(primary_key=False, default=date(2000, 1, 1))
    at: time = time(0)
    length: timedelta = timedelta()
    file: Path = Path(".")
    size: Literal["small", "large"] = "small"
    rank: Literal[1, 2, 3, None] = None
    color: Color = Color(0, 0, 0)
    number: Annotated[Color, NUMBERED] = Color(0, 0, 0)
    maybe: Optional[date] = None
    days: list[date] = motte.field(default_factory=list)
    colors: set[Color] = motte.field(default_factory=set)
    files: dict[str, Path] = motte.field(default_factory=dict)
    place: tuple[float, float] = (0.0, 0.0)
    words: tuple[str, ...] = ()
    row: tuple[str, int, date] = ("", 0, date(2000, 1, 1))
    kind: Kind = Kind.SMALL


class Release(motte.Model):
    version: Version = motte.field(primary_key=True)
    before: Optional[Release] = None


FULL: dict[str, Any] = {
    "day": date(2024, 2, 29), "at": time(23, 59, 59, 999999), "length": timedelta(days=-1, microseconds=5),
    "file": Path("/tmp/ä b"), "size": "large", "rank": 2, "color": Color(1, 2, 255), "number": Color(9, 8, 7),
    "maybe": date(1, 1, 1), "days": [date(9999, 12, 31), date(1969, 7, 20)], "colors": {Color(5, 5, 5)},
    "files": {"a": Path("x/y")}, "place": (51.5, -0.1), "words": ("a", "b"), "row": ("x", 7, date(2024, 1, 2)),
    "kind": Kind.LARGE,
}


def values(event: Event) -> dict[str, Any]:
    # A set is a list of its elements in a dict.
    return {**event.to_dict(), "colors": set(event.colors)}


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="converters", schema=[Event, Release]) as database:
        yield database


def test_values_read_back_equal_and_of_their_type(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(**FULL))
        empty = db.add(Event())
    assert values(event) == FULL
    for name, value in FULL.items():
        read = getattr(event, name)
        assert type(read) is type(value) or name in ("days", "colors", "files"), name
    assert [type(each) for each in event.days] == [date, date] and type(event.row[2]) is date
    assert empty.day == date(2000, 1, 1) and empty.maybe is None and empty.words == () and empty.rank is None
    with db.write():
        for name, value in FULL.items():
            setattr(empty, name, value)
    assert values(empty) == FULL


class Palette(motte.Model):
    id: int = motte.field(primary_key=True)
    shades: list[Color] = motte.field(default_factory=list)
    named: dict[str, Color] = motte.field(default_factory=dict)
    first: tuple[Color, int] = (Color(0, 0, 0), 0)
    next: Optional[Palette] = None


def test_types_that_are_tuples_are_no_lists_in_collections() -> None:
    with motte.open(in_memory="palettes", schema=[Palette]) as db:
        with db.write():
            given = {"shades": [Color(1, 2, 3), Color(4, 5, 6)], "named": {"a": Color(7, 8, 9)},
                     "first": (Color(1, 1, 1), 5)}
            one = db.add(Palette(id=1, **given))
            two, three = db.add_all([Palette(id=2, next=one, **given), Palette(id=3, next=Palette(id=4), **given)])
        for each in (one, two, three):
            assert (list(each.shades), dict(each.named), each.first) == (*given.values(),)
        with db.write():
            db.upsert(Palette(id=1, shades=[Color(9, 9, 9)]))
        assert list(one.shades) == [Color(9, 9, 9)] and not one.named


def test_what_is_stored(db: motte.Database) -> None:
    with db.write():
        db.add(Event(**FULL))
    stored = motte.open(in_memory="converters")
    with stored:
        found = stored.objects("Event")[0].to_dict()
    assert found["day"] == datetime(2024, 2, 29, tzinfo=timezone.utc)
    assert found["at"] == 86_399_999_999 and found["length"] == -86_400_000_000 + 5
    assert (found["file"], found["color"], found["number"]) == ("/tmp/ä b", "0102ff", 0x090807)
    assert found["place"] == [51.5, -0.1] and found["row"] == ["x", 7, datetime(2024, 1, 2, tzinfo=timezone.utc)]
    assert found["days"][1] == datetime(1969, 7, 20, tzinfo=timezone.utc) and found["files"] == {"a": "x/y"}


def test_arguments_of_queries_are_converted(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(**FULL))
        db.add(Event())
    events = db.objects(Event)
    for condition in (
        Event.day > date(2024, 2, 1), Event.day == date(2024, 2, 29), Event.at >= time(12),
        Event.length < timedelta(0), Event.color == Color(1, 2, 255), Event.number == Color(9, 8, 7),
        Event.size == "large", Event.kind == Kind.LARGE,
    ):
        assert list(events.where(condition)) == [event], condition
    for chosen in (
        lambda e: e.day.in_([date(2024, 2, 29), date(1999, 1, 1)]),
        lambda e: e.at.between(time(23), time(23, 59, 59, 999999)),
        lambda e: e.days.any() == date(1969, 7, 20), lambda e: e.days.contains(date(1969, 7, 20)),
        lambda e: e.file.startswith("/tmp"), lambda e: e.colors.contains(Color(5, 5, 5)),
        lambda e: e.words.contains("b"),
    ):
        assert list(events.where(chosen)) == [event]
    assert list(events.where("day > $0 AND length < $1", date(2024, 2, 1), timedelta())) == [event]
    assert list(events.where("day IN $0", [date(2024, 2, 29)])) == [event]
    assert list(events.where("file == $0 AND color == $1", Path("/tmp/ä b"), Color(1, 2, 255))) == [event]
    assert list(db.query(Event, "day BETWEEN {$0, $1}", date(2024, 1, 1), date(2025, 1, 1)).run()) == [event]


def test_a_converted_primary_key(db: motte.Database) -> None:
    with db.write():
        old = db.add(Release(version=Version(1, 9)))
        new = db.add(Release(version=Version(1, 10), before=old))
        with pytest.raises(errors.DuplicatePrimaryKeyError):
            db.add(Release(version=Version(1, 9)))
        assert db.create_or_update(Release, version=Version(1, 9)) == old
    assert db.get(Release, Version(1, 10)) == new and db.get(Release, Version(2, 0)) is None
    assert db.one(Release, Version(1, 9)) == old
    assert list(db.objects(Release).where(Release.before.version == Version(1, 9))) == [new]
    assert [each.version.parts for each in db.objects(Release).sorted("-version")] == [(1, 10), (1, 9)]


def test_columns_aggregates_and_batches(db: motte.Database) -> None:
    numpy = pytest.importorskip("numpy")
    days = [date(2024, 1, 1), date(2020, 1, 1)]
    with db.write():
        db.insert_columns(Event, {"day": days, "color": [Color(1, 1, 1), Color(2, 2, 2)], "maybe": [None, days[0]]})
        db.insert_rows(Event, ["day", "kind"], [(date(2030, 1, 1), Kind.LARGE)])
    events = db.objects(Event)
    assert events.column("day") == [*days, date(2030, 1, 1)] and events.column("kind")[2] is Kind.LARGE
    assert events.max("day") == date(2030, 1, 1) and events.min(Event.day) == date(2020, 1, 1)
    assert events.column("maybe") == [None, days[0], None] and events.max("maybe") == days[0]
    assert events.to_numpy("day").dtype == numpy.dtype("datetime64[us]")
    assert list(events.to_numpy("color")[:2]) == ["010101", "020202"]
    with db.write():
        # An array is what is stored already.
        db.insert_columns(Event, {"day": numpy.array(["2024-05-06"], dtype="datetime64[D]")})
    last = events.last()
    assert last is not None and last.day == date(2024, 5, 6)


def test_collections_take_and_give_the_type(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(**FULL))
        event.days.append(date(2000, 1, 1))
        event.days[0] = date(2001, 1, 1)
        event.colors |= {Color(6, 6, 6)}
        event.colors.discard(Color(5, 5, 5))
        event.files["b"] = Path("z")
    assert list(event.days) == [date(2001, 1, 1), date(1969, 7, 20), date(2000, 1, 1)]
    assert event.days.index(date(2000, 1, 1)) == 2 and date(1990, 1, 1) not in event.days
    assert "2000-01-01" not in event.days and event.days.max() == date(2001, 1, 1)
    assert event.colors == {Color(6, 6, 6)} and Color(6, 6, 6) in event.colors
    assert event.files == {"a": Path("x/y"), "b": Path("z")}
    assert list(event.days.where("SELF > $0", date(1999, 1, 1))) == [date(2001, 1, 1), date(2000, 1, 1)]


def test_observers_get_the_type(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(**FULL))
    seen: list[motte.PropertyChange] = []
    token = event.observe(lambda change: seen.extend(change.properties))
    with db.write():
        event.day, event.kind, event.length = date(1999, 1, 1), Kind.SMALL, timedelta(1)
    token.stop()
    assert {each.name: (each.old, each.new) for each in seen} == {
        "day": (date(2024, 2, 29), date(1999, 1, 1)), "kind": (Kind.LARGE, Kind.SMALL),
        "length": (FULL["length"], timedelta(1))}


WRONG: list[tuple[str, Any, str]] = [
    ("day", datetime(2024, 1, 1, tzinfo=timezone.utc), "give its date"), ("day", "2024-01-01", "where date is wanted"),
    ("day", None, "None is not allowed"), ("at", time(1, tzinfo=timezone.utc), "time zone"), ("at", 5, "time"),
    ("length", 5, "timedelta is wanted"), ("file", "/tmp", "Path is wanted"), ("size", "medium", "'small', 'large'"),
    ("rank", 4, "none of 1, 2, 3"), ("rank", True, "none of 1, 2, 3"), ("color", (1, 2, 3), "Color is wanted"),
    ("place", (1.0,), "a tuple of 2"), ("place", ("a", "b"), "float"), ("words", "ab", "a tuple"),
    ("row", ("x", "y", date(2000, 1, 1)), "is str where int"), ("days", [date(2000, 1, 1), 5], "date is wanted"),
    ("files", {"a": "b"}, "Path is wanted"), ("kind", 3, "whose values are"),
]


@pytest.mark.parametrize("name, value, message", WRONG, ids=lambda value: repr(value)[:20])
def test_other_values_are_refused(db: motte.Database, name: str, value: Any, message: str) -> None:
    kind = errors.NullNotAllowedError if value is None else errors.WrongTypeError
    with pytest.raises(kind, match=message) as raised:
        Event(**{name: value})
    assert raised.value.property_name == name and f"Event.{name}: " in str(raised.value)
    unmanaged = Event()
    with pytest.raises(kind, match=message):
        setattr(unmanaged, name, value)
    with db.write():
        event = db.add(Event(**FULL))
        # None is the library's to refuse there.
        with pytest.raises(kind, match=None if value is None else message):
            setattr(event, name, value)
    assert values(event) == FULL


def test_durations_have_64_bits_of_microseconds(db: motte.Database) -> None:
    with db.write(), pytest.raises(errors.NumberOverflowError):
        db.add(Event(length=timedelta.max))


def test_what_a_converter_raises_undoes_the_call(db: motte.Database) -> None:
    with db.write():
        event = db.add(Event(**FULL))
        with pytest.raises(ValueError, match="bytes must be in range"):
            db.update(event, color=Color(1, 2, 999), size="small")
        with pytest.raises(ValueError, match="bytes must be in range"):
            event.colors |= {Color(1, 1, 1), Color(1, 2, 999)}
    assert values(event) == FULL


def test_converters_that_cannot_be() -> None:
    with pytest.raises(TypeError, match="str is stored as it is"):
        motte.converter(str, bytes, store=str.encode, load=bytes.decode)
    with pytest.raises(TypeError, match="a class is wanted"):
        motte.converter("Color", str, store=str, load=str)  # type: ignore[type-var, arg-type]

    class Odd:
        pass
    for kind in (list, Event, list[int], Any):
        with pytest.raises(TypeError, match="values are stored as one of bool, int"):
            motte.converter(Odd, kind, store=list, load=lambda _: Odd())

    class Holder(motte.Model):
        odd: Annotated[Odd, motte.Converter(Odd, list, lambda _: [], lambda _: Odd())]
    with pytest.raises(errors.SchemaInvalidError, match=r"Holder\.odd"):
        motte.open(in_memory="odd", schema=[Holder])


def test_a_converter_on_top_of_another(db: motte.Database) -> None:
    class Deadline:
        def __init__(self, day: date) -> None:
            self.day = day

    motte.converter(Deadline, date, store=lambda deadline: deadline.day, load=Deadline)
    globals()["Deadline"] = Deadline

    class Task(motte.Model):
        until: Deadline
    with motte.open(in_memory="tasks", schema=[Task]) as tasks:
        with tasks.write():
            task = tasks.add(Task(until=Deadline(date(2024, 1, 1))))
        assert task.until.day == date(2024, 1, 1)
        assert tasks.objects(Task).where("until > $0", Deadline(date(2023, 1, 1))).first() == task


@pytest.mark.parametrize("annotation, why", [
    (tuple[()], "has elements"), (Optional[tuple[int, ...]], "never None"), (Literal[1, "a"], "one type"),
    (tuple[list[int], ...], "cannot hold collections"), (PurePosixPath, None), (Literal[Kind.SMALL], "one type"),
], ids=str)
def test_annotations(annotation: Any, why: Optional[str]) -> None:
    made = type("Made", (motte.Model,), {"__annotations__": {"value": annotation}, "__module__": __name__})
    if why is None:
        assert made._declared()["value"].converter is not None  # type: ignore[attr-defined]
        return
    with pytest.raises(errors.SchemaInvalidError, match=why):
        motte.open(in_memory="annotations", schema=[made])


def test_converters_show_what_they_do() -> None:
    assert repr(HEX) == "<Converter of Color, stored as str>" and HEX.type is Color and HEX.stored_type is str
    assert NUMBERED.stored(Color(0, 1, 0)) == 256 and NUMBERED.loaded(256) == Color(0, 1, 0)
    assert HEX.stored(None) is None and HEX.loaded(None) is None


IN_SECONDS = motte.Converter(
    timedelta, int, lambda length: round(length.total_seconds()), lambda number: timedelta(seconds=number))


def test_a_converter_that_is_not_found_is_refused() -> None:
    here = IN_SECONDS

    class Part(motte.Model):
        took: Annotated[timedelta, here]
    with pytest.raises(errors.SchemaInvalidError, match="Part.took: here in the annotation is no name of the module"):
        motte.open(in_memory="not found", schema=[Part])
    assert here is IN_SECONDS


def test_arguments_are_what_the_property_beside_them_stores() -> None:
    class Part(motte.Model):
        id: int = motte.field(primary_key=True)
        took: Annotated[timedelta, IN_SECONDS]

    class Job(motte.Model):
        id: int = motte.field(primary_key=True)
        usual: timedelta
        at: datetime
        parts: list[Part] = motte.field(default_factory=list)

    start, minute = datetime(2020, 1, 1, tzinfo=timezone.utc), timedelta(minutes=1)
    with motte.open(in_memory="own converters", schema=[Job, Part]) as db:
        with db.write():
            for number in range(4):
                db.add(Job(id=number, usual=number * minute, at=start, parts=[Part(id=number, took=number * minute)]))

        def found(condition: Any, *arguments: Any, **named: Any) -> list[int]:
            return [job.id for job in db.objects(Job).where(condition, *arguments, **named).sorted("id")]
        assert found("usual == $0", minute) == found("ANY parts.took == $0", minute) == [1]
        assert found("ANY parts.took < $0 AND usual < $1", 2 * minute, minute) == [0]
        some = [minute, 3 * minute]
        assert found("ANY parts.took IN $0", some) == found("usual IN $0", some) == [1, 3]
        assert found("NOT (ANY parts.took < $most)", most=minute) == [1, 2, 3]
        assert found("at + $0 > $1", minute, start) == [0, 1, 2, 3]
        assert found("ANY parts.took == $0", 60) == [1]
        query = db.query(Part, Part.took < timedelta())
        assert query.count() == 0 and query.bind(2 * minute).count() == 2
        assert found("SUBQUERY(parts, $part, $part.took == $0).@count > 0", minute) == [1]
        assert found("ANY parts.took BETWEEN $0 AND $1", minute, 2 * minute) == [1, 2]
        assert found("ANY parts.took > %@", minute) == [2, 3]
        assert found("ANY parts.took IN %@", some) == [1, 3]
        groups = db.objects(Part).group_by("took").agg(most=motte.max("took"))
        for condition in ("most > $0", "took > $0", "took IN {$1, $2} AND took != $0",
                          "$0 < took AND most BETWEEN $1 AND $2"):
            arguments = [minute, 2 * minute, 3 * minute][:3 if "$2" in condition else 1]
            assert [group.took for group in groups.having(condition, *arguments)] == [2 * minute, 3 * minute], condition
        text = "GROUP(id) MAX(took) AS most HAVING most > $0"
        assert [group.id for group in db.objects(Part).query(text, minute)] == [2, 3]
        # Nobody knows which of both is meant, or what becomes of a total.
        for unclear in ("ANY parts.took == $0 OR usual == $0", "parts.@max.took == $0"):
            with pytest.raises(errors.WrongTypeError, match="converters of their own for timedelta"):
                found(unclear, minute)


class Size(enum.Enum):
    SMALL, LARGE = 1, 2


CENTS = motte.Converter(int, int, lambda value: 100 * value, lambda stored: stored // 100)
NAMED = motte.Converter(Size, str, lambda size: size.name, lambda name: Size[name])


def test_numbers_in_query_text_are_what_is_stored() -> None:
    class Item(motte.Model):
        id: int = motte.field(primary_key=True)
        price: Annotated[int, CENTS]
        age: int
        group: int
        size: Annotated[Size, NAMED]

    with motte.open(in_memory="cents", schema=[Item]) as db:
        with db.write():
            for number in range(6):
                db.add(Item(id=number, price=number, age=number, group=number, size=Size(1 + number % 2)))
        items = db.objects(Item)

        def found(condition: Any, *arguments: Any) -> list[int]:
            return sorted(item.id for item in items.where(condition, *arguments))
        assert found("age == $0 DISTINCT(price)", 5) == found("price == $0", 500) == found(Item.price == 5) == [5]
        assert found("`group` == $0", 3) == found("price IN $0", range(300, 301)) == [3]
        assert found("size == $0", Size.SMALL) == found("size IN $0", [Size.SMALL]) == found(Item.size == Size.SMALL)
        assert found("size == $0", Size.SMALL) == [0, 2, 4]
        query = db.query(Item, Item.price < 0)
        assert query.bind(2).count() == 2
        query = db.query(Item, Item.price.in_([1, 2]) & (Item.size == Size.LARGE))
        assert query.count() == 1 and query.bind(2, 3).count() == 1 and query.bind(2, 4, Size.SMALL).count() == 2
        assert db.query(Item, "price < $0", 0).bind(200).count() == 2
