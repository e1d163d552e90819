"""What an import that failed leaves: a file that cannot be looked into is kept, also one that came meanwhile."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_tool import FOREIGN, TOOL, motte

KEY = "k" * 64
SCHEMA = "Person { id: int key }"


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    """One that a user without rights can write in, with a tool to run, a database and rows."""
    made = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    made.chmod(0o777)
    shutil.copy(TOOL, made / "motte")
    (made / "rows.jsonl").write_text('{"id": 1}\n')
    (made / "wrong.jsonl").write_text('{"id": "x"}\n')
    motte("import", made / "people.motte", "Person", made / "rows.jsonl", "--schema", SCHEMA)
    yield made
    for path in [made, *made.iterdir()]:
        path.chmod(0o777)
    shutil.rmtree(made)


def someone() -> dict[str, Any]:
    """Root may look into everything, so that another user has to run the command."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def failed_import(folder: pathlib.Path, file: pathlib.Path, **options: Any) -> str:
    done = subprocess.run(
        [folder / "motte", "import", file, "Person", folder / "rows.jsonl", "--schema", SCHEMA],
        capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 1 and done.stdout == ""
    assert str(file) in done.stderr and not FOREIGN.search(done.stderr), done.stderr
    return done.stderr


def test_a_file_without_permission_is_kept(folder: pathlib.Path) -> None:
    file = folder / "people.motte"
    content = file.read_bytes()
    file.chmod(0)
    assert "permission" in failed_import(folder, file, **someone()).lower()
    # Not even its name is to be seen where its folder may not be searched.
    inner = folder / "inner"
    inner.mkdir()
    shutil.copy(file, inner / "people.motte") if os.geteuid() == 0 else (inner / "people.motte").write_bytes(content)
    inner.chmod(0)
    assert "permission" in failed_import(folder, inner / "people.motte", **someone()).lower()
    inner.chmod(0o777)
    file.chmod(0o666)
    assert file.read_bytes() == content == (inner / "people.motte").read_bytes()
    assert motte("query", file, "Person", "--count") == "1\n"


def test_a_folder_is_kept(folder: pathlib.Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "kept").write_text("kept")
    assert "directory" in failed_import(folder, folder / "inner")
    (folder / "empty").mkdir()
    assert "directory" in failed_import(folder, folder / "empty")
    assert (folder / "inner" / "kept").read_text() == "kept" and list((folder / "empty").iterdir()) == []


def encrypted(folder: pathlib.Path, file: pathlib.Path) -> None:
    (folder / "key").write_text(KEY)
    motte("import", file, "Person", folder / "rows.jsonl", "--schema", SCHEMA, "--key-file", folder / "key")


def closed(folder: pathlib.Path, file: pathlib.Path) -> None:
    shutil.copy(folder / "people.motte", file)
    file.chmod(0)


COMING: dict[str, Callable[[pathlib.Path, pathlib.Path], object]] = {
    "a text": lambda _, file: file.write_text("no database"),
    "a folder": lambda _, file: file.mkdir(),
    "an encrypted database": encrypted,
    "a database without permission": closed,
    "a database": lambda folder, file: shutil.copy(folder / "people.motte", file),
}


@pytest.mark.parametrize("what", COMING)
@pytest.mark.parametrize("schema", ["Person { id: no such type }", SCHEMA])
def test_what_came_meanwhile_is_kept(folder: pathlib.Path, what: str, schema: str) -> None:
    """The command waits for the schema; when it began there was no file."""
    file, waiting = folder / "new.motte", folder / "schema"
    os.mkfifo(waiting)
    waiting.chmod(0o666)
    # Who may do everything could delete it, too.
    user = someone() if COMING[what] is closed else {}
    with subprocess.Popen(
            [folder / "motte", "import", file, "Person", folder / "wrong.jsonl", "--schema", waiting],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **user) as command:
        # Opened when the command opens it, too.
        with open(waiting, "w") as writer:
            COMING[what](folder, file)
            mode = file.stat().st_mode
            before = file.read_bytes() if file.is_file() and mode & 0o777 else None
            writer.write(schema)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 1 and said.startswith("motte: ") and not FOREIGN.search(said), said
    assert file.stat().st_mode == mode
    file.chmod(0o777)
    if before is not None:
        assert file.read_bytes() == before
    elif not file.is_dir():
        assert motte("query", file, "Person", "--count") == "1\n"
