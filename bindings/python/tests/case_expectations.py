"""What conformance cases expect."""
from __future__ import annotations

import json
import re
from typing import Any

import case_files
import motte
from case_lookups import CaseState
from case_text import CaseFailure, Cursor
from case_values import contents, plain, same


class Expectations(CaseState):
    """The words after `expect`, which the runner lists."""

    EXPECTATIONS: list[tuple[str, Any]]

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

    def _grouped(self, cursor: Cursor) -> Any:
        text = cursor.in_backquotes()
        values = [plain(each) for each in cursor.arguments(self.object)]
        cursor.need("of")
        return self.collection(cursor).query(text, *values)

    def _groups(self, cursor: Cursor) -> None:
        groups = self._grouped(cursor)
        rows = [value for group in groups for value in group]
        columns = [groups.column(name) for name in groups.columns]
        if not same([value for row in zip(*columns) for value in row], rows):
            raise CaseFailure(f"rows give {rows}, columns give {columns}")
        for group in groups:
            keys = group[:groups.key_count]
            if groups.find(*keys) is None:
                raise CaseFailure(f"find() does not find {keys}")
        self.equal(cursor, rows)

    def _steps(self, cursor: Cursor) -> None:
        analyze, as_json = cursor.accept("analyzed"), cursor.accept("json")
        if cursor.accept("groups"):
            plan = self._grouped(cursor).explain(analyze=analyze)
        else:
            cursor.need("of")
            plan = self.collection(cursor).explain(analyze=analyze)
        cursor.need("has")
        actual = " ".join((json.dumps(plan.to_dict()) if as_json else str(plan)).split())
        if cursor.in_backquotes() not in actual:
            raise CaseFailure(f"is `{actual}`")

    def _group_columns(self, cursor: Cursor) -> None:
        self.equal(cursor, list(self._grouped(cursor).columns))

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

    def _schema(self, cursor: Cursor) -> None:
        expected, actual = (re.sub(r"[\s,]+", " ", text).strip() for text in (cursor.in_backquotes(), self.db.schema))
        if expected != actual:
            raise CaseFailure(f"the schema is {actual}")

    def _in_write(self, cursor: Cursor) -> None:
        self.flag(cursor, self.db.in_write)
