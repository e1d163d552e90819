"""Steps of the conformance cases about whole files: ways to open, migrations, copies, compaction, salvage, statistics,
import and export. `case_runner.py` runs them."""
from __future__ import annotations

import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

import motte
from motte import _arrow
from case_text import CaseFailure, Cursor

if TYPE_CHECKING:
    from case_runner import Runner

# ------------------------------------------------------------------------------------------------ ways to open


def option(runner: Runner, cursor: Cursor, options: dict[str, Any]) -> bool:
    """One word of how to open; False if it is none."""
    for word, name, read in OPTIONS:
        if cursor.accept(word):
            options[name] = read(runner, cursor)
            return True
    if cursor.accept("rename"):
        old, new = renaming(cursor)
        options.setdefault("renames", {})[old] = new
    elif cursor.accept("drop"):
        options.setdefault("delete_classes", []).append(cursor.name())
    else:
        return False
    return True


def renaming(cursor: Cursor) -> tuple[str, str]:
    """`Class to New`, or `Class.old to new`"""
    old = cursor.name()
    if cursor.accept("."):
        old += "." + cursor.name()
    cursor.need("to")
    return old, cursor.name()


def file(runner: Runner, cursor: Cursor) -> Any:
    return runner.folder / cursor.value(runner.object)


OPTIONS: list[tuple[str, str, Any]] = [
    ("path", "path", lambda runner, cursor: cursor.value(runner.object)),
    ("readonly", "read_only", lambda runner, cursor: True),
    ("nocreate", "create", lambda runner, cursor: False),
    ("immutable", "immutable", lambda runner, cursor: True),
    ("version", "schema_version", lambda runner, cursor: cursor.integer()),
    ("reset", "delete_if_migration_needed", lambda runner, cursor: True),
    ("live", "max_live_versions", lambda runner, cursor: cursor.integer()),
    ("memory", "memory", lambda runner, cursor: cursor.integer()),
    ("largest", "max_file_size", lambda runner, cursor: cursor.integer()),
    ("patience", "timeout", lambda runner, cursor: cursor.integer() / 1000),
    ("threads", "query_threads", lambda runner, cursor: cursor.integer()),
    ("seed", "seed", file),
    ("locks", "lock_directory", file),
    ("durability", "durability", lambda runner, cursor: cursor.name()),
    ("compacting", "compact_on_launch", lambda runner, cursor: lambda total, used: total >= used),
]


def kept_steps(runner: Runner) -> dict[str, Any]:
    """The steps that were kept for this session, as options."""
    migrating, filling = runner.migrating, runner.filling
    runner.migrating, runner.filling = [], []
    options: dict[str, Any] = {}

    def migrate(migration: motte.Migration) -> None:
        runner.migration = migration
        try:
            run(migrating, lambda: migration.new)
        finally:
            runner.migration = None

    def run(steps: list[str], database: Any) -> None:
        before = runner.current
        try:
            for text in steps:
                runner.current, cursor = database(), Cursor(text)
                runner.step(cursor)
                if not cursor.at_end():
                    raise CaseFailure(f"unexpected '{cursor.rest}'")
        finally:
            runner.current = before

    if migrating:
        options["migration"] = migrate
    if filling:
        options["first_open"] = lambda database: run(filling, lambda: database)
    return options


# ------------------------------------------------------------------------------------------------ steps


def step(runner: Runner, cursor: Cursor) -> bool:
    if runner.migration is not None and step_of_migration(runner, cursor, runner.migration):
        return True
    if cursor.accept("migrating"):
        runner.migrating.append(cursor.take_rest())
    elif cursor.accept("filling"):
        runner.filling.append(cursor.take_rest())
    elif cursor.accept("erase"):
        erased = motte.delete(file(runner, cursor))
        if not cursor.at_end():
            runner.flag(cursor, erased)
    elif cursor.accept("salvage"):
        salvage(runner, cursor)
    elif cursor.accept("compact"):
        if cursor.accept("online"):
            runner.db.compact_online()
        elif cursor.at_end():
            runner.db.compact()
        else:
            motte.compact(file(runner, cursor))
    elif cursor.accept("copy"):
        path = file(runner, cursor)
        if cursor.accept("encrypt"):
            runner.db.copy_to(path, encryption_key=None if cursor.accept("none") else bytes([cursor.integer()]) * 64)
        else:
            runner.db.copy_to(path)
    elif cursor.accept("export"):
        export(runner, cursor)
    elif cursor.accept("arrow"):
        arrow(runner, cursor)
    elif cursor.accept("import-realm"):
        import_realm(runner, cursor)
    elif cursor.accept("import"):
        import_text(runner, cursor)
    elif cursor.accept("convert"):
        source = realm_file(runner, cursor)
        cursor.need("to")
        motte.convert(source, file(runner, cursor))
    elif cursor.accept("delete everything"):
        runner.db.delete_all()
    else:
        return False
    return True


def step_of_migration(runner: Runner, cursor: Cursor, migration: motte.Migration) -> bool:
    if cursor.accept("each"):
        each(runner, cursor, migration)
    elif cursor.accept("rename"):
        old, new = renaming(cursor)
        name, _, property_name = old.partition(".")
        if property_name:
            migration.rename(name, property_name, new)
        else:
            migration.rename_class(name, new)
    elif cursor.accept("drop"):
        migration.delete_class(cursor.name())
    elif cursor.accept("old"):
        runner.current = migration.old
        runner.step(cursor)
    else:
        return False
    return True


def each(runner: Runner, cursor: Cursor, migration: motte.Migration) -> None:
    """`each Class a=old.b c=1`"""
    name, text = cursor.name(), cursor.take_rest()
    for old, new in migration.enumerate(name):
        if old is None or new is None:
            raise CaseFailure("an object has no counterpart")
        assignments = Cursor(text)
        while not assignments.at_end():
            property_name = assignments.name()
            assignments.need("=")
            if assignments.accept("old"):
                assignments.need(".")
                value = getattr(old, assignments.name())
            else:
                value = assignments.value(runner.object)
            setattr(new, property_name, value)


def salvage(runner: Runner, cursor: Cursor) -> None:
    source = file(runner, cursor)
    cursor.need("to")
    target = file(runner, cursor)
    report = motte.salvage(source, target)
    if not report.is_sound:
        raise CaseFailure(f"lost: {report.problems}")
    if motte.salvaged(source)[0] != target.read_text():
        raise CaseFailure("salvage() and salvaged() differ")


def column_names(cursor: Cursor) -> list[str]:
    """`a` `b.c`"""
    names = []
    while cursor.is_next("`"):
        names.append(cursor.in_backquotes())
    return names


def export(runner: Runner, cursor: Cursor) -> None:
    path = file(runner, cursor)
    options: dict[str, Any] = {}
    is_csv = is_sqlite = False
    while True:
        if cursor.accept("lines"):
            options["lines"] = True
        elif cursor.accept("csv"):
            is_csv = True
        elif cursor.accept("sqlite"):
            is_sqlite = True
        elif cursor.accept("document"):
            options["document"] = True
        elif cursor.accept("nested"):
            options["nested_links"] = True
        elif cursor.accept("columns"):
            options["columns"] = column_names(cursor)
        elif not cursor.accept("json"):
            break
    if cursor.accept("everything"):
        what = None
        if is_sqlite:
            return runner.db.export_sqlite(path)
    else:
        runner.db
        what = runner.collection(cursor) if runner.starts_collection(cursor) else runner.object(cursor)
    write: Any = runner.db.export_csv if is_csv else runner.db.export_json
    write(path, what, **options)
    if write(None, what, **options) != path.read_text():
        raise CaseFailure("the text and the file differ")


def import_option(cursor: Cursor, options: dict[str, Any], every: str) -> bool:
    """A word about what an import does with objects that are there, or with unknown names."""
    for word, name, value in (("modified", "policy", "modified"), (every, "policy", "all"),
                              ("unknown", "ignore_unknown", True)):
        if cursor.accept(word):
            options[name] = value
            return True
    return False


def import_text(runner: Runner, cursor: Cursor) -> None:
    path = file(runner, cursor)
    options: dict[str, Any] = {}
    is_csv = is_sqlite = False
    while True:
        if cursor.accept("csv"):
            is_csv = True
        elif cursor.accept("sqlite"):
            is_sqlite = True
        elif not import_option(cursor, options, "all"):
            break
    model: Any = None if cursor.at_end() else runner.db.model(cursor.name())
    if not runner.db.in_write:
        # An import makes a write of its own here; the cases say that there has to be one.
        raise motte.errors.NotInWriteError("an import needs a write")
    if is_sqlite:
        runner.db.import_sqlite(path, **options)
        return
    read: Any = runner.db.import_csv if is_csv else runner.db.import_json
    if not path.exists() or os.path.getsize(path) % 2:
        read(model, path, **options)
    else:
        read(model, text=path.read_text(), **options)


def arrow(runner: Runner, cursor: Cursor) -> None:
    options: dict[str, Any] = {}
    columns: list[str] = []
    views = False
    while True:
        if cursor.accept("columns"):
            columns = column_names(cursor)
        elif cursor.accept("views"):
            views = True
        elif not import_option(cursor, options, "all-of-them"):
            break
    collection = runner.collection(cursor)
    cursor.need("to")
    model: Any = runner.db.model(cursor.name())
    if not runner.db.in_write:
        raise motte.errors.NotInWriteError("an import needs a write")
    stream = _arrow.Stream(collection._coll, _arrow.Options(columns or None, batch_rows=2, views=views), runner.db)
    runner.db.import_data(model, stream, **options)


def realm_file(runner: Runner, cursor: Cursor) -> pathlib.Path:
    """One of the kept files of Realm, by its name."""
    name = cursor.value(runner.object)
    return pathlib.Path(__file__).resolve().parents[3] / "Tests" / "RealmFiles" / f"{name}.realm"


def import_realm(runner: Runner, cursor: Cursor) -> None:
    path = realm_file(runner, cursor)
    policy = "modified" if cursor.accept("modified") else "all" if cursor.accept("all") else "error"
    if not runner.db.in_write:
        raise motte.errors.NotInWriteError("an import needs a write")
    runner.db.import_realm_file(path, policy=policy)


# ------------------------------------------------------------------------------------------------ expectations


def expect(runner: Runner, cursor: Cursor) -> bool:
    if cursor.accept("sound"):
        expect_sound(runner, cursor)
    elif cursor.accept("kept-for"):
        name = None if cursor.accept("nobody") else cursor.in_backquotes()
        found = [each for each in runner.db.change_consumers() if each.name == name]
        if cursor.accept("none"):
            if found:
                raise CaseFailure(f"changes are kept for {name}")
        else:
            runner.equal(cursor, found[0].commits if found else -1)
    elif cursor.accept("file"):
        runner.flag(cursor, motte.exists(file(runner, cursor)))
    elif cursor.accept("text"):
        runner.equal(cursor, file(runner, cursor).read_text())
    elif cursor.accept("plan"):
        expect_plan(runner, cursor)
    elif cursor.accept("version-of"):
        runner.equal(cursor, motte.schema_version(file(runner, cursor)))
    elif cursor.accept("schema-version"):
        runner.equal(cursor, runner.db.schema_version)
    elif cursor.accept("schema-of"):
        expect_schema_of(runner, cursor)
    elif cursor.accept("notes-of"):
        runner.equal(cursor, len(motte.sqlite_notes(file(runner, cursor))))
    else:
        return False
    return True


def expect_sound(runner: Runner, cursor: Cursor) -> None:
    report, space = runner.db.verify(), runner.db.space()
    if sum(each.objects for each in space.classes.values()) != report.objects:
        raise CaseFailure("the statistics count other objects than the verification")
    runner.db.readers()
    runner.flag(cursor, report.is_sound)


def expect_plan(runner: Runner, cursor: Cursor) -> None:
    options: dict[str, Any] = {}
    while option(runner, cursor, options):
        pass
    cursor.need("schema")
    path = runner.folder / options.pop("path", "main.motte")
    runner.equal(cursor, str(motte.plan(path, cursor.in_backquotes(), **options)))


def expect_schema_of(runner: Runner, cursor: Cursor) -> None:
    path = file(runner, cursor)
    if cursor.accept("sqlite"):
        actual = motte.sqlite_schema(path)
    elif cursor.accept("csv"):
        name = cursor.name()
        actual = motte.csv_schema(name, path, key=cursor.name() if cursor.accept("key") else None)
    else:
        actual = motte.dump_schema(path)
    expected, actual = (re.sub(r"[\s,]+", " ", text).strip() for text in (cursor.in_backquotes(), actual))
    if expected != actual:
        raise CaseFailure(f"the schema is {actual}")
