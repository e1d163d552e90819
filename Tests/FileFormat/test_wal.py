"""WALs by the document of the file format: made by hand, byte by byte, and found by the reader that knows nothing
else."""
from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Optional

import pytest

import motte

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reader

PAGE = 4096
SALT = 0x0123_4567_89AB_CDEF
Entries = dict[bytes, Optional[bytes]]


@pytest.fixture(autouse=True)
def no_wal() -> Iterator[None]:
    os.environ["MOTTE_WAL_PAGES"] = "0"
    yield
    del os.environ["MOTTE_WAL_PAGES"]


def record(version: int, before: int, entries: Entries, salt: int = SALT, cipher: Optional[reader.Cipher] = None,
           page: int = 0) -> bytes:
    """A record in its pages; encrypted for the page that it will begin with. None in place of a value deletes."""
    body = b""
    for key, value in sorted(entries.items()):
        entry = struct.pack("<HHI", len(key), value is None, len(value or b"")) + key + (value or b"")
        body += entry + bytes(-len(entry) % 8)
    inside = struct.pack("<II", len(entries), 0) + body
    size = 40 + len(inside)
    if cipher:
        size = -(-(size + 32 + 16) // PAGE) * PAGE - 16
    clear = b"MTJR" + struct.pack("<IQQQ", size, version, salt, before)
    if cipher:
        inside = cipher.seal(4, page, version, size, inside + bytes(size - 72 - len(inside)), clear)
    tail = clear + inside
    whole = struct.pack("<Q", reader.xxh3(tail)) + tail
    return whole + bytes(-(len(whole) + 16) % PAGE) + struct.pack("<QQ", salt, version)


class Course:
    """What the library made of a file, commit by commit: the root of the first, and what each other one changed."""

    def __init__(self, directory: pathlib.Path, key: Optional[bytes] = None) -> None:
        self.key = key
        self.path = directory / "made.motte"
        base = directory / "base.motte"
        states: list[dict[bytes, bytes]] = []
        for number in range(4):
            with motte.open(base, schema="Doc { id: int key, text: string }", encryption_key=key) as db, db.write():
                doc = db.model("Doc")
                if number == 0:
                    for first in range(40):
                        db.add(doc(id=first, text=f"text {first}"))
                else:
                    db.get(doc, number).text = "changed " * 300 * number
                    db.delete(db.get(doc, number + 10))
                    db.add(doc(id=100 + number, text="new"))
            if number == 0:
                self.base = base.read_bytes()
            found = reader.Reader(str(base), key)
            if number == 0:
                self.cipher = found.pages.cipher
            states.append(found.entries)
        self.states = states
        self.version = self.version_of(states[0])

    @staticmethod
    def version_of(entries: dict[bytes, bytes]) -> int:
        return int(struct.unpack_from("<Q", entries[b"\0"], 88)[0])

    def changes(self, number: int) -> Entries:
        """From one state to the next, numbered as its commits: one opening is one commit."""
        before, after = self.states[number - 1], self.states[number]
        changes: Entries = {key: value for key, value in after.items() if before.get(key) != value}
        changes |= {key: None for key in before if key not in after}
        header = bytearray(after[b"\0"])
        struct.pack_into("<Q", header, 88, self.version + number)
        struct.pack_into("<I", header, 124, reader.crc32c(bytes(header[:124])))
        changes[b"\0"] = bytes(header)
        return changes

    def records(self, count: int = 3) -> list[bytes]:
        made: list[bytes] = []
        before = self.version
        for number in range(1, count + 1):
            page = (len(self.base) + len(b"".join(made))) // PAGE
            made.append(record(self.version + number, before, self.changes(number), SALT, self.cipher, page))
            before = struct.unpack_from("<Q", made[-1])[0]
        return made

    def write(self, pages: bytes, sealed: int = 0, checksum: int = 0, room: int = 64) -> reader.Pages:
        """The base with a WAL of `room` pages that begins with these."""
        file = bytearray(self.base)
        first = len(file) // PAGE
        file += pages + bytes(room * PAGE - len(pages))
        slots = [page for page in (1, 2, 3) if file[page * PAGE + 8:page * PAGE + 12] == b"MTRT"]
        opened = {page: self.plain_slot(bytes(file[page * PAGE:(page + 1) * PAGE]), page) for page in slots}
        number = max(slots, key=lambda page: (struct.unpack_from("<Q", opened[page], 16),
                                              struct.unpack_from("<Q", opened[page], 144)))
        newest, slot = number * PAGE, opened[number]
        slot = bytearray(slot)
        log_bytes, = struct.unpack_from("<H", slot, 14)
        assert struct.unpack_from("<I", slot, 156)[0] == 0, "the library has given it a WAL of its own"
        log = slot[160:160 + log_bytes]
        struct.pack_into("<Q", slot, 32, first + room)
        struct.pack_into("<I", slot, 156, 48)
        struct.pack_into("<QQIIQQQ", slot, 160, first, self.version, room, 0, SALT, sealed, checksum)
        slot[208:208 + log_bytes] = log
        if self.cipher:
            sealed = self.cipher.seal(1, number, 0, 0, bytes(slot[32:-64]), bytes(slot[8:32]))
            slot[32:] = sealed[:-32] + self.cipher.salt + sealed[-32:]
        struct.pack_into("<Q", slot, 0, reader.xxh3(bytes(slot[8:])))
        file[newest:newest + PAGE] = slot
        self.path.write_bytes(file)
        return reader.Pages(str(self.path), self.key)

    def plain_slot(self, slot: bytes, number: int) -> bytes:
        if not self.cipher:
            return slot
        return slot[:32] + self.cipher.open(1, number, 0, 0, slot[32:-64] + slot[-32:], slot[8:32]) + bytes(32)

    def expect(self, found: reader.Pages, count: int) -> None:
        assert found.version == self.version + count
        wanted = dict(self.states[count])
        del wanted[b"\0"]
        assert {key: value for key, value in found.entries.items() if key != b"\0"} == wanted


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    os.environ["MOTTE_WAL_PAGES"] = "0"
    return Course(tmp_path_factory.mktemp("wal"))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Course:
    os.environ |= {"MOTTE_WAL_PAGES": "0"}
    return Course(tmp_path_factory.mktemp("encrypted"), bytes(range(64)))


def checksum(made: bytes) -> int:
    return int(struct.unpack_from("<Q", made)[0])


@pytest.mark.parametrize("kill", [False, True], ids=["closed", "killed"])
def test_wals_of_the_library(tmp_path: pathlib.Path, kill: bool) -> None:
    """What the library itself appends, also when it does not come to close the file."""
    path = tmp_path / "made.motte"
    program = f"""
import os, motte
db = motte.open({str(path)!r}, schema="Doc {{ id: int key, text: string, tags: list<int> }}")
doc = db.model("Doc")
for number in range(60):
    with db.write():
        made = db.add(doc(id=number, text="text " * (number % 20 * 30)))
        made.tags.extend(range(number * 10))
    if number % 3 == 2:
        with db.write():
            db.delete(db.get(doc, number - 1))
            db.get(doc, number - 2).text = "changed"
    if {kill} and number == 50:
        os.kill(os.getpid(), 9)
db.close()
"""
    environment = {**os.environ, "MOTTE_WAL_PAGES": "40"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=not kill, timeout=60)
    count = 51 if kill else 60

    found = reader.Reader(str(path))

    assert found.version > found.pages.slot.version and found.pages.broken_version is None
    assert found.pages.slot.wal is not None and (found.pages.slot.wal.sealed == 0) == kill
    rows = {row["id"]: row for row in found.objects("Doc").values()}
    expected = {}
    for number in range(count):
        expected[number] = "text " * (number % 20 * 30)
        if number % 3 == 2:
            del expected[number - 1]
            expected[number - 2] = "changed"
    assert {number: row["text"] for number, row in rows.items()} == expected
    assert all(row["tags"] == list(range(number * 10)) for number, row in rows.items())


def test_a_wal_changes_what_the_tree_says(course: Course) -> None:
    made = course.records()
    course.expect(course.write(b"".join(made)), 3)
    found = reader.Reader(str(course.path))
    assert found.pages.broken_version is None
    texts = {row["id"]: row["text"] for row in found.objects("Doc").values()}
    assert texts[3] == "changed " * 900 and texts[103] == "new" and 13 not in texts and len(texts) == 40
    # One of several pages.
    assert max(len(one) for one in made) > PAGE


def test_records_end_where_one_is_not_whole(course: Course) -> None:
    made = course.records()
    for count in range(3):
        broken = bytearray(b"".join(made))
        place = len(b"".join(made[:count])) + 100
        broken[place] ^= 1
        found = course.write(bytes(broken))
        course.expect(found, count)
        assert found.broken_version == course.version + 3


def test_what_a_cut_left_of_a_record_is_seen(course: Course) -> None:
    made = course.records()
    whole = b"".join(made[:2])
    # Only its last page arrived, or only its first.
    assert course.write(whole + bytes(len(made[2]) - PAGE) + made[2][-PAGE:]).broken_version is not None
    assert course.write(whole + made[2][:PAGE]).broken_version is not None
    assert course.write(whole).broken_version is None


def test_records_of_another_wal_or_course_do_not_count(course: Course) -> None:
    made = course.records()
    other = record(course.version + 3, checksum(made[1]), course.changes(3), salt=SALT + 1)
    found = course.write(made[0] + made[1] + other)
    course.expect(found, 2)
    assert found.broken_version is None
    # The record before it was another one.
    stray = record(course.version + 3, checksum(made[1]) ^ 1, course.changes(3))
    course.expect(course.write(made[0] + made[1] + stray), 2)
    # One is missing.
    course.expect(course.write(made[0] + made[2]), 1)
    # Two commits that share a record leave out the version of the first.
    both = record(course.version + 2, course.version, course.changes(1) | course.changes(2))
    course.expect(course.write(both), 2)
    # It goes beyond the WAL's end.
    room = len(b"".join(made)) // PAGE - 1
    course.expect(course.write((b"".join(made))[:room * PAGE], room=room), 2)


def test_a_sealed_wal_is_whole_or_damaged(course: Course) -> None:
    made = course.records()
    course.expect(course.write(b"".join(made[:2]), course.version + 2, checksum(made[1])), 2)
    # The next process may have gone on with it.
    course.expect(course.write(b"".join(made), course.version + 2, checksum(made[1])), 3)
    assert course.write(b"", course.version, course.version).slot.wal is not None
    with pytest.raises(reader.FormatError, match="sealed at"):
        course.write(made[0], course.version + 2, checksum(made[1]))
    with pytest.raises(reader.FormatError, match="not the one that was sealed"):
        course.write(b"".join(made[:2]), course.version + 2, checksum(made[0]))


def test_a_record_that_contradicts_itself_is_damage(course: Course) -> None:
    twice = course.changes(1)
    made = bytearray(record(course.version + 1, course.version, {**twice, b"\x09a": b"1", b"\x09b": b"2"}))
    # The second key becomes the first once more, with a checksum that fits.
    place = made.rindex(b"\x09b")
    made[place:place + 2] = b"\x09a"
    size, = struct.unpack_from("<I", made, 12)
    struct.pack_into("<Q", made, 0, reader.xxh3(bytes(made[8:size])))
    with pytest.raises(reader.FormatError, match="out of order"):
        course.write(bytes(made))


def test_a_number_of_pages_that_is_none_is_refused(tmp_path: pathlib.Path) -> None:
    os.environ["MOTTE_WAL_PAGES"] = "many"
    with pytest.raises(motte.errors.InvalidArgumentError, match="MOTTE_WAL_PAGES is 'many'; 0 to 16384"):
        motte.open(tmp_path / "x.motte", schema="Dog { age: int }")


def test_an_encrypted_wal(encrypted: Course) -> None:
    """Made by hand: the reader takes it, and so does the library, which had no part in encrypting it."""
    made = encrypted.records()
    encrypted.expect(encrypted.write(b"".join(made)), 3)
    assert max(len(one) for one in made) > PAGE
    with motte.open(encrypted.path, encryption_key=encrypted.key) as db:
        texts = {row.id: row.text for row in db.objects("Doc")}
    assert texts[3] == "changed " * 900 and texts[103] == "new" and 13 not in texts and len(texts) == 40
    encrypted.expect(encrypted.write(b"".join(made[:2]), encrypted.version + 2, checksum(made[1])), 2)


def test_an_encrypted_record_elsewhere_does_not_count(encrypted: Course) -> None:
    made = encrypted.records()
    # The second, encrypted for another page, for another version, and with a byte changed; with checksums that fit.
    page = (len(encrypted.base) + len(made[0])) // PAGE
    before = checksum(made[0])
    for number, place in ((2, page + 1), (2, page)):
        changes = encrypted.changes(2)
        other = bytearray(record(encrypted.version + number, before, changes, SALT, encrypted.cipher, place))
        if place == page:
            other[100] ^= 1
            struct.pack_into("<Q", other, 0, reader.xxh3(bytes(other[8:struct.unpack_from("<I", other, 12)[0]])))
        found = encrypted.write(made[0] + bytes(other))
        encrypted.expect(found, 1)
        assert found.broken_version == encrypted.version + 2
