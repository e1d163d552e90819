"""What docs/query-language.md says, sentence by sentence."""
from __future__ import annotations

import itertools
import os
import subprocess
import sys
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import motte
from motte import errors

from documents import all_blocks, blocks, code_of_tables, promises

DOCUMENT = "docs/query-language.md"
SCHEMA = """
P { id: int key, name: string?, nickname: string?, age: int?, real: double?, single: float?, data: data?,
    when: timestamp?, price: decimal?, oid: objectId?, uuid: uuid?, flag: bool, boss: link<P>, friends: list<P>,
    dogs: list<Dog>, marks: list<int>, tags: list<string?>, seen: set<int>, prices: map<double?>, any: mixed,
    others: set<P>, by: map<P>, place: link<Place>, places: list<Place>, staff: inverse<P.boss>,
    limit: int }
Dog { name: string, age: int, owners: inverse<P.dogs> }
embedded Place { type: string, coordinates: list<double> }
"""
numbers = itertools.count()


@pytest.fixture
def db():
    with motte.open(in_memory=f"query language {next(numbers)}", schema=SCHEMA) as database:
        yield database


def add(db: motte.Database, **values: Any) -> Any:
    """A person; in a write of its own."""
    model = db.model("P")
    key = 1 + max(db.objects("P").column("id"), default=0)
    with db.write():
        person = db.add(model(id=key))
        for name, value in values.items():
            setattr(person, name, value)
    return person


def ids(db: motte.Database, text: str, *arguments: Any) -> list[int]:
    return [person.id for person in db.objects("P").where(text, *arguments)]


def point(db: motte.Database, longitude: float, latitude: float, *more: float, kind: str = "Point") -> Any:
    return db.model("Place")(type=kind, coordinates=[longitude, latitude, *more])


# --------------------------------------------------------------------------------------------- everything that is shown

# Cells that are parts of conditions, put into one; `...` is not to be read.
PARTS = {
    "==": "age == 1", "=": "age = 1", "!=": "age != 1", "<>": "age <> 1", "<": "age < 1", "<=": "age <= 1",
    ">": "age > 1", ">=": "age >= 1", "=<": "age =< 1", "=>": "age => 1", "BETWEEN {a, b}": "age BETWEEN {1, 2}",
    "BETWEEN a AND b": "age BETWEEN 1 AND 2", "IN {a, b}": "age IN {1, 2}", "IN $0": "age IN $0",
    "BEGINSWITH": "name BEGINSWITH 'a'",
    "ENDSWITH": "name ENDSWITH 'a'", "CONTAINS": "name CONTAINS 'a'", "LIKE": "name LIKE 'a'",
    "MATCHES": "name MATCHES 'a'",
    "GEOWITHIN": "place GEOWITHIN geoCircle([0, 0], 1)", "12": "real == 12", "-1.5e3": "real == -1.5e3",
    "inf": "real == inf", "nan": "real == nan", '"text"': 'name == "text"', "'text'": "name == 'text'",
    "true": "flag == true", "false": "flag == false", "YES": "flag == YES", "NO": "flag == NO",
    "null": "name == null", "nil": "name == nil", "X'00ff'": "data == X'00ff'", "decimal(1.50)": "price == "
    "decimal(1.50)",
    "oid(507f1f77bcf86cd799439011)": "oid == oid(507f1f77bcf86cd799439011)",
    "uuid(123e4567-e89b-12d3-a456-426614174000)": "uuid == uuid(123e4567-e89b-12d3-a456-426614174000)",
    "2013-12-31T10:00:00Z": "when > 2013-12-31T10:00:00Z", "now()": "when > now()",
    "2013-12-31 11:00:00.25+01:00": "when > 2013-12-31 11:00:00.25+01:00", "2013-12-31": "when > 2013-12-31",
    "30s": "real > 30s", "5m": "real > 5m", "1.5h": "real > 1.5h", "7d": "real > 7d", "2w": "real > 2w",
    "{1, 2, $0}": "age IN {1, 2, $0}", "$0": "age == $0", "$1": "age IN {$0, $1}", "%@": "age == %@", "%d": "age == %d",
    "%lu": "age == %lu", "%f": "real == %f", "friends.@sum.age": "friends.@sum.age > 3",
    "friends.age.@sum": "friends.age.@sum > 3", "place GEOWITHIN ...": "",
    "geoBox([-74.1, 40.6], [-73.7, 40.9])": "place GEOWITHIN geoBox([-74.1, 40.6], [-73.7, 40.9])",
    "geoCircle([2.35, 48.85], 0.01)": "place GEOWITHIN geoCircle([2.35, 48.85], 0.01)",
    "geoPolygon({[0, 0], [9, 0], [0, 9], [0, 0]}, {...})":
        "place GEOWITHIN geoPolygon({[0, 0], [9, 0], [0, 9], [0, 0]}, {[1, 1], [2, 1], [1, 2], [1, 1]})",
}
SECTIONS = ["Operators", "Arithmetic", "Paths", "Sets, maps and mixed values", "Points", "Order"]
SHOWN = [*code_of_tables(DOCUMENT, "Values", 1),
         *(cell for section in SECTIONS for cell in code_of_tables(DOCUMENT, section))]


@pytest.mark.parametrize("cell", SHOWN)
def test_what_tables_show_is_read(db: motte.Database, cell: str) -> None:
    text = PARTS.get(cell, cell)
    arguments: list[object] = ["a"] if "tags" in text else [[1, 2]] if "IN $0" in text else [1, 2]
    count = sum(text.count(mark) for mark in ("$0", "$1", "%"))
    assert ids(db, text, *arguments[:count]) == []


def test_the_parts_are_those_of_the_tables() -> None:
    assert len(SHOWN) > 60
    assert set(PARTS) <= set(SHOWN)


GROUPED = "P { city: string, age: int?, seen: timestamp? }"
FLIGHT = "Flight { origin: link<Port>, dep_delay: int? } Port { name: string }"


@pytest.mark.parametrize("block", all_blocks("query"), ids=str)
def test_blocks_are_read(db: motte.Database, block: Any) -> None:
    if "GROUP(" in block.text:
        with motte.open(in_memory="grouped", schema=GROUPED) as grouped:
            assert list(grouped.objects("P").query(block.text, *[1] * ("$0" in block.text))) == []
    elif "origin." in block.text:
        with motte.open(in_memory="flights", schema=FLIGHT) as flights:
            assert len(flights.objects("Flight").where(block.text, 30)) == 0
    else:
        assert ids(db, block.text) == []


@promises(DOCUMENT,
          "The message marks the position with a caret, and the error has its byte offset.")
def test_the_message_is_the_one_shown() -> None:
    shown = blocks(DOCUMENT)[-1].text
    with motte.open(in_memory="message", schema="P { age: int }") as db:
        with pytest.raises(errors.UnknownPropertyError) as caught:
            len(db.objects("P").where("height == 5"))
        assert str(caught.value).strip() == shown.strip()
        assert caught.value.query_offset == 0
        with pytest.raises(errors.QuerySyntaxError) as caught:
            len(db.objects("P").where("age == 5 é"))
        assert caught.value.query_offset == 9


# ------------------------------------------------------------------------------------------- one sentence after another


@promises(DOCUMENT, "An empty query matches everything.", "Keywords in any case; property names as declared.",
          "a boolean property alone means == true", "AND binds tighter than OR", "NOT x, !x", "a || b",
          "TRUEPREDICATE | FALSEPREDICATE")
def test_the_form(db: motte.Database) -> None:
    for age in (1, 2, 3):
        add(db, age=age, flag=age == 2)
    assert ids(db, "") == ids(db, "TRUEPREDICATE") == [1, 2, 3]
    assert ids(db, "FALSEPREDICATE") == []
    assert ids(db, "flag") == [2]
    assert ids(db, "age == 1 or age == 2 and age == 3") == [1]
    assert ids(db, "age == 1 || age == 3 && age == 3 sort(age desc) LiMiT(1)") == [3]
    assert ids(db, "not age == 1") == ids(db, "!(age == 1)") == [2, 3]
    with pytest.raises(errors.UnknownPropertyError):
        ids(db, "Age == 1")


@promises(DOCUMENT,
          "A property whose name is a keyword is written in backquotes.",
          "In a collection of values, `SELF` is the value.")
def test_names(db: motte.Database) -> None:
    person = add(db, limit=7, marks=[3, 9])
    assert ids(db, "`limit` == 7") == [1]
    assert list(person.marks.where("SELF > 5")) == [9]


@promises(DOCUMENT,
          "beside a decimal, plain numbers work too",
          "Numbers of different types compare exactly, and never by rounding one of them",
          "no int and no double equals a number that it cannot be",
          "`single == 0.1` finds nothing, an argument that is a float does",
          "NaN equals NaN, and is neither above nor below anything.")
def test_numbers(db: motte.Database) -> None:
    add(db, price=Decimal("0.1"), real=0.1, age=2**53 + 1)
    add(db, price=Decimal("0.1000000000000000055511151231257827"), real=2.0**53)
    assert ids(db, "price == 0.1") == [1]
    assert ids(db, "age > real") == [1]
    assert ids(db, "age == 9007199254740992.0") == []
    assert ids(db, "age == 9007199254740993") == [1]
    assert ids(db, "real == price") == []  # the double is a little more than a tenth
    assert ids(db, "real > price") == [1, 2]
    assert ids(db, "age > 1.5") == [1] and ids(db, "age == 1.5") == [] and ids(db, "real == 9007199254740993") == []
    third = add(db, single=0.1, real=float("nan"))
    assert ids(db, "single == 0.1") == [] and ids(db, "single == $0", third.single) == [third.id]
    assert ids(db, "real == nan") == [third.id] and ids(db, "real <= nan") == ids(db, "real >= nan") == []


@promises(DOCUMENT, "Times are written as in RFC 3339, with a `T` or a space, and name their zone: `Z`, or an offset "
          "such as `+01:00`.", "A date alone is its midnight in UTC.",
          "Realm's form `2013-12-31@10:00:00` is in UTC, and `T1388484000:500` is seconds and nanoseconds since 1970.",
          "Four, two and two digits joined by hyphens are "
          "always a date; a difference of such numbers is written with spaces.")
def test_times(db: motte.Database) -> None:
    moment = datetime(2013, 12, 31, 10, tzinfo=timezone.utc)
    add(db, when=moment, age=1970)
    for text in ("2013-12-31T10:00:00Z", "2013-12-31 10:00:00Z", "2013-12-31T11:00:00+01:00", "2013-12-31@10:00:00",
                 "T1388484000:0", "2013-12-31 + 10h"):
        assert ids(db, f"when == {text}") == [1], text
    assert ids(db, "when == 2013-12-31") == []
    assert ids(db, "when > 2013-12-31") == ids(db, "age == 2013 - 12 - 31") == [1]
    for text in ("2013-12-31T10:00:00", "2013-13-31", "2013-12-31T24:00:00Z"):
        with pytest.raises(errors.QuerySyntaxError):
            ids(db, f"when == {text}")


@promises(DOCUMENT, "`now()` is when the query is made, one time wherever it stands in it.", "Results keep that time "
          "however long they live and are observed; a query that was compiled takes the time of each run.")
def test_now(db: motte.Database) -> None:
    add(db, when=datetime.now(timezone.utc))
    add(db, when=datetime.now(timezone.utc) + timedelta(hours=1))
    past = db.objects("P").where("when <= now() AND when > now() - 1h AND now() - when < 3600")
    assert [person.id for person in past] == [1]
    with db.write():
        past[0].when = datetime.now(timezone.utc)  # after the results were made
    assert len(past) == 0
    assert ids(db, "when <= now()") == [1]


@promises(DOCUMENT, "ints give an int, whose quotient drops its fraction; with a double they give a double",
          "floats and doubles give a double, by IEEE 754: what is divided by zero is infinite",
          "with a decimal everything is decimal", "the difference of two times is a double, in seconds",
          "seconds are added to times, and subtracted from them, to the nearest nanosecond",
          "`*` and `/` come before `+` and `-`.", "Null with anything is null.",
          "An int that does not fit into 64 bits has no value, which is null, and neither has a division of ints by "
          "zero, as in SQLite.", "A mixed value is computed with as what it holds; a text or whatever else does not go "
          "together has no value.", "A sign directly before a number belongs to the number, except behind a value: "
          "`age -1` is a difference.", "A comparison has at most 200 arithmetic operators.", "properties of list "
          "elements are computed with inside [SUBQUERY](#paths), and totals such as `@sum` are not.")
def test_arithmetic(db: motte.Database) -> None:
    moment = datetime(2020, 1, 1, tzinfo=timezone.utc)
    boss = add(db, age=7, real=1.5, price=Decimal("0.1"), when=moment, any=3)
    add(db, age=2**63 - 1, real=0.0, any="x", boss=boss, when=moment + timedelta(minutes=90), friends=[boss])
    assert ids(db, "age / 2 == 3") == ids(db, "age / 2.0 == 3.5") == ids(db, "real / 0 == inf") == [1]
    assert ids(db, "1 + age * 2 == 15") == ids(db, "(1 + age) * 2 == 16") == ids(db, "age -1 == 6") == [1]
    assert ids(db, "price * 3 == decimal(0.3)") == ids(db, "any + 1 == 4") == [1]
    assert ids(db, "when - boss.when == 5400") == ids(db, "when - 1.5h == boss.when") == [2]
    assert ids(db, "age + 1 == null") == ids(db, "price + 1 == null") == ids(db, "any + 1 == null") == [2]
    assert ids(db, "age / 0 == null") == [1, 2]
    assert ids(db, "SUBQUERY(friends, $f, $f.age * 2 == 14).@count == 1") == [2]
    for text in ("friends.age + 1 > 2", "friends.@sum.age + 1 > 2", "name + 1 > 2", "when + when > 2"):
        with pytest.raises(errors.QueryInvalidError):
            ids(db, text)
    with pytest.raises(errors.QuerySyntaxError):
        ids(db, "age" + " + 1" * 201 + " > 0")
    person = db.model("P")
    assert [p.id for p in db.objects("P").where(person.age * 2 + 1 == 15)] == [1]
    assert [p.id for p in db.objects("P").where(person.when - person.boss.when > timedelta(hours=1))] == [2]
    assert [p.id for p in db.objects("P").where(person.when - timedelta(hours=1) > moment)] == [2]
    assert [p.id for p in db.objects("P").where((2 * person.age).in_([14, 15]))] == [1]


@promises(DOCUMENT, "any type, objects too")
def test_arguments(db: motte.Database) -> None:
    boss = add(db, name="12")
    moment = datetime(2020, 1, 2, tzinfo=timezone.utc)
    values = dict(name="x", age=5, real=1.5, data=b"\0\xff", when=moment, price=Decimal("1.5"), flag=True,
                  oid=motte.ObjectId("507f1f77bcf86cd799439011"), uuid=uuid.UUID(int=7))
    add(db, boss=boss, **values)
    for name, value in values.items():
        assert ids(db, f"{name} == $0", value) == [2]
        assert ids(db, f"{name} == %@", value) == [2]
    assert ids(db, "boss == $0", boss) == [2]
    assert ids(db, "name == %@ && age == %d", "x", 5) == [2]


@promises(DOCUMENT, "Arguments may have names: `age > $low AND age < $high`.",
          "The variable of a `SUBQUERY` is none of them.")
def test_named_arguments(db: motte.Database) -> None:
    for age in (1, 5, 9):
        add(db, age=age)
    people = db.objects("P")
    assert [p.id for p in people.where("age > $low AND age < $high", low=1, high=9)] == [2]
    assert [p.id for p in people.where("age > $low AND age < $0", 9, {"low": 1})] == [2]
    assert [p.id for p in people.where("age IN $ages", ages=[5, 9])] == [2, 3]
    assert ids(db, "SUBQUERY(friends, $low, $low.age > $0).@count > 0", 3) == []
    with pytest.raises(errors.QueryArgumentError):
        ids(db, "age > $low", {"high": 1})


@promises(DOCUMENT, "a and b included", "equal to one of them; nothing is in `{}`", "parts of text or data",
          "whole text; `*` any characters, `?` exactly one", "numbers, timestamps, text and data by their bytes")
def test_operators(db: motte.Database) -> None:
    for age, name in enumerate(["Zoe", "ann", "Ännchen", "a*b", "an"], 1):
        add(db, age=age, name=name, data=name.encode())
    assert ids(db, "age BETWEEN {2, 3}") == ids(db, "age BETWEEN 2 AND 3") == [2, 3]
    assert ids(db, "age IN {1, 5}") == [1, 5]
    assert ids(db, "age IN {}") == []
    assert ids(db, "name BEGINSWITH 'an'") == ids(db, "data BEGINSWITH X'616e'") == [2, 5]
    assert ids(db, "name CONTAINS 'nn'") == ids(db, "data CONTAINS X'6e6e'") == [2, 3]
    assert ids(db, "name ENDSWITH 'n'") == ids(db, "data ENDSWITH X'6e'") == [2, 3, 5]
    assert ids(db, "name LIKE 'an?'") == [2]
    assert ids(db, "name LIKE '?n*'") == [2, 3, 5]
    assert ids(db, "name LIKE 'n*'") == []
    assert ids(db, "name < 'a' ") == [1]
    assert ids(db, "name > 'b'") == ids(db, "data > X'62'") == [3]  # by bytes, so beyond all of ASCII


@promises(DOCUMENT, "`[c]` ignores case, `[d]` diacritics, `[cd]` both", "`MATCHES` only `[c]`",
          "A property can stand on both sides of every operator but `BETWEEN`, `IN` and `MATCHES`:")
def test_options_and_columns(db: motte.Database) -> None:
    add(db, name="Élan", nickname="él")
    add(db, name="elan", nickname="lan")
    assert ids(db, "name ==[c] 'élan'") == [1]
    assert ids(db, "name ==[d] 'Elan'") == [1]
    assert ids(db, "name ==[cd] 'ELAN'") == ids(db, "name IN[cd] {'ELAN'}") == [1, 2]
    assert ids(db, "name BEGINSWITH[c] nickname") == [1]
    assert ids(db, "name ENDSWITH nickname") == ids(db, "name LIKE 'e*' AND name CONTAINS nickname") == [2]
    assert ids(db, "name LIKE[c] nickname") == []
    assert ids(db, "name < nickname") == [1, 2]
    assert ids(db, "name MATCHES[c] '.*LAN'") == [1, 2]
    for text in ("age BETWEEN {id, 3}", "age IN {id, 3}", "name MATCHES nickname", "name MATCHES[d] 'e'"):
        with pytest.raises(errors.QueryError):
            ids(db, text)


@promises(DOCUMENT, "holds where the whole text fits", "`.*` around a pattern finds it anywhere",
          "The pattern is a value or an argument, in which backslashes need not be doubled.",
          "A null pattern finds nulls.",
          "References, lookahead and lookbehind, atomic groups, possessive quantifiers, recursion and verbs",
          "a pattern of more than 10,000 bytes or of more than 1,000 characters",
          "with repeats counted as often as they may come")
def test_regular_expressions(db: motte.Database) -> None:
    for name in ("AB-12", "ab-1", "Dr Meier jr", "Élan\n", None):
        add(db, name=name)
    assert ids(db, r'name MATCHES "[A-Z]{2}-\\d{1,4}"') == ids(db, "name MATCHES $0", r"[A-Z]{2}-\d{1,4}") == [1]
    assert ids(db, 'name MATCHES[c] ".*(mayer|meier).*"') == [3] and ids(db, "name MATCHES 'Dr'") == []
    assert ids(db, "name MATCHES null") == [5] and ids(db, "name MATCHES '.*'") == [1, 2, 3]
    assert ids(db, "name MATCHES $0", r"(?s)\p{Lu}\wa.*") == [4]
    assert ids(db, "name MATCHES $0", r"\Qab\E\b.\d$") == [2]
    for pattern in (r"(a)\1", "(?=a)", "(?<=a)", "(?>a)", "a++", "(?R)", "(*ACCEPT)", "a" * 10_001, "(a{40}){40}",
                    "(a"):
        with pytest.raises(errors.QueryArgumentError):
            ids(db, "name MATCHES $0", pattern)


@promises(DOCUMENT, "Where it is missing, or older than 10.34, the error is `UNSUPPORTED`",
          "and names Debian's package `libpcre2-8-0`", "`MOTTE_LIBPCRE2` names another file")
def test_without_the_library_for_regular_expressions() -> None:
    program = ("import motte\nwith motte.open(in_memory='x', schema='P { id: int key, s: string }') as db:\n"
               "    try:\n        db.objects('P').where('s MATCHES $0', 'a')\n"
               "    except motte.errors.UnsupportedError as error:\n        print(error)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "MOTTE_LIBPCRE2": "none.so"})
    assert "libpcre2-8-0" in done.stdout and "none.so" in done.stdout, done


@promises(DOCUMENT, 'A value of another type, such as a text for an int, is an error, not "false".',
          "A bool also takes 1, 0 and the words for truth as text.")
def test_wrong_types(db: motte.Database) -> None:
    for text in ("age == 'x'", "name == 1", "when == 1", "flag == 2", "uuid == 'x'", "age CONTAINS 1", "data == 1"):
        with pytest.raises(errors.QueryInvalidError):
            pytest.fail(f"{text} gives {ids(db, text)}")
    yes, no = add(db, flag=True), add(db)
    for true, false in (("1", "0"), ("'true'", "'false'"), ("'YES'", "'NO'")):
        assert ids(db, f"flag == {true}") == [yes.id]
        assert ids(db, f"flag == {false}") == [no.id]


@promises(DOCUMENT, "`== null` finds nulls and `!= null` everything else.",
          "Compared with anything that is not null, a null is only `!=`, of texts too: nothing is above or below it.",
          "Between two nulls `<=` and `>=` hold as `==` does.",
          "`CONTAINS`, `BEGINSWITH` and `ENDSWITH` with an empty or null argument match nothing.")
def test_nulls(db: motte.Database) -> None:
    add(db)
    add(db, age=1, name="a", data=b"a")
    for name, value in (("age", "1"), ("name", "'a'"), ("data", "X'61'")):
        assert ids(db, f"{name} == null") == ids(db, f"{name} != {value}") == [1]
        assert ids(db, f"{name} != null") == [2]
        for operator in ("==", "<", "<=", ">", ">="):
            assert 1 not in ids(db, f"{name} {operator} {value}")
        assert ids(db, f"{name} > null") == ids(db, f"{name} < null") == []
        assert ids(db, f"{name} <= null") == ids(db, f"{name} >= null") == [1]
    for operator in ("CONTAINS", "BEGINSWITH", "ENDSWITH"):
        assert ids(db, f"name {operator} ''") == ids(db, f"data {operator} X''") == []
        assert ids(db, f"name {operator} $0", None) == ids(db, f"name {operator} nickname") == []


@promises(DOCUMENT, "**Text** compares by UTF-8 bytes, without normalisation.",
          "`[c]` lower-cases every character by itself, accented letters too, independent of language.",
          "in Latin (Latin-1, Extended-A, -B and Additional), Greek and Cyrillic, and skips combining marks behind any "
          "letter, so that `é` is found however it is written.",
          "Letters that are no accented ones stay: `ø`, `ł`, `đ`, `ß`, `æ`.")
def test_text(db: motte.Database) -> None:
    add(db, name="é")
    add(db, name="e\u0301")
    assert ids(db, "name == $0", "é") == [1]
    assert ids(db, "name ==[d] 'e'") == ids(db, "name ==[d] $0", "é") == ids(db, "name ==[d] $0", "e\u0301") == [1, 2]
    assert ids(db, "name ==[c] $0", "É") == [1]
    for written, plain in (("ñ", "n"), ("č", "c"), ("ǎ", "a"), ("ộ", "o"), ("ά", "α"), ("й", "и"), ("x\u0301", "x")):
        found = add(db, name=written).id
        assert ids(db, "name ==[d] $0", plain) == [found], written
    for letter, others in (("ø", "o"), ("ł", "l"), ("đ", "d"), ("ß", ["s", "ss"]), ("æ", ["a", "ae"])):
        added = add(db, name=letter)
        for other in others:
            assert added.id not in ids(db, "name ==[cd] $0", other), letter
    add(db, name="SS")
    assert 1 == len(ids(db, "name ==[c] 'ss'"))


@promises(DOCUMENT, "`boss.name == null` also finds objects without a boss", "at least one element",
          "no exception; true for empty collections", "not `ANY`", "number of elements",
          "Sums of nothing are 0; minimum, maximum and average of nothing are null.",
          "`ANY` may be a different element in each comparison.")
def test_paths(db: motte.Database) -> None:
    ada = add(db, name="Ada", age=36)
    bob = add(db, age=10, boss=ada)
    cid = add(db, name="Cid", age=50, boss=bob, friends=[ada, bob], marks=[1, 2])
    assert ids(db, "boss.name == null") == [1, 3]
    assert ids(db, "boss.boss.name == 'Ada'") == [3]
    assert ids(db, "ANY friends.age > 20") == ids(db, "SOME friends.age > 20") == [3]
    assert ids(db, "ALL friends.age > 5") == [1, 2, 3]
    assert ids(db, "ALL friends.age > 20") == [1, 2] == ids(db, "NOT ANY friends.age > 20")
    assert ids(db, "NONE friends.age > 20") == [1, 2]
    assert ids(db, "friends.@count > 1") == ids(db, "friends.@sum.age == 46") == ids(db,
            "friends.age.@sum == 46") == [3]
    assert ids(db, "friends.@sum.age == 0") == ids(db, "marks.@sum == 0") == [1, 2]
    for total in ("min", "max", "avg"):
        assert ids(db, f"friends.@{total}.age == null") == ids(db, f"marks.@{total} == null") == [1, 2]
    assert ids(db, "ANY friends.age > 30 AND ANY friends.name == null") == [3]
    assert ids(db, "SUBQUERY(friends, $f, $f.age > 30 AND $f.name == null).@count > 0") == []
    assert ids(db, "ANY staff.age == 50") == [bob.id]
    assert cid.id == 3


@promises(DOCUMENT, "It works on lists, sets and maps of objects and on inverse properties, also behind links, and "
          "inside another SUBQUERY.", "Paths in it begin with its variable, which stands for the element.")
def test_subqueries(db: motte.Database) -> None:
    ada = add(db, age=36)
    bob = add(db, age=10, boss=ada)
    cid = add(db, age=50, boss=bob, friends=[ada, bob], others={ada}, by={"a": ada})
    assert cid.id == 3
    for collection in ("friends", "others", "by"):
        assert ids(db, f"SUBQUERY({collection}, $f, $f.age > 30 AND $f == $0).@count == 1", ada) == [3]
        assert ids(db, f"SUBQUERY({collection}, $f, $f.age > 90).@count == 1") == []
    assert ids(db, "SUBQUERY(staff, $s, $s.age == 10 OR $s.age == 50).@count == 1") == [1, 2]
    assert ids(db, "SUBQUERY(boss.staff, $s, $s.age == 50).@count == 1") == [3]
    assert ids(db, "SUBQUERY(staff, $s, SUBQUERY($s.staff, $t, $t.age == 50).@count == 1).@count == 1") == [1]
    with pytest.raises(errors.QueryError):
        ids(db, "SUBQUERY(friends, $f, age > 30).@count > 0")


@promises(DOCUMENT, "a member of a set, an element of a list", "some value of a map", "some key",
          "the value under a key; null without one",
          "an element by its position; null beyond the end",
          "number of entries",
          "A path to a map is about its values unless it says otherwise")
def test_sets_and_maps(db: motte.Database) -> None:
    add(db, seen={3, 4}, prices={"low": 2.0, "all": 9.0}, tags=["a", "b"], marks=[3])
    add(db)
    for text in ("ANY seen == 3", "ANY marks == 3", "ANY prices > 3", "ANY prices.@values > 3",
                 "ANY prices.@keys BEGINSWITH 'a'", "prices['low'] < 3", "tags[0] == 'a'", "tags[LAST] == 'b'",
                 "tags[FIRST] == 'a'", "prices.@count == 2", "prices[$0] < 3", "prices['low'] != null"):
        assert ids(db, text, *(["low"] if "$0" in text else [])) == [1], text
    assert ids(db, "prices['none'] == null") == ids(db, "tags[5] == null") == [1, 2]
    assert ids(db, "prices['low'] == null") == [2]


@promises(DOCUMENT, "numbers of all kinds with each other, exactly; everything else with its own kind. Between "
          "different "
          "kinds only `!=` holds.", "match the strings among the values (or the data, for an argument that is data)",
          "Minimum, maximum, sum and average are those of the numbers among them, wherever they are asked for.",
          "the value in a nested map or list; null if there is none", "some element of a list, some value "
          "of a "
          "map", "entries of a nested list or map; null for other values")
def test_mixed(db: motte.Database) -> None:
    values = [1, 1.0, Decimal("1"), "a1", b"a1", True, None, {"key": 1}, [{"key": 1}, 2], uuid.UUID(int=1)]
    for value in values:
        add(db, any=value)
    assert ids(db, "any == 1") == [1, 2, 3]
    assert ids(db, "any == $0", True) == [6]
    assert ids(db, "any == 'a1'") == ids(db, "any BEGINSWITH 'a'") == ids(db, "any LIKE 'a?'") == [4]
    assert ids(db, "any CONTAINS X'61'") == [5]
    assert ids(db, "any != 1") == [4, 5, 6, 7, 8, 9, 10]
    for operator in ("<", "<=", ">", ">=", "=="):
        assert not {4, 5, 6, 7, 8, 9, 10} & set(ids(db, f"any {operator} 1"))
    assert ids(db, "any['key'] == 1") == [8]
    assert ids(db, "any[0]['key'] == 1") == [9]
    assert ids(db, "any['key'] == null") == [1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert ids(db, "ANY any[*] == 1") == [8]
    assert ids(db, "ANY any[*] == 2") == [9]
    assert ids(db, "any.@count == 2") == [9]
    assert ids(db, "any.@count == null") == [1, 2, 3, 4, 5, 6, 7, 10]
    assert db.objects("P").sum("any") == 3 and db.objects("P").max("any") == 1
    assert db.objects("P").average("any") == 1


@promises(DOCUMENT, "`null` `bool` `int` `float` `double` `string` `data` `timestamp` `decimal` `objectId` `uuid` "
          "`link` "
          "`list` `map`", "null, bool, numbers, string, data, timestamp, objectId, uuid, link, list,\nmap")
def test_kinds_of_mixed_values(db: motte.Database) -> None:
    target = add(db, any=None)
    kinds = [("bool", False), ("int", -5), ("double", 0.5), ("decimal", Decimal("2")), ("string", "s"), ("data", b"d"),
             ("timestamp", datetime(2020, 1, 1, tzinfo=timezone.utc)), ("objectId", motte.ObjectId()),
             ("uuid", uuid.UUID(int=1)), ("link", target), ("list", [1]), ("map", {"a": 1})]
    for _, value in reversed(kinds):
        add(db, any=value)
    order = ids(db, "SORT(any)")
    assert order == [1, *range(1 + len(kinds), 1, -1)]
    for number, (kind, _) in enumerate(reversed(kinds), 2):
        assert ids(db, f"any.@type == '{kind}'") == [number]
    assert ids(db, "any.@type == 'null'") == [1]


@promises(DOCUMENT, "between two meridians and two parallels; lower left and upper right corner",
          "within a distance, given as a fraction of the earth's radius (6,378 km)",
          "inside a closed ring, outside of the holes in it", "optionally an altitude, which is ignored",
          "A shape can be an argument, as text; Python has `GeoBox`, `GeoCircle` and `GeoPolygon`.",
          "An object that is no such point is in no shape, and neither is null.",
          "Lists of points need `ANY`, `ALL` or `NONE`.",
          "The sides of a polygon are great-circle arcs.",
          "It fits into one hemisphere, its sides do not cross, and its holes are inside it.")
def test_places(db: motte.Database) -> None:
    add(db, place=point(db, 2.0, 2.0))
    add(db, place=point(db, 2.0, 2.0, 8000.0))
    add(db, place=point(db, 2.0, 2.0, kind="Line"))
    add(db, place=point(db, 40.0, 40.0))
    person = add(db)
    with db.write():
        person.places.append(point(db, 2.0, 2.0))
        person.places.append(point(db, 50.0, 2.0))
    box = "geoBox([1, 1], [3, 3])"
    ring = "{[0, 0], [9, 0], [0, 9], [0, 0]}"
    assert ids(db, f"place GEOWITHIN {box}") == ids(db, "place GEOWITHIN $0", box) == [1, 2]
    assert ids(db, "place GEOWITHIN $0", str(motte.GeoBox((1, 1), (3, 3)))) == [1, 2]
    assert ids(db, "place GEOWITHIN $0", str(motte.GeoCircle((2, 2.5), radians=0.01))) == [1,
            2]  # half a degree: 0.0087
    assert ids(db, "place GEOWITHIN $0", str(motte.GeoCircle((2, 2.5), km=64))) == [1, 2]
    assert ids(db, "place GEOWITHIN $0", str(motte.GeoPolygon([(0, 0), (9, 0), (0, 9), (0, 0)]))) == [1, 2]
    assert ids(db, "place GEOWITHIN geoCircle([2, 2.5], 0.0087)") == []
    assert ids(db, "place GEOWITHIN geoCircle([2, 2.5], 0.0088)") == [1, 2]
    assert ids(db, f"place GEOWITHIN geoPolygon({ring})") == [1, 2]
    assert ids(db, f"place GEOWITHIN geoPolygon({ring}, {{[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]}})") == []
    assert ids(db, f"ANY places GEOWITHIN {box}") == [5]
    assert 5 not in ids(db, f"ALL places GEOWITHIN {box}")
    assert 5 not in ids(db, f"NONE places GEOWITHIN {box}")
    # The way between two points of 60 degrees north goes north of them.
    add(db, place=point(db, 0.0, 61.0))
    assert 6 in ids(db, "place GEOWITHIN geoPolygon({[-30, 60], [0, 50], [30, 60], [-30, 60]})")
    for shape in ("geoPolygon({[0, 0], [9, 0], [0, 9]})", "geoPolygon({[0, 0], [9, 9], [9, 0], [0, 9], [0, 0]})",
                  f"geoPolygon({ring}, {{[20, 20], [21, 20], [20, 21], [20, 20]}})",
                  "geoPolygon({[-170, -80], [0, -80], [170, 80], [0, 80], [-170, -80]})"):
        with pytest.raises(errors.QueryError):
            ids(db, f"place GEOWITHIN {shape}")
    with pytest.raises(errors.QueryError):
        ids(db, f"places GEOWITHIN {box}")


@promises(DOCUMENT,
          "stable: equal elements keep their order; nulls first ascending, last descending",
          "the first of those that agree in all paths; nulls agree, but what a null link leads to is left out",
          "Clauses apply one after another, in the order in which they are written, as often as wanted",
          "is the youngest of each name, `DISTINCT(name) SORT(age)` the first of each name by age",
          "sees only what these left",
          "Without `SORT`, matches come in the order of their keys, which is the order in which the objects were "
          "created.")
def test_order(db: motte.Database) -> None:
    for name, age in [("b", 3), ("a", 3), (None, 1), ("a", 1), (None, 2)]:
        add(db, name=name, age=age, marks=[2, 1, 2])
    assert ids(db, "") == [1, 2, 3, 4, 5]
    assert ids(db, "SORT(age)") == [3, 4, 5, 1, 2]
    assert ids(db, "SORT(name)") == [3, 5, 2, 4, 1]
    assert ids(db, "SORT(name DESC)") == [1, 2, 4, 3, 5]
    assert ids(db, "DISTINCT(name)") == [1, 2, 3]
    assert ids(db, "DISTINCT(name, age)") == [1, 2, 3, 4, 5]
    assert ids(db, "SORT(age) DISTINCT(name)") == [3, 4, 1]
    assert ids(db, "DISTINCT(name) SORT(age)") == [3, 1, 2]
    assert ids(db, "LIMIT(3) SORT(age) LIMIT(1)") == [3]
    assert ids(db, "SORT(age DESC) LIMIT(2) SORT(name)") == [2, 1]
    limited = db.objects("P").where("LIMIT(2)")
    assert [person.id for person in limited.where("age == 1")] == []
    assert list(db.objects("P")[0].marks.where("DISTINCT(SELF)")) == [2, 1]
    assert list(db.objects("P")[0].marks.where("SORT(SELF)")) == [1, 2, 2]


@promises(DOCUMENT,
          "A syntax error is `QUERY_SYNTAX`; a name that the class does not have is `UNKNOWN_PROPERTY`; types that "
          "do not fit are `QUERY_INVALID`; missing or unsuitable arguments are `QUERY_ARGUMENT`",
          '(properties behind `map["key"]`) is `UNSUPPORTED`')
def test_errors(db: motte.Database) -> None:
    for text, arguments, kind in [
            ("age >", [], errors.QuerySyntaxError), ("age == 1 )", [], errors.QuerySyntaxError),
            ("boss.nothing == 1", [], errors.UnknownPropertyError), ("SORT(nothing)", [], errors.UnknownPropertyError),
            ("age == 'x'", [], errors.QueryInvalidError), ("age == $0", [], errors.QueryArgumentError),
            ("age == $0", ["x"], errors.QueryArgumentError), ("age == $1", [1], errors.QueryArgumentError),
            ("by['a'].name == 'x'", [], errors.UnsupportedError)]:
        with pytest.raises(kind):
            ids(db, text, *arguments)
