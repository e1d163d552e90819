"""Runs a conformance case: sessions, steps, and which word is which step."""
from __future__ import annotations

import gc
import operator
import re
import threading
from typing import Any, Optional, Union

import case_files
import motte
from case_expectations import Expectations
from case_objects import ObjectSteps
from case_observing import ObservingSteps
from case_text import CaseFailure, Cursor
from motte import errors


class Runner(ObjectSteps, ObservingSteps, Expectations):
    """One conformance case: its sessions, and the loop over its lines."""

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
            **where, schema=schema, row_group_size=self.rows, encryption_key=self.encryption_key,
            **case_files.kept_steps(self), **options)
        self.databases[name] = self.current

    def _close_each(self) -> None:
        for received in self.tokens.values():
            received.observation = None
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

    def _unlink(self, cursor: Cursor) -> None:
        (self.folder / cursor.value(self.object)).unlink()

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
        timeout: Optional[float] = cursor.integer() / 1000 if cursor.accept("timeout") else 10
        if self.db.in_write:
            # A block inside a block is a savepoint; a second write is something that only the library can be asked for.
            self.db._realm.begin_write(0)
        write = self.db.write(None if timeout is not None and timeout < 0 else timeout)
        write.__enter__()
        self.writes[id(self.db)] = write

    def _query_timeout(self, cursor: Cursor) -> None:
        milliseconds = cursor.integer()
        self.db.query_timeout = None if milliseconds < 0 else milliseconds / 1000

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

    def _savepoint(self, cursor: Cursor) -> None:
        if not self.db.in_write:
            self.db._realm.savepoint()
        self.savepoints[cursor.name()] = self.db.write().__enter__()

    def _release(self, cursor: Cursor) -> None:
        block = self.savepoints[cursor.name()]
        if not block._is_current():
            # There is no call for this: a block ends once.
            self.db._realm.release_savepoint(block._savepoint)
        block.__exit__(None, None, None)

    def _rollback(self, cursor: Cursor) -> None:
        block = self.savepoints[cursor.name()]
        if not block._is_current():
            self.db._realm.roll_back(block._savepoint)
        block.cancel()

    def _changes(self, cursor: Cursor) -> None:
        name = cursor.name()
        if cursor.accept("to"):
            difference = self.db.changes_to(self.databases[cursor.name()])
            assert difference.is_difference
            self.batches[name] = motte.ChangeBatch(bytes(difference))
            return
        since: Union[int, motte.Database] = 0
        if cursor.accept("between"):
            since = self.databases[cursor.name()]
        elif cursor.accept("since"):
            since = self.batches[cursor.name()].to_version
        batch = self.db.changes_since(since)
        assert batch.is_reversible == (isinstance(since, motte.Database) or batch.is_empty)
        assert batch.origin == self.db.origin
        self.batches[name] = motte.ChangeBatch(bytes(batch))

    def _inverse(self, cursor: Cursor) -> None:
        name = cursor.name()
        self.batches[name] = self.batches[cursor.name()].inverse()
        assert self.batches[name].is_patch or self.batches[name].is_difference

    def _apply(self, cursor: Cursor) -> None:
        batch = self.batches[cursor.name()]
        applied = self.db.apply(batch)
        if not batch.is_patch and not batch.is_difference:
            position = self.db.applied_version(batch.origin)
            assert position is not None and position >= batch.to_version
        if not cursor.at_end():
            self.flag(cursor, applied)

    def _keep(self, cursor: Cursor) -> None:
        version = None if cursor.accept("none") else self.db.version
        if not cursor.accept("for"):
            self.db.keep_changes(version)
            return
        was_known = self.db.keep_changes(version, cursor.in_backquotes())
        if not cursor.at_end():
            self.flag(cursor, was_known)

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

    FIRST = [("session", _session), ("file", _file), ("truncate", _truncate), ("unlink", _unlink),
             ("folder", _folder), ("fails", _fails), ("encrypt", _encrypt), ("shut", _shut), ("reopen", _reopen)]
    STEPS = [
        ("elsewhere", _elsewhere), ("write", _write), ("commit", _commit), ("cancel", _cancel),
        ("savepoint", _savepoint), ("release", _release), ("rollback", _rollback),
        ("changes", _changes), ("inverse", _inverse), ("apply", _apply), ("keep", _keep),
        ("refresh", _refresh), ("wait", _wait), ("query-timeout", _query_timeout),
        ("interrupt", lambda self, cursor: self.db.interrupt()),
        ("dispatch", _dispatch), ("close", _close), ("use", _use),
        ("freeze", _freeze), ("refer", ObservingSteps._refer), ("resolve", ObservingSteps._resolve),
        ("queue", ObservingSteps._queue), ("unqueue", ObservingSteps._unqueue), ("create", ObjectSteps._create),
        ("upsert", ObjectSteps._upsert), ("insert-at", ObjectSteps._insert_at), ("insert", ObjectSteps._insert),
        ("merge", ObjectSteps._merge), ("set", ObjectSteps._set), ("delete", ObjectSteps._delete),
        ("append", ObjectSteps._append), ("replace", ObjectSteps._replace), ("remove", ObjectSteps._remove),
        ("move", ObjectSteps._move), ("swap", ObjectSteps._swap), ("splice", ObjectSteps._splice),
        ("clear", ObjectSteps._clear), ("add", ObjectSteps._add), ("discard", ObjectSteps._discard),
        ("unite", lambda self, cursor: self._combine(cursor, operator.ior)),
        ("intersect", lambda self, cursor: self._combine(cursor, operator.iand)),
        ("subtract", lambda self, cursor: self._combine(cursor, operator.isub)),
        ("differ", lambda self, cursor: self._combine(cursor, operator.ixor)), ("assign", ObjectSteps._assign),
        ("put", ObjectSteps._put), ("drop", ObjectSteps._drop), ("embed", ObjectSteps._embed),
        ("let", ObjectSteps._let), ("prepare", ObjectSteps._prepare), ("bind", ObjectSteps._bind),
        ("mark", ObjectSteps._mark), ("observe", ObservingSteps._observe), ("sections", ObservingSteps._sections),
        ("stop", ObservingSteps._stop), ("expect", Expectations._expect),
    ]
    EXPECTATIONS = [
        ("count", Expectations._count), ("classes", Expectations._classes), ("objects", Expectations._objects),
        ("values", Expectations._values), ("index", Expectations._index),
        ("min", lambda self, cursor: self._total(cursor, "min")),
        ("max", lambda self, cursor: self._total(cursor, "max")),
        ("sum", lambda self, cursor: self._total(cursor, "sum")),
        ("avg", lambda self, cursor: self._total(cursor, "average")),
        ("nonnull", lambda self, cursor: self._total(cursor, "count_present")),
        ("missing", lambda self, cursor: self._presence(cursor, False)),
        ("exists", lambda self, cursor: self._presence(cursor, True)),
        ("subset", lambda self, cursor: self._relation(cursor, "issubset")),
        ("superset", lambda self, cursor: self._relation(cursor, "issuperset")),
        ("intersects", lambda self, cursor: self._relation(cursor, "isdisjoint", False)), ("key", ObjectSteps._key),
        ("parent", ObjectSteps._parent), ("section-keys", ObservingSteps._section_keys),
        ("section-of", ObservingSteps._section_of), ("place", ObservingSteps._place),
        ("groups", Expectations._groups), ("group-columns", Expectations._group_columns),
        ("steps", Expectations._steps),
        ("changes", ObservingSteps._changes), ("query", Expectations._query), ("queued", ObservingSteps._queued),
        ("counter", Expectations._counter), ("schema", Expectations._schema), ("in-write", Expectations._in_write),
        ("same", Expectations._same),
    ]
