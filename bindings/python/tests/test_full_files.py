"""A file that has reached its `max_file_size`: objects can be deleted one by one, and then there is room again."""
from __future__ import annotations

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
        assert db.count(Row) == count - first and db.file_size <= (megabytes << 20) * 3 // 2 + (4 << 20)
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
