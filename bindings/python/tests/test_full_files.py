"""A file that has reached its `max_file_size`: objects can be deleted one by one, and then there is room again."""
from __future__ import annotations

import pathlib

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
