"""Steps of the conformance cases about observing, sections and other threads."""
from __future__ import annotations

from typing import Any

import motte
from case_lookups import CaseState, Received
from case_text import CaseFailure, Cursor
from case_values import changes_text, plain
from motte import errors


class ObservingSteps(CaseState):
    """Tokens, sections, references, queued writes."""

    def _observe(self, cursor: Cursor) -> None:
        name, received = cursor.name(), Received()
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
        elif cursor.accept("groups"):
            source = self._grouped(cursor)
        elif cursor.accept("realm"):
            source = self.db
        else:
            source = self.object_or_collection(cursor)
        received.observation = source.observe(received.changes.append, **more)
        self.tokens[name] = received

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
        received = self.tokens[cursor.name()]
        expected = " ".join(cursor.take_rest().split())
        change = received.changes.pop(0) if received.changes else None
        if change is not None and getattr(change, "error", None) is not None:
            raise change.error
        actual = changes_text(change) if change is not None else "none"
        # A callback has no way to learn that there is no more: it is not called.
        if actual != ("none" if expected == "end" else expected):
            raise CaseFailure(f"changes are {actual}")

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
