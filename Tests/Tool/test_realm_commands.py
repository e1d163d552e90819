"""The motte command with Realm files: what it reads of them directly, imports, and every kind of refusal."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "tool" / "motte"
FILES = ROOT / "Tests" / "RealmFiles"
NAMES = sorted(path.stem for path in FILES.glob("*.realm"))


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path


def motte(*arguments: object, expect: int = 0) -> str:
    done = subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done.stderr + done.stdout
    return done.stdout if expect == 0 else done.stderr


def key_option(name: str, folder: pathlib.Path, option: str) -> list[object]:
    content = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    if "key" not in content:
        return []
    (folder / "key").write_text(content["key"])
    return [option, folder / "key"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_reads_as_what_it_is_converted_to(name: str, folder: pathlib.Path) -> None:
    source, file = FILES / f"{name}.realm", folder / "new.motte"
    key, before = key_option(name, folder, "--key-file"), source.read_bytes()
    printed = motte("import", file, source, *key_option(name, folder, "--source-key-file"))
    content = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    for each in content["classes"]:
        count = len(each["objects"])
        assert f"{each['name']}: {count} of {count} objects\n" in printed
        assert re.search(rf"^(class|embedded) +{each['name']}: {count} objects, {len(each['properties'])} properties",
                         motte("info", source, *key), re.MULTILINE)
    assert motte("schema", source, *key) == motte("schema", file)
    assert motte("export", source, *key) == motte("export", file)
    plain = next(each for each in content["classes"] if each["kind"] == "object")
    assert motte("query", source, plain["name"], "--count", *key) == f"{len(plain['objects'])}\n"
    assert motte("verify", file).startswith("sound") or "sound" in motte("verify", file)
    # Nothing is beside the Realm file, nothing is left in the temporary folder.
    assert source.read_bytes() == before and list((folder / "temporary").iterdir()) == []
    assert not [path for path in FILES.iterdir() if "shared" in path.name]


def test_a_temporary_copy_of_an_encrypted_file_is_encrypted(folder: pathlib.Path) -> None:
    source = FILES / "copied-encrypted.realm"
    key = key_option("copied-encrypted", folder, "--key-file")
    printed = motte("schema", source, *key) + motte("export", source, *key)
    texts = {text.encode() for text in re.findall(r"\w{8,}", printed)}
    plain = folder / "plain.motte"
    motte("import", plain, source, *key_option("copied-encrypted", folder, "--source-key-file"))
    shown = [text for text in texts if text in plain.read_bytes()]
    assert len(shown) > 5
    # Nobody reads what it prints, so that it waits, with the copy open though it has no name any more.
    with subprocess.Popen([str(TOOL), "export", str(source), *map(str, key)], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stdout.read(1)
        descriptors = pathlib.Path(f"/proc/{running.pid}/fd")
        written = b"".join(each.read_bytes() for each in descriptors.iterdir()
                           if os.readlink(each).endswith("/converted.motte (deleted)"))
        running.kill()
    assert len(written) > 4096 and not [text for text in texts if text in written]


def test_imports_in_parts(folder: pathlib.Path) -> None:
    file = folder / "parts.motte"
    motte("import", file, FILES / "scalars.realm", "--commit-every", 50)
    assert motte("export", file) == motte("export", FILES / "scalars.realm")
    assert "imported 0 objects" in motte("import", file, FILES / "scalars.realm", "--commit-every", 50, "--resume")
    assert "already" in motte("import", file, FILES / "scalars.realm", expect=1)
    motte("import", file, FILES / "scalars.realm", "--update", "modified")


def test_a_schema_adds_inverse_properties(folder: pathlib.Path) -> None:
    schema = motte("schema", FILES / "tiny.realm").replace(
        "born: timestamp?,", "born: timestamp?, dogs: inverse<Dog.owner>,")
    motte("import", folder / "new.motte", FILES / "tiny.realm", "--schema", schema)
    assert motte("query", folder / "new.motte", "Person", "dogs.@count == 2", "--count") == "1\n"
    wrong = motte("import", folder / "wrong.motte", FILES / "tiny.realm", "--schema", "Dog { name: int }", expect=1)
    assert "Dog.name is string, not int" in wrong and not (folder / "wrong.motte").exists()


def test_refusals(folder: pathlib.Path) -> None:
    new = folder / "new.motte"
    assert "needs its key" in motte("import", new, FILES / "encrypted.realm", expect=1)
    for command in (["info"], ["schema"], ["export"]):
        assert "--key-file" in motte(*command, FILES / "encrypted.realm", expect=1)
    (folder / "wrong").write_bytes(bytes(64))
    assert "not its key" in motte("import", new, FILES / "encrypted.realm", "--source-key-file", folder / "wrong",
                                  expect=1)
    assert "is a Realm file (format 24)" in motte("verify", FILES / "tiny.realm", expect=1)
    assert "leave out the class" in motte("import", new, "Dog", FILES / "tiny.realm", "--format", "realm", expect=2)
    (folder / "cut.realm").write_bytes((FILES / "renamed.realm").read_bytes()[:4096])
    for command in (["info"], ["schema"], ["export"], ["import", new]):
        assert "damaged" in motte(*command, folder / "cut.realm", expect=1)
    assert "none.realm" in motte("import", new, folder / "none.realm", expect=1)
    assert "none.realm" in motte("info", folder / "none.realm", expect=1)
    assert sorted(path.name for path in folder.iterdir()) == ["cut.realm", "temporary", "wrong"]
    # Found by what is in it, whatever it is called.
    (folder / "data.bin").write_bytes((FILES / "tiny.realm").read_bytes())
    assert "imported 4 objects" in motte("import", new, folder / "data.bin")
