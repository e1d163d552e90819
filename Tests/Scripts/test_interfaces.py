"""What Tests/Interfaces/check.sh finds of changes to the C interface."""
from __future__ import annotations

import os
import pathlib
import re
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
