"""What Tests/Interfaces/check.sh finds of changes to the C interface."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

# Fixtures that the tests of the scripts share.
pytest_plugins = ["needs"]

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = (ROOT / "include" / "motte.h").read_text()


def check(folder: pathlib.Path, text: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "motte.h").write_text(text)
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    # The Swift products take builds of their own.
    given = {**kept, "MOTTE_HEADER_FOLDER": str(folder), "MOTTE_SWIFT_INTERFACES": "no", **environment}
    return subprocess.run([ROOT / "Tests" / "Interfaces" / "check.sh", *options], cwd=ROOT, capture_output=True,
                          text=True, env=given)


@pytest.fixture
def abidiff(need: Callable[[str, str], None]) -> None:
    need("abidiff", "Debian's package abigail-tools")


def changed(pattern: str, new: str) -> str:
    text, count = re.subn(pattern, new, HEADER, count=1)
    assert count == 1, pattern
    return text


@pytest.mark.usefixtures("abidiff")
def test_the_header_is_what_its_baseline_says(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, HEADER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok: functions and types" in done.stdout and "ok: constants" in done.stdout


@pytest.mark.usefixtures("abidiff")
def test_another_type_of_a_member_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"uint32_t class_count;", "uint64_t class_count;"))
    assert done.returncode == 1
    assert "type size changed" in done.stdout and "1 passed, 1 failed" in done.stdout


@pytest.mark.usefixtures("abidiff")
def test_another_type_of_a_parameter_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"(motte_status motte_release\()const void \*", r"\1const uint8_t *"))
    assert done.returncode == 1, done.stdout
    assert "motte_release" in done.stdout


@pytest.mark.usefixtures("abidiff")
def test_a_function_that_went_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"uint32_t motte_version_number\(void\);", ""))
    assert done.returncode == 1
    assert "motte_version_number" in done.stdout and "1 Removed" in done.stdout


@pytest.mark.usefixtures("abidiff")
def test_a_constant_with_another_number_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"(MOTTE_CHANGES_SECTIONS = )4", r"\g<1>5"))
    assert done.returncode == 1
    assert "MOTTE_CHANGES_SECTIONS = 4" in done.stdout


@pytest.mark.usefixtures("abidiff")
def test_a_new_function_and_a_new_constant_break_nobody(tmp_path: pathlib.Path) -> None:
    text = changed(r"(MOTTE_CHANGES_SECTIONS = 4)", r"\1,\n    MOTTE_CHANGES_MORE = 5")
    end = "/* MOTTE_DECLARATIONS_END */"
    text = text.replace(end, "/** New.\n *  Thread: any. Result: -. */\nint32_t motte_new(void);\n" + end)
    done = check(tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_abidiff_its_part_is_skipped_but_not_in_ci(
        tmp_path: pathlib.Path, path_without: Callable[[str], str]) -> None:
    path = path_without("abidiff")
    lack = "(abidiff is not installed; 'make setup' installs it, Debian's package abigail-tools)"
    done = check(tmp_path, HEADER, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"skipped: functions and types of the C interface {lack}" in done.stdout
    done = check(tmp_path, HEADER, PATH=path, CI="true")
    assert done.returncode == 1
    assert f"error: functions and types of the C interface were not looked at {lack}" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
    kept = {file: file.read_bytes() for file in (ROOT / "Tests" / "Interfaces" / "abi").iterdir() if file.is_file()}
    done = check(tmp_path, HEADER, "--renew", PATH=path)
    assert done.returncode == 1 and f"error: nothing was renewed {lack}" in done.stdout
    assert all(file.read_bytes() == content for file, content in kept.items())


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """What the check takes of this repository, in one of its own that has a commit."""
    for name in ("Tests/Interfaces", "bindings/c", "include"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bin").mkdir()
    # It says what the Swift products are compared with.
    (tmp_path / "bin" / "swift").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "swift").chmod(0o755)
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path, "first")
    return tmp_path


def git(folder: pathlib.Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false",
                    "-c", "tag.gpgSign=false", *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: pathlib.Path, text: str) -> None:
    (folder / "text").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-m", text)


def checked(folder: pathlib.Path, path: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run([folder / "Tests" / "Interfaces" / "check.sh"], capture_output=True, text=True,
                          env={**kept, "PATH": f"{folder / 'bin'}{os.pathsep}{path}", **environment}).stdout


def test_constants_without_a_baseline_are_said(copy: pathlib.Path, path_without: Callable[[str], str]) -> None:
    (copy / "Tests/Interfaces/abi/constants.txt").unlink()
    said = checked(copy, path_without("abidiff"), MOTTE_SWIFT_INTERFACES="no")
    assert "error: there is no Tests/Interfaces/abi/constants.txt to compare with; --renew writes it" in said
    assert said.splitlines()[-1] == "0 passed, 1 failed"


def test_a_release_is_compared_with_the_one_before(copy: pathlib.Path, path_without: Callable[[str], str]) -> None:
    path = path_without("abidiff")
    git(copy, "tag", "1.0.0")
    assert "skipped: the Swift products (there is no tag to compare with" in checked(copy, path)
    commit(copy, "second")
    assert "ok: the Swift products, beside 1.0.0\n" in checked(copy, path)
    git(copy, "tag", "1.1.0")
    assert "ok: the Swift products, beside 1.0.0\n" in checked(copy, path)
    # What comes after it.
    (copy / "text").write_text("third")
    assert "ok: the Swift products, beside 1.1.0\n" in checked(copy, path)
