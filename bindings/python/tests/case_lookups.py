"""What a conformance case has named, and how its lines name objects and collections."""
from __future__ import annotations

import pathlib
from concurrent.futures import Future
from typing import Any, Optional

import motte
from case_text import CaseFailure, Cursor
from case_values import argument
from motte import errors


class Received:
    """What an observation has delivered and the case has not asked for yet."""

    def __init__(self) -> None:
        self.changes: list[Any] = []
        self.observation: Any = None


class CaseState:
    """What a case has named so far, and what every part of the runner asks of the others."""

    def __init__(self, folder: pathlib.Path, rows: Optional[int]) -> None:
        self.folder, self.rows = folder, rows
        self.schema, self.in_memory = "", False
        self.databases: dict[str, motte.Database] = {}
        self.savepoints: dict[str, motte.Write] = {}
        self.batches: dict[str, motte.ChangeBatch] = {}
        self.writes: dict[int, Any] = {}
        self.objects: dict[str, Any] = {}
        self.collections: dict[str, Any] = {}
        self.queries: dict[str, Any] = {}
        self.tokens: dict[str, Received] = {}
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

    db: motte.Database

    def step(self, cursor: Cursor) -> None:
        raise NotImplementedError

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
                found = found.where(text, *map(argument, cursor.arguments(self.object)))
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

    def object_or_collection(self, cursor: Cursor) -> Any:
        if self.starts_collection(cursor):
            return self.collection(cursor)
        at = cursor.at
        found = self.object(cursor)
        if cursor.at_end():
            return found
        cursor.at = at
        return self.collection(cursor)
