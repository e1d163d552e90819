"""Defaults, and what has to be given, by every way in: the constructor, updates by key, batches, imports of rows,
columns, Arrow, pandas, polars, JSON and CSV; in embedded objects; and for objects that are older than a property."""
from __future__ import annotations

import enum
import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal, Optional

import pyarrow
import pytest

import motte

UTC = timezone.utc


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Home(motte.EmbeddedModel):
    city: str = "London"
    floor: int = 3
    rooms: list[str] = motte.field(default_factory=lambda: ["hall"])
    street: str


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = "nobody"
    level: int = 7
    small: motte.Int8 = -3
    active: bool = True
    share: float = 0.5
    color: Color = Color.BLUE
    size: Literal["s", "m"] = "m"
    born: date = date(2000, 2, 29)
    span: timedelta = timedelta(hours=1)
    maybe: Optional[int] = 5
    nothing: Optional[int] = None
    code: uuid.UUID = motte.field(default_factory=uuid.uuid4, unique=True)
    made: datetime = motte.field(default_factory=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    extra: Any = 12
    nested: Any = motte.field(default_factory=lambda: {"a": [1]})
    tags: list[str] = motte.field(default_factory=lambda: ["a"])
    words: list[str] = ["x", "y"]
    chosen: set[int] = motte.field(default_factory=lambda: {2, 1})
    prices: dict[str, int] = motte.field(default_factory=lambda: {"k": 1})
    place: tuple[float, float] = (1.5, 2.5)
    home: Optional[Home] = motte.field(default_factory=lambda: Home(city="Paris", street="rue"))
    empty: list[int] = motte.field(default_factory=list)


class Strict(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str
    pair: tuple[int, int]


class Keyed(motte.Model):
    id: uuid.UUID = motte.field(primary_key=True, default_factory=uuid.uuid4)
    n: int


WAYS: dict[str, Callable[[motte.Database, type[motte.Model], dict[str, Any]], Any]] = {
    "add": lambda db, model, given: db.add(model(**given)),
    "create_or_update": lambda db, model, given: db.create_or_update(model, **given),
    "rows": lambda db, model, given: db.import_data(model, [given]),
    "rows of several kinds": lambda db, model, given: db.import_data(model, [given], policy="all"),
    "columns": lambda db, model, given: db.import_data(model, {name: [value] for name, value in given.items()}),
    "insert_columns": lambda db, model, given: db.insert_columns(
        model, {name: [value] for name, value in given.items()}),
    "insert_columns, updating": lambda db, model, given: db.insert_columns(
        model, {name: [value] for name, value in given.items()}, policy="all"),
    "insert_rows": lambda db, model, given: db.insert_rows(model, list(given), [tuple(given.values())]),
    "arrow": lambda db, model, given: db.import_data(model, pyarrow.table({k: [v] for k, v in given.items()})),
    "arrow, updating": lambda db, model, given: db.import_data(
        model, pyarrow.table({k: [v] for k, v in given.items()}), policy="modified"),
    "json": lambda db, model, given: db.import_json(model, text=json.dumps([given])),
    "json, updating": lambda db, model, given: db.import_json(model, text=json.dumps(given), policy="all"),
    "csv": lambda db, model, given: db.import_csv(
        model, text=",".join(given) + "\n" + ",".join(map(str, given.values())) + "\n"),
    "csv, updating": lambda db, model, given: db.import_csv(
        model, text=",".join(given) + "\n" + ",".join(map(str, given.values())) + "\n", policy="modified"),
}

_numbers = itertools.count()


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"defaults {next(_numbers)}", schema=[Home, Row, Strict, Keyed]) as database:
        yield database


def plain(row: motte.Model) -> dict[str, Any]:
    def copied(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: copied(each) for name, each in value.items()}
        if isinstance(value, list):
            return [copied(each) for each in value]
        return value
    return {name: copied(value) for name, value in row.to_dict().items() if name not in ("id", "code")}


@pytest.mark.parametrize("way", WAYS)
def test_declared_defaults(db: motte.Database, way: str) -> None:
    with db.write():
        wanted = plain(db.add(Row(id=-1)))
        WAYS[way](db, Row, {"id": 1})
        WAYS[way](db, Row, {"id": 2, "level": 1})
    assert plain(db.one(Row, 1)) == wanted
    assert plain(db.one(Row, 2)) == {**wanted, "level": 1}
    # Each object has one of its own of what a function makes.
    assert len({row.code for row in db.objects(Row)}) == 3
    assert db.one(Row, 1).color is Color.BLUE
    assert db.one(Row, 1).place == (1.5, 2.5)
    assert db.verify().is_sound


@pytest.mark.parametrize("way", WAYS)
def test_what_is_given_is_not_started(db: motte.Database, way: str) -> None:
    with db.write():
        WAYS[way](db, Row, {"id": 1, "name": "", "level": 0, "maybe": 1})
    row = db.one(Row, 1)
    assert (row.name, row.level, row.maybe) == ("", 0, 1)


@pytest.mark.parametrize("way", [name for name in WAYS if "updating" in name or "update" in name])
def test_an_update_starts_nothing(db: motte.Database, way: str) -> None:
    with db.write():
        row = db.add(Row(id=1, name="Ada", level=1, tags=[], prices={}, home=None, words=["z"], maybe=None))
        before = row.to_dict()
        WAYS[way](db, Row, {"id": 1, "level": 2})
    assert row.to_dict() == {**before, "level": 2}


@pytest.mark.parametrize("way", WAYS)
def test_what_has_to_be_given(db: motte.Database, way: str) -> None:
    with pytest.raises((motte.Error, TypeError), match="name"), db.write():
        WAYS[way](db, Strict, {"id": 1})
    assert len(db.objects(Strict)) == 0
    with pytest.raises((motte.Error, TypeError), match="pair"), db.write():
        WAYS[way](db, Strict, {"id": 1, "name": "a"})
    assert len(db.objects(Strict)) == 0


def test_errors_name_class_property_and_row(db: motte.Database) -> None:
    for data in ([{"n": 1}, {}], {"id": [uuid.uuid4()]}, pyarrow.table({"id": [uuid.uuid4().bytes]})):
        with pytest.raises(motte.errors.NullNotAllowedError, match=r"^(row 1: )?Keyed\.n needs a value") as caught:
            db.import_data(Keyed, data)
        assert (caught.value.class_name, caught.value.property_name) == ("Keyed", "n")
    with pytest.raises(motte.errors.NullNotAllowedError, match=r"line 3: Keyed\.n"):
        db.import_json(Keyed, text='[{"n": 1},\n\n{}]')
    with pytest.raises(motte.errors.NullNotAllowedError, match=r"line 2: Keyed\.n"):
        db.import_csv(Keyed, text=f"id\n{uuid.uuid4()}\n")


def test_primary_keys_may_have_defaults(db: motte.Database) -> None:
    with db.write():
        db.import_json(Keyed, text='[{"n": 1}, {"n": 2}]')
        db.import_csv(Keyed, text="n\n3\n4\n")
        db.import_data(Keyed, pyarrow.table({"n": [5, 6]}))
        db.insert_columns(Keyed, {"n": [7]})
        db.import_data(Keyed, [{"n": 8}])
    assert sorted(row.n for row in db.objects(Keyed)) == list(range(1, 9))
    assert len({row.id for row in db.objects(Keyed)}) == 8


def test_json_objects_that_name_different_things(db: motte.Database) -> None:
    db.import_json(Row, text='[{"id": 1, "tags": ["t"]}, {"id": 2, "level": 3}, {"id": 3, "tags": [], "level": 4}, '
                             '{"id": 4, "nested": null, "home": null}, {"id": 5, "home": {"street": "s"}}]')
    rows = db.objects(Row).sorted("id")
    assert [list(row.tags) for row in rows] == [["t"], ["a"], [], ["a"], ["a"]]
    assert [row.level for row in rows] == [7, 3, 4, 7, 7]
    assert rows[3].nested is None and rows[3].home is None
    assert rows[4].home.to_dict() == {"city": "London", "floor": 3, "rooms": ["hall"], "street": "s"}


def test_embedded_objects(db: motte.Database) -> None:
    for number, data in enumerate((
            [{"id": 0, "home": {"street": "s"}}],
            pyarrow.table({"id": [1], "home": [{"street": "s"}]}))):
        db.import_data(Row, data)
        assert db.one(Row, number).home.to_dict() == {
            "city": "London", "floor": 3, "rooms": ["hall"], "street": "s"}
    for call in (lambda: db.import_data(Row, [{"id": 5, "home": {"city": "x"}}]),
                 lambda: db.import_data(Row, pyarrow.table({"id": [5], "home": [{"city": "x"}]})),
                 lambda: db.import_json(Row, text='{"id": 5, "home": {"city": "x"}}')):
        with pytest.raises((motte.Error, TypeError), match="street"):
            call()
    assert db.get(Row, 5) is None


def test_dumps_and_round_trips_have_nothing_started(db: motte.Database, tmp_path: Path) -> None:
    with db.write():
        db.add(Row(id=1, maybe=None, tags=[], words=[], chosen=set(), prices={}, home=None, nested=None, extra=None))
        db.add(Row(id=2))
    wanted = [row.to_dict() for row in db.objects(Row)]
    dump, lines, table = db.export_json(), db.export_json(None, Row), db.objects(Row).to_arrow()
    db.export_sqlite(tmp_path / "a.sqlite")
    ways: list[Callable[[motte.Database], Any]] = [
        lambda other: other.import_json(text=dump), lambda other: other.import_json(Row, text=lines),
        lambda other: other.import_data(Row, table), lambda other: other.import_sqlite(tmp_path / "a.sqlite")]
    for way in ways:
        with motte.open(in_memory=f"defaults {next(_numbers)}", schema=[Home, Row, Strict, Keyed]) as other:
            way(other)
            assert [row.to_dict() for row in other.objects(Row)] == wanted


def test_a_function_that_fails_or_changes_the_database(db: motte.Database) -> None:
    class Odd(motte.Model):
        id: int = motte.field(primary_key=True)
        n: int = motte.field(default_factory=lambda: act())

    def fail() -> int:
        raise ZeroDivisionError

    def write() -> int:
        other.add(Odd(id=100, n=1))
        return 1

    with motte.open(in_memory=f"defaults {next(_numbers)}", schema=[Odd]) as other:
        act: Callable[[], Any] = fail
        with pytest.raises(ZeroDivisionError):
            other.import_json(Odd, text='{"id": 1}')
        act = write
        with pytest.raises(motte.errors.ReentrantError):
            other.import_json(Odd, text='{"id": 1}')
        act = str
        with pytest.raises(motte.errors.WrongTypeError, match=r"Odd\.n"):
            other.import_json(Odd, text='{"id": 1}')
        assert len(other.objects(Odd)) == 0
        act = lambda: 5  # noqa: E731
        other.import_json(Odd, text='{"id": 1}')
        assert other.one(Odd, 1).n == 5


# ------------------------------------------------------------------------------------------------ added properties


class Before(motte.Model, stored_name="Row"):
    id: int = motte.field(primary_key=True)


def test_older_objects_get_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "a.motte"
    with motte.open(path, schema=[Before]) as db, db.write():
        db.add_all([Before(id=number) for number in range(3000)])
        db.delete(db.one(Before, 1500))
    with motte.open(path, schema=[Home, Row]) as db:
        with db.write():
            wanted = plain(db.add(Row(id=-1)))
        assert plain(db.one(Row, 0)) == wanted == plain(db.one(Row, 2999))
        assert len({row.code for row in db.objects(Row)}) == 3000
        assert db.objects(Row).where(Row.level == 7).count() == 3000
        assert db.objects(Row).where(Row.color == Color.BLUE).count() == 3000
        assert db.verify().is_sound
        repr(db.one(Row, 0))
    # Later openings change nothing.
    with motte.open(path, schema=[Home, Row]) as db:
        assert plain(db.one(Row, 0)) == wanted


def test_older_objects_of_what_has_to_be_given(tmp_path: Path) -> None:
    class After(motte.Model, stored_name="Row"):
        id: int = motte.field(primary_key=True)
        name: str

    path = tmp_path / "a.motte"
    with motte.open(path, schema=[Before]):
        pass
    # Without objects there is nothing to be given.
    with motte.open(path, schema=[After]) as db, db.write():
        db.add(After(id=1, name="a"))
    other = tmp_path / "b.motte"
    with motte.open(other, schema=[Before]) as db, db.write():
        db.add(Before(id=1))
    with pytest.raises(motte.errors.SchemaMismatchError, match=r"Row\.name is new, .*\(1\)"):
        motte.open(other, schema=[After])
    with pytest.raises(motte.errors.SchemaMismatchError, match=r"Row\.name is new"):
        motte.plan(other, schema=[After])
    with pytest.raises(motte.errors.SchemaMismatchError, match=r"Row\.name is new"):
        motte.open(other, schema=[After], schema_version=1)

    def migrate(migration: motte.Migration) -> None:
        for _, new in migration.enumerate(After):
            new.name = "b"
    with motte.open(other, schema=[After], schema_version=1, migration=migrate) as db:
        assert db.one(After, 1).name == "b"


def test_migrations_give_defaults(tmp_path: Path) -> None:
    class Was(motte.Model, stored_name="Row"):
        id: int = motte.field(primary_key=True)
        number: str = "1"

    class Now(motte.Model, stored_name="Row"):
        id: int = motte.field(primary_key=True)
        number: int = 4
        tags: list[str] = motte.field(default_factory=lambda: ["a"])
        code: uuid.UUID = motte.field(default_factory=uuid.uuid4, unique=True)

    path = tmp_path / "a.motte"
    with motte.open(path, schema=[Was]) as db, db.write():
        db.add_all([Was(id=1), Was(id=2)])
    seen = []

    def migrate(migration: motte.Migration) -> None:
        for old, new in migration.enumerate(Now):
            seen.append((old.number, new.number, list(new.tags)))
    with motte.open(path, schema=[Now], schema_version=1, migration=migrate) as db:
        assert seen == [("1", 4, ["a"])] * 2
        assert [(row.number, list(row.tags)) for row in db.objects(Now)] == [(4, ["a"])] * 2
        assert len({row.code for row in db.objects(Now)}) == 2
        assert db.verify().is_sound


# ------------------------------------------------------------------------------------------------ declarations


def test_a_mutable_default_is_everybodys_own() -> None:
    class Own(motte.Model):
        tags: list[str] = []
        more: list[str] = motte.field(default=["a"])
        extra: Any = {"a": 1}

    Own().tags.append("a")
    Own().more.append("b")
    Own().extra["b"] = 2
    assert (Own().tags, Own().more, Own().extra) == ([], ["a"], {"a": 1})


@pytest.mark.parametrize("annotation, default", [
    (int, "a"), (int, None), (motte.Int8, 200), (str, 5), (Color, "zzz"), (Literal["s"], "m"), (datetime, 5),
    (float, 2**53 + 1), (list[int], ["a"]), (int, 2**70)])
def test_a_default_that_is_none(annotation: Any, default: Any) -> None:
    Odd = type("Odd", (motte.Model,), {"__annotations__": {"value": annotation}, "value": default,
                                       "__module__": __name__})
    with pytest.raises(motte.errors.SchemaInvalidError, match=r"the default of Odd\.value"):
        motte.open(in_memory="no default", schema=[Odd])


def test_values_that_are_not_allowed(db: motte.Database) -> None:
    ways: list[Callable[[], Any]] = [
        lambda: db.import_data(Row, pyarrow.table({"id": [1, 2], "color": ["red", "zzz"]})),
        lambda: db.import_data(Row, pyarrow.table({"id": [1, 2], "color": pyarrow.array(
            ["red", "zzz"]).dictionary_encode()}), policy="all"),
        lambda: db.import_data(Row, {"id": [1, 2], "size": ["s", "zzz"]}),
        lambda: db.import_data(Row, [{"id": 1, "size": "s"}, {"id": 2, "size": "zzz"}]),
        lambda: db.import_json(Row, text='[{"id": 1, "color": "red"}, {"id": 2, "color": "zzz"}]'),
        lambda: db.import_json(Row, text='[{"id": 1}, {"id": 2, "size": "zzz"}]', policy="modified"),
        lambda: db.import_csv(Row, text="id,size\n1,s\n2,zzz\n")]
    for way in ways:
        with pytest.raises(motte.errors.WrongTypeError, match=r"(row 1|line [123]): .*zzz") as caught:
            way()
        assert caught.value.property_name in ("color", "size") and caught.value.class_name == "Row"
    assert len(db.objects(Row)) == 0


def test_a_mixed_value_that_is_given_needs_no_factory() -> None:
    class Part(motte.Model):
        x: int = 0

    calls: list[int] = []

    def parts() -> Any:
        calls.append(1)
        return [Part(x=1)]

    class Whole(motte.Model):
        k: int = motte.field(primary_key=True)
        value: Any = motte.field(default_factory=parts)

    with motte.open(in_memory="mixed factories", schema=[Part, Whole]) as db, db.write():
        assert db.add(Whole(k=1, value=[Part(x=7)])).value[0].x == 7 and not calls
        assert db.add(Whole(k=2)).value[0].x == 1 and len(calls) == 1
        assert db.upsert(Whole(k=1, value=[Part(x=8)])).value[0].x == 8
        assert db.add_all([Whole(k=3, value={"p": Part(x=9)}), Whole(k=4)])[0].value["p"].x == 9


def _cell(kind: str, changed: bool = False) -> Any:
    """The class of a cell of a notebook, declared anew each time."""
    class Level(enum.Enum):
        LOW = 1
        HIGH = 2

    if kind == "factory":
        class Cell(motte.Model):
            n: int = 0
            made: Any = motte.field(default_factory=lambda: 1) if not changed else 1
    elif kind == "collection":
        class Cell(motte.Model):  # type: ignore[no-redef]
            n: int = 0
            tags: list[str] = motte.field(default=["b" if changed else "a"])
    elif kind == "nan":
        class Cell(motte.Model):  # type: ignore[no-redef]
            n: int = 0
            real: float = 1.0 if changed else float("nan")
    elif kind == "converter":
        class Color:
            def __init__(self, name: str) -> None:
                self.name = name

        motte.converter(Color, str, store=lambda color: color.name, load=Color)
        names = ["blue" if changed else "red"]
        Cell = type("Cell", (motte.Model,), {  # type: ignore[misc,assignment]
            "__annotations__": {"n": int, "color": Color, "colors": list[Color]}, "__module__": __name__, "n": 0,
            "color": Color("red"), "colors": motte.field(default=[Color(name) for name in names])})
    elif kind == "set":
        Cell = type("Cell", (motte.Model,), {  # type: ignore[misc,assignment]
            "__annotations__": {"n": int, "levels": set[Level]}, "__module__": __name__, "n": 0,
            "levels": motte.field(default={Level.HIGH} if changed else {Level.LOW, Level.HIGH})})
    elif kind in ("code", "constant", "name", "argument", "closure"):
        def made(first: int = 2 if changed and kind == "argument" else 1) -> Any:
            return [first, last, min(1, 2), [(lambda: each)() for each in range(3)]]
        last = [2] if changed and kind == "closure" else [1]
        factory = made
        if changed and kind == "code":
            def factory(first: int = 1) -> Any:
                return [-first, last, min(1, 2), [(lambda: each)() for each in range(3)]]
        elif changed and kind == "constant":
            def factory(first: int = 1) -> Any:
                return [first, last, min(1, 2), [(lambda: each)() for each in range(4)]]
        elif changed and kind == "name":
            def factory(first: int = 1) -> Any:
                return [first, last, max(1, 2), [(lambda: each)() for each in range(3)]]

        class Cell(motte.Model):  # type: ignore[no-redef]
            n: int = 0
            made: Any = motte.field(default_factory=factory)
    elif kind == "enum":
        Cell = type("Cell", (motte.Model,), {  # type: ignore[misc,assignment]
            "__annotations__": {"n": int, "level": Level}, "__module__": __name__, "n": 0,
            "level": Level.HIGH if changed else Level.LOW})
    else:
        class Cell(motte.Model):  # type: ignore[no-redef]
            n: int = 0
            whole: Any = 1.0 if changed else 1
    return Cell


@pytest.mark.parametrize("kind", ["factory", "collection", "nan", "enum", "mixed", "converter", "set", "code",
                                  "constant", "name", "argument", "closure"])
def test_a_class_is_declared_again_by_the_same_text(kind: str) -> None:
    with motte.open(in_memory="cells", schema=[_cell(kind)]) as db:
        again = _cell(kind)
        with db.write():
            db.add(again(n=1))
        assert len(db.objects(again)) == 1
        with pytest.raises(motte.errors.UnknownClassError, match="in another way"):
            db.objects(_cell(kind, changed=True))
