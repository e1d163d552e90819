"""What goes in comes out equal, or is refused with a message: boundary values of every type, by all ways in and out."""
from __future__ import annotations

import itertools
import math
import random
import struct
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from motte import errors
from seeds import seeded

UTC = timezone.utc
_names = itertools.count()


class Mood(Enum):
    CALM = "calm"
    WILD = "wild"


class Sample(motte.Model):
    id: int = motte.field(primary_key=True)
    flag: Optional[bool] = None
    whole: Optional[int] = None
    small: Optional[motte.Int8] = None
    single: Optional[motte.Float32] = None
    real: Optional[float] = None
    text: Optional[str] = None
    data: Optional[bytes] = None
    moment: Optional[datetime] = None
    exact: Optional[Decimal] = None
    uid: Optional[uuid.UUID] = None
    oid: Optional[motte.ObjectId] = None
    mood: Optional[Mood] = None
    any: Any = None


INTS = [0, 1, -1, 127, -128, 128, 255, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 10**30]
FLOATS = [0.0, -0.0, 0.1, 1.5, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 3.4028234663852886e38, 3.5e38,
          1e-46, math.inf, -math.inf, math.nan, 0.1 + 0.2, 123456789.123456789]
TEXTS = ["", "a", "NA", "null", "12", "#0", "true", "Zürich 🛫", "a,\"b\"\r\nc", "\0", "e\u0301", "\u2028", "\ud800",
         "{\"$date\": 1}", " x "]
DATAS = [b"", b"\0", b"\xff" * 3, bytes(range(256))]
MOMENTS = [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
           datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC),
           datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
           datetime.max.replace(tzinfo=timezone(timedelta(hours=5))),
           datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
           datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=5, minutes=45))), datetime(2024, 1, 1)]
DECIMALS = [Decimal(text) for text in (
    "0", "-0", "1.50", "1E+6144", "1E-6176", "9999999999999999999999999999999999E6111", "1E+6145", "1E-6177",
    "1.5E-6176", "1234567890123456789012345678901234", "12345678901234567890123456789012345", "0.1" + "0" * 40,
    "0.1" + "0" * 40 + "1",
    "NaN", "-NaN", "sNaN", "NaN12", "Infinity", "-Infinity", "0E+7000", "1E+99999999", "1E-99999999")]
IDS = [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")]
OIDS = [motte.ObjectId(bytes(12)), motte.ObjectId(b"\xff" * 12)]
MOODS: list[Any] = [Mood.CALM, "wild", "furious", 3, ""]
CANDIDATES: list[Any] = [None, True, False, *INTS, *FLOATS, *TEXTS, *DATAS, *MOMENTS, *DECIMALS, *IDS, *OIDS, *MOODS]
NESTED: list[Any] = [[], {}, [1, [2.5, {"a": None}]], {"k": b"x", "l": [Decimal("1.50")]}, {"$a": 1}, {"a.b": 1}]
PROPERTIES = [name for name in Sample._declared() if name != "id"]


def same(left: Any, right: Any) -> bool:
    """Equal as the type of what went in has it; numbers of one property are one type."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, Decimal) and left.is_nan():
        return isinstance(right, Decimal) and right.is_nan()
    if isinstance(left, Enum) or isinstance(right, Enum):
        return Mood(left) is Mood(right)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def expected(name: str, value: Any) -> Any:
    """What a property of 32 bits holds of a number, which is what its type says."""
    if name == "single" and isinstance(value, (float, Decimal)):
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if name == "real" and isinstance(value, Decimal):
        assert value.is_nan() or Decimal(repr(float(value))) == value
        return float(value)
    if name == "exact" and isinstance(value, float):
        return Decimal(repr(value))
    return value


def plain(value: Any) -> Any:
    return value.to_plain() if isinstance(value, (motte.List, motte.Map)) else value


def added(db: motte.Database, name: str, value: Any) -> int:
    return int(db.add(Sample(id=next(_names), **{name: value})).object_key)


def assigned(db: motte.Database, name: str, value: Any) -> int:
    made = db.add(Sample(id=next(_names)))
    setattr(made, name, value)
    return int(made.object_key)


def upserted(db: motte.Database, name: str, value: Any) -> int:
    return int(db.create_or_update(Sample, id=next(_names), **{name: value}).object_key)


def batched(db: motte.Database, name: str, value: Any) -> int:
    return db.insert_columns(Sample, {"id": [next(_names)], name: [value]})[0]


@pytest.mark.parametrize("way", [added, assigned, upserted, batched])
@pytest.mark.parametrize("name", PROPERTIES)
def test_every_value_is_kept_or_refused(
        db_of_samples: motte.Database, name: str, way: Callable[[motte.Database, str, Any], int]) -> None:
    db, kept, refused = db_of_samples, 0, 0
    for value in CANDIDATES + (NESTED if name == "any" else []):
        with db.write() as write:
            before = db.count(Sample)
            try:
                key = way(db, name, value)
            except (errors.DataError, errors.MisuseError) as error:
                assert str(error), (name, value)
                refused += 1
                if way is not assigned:
                    assert db.count(Sample) == before, (name, value)
                write.cancel()
                continue
        kept += 1
        read = plain(getattr(db.at(Sample, key), name))
        assert same(expected(name, value), read), (name, value, read)
        column = db.objects(Sample).where("id == $0", db.at(Sample, key).id).column(name)[0]
        assert same(expected(name, value), column), (name, value, column)
    assert kept > 2 and refused > 2


@pytest.mark.parametrize("form", ["json", "lines", "csv", "dump"])
def test_exports_are_imported_again_as_they_were(tmp_path: Path, db_of_samples: motte.Database, form: str) -> None:
    db = db_of_samples
    with db.write():
        for name in PROPERTIES:
            for value in CANDIDATES + (NESTED if name == "any" else []):
                try:
                    added(db, name, value)
                except (errors.DataError, errors.MisuseError):
                    pass
    rows = {each.id: {name: plain(getattr(each, name)) for name in PROPERTIES} for each in db.objects(Sample)}
    assert len(rows) > 200
    if form == "csv":
        text = db.export_csv(None, Sample)
    else:
        text = db.export_json(None, None if form == "dump" else Sample, lines=form == "lines")
    assert text is not None
    with motte.open(in_memory=f"copy {next(_names)}", schema=[Sample]) as copy:
        if form == "csv":
            copy.import_csv(Sample, text=text)
        else:
            copy.import_json(None if form == "dump" else Sample, text=text)
        assert copy.count(Sample) == len(rows)
        for each in copy.objects(Sample):
            for name in PROPERTIES:
                assert same(rows[each.id][name], plain(getattr(each, name))), (form, name, rows[each.id][name])


def test_random_decimals_are_kept_or_refused(db_of_samples: motte.Database) -> None:
    db, rng = db_of_samples, random.Random(seeded())
    for _ in range(300):
        digits = rng.choice([1, 5, 33, 34, 35, 40])
        exponent = rng.choice([0, -3, -34, -6176, -6177, -6210, 6077, 6111, 6112, 6144, rng.randrange(-7000, 7000)])
        value = Decimal((rng.randrange(2), tuple(rng.choices(range(10), k=digits)), exponent))
        with db.write():
            try:
                made = db.add(Sample(id=next(_names), exact=value))
            except errors.NumberOverflowError as error:
                assert "34 digits" in str(error)
                reduced = value.normalize() if len(value.as_tuple().digits) <= 28 else value
                assert reduced != 0 or digits > 34
                continue
            assert made.exact == value


def test_csv_inference_never_rounds(db_of_samples: motte.Database) -> None:
    rng = random.Random(seeded())
    for _ in range(200):
        whole = str(rng.randrange(10 ** rng.choice([1, 5, 15, 16, 18, 19, 20, 25])))
        text = whole + ("." + str(rng.randrange(10 ** rng.choice([1, 5, 12, 16, 20]))) if rng.random() < 0.6 else "")
        schema = motte.csv_schema("T", text=f"a\n{text}\n2.5\n" if rng.random() < 0.5 else f"a\n{text}\n")
        with motte.open(in_memory=f"inferred {next(_names)}", schema=schema) as db:
            model = db.model("T")
            db.import_csv(model, text=f"a\n{text}\n")
            read = db.objects(model)[0].a
            if isinstance(read, (str, Decimal)):
                assert str(read) == text, (schema, text)
            else:
                assert Decimal(repr(read)) == Decimal(text), (schema, text)


@pytest.fixture
def db_of_samples() -> Any:
    with motte.open(in_memory=f"samples {next(_names)}", schema=[Sample]) as db:
        yield db
