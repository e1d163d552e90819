"""What scripts/check-interfaces.sh finds of changes to the C interface."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = (ROOT / "include" / "motte.h").read_text()
pytestmark = pytest.mark.skipif(shutil.which("abidiff") is None, reason="abidiff is not installed")


def check(folder: pathlib.Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "motte.h").write_text(text)
    # The Swift products take builds of their own.
    return subprocess.run([ROOT / "scripts" / "check-interfaces.sh"], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "MOTTE_HEADER_FOLDER": str(folder), "MOTTE_SWIFT_INTERFACES": "no"})


def changed(pattern: str, new: str) -> str:
    text, count = re.subn(pattern, new, HEADER, count=1)
    assert count == 1, pattern
    return text


def test_the_header_is_what_its_baseline_says(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, HEADER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok: functions and types" in done.stdout and "ok: constants" in done.stdout


def test_another_type_of_a_member_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"uint32_t class_count;", "uint64_t class_count;"))
    assert done.returncode == 1
    assert "type size changed" in done.stdout and "1 passed, 1 failed" in done.stdout


def test_another_type_of_a_parameter_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"(void motte_release\()const void \*", r"\1const uint8_t *"))
    assert done.returncode == 1, done.stdout
    assert "motte_release" in done.stdout


def test_a_function_that_went_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"uint32_t motte_version_number\(void\);", ""))
    assert done.returncode == 1
    assert "motte_version_number" in done.stdout and "1 Removed" in done.stdout


def test_a_constant_with_another_number_is_found(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path, changed(r"(MOTTE_CHANGES_SECTIONS = )4", r"\g<1>5"))
    assert done.returncode == 1
    assert "MOTTE_CHANGES_SECTIONS = 4" in done.stdout


def test_a_new_function_and_a_new_constant_break_nobody(tmp_path: pathlib.Path) -> None:
    text = changed(r"(MOTTE_CHANGES_SECTIONS = 4)", r"\1,\n    MOTTE_CHANGES_MORE = 5")
    end = "/* MOTTE_DECLARATIONS_END */"
    text = text.replace(end, "/** New.\n *  Thread: any. Result: -. */\nint32_t motte_new(void);\n" + end)
    done = check(tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
