"""Databases: opening and closing, schemas, versions and threads."""
from __future__ import annotations

import gc
import os
import pathlib
import stat
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from datetime import timezone
from typing import Any, Optional

import pytest

import motte
from conftest import CLASSES, Dog, Person
from motte import errors

UTC = timezone.utc
Opener = Callable[..., motte.Database]


# ------------------------------------------------------------------------------------------------ opening and closing


def test_what_was_written_is_there_after_reopening(opened: Opener, path: pathlib.Path) -> None:
    with opened() as db, db.write():
        db.add(Person(name="Ada", age=36, tags=["x", "y"]))

    with opened() as db:
        assert db.objects(Person)[0].to_dict()["tags"] == ["x", "y"]
        assert db.path == str(path) and db.file_size > 0 and not db.closed


def test_opening_takes_a_path_or_a_name() -> None:
    with pytest.raises(TypeError, match="either a path"):
        motte.open()
    with pytest.raises(TypeError, match="either a path"):
        motte.open("x.motte", in_memory="x")


def test_memory_is_shared_by_name() -> None:
    with motte.open(in_memory="shared", schema=CLASSES) as one, motte.open(in_memory="shared") as other:
        with one.write():
            one.add(Dog(name="Rex"))
        other.refresh()
        assert len(other.objects("Dog")) == 1


def test_closing_twice_and_using_what_is_closed(opened: Opener) -> None:
    db = opened()
    with db.write():
        ada = db.add(Person(name="Ada"))
    everybody = db.objects(Person)
    db.close()
    db.close()

    assert db.closed and not ada.is_valid and not everybody.is_valid
    for use in (lambda: ada.name, lambda: len(everybody), lambda: db.objects(Person), db.refresh, db.freeze,
                lambda: db.write().__enter__(), lambda: db.version, lambda: db.get(Dog, "Rex")):
        with pytest.raises(errors.ClosedError):
            use()
    assert "closed" in repr(db) and "gone" in repr(ada) and "cannot be used" in repr(everybody)


def test_bad_files(opened: Opener, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened(create=False)
    assert not path.exists()
    with pytest.raises(errors.StorageError):
        motte.open(tmp_path / "no folder" / "x.motte", schema=CLASSES)
    path.write_text("This is a letter to a friend, and no database at all. " * 1000)
    with pytest.raises(errors.NotAMotteFileError) as caught:
        opened()
    assert caught.value.path == str(path) and isinstance(caught.value, OSError)


FILLER = """
    import sys, motte
    class Dog(motte.Model):
        name: str = motte.field(primary_key=True)
    with motte.open(sys.argv[1], schema=[Dog]) as db, db.write():
        db.add_all([Dog(name=f"dog {number}") for number in range(5000)])
"""


def test_a_truncated_file_is_refused(opened: Opener, path: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(FILLER), str(path)], check=True)
    os.truncate(path, path.stat().st_size // 2)

    with pytest.raises(errors.CorruptedError, match="cut short"):
        opened()


def test_closing_lets_go_of_the_file(opened: Opener, path: pathlib.Path) -> None:
    db = opened()
    with db.write():
        dogs = db.add_all([Dog(name=f"dog {number}", age=number) for number in range(5000)])
    kept: list[Any] = [dogs, db.objects(Dog).where("age > 5").sorted("-age"), db.query(Dog, "age > 5"),
                       db.objects(Dog).observe(print)]
    assert len(kept[1]) == 4994 and kept[2].count() == 4994
    db.close()

    # Whoever still holds objects of a closed database must not die of what others do to the file.
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(errors.CorruptedError):
        opened()
    assert not dogs[0].is_valid and not kept[1].is_valid


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(PermissionError):
        motte.open(tmp_path / "x.motte", schema=CLASSES)


def test_read_only(opened: Opener) -> None:
    opened().close()
    db = opened(read_only=True)

    assert len(db.objects(Person)) == 0
    with pytest.raises(errors.ReadOnlyError), db.write():
        pass


def test_unknown_options_are_refused(opened: Opener) -> None:
    with pytest.raises(errors.Error):
        opened(durability="perhaps")
    with pytest.raises(errors.WrongTypeError):
        opened(max_file_size="much")


# ------------------------------------------------------------------------------------------------ schema


def test_a_file_knows_its_classes(opened: Opener) -> None:
    with opened() as db, db.write():
        db.add(Person(name="Ada", dogs=[Dog(name="Rex", age=3)]))

    db = opened(schema=None)
    person = db.model("Person")
    assert {model.__name__ for model in db.models} == {"Person", "Dog", "Everything"}
    ada = db.objects(person)[0]
    assert (ada.name, ada.dogs[0].name, ada.dogs[0].age) == ("Ada", "Rex", 3)  # type: ignore[attr-defined]
    with db.write():
        db.add(person(name="Bob", friend=ada))  # type: ignore[call-arg]
    assert db.objects("Person").where("friend.name == 'Ada'")[0].name == "Bob"
    rex = db.one("Dog", "Rex")
    assert rex == db.get("Dog", "Rex") == db.at("Dog", rex.object_key) == ada.dogs[0]  # type: ignore[attr-defined]
    assert db.get("Dog", "Max") is None and db.count("Dog") == 1
    with pytest.raises(errors.ObjectNotFoundError, match="there is no Dog 'Max'"):
        db.one("Dog", "Max")
    with pytest.raises(errors.ObjectNotFoundError, match="there is no Dog with key 7"):
        db.at("Dog", 7)
    assert "Person {" in db.schema and "inverse<Dog.owner>" in db.schema


def test_a_schema_as_text() -> None:
    with motte.open(in_memory="text", schema="Book { isbn: string key, pages: int? }") as db:
        book = db.model("Book")
        with db.write():
            db.add(book(isbn="1", pages=None))  # type: ignore[call-arg]
        assert repr(db.get(book, "1")) == "Book(isbn='1', pages=None)"
    with pytest.raises(errors.SchemaInvalidError):
        motte.open(in_memory="text2", schema="Book { ")


def test_properties_and_classes_are_added(opened: Opener) -> None:
    old = type("Dog", (motte.Model,), {
        "__annotations__": {"name": "str"}, "__module__": __name__, "name": motte.field(primary_key=True)})
    with opened(schema=[old]) as db, db.write():
        db.add(old(name="Rex"))

    with opened() as db:
        assert (db.one(Dog, "Rex").age, db.one(Dog, "Rex").owner) == (0, None)
        assert len(db.objects(Person)) == 0


def test_what_would_lose_data_is_refused(opened: Opener) -> None:
    opened().close()
    other = type("Dog", (motte.Model,), {"__annotations__": {"name": "int"}, "__module__": __name__})

    with pytest.raises(errors.SchemaMismatchError, match="Dog.name is string in the file and declared int"):
        opened(schema=[other])


def test_a_class_the_database_was_not_opened_with(db: motte.Database) -> None:
    class Stranger(motte.Model):
        name: str

    for use in (lambda: db.objects(Stranger), lambda: db.get(Stranger, 1), lambda: db.add(Stranger(name="x"))):
        with pytest.raises(errors.UnknownClassError, match="Stranger is not among the classes"):
            use()
    with pytest.raises(errors.UnknownClassError):
        db.model("Nothing")


# ------------------------------------------------------------------------------------------------ versions and threads


def test_a_version_is_shown_until_refresh(opened: Opener) -> None:
    reader, writer = opened(), opened()
    people = reader.objects(Person)
    assert len(people) == 0
    with writer.write():
        writer.add(Person(name="Ada"))

    assert len(people) == 0 and reader.latest_version > reader.version
    assert reader.wait_for_change(1) and reader.refresh() and len(people) == 1
    assert not reader.refresh() and not reader.wait_for_change(0.05)


def test_frozen_things_never_change_and_know_no_thread(opened: Opener) -> None:
    db = opened()
    with db.write():
        ada = db.add(Person(name="Ada", age=36, tags=["x"]))
    frozen, frozen_ada, frozen_people = db.freeze(), ada.freeze(), db.objects(Person).where("age > 30").freeze()
    with db.write():
        ada.age = 37
        db.add(Person(name="Bob", age=40))

    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.extend([
        frozen_ada.age, list(frozen_ada.tags), len(frozen_people), frozen_people[0].name,
        len(frozen.objects(Person)), frozen.is_frozen]))
    thread.start()
    thread.join()
    assert seen == [36, ["x"], 1, "Ada", 1, True]
    assert len(frozen.freeze().objects(Person)) == 1
    assert len(db.freeze().objects(Person)) == len(db.objects(Person)) == 2
    with pytest.raises(errors.FrozenError), frozen.write():
        pass
    with pytest.raises(errors.FrozenError):
        frozen_people.observe(print)
    with pytest.raises(errors.FrozenError):
        frozen.dispatch()
    db.close()
    assert frozen_ada.age == 36
    frozen.close()


@pytest.mark.parametrize("named", [True, False])
def test_what_is_frozen_goes_when_it_is_dropped(opened: Opener, named: bool) -> None:
    """Without the collector of cycles: a version that is shown stays on disk."""
    db = opened() if named else (opened().close(), opened(schema=None))[1]
    person, dog = db.model("Person"), db.model("Dog")
    with db.write():
        ada = db.add(person(name="Ada", tags=["x"]))
        ada.dogs = [dog(name="Rex", owner=ada)]
    people = db.objects(person)
    gc.disable()
    try:
        shown = len(db.readers())
        kept = ada.freeze()
        for number in range(50):
            with db.write():
                ada.age = number + 1
            frozen = ada.freeze()
            assert frozen.dogs[0].owner == frozen and frozen.database.get(dog, "Rex").owner.age == number + 1
            assert [list(each.tags) for each in people.freeze()] == [["x"]]
            assert len(people.freeze().where("ANY dogs.name == 'Rex'")) == 1 and list(frozen.owned) == frozen.dogs
            made = db.freeze().query(person, "age > 0").first()
            assert made == frozen and made is not frozen and repr(frozen.dogs).startswith("<List: 1 Dog [Dog(name=")
            whole = weakref.ref(frozen.database)
            assert whole() is not None
            del frozen, made
            assert whole() is None
        assert len(db.readers()) == shown + 1
        # Its database is gone from everywhere else, and it has all that it needs.
        assert kept.age == 0 and kept.dogs[0].owner == kept and kept.database.count(dog) == 1
        del kept
        assert len(db.readers()) == shown
    finally:
        gc.enable()


def test_freezing_within_a_write_shows_what_was_before(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada", age=36, tags=["x"]))
    people = db.objects(Person)
    with db.write():
        ada.age = 37
        ada.tags.append("y")
        new = db.add(Person(name="Bo"))
        frozen, frozen_ada, tags = db.freeze(), ada.freeze(), ada.tags.freeze()
        assert frozen_ada.age == 36 and ada.age == 37 and list(tags) == ["x"] and len(people.freeze()) == 1
        assert db.freeze().version == frozen.version and len(frozen.objects(Person)) == 1 and len(people) == 2
        assert [section.key for section in people.sectioned(lambda person: person.age).freeze()] == [36]
        for refused in (new.freeze, new.tags.freeze):
            with pytest.raises(errors.InvalidArgumentError):
                refused()
    assert new.freeze().name == "Bo" and ada.freeze().age == 37 and frozen_ada.age == 36


def test_another_thread_is_refused(db: motte.Database) -> None:
    with db.write():
        ada = db.add(Person(name="Ada"))
    people = db.objects(Person)
    raised: list[type[BaseException]] = []

    def misuse() -> None:
        uses: list[Callable[[], Any]] = [
            lambda: ada.name, lambda: len(people), lambda: db.objects(Person), db.refresh,
            lambda: db.write().__enter__(), db.close, lambda: db.freeze()]
        for use in uses:
            try:
                use()
            except BaseException as error:
                raised.append(type(error))

    thread = threading.Thread(target=misuse)
    thread.start()
    thread.join()
    assert raised == [errors.WrongThreadError] * 7 and ada.name == "Ada"


def test_objects_may_be_dropped_on_any_thread(db: motte.Database) -> None:
    box: list[Any] = [db.objects(Person), db.objects(Person).where("age > 1"), db.query(Person, "age > 1")]

    def drop() -> None:
        box.clear()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert len(db.objects(Person)) == 0


def test_a_forked_child_has_to_open_its_own(opened: Opener) -> None:
    db = opened()
    child = os.fork()
    if child == 0:
        try:
            db.refresh()
        except errors.ForkedError:
            os._exit(7)
        except BaseException:
            os._exit(8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(db.objects(Person)) == 0


def test_counters(db: motte.Database) -> None:
    before = db.counters()
    assert set(before) == {"chunks_decoded", "rows_evaluated", "full_reruns", "log_records_read", "index_lookups"}
    with db.write():
        db.add_all([Dog(name=f"dog {number}", age=number) for number in range(2000)])
    old = db.objects(Dog).where("age > 5")
    # Nothing is computed before the first look.
    middle = db.counters()
    assert middle["rows_evaluated"] == before["rows_evaluated"]
    assert len(old) == 1994
    assert db.counters()["rows_evaluated"] > middle["rows_evaluated"]
    middle = db.counters()
    assert len(db.objects(Dog).where("age == 7")) == 1
    after = db.counters()
    assert after["index_lookups"] > middle["index_lookups"]
    assert after["rows_evaluated"] - middle["rows_evaluated"] < 100


class Storey(motte.Model):
    id: motte.Int32 = motte.field(primary_key=True)
    floor: motte.Int8 = 0
    maybe: Optional[motte.Int16] = None
    rooms: list[motte.Int8] = motte.field(default_factory=list)


def test_ints_have_declared_widths(path: pathlib.Path) -> None:
    with motte.open(path, schema=[Storey]) as db:
        with db.write():
            level = db.add(Storey(id=1, floor=-128, maybe=32767, rooms=[127]))
            with pytest.raises(OverflowError, match=r"Storey\.floor is an int8 and holds -128 to 127, not 128"):
                level.floor = 128
            with pytest.raises(OverflowError, match=r"Storey\.rooms is an int8"):
                level.rooms.append(-129)
        assert (level.floor, level.maybe, list(level.rooms)) == (-128, 32767, [127])
    # Classes made from what is stored declare the same.
    with motte.open(path) as db:
        declared = db.model("Storey")._declared()
        assert [declared[name].bits for name in ("id", "floor", "maybe", "rooms")] == [32, 8, 16, 8]
