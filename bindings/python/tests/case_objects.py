"""Steps of the conformance cases that change objects and collections."""
from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, Optional

import motte
from case_lookups import CaseState
from case_text import CaseFailure, Cursor
from case_values import plain
from motte import errors


class ObjectSteps(CaseState):
    """Creating, assigning, editing, naming."""

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
