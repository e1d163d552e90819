"""Random queries beside SQLite on the same rows, where both mean the same: conditions with text functions and
arithmetic, orders, pages, groups.

    MOTTE_TEST_SEED=...    repeat them
    MOTTE_TEST_SCALE=20    so many times as many
"""
from __future__ import annotations

import contextlib
import math
import os
import random
import sqlite3
from typing import Any, Optional

import motte

ROWS = 400
TEXTS = ["", "a", "Ada", "ada", "  Bo ", "bo", "Ülm", "zz", "a b c", "ADA", "x\u0301", "日本"]
Condition = tuple[str, str, list[Any]]


class Row(motte.Model, indexes=[
    motte.index("s [c]"), motte.index("b", "r desc"), motte.index("t"), motte.index("t desc", "a"),
    motte.index("f", "s [cd]", "a"), motte.index("b", "id", unique=True), motte.index("r", "f"), motte.index("a desc"),
]):
    id: int = motte.field(primary_key=True)
    a: Optional[int]
    b: Optional[int] = motte.field(indexed=True)
    r: Optional[float]
    s: Optional[str] = motte.field(indexed=True)
    t: str
    f: bool


class Queries:
    """Each as text of Motte and as SQL, with the same arguments."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.arguments: list[Any] = []

    def argument(self, value: Any) -> tuple[str, str]:
        self.arguments.append(value)
        return f"${len(self.arguments) - 1}", f"?{len(self.arguments)}"

    def number(self) -> Any:
        draw = self.draw
        return draw.choice([draw.randrange(-3, 12), draw.randrange(-3, 12), draw.randrange(-6, 20) / 2])

    def text(self) -> tuple[str, str]:
        """A property, or functions of one."""
        name = self.draw.choice("st")
        motte_text = sql = name
        for _ in range(self.draw.choice([0, 0, 0, 1, 2])):
            kind = self.draw.choice(["trim", "ltrim", "rtrim", "substr"])
            if kind == "substr":
                start, count = self.draw.randrange(-4, 5), self.draw.randrange(0, 4)
                numbers = f", {start}, {count}" if self.draw.random() < 0.6 else f", {start}"
                motte_text, sql = f"substr({motte_text}{numbers})", f"substr({sql}{numbers})"
            else:
                # The rows have no other white space than SQLite's.
                motte_text, sql = f"{kind}({motte_text})", f"{kind}({sql})"
        return motte_text, sql

    def quantity(self, depth: int = 0) -> tuple[str, str]:
        draw = self.draw
        kind = draw.random()
        if kind < 0.5 or depth > 2:
            name = draw.choice(["a", "b", "r", "id"])
            return name, name
        if kind < 0.6:
            one, other = self.text()
            return f"length({one})", f"length({other})"
        if kind < 0.75:
            return self.argument(self.number())
        sign = draw.choice("+-*/")
        known = len(self.arguments)
        # What has no property is one value, which an int may not be compared with.
        name = draw.choice(["a", "b", "r", "id"])
        (one, one_sql), (other, other_sql) = (name, name), self.quantity(depth + 1)
        if sign != "/" and draw.random() < 0.4:
            (one, one_sql), (other, other_sql) = (other, other_sql), (one, one_sql)
        if sign == "/":
            # What ints are divided by is sometimes 0; doubles give infinity here and null there.
            del self.arguments[known:]
            other = other_sql = "3" if one == "r" else draw.choice(["a", "b", "3"])
        return f"({one} {sign} {other})", f"({one_sql} {sign} {other_sql})"

    def comparison(self) -> tuple[str, str]:
        draw = self.draw
        kind = draw.random()
        if kind < 0.45:
            one, one_sql = self.quantity()
            sign = draw.choice(["<", "<=", ">", ">=", "==", "!="])
            constant = draw.random() < 0.6
            other, other_sql = self.argument(self.number()) if constant else self.quantity()
            if one.startswith("$") and other.startswith("$"):
                del self.arguments[-2:]
                one = one_sql = other = other_sql = "r"
            return f"{one} {sign} {other}", self.compared(one_sql, sign, other_sql)
        if kind < 0.55:
            name = draw.choice("ab")
            low, high = (self.argument(draw.randrange(-3, 9)) for _ in range(2))
            return (f"{name} BETWEEN {{{low[0]}, {high[0]}}}", f"coalesce({name} BETWEEN {low[1]} AND {high[1]}, 0)")
        if kind < 0.65:
            name = draw.choice(["a", "b", "id"])
            members = [self.argument(draw.randrange(-3, 9)) for _ in range(draw.randrange(1, 6))]
            return (f"{name} IN {{{', '.join(member[0] for member in members)}}}",
                    f"coalesce({name} IN ({', '.join(member[1] for member in members)}), 0)")
        if kind < 0.68:
            # SQLite knows the cases of ASCII's letters, and no others differ here by their case alone.
            name = draw.choice("st")
            members = [self.argument(draw.choice(TEXTS)) for _ in range(draw.randrange(1, 4))]
            if len(members) == 1:
                return f"{name} ==[c] {members[0][0]}", f"coalesce({name} = {members[0][1]} COLLATE NOCASE, 0)"
            return (f"{name} IN[c] {{{', '.join(member[0] for member in members)}}}",
                    f"coalesce({name} COLLATE NOCASE IN ({', '.join(member[1] for member in members)}), 0)")
        if kind < 0.7:
            return ("f", "f") if draw.random() < 0.5 else ("f == false", "NOT f")
        one, one_sql = self.text()
        part_of = draw.choice(TEXTS[1:])
        if kind < 0.8:
            other, other_sql = self.argument(part_of) if draw.random() < 0.7 else self.text()
            sign = draw.choice(["==", "!="])
            return f"{one} {sign} {other}", self.compared(one_sql, sign, other_sql)
        part, part_sql = self.argument(part_of[:draw.randrange(1, 3)])
        word = draw.choice(["CONTAINS", "BEGINSWITH", "ENDSWITH"])
        sql = {"CONTAINS": f"instr({one_sql}, {part_sql}) > 0",
               "BEGINSWITH": f"substr({one_sql}, 1, length({part_sql})) = {part_sql}",
               "ENDSWITH": f"(length({one_sql}) >= length({part_sql}) AND"
                           f" substr({one_sql}, -length({part_sql})) = {part_sql})"}[word]
        return f"{one} {word} {part}", f"coalesce({sql}, 0)"

    @staticmethod
    def compared(one: str, sign: str, other: str) -> str:
        """Null equals null and differs from everything else; it is in no order, but not below itself either."""
        if sign in ("==", "!="):
            return f"({one} IS {'NOT ' if sign == '!=' else ''}{other})"
        both = f" OR ({one} IS NULL AND {other} IS NULL)" if sign in ("<=", ">=") else ""
        return f"(coalesce({one} {sign} {other}, 0){both})"

    def condition(self, depth: int = 0) -> tuple[str, str]:
        kind = self.draw.random()
        if kind < 0.5 or depth > 2:
            return self.comparison()
        if kind < 0.6:
            inner, sql = self.condition(depth + 1)
            return f"NOT ({inner})", f"NOT ({sql})"
        word = "AND" if kind < 0.8 else "OR"
        parts = [self.condition(depth + 1) for _ in range(self.draw.randrange(2, 4))]
        return (f" {word} ".join(f"({part[0]})" for part in parts), f" {word} ".join(f"({part[1]})" for part in parts))

    def order(self) -> tuple[str, str]:
        names = self.draw.sample(["a", "b", "r", "s", "t", "f"], self.draw.randrange(0, 3)) + ["id"]
        keys = [(name, self.draw.choice(["ASC", "DESC"])) for name in names]
        text = ", ".join(" ".join(key) for key in keys)
        return f"SORT({text})", f"ORDER BY {text}"

    def page(self) -> tuple[str, str]:
        if self.draw.random() < 0.5:
            return "", ""
        offset, limit = self.draw.randrange(0, 60), self.draw.randrange(0, 30)
        return f" OFFSET({offset}) LIMIT({limit})", f" LIMIT {limit} OFFSET {offset}"

    def distinct(self) -> tuple[str, str]:
        """The first of each, in the order of the keys."""
        names = self.draw.sample(["a", "b", "r", "s", "t", "f"], self.draw.randrange(1, 3))
        return f"DISTINCT({', '.join(names)})", f"GROUP BY {', '.join(names)} ORDER BY 1"

    def groups(self) -> tuple[str, str]:
        draw = self.draw
        keys = draw.sample(["a", "b", "s", "t", "f"], draw.randrange(1, 3))
        columns = [("COUNT", "count(*)")]
        for _ in range(draw.randrange(0, 4)):
            name = draw.choice(["a", "b", "r"])
            columns.append(draw.choice([
                (f"COUNT({name})", f"count({name})"), (f"COUNT(DISTINCT {name})", f"count(DISTINCT {name})"),
                (f"SUM({name})", f"coalesce(sum({name}), 0)"), (f"AVG({name})", f"avg({name})"),
                (f"MIN({name})", f"min({name})"), (f"MAX({name})", f"max({name})")]))
        columns = list(dict(columns).items())
        least = draw.randrange(0, 6)
        having, having_sql = draw.choice([
            ("", ""), (f" HAVING COUNT > {least}", f" HAVING count(*) > {least}"),
            (f" HAVING SUM(a) - COUNT > {least}", f" HAVING coalesce(sum(a), 0) - count(*) > {least}"),
            (f" HAVING MAX(b) == {least} OR COUNT(b) * 2 < COUNT",
             f" HAVING max(b) IS {least} OR count(b) * 2 < count(*)")])
        page, page_sql = self.page()
        by = ", ".join(keys)
        text = f"GROUP({by}) {', '.join(column for column, _ in columns)}{having} SORT(COUNT DESC, {by}){page}"
        sql = (f"SELECT {by}, {', '.join(column for _, column in columns)} FROM row %s GROUP BY {by}{having_sql}"
               f" ORDER BY count(*) DESC, {by}{page_sql}")
        return text, sql


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def test_random_queries_beside_sqlite() -> None:
    seed = int(os.environ.get("MOTTE_TEST_SEED", random.randrange(1 << 30)))
    rounds = max(200, int(4_000 * float(os.environ.get("MOTTE_TEST_SCALE", "1"))))
    print("seed", seed)
    draw = random.Random(seed)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.15 else value

    def made(number: int) -> tuple[Any, ...]:
        return (number, some(draw.randrange(-3, 9)), some(draw.randrange(-2, 40)), some(draw.randrange(-8, 24) / 4),
                some(draw.choice(TEXTS)), draw.choice(TEXTS), draw.random() < 0.4)

    rows = [made(number) for number in range(ROWS)]
    peer = sqlite3.connect(":memory:", isolation_level=None)
    peer.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, a INT, b INT, r REAL, s TEXT, t TEXT, f INT)")
    peer.executemany("INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    kinds = {"objects": 0, "groups": 0, "distinct": 0, "found": 0}
    names = ["id", "a", "b", "r", "s", "t", "f"]

    def change(db: motte.Database, last: int) -> None:
        """The same in both: some go, some get other values, some come."""
        known = [id for id, in peer.execute("SELECT id FROM row ORDER BY id")]
        for id in draw.sample(known, 12):
            if draw.random() < 0.5:
                peer.execute("DELETE FROM row WHERE id = ?", (id,))
                db.delete(db.one(Row, id))
                continue
            values = made(id)
            peer.execute("REPLACE INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            db.update(db.one(Row, id), **dict(zip(names[1:], values[1:])))
        for number in range(last, last + 6):
            values = made(number)
            peer.execute("INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            db.add(Row(**dict(zip(names, values))))

    with motte.open(in_memory="beside", schema=[Row], row_group_size=32) as db:
        with db.write():
            db.add_all([Row(id=id, a=a, b=b, r=r, s=s, t=t, f=f) for id, a, b, r, s, t, f in rows])
        everything = db.objects(Row)
        writing: Optional[contextlib.ExitStack] = None
        for number in range(rounds):
            if number % 50 == 49:
                # Half of the questions are asked within a write, behind a savepoint that went back.
                if writing is not None:
                    writing.close()
                    writing = None
                else:
                    writing = contextlib.ExitStack()
                    writing.enter_context(db.write())
                    change(db, ROWS + number)
                    peer.execute("SAVEPOINT before")
                    with contextlib.suppress(ZeroDivisionError), db.write():
                        change(db, ROWS + number + 6)
                        raise ZeroDivisionError
                    peer.execute("ROLLBACK TO before")
                    peer.execute("RELEASE before")
            queries = Queries(draw)
            condition, sql = queries.condition()
            arguments = queries.arguments
            said = f"seed {seed}, query {number}: {{}}, {arguments}"
            if number % 7 == 0:
                distinct, distinct_sql = queries.distinct()
                text = f"{condition} {distinct}"
                wanted = [id for id, in peer.execute(f"SELECT min(id) FROM row WHERE {sql} {distinct_sql}", arguments)]
                assert [row.id for row in everything.where(text, *arguments)] == wanted, said.format(text)
                assert len(everything.where(text, *arguments)) == len(wanted), said.format(text)
                kinds["distinct"] += 1
            elif number % 3:
                order, order_sql = queries.order()
                page, page_sql = queries.page()
                text = f"{condition} {order}{page}"
                query = f"SELECT id FROM row WHERE {sql} {order_sql}{page_sql}"
                wanted = [id for id, in peer.execute(query, arguments)]
                results = everything.where(text, *arguments)
                assert [row.id for row in results] == wanted, said.format(text)
                assert len(everything.where(text, *arguments)) == len(wanted), said.format(text)
                kinds["objects"] += 1
                kinds["found"] += bool(wanted)
            else:
                groups, groups_sql = queries.groups()
                text = f"{condition} {groups}"
                wanted_rows = peer.execute(groups_sql % f"WHERE {sql}", arguments).fetchall()
                found = [tuple(group) for group in everything.query(text, *arguments)]
                assert len(found) == len(wanted_rows) and all(
                    same(one, other) for left, right in zip(found, wanted_rows) for one, other in zip(left, right)), \
                    f"{said.format(text)}\n{found}\n{wanted_rows}"
                kinds["groups"] += 1
        if writing is not None:
            writing.close()
        assert db.verify().is_sound
    print(kinds)
    assert kinds["found"] > kinds["objects"] // 4
