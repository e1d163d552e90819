"""`motte ship --to postgresql://`: rows as the file has its objects, whatever is killed; what is refused."""
from __future__ import annotations

import datetime
import decimal
import json
import os
import pathlib
import random
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from postgres_server import PROGRAMS, Server
from running import TOOL, begin, done, end, expect_running, run, until
from running import nothing_is_left_running as nothing_is_left_running

import motte

SEED = int(os.environ.get("MOTTE_TEST_SEED", random.randrange(10**9)))
SCHEMA = """
Person { id: int key, name: string?, age: int, weight: float, height: double?, alive: bool, photo: data?,
         born: timestamp?, price: decimal?, token: uuid?, oid: objectId?, any: mixed, friend: link<Person>,
         home: link<Home>, friends: list<Person>, tags: list<string>, marks: set<int>, names: map<double> }
embedded Home { city: string }
Note { text: string }
"""

pytestmark = pytest.mark.skipif(
    not PROGRAMS and os.environ.get("CI") != "true", reason="there is no PostgreSQL; scripts/setup.sh installs it")


def ship(path: pathlib.Path, address: str, *more: object) -> str:
    done = run("ship", path, "--to", address, "--once", *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def the_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.end()


@pytest.fixture
def server(the_server: Server) -> Server:
    # A test that failed may have left it stopped.
    if not the_server.is_running():
        the_server.start()
    return the_server


# ---------------------------------------------------------------------------------------------------- comparing

def rows(server: Server, database: str, name: str) -> dict[int, dict[str, Any]]:
    text = server.sql(database, f'SELECT coalesce(json_agg(t), \'[]\') FROM "{name}" t')
    return {row["_key"]: row for row in json.loads(text, parse_float=str)}


def number(value: Any) -> Any:
    return None if value is None else float(value)


def shown(row: dict[str, Any], keys: dict[int, int], cities: dict[int, str]) -> dict[str, Any]:
    """A row of Person as the file would have it."""
    born = row["born"] and datetime.datetime.fromisoformat(row["born"])
    return {
        "id": row["id"], "name": row["name"], "age": row["age"], "weight": number(row["weight"]),
        "height": number(row["height"]), "alive": row["alive"], "born": born,
        "photo": None if row["photo"] is None else bytes.fromhex(row["photo"][2:]),
        "price": None if row["price"] is None else decimal.Decimal(str(row["price"])),
        "token": None if row["token"] is None else uuid.UUID(row["token"]), "oid": row["oid"], "any": row["any"],
        "friend": None if row["friend"] is None else keys[row["friend"]],
        "home": None if row["home"] is None else cities[row["home"]],
        "friends": [keys[key] for key in row["friends"]], "tags": row["tags"], "marks": sorted(row["marks"]),
        "names": {name: float(value) for name, value in row["names"].items()}}


def of_file(person: Any) -> dict[str, Any]:
    return {
        "id": person.id, "name": person.name, "age": person.age, "weight": number(person.weight),
        "height": person.height, "alive": person.alive, "born": person.born, "photo": person.photo,
        "price": person.price, "token": person.token, "oid": None if person.oid is None else str(person.oid),
        "any": plain(person.any), "friend": person.friend.id if person.friend else None,
        "home": person.home.city if person.home else None, "friends": [friend.id for friend in person.friends],
        "tags": list(person.tags), "marks": sorted(person.marks), "names": dict(person.names)}


def plain(value: Any) -> Any:
    if isinstance(value, (type(None), bool, int, str)):
        return value
    if hasattr(value, "items"):
        return {key: plain(value[key]) for key in value}
    return [plain(element) for element in value]


def expect_same(server: Server, database: str, path: pathlib.Path) -> int:
    found = rows(server, database, "Person")
    keys = {key: row["id"] for key, row in found.items()}
    cities = {key: row["city"] for key, row in rows(server, database, "Home").items()}
    with motte.open(path) as db:
        expected = {person.id: of_file(person) for person in db.objects("Person")}
        notes = sorted(note.text for note in db.objects("Note"))
    actual = {row["id"]: shown(row, keys, cities) for row in found.values()}
    assert actual.keys() == expected.keys() and len(actual) == len(found)
    for key, row in expected.items():
        assert actual[key] == row, f"seed {SEED}"
    assert sorted(row["text"] for row in rows(server, database, "Note").values()) == notes
    homes = sum(1 for row in expected.values() if row["home"] is not None)
    assert len(cities) == homes
    return len(expected)


# ---------------------------------------------------------------------------------------------------- random files

def change(db: motte.Database, random_: random.Random) -> None:
    person, home, note = db.model("Person"), db.model("Home"), db.model("Note")
    with db.write():
        for _ in range(random_.randrange(1, 8)):
            identity = random_.randrange(40)
            known = db.get(person, identity)
            if known is not None and random_.random() < 0.2:
                db.delete(known)
                continue
            if known is None:
                known = db.add(person(id=identity))
            known.name = random_.choice([None, "", "Ada", "tab\tline\n\\N\r\\", "Größe", '"quoted"'])
            known.age = random_.choice([0, -5, 2**63 - 1, -(2**63)])
            known.weight, known.height = random_.choice([0.5, -2.25]), random_.choice([None, 0.1, 1e300, -1e-300])
            known.alive = random_.random() < 0.5
            known.photo = random_.choice([None, b"", bytes(range(256))])
            known.born = random_.choice([None, datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc),
                                         datetime.datetime(2026, 2, 28, 23, 59, 59, 123456, datetime.timezone.utc)])
            known.price = random_.choice([None, decimal.Decimal("3.75"), decimal.Decimal("-12")])
            known.token = random_.choice([None, uuid.UUID(int=random_.getrandbits(128))])
            known.any = random_.choice([None, 1, "text", True, [1, "two", {"three": [None]}]])
            known.friend = random_.choice([None, known, *db.objects(person)[:3]])
            known.home = random_.choice([None, home(city="Ulm"), home(city="Bonn")])
            known.friends.clear()
            known.friends.extend(random_.sample(list(db.objects(person)), min(2, db.count(person))))
            known.tags.append(random_.choice(["a", "b\n"]))
            known.marks.add(random_.randrange(5))
            known.names[random_.choice(["x", "y", 'z"'])] = random_.random()
        if random_.random() < 0.5:
            db.add(note(text=f"note {random_.random()}"))
        elif db.count(note):
            db.delete(db.objects(note)[0])


def test_rows_are_as_the_file_has_its_objects(server: Server, tmp_path: pathlib.Path) -> None:
    random_ = random.Random(SEED)
    path, address = tmp_path / "people.motte", server.make("histories")
    compared = 0
    with motte.open(path, schema=SCHEMA) as db:
        for _ in range(40):
            for _ in range(random_.randrange(4)):
                change(db, random_)
            ship(path, address)
            compared += expect_same(server, "histories", path)
    assert compared > 300
    assert ship(path, address) == ""


def test_feeders_are_killed_anywhere(server: Server, tmp_path: pathlib.Path) -> None:
    random_ = random.Random(SEED)
    path, address = tmp_path / "people.motte", server.make("kills")
    with motte.open(path, schema=SCHEMA) as db:
        for _ in range(40):
            # Now and then there are two: they wait for each other.
            feeders = [begin("ship", path, "--to", address) for _ in range(random_.choice([1, 1, 2]))]
            limit = time.monotonic() + random_.uniform(0.02, 0.4)
            while time.monotonic() < limit:
                change(db, random_)
                time.sleep(0.005)
            for feeder in feeders:
                end(feeder)
        ship(path, address)
        assert expect_same(server, "kills", path) > 0


def test_a_server_that_is_stopped_is_waited_for(server: Server, tmp_path: pathlib.Path) -> None:
    random_ = random.Random(SEED)
    path, address = tmp_path / "people.motte", server.make("restarts")
    with motte.open(path, schema=SCHEMA) as db:
        change(db, random_)
        feeder = begin("ship", path, "--to", address)
        # A server that is not there from the beginning is an error, for it may be none.
        until(lambda: server.sql("restarts", "SELECT to_regclass('motte_feed')").strip() != "")
        for how in ("fast", "immediate", "fast"):
            for _ in range(10):
                change(db, random_)
            server.stop(how)
            change(db, random_)
            expect_running(feeder)
            assert run("ship", path, "--to", address, "--once").returncode == 1
            server.start()
            # Versions of commits that change nothing in the end are not fed, and a random one may be such.
            with db.write():
                db.add(db.model("Note")(text=how))
            version = db.version

            def is_fed() -> bool:
                expect_running(feeder)
                found = server.sql("restarts", "SELECT min(version) FROM motte_feed").strip()
                return found != "" and int(found) >= version
            until(is_fed)
        end(feeder, signal.SIGTERM)
        ship(path, address)
        assert expect_same(server, "restarts", path) > 0


def test_what_else_shares_the_server_sees_whole_versions(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "pairs.motte", server.make("versions")
    with motte.open(path, schema="Left { id: int key, n: int } Right { id: int key, n: int }") as db:
        left, right = db.model("Left"), db.model("Right")
        with db.write():
            one, other = db.add(left(id=1)), db.add(right(id=1))
        ship(path, address)
        feeder = begin("ship", path, "--to", address)
        for n in range(1, 60):
            with db.write():
                one.n = other.n = n
            found = server.sql("versions", 'SELECT l.n = r.n FROM "Left" l, "Right" r').strip()
            assert found == "t"
        end(feeder, signal.SIGTERM)


# ------------------------------------------------------------------------------------------- what comes and goes

def test_schema_additions_and_chosen_classes(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "some.motte", server.make("schemas")
    with motte.open(path, schema="Person { id: int key } Dog { name: string }") as db, db.write():
        db.add(db.model("Person")(id=1))
        db.add(db.model("Dog")(name="Rex"))
    ship(path, address, "--class", "Person")
    assert server.sql("schemas", "SELECT to_regclass('\"Dog\"')").strip() == ""
    server.sql("schemas", 'CREATE VIEW seen AS SELECT id FROM "Person"')
    with motte.open(path, schema="Person { id: int key, name: string? } Dog { name: string } More { n: int }") as db:
        with db.write():
            db.one("Person", 1).name = "Ada"
            db.add(db.model("More")(n=5))
    ship(path, address)
    assert server.sql("schemas", 'SELECT id, name FROM "Person"').strip() == "1|Ada"
    assert server.sql("schemas", 'SELECT name FROM "Dog"').strip() == "Rex"
    assert server.sql("schemas", 'SELECT n FROM "More"').strip() == "5"
    assert server.sql("schemas", "SELECT id FROM seen").strip() == "1"
    # A class that was left out for a while is loaded again.
    with motte.open(path) as db, db.write():
        db.one("Person", 1).name = "Eve"
    ship(path, address, "--class", "Dog")
    assert server.sql("schemas", 'SELECT name FROM "Person"').strip() == "Ada"
    ship(path, address)
    assert server.sql("schemas", 'SELECT name FROM "Person"').strip() == "Eve"
    # So is a table that somebody has dropped.
    server.sql("schemas", 'DROP TABLE "Dog"')
    ship(path, address)
    assert server.sql("schemas", 'SELECT name FROM "Dog"').strip() == "Rex"


def test_a_log_that_was_trimmed_has_everything_loaded_again(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "people.motte", server.make("trimmed")
    random_ = random.Random(SEED)
    with motte.open(path, schema=SCHEMA) as db:
        change(db, random_)
        ship(path, address)
        for _ in range(30):
            change(db, random_)
        db.keep_changes(db.version)
        change(db, random_)
        ship(path, address)
        expect_same(server, "trimmed", path)


def test_feeds_of_different_classes_go_on_by_themselves(server: Server, tmp_path: pathlib.Path) -> None:
    random_ = random.Random(SEED)
    path, address = tmp_path / "two.motte", server.make("classes")
    with motte.open(path, schema="Person { id: int key, n: int } Dog { id: int key, n: int }") as db:
        feeders = [begin("ship", path, "--to", address, "--class", name) for name in ("Person", "Dog", "Person")]
        for number in range(120):
            with db.write():
                db.add(db.model(random_.choice(["Person", "Dog"]))(id=random_.randrange(50), n=number), update=True)
            time.sleep(random_.random() * 0.02)
            if number % 40 == 20:
                end(feeders.pop(0))
                feeders.append(begin("ship", path, "--to", address, "--class", random_.choice(["Person", "Dog"])))
        names = ("Person", "Dog")
        expected = [sorted((each.id, each.n) for each in db.objects(name)) for name in names]

        def found(name: str) -> list[tuple[int, int]]:
            rows = server.sql("classes", f'SELECT id, n FROM "{name}" ORDER BY id').split()
            return [(int(row.split("|")[0]), int(row.split("|")[1])) for row in rows]
        for name in names:
            ship(path, address, "--class", name)
        assert [found(name) for name in names] == expected, f"seed {SEED}"
        until(lambda: "lag       0" in run("status", path, "--folder", address).stdout)
    text = done("status", path)
    assert f"consumer  {address} (Dog): " in text and f"consumer  {address} (Person): " in text


def test_what_goes_goes_there_too(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "less.motte", server.make("less")
    schema = "Row { id: int key, age: int, name: string } Gone { id: int key } Kept { id: int key }"
    with motte.open(path, schema=schema) as db, db.write():
        for name in ("Row", "Gone", "Kept"):
            db.add(db.model(name)(id=1))
    ship(path, address)
    for name, table in (("v", "Row"), ("w", "Gone"), ("x", "Kept")):
        server.sql("less", f'CREATE VIEW {name} AS SELECT * FROM "{table}"')
    with motte.open(path, schema="Row { id: int key, name: string } Kept { id: int key }", schema_version=1,
                    migration=lambda step: step.delete_class("Gone")) as db, db.write():
        db.add(db.model("Row")(id=2))
    done = run("ship", path, "--to", address, "--once")
    assert done.returncode == 0 and "view v" in done.stderr and "view w" in done.stderr, done.stderr
    assert server.sql("less", 'SELECT id FROM "Row" ORDER BY id').split() == ["1", "2"]
    assert server.sql("less", "SELECT to_regclass('\"Gone\"')").strip() == ""
    assert server.sql("less", "SELECT name FROM motte_feed ORDER BY name").split() == ["Kept", "Row"]
    assert server.sql("less", "SELECT count(*) FROM x").strip() == "1"


AGAIN = """
Row { id: int key, name: string?, pet: link<Dog>, tags: list<string> }
Dog { id: int key }
Cat { id: int key }
"""


# What is there in the end has the name and the type in SQL of what was there before.
@pytest.mark.parametrize(("name", "steps"), [
    ("class", [("Dog { id: int key } Cat { id: int key }", lambda step: step.delete_class("Row")), (AGAIN, None)]),
    ("property", [(AGAIN.replace("name: string?, ", ""), None), (AGAIN, None)]),
    ("links", [(AGAIN.replace("link<Dog>", "link<Cat>"), None)]),
    ("elements", [(AGAIN.replace("list<string>", "list<int>"), None)]),
    ("required", [(AGAIN.replace("string?", "string"), None)]),
    ("names", [(AGAIN.replace("Dog", "Hound"), lambda step: step.rename_class("Dog", "Hound")),
               (AGAIN.replace("Dog", "Hound").replace("Cat", "Dog"), lambda step: step.rename_class("Cat", "Dog")),
               (AGAIN.replace("link<Dog>", "link<Cat>"), lambda step: step.rename_class("Hound", "Cat"))])])
def test_what_looks_as_before_a_migration_is_loaded_again(
    server: Server, tmp_path: pathlib.Path, name: str, steps: list[tuple[str, Any]]
) -> None:
    path, address = tmp_path / "again.motte", server.make(f"again_{name}")
    with motte.open(path, schema=AGAIN) as db, db.write():
        db.add_all([db.model("Cat")(id=number) for number in (7, 8)])
        dog = db.add(db.model("Dog")(id=1))
        for number in range(3):
            known = db.add(db.model("Row")(id=number, name=f"n{number}" if number else None, pet=dog))
            known.tags.append("t")
    ship(path, address)
    for number, (schema, migrate) in enumerate(steps, start=1):
        motte.open(path, schema=schema, schema_version=number, migration=migrate or (lambda step: None)).close()
    with motte.open(path) as db:
        with db.write():
            db.add(db.model("Row")(id=9))
        expected = {row.id: (row.name, row.pet is None, list(row.tags)) for row in db.objects("Row")}
        others = [sorted(each.id for each in db.objects(name)) for name in ("Dog", "Cat")]
    ship(path, address)
    found = rows(server, f"again_{name}", "Row").values()
    assert {row["id"]: (row["name"], row["pet"] is None, row["tags"]) for row in found} == expected
    assert [sorted(row["id"] for row in rows(server, f"again_{name}", other).values()) for other in ("Dog", "Cat")
            ] == others
    assert ship(path, address) == ""


def test_tables_of_an_earlier_format_are_loaded_once(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "former.motte", server.make("former")
    with motte.open(path, schema="Person { id: int key, name: string } Dog { id: int key }") as db, db.write():
        db.add(db.model("Person")(id=1, name="Ada"))
        db.add(db.model("Dog")(id=1))
    ship(path, address)
    mark = server.sql("former", "SELECT obj_description('motte_feed'::regclass, 'pg_class')").strip()
    server.sql("former", f"ALTER TABLE motte_feed DROP COLUMN format; COMMENT ON TABLE motte_feed IS '{mark[:-1]}2'")
    server.sql("former", """UPDATE "Person" SET name = 'of before'; DELETE FROM "Dog" """)
    # Each feed loads its own.
    assert ", 1 rows" in ship(path, address, "--class", "Person")
    assert server.sql("former", 'SELECT name FROM "Person"').strip() == "Ada"
    assert server.sql("former", 'SELECT count(*) FROM "Dog"').strip() == "0"
    assert ", 1 rows" in ship(path, address)
    assert server.sql("former", 'SELECT count(*) FROM "Dog"').strip() == "1"
    assert ship(path, address) == ""


def test_texts_are_utf_8_whatever_the_client_is_told(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "texts.motte", server.make("texts")
    with motte.open(path, schema="Größe { id: int key, text: string, tags: list<string> }") as db, db.write():
        db.add(db.model("Größe")(id=1, text="naïve €")).tags.append("é")
    shipped = run("ship", path, "--to", address, "--once", PGCLIENTENCODING="LATIN1")
    assert shipped.returncode == 0, shipped.stderr
    with motte.open(path) as db, db.write():
        db.add(db.model("Größe")(id=2, text="日本"))
    ship(path, address + "&client_encoding=LATIN1")
    assert server.sql("texts", 'SELECT text, tags FROM "Größe" ORDER BY id').splitlines() == [
        'naïve €|["é"]', "日本|[]"]


@pytest.mark.parametrize("declared", ["Row { id: int key, ctid: int }", "motte_feed_x { id: int key }"])
def test_names_that_are_taken_are_refused(server: Server, tmp_path: pathlib.Path, declared: str) -> None:
    path, address = tmp_path / "names.motte", server.make(f"names_{len(declared)}")
    with motte.open(path, schema=declared):
        pass
    refused = run("ship", path, "--to", address, "--once")
    assert refused.returncode == 1 and "leave" in refused.stderr and "PostgreSQL refuses" not in refused.stderr


@pytest.mark.parametrize("second", ["int", "string"])
def test_names_that_look_alike_are_two(server: Server, tmp_path: pathlib.Path, second: str) -> None:
    """Composed and decomposed letters, and a quotation mark with an accent on it."""
    (one, two), quote = ("\u00e9", "e\u0301"), '"\u0301'
    path, address = tmp_path / "alike.motte", server.make(f"alike_{second}")
    schema = f"Row {{ id: int key, {one}: int, {two}: {second}, `{quote}`: int }} " + "".join(
        f"{name} {{ id: int key, `n{name}`: int }} " for name in (one, two))
    for number in range(3):
        with motte.open(path, schema=schema, durability="none") as db:
            other = number if second == "int" else str(number)
            db.import_json("Row", text=json.dumps([{"id": number, one: 10 + number, two: other, quote: 7}]))
            db.import_json(one, text=json.dumps([{"id": number}]))
            db.import_json(two, text=json.dumps([{"id": 10 + number}]))
        ship(path, address)
        found = server.sql(f"alike_{second}", f'SELECT id, "{one}", "{two}", """\u0301" FROM "Row" ORDER BY id')
        assert found.splitlines() == [f"{row}|{10 + row}|{row}|7" for row in range(number + 1)]
        for name, first in [(one, 0), (two, 10)]:
            found = server.sql(f"alike_{second}", f'SELECT id FROM "{name}" ORDER BY id')
            assert found.split() == [str(first + row) for row in range(number + 1)]


def test_a_folder_and_a_feed_do_not_trim_each_other(server: Server, tmp_path: pathlib.Path) -> None:
    path, log, address = tmp_path / "people.motte", tmp_path / "log", server.make("positions")
    with motte.open(path, schema="Person { id: int key, name: string? }", durability="none") as db:
        person = db.model("Person")
        with db.write():
            db.add_all([person(id=number) for number in range(500)])
        ship(path, address)
        done("ship", path, "--to", log, "--once")
        for number in range(1_200):
            with db.write():
                db.one("Person", 1).name = str(number)
        done("ship", path, "--to", log, "--once")
        for number in range(200):
            with db.write():
                db.one("Person", 2).name = str(number)
        assert "lag       1400 versions" in run("status", path, "--folder", address).stdout
        # What has changed, and not all of it again.
        assert ", 2 rows\n" in ship(path, address)
        assert "lag       0 versions, 0.000 s\n" in run("status", path, "--folder", address).stdout
    done("ship", path, "--to", log, "--once")
    text = done("status", path)
    assert f"consumer  {address}: " in text and f"consumer  {log}: " in text
    assert text.count(", lag 0 versions, 0.000 s\n") == 2, text
    assert server.sql("positions", 'SELECT name FROM "Person" WHERE id = 2').strip() == "199"
    # A password is not kept.
    secret = address.replace("user=motte", "user=motte&password=secret")
    ship(path, secret)
    assert done("status", path) == text and b"secret" not in path.read_bytes()


def test_what_is_refused(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "people.motte", server.make("refused")
    with motte.open(path, schema="Person { id: int key }") as db, db.write():
        db.add(db.model("Person")(id=1))
    server.sql("refused", 'CREATE TABLE "Person" (id int); INSERT INTO "Person" VALUES (7)')
    foreign = run("ship", path, "--to", address, "--once")
    assert foreign.returncode == 1 and "that the feed has not made" in foreign.stderr
    assert server.sql("refused", 'SELECT * FROM "Person"').strip() == "7"
    assert server.sql("refused", "SELECT count(*) FROM motte_feed").strip() == "0"
    server.sql("refused", 'DROP TABLE "Person"')
    ship(path, address)
    other = tmp_path / "other.motte"
    with motte.open(path) as db:
        db.copy_to(other)
    assert "another file" in run("ship", other, "--to", address, "--once").stderr
    server.sql("refused", "CREATE SCHEMA second")
    ship(other, address + "&options=-csearch_path%3Dsecond")
    assert server.sql("refused", 'SELECT id FROM second."Person"').strip() == "1"
    # An older copy of the file went another way.
    older = tmp_path / "older.motte"
    older.write_bytes(path.read_bytes())
    with motte.open(path) as db, db.write():
        db.add(db.model("Person")(id=2))
    ship(path, address)
    path.write_bytes(older.read_bytes())
    replaced = run("ship", path, "--to", address, "--once")
    assert replaced.returncode == 1 and "older copy" in replaced.stderr
    assert run("ship", path, "--to", address, "--keep-for", 5).returncode == 2
    assert run("ship", path, "--to", tmp_path / "log", "--class", "Person").returncode == 2
    assert run("follow", tmp_path / "copy.motte", "--from", address).returncode == 2
    unknown = run("ship", path, "--to", address, "--once", "--class", "Cat")
    assert unknown.returncode == 1 and "no class 'Cat'" in unknown.stderr
    nowhere = run("ship", path, "--to", f"postgresql:///none?host={tmp_path}", "--once")
    assert nowhere.returncode == 1 and "cannot be reached" in nowhere.stderr
    missing = run("ship", path, "--to", address, "--once", MOTTE_LIBPQ="libnone.so")
    assert missing.returncode == 1 and "package libpq5" in missing.stderr


def test_values_that_postgresql_does_not_have(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "odd.motte", server.make("odd")
    with motte.open(path, schema="Odd { id: int key, text: string, real: double, any: mixed, keys: map<int> }") as db:
        odd = db.model("Odd")
        with db.write():
            db.add(odd(id=1, text="a\0b", real=float("nan"), any=float("inf")))
            db.add(odd(id=2, text="", real=float("-inf"), any=["x\0"])).keys["k\0"] = 1
            same = db.add(odd(id=3, text="", any={"a\0": 1, "a\ufffd": 2})).keys
            same["a\0"], same["a\ufffd"], same["b"] = 1, 2, 3
    ship(path, address)
    found = rows(server, "odd", "Odd")
    assert [row["text"] for row in found.values()] == ["a\ufffdb", "", ""]
    assert server.sql("odd", 'SELECT "real" FROM "Odd" ORDER BY id').split() == ["NaN", "-Infinity", "0"]
    assert [row["any"] for row in found.values()] == ["Infinity", ["x\ufffd"], {"a\ufffd\ufffd": 1, "a\ufffd": 2}]
    assert [row["keys"] for row in found.values()] == [
        {}, {"k\ufffd": 1}, {"a\ufffd\ufffd": 1, "a\ufffd": 2, "b": 3}]


def test_status(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "people.motte", server.make("status")
    with motte.open(path, schema="Person { id: int key }") as db:
        assert run("status", path, "--folder", address).returncode == 1
        ship(path, address)
        assert "lag       0 versions, 0.000 s" in run("status", path, "--folder", address).stdout
        with db.write():
            db.add(db.model("Person")(id=1))
        behind = run("status", path, "--folder", address)
        assert behind.returncode == 0 and "lag       1 versions" in behind.stdout, behind.stdout
        metrics = run("status", path, "--folder", address, "--prometheus").stdout
        assert "motte_lag_versions{" in metrics and "motte_fed_version{" in metrics
        assert f'motte_healthy{{file="{path}"}} 1' in metrics
    older = path.read_bytes()
    with motte.open(path) as db, db.write():
        db.add(db.model("Person")(id=2))
    ship(path, address)
    path.write_bytes(older)
    for number in (3, 4):
        replaced = run("status", path, "--folder", address)
        assert replaced.returncode == 1 and "problem   the database has version" in replaced.stdout, replaced.stdout
        metrics = run("status", path, "--folder", address, "--prometheus")
        assert metrics.returncode == 1 and f'motte_healthy{{file="{path}"}} 0' in metrics.stdout
        # It goes another way, and has as many versions at some time.
        with motte.open(path) as db:
            for _ in range(3):
                with db.write():
                    db.add(db.model("Person")(id=number), update=True)


def test_a_feed_that_goes_on_is_healthy(server: Server, tmp_path: pathlib.Path) -> None:
    path, address = tmp_path / "busy.motte", server.make("busy")
    with motte.open(path, schema="Person { id: int key, n: int }") as db:
        person = db.model("Person")
        with db.write():
            one = db.add(person(id=1))
        ship(path, address)
        begin("ship", path, "--to", address)
        looking = []
        for _ in range(6):
            looking.append(begin("status", path, "--folder", address))
            limit = time.monotonic() + 0.5
            while time.monotonic() < limit:
                with db.write():
                    one.n += 1
        for look in looking:
            assert look.wait(60) == 0


def test_the_commands_of_the_document(server: Server, tmp_path: pathlib.Path) -> None:
    text = (pathlib.Path(__file__).parents[2] / "docs" / "replication.md").read_text()
    block = next(found for found in text.split("```sh\n")[1:] if found.startswith("motte ship people.motte --to postg"))
    server.make("reports")
    with motte.open(tmp_path / "people.motte", schema="Person { id: int key, name: string }") as db, db.write():
        db.add(db.model("Person")(id=1, name="Ada"))
    path = f"{tmp_path}:{server.bin}:{os.environ['PATH']}"
    (tmp_path / "motte").symlink_to(TOOL)
    printed = []
    for line in block.split("```")[0].splitlines():
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, env={
            **os.environ, "PATH": path, "PGHOST": str(server.folder), "PGUSER": "motte"})
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert len(printed) == 3 and "1 rows" in printed[0] and "Ada" in printed[1] and "lag       0" in printed[2]
