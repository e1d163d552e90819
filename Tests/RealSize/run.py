"""Every operation that walks, copies, moves or rewrites a whole file, on one of real size; each is followed by a full
comparison with what it was made of, through another path than the one it took: the dump of everything (JSON Lines), the
reader of Tests/FileFormat, which shares no code with the library, or values recounted here.

    python run.py                          the file of the demo, build/demo/flights.motte; a minute and a half
    python run.py --size 2G                a file made for it: long lists, long texts, embedded objects, deleted rows

Each operation runs in a process of its own. Its line says how long it took with the comparisons, and the most memory
that the operation itself had (ru_maxrss). The last line is "N passed, N failed".
"""
from __future__ import annotations

import argparse
import collections
import csv
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Optional

import realm_file

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOL = ROOT / "build" / "tool" / "motte"
WORKER = HERE / "worker.py"

Digest = tuple[int, str]


class Failed(Exception):
    pass


def need(condition: bool, what: str) -> None:
    if not condition:
        raise Failed(what)


class Machine:
    """Runs commands and remembers what the last ones took."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.peak = 0
        self.counts_all = False
        #: A budget of memory, and how much memory of its own the system lets a process have.
        self.limits: Optional[tuple[int, int]] = None

    def start(self, *command: object, read: bool = True) -> subprocess.Popen[bytes]:
        environment, limit = dict(os.environ, LC_ALL="C.UTF-8"), None
        if self.limits:
            budget, most = self.limits
            environment["MOTTE_MEMORY"] = str(budget)
            limit = functools.partial(resource.setrlimit, resource.RLIMIT_DATA, (most, most))
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE if read else None,
                                stderr=subprocess.PIPE, env=environment, preexec_fn=limit)

    def wait(self, process: subprocess.Popen[bytes], expect: int = 0, counts: bool = True) -> str:
        assert process.stderr
        errors = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if counts:
            self.peak = max(self.peak, usage.ru_maxrss)
        need(process.returncode == expect, f"{process.args}: exit {process.returncode}: {errors[-600:]}")
        return errors

    def tool(self, *arguments: object, expect: int = 0) -> str:
        process = self.start(TOOL, *arguments)
        assert process.stdout
        text = process.stdout.read().decode()
        # What looks at the result is not what is measured.
        errors = self.wait(process, expect, self.counts_all or arguments[0] not in ("verify", "schema", "query"))
        return text if expect == 0 else errors

    def worker(self, *arguments: object, counts: bool = True) -> str:
        process = self.start(sys.executable, WORKER, *arguments)
        assert process.stdout
        text = process.stdout.read().decode()
        self.wait(process, counts=counts)
        return text

    def digest(self, *arguments: object, without: bytes = b"") -> Digest:
        """Lines and hash of what the tool prints, without something in the first line."""
        process = self.start(TOOL, *arguments)
        assert process.stdout
        first = process.stdout.readline()
        need(without in first, f"{arguments} does not say {without!r}")
        lines, hashed = 1, hashlib.sha256(first.replace(without, b""))
        while piece := process.stdout.read(1 << 20):
            lines += piece.count(b"\n")
            hashed.update(piece)
        self.wait(process, counts=self.counts_all)
        return lines, hashed.hexdigest()

    def lines(self, *arguments: object) -> Any:
        process = self.start(TOOL, *arguments)
        assert process.stdout
        yield from process.stdout
        self.wait(process, counts=self.counts_all)


class Sizes:
    def __init__(self, machine: Machine, source: pathlib.Path, is_large: bool) -> None:
        self.machine = machine
        self.source = source
        self.is_large = is_large
        #: A class of it.
        self.watched = "Doc" if is_large else "Flight"
        self.folder = machine.folder
        self.key = self.folder / "key"
        self.key.write_bytes(bytes(range(64)))
        self.other_key = self.folder / "other-key"
        self.other_key.write_bytes(bytes(range(64, 128)))
        self.dump: Digest = (0, "")
        #: Of the source, by class and columns.
        self.known: dict[tuple[str, ...], Digest] = {}
        self.passed = self.failed = 0

    # ------------------------------------------------------------------------------------------------ running

    def check(self, name: str, run: Callable[[], Optional[str]]) -> None:
        began, self.machine.peak = time.monotonic(), 0
        try:
            note = run()
            self.passed += 1
            outcome = "whole"
        except (Failed, OSError, ValueError, KeyError, IndexError) as error:
            self.failed += 1
            outcome, note = "FAILED", str(error)
        took = time.monotonic() - began
        text = f": {note}" if note else ""
        print(f"{name:34} {outcome}, {took:6.1f} s, peak {self.machine.peak / 1024:5.0f} MB{text}", flush=True)
        for left in self.folder.glob("try*"):
            if left.is_file() or left.is_symlink():
                left.unlink()

    def fresh(self, name: str = "try.motte") -> pathlib.Path:
        """A copy of the source by the system, which knows nothing of what is in it."""
        target = self.folder / name
        shutil.copyfile(self.source, target)
        return target

    def dumped(self, path: pathlib.Path, *key: object) -> Digest:
        return self.machine.digest("export", path, *key)

    def expect_same(self, path: pathlib.Path, *key: object) -> str:
        need(self.dumped(path, *key) == self.dump, f"{path.name} shows other objects")
        need("sound" in self.machine.tool("verify", path, *key), f"{path.name} is not sound")
        need(not [left for left in self.folder.iterdir() if re.search(r"-[0-9a-f]{16}$", left.name)], "a file was left")
        return f"{path.stat().st_size / 1e6:.1f} MB"

    # ------------------------------------------------------------------------------------------------ operations

    def all(self) -> None:
        self.check("verify, dump", self.look)
        self.check("compact", self.compact)
        self.check("compact beside others", self.compact_online)
        self.check("killed while compacting, copying", self.killed)
        self.check("compact on launch", self.compact_on_launch)
        self.check("copy", self.copy)
        self.check("copy with a key, another, none", self.keys)
        self.check("copy of a write", self.copy_of_a_write)
        self.check("seed", self.seed)
        self.check("export, import", self.export_and_import)
        self.check("SQLite", self.sqlite)
        self.check("Realm file", self.realm)
        self.check("salvage", self.salvage)
        self.check("delete all", self.delete_all)
        self.check("change all", self.change_all)
        self.check("read with little memory", self.read)
        self.check("with a hard limit of memory", self.limited)
        self.check("index building, removing", self.index_building)
        self.check("1.2 million rows at once", self.many_rows)
        self.check("change batches", self.batches)
        self.check("difference of two files", self.difference)
        self.check("unique values", self.unique)
        self.check("ordered indexes", self.ordered)
        self.migrations()

    def look(self) -> str:
        self.machine.counts_all = True
        need("sound" in self.machine.tool("verify", self.source), "it is not sound")
        self.dump = self.dumped(self.source)
        self.machine.counts_all = False
        return f"{self.source.stat().st_size / 1e6:.1f} MB, {self.dump[0]} lines"

    def compact(self) -> str:
        path = self.fresh()
        path.chmod(0o640)
        self.machine.tool("compact", path)
        need(path.stat().st_mode & 0o777 == 0o640, "it has another mode")
        note = self.expect_same(path)
        if not self.is_large:
            # Without the library: every page, every key and every value.
            note += ", " + self.machine.worker("compare", self.source, path, counts=False).strip()
        size = path.stat().st_size
        self.machine.tool("compact", path)
        self.expect_same(path)
        need(abs(path.stat().st_size - size) <= size // 100 + 65_536, "compacting again changes the size")
        return note

    def compact_online(self) -> str:
        path, rewritten = self.fresh(), self.folder / "try1.motte"
        self.machine.tool("copy", path, rewritten)
        before, shortest = path.stat().st_size, rewritten.stat().st_size
        # Others have it open, and show its newest version.
        other = self.machine.start(TOOL, "watch", path, self.watched)
        try:
            self.machine.tool("compact", path, "--online", "--max", "1M")
            self.machine.tool("compact", path, "--online")
        finally:
            other.kill()
            other.communicate()
        note = self.expect_same(path)
        self.machine.tool("compact", path, "--online")
        self.expect_same(path)
        size = path.stat().st_size
        need(size <= shortest * 1.1 + 1_000_000, f"{size} bytes are left of {before}, {shortest} would do")
        return f"{before / 1e6:.1f} to {note}, rewritten {shortest / 1e6:.1f}"

    def killed(self) -> str:
        """What a killed process leaves is the file as it was or as it is to be, and nothing that lasts."""
        path, copy = self.fresh(), self.folder / "try1.motte"
        began = time.monotonic()
        self.machine.tool("compact", path)
        took = time.monotonic() - began
        shutil.copyfile(self.source, path)
        kills = left = 0
        for part in (0.3, 0.6, 0.9):
            for command in (["compact", path], ["compact", path, "--online"], ["copy", path, copy]):
                process = self.machine.start(TOOL, *command)
                try:
                    process.communicate(timeout=took * part)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                left += len([name for name in os.listdir(self.folder) if re.search(r"-[0-9a-f]{16}$", name)])
                need(self.dumped(path) == self.dump, "the file shows other objects after a kill")
                if copy.exists():
                    need(self.dumped(copy) == self.dump, "a copy is not whole after a kill")
                    copy.unlink()
        self.machine.tool("copy", path, copy)
        self.machine.tool("compact", path)
        self.expect_same(copy)
        self.expect_same(path)
        return f"{kills} kills, {left} files left and removed"

    def compact_on_launch(self) -> str:
        path = self.fresh()
        self.machine.worker("launch", path)
        return self.expect_same(path)

    def copy(self) -> str:
        self.machine.tool("copy", self.source, self.folder / "try.motte")
        note = self.expect_same(self.folder / "try.motte")
        self.machine.tool("compact", self.folder / "try.motte")
        self.expect_same(self.folder / "try.motte")
        return note

    def keys(self) -> str:
        first, second, third = (self.folder / f"try{number}.motte" for number in (1, 2, 3))
        self.machine.tool("copy", self.source, first, "--new-key-file", self.key)
        self.expect_same(first, "--key-file", self.key)
        self.machine.tool("compact", first, "--key-file", self.key)
        self.expect_same(first, "--key-file", self.key)
        self.machine.tool("copy", first, second, "--key-file", self.key, "--new-key-file", self.other_key)
        first.unlink()
        self.expect_same(second, "--key-file", self.other_key)
        self.machine.tool("copy", second, third, "--key-file", self.other_key, "--plain")
        return self.expect_same(third)

    def copy_of_a_write(self) -> str:
        path = self.fresh()
        self.machine.worker("copy", path, self.folder / "try1.motte")
        self.expect_same(path)
        copied = self.folder / "try1.motte"
        count, hashed, added = 0, hashlib.sha256(), 0
        for line in self.machine.lines("export", copied):
            if b'"carrier":"??"' in line or b'"id":-1,' in line:
                added += 1
                continue
            count += 1
            hashed.update(line)
        need(added == 1 and (count, hashed.hexdigest()) == self.dump, "it shows other objects")
        need("sound" in self.machine.tool("verify", copied), "it is not sound")
        return "one object more"

    def seed(self) -> str:
        self.machine.worker("seed", self.source, self.folder / "try.motte")
        return self.expect_same(self.folder / "try.motte")

    def export_and_import(self) -> str:
        text, path = self.folder / "try.jsonl", self.folder / "try.motte"
        self.machine.tool("export", self.source, "--output", text, "--quiet")
        need(digest_of(text) == self.dump, "what was written is not what is printed")
        # In one transaction.
        self.machine.tool("import", path, text, "--quiet")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        need(self.dumped(path) == self.dump, "the import shows other objects")
        size = path.stat().st_size
        path.unlink()
        self.machine.tool("import", path, text, "--quiet", "--commit-every", "20000")
        need(self.dumped(path) == self.dump, "the import in parts shows other objects")
        return f"{text.stat().st_size / 1e6:.1f} MB of text, {size / 1e6:.1f} MB"

    def sqlite(self) -> str:
        """Out, looked at by another program, and back."""
        path, back = self.folder / "try.sqlite", self.folder / "try.motte"
        self.machine.tool("export", self.source, "--format", "sqlite", "--output", path, "--quiet")
        file = sqlite3.connect(path)
        classes = dict(re.findall(r"(?m)^class +(\w+): (\d+) objects", self.machine.tool("info", self.source)))
        need(len(classes) > 0, "no class was found")
        for name, count in classes.items():
            [(found,)] = file.execute(f'SELECT count(*) FROM "{name}"')
            need(found == int(count), f"{found} rows of {count} objects of {name}")
        if "Flight" in classes:
            # Over links, and as the columns beside them say it.
            joined = file.execute("""SELECT a.name, count(*) FROM Flight f JOIN Airline a ON f.airline = a.carrier
                GROUP BY a.carrier ORDER BY a.carrier""").fetchall()
            said = file.execute("""SELECT (SELECT name FROM Airline WHERE carrier = f.carrier), count(*) FROM Flight f
                GROUP BY carrier ORDER BY carrier""").fetchall()
            need(len(joined) > 1 and joined == said, "a join over links gives other rows")
        file.close()
        self.machine.tool("import", back, path, "--quiet")
        size = path.stat().st_size / 1e6
        path.unlink()
        return f"{size:.1f} MB in SQLite, " + self.expect_same(back)

    def realm(self) -> str:
        """A file of the peer's, made for it: in one transaction and in parts, every value compared."""
        path, found = self.folder / "try.realm", self.folder / "try.motte"
        count = (self.source.stat().st_size // 2 if self.is_large else 30_000_000) // realm_file.BYTES_OF_A_ROW
        count += count % realm_file.STRIDE == 0
        realm_file.make(path, count)
        began = time.monotonic()
        self.machine.tool("import", found, path, "--quiet")
        took = time.monotonic() - began
        need("sound" in self.machine.tool("verify", found), "it is not sound")
        dump = self.dumped(found)
        rows = self.machine.lines("export", found)
        next(rows)
        for row, line in enumerate(rows):
            said = json.loads(line)
            born = said.pop("born")
            seconds = datetime.datetime.fromisoformat(born[:19]).replace(tzinfo=datetime.timezone.utc).timestamp()
            nanoseconds = int(born[19:].strip(".Z").ljust(9, "0"))
            need((seconds, nanoseconds) == (row + 10 ** 9, row % 1000), f"row {row} has the time {born}")
            expected = {"$class": "Person", "$key": row, **realm_file.person(row, count)}
            need(said == expected, f"row {row} has other values: {said}")
        need(dump[0] == count + 1, f"{dump[0] - 1} of {count} objects were converted")
        found.unlink()
        self.machine.tool("import", found, path, "--quiet", "--commit-every", "20000")
        need(self.dumped(found) == dump, "the import in parts shows other objects")
        return f"{path.stat().st_size / 1e6:.1f} MB, {count} objects in {took:.1f} s"

    def salvage(self) -> str:
        path = self.folder / "try.jsonl"
        self.machine.tool("salvage", self.source, "--output", path)
        # Links go by keys and embedded objects are on lines of their own in one of them: the rest is compared.
        exported = Sum()
        classes: set[str] = set()
        for line in self.machine.lines("export", self.source):
            row = json.loads(line)
            if "$class" in row:
                name = row.pop("$class")
                row.pop("$key", None)
                classes.add(name)
                exported.add(name, row)
        found, others = Sum(), 0
        with path.open("rb") as lines:
            for line in lines:
                row = json.loads(line)
                if row["class"] in classes:
                    found.add(row["class"], row["values"])
                else:
                    others += 1
        need(found.count == exported.count, f"{found.count} of {exported.count} objects were salvaged")
        need(found.total == exported.total, "what was salvaged has other values")
        return f"{found.count} objects, {others} embedded ones"

    def delete_all(self) -> str:
        path = self.fresh()
        self.machine.worker("delete-and-cancel", path)
        self.expect_same(path)
        self.machine.worker("delete", path)
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        need(self.dumped(path)[0] == 1, "there are objects left")
        self.machine.tool("compact", path)
        need(path.stat().st_size < 200_000, f"{path.stat().st_size} bytes are left")
        # What was deleted can come again.
        self.machine.tool("export", self.source, "--output", self.folder / "try.jsonl", "--quiet")
        self.machine.tool("import", path, self.folder / "try.jsonl", "--quiet")
        need(self.dumped(path) == self.dump, "the second import shows other objects")
        return "and imported again"

    def change_all(self) -> str:
        path = self.fresh()
        self.machine.worker("rewrite", path)
        return self.expect_same(path)

    def read(self) -> str:
        path = self.fresh()
        note = self.machine.worker("read", path).strip()
        need(self.expect_same_values(path, {}) > 0, "it has no properties")
        return note

    def limited(self) -> str:
        """More than twenty times the budget, in processes that get no more memory of their own from the system. Such a
        limit counts address space, of which a large file takes as much as it has: there the most they had is looked at.
        """
        budget, most = (32 << 20, 256 << 20) if self.is_large else (1 << 20, 64 << 20)
        need(self.source.stat().st_size > 20 * budget, "the file is too small for that")
        path, copy, text = self.fresh(), self.folder / "try1.motte", "body" if self.is_large else "dest_code"
        count = int(self.machine.tool("query", path, self.watched, "TRUEPREDICATE", "--count"))
        self.machine.limits = budget, resource.RLIM_INFINITY if self.is_large else most
        self.machine.peak, self.machine.counts_all = 0, True
        try:
            need("sound" in self.machine.tool("verify", path), "it is not sound")
            need(self.dumped(path) == self.dump, "another dump")
            for query, found in [(f"{text} CONTAINS 'not there'", 0), (f"SORT({text} DESC) OFFSET({count - 9})", 9)]:
                need(int(self.machine.tool("query", path, self.watched, query, "--count")) == found, f"{query}: others")
            self.machine.tool("copy", path, copy)
            self.machine.tool("compact", path)
            schema, line = self.machine.tool("schema", path), f"\n    {text}: string"
            (self.folder / "try.txt").write_text(schema.replace(line, f"{line} indexed", 1))
            self.machine.tool("migrate", copy, self.folder / "try.txt", "--schema-version", "77")
        finally:
            self.machine.limits, self.machine.counts_all = None, False
        need(self.machine.peak << 10 < most, f"{self.machine.peak >> 10} MB were taken")
        self.expect_same_values(copy, {})
        need("sound" in self.machine.tool("verify", copy), "what was migrated is not sound")
        return self.expect_same(path)

    def many_rows(self) -> str:
        """More entries than an index keeps at hand in one write."""
        path, rows = self.folder / "try.motte", self.folder / "try.csv"
        count, scattered = 1_200_000, 7_919
        with rows.open("w") as text:
            text.write("id,n,group\n")
            text.writelines(f"{number * scattered % count},{number},{number % 977}\n" for number in range(count))
        schema = "Tick { id: int key, n: int indexed, group: int indexed }"
        self.machine.tool("import", path, "Tick", rows, "--schema", schema, "--quiet")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        for query, found in [("TRUEPREDICATE", count), ("group == 976", count // 977), ("id < 5000", 5_000),
                             (f"n == {count - 1}", 1), ("n >= 1000000", 200_000)]:
            need(int(self.machine.tool("query", path, "Tick", query, "--count")) == found, f"{query} finds others")
        need(int(self.machine.tool("query", path, "Tick", "--sum", "n")) == count * (count - 1) // 2, "another sum")
        before = self.machine.digest("export", path, "Tick", "--format", "csv")
        need(before == digest_of(rows), "other rows than were imported")
        self.machine.tool("compact", path)
        need(self.machine.digest("export", path, "Tick", "--format", "csv") == before, "compacting changed them")
        return f"{path.stat().st_size / 1e6:.1f} MB"

    def batches(self) -> str:
        """Everything as one batch into a new file, then changes of very many objects."""
        path, copy = self.fresh(), self.folder / "try1.motte"
        first, later = self.folder / "try1.batch", self.folder / "try2.batch"
        self.machine.tool("changes", path, "--keep")
        self.machine.tool("changes", path, "--output", first)
        self.machine.tool("apply", copy, first)
        # Keys are each file's own: compared are the values.
        self.expect_copy(path, copy)
        self.machine.worker("edit", path)
        self.machine.tool("changes", path, "--for", copy, "--output", later)
        self.machine.tool("apply", copy, later)
        self.expect_copy(path, copy)
        need("passed over" in self.machine.tool("apply", copy, later), "a batch was applied twice")
        self.expect_copy(path, copy)
        sizes = [batch.stat().st_size / 1e6 for batch in (first, later)]
        for batch in (first, later):
            batch.unlink()
        return f"{sizes[0]:.1f} and {sizes[1]:.1f} MB"

    def difference(self) -> str:
        """What leads to a file of which very many objects were changed, applied to a copy of the first; and back."""
        first, second, batch = self.fresh(), self.folder / "try1.motte", self.folder / "try1.batch"
        self.machine.tool("copy", first, second)
        self.machine.worker("edit", second)
        self.machine.tool("diff", first, second, "--output", batch, expect=1)
        size = batch.stat().st_size / 1e6
        copy = self.folder / "try2.motte"
        self.machine.tool("copy", first, copy)
        self.machine.tool("apply", copy, batch)
        self.expect_copy(second, copy)
        need(self.machine.tool("apply", copy, batch, expect=1) != "", "a difference was applied twice")
        self.machine.tool("apply", copy, batch, "--inverse")
        self.expect_copy(first, copy)
        batch.unlink()
        return f"{size:.1f} MB"

    def expect_copy(self, source: pathlib.Path, copy: pathlib.Path) -> None:
        need("sound" in self.machine.tool("verify", copy), "the copy is not sound")
        sums: list[Sum] = []
        for path in (source, copy):
            found = Sum()
            for line in self.machine.lines("export", path):
                row = json.loads(line)
                if "$class" in row:
                    row.pop("$key", None)
                    # Links to what has no primary key go by keys.
                    found.add(row.pop("$class"), row)
            sums.append(found)
        need(sums[0].count == sums[1].count, f"{sums[1].count} of {sums[0].count} objects")
        need(sums[0].total == sums[1].total, "the copy shows other values")

    def unique(self) -> str:
        """Unique texts: more than is kept at hand, built over rows, refused where two are the same."""
        path, rows = self.folder / "try.motte", self.folder / "try.csv"
        count, scattered = 300_000, 7_919
        names = [f"{number * scattered % count:09d} of a name that is long" for number in range(count)]
        with rows.open("w") as text:
            text.write("id,name\n")
            text.writelines(f"{number},{name}\n" for number, name in enumerate(names))
        schema = "Person { id: int key, name: string unique }"
        self.machine.tool("import", path, "Person", rows, "--schema", schema, "--quiet")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        before = self.machine.digest("export", path, "Person", "--format", "csv")
        need(before == digest_of(rows), "other rows than were imported")
        # A row that comes last has a name of the first: nothing of its write stays.
        with rows.open("a") as text:
            text.write(f"{count},{names[0]}\n")
        other = self.folder / "try1.motte"
        said = self.machine.tool("import", other, "Person", rows, "--schema", schema, "--quiet", expect=1)
        need("name" in said and not other.exists() or self.machine.digest(
            "export", other, "Person", "--format", "csv")[0] == 1, f"half of an import stayed: {said}")
        for query, found in [("name BEGINSWITH '00000'", 10_000), (f"name == '{names[7]}'", 1),
                             ("name >= '000299000'", 1_000)]:
            need(int(self.machine.tool("query", path, "Person", query, "--count")) == found, f"{query} finds others")
        self.machine.tool("compact", path)
        need(self.machine.digest("export", path, "Person", "--format", "csv") == before, "compacting changed them")
        return f"{path.stat().st_size / 1e6:.1f} MB"

    def ordered(self) -> str:
        """Indexes of several properties, folded and unique, built over rows that are there; refused where two are the
        same; and out again."""
        path, rows, schema = self.folder / "try.motte", self.folder / "try.csv", self.folder / "try.txt"
        path.unlink(missing_ok=True)
        count, scattered, cities = 300_000, 7_919, 500
        people = [(number, ("Name", "NAME", "name")[number % 3] + f" {number * scattered % 1_000}", number % cities,
                   number // cities) for number in range(count)]
        with rows.open("w") as text:
            text.write("id,name,city,rank\n")
            text.writelines(",".join(map(str, row)) + "\n" for row in people)
        plain = "Person { id: int key, name: string, city: int, rank: int }"
        self.machine.tool("import", path, "Person", rows, "--schema", plain, "--quiet")
        before = self.machine.digest("export", path, "Person", "--format", "csv")
        need(before == digest_of(rows), "other rows than were imported")
        # The ranks of a city are different, the names are not: nothing stays of a build that is refused.
        schema.write_text(plain.replace(" }", ", unique(name, city) }"))
        said = self.machine.tool("migrate", path, schema, "--schema-version", "2", expect=1)
        need("unique" in said, f"two with the same values are no error: {said}")
        need(self.machine.digest("export", path, "Person", "--format", "csv") == before, "a refused build changed rows")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        declared = "indexed(name [c], rank desc), unique(city, rank), indexed(rank desc, name)"
        schema.write_text(plain.replace(" }", f", {declared} }}"))
        self.machine.tool("migrate", path, schema, "--schema-version", "2")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        ranks = count // cities
        folded = collections.Counter(name.lower() for _, name, _, _ in people)
        for query, found in [
            ("name ==[c] 'nAmE 7'", folded["name 7"]),
            ("name BEGINSWITH[c] 'NAME 99'", sum(n for name, n in folded.items() if name.startswith("name 99"))),
            ("name == 'Name 7'", sum(name == "Name 7" for _, name, _, _ in people)),
            ("city == 7 AND rank >= 100", ranks - 100), ("rank < 2", 2 * cities),
            ("TRUEPREDICATE DISTINCT(city)", cities), ("TRUEPREDICATE DISTINCT(rank)", ranks),
            ("name ==[c] 'name 7' DISTINCT(rank)", len({rank for _, name, _, rank in people if name[5:] == "7"})),
        ]:
            need(int(self.machine.tool("query", path, "Person", query, "--count")) == found, f"{query} finds others")
        with rows.open("a") as text:
            text.write(f"{count},again,7,7\n")
        self.machine.tool("import", path, "Person", rows, "--update", "modified", "--quiet", expect=1)
        need(self.machine.digest("export", path, "Person", "--format", "csv") == before, "half of an import stayed")
        self.machine.tool("compact", path)
        need("sound" in self.machine.tool("verify", path), "compacting left it unsound")
        need(self.machine.digest("export", path, "Person", "--format", "csv") == before, "compacting changed rows")
        size = path.stat().st_size
        schema.write_text(plain)
        self.machine.tool("migrate", path, schema, "--schema-version", "3")
        need(self.machine.digest("export", path, "Person", "--format", "csv") == before, "dropping them changed rows")
        return f"{size / 1e6:.1f} MB, {count} rows, three indexes"

    # ------------------------------------------------------------------------------------------------ migrations

    def values(self, path: pathlib.Path, name: str, columns: list[str]) -> Digest:
        """A hash of what these properties have in all objects of a class, without their names."""
        if path == self.source and (found := self.known.get((name, *columns))):
            return found
        hashed, count = hashlib.sha256(), 0
        rows = self.machine.lines("export", path, name, "--format", "csv", "--columns", ",".join(columns))
        next(rows)
        for row in rows:
            hashed.update(row)
            count += 1
        digest = count, hashed.hexdigest()
        if path == self.source:
            self.known[(name, *columns)] = digest
        return digest

    def expect_same_values(self, path: pathlib.Path, renamed: dict[str, Optional[str]]) -> int:
        """Every property of single values is as it was, under its new name; None: it is not."""
        same = 0
        for name, columns in properties(self.machine.tool("schema", self.source)).items():
            new_name = renamed.get(name, name)
            if new_name is None:
                continue
            kept = [(column, target.partition(".")[2]) for column in columns
                    if (target := renamed.get(f"{name}.{column}", f"{new_name}.{column}"))]
            before = self.values(self.source, name, [column for column, _ in kept])
            after = self.values(path, new_name, [column for _, column in kept])
            need(before == after, f"{name} has other values, or another order")
            same += len(kept)
        return same

    def migrations(self) -> None:
        text = self.machine.tool("schema", self.source)
        for name, change, options, renamed in (LARGE if self.is_large else DEMO):
            self.check(f"migrate: {name}", lambda: self.migrate(text, change, options, renamed))

    def migrate(self, text: str, change: Callable[[str], str], options: tuple[str, ...],
                renamed: dict[str, Optional[str]]) -> str:
        path, schema = self.fresh(), self.folder / "try.txt"
        schema.write_text(change(text))
        need(schema.read_text() != text, "the schema is the same")
        self.machine.tool("migrate", path, schema, *options, "--schema-version", "77", "--dry-run")
        need(self.is_large or path.read_bytes() == self.source.read_bytes(), "the dry run changed it")
        self.machine.tool("migrate", path, schema, *options, "--schema-version", "77")
        same = self.expect_same_values(path, renamed)
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        dump = self.dumped(path)
        self.machine.tool("compact", path)
        need(self.dumped(path) == dump, "compacting changed it")
        return f"{same} properties the same"

    def index_building(self) -> str:
        path, schema = self.fresh(), self.folder / "try.txt"
        name, column = self.watched, "label" if self.is_large else "tailnum"
        text = self.machine.tool("schema", path)
        schema.write_text(re.sub(rf"(\n    {column}: [a-z]+\??),", r"\1 indexed,", text, count=1))
        need(schema.read_text() != text, "the property has an index already")
        if not self.is_large:
            # Not that of Plane, which comes before.
            schema.write_text(re.sub(r"(\n    tailnum: string\?),", r"\1 indexed,", text))
        self.machine.tool("migrate", path, schema, "--schema-version", "77")
        rows = csv.reader(line.decode() for line in
                          self.machine.lines("export", path, name, "--format", "csv", "--columns", column))
        next(rows)
        counts = collections.Counter(row[0] if row else "" for row in rows)
        values = [value for value, _ in counts.most_common(5)] + sorted(counts)[:: max(1, len(counts) // 20)]
        for value in values:
            if value in ("", "NA"):
                continue
            found = int(self.machine.tool("query", path, name, f"{column} == $0", value, "--count"))
            need(found == counts[value], f"the index finds {found} of {counts[value]} with {column} {value}")
        need("index" in self.machine.tool("query", path, name, f"{column} == $0", values[0], "--explain"), "no index")
        self.expect_same_values(path, {})
        # And gone again.
        schema.write_text(text)
        self.machine.tool("migrate", path, schema, "--schema-version", "78")
        dump = self.machine.digest("export", path, without=b'"schema_version":78,')
        need(dump == self.dump, "without the index it shows other objects")
        need("sound" in self.machine.tool("verify", path), "it is not sound")
        return f"{len(counts)} values, {len(values)} looked up"


class Sum:
    """Of objects in any order: how many, and a number that all their values make. Links are left out."""

    def __init__(self) -> None:
        self.count = self.total = 0

    def add(self, name: str, values: dict[str, Any]) -> None:
        links = LINKS.get(name, ())
        kept = {key: bare(value) for key, value in values.items() if key not in links}
        text = repr((name, kept))
        self.count += 1
        self.total = (self.total + int.from_bytes(hashlib.md5(text.encode()).digest(), "big")) & (1 << 128) - 1


def bare(value: Any) -> Any:
    """Without what says of which kind it is, as in {"$date": "2013-01-01T10:00:00Z"}."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return next(iter(value.values()))
        return {key: bare(part) for key, part in value.items()}
    return [bare(part) for part in value] if isinstance(value, list) else value


#: Properties that lead to other objects.
LINKS = {
    "Plane": {"history"}, "Weather": {"airport"}, "Flight": {"airline", "plane", "origin", "destination"},
    "Doc": {"parts", "next"},
}


def digest_of(path: pathlib.Path) -> Digest:
    lines, hashed = 0, hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            lines += piece.count(b"\n")
            hashed.update(piece)
    return lines, hashed.hexdigest()


def properties(schema: str) -> dict[str, list[str]]:
    """Properties of single values, by class; embedded classes are left out."""
    found: dict[str, list[str]] = {}
    for name, body in re.findall(r"^(\w+) \{\n(.*?)^\}", schema, re.MULTILINE | re.DOTALL):
        found[name] = [column for column, kind in re.findall(r"^    (\w+): (\w+)", body, re.MULTILINE)
                       if kind in ("int", "string", "double", "float", "bool", "timestamp", "data", "mixed")]
    return found


def replacing(pattern: str, by: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, by, text, count=1, flags=re.MULTILINE)


Change = tuple[str, Callable[[str], str], tuple[str, ...], dict[str, Optional[str]]]
DEMO: list[Change] = [
    ("add properties", replacing(r"^Flight \{\n", "Flight {\n    remark: string?,\n    marks: list<int>,\n"), (), {}),
    ("remove a property", replacing(r"^    arr_time: int\?,\n", ""), (), {"Flight.arr_time": None}),
    ("rename a property", replacing(r"^    dep_delay: ", "    late: "), ("--rename", "Flight.dep_delay=late"),
     {"Flight.dep_delay": "Flight.late"}),
    ("rename a class", lambda text: re.sub(r"\bWeather\b", "Climate", text), ("--rename", "Weather=Climate"),
     {"Weather": "Climate"}),
    ("make optional", replacing(r"^    distance: int,", "    distance: int?,"), (), {}),
    ("make required", replacing(r"^    air_time: int\?,", "    air_time: int,"), (), {"Flight.air_time": None}),
    ("change a type", replacing(r"^    minute: int,", "    minute: string,"), (), {"Flight.minute": None}),
    ("add an index", replacing(r"^    tailnum: string\?,", "    tailnum: string? indexed,"), (), {}),
    ("delete a class", lambda text: re.sub(r"\n    weather: inverse<[^\n]*", "", re.sub(
        r"^Weather \{.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)), ("--delete", "Weather"),
     {"Weather": None}),
    ("remove a primary key", replacing(r"^    carrier: string key,", "    carrier: string,"), (), {}),
]
LARGE: list[Change] = [
    ("add properties", replacing(r"^Doc \{\n", "Doc {\n    remark: string?,\n    marks: list<int>,\n"), (), {}),
    ("remove a long text", replacing(r"^    body: string,\n", ""), (), {"Doc.body": None}),
    ("rename a long text", replacing(r"^    body: ", "    content: "), ("--rename", "Doc.body=content"),
     {"Doc.body": "Doc.content"}),
    ("make optional", replacing(r"^    body: string,", "    body: string?,"), (), {}),
    ("change a type", replacing(r"^    number: int,", "    number: string,"), (), {"Doc.number": None}),
]


def bytes_of(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not found:
        raise argparse.ArgumentTypeError("a number of bytes is meant, or 200M or 2G")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=pathlib.Path, default=ROOT / "build" / "demo" / "flights.motte")
    parser.add_argument("--size", type=bytes_of, help="make a file of that size instead")
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; needs seven times the size of the file")
    arguments = parser.parse_args()
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="motte-size-", dir=arguments.folder) as folder:
        machine = Machine(pathlib.Path(folder))
        source = machine.folder / "source.motte"
        if arguments.size:
            began = time.monotonic()
            print(machine.worker("build", source, arguments.size).strip() +
                  f", {time.monotonic() - began:.1f} s, peak {machine.peak / 1024:.0f} MB", flush=True)
        else:
            shutil.copyfile(arguments.file, source)
            # A third of the rows goes, so that there is free space and there are deleted rows.
            machine.worker("thin", source)
        sizes = Sizes(machine, source, bool(arguments.size))
        sizes.all()
        print(f"{sizes.passed} operations of real size agree with their source")
        print(f"{sizes.passed} passed, {sizes.failed} failed")
        return 1 if sizes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
