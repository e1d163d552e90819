"""Makes a Realm file (format 24) of any size, and says what is in it: people with a friend, a few words about each and
short lists. Values are functions of the row, so what a conversion gives can be compared with them one by one.
"""
from __future__ import annotations

import pathlib
import struct
from typing import Any, BinaryIO, Callable
from collections.abc import Sequence

ROWS_OF_A_LEAF = 256
#: In the file, by and large.
BYTES_OF_A_ROW = 101
#: Prime to most counts of rows, so that everybody is the friend of one.
STRIDE = 7_919
CONTEXT, REFS, INNER = 0x20, 0x40, 0x80
INT, BOOL, STRING, TIMESTAMP, DOUBLE, LINK, BACKLINK = 0, 1, 2, 8, 10, 12, 14
NULLABLE, IS_LIST = 16, 32
NO_TABLE, NO_COLUMN = 0x7FFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF


class Writer:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.end = 24
        file.write(bytes(24))

    def node(self, flags: int, count: int, payload: bytes) -> int:
        ref = self.end
        padding = -len(payload) & 7
        self.file.write(b"AAAA" + bytes([flags]) + count.to_bytes(3, "big") + payload + bytes(padding))
        self.end += 8 + len(payload) + padding
        return ref

    def ints(self, values: Sequence[int], flags: int = 0) -> int:
        """In the smallest width."""
        least, greatest = min(values, default=0), max(values, default=0)
        if least == 0 and greatest == 0:
            return self.node(flags, len(values), b"")
        if least >= 0 and greatest < 16:
            code, bits = (1, 1) if greatest < 2 else (2, 2) if greatest < 4 else (3, 4)
            payload = bytearray((len(values) * bits + 7) // 8)
            for index, value in enumerate(values):
                payload[index * bits // 8] |= value << (index * bits % 8)
            return self.node(flags | code, len(values), bytes(payload))
        most = max(greatest, ~least)
        size = 1 if most < 0x80 else 2 if most < 0x8000 else 4 if most < 1 << 31 else 8
        form = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
        return self.node(flags | (3 + size.bit_length()), len(values), struct.pack(f"<{len(values)}{form}", *values))

    def refs(self, values: Sequence[int], flags: int = 0) -> int:
        return self.ints(values, REFS | flags)

    def short_strings(self, values: Sequence[bytes]) -> int:
        width = 1
        while width <= max(map(len, values)):
            width *= 2
        payload = b"".join(value.ljust(width - 1, b"\0") + bytes([width - 1 - len(value)]) for value in values)
        return self.node(0x08 | width.bit_length(), len(values), payload)

    def medium_strings(self, values: Sequence[bytes]) -> int:
        ends, end = [], 0
        for value in values:
            end += len(value) + 1
            ends.append(end)
        text = b"\0".join(values) + b"\0"
        return self.refs([self.ints(ends), self.node(0x10, len(text), text), self.ints([0] * len(values))])

    def doubles(self, values: Sequence[float]) -> int:
        return self.node(0x0C, len(values), struct.pack(f"<{len(values)}d", *values))

    def clusters(self, count: int, columns: Callable[[range], list[int]]) -> int:
        level = []
        for start in range(0, count, ROWS_OF_A_LEAF):
            rows = range(start, min(start + ROWS_OF_A_LEAF, count))
            offset = start if count > ROWS_OF_A_LEAF else 0
            keys = self.ints([row - offset for row in rows])
            level.append((self.refs([keys] + columns(rows)), offset, len(rows)))
        depth = 0
        while len(level) > 1:
            depth, upper = depth + 1, []
            for start in range(0, len(level), ROWS_OF_A_LEAF):
                part = level[start:start + ROWS_OF_A_LEAF]
                base = 0 if len(level) <= ROWS_OF_A_LEAF else part[0][1]
                total = sum(rows for _, _, rows in part)
                offsets = self.ints([offset - base for _, offset, _ in part])
                upper.append((self.refs([offsets, tagged(depth), tagged(total)] + [ref for ref, _, _ in part], INNER),
                              base, total))
            level = upper
        return level[0][0]


def tagged(number: int) -> int:
    return number << 1 | 1


def column_key(index: int, kind: int, attributes: int = 0) -> int:
    return index | kind << 16 | (attributes & 0xFE) << 22 | index << 30


def person(row: int, count: int) -> dict[str, Any]:
    """As an export says it, apart from the time."""
    return {
        "id": row * 7, "optional": None if row % 3 == 0 else row, "name": f"person {row}", "about": about(row).decode(),
        "weight": row / 2, "flag": bool(row % 2), "list": [row, 5] if row % 4 == 0 else [],
        "friend": {"$key": row * STRIDE % count},
    }


def about(row: int) -> bytes:
    return b"about %d, of whom nothing else is known" % row


def make(path: pathlib.Path, count: int) -> None:
    back = pow(STRIDE, -1, count)
    #: Name, type, attributes; the last is where links to a person are known from.
    columns = [(b"id", INT, 0), (b"optional", INT, NULLABLE), (b"name", STRING, 0), (b"about", STRING, 0),
               (b"weight", DOUBLE, 0), (b"flag", BOOL, 0), (b"born", TIMESTAMP, 0), (b"list", INT, IS_LIST),
               (b"friend", LINK, NULLABLE), (b"", BACKLINK, 0)]
    friend, known = len(columns) - 2, len(columns) - 1
    with path.open("wb", buffering=1 << 20) as file:
        writer = Writer(file)

        def leaves(rows: range) -> list[int]:
            return [
                writer.ints([row * 7 for row in rows]),
                # The first element stands for null: a number that no row has.
                writer.ints([-1] + [-1 if row % 3 == 0 else row for row in rows]),
                writer.short_strings([b"person %d" % row for row in rows]),
                writer.medium_strings([about(row) for row in rows]),
                writer.doubles([row / 2 for row in rows]),
                writer.ints([row % 2 for row in rows]),
                writer.refs([writer.ints([0] + [row + 10 ** 9 for row in rows]),
                             writer.ints([row % 1000 for row in rows])]),
                writer.refs([writer.ints([row, 5]) if row % 4 == 0 else 0 for row in rows]),
                writer.ints([row * STRIDE % count + 1 for row in rows]),
                writer.refs([tagged(row * back % count) for row in rows]),
            ]

        clusters = writer.clusters(count, leaves)
        keys = [column_key(index, kind, attributes) for index, (_, kind, attributes) in enumerate(columns)]
        spec = writer.refs([
            writer.ints([kind for _, kind, _ in columns]),
            writer.short_strings([name for name, kind, _ in columns if kind != BACKLINK]),
            writer.ints([attributes for _, _, attributes in columns]), 0, 0, writer.ints(keys)])
        tables = [NO_TABLE] * len(columns)
        opposites = [NO_COLUMN] * len(columns)
        tables[friend] = tables[known] = 0
        opposites[friend], opposites[known] = keys[known], keys[friend]
        table = writer.refs([spec, 0, clusters, tagged(0), 0, 1, 1, writer.ints(tables), writer.ints(opposites),
                             0, 0, 0, tagged(0), 0])
        names = writer.short_strings([b"class_Person"])
        list_of_tables = writer.refs([table])
        # As wide as any, so that the size is known before.
        top, wide = writer.end, 1 << 40
        writer.refs([names, list_of_tables, (top + 8 + 12 * 8) << 1 | 1, 0, 0, 0, tagged(3), wide | 1, 0, 0, 0, 0])
        file.seek(0)
        file.write(struct.pack("<Q", top))
        file.seek(16)
        file.write(b"T-DB" + bytes([24, 24, 0, 0]))


if __name__ == "__main__":
    import sys

    make(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
