"""A file that has reached its `max_file_size`: objects can be deleted one by one, and then there is room again."""
from __future__ import annotations

import os
import pathlib
import random as random_numbers
import subprocess
import sys

import pytest

import motte
from motte import errors


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    group: int = motte.field(indexed=True)
    body: str


@pytest.mark.parametrize(("rows", "size"), [(16, 400), (1_000, 400), (1_000, 3_000)])
def test_deleting_one_by_one(tmp_path: pathlib.Path, rows: int, size: int) -> None:
    path = tmp_path / "full.motte"
    with motte.open(path, schema=[Row], max_file_size=2 << 20, durability="none", row_group_size=rows) as db:

        def fill(first: int) -> int:
            for number in range(first, 100_000):
                try:
                    with db.write():
                        db.add(Row(id=number, group=number % 7, body=f"{number}" * (size // len(str(number)))))
                except errors.MapFullError:
                    return number
            raise AssertionError("it is never full")

        count = fill(0)
        assert count * size > 500_000
        left = set(range(count))
        # From all row groups in turn, so that none goes whole.
        for number in sorted(left, key=lambda number: (number * 7_919) % 10_007)[:200]:
            with db.write():
                db.delete(db.one(Row, number))
            left.discard(number)
        assert db.count(Row) == len(left) and {row.id for row in db.objects(Row)} == left
        # Rows of a group give up their room together.
        with db.write():
            db.delete(db.objects(Row).where("id < $0", count // 2))
        left = {number for number in left if number >= count // 2}
        more = fill(count)
        assert more > count and db.verify().is_sound
    with motte.open(path, schema=[Row]) as db:
        assert db.count(Row) == len(left) + more - count


def text(random: random_numbers.Random, number: int, sizes: list[int]) -> str:
    return f"{number} " * max(1, random.choice(sizes) // 5)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize(("megabytes", "durability", "sizes"), [
    (1, "none", [20, 300, 2_400]), (2, "relaxed", [80, 5_000]), (4, "full", [80, 400, 2_400]),
    (16, "none", [80, 400, 3_900])])
def test_a_cache_evicts_and_refills(
        tmp_path: pathlib.Path, megabytes: int, durability: str, sizes: list[int], encrypted: bool) -> None:
    """Texts of different lengths leave free pages in pieces, and row groups are written in one piece."""
    random = random_numbers.Random(megabytes)
    key = b"k" * 64 if encrypted else None
    path = tmp_path / "cache.motte"
    with motte.open(path, schema=[Row], max_file_size=megabytes << 20, durability=durability,
                    encryption_key=key) as db:
        first = count = rounds = 0
        while rounds < 60:
            try:
                with db.write():
                    for number in range(count, count + 10 * megabytes):
                        db.add(Row(id=number, group=number % 7, body=text(random, number, sizes)))
                count += 10 * megabytes
            except errors.MapFullError:
                # In a file that is full this never is.
                with db.write():
                    db.delete(db.objects(Row).where("id < $0", first + 30))
                first += 30
                rounds += 1
        assert db.count(Row) == count - first and db.file_size <= (megabytes << 20) * 2 + (8 << 20)
        for number in range(first, first + 100):
            with db.write():
                db.delete(db.one(Row, number))
        assert db.count(Row) == count - first - 100 and db.verify().is_sound


def test_a_reader_keeps_pages_for_a_while(tmp_path: pathlib.Path) -> None:
    random = random_numbers.Random(3)
    path = tmp_path / "pinned.motte"
    with motte.open(path, schema=[Row], max_file_size=2 << 20, durability="none") as db:
        count = 0
        try:
            while True:
                with db.write():
                    db.add(Row(id=count, group=count % 7, body=text(random, count, [80, 400, 2_400])))
                count += 1
        except errors.MapFullError:
            pass
        frozen = db.freeze()
        first = 0
        while first < 100:
            with db.write():
                db.delete(db.one(Row, first))
            first += 1
        assert frozen.count(Row) == count
        frozen.close()
        while first < count:
            with db.write():
                db.delete(db.one(Row, first))
            first += 1
        assert db.count(Row) == 0 and db.verify().is_sound


def test_a_file_larger_than_its_limit(tmp_path: pathlib.Path) -> None:
    random = random_numbers.Random(4)
    path = tmp_path / "large.motte"
    with motte.open(path, schema=[Row], durability="none") as db:
        with db.write():
            for number in range(5_000):
                db.add(Row(id=number, group=number % 7, body=text(random, number, [80, 400, 2_400])))
        size = db.file_size
    with motte.open(path, schema=[Row], durability="none", max_file_size=1 << 20) as db:
        with pytest.raises(errors.MapFullError, match="1048576"):
            with db.write():
                for number in range(5_000, 5_500):
                    db.add(Row(id=number, group=0, body=text(random, number, [2_400])))
        for number in range(0, 5_000, 100):
            with db.write():
                db.delete(db.one(Row, number))
        db.compact_online()
        with db.write():
            db.delete(db.objects(Row).where("id < 4900"))
        db.compact_online()
        assert db.file_size < 1 << 20 < size and db.count(Row) == 99
        with db.write():
            db.add(Row(id=9_999, group=0, body="there is room"))
        assert db.verify().is_sound


def test_another_process_makes_it_longer(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "shared.motte"
    program = (
        "import motte, sys\n"
        "with motte.open(sys.argv[1]) as db, db.write():\n"
        "    Row = db.model('Row')\n"
        "    db.add_all(Row(id=number, group=1, body=f'{number}' * 500) for number in range(10, 3000))\n")
    with motte.open(path, schema=[Row], durability="none", max_file_size=1 << 20) as db:
        with db.write():
            db.add_all(Row(id=number, group=0, body="x") for number in range(10))
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
        db.refresh()
        assert db.count(Row) == 3_000 and len(db.one(Row, 2_999).body) == 2_000 and db.file_size > 4 << 20
        with pytest.raises(errors.MapFullError), db.write():
            db.add_all(Row(id=number, group=0, body="x" * 2_000) for number in range(3_000, 4_000))
        for number in range(0, 3_000, 10):
            with db.write():
                db.delete(db.one(Row, number))
        with db.write():
            db.objects(Row).first().group = 5
        assert db.count(Row) == 2_700 and db.verify().is_sound


def fill(db: motte.Database, first: int, size: int) -> int:
    """Objects until the file is full; the number of the next one."""
    random = random_numbers.Random(first)
    number = first
    try:
        while True:
            with db.write():
                db.add(Row(id=number, group=number % 7, body=random.randbytes(size // 2).hex()))
            number += 1
    except errors.MapFullError:
        return number


@pytest.mark.parametrize("many", [1, 10, 200])
@pytest.mark.parametrize(("size", "megabytes"), [(200, 2), (2_000, 2), (2_000, 4)])
def test_values_of_the_same_size_replace_others(tmp_path: pathlib.Path, many: int, size: int, megabytes: int) -> None:
    """Whose change records, in which texts are as they were, need room as well."""
    path = tmp_path / "full.motte"
    for _ in range(2):
        with motte.open(path, schema=[Row], max_file_size=megabytes << 20, durability="none") as db:
            count = fill(db, db.count(Row), size)
            for turn in range(40):
                with db.write():
                    for index in range(many):
                        row = db.one(Row, (turn * 211 + index) % count)
                        row.body = row.body[::-1]
            assert db.file_size <= 24 << 20 and db.verify().is_sound


def test_shorter_values_of_wide_rows(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "full.motte", schema=[Row], max_file_size=1 << 20) as db:
        fill(db, 0, 2_000)
        for number in range(40):
            with db.write():
                db.one(Row, number).body = "y" * (1_990 - number)


def test_a_deletion_lets_nothing_else_in(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "full.motte"
    with motte.open(path, schema=[Row], durability="none") as db, db.write():
        db.add_all(Row(id=number, group=0, body="") for number in range(3_000))
    for turn in range(3):
        with motte.open(path, schema=[Row], max_file_size=1 << 20, durability="none") as db:
            fill(db, 10_000 * (turn + 1), 4_000)
            for step in range(10):
                with pytest.raises(errors.MapFullError), db.write():
                    db.delete(db.one(Row, 100 * turn + step))
                    db.one(Row, 2_999).body = "y" * 400_000
            assert sum(len(row.body) for row in db.objects(Row)) < 1_100_000 and db.file_size <= 10 << 20


def test_lists_do_not_grow_for_ever(tmp_path: pathlib.Path) -> None:
    class Diary(motte.Model):
        id: int = motte.field(primary_key=True)
        lines: list[str]

    path = tmp_path / "full.motte"
    lines = 0
    with motte.open(path, schema=[Diary], max_file_size=1 << 20, durability="none") as db:
        with db.write():
            db.add(Diary(id=1))
        try:
            while lines < 10_000:
                with db.write():
                    db.one(Diary, 1).lines.append(f"{lines} " * 100)
                lines += 1
        except errors.MapFullError:
            pass
        assert 1_000 < lines < 4_000 and len(db.one(Diary, 1).lines) == lines
        with db.write():
            db.one(Diary, 1).lines.clear()
        assert db.verify().is_sound


def test_small_commits_of_another_process_let_nothing_in(tmp_path: pathlib.Path) -> None:
    """What they leave in the log goes into the tree with the next commit."""
    path = tmp_path / "shared.motte"
    program = (
        "import motte, sys\n"
        "with motte.open(sys.argv[1]) as db:\n"
        "    for line in sys.stdin:\n"
        "        with db.write(): db.one('Row', 3).body = line\n"
        "        print('done', flush=True)\n")
    with motte.open(path, schema=[Row]) as db, db.write():
        random = random_numbers.Random(1)
        db.add_all(Row(id=number, group=0, body=random.randbytes(2_500).hex()) for number in range(400))
    with subprocess.Popen([sys.executable, "-c", program, str(path)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        with motte.open(path, schema=[Row], max_file_size=1 << 20) as db:
            for turn in range(30):
                print(turn, file=other.stdin, flush=True)
                assert other.stdout.readline() == "done\n"
                with pytest.raises(errors.MapFullError), db.write():
                    db.add(Row(id=1_000 + turn, group=0, body="z" * 40_000))
                with db.write():
                    db.delete(db.one(Row, 10 + turn))
        other.stdin.close()


@pytest.mark.parametrize("reopened", [False, True])
def test_what_nobody_needs_leaves_the_change_log(tmp_path: pathlib.Path, reopened: bool) -> None:
    path = tmp_path / "full.motte"
    db = motte.open(path, schema=[Row], max_file_size=1 << 20, durability="none")
    with db.write():
        db.add_all(Row(id=number, group=0, body=f"{number}" * 25) for number in range(50))
    db.keep_changes(db.version)
    with pytest.raises(errors.MapFullError):
        for turn in range(10_000):
            with db.write():
                for number in range(50):
                    db.one(Row, number).body = f"{number}-{turn} " * 60
    db.keep_changes(None)
    if reopened:
        db.close()
        db = motte.open(path, schema=[Row], max_file_size=1 << 20, durability="none")
    for number in range(50, 100):
        with db.write():
            db.add(Row(id=number, group=0, body="x" * 3_000))
    assert db.count(Row) == 100 and db.verify().is_sound
    db.close()


@pytest.mark.parametrize("durability", ["full", "relaxed", "none"])
def test_a_refused_write_leaves_the_file_as_long_as_it_was(tmp_path: pathlib.Path, durability: str) -> None:
    path = tmp_path / "full.motte"
    random = random_numbers.Random(2)

    def rows(first: int, count: int) -> list[Row]:
        return [Row(id=first + number, group=0, body=random.randbytes(2_000).hex()) for number in range(count)]

    with motte.open(path, schema=[Row], max_file_size=8 << 20, durability=durability, memory=1 << 20) as db:
        with db.write():
            db.add_all(rows(0, 1_500))
        with db.write():
            db.one(Row, 0).group = 1
        size = path.stat().st_size
        for _ in range(2):
            with pytest.raises(errors.MapFullError), db.write():
                db.add_all(rows(10_000, 1_000))
            assert path.stat().st_size <= size


def test_a_large_write_lies_beside_its_file(tmp_path: pathlib.Path) -> None:
    """Also where a character would join the name and the slash before it."""
    for name in ("f.motte", "\u0301f.motte"):
        with motte.open(tmp_path / name, schema="Row { id: int key, a: int }", memory=65_536) as db, db.write():
            db.insert_columns("Row", {"id": list(range(300_000)), "a": list(range(300_000))})
            links = [pathlib.Path("/proc/self/fd") / each for each in os.listdir("/proc/self/fd")]
            open_files = [os.readlink(link) for link in links if link.is_symlink()]
            spilled = [each for each in open_files if ".motte-spill" in each]
            assert spilled and {os.path.dirname(each) for each in spilled} == {str(tmp_path)}
