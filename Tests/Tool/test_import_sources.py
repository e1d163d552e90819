"""Texts as they come: packed, in other encodings, with other delimiters, with times that name no zone."""
from __future__ import annotations

import codecs
import ctypes.util
import gzip
import os
import pathlib
import resource
import shutil
import subprocess
from collections.abc import Callable

import pytest

import motte as library
from test_tool import TOOL, motte

ROWS = "id,name,at\n1,Zoë €,2013-01-01T10:00:00Z\n2,日本 😀,\n"


def imported(tmp_path: pathlib.Path, source: pathlib.Path, *options: object) -> str:
    file = tmp_path / f"{source.name}.motte"
    motte("import", file, "T", source, *options)
    return motte("export", file, "T", "--format", "csv")


def test_gzip(tmp_path: pathlib.Path) -> None:
    # Two parts behind each other are one text, as gzip and cat make it.
    halves = ROWS.encode()
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(halves[:20]) + gzip.compress(halves[20:]))
    assert imported(tmp_path, tmp_path / "rows.csv.gz") == ROWS
    done = subprocess.run([str(TOOL), "import", str(tmp_path / "pipe.motte"), "T", "-", "--format", "csv"],
                          input=gzip.compress(halves), capture_output=True, timeout=60)
    assert done.stdout == b"imported 2 objects of T\n", done.stderr
    (tmp_path / "dump.gz").write_bytes(gzip.compress(motte("export", tmp_path / "pipe.motte").encode()))
    assert motte("import", tmp_path / "whole.motte", tmp_path / "dump.gz") == "imported 2 objects\n"


def test_zstd(tmp_path: pathlib.Path) -> None:
    if shutil.which("zstd") is None or ctypes.util.find_library("zstd") is None:
        pytest.skip("zstd is not installed")
    lines = "id,name\n" + "".join(f"{n},name {n}\n" for n in range(100_000))
    (tmp_path / "rows.csv").write_text(lines)
    subprocess.run(["zstd", "-q", str(tmp_path / "rows.csv")], check=True, timeout=60)
    assert imported(tmp_path, tmp_path / "rows.csv.zst") == lines


def limited(bytes_of_files: int, bytes_of_memory: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_of_files, bytes_of_files))
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_of_memory, bytes_of_memory))

    return limit


def test_packed_files_that_become_large(tmp_path: pathlib.Path) -> None:
    # A thousandth of what is in it: memory does not grow with that, and a disk that is full is an error.
    source = tmp_path / "rows.csv.gz"
    source.write_bytes(gzip.compress(b"id\n1,2\n" + b"3\n" * (60 << 20), 1))
    assert source.stat().st_size < 1 << 20
    for most, said in [(16 << 20, "File too large"), (1 << 30, "rows.csv.gz:2:")]:
        done = subprocess.run([str(TOOL), "import", str(tmp_path / "t.motte"), "T", str(source), "--schema",
                               "T { id: int }"], capture_output=True, text=True, timeout=120,
                              preexec_fn=limited(most, 80 << 20))
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert os.listdir(tmp_path) == ["rows.csv.gz"]


def test_a_pipe_takes_no_memory_for_what_comes_through(tmp_path: pathlib.Path) -> None:
    command = [str(TOOL), "import", str(tmp_path / "t.motte"), "T", "-", "--format", "csv"]
    done = subprocess.run([*command, "--schema", "T { id: int }"], input=b"id\n1,2\n" + b"3\n" * (40 << 20),
                          capture_output=True, timeout=60, preexec_fn=limited(1 << 30, 64 << 20))
    assert done.returncode == 1 and b"-:2:" in done.stderr, done.stderr
    # Also what stands in a file behind where somebody has read to.
    (tmp_path / "rows.csv").write_text("what is not read\n" + ROWS)
    with open(tmp_path / "rows.csv", "rb", buffering=0) as file:
        file.seek(17)
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=60)
    assert done.stdout == "imported 2 objects of T\n", done.stderr


def test_packed_files_that_are_damaged(tmp_path: pathlib.Path) -> None:
    packed = gzip.compress(ROWS.encode() * 100)
    for name, data, said in [("cut", packed[:-20], "ends too early"), ("begun", packed[:5], "ends too early"),
                             ("next", packed + packed[:5], "ends too early"),
                             ("bad", packed[:40] + b"\xff\xff" + packed[42:], "is damaged"),
                             ("tail", packed + b"nonsense", "is damaged")]:
        source = tmp_path / f"{name}.csv.gz"
        source.write_bytes(data)
        assert said in motte("import", tmp_path / "new.motte", "T", source, expect=1)
        assert not (tmp_path / "new.motte").exists()
    # Zeros behind it are what fills up a block of a tape.
    (tmp_path / "block.csv.gz").write_bytes(gzip.compress(ROWS.encode()) + bytes(500))
    assert imported(tmp_path, tmp_path / "block.csv.gz") == ROWS


@pytest.mark.parametrize(("variable", "data", "package"), [
    ("MOTTE_LIBZ", gzip.compress(b"id\n1\n"), "zlib1g"), ("MOTTE_LIBZSTD", b"\x28\xb5\x2f\xfd", "libzstd1")])
def test_libraries_that_are_not_installed_are_named(
        tmp_path: pathlib.Path, variable: str, data: bytes, package: str) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(data)
    done = subprocess.run([str(TOOL), "import", str(tmp_path / "t.motte"), "T", str(tmp_path / "rows.csv.gz")],
                          capture_output=True, text=True, timeout=60, env={**os.environ, variable: "none.so"})
    assert done.returncode == 1 and f"package {package}" in done.stderr


def test_encodings(tmp_path: pathlib.Path) -> None:
    for name, data, options in [
            ("bom", codecs.BOM_UTF8 + ROWS.encode(), []),
            ("little", codecs.BOM_UTF16_LE + ROWS.encode("utf-16-le"), []),
            ("big", codecs.BOM_UTF16_BE + ROWS.encode("utf-16-be"), []),
            ("named", ROWS.encode("utf-16-be"), ["--encoding", "utf-16be"]),
            ("marked", codecs.BOM_UTF16_BE + ROWS.encode("utf-16-be"), ["--encoding", "UTF-16"]),
            ("packed", gzip.compress(codecs.BOM_UTF16_LE + ROWS.encode("utf-16-le")), [])]:
        (tmp_path / f"{name}.csv").write_bytes(data)
        assert imported(tmp_path, tmp_path / f"{name}.csv", *options) == ROWS, name
    (tmp_path / "latin.csv").write_bytes("name\nZoë ÿ\n".encode("latin-1"))
    assert imported(tmp_path, tmp_path / "latin.csv", "--encoding", "latin1") == "name\nZoë ÿ\n"
    # Pieces end where they do, and characters of four bytes lie across them.
    long = "name\n" + "x😀" * 50_000 + "\n"
    (tmp_path / "long.csv").write_bytes(codecs.BOM_UTF16_LE + long.encode("utf-16-le"))
    assert imported(tmp_path, tmp_path / "long.csv") == long


def test_wrong_encodings_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "odd.csv").write_bytes(codecs.BOM_UTF16_LE + b"a\x00\x00\xd8b\x00")
    assert "not in the encoding" in motte("import", tmp_path / "t.motte", "T", tmp_path / "odd.csv", expect=1)
    (tmp_path / "latin.csv").write_bytes(b"name\nZo\xeb\n")
    assert "UTF-8" in motte("import", tmp_path / "t.motte", "T", tmp_path / "latin.csv", expect=1)
    assert "there are utf-8, utf-16" in motte(
        "import", tmp_path / "t.motte", "T", tmp_path / "odd.csv", "--encoding", "ebcdic", expect=2)


def test_delimiters_are_found(tmp_path: pathlib.Path) -> None:
    for name, text in [("semicolon", "id;name\n1;a,b\n2;\"c;d\"\n"), ("tab", "id\tname\n1\ta,b\n2\t\"c;d\"\n"),
                       ("bar", "id|name\n1|a,b\n2|c;d\n")]:
        (tmp_path / f"{name}.csv").write_text(text)
        assert imported(tmp_path, tmp_path / f"{name}.csv") == 'id,name\n1,"a,b"\n2,c;d\n', name
    # One column, though its values have marks in them; and a comma in the header decides.
    (tmp_path / "one.csv").write_text("name\na;b\nc\n")
    assert imported(tmp_path, tmp_path / "one.csv") == "name\na;b\nc\n"
    (tmp_path / "comma.csv").write_text("a;b,c\n1;2,3\n")
    assert imported(tmp_path, tmp_path / "comma.csv") == "a;b,c\n1;2,3\n"
    (tmp_path / "whole.csv").write_text("a;b\n1;2\n")
    assert imported(tmp_path, tmp_path / "whole.csv", "--delimiter", ",") == "a;b\n1;2\n"


def test_times_without_a_zone(tmp_path: pathlib.Path) -> None:
    rows = tmp_path / "times.csv"
    rows.write_text("at\n2013-07-01T10:00:00\n2013-01-01 10:00:00.5\n2013-01-01T10:00:00Z\n2013-10-27T02:30:00\n")
    for zone, summer, winter, twice in [
            ("Europe/Berlin", "2013-07-01T08:00:00Z", "2013-01-01T09:00:00.5Z", "2013-10-27T00:30:00Z"),
            ("UTC", "2013-07-01T10:00:00Z", "2013-01-01T10:00:00.5Z", "2013-10-27T02:30:00Z"),
            ("-05:30", "2013-07-01T15:30:00Z", "2013-01-01T15:30:00.5Z", "2013-10-27T08:00:00Z")]:
        if "/" in zone and not pathlib.Path("/usr/share/zoneinfo", zone).exists():
            continue
        file = tmp_path / "times.motte"
        motte("import", file, "T", rows, "--zone", zone)
        # A time that clocks show twice is the first of them.
        assert motte("export", file, "T", "--format", "csv").split() == [
            "at", summer, winter, "2013-01-01T10:00:00Z", twice], zone
        file.unlink()
    # Without a zone such times are texts, as before.
    assert imported(tmp_path, rows).split()[1] == "2013-07-01T10:00:00"
    for zone in ["Nowhere/Here", "../etc/passwd", "", "+25:00"]:
        assert "there is no time zone" in motte("import", tmp_path / "t.motte", "T", rows, "--zone", zone, expect=1)
    # One that the clocks skip is no time.
    if pathlib.Path("/usr/share/zoneinfo/Europe/Berlin").exists():
        rows.write_text("at\n2013-03-31T02:30:00\n")
        assert "is not timestamp" in motte("import", tmp_path / "t.motte", "T", rows, "--zone", "Europe/Berlin",
                                           "--schema", "T { at: timestamp }", expect=1)


def test_a_packed_database_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "base.sqlite.gz").write_bytes(gzip.compress(b"SQLite format 3\0" + bytes(100)))
    assert "unpack it first" in motte("import", tmp_path / "t.motte", tmp_path / "base.sqlite.gz", expect=1)


def test_a_mark_within_a_text_is_a_part_of_it(tmp_path: pathlib.Path) -> None:
    rows = "id,a\n1,a\ufeffb\n2,\ufeff\n"
    for name, content in (("8", codecs.BOM_UTF8 + rows.encode()),
                          ("16", codecs.BOM_UTF16_LE + rows.encode("utf-16-le")),
                          ("16b", codecs.BOM_UTF16_BE + rows.encode("utf-16-be"))):
        (tmp_path / f"{name}.csv").write_bytes(content)
        file = tmp_path / f"{name}.motte"
        motte("import", file, "P", tmp_path / f"{name}.csv", "--key", "id")
        with library.open(file) as db:
            assert [row.a for row in db.objects("P").sorted("id")] == ["a\ufeffb", "\ufeff"]


def test_numbers_of_objects_are_as_high_as_can_be(tmp_path: pathlib.Path) -> None:
    most = 2**63 - 1
    with library.open(tmp_path / "keys.motte", schema="P { x: int, next: link<P> }") as db:
        for first, second in ((most, 1), (0, most), (most - 1, most), (most, most - 1)):
            with db.write():
                db.delete(db.objects("P"))
                db.import_json(db.model("P"), text=(
                    f'{{"$key": {first}, "x": 1, "next": {{"$key": {second}}}}}\n'
                    f'{{"$key": {second}, "x": 2, "next": {{"$key": {first}}}}}'))
            assert [(each.x, each.next.x) for each in db.objects("P").sorted("x")] == [(1, 2), (2, 1)]
