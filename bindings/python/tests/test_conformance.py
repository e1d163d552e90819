"""The conformance cases in Python, over ordinary and over tiny clusters; the format is in docs/testing.md.

Cases that this runner cannot do are in conformance-skips.txt.
"""
from __future__ import annotations

import gc
import math
import operator
import pathlib
import re
import struct
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from decimal import Decimal
from typing import Any, Optional

import pytest

import case_files
import motte
from case_text import CaseFailure, Cursor, Single
from motte import errors

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parents[2] / "Tests" / "Conformance"


def skipped() -> dict[str, str]:
    lines = (HERE / "conformance-skips.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def files() -> list[Any]:
    reasons = skipped()
    found = sorted(CASES.rglob("*.steps"))
    return [pytest.param(path, id=path.stem, marks=[pytest.mark.skip(reason=reasons[path.stem])]
                         if path.stem in reasons else []) for path in found]


@pytest.mark.parametrize("rows", [None, 3], ids=["ordinary", "tiny-clusters"])
@pytest.mark.parametrize("path", files())
def test_case(path: pathlib.Path, rows: Optional[int], tmp_path: pathlib.Path) -> None:
    runner = Runner(tmp_path, rows)
    try:
        runner.run(path.read_text(encoding="utf-8"))
    finally:
        runner.close_all()


def test_there_are_cases() -> None:
    assert len(files()) >= 50


# ------------------------------------------------------------------------------------------------ values


def plain(value: Any) -> Any:
    """A literal as Python has it: floats of 32 bits are floats."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return float(value) if isinstance(value, Single) else value


def same(expected: Any, actual: Any) -> bool:
    """Equal in type and value; NaN equal to NaN."""
    if isinstance(expected, list):
        if isinstance(actual, (str, bytes)) or not isinstance(actual, Sequence):
            return False
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, dict):
        return isinstance(actual, Mapping) and list(expected) == list(actual) and all(
            same(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, Decimal) and expected.is_nan():
        return isinstance(actual, Decimal) and actual.is_nan()
    if isinstance(expected, Single):
        return type(actual) is float and (struct.pack("f", expected) == struct.pack("f", actual) or expected == actual)
    if isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected):
        return math.isnan(actual)
    if isinstance(expected, motte.Model):
        return bool(expected == actual)
    return type(expected) is type(actual) and bool(expected == actual)


def contents(value: Any) -> Any:
    """A collection as Python has one, without live parts."""
    return value.to_plain() if hasattr(value, "to_plain") else list(value) if isinstance(
        value, motte.Collection) else value


def value_text(value: Any) -> str:
    """As change sets are written in cases."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return f'dec"{value}"'
    if isinstance(value, (motte.ObjectId, uuid.UUID)):
        return f'{"uuid" if isinstance(value, uuid.UUID) else "oid"}"{value}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


# ------------------------------------------------------------------------------------------------ the runner


class Heard:
    """What an observation has delivered and the case has not asked for yet."""

    def __init__(self) -> None:
        self.changes: list[Any] = []
        self.observation: Any = None


class Runner:
    def __init__(self, folder: pathlib.Path, rows: Optional[int]) -> None:
        self.folder, self.rows = folder, rows
        self.schema, self.in_memory = "", False
        self.databases: dict[str, motte.Database] = {}
        self.writes: dict[int, Any] = {}
        self.objects: dict[str, Any] = {}
        self.collections: dict[str, Any] = {}
        self.queries: dict[str, Any] = {}
        self.tokens: dict[str, Heard] = {}
        self.sections: dict[str, Any] = {}
        self.references: dict[str, motte.Reference[Any]] = {}
        self.queued: dict[str, Future[None]] = {}
        self.mark: dict[str, int] = {}
        self.current: Optional[motte.Database] = None
        self.encryption_key: Optional[bytes] = None
        #: Steps for the migration, or the filling, of the next session.
        self.migrating: list[str] = []
        self.filling: list[str] = []
        self.migration: Optional[motte.Migration] = None

    def run(self, text: str) -> None:
        # A line that ends in a backslash goes on with the next one, whose leading blanks do not count.
        for number, line in enumerate(re.sub(r"\\\n *", "", text).splitlines(), 1):
            try:
                self._line(line)
            except Exception as problem:
                raise CaseFailure(f"line {number}: {line}\n    {type(problem).__name__}: {problem}") from problem

    def _line(self, line: str) -> None:
        cursor = Cursor(line)
        if cursor.at_end() or cursor.accept("case") or cursor.accept("about"):
            return
        if cursor.accept("schema"):
            self.schema += cursor.take_rest() + "\n"
        elif cursor.accept("store"):
            cursor.need("memory")
            self.in_memory = True
        else:
            self.step(cursor)
            if not cursor.at_end():
                raise CaseFailure(f"unexpected '{cursor.rest}'")

    # -------------------------------------------------------------------------------------------- databases

    @property
    def db(self) -> motte.Database:
        if self.current is None:
            self.open("main", schema=self.schema or None)
        assert self.current is not None
        return self.current

    def open(self, name: str, path: str = "main.motte", schema: Optional[str] = None, **options: Any) -> None:
        where: dict[str, Any] = {"in_memory": str(self.folder)} if self.in_memory else {"path": self.folder / path}
        self.current = motte.open(
            **where, schema=schema, rows_per_cluster=self.rows, encryption_key=self.encryption_key,
            **case_files.kept_steps(self), **options)
        self.databases[name] = self.current

    def _close_each(self) -> None:
        for heard in self.tokens.values():
            heard.observation = None
        for database in self.databases.values():
            try:
                database.close()
            except errors.Error:
                pass

    def close_all(self) -> None:
        self._close_each()
        self.databases, self.tokens, self.objects, self.collections, self.queries = {}, {}, {}, {}, {}
        self.writes = {}
        self.current = None
        # A file is unmapped when the last handle of it has gone.
        gc.collect()

    # -------------------------------------------------------------------------------------------- words

    def find(self, cursor: Cursor) -> Any:
        """`Class/key` or `@name`; None when there is no such object."""
        if cursor.accept("@"):
            return self.objects[cursor.name()]
        model = self.db.model(cursor.name())
        cursor.need("/")
        return self.db.get(model, cursor.key(self.object))

    def object(self, cursor: Cursor) -> Any:
        start = cursor.rest
        found = self.find(cursor)
        if found is None:
            raise CaseFailure(f"there is no such object: {start}")
        return found

    @staticmethod
    def starts_collection(cursor: Cursor) -> bool:
        return cursor.is_next("$", "all", "backlinks", "run", "section")

    def collection(self, cursor: Cursor) -> Any:
        found = self._base(cursor)
        while True:
            if cursor.accept("where"):
                text = cursor.in_backquotes()
                found = found.where(text, *map(plain, cursor.arguments(self.object)))
            elif cursor.accept("sorted"):
                found = found.sorted(*self._sort_keys(cursor))
            elif cursor.accept("distinct"):
                found = found.distinct(*(self._sort_keys(cursor) if cursor.accept("by") else ()))
            elif cursor.accept("limited"):
                found = found.limit(cursor.integer())
            elif cursor.accept("snapshot"):
                found = found.snapshot()
            elif cursor.accept("results"):
                found = found.results()
            elif cursor.accept("frozen"):
                found = found.freeze()
            elif cursor.accept("at"):
                found = self._nested(found, cursor.key(self.object))
            else:
                return found

    def _base(self, cursor: Cursor) -> Any:
        if cursor.accept("all"):
            return self.db.objects(cursor.name())
        if cursor.accept("run"):
            return self.queries[cursor.name()].run()
        if cursor.accept("section"):
            return self.sections[cursor.name()][cursor.integer()]
        if cursor.accept("$"):
            return self.collections[cursor.name()]
        if cursor.accept("backlinks"):
            target = self.object(cursor)
            cursor.need("via")
            origin = cursor.name()
            cursor.need(".")
            return self._backlinks(target, origin, cursor.name())
        owner = self.object(cursor)
        cursor.need(".")
        found = getattr(owner, cursor.name())
        if not isinstance(found, (motte.Collection, motte.Map)):
            raise errors.WrongTypeError("the property holds no collection")
        return found

    @staticmethod
    def _nested(collection: Any, place: Any) -> Any:
        found = collection[place]
        if not isinstance(found, (motte.Collection, motte.Map)):
            raise errors.WrongTypeError("there is no list or map there")
        return found

    def _backlinks(self, target: Any, origin: str, property_name: str) -> Any:
        return self.db.backlinks(target, getattr(self.db.model(origin), property_name))

    @staticmethod
    def _sort_keys(cursor: Cursor) -> list[str]:
        keys = []
        while True:
            path = cursor.name()
            while cursor.accept("."):
                path += "." + cursor.name()
            keys.append("-" + path if cursor.accept("desc") else path)
            if not cursor.accept(","):
                return keys

    # -------------------------------------------------------------------------------------------- steps

    def step(self, cursor: Cursor) -> None:
        for word, action in self.FIRST:
            if cursor.accept(word):
                return action(self, cursor)
        if case_files.step(self, cursor):
            return None
        self.db
        for word, action in self.STEPS:
            if cursor.accept(word):
                return action(self, cursor)
        raise CaseFailure(f"unknown step '{cursor.rest}'")

    def _session(self, cursor: Cursor) -> None:
        name = cursor.name()
        options: dict[str, Any] = {}
        while not cursor.at_end():
            if cursor.accept("schema"):
                options["schema"] = cursor.in_backquotes()
            elif not case_files.option(self, cursor, options):
                raise CaseFailure(f"unknown word at '{cursor.rest}'")
        if not self.databases and name != "main" and not options.keys() & {"path", "schema"}:
            self.open("main", schema=self.schema or None)
        self.open(name, **options)

    def _file(self, cursor: Cursor) -> None:
        name = cursor.value(self.object)
        (self.folder / name).write_text(cursor.value(self.object))

    def _truncate(self, cursor: Cursor) -> None:
        with open(self.folder / cursor.value(self.object), "r+b") as file:
            file.truncate(cursor.integer())

    def _folder(self, cursor: Cursor) -> None:
        (self.folder / cursor.value(self.object)).mkdir()

    def _fails(self, cursor: Cursor) -> None:
        expected = cursor.name()
        offset = cursor.integer() if cursor.accept("at") else None
        try:
            self.step(cursor)
        except errors.Error as error:
            if error.code is None or error.code.name != expected:
                raise CaseFailure(f"failed with {error.code!r}: {error}") from error
            if not error.message:
                raise CaseFailure("the error has no message") from error
            if offset is not None and error.query_offset != offset:
                raise CaseFailure(f"the error is at offset {error.query_offset}: {error}") from error
        except AttributeError as error:
            # What Python says about unknown attributes.
            if expected != "UNKNOWN_PROPERTY":
                raise CaseFailure(f"failed with {error!r}") from error
        else:
            raise CaseFailure(f"did not fail, expected {expected}")
        cursor.take_rest()

    def _encrypt(self, cursor: Cursor) -> None:
        self.encryption_key = None if cursor.accept("none") else bytes([cursor.integer()]) * 64

    def _shut(self, _: Cursor) -> None:
        self.close_all()

    def _reopen(self, _: Cursor) -> None:
        self.close_all()
        self.open("main", schema=self.schema or None)

    def _elsewhere(self, cursor: Cursor) -> None:
        raised: list[BaseException] = []

        def errand() -> None:
            try:
                self.step(cursor)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=errand)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    def _write(self, cursor: Cursor) -> None:
        timeout = cursor.integer() / 1000 if cursor.accept("timeout") else 10
        write = self.db.write(timeout)
        write.__enter__()
        self.writes[id(self.db)] = write

    def _end_write(self) -> Any:
        write = self.writes.get(id(self.db))
        if write is None or not write.is_open:
            # There is no call for this: a block ends once.
            self.db._realm.cancel()
        return write

    def _commit(self, cursor: Cursor) -> None:
        write = self._end_write()
        if cursor.accept("skipping"):
            while not cursor.at_end():
                write._skipping.append(self.tokens[cursor.name()].observation._token)
        write.__exit__(None, None, None)

    def _cancel(self, _: Cursor) -> None:
        self._end_write().cancel()

    def _refresh(self, cursor: Cursor) -> None:
        moved = self.db.refresh()
        if not cursor.at_end():
            self.flag(cursor, moved)

    def _wait(self, _: Cursor) -> None:
        if not self.db.wait_for_change(2):
            raise CaseFailure("nothing came")

    def _dispatch(self, _: Cursor) -> None:
        if not self.db.dispatch(timeout=2):
            raise CaseFailure("there was nothing to dispatch")

    def _close(self, _: Cursor) -> None:
        self.db.close()

    def _use(self, cursor: Cursor) -> None:
        self.current = self.databases[cursor.name()]

    def _freeze(self, cursor: Cursor) -> None:
        self.databases[cursor.name()] = self.db.freeze()

    def _assignments(self, cursor: Cursor) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not cursor.at_end():
            name = cursor.name()
            cursor.need("=")
            values[name] = plain(cursor.literal(self.object))
        return values

    def _create(self, cursor: Cursor, policy: Optional[str] = None) -> None:
        name = cursor.name() if cursor.accept("@") else None
        model = self.db.model(cursor.name())
        values: dict[str, Any] = {}
        if cursor.accept("/"):
            key = next((key for key, each in model._declared().items() if each.field.primary_key), None)
            if key is None:
                raise errors.NoPrimaryKeyError(f"{model.__name__} has no primary key")
            values[key] = cursor.key(self.object)
        values.update(self._assignments(cursor))
        if policy is not None:
            made = self.db.create_or_update(model, policy=policy, **values)
        elif self._says_everything(model, values):
            made = self.db.add(model(**values))
        elif values:
            made = self.db.at(model, self.db.insert_rows(model, list(values), [list(values.values())])[0])
        else:
            made = self._create_empty(model)
        if name:
            self.objects[name] = made

    @staticmethod
    def _says_everything(model: Any, values: dict[str, Any]) -> bool:
        needed = {name for name, each in model._declared().items() if each.is_plain and not each.nullable}
        return needed <= values.keys() <= model._declared().keys()

    def _create_empty(self, model: Any) -> Any:
        """Without any value: with the defaults of the types."""
        zeros = {bool: False, int: 0, float: 0.0, str: "", bytes: b"", Decimal: Decimal(0),
                 motte.ObjectId: motte.ObjectId(bytes(12)), uuid.UUID: uuid.UUID(int=0)}
        zero = {name: zeros.get(each, None) for name, each in model.__annotations__.items()}
        return self.db.add(model(**{name: value for name, value in zero.items() if value is not None}))

    def _upsert(self, cursor: Cursor) -> None:
        self._create(cursor, "modified" if cursor.accept("modified") else "all")

    def _merge(self, cursor: Cursor) -> None:
        self._insert(cursor, "modified" if cursor.accept("modified") else "all")

    def _insert(self, cursor: Cursor, policy: str = "error") -> None:
        model = self.db.model(cursor.name())
        names: list[str] = []
        cursor.need("(")
        while not cursor.accept(")"):
            if names:
                cursor.need(",")
            names.append(cursor.name())
        rows = [[plain(value) for value in row] for row in cursor.literal(self.object)]
        self.db.insert_rows(model, names, rows, policy=policy)

    def _set(self, cursor: Cursor) -> None:
        target = self.object(cursor)
        for name, value in self._assignments(cursor).items():
            setattr(target, name, value)

    def _delete(self, cursor: Cursor) -> None:
        self.db.delete(self.collection(cursor) if self.starts_collection(cursor) else self.object(cursor))

    def _append(self, cursor: Cursor) -> None:
        target, value = self.collection(cursor), cursor.literal(self.object)
        if isinstance(value, list):
            target.extend(map(plain, value))
        else:
            target.append(plain(value))

    def _insert_at(self, cursor: Cursor) -> None:
        target, index = self.collection(cursor), cursor.integer()
        if index > len(target):
            # list.insert() of Python takes any index, so this asks the way that checks.
            target.move(index, 0)
        target.insert(index, plain(cursor.value(self.object)))

    def _replace(self, cursor: Cursor) -> None:
        target, index = self.collection(cursor), cursor.integer()
        target[index] = plain(cursor.value(self.object))

    def _remove(self, cursor: Cursor) -> None:
        target = self.collection(cursor)
        del target[cursor.integer()]

    def _move(self, cursor: Cursor) -> None:
        target = self.collection(cursor)
        target.move(cursor.integer(), cursor.integer())

    def _swap(self, cursor: Cursor) -> None:
        target = self.collection(cursor)
        target.swap(cursor.integer(), cursor.integer())

    def _splice(self, cursor: Cursor) -> None:
        target, index, removed = self.collection(cursor), cursor.integer(), cursor.integer()
        if index + removed > len(target):
            # Slices of Python are cut to the list, so this asks the way that checks.
            target[index + removed - 1]
        target[index:index + removed] = list(map(plain, cursor.literal(self.object)))

    # -------------------------------------------------------------------------------------------- sets, maps, embedded

    def _outcome(self, cursor: Cursor, changed: bool) -> None:
        if not cursor.at_end():
            self.flag(cursor, changed)

    def _add(self, cursor: Cursor) -> None:
        target, value = self.collection(cursor), plain(cursor.literal(self.object))
        if isinstance(value, list):
            added = target.update(value)
            if not cursor.at_end() and cursor.integer() != added:
                raise CaseFailure(f"{added} were new")
        else:
            before = len(target)
            target.add(value)
            self._outcome(cursor, len(target) > before)

    def _discard(self, cursor: Cursor) -> None:
        target, value = self.collection(cursor), plain(cursor.value(self.object))
        try:
            target.remove(value)
            self._outcome(cursor, True)
        except KeyError:
            target.discard(value)
            self._outcome(cursor, False)

    def _combine(self, cursor: Cursor, operator: Any) -> None:
        target = self.collection(cursor)
        cursor.need("with")
        operator(target, self.collection(cursor))

    def _assign(self, cursor: Cursor) -> None:
        target = self.collection(cursor)
        target.assign(plain(cursor.literal(self.object)))

    def _put(self, cursor: Cursor) -> None:
        target, key = self.collection(cursor), plain(cursor.value(self.object))
        if isinstance(key, dict):
            target.update(key)
            return
        is_new = key not in target
        target[key] = plain(cursor.value(self.object))
        self._outcome(cursor, is_new)

    def _drop(self, cursor: Cursor) -> None:
        target, key = self.collection(cursor), cursor.value(self.object)
        try:
            del target[key]
            self._outcome(cursor, True)
        except KeyError:
            self._outcome(cursor, False)

    def _embed(self, cursor: Cursor) -> None:
        name, start = None, cursor.at
        if cursor.accept("@"):
            name = cursor.name()
            if cursor.accept("."):
                name, cursor.at = None, start
        owner = self.object(cursor)
        cursor.need(".")
        property_name = cursor.name()
        declared = type(owner)._declared()[property_name]
        place = next((word for word in ("insert", "replace", "key") if cursor.accept(word)), None)
        at = cursor.value(self.object) if place == "key" else cursor.integer() if place else None
        made = self.db.model(declared.target or "")(**self._assignments(cursor))
        if place is None:
            setattr(owner, property_name, made)
        elif place == "insert":
            getattr(owner, property_name).insert(at, made)
        else:
            getattr(owner, property_name)[at] = made
        if name:
            self.objects[name] = made

    def _relation(self, cursor: Cursor, method: str, expected: bool = True) -> None:
        target = self.collection(cursor)
        cursor.need("of")
        self.flag(cursor, getattr(target, method)(self.collection(cursor)) == expected)

    def _key(self, cursor: Cursor) -> None:
        key = cursor.value(self.object)
        cursor.need("in")
        self.flag(cursor, key in self.collection(cursor))

    def _parent(self, cursor: Cursor) -> None:
        target = self.object(cursor)
        self.equal(cursor, target.parent if isinstance(target, motte.EmbeddedModel) else None)

    def _clear(self, cursor: Cursor) -> None:
        self.collection(cursor).clear()

    def _let(self, cursor: Cursor) -> None:
        if cursor.accept("$"):
            name = cursor.name()
            cursor.need("=")
            self.collections[name] = self.collection(cursor)
            return
        cursor.need("@")
        name = cursor.name()
        cursor.need("=")
        if cursor.accept("first"):
            found = self.collection(cursor).first()
        elif cursor.accept("nth"):
            index = cursor.integer()
            found = self.collection(cursor)[index]
        elif cursor.accept("target"):
            owner = self.object(cursor)
            cursor.need(".")
            found = getattr(owner, cursor.name())
        else:
            found = self.object(cursor)
        self.objects[name] = found.freeze() if cursor.accept("frozen") else found

    def _prepare(self, cursor: Cursor) -> None:
        name = cursor.name()
        cursor.need("=")
        model = self.db.model(cursor.name())
        cursor.need("where")
        text = cursor.in_backquotes()
        self.queries[name] = self.db.query(model, text, *map(plain, cursor.arguments(self.object)))

    def _bind(self, cursor: Cursor) -> None:
        query, position = self.queries[cursor.name()], cursor.integer()
        query._native.bind(position, self.db._encoded([plain(cursor.value(self.object))]))

    def _mark(self, _: Cursor) -> None:
        self.mark = self.db.counters()

    # -------------------------------------------------------------------------------------------- observing

    def _observe(self, cursor: Cursor) -> None:
        name, heard = cursor.name(), Heard()
        paths: Any = None
        if cursor.accept("paths"):
            paths = []
            if not cursor.accept("none"):
                while not cursor.is_next("="):
                    paths.append(cursor.in_backquotes())
        cursor.need("=")
        more: dict[str, Any] = {} if paths is None else {"paths": paths}
        source: Any
        if cursor.accept("sections"):
            source = self.sections[cursor.name()]
        elif cursor.accept("section-with"):
            source = self.sections[cursor.name()]
            more["key"] = plain(cursor.value(self.object))
        elif cursor.accept("realm"):
            source = self.db
        else:
            source = self.object_or_collection(cursor)
        heard.observation = source.observe(heard.changes.append, **more)
        self.tokens[name] = heard

    def _sections(self, cursor: Cursor) -> None:
        name = cursor.name()
        cursor.need("=")
        collection = self.collection(cursor)
        cursor.need("by")
        path = cursor.in_backquotes()
        self.sections[name] = collection.sectioned(path, first_letter=cursor.accept("letters"))

    def _section_keys(self, cursor: Cursor) -> None:
        self.equal(cursor, self.sections[cursor.name()].keys)

    def _section_of(self, cursor: Cursor) -> None:
        key = plain(cursor.value(self.object))
        cursor.need("in")
        sections = self.sections[cursor.name()]
        section = sections.find(key)
        self.equal(cursor, -1 if section is None else sections.keys.index(section.key))

    def _place(self, cursor: Cursor) -> None:
        sections = self.sections[cursor.name()]
        section, index = sections.place(cursor.integer())
        self.equal(cursor, section)
        if cursor.integer() != index:
            raise CaseFailure(f"is element {index}")

    def _stop(self, cursor: Cursor) -> None:
        self.tokens[cursor.name()].observation.stop()

    def _changes(self, cursor: Cursor) -> None:
        heard = self.tokens[cursor.name()]
        expected = " ".join(cursor.take_rest().split())
        actual = changes_text(heard.changes.pop(0)) if heard.changes else "none"
        # A callback cannot be told that there is no more: it is not called.
        if actual != ("none" if expected == "end" else expected):
            raise CaseFailure(f"changes are {actual}")

    # -------------------------------------------------------------------------------------------- expectations

    def _expect(self, cursor: Cursor) -> None:
        if case_files.expect(self, cursor):
            return None
        for word, action in self.EXPECTATIONS:
            if cursor.accept(word):
                return action(self, cursor)
        if self.starts_collection(cursor):
            return self.equal(cursor, contents(self.collection(cursor)))
        start = cursor.at
        target = self.object(cursor)
        cursor.need(".")
        value = getattr(target, cursor.name())
        if cursor.is_next("at") or isinstance(value, (motte.Collection, motte.Map)):
            cursor.at = start
            value = self.collection(cursor)
        self.equal(cursor, contents(value))

    @staticmethod
    def flag(cursor: Cursor, actual: bool) -> None:
        expected = cursor.accept("yes")
        if not expected:
            cursor.need("no")
        if expected != actual:
            raise CaseFailure(f"is {'yes' if actual else 'no'}")

    def equal(self, cursor: Cursor, actual: Any) -> None:
        cursor.need("==")
        expected = cursor.literal(self.object)
        if not same(expected, actual):
            raise CaseFailure(f"is {actual!r}")

    def _count(self, cursor: Cursor) -> None:
        target = self.collection(cursor)
        self.equal(cursor, len(target))

    def _classes(self, cursor: Cursor) -> None:
        self.equal(cursor, len(self.db._realm.classes()))

    def _objects(self, cursor: Cursor) -> None:
        count = self.db.count(self.db.model(cursor.name()))
        self.equal(cursor, count)

    def _values(self, cursor: Cursor) -> None:
        name = cursor.name()
        cursor.need("of")
        target = self.collection(cursor)
        one_by_one = [getattr(each, name) for each in target]
        bulk = target.column(name)
        if not same(one_by_one, bulk):
            raise CaseFailure(f"attributes give {one_by_one}, column() gives {bulk}")
        self.equal(cursor, one_by_one)

    def _index(self, cursor: Cursor) -> None:
        cursor.need("of")
        value = plain(cursor.value(self.object))
        cursor.need("in")
        target = self.collection(cursor)
        try:
            found = target.index(value)
        except ValueError:
            found = -1
        self.equal(cursor, found)

    def _total(self, cursor: Cursor, method: str) -> None:
        name = cursor.name()
        cursor.need("of")
        target = self.collection(cursor)
        self.equal(cursor, getattr(target, method)(None if name == "self" else name))

    def _presence(self, cursor: Cursor, expected: bool) -> None:
        found = self.find(cursor)
        if (found is not None and found.is_valid) != expected:
            raise CaseFailure("it is missing" if expected else "it exists")

    def _same(self, cursor: Cursor) -> None:
        left, right = self.object(cursor), self.object(cursor)
        self.flag(cursor, left == right)

    def _query(self, cursor: Cursor) -> None:
        query = self.queries[cursor.name()]
        if cursor.accept("count"):
            self.equal(cursor, query.count())
        elif cursor.accept("arguments"):
            self.equal(cursor, query.argument_count)
        elif cursor.accept("first"):
            self.equal(cursor, query.first())
        elif cursor.accept("explains"):
            plan = query.explain()
            if cursor.in_backquotes() not in plan:
                raise CaseFailure(f"is `{plan}`")
        else:
            cursor.need("describes")
            if str(query) != cursor.in_backquotes():
                raise CaseFailure(f"is `{query}`")

    def _counter(self, cursor: Cursor) -> None:
        name = cursor.name()
        moved = self.db.counters()[name] - self.mark[name]
        if cursor.accept("moved"):
            if moved == 0:
                raise CaseFailure(f"{name} did not move")
        else:
            self.equal(cursor, moved)

    def object_or_collection(self, cursor: Cursor) -> Any:
        if self.starts_collection(cursor):
            return self.collection(cursor)
        at = cursor.at
        found = self.object(cursor)
        if cursor.at_end():
            return found
        cursor.at = at
        return self.collection(cursor)

    def _refer(self, cursor: Cursor) -> None:
        name = cursor.name()
        cursor.need("=")
        self.references[name] = motte.Reference(self.object_or_collection(cursor))

    def _resolve(self, cursor: Cursor) -> None:
        found = self.db.resolve(self.references[cursor.name()])
        if cursor.accept("gone"):
            if found is not None:
                raise CaseFailure("the reference is still there")
            return
        if found is None:
            raise CaseFailure("the reference leads to nothing")
        cursor.need("to")
        if cursor.accept("$"):
            self.collections[cursor.name()] = found
        else:
            cursor.need("@")
            self.objects[cursor.name()] = found

    def _queue(self, cursor: Cursor) -> None:
        name, text = cursor.name(), cursor.take_rest()

        def run(db: motte.Database) -> None:
            before, self.current = self.current, db
            try:
                self.step(Cursor(text))
            finally:
                self.current = before
        self.queued[name] = self.db.queue_write(run)

    def _unqueue(self, cursor: Cursor) -> None:
        self.flag(cursor, self.queued[cursor.name()].cancel())

    def _queued(self, cursor: Cursor) -> None:
        future, wanted = self.queued[cursor.name()], cursor.name()
        if future.cancelled() or not future.done():
            state = "cancelled" if future.cancelled() else "waiting"
        else:
            error = future.exception()
            if error is not None and not isinstance(error, errors.Error):
                raise error
            state = "ok" if error is None else error.code.name if error.code is not None else repr(error)
        if state != wanted:
            raise CaseFailure(f"the queued write is {state}")

    def _schema(self, cursor: Cursor) -> None:
        expected, actual = (re.sub(r"[\s,]+", " ", text).strip() for text in (cursor.in_backquotes(), self.db.schema))
        if expected != actual:
            raise CaseFailure(f"the schema is {actual}")

    def _in_write(self, cursor: Cursor) -> None:
        self.flag(cursor, self.db.in_write)

    FIRST = [("session", _session), ("file", _file), ("truncate", _truncate), ("folder", _folder),
             ("fails", _fails), ("encrypt", _encrypt), ("shut", _shut), ("reopen", _reopen)]
    STEPS = [
        ("elsewhere", _elsewhere), ("write", _write), ("commit", _commit), ("cancel", _cancel), ("refresh", _refresh),
        ("wait", _wait), ("dispatch", _dispatch), ("close", _close), ("use", _use), ("freeze", _freeze),
        ("refer", _refer), ("resolve", _resolve), ("queue", _queue), ("unqueue", _unqueue),
        ("create", _create), ("upsert", _upsert), ("insert-at", _insert_at), ("insert", _insert), ("merge", _merge),
        ("set", _set),
        ("delete", _delete), ("append", _append), ("replace", _replace), ("remove", _remove), ("move", _move),
        ("swap", _swap), ("splice", _splice), ("clear", _clear), ("add", _add), ("discard", _discard),
        ("unite", lambda self, cursor: self._combine(cursor, operator.ior)),
        ("intersect", lambda self, cursor: self._combine(cursor, operator.iand)),
        ("subtract", lambda self, cursor: self._combine(cursor, operator.isub)),
        ("differ", lambda self, cursor: self._combine(cursor, operator.ixor)),
        ("assign", _assign), ("put", _put), ("drop", _drop), ("embed", _embed), ("let", _let), ("prepare", _prepare),
        ("bind", _bind), ("mark", _mark), ("observe", _observe), ("sections", _sections),
        ("stop", _stop), ("expect", _expect),
    ]
    EXPECTATIONS = [
        ("count", _count), ("classes", _classes), ("objects", _objects), ("values", _values), ("index", _index),
        ("min", lambda self, cursor: self._total(cursor, "min")),
        ("max", lambda self, cursor: self._total(cursor, "max")),
        ("sum", lambda self, cursor: self._total(cursor, "sum")),
        ("avg", lambda self, cursor: self._total(cursor, "average")),
        ("nonnull", lambda self, cursor: self._total(cursor, "count_present")),
        ("missing", lambda self, cursor: self._presence(cursor, False)),
        ("exists", lambda self, cursor: self._presence(cursor, True)),
        ("subset", lambda self, cursor: self._relation(cursor, "issubset")),
        ("superset", lambda self, cursor: self._relation(cursor, "issuperset")),
        ("intersects", lambda self, cursor: self._relation(cursor, "isdisjoint", False)),
        ("key", _key), ("parent", _parent), ("section-keys", _section_keys), ("section-of", _section_of),
        ("place", _place),
        ("changes", _changes), ("query", _query), ("queued", _queued), ("counter", _counter), ("schema", _schema),
        ("in-write", _in_write), ("same", _same),
    ]


def changes_text(change: Any) -> str:
    """The canonical text of a change set."""
    words = ["{"]
    if isinstance(change, motte.DatabaseChange):
        return "{ advanced }"
    if getattr(change, "is_initial", False):
        words.append("initial")
    if change.is_deleted:
        words.append("deleted")
    if isinstance(change, motte.SectionChanges):
        for label, items in (("sections-deleted", change.deleted_sections),
                             ("sections-inserted", change.inserted_sections)):
            words += [label, *map(str, items)] if items else []
        for label, places in (("deletions", change.deletions), ("insertions", change.insertions),
                              ("modifications", change.modifications)):
            words += [label, *(f"{section}.{index}" for section, index in places)] if places else []
        return " ".join(words + ["}"])
    if isinstance(change, motte.ObjectChange):
        if change.properties:
            words.append("properties")
        for each in change.properties:
            words.append(each.name)
            # Inverse properties have no values.
            if each.old is None and each.new is None:
                continue
            if not isinstance(each.old, motte.Model) and not isinstance(each.new, motte.Model):
                words.append(f"{value_text(each.old)}>{value_text(each.new)}")
        return " ".join(words + ["}"])
    keys = [("deletions", change.deleted_keys), ("insertions", change.inserted_keys),
            ("modifications", change.modified_keys)]
    if any(names for _, names in keys):
        return " ".join(words + [" ".join([label, *(f'"{name}"' for name in names)]) for label, names in keys if names]
                        + ["}"])
    for name, positions in (("deletions", change.deletions), ("insertions", change.insertions)):
        if positions:
            words += [name, *map(str, positions)]
    if change.modifications:
        words.append("modifications")
        words += [f"{old}:{new}" for old, new in zip(change.modifications_old, change.modifications)]
    return " ".join(words + ["}"])
