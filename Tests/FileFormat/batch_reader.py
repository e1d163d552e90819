"""Reads a change batch by docs/FILE_FORMAT.md and nothing else, and applies it to objects that are dictionaries.

    python3 batch_reader.py BATCH...          prints the objects that the batches, in this order, lead to
"""
from __future__ import annotations

import json
import struct
import sys
from typing import Any, NamedTuple, Optional

import reader
from reader import (
    BOOL, DECIMAL, DOUBLE, FLOAT, INT, LINK, LIST, MAP, OBJECT_ID, TIMESTAMP, UUID, FormatError, crc32c, document,
    need, plain,
)

SCHEMA, CLASSES, CREATED, SET, LISTS, SETS, MAPS, DELETED, INVERSE, KNOWN, PLACES = range(1, 12)
NO_COLLECTION, A_LIST, A_SET, A_MAP = range(4)


class Link(NamedTuple):
    """An object by its class's number and its key in the origin."""

    table: int
    key: int


class Run:
    """Bytes that are read from the front."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def rest(self) -> int:
        return len(self.raw) - self.at

    def take(self, count: int) -> bytes:
        need(0 <= count <= self.rest(), "a batch ends too early")
        self.at += count
        return self.raw[self.at - count:self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            need(shift < 70, "a number of a batch is too large")

    def signed(self) -> int:
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def text(self) -> str:
        return self.take(self.number()).decode()

    def gaps(self, count: int) -> list[int]:
        keys, following = [], 0
        for _ in range(count):
            keys.append(following + self.number())
            following = keys[-1] + 1
        return keys

    def runs(self) -> list[range]:
        found, end = [], 0
        for _ in range(self.number()):
            start = end + self.number()
            end = start + self.number()
            found.append(range(start, end))
        return found

    def value(self) -> Any:
        kind = self.byte()
        if kind == 0:
            return None
        if kind == BOOL:
            return self.byte() != 0
        if kind == INT:
            return self.signed()
        if kind == FLOAT:
            return struct.unpack("<f", self.take(4))[0]
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind == TIMESTAMP:
            return self.signed(), self.number()
        if kind == LINK:
            return Link(self.number(), self.signed())
        sizes = {DECIMAL: 16, UUID: 16, OBJECT_ID: 12}
        raw = self.take(sizes[kind] if kind in sizes else self.number())
        return document(raw) if kind in (LIST, MAP) else plain(kind, raw)

    def values(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]


class Class:
    def __init__(self, name: str, embedded: bool) -> None:
        self.name, self.embedded = name, embedded
        #: By number: name, type, collection, flags.
        self.columns: dict[int, tuple[str, int, int, int]] = {}


class Batch:
    def __init__(self, raw: bytes) -> None:
        need(raw[:8] == b"MOTTECHG" and len(raw) >= 88, "this is no change batch")
        form, flags, crc, size = struct.unpack_from("<HHIQ", raw, 8)
        need(form == 1 and flags in (0, 1, 2, 4), "a batch of another format")
        need(size == len(raw), "a batch of another length")
        need(crc32c(raw[:12], bytes(4), raw[16:]) == crc, "the batch is damaged")
        self.origin = raw[24:40]
        self.start, self.end, self.start_crc, self.end_crc, self.time, self.schema_changed_in, count, zero = (
            struct.unpack_from("<QQIIqQII", raw, 40))
        need(zero == 0, "the batch has something unknown")
        self.whole, self.difference = flags == 1, flags == 4
        self.sections: list[tuple[int, Run]] = []
        run = Run(raw[88:])
        while run.rest():
            kind, skip = run.byte(), run.byte()
            body = Run(run.take(run.number()))
            is_known = kind <= DELETED or kind in (KNOWN, PLACES) and self.difference
            need(is_known or skip & 1 == 1, "the batch has a section of an unknown kind")
            self.sections.append((kind, body))
        need(len(self.sections) == count, "the batch has another number of sections")
        kinds = [kind for kind, _ in self.sections]
        need(kinds == sorted(kinds, key=lambda kind: (kind == INVERSE, kind)), "sections in disorder")


class Copy:
    """The objects that batches lead to, by class number and key."""

    def __init__(self) -> None:
        self.classes: dict[int, Class] = {}
        self.rows: dict[int, dict[int, dict[str, Any]]] = {}
        self.version = 0

    def apply(self, batch: Batch) -> None:
        need(batch.start == self.version, f"a batch from {batch.start} after {self.version}")
        if batch.difference:
            self._check_known(batch)
        for kind, run in batch.sections:
            run.at = 0
            if kind in READERS:
                READERS[kind](self, run)
                need(run.rest() == 0, f"a section of kind {kind} is too long")
        self.version = batch.end

    def _check_known(self, batch: Batch) -> None:
        """Objects go by their keys in the first file, which this is a copy of: what is said of them must be so."""
        names: dict[int, tuple[str, dict[int, str]]] = {}
        for kind, run in batch.sections:
            run.at = 0
            if kind == CLASSES:
                for _ in range(run.number()):
                    number, name = run.number(), run.text()
                    run.byte()
                    columns: dict[int, str] = {}
                    for _ in range(run.number()):
                        column = run.number()
                        columns[column] = run.text()
                        run.take(3)
                    names[number] = name, columns
            elif kind == KNOWN:
                table, column = run.number(), run.number()
                rows = self.rows.get(table, {})
                for key in run.gaps(run.number()):
                    need(rows[key][names[table][1][column]] == run.value(), "an object has another primary key")
                need(run.rest() == 0, "a section is too long")
            elif kind == PLACES:
                table = run.number()
                for key in run.gaps(run.number()):
                    owner_table, column, owner = run.number(), run.number(), run.number()
                    held = self.rows[owner_table][owner][names[owner_table][1][column]]
                    link = held[run.number()] if isinstance(held, list) else (
                        held[run.text()] if isinstance(held, dict) else held)
                    need((link.table, link.key) == (table, key), "an embedded object is in another place")
                need(run.rest() == 0, "a section is too long")

    def _take_classes(self, run: Run) -> None:
        for _ in range(run.number()):
            number = run.number()
            found = self.classes.setdefault(number, Class(run.text(), run.byte() == 1))
            for _ in range(run.number()):
                column = run.number()
                found.columns[column] = run.text(), run.byte(), run.byte(), run.byte()

    def _create(self, run: Run) -> None:
        table, runs, count = run.number(), run.runs(), run.number()
        keys = [key for each in runs for key in each]
        rows = self.rows.setdefault(table, {})
        for key in keys:
            need(key not in rows, "an object is made twice")
            rows[key] = {}
        if count == 0:
            need(not any(run.take(len(keys))), "an object without values has something")
        for _ in range(count):
            name = self.classes[table].columns[run.number()][0]
            values = Run(run.take(run.number()))
            for key in keys:
                rows[key][name] = values.value()
            need(values.rest() == 0, "a column is too long")

    def _column(self, run: Run) -> tuple[dict[int, dict[str, Any]], str]:
        table = run.number()
        return self.rows.setdefault(table, {}), self.classes[table].columns[run.number()][0]

    def _set(self, run: Run) -> None:
        rows, name = self._column(run)
        for key in run.gaps(run.number()):
            rows[key][name] = run.value()

    def _owners(self, run: Run) -> Any:
        rows, name = self._column(run)
        following = 0
        for _ in range(run.number()):
            key = following + run.number()
            following = key + 1
            yield rows[key], name

    def _edit_lists(self, run: Run) -> None:
        for row, name in self._owners(run):
            items: list[Any] = row.setdefault(name, [])
            need(len(items) == run.number(), "a list has another length")
            for _ in range(run.number()):
                kind, index, count = run.byte(), run.number(), run.number()
                if kind == 1:
                    items[index:index] = run.values(count)
                elif kind == 2:
                    del items[index:index + count]
                elif kind == 3:
                    items[index:index + count] = run.values(count)
                elif kind == 4:
                    items.insert(count, items.pop(index))
                else:
                    raise FormatError("an unknown edit of a list")

    def _assign_sets(self, run: Run) -> None:
        for row, name in self._owners(run):
            row[name] = run.values(run.number())

    def _edit_maps(self, run: Run) -> None:
        for row, name in self._owners(run):
            entries: dict[str, Any] = row.setdefault(name, {})
            for _ in range(run.number()):
                key, kind = run.text(), run.byte()
                if kind == 1:
                    entries[key] = run.value()
                else:
                    need(kind == 2, "an unknown change of a map")
                    entries.pop(key, None)

    def _delete(self, run: Run) -> None:
        rows = self.rows.setdefault(run.number(), {})
        for each in run.runs():
            for key in each:
                rows.pop(key, None)

    def objects(self, name: str) -> list[dict[str, Any]]:
        """The objects of a class in the order of their keys."""
        number = next((number for number, found in self.classes.items() if found.name == name), None)
        return [row for _, row in sorted(self.rows.get(number, {}).items())] if number is not None else []


READERS: dict[int, Any] = {
    CLASSES: Copy._take_classes, CREATED: Copy._create, SET: Copy._set, LISTS: Copy._edit_lists,
    SETS: Copy._assign_sets, MAPS: Copy._edit_maps, DELETED: Copy._delete,
}


def main(paths: Optional[list[str]] = None) -> None:
    copy = Copy()
    for path in paths or sys.argv[1:]:
        with open(path, "rb") as file:
            copy.apply(Batch(file.read()))
    for found in copy.classes.values():
        for row in copy.objects(found.name):
            print(found.name, json.dumps(row, default=reader.printable, ensure_ascii=False))


if __name__ == "__main__":
    main()
